/* SPDX-License-Identifier: MIT */
/* See http1_options.h. */
#include "proxy/protocols/http1_options.h"
#include "proxy/protocols/websocket.h"

#include "proxy/base/memory.h"

/* A trailer section may be as large as the fields before it. */
static struct h1_limits limits_of(
    const struct conf_limits *l, uint32_t max_header_list_bytes, uint32_t stream_window_bytes)
{
	struct h1_limits limits = h1_limits_default;
	limits.head_bytes = l->field_block_bytes;
	limits.list_bytes = max_header_list_bytes;
	limits.trailer_bytes = max_header_list_bytes;
	limits.window_bytes = stream_window_bytes;
	return limits;
}

struct h1_limits http1_options_limits_for_client(const struct conf_listen *conf)
{
	struct h1_limits limits =
	    limits_of(&conf->limits, conf->max_header_list_bytes, conf->stream_window_bytes);
	limits.head_timeout = conf->header_timeout;
	return limits;
}

struct h1_limits http1_options_limits_for_origin(const struct conf_origin *conf)
{
	struct h1_limits limits =
	    limits_of(&conf->limits, conf->max_header_list_bytes, conf->stream_window_bytes);
	limits.head_timeout = 0;
	limits.interim_responses = conf->limits.interim_responses;
	return limits;
}

static struct h1_config *config_of(enum h1_role role, bool is_proxy, struct h1_limits limits)
{
	struct h1_config *config = memory_new(struct h1_config);
	*config = (struct h1_config){role, is_proxy, &session_websocket, limits};
	return config;
}

void *http1_options_for_clients(const struct conf_listen *conf)
{
	if (!(conf->protocols & CONF_HTTP1))
		return NULL;
	return config_of(
	    H1_SERVER, conf_listen_is_forward(conf), http1_options_limits_for_client(conf));
}

void *http1_options_for_origin(const struct conf_origin *conf, bool push)
{
	(void)push;
	bool is_spoken = conf->protocols & CONF_HTTP1;
	return is_spoken ? config_of(H1_CLIENT, false, http1_options_limits_for_origin(conf))
			 : NULL;
}
