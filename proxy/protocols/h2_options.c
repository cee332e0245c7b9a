/* SPDX-License-Identifier: MIT */
/* See h2_options.h. */
#include "proxy/protocols/h2_options.h"

#include "proxy/base/memory.h"

struct h2_settings h2_options_settings_for_client(const struct conf_listen *conf)
{
	struct h2_settings s = h2_settings_initial;
	s.header_table_size = conf->header_table_bytes;
	s.max_concurrent_streams = conf->max_concurrent_streams;
	s.initial_window_size = conf->stream_window_bytes;
	s.max_header_list_size = conf->max_header_list_bytes;
	s.enable_connect_protocol = conf->takes_tunnels;
	s.no_rfc7540_priorities = 1;
	return s;
}

struct h2_settings h2_options_settings_for_origin(const struct conf_origin *conf, bool push)
{
	struct h2_settings s = h2_settings_initial;
	s.enable_push = push;
	s.max_concurrent_streams = conf->max_concurrent_pushes;
	s.initial_window_size = conf->stream_window_bytes;
	s.max_header_list_size = conf->max_header_list_bytes;
	/* The priority field alone says what is urgent (RFC 9218 2.1). */
	s.no_rfc7540_priorities = 1;
	return s;
}

static struct h2_limits limits_of(const struct conf_limits *l)
{
	struct h2_limits limits = h2_limits_default;
	limits.resets_provoked = l->faults;
	limits.pings = l->pings;
	limits.settings = l->settings;
	limits.priorities = l->priorities;
	limits.empty_frames = l->empty_frames;
	limits.window_updates = l->window_updates;
	limits.field_blocks = l->field_blocks;
	limits.field_block_bytes = l->field_block_bytes;
	limits.continuations = l->continuations;
	limits.control_bytes = l->control_bytes;
	return limits;
}

struct h2_limits h2_options_limits_for_client(const struct conf_listen *conf)
{
	struct h2_limits limits = limits_of(&conf->limits);
	limits.connection_window = conf->connection_window_bytes;
	limits.resets_received = conf->limits.resets;
	limits.expansion = conf->limits.expansion;
	limits.preface_timeout = conf->preface_timeout;
	limits.settings_timeout = conf->settings_timeout;
	limits.block_timeout = conf->header_timeout;
	return limits;
}

struct h2_limits h2_options_limits_for_origin(const struct conf_origin *conf)
{
	struct h2_limits limits = limits_of(&conf->limits);
	limits.connection_window = conf->connection_window_bytes;
	limits.settings_timeout = conf->settings_timeout;
	limits.promises = conf->limits.promises;
	limits.reserved_streams = conf->limits.reserved_pushes;
	limits.interim_responses = conf->limits.interim_responses;
	limits.request_list_bytes = conf->max_request_list_bytes;
	return limits;
}

void *h2_options_for_clients(const struct conf_listen *conf)
{
	if (!(conf->protocols & CONF_HTTP2))
		return NULL;
	struct h2_config *config = memory_new(struct h2_config);
	config->role = H2_SERVER;
	config->settings = h2_options_settings_for_client(conf);
	config->limits = h2_options_limits_for_client(conf);
	return config;
}

void *h2_options_for_origin(const struct conf_origin *conf, bool push)
{
	if (!(conf->protocols & CONF_HTTP2))
		return NULL;
	struct h2_config *config = memory_new(struct h2_config);
	config->role = H2_CLIENT;
	config->settings = h2_options_settings_for_origin(conf, push);
	config->limits = h2_options_limits_for_origin(conf);
	return config;
}
