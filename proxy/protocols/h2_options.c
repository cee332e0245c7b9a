/* SPDX-License-Identifier: MIT */
/* Translates the configuration into the settings that the HTTP/2 engine announces and the limits
 * that it enforces. */
#include "proxy/protocols/protocols_private.h"

#include "proxy/base/memory.h"

static struct h2_config *config_new(enum h2_role role, const struct conf_limits *l)
{
	struct h2_config *config = memory_new(struct h2_config);
	config->role = role;
	config->settings = h2_settings_initial;
	/* The priority field alone says what is urgent (RFC 9218 2.1). */
	config->settings.no_rfc7540_priorities = 1;
	struct h2_limits *limits = &config->limits;
	*limits = h2_limits_default;
	limits->resets_provoked = l->faults;
	limits->pings = l->pings;
	limits->settings = l->settings;
	limits->priorities = l->priorities;
	limits->empty_frames = l->empty_frames;
	limits->window_updates = l->window_updates;
	limits->field_blocks = l->field_blocks;
	limits->field_block_bytes = l->field_block_bytes;
	limits->continuations = l->continuations;
	limits->control_bytes = l->control_bytes;
	return config;
}

void *h2_options_for_clients(const struct conf_listen *conf)
{
	if (!(conf->protocols & CONF_HTTP2))
		return NULL;
	struct h2_config *config = config_new(H2_SERVER, &conf->limits);
	struct h2_settings *settings = &config->settings;
	struct h2_limits *limits = &config->limits;
	settings->header_table_size = conf->header_table_bytes;
	settings->max_concurrent_streams = conf->max_concurrent_streams;
	settings->initial_window_size = conf->stream_window_bytes;
	settings->max_header_list_size = conf->max_header_list_bytes;
	settings->enable_connect_protocol = conf->takes_tunnels;
	limits->connection_window = conf->connection_window_bytes;
	limits->resets_received = conf->limits.resets;
	limits->expansion = conf->limits.expansion;
	limits->preface_timeout = conf->preface_timeout;
	limits->settings_timeout = conf->settings_timeout;
	limits->block_timeout = conf->header_timeout;
	return config;
}

void *h2_options_for_origin(const struct conf_origin *conf, bool push)
{
	if (!(conf->protocols & CONF_HTTP2))
		return NULL;
	struct h2_config *config = config_new(H2_CLIENT, &conf->limits);
	struct h2_settings *settings = &config->settings;
	struct h2_limits *limits = &config->limits;
	settings->enable_push = push;
	settings->max_concurrent_streams = conf->max_concurrent_pushes;
	settings->initial_window_size = conf->stream_window_bytes;
	settings->max_header_list_size = conf->max_header_list_bytes;
	limits->connection_window = conf->connection_window_bytes;
	limits->settings_timeout = conf->settings_timeout;
	limits->promises = conf->limits.promises;
	limits->reserved_streams = conf->limits.reserved_pushes;
	limits->interim_responses = conf->limits.interim_responses;
	limits->request_list_bytes = conf->max_request_list_bytes;
	return config;
}
