/* SPDX-License-Identifier: MIT */
/* Translates the configuration into the limits that the HTTP/1.1 codec enforces. */
#include "proxy/protocols/protocols_private.h"

#include "proxy/base/memory.h"

/* A trailer section may be as large as the fields before it. */
static struct h1_config *config_new(enum h1_role role, const struct conf_limits *l,
    uint32_t max_header_list_bytes, uint32_t stream_window_bytes)
{
	struct h1_config *config = memory_new(struct h1_config);
	config->role = role;
	config->websocket = &protocols_websocket;
	config->limits = h1_limits_default;
	config->limits.head_bytes = l->field_block_bytes;
	config->limits.list_bytes = max_header_list_bytes;
	config->limits.trailer_bytes = max_header_list_bytes;
	config->limits.window_bytes = stream_window_bytes;
	return config;
}

void *http1_options_for_clients(const struct conf_listen *conf)
{
	if (!(conf->protocols & CONF_HTTP1))
		return NULL;
	struct h1_config *config = config_new(
	    H1_SERVER, &conf->limits, conf->max_header_list_bytes, conf->stream_window_bytes);
	config->is_proxy = conf_listen_is_forward(conf);
	config->limits.head_timeout = conf->header_timeout;
	return config;
}

void *http1_options_for_origin(const struct conf_origin *conf, bool push)
{
	(void)push;
	if (!(conf->protocols & CONF_HTTP1))
		return NULL;
	struct h1_config *config = config_new(
	    H1_CLIENT, &conf->limits, conf->max_header_list_bytes, conf->stream_window_bytes);
	config->limits.head_timeout = 0;
	config->limits.interim_responses = conf->limits.interim_responses;
	return config;
}
