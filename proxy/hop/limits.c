/* SPDX-License-Identifier: MIT */
/* From the configuration to what the engine enforces: one member for one option. */
#include "proxy/hop/private.h"

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

struct h2_limits down_limits(const struct conf_listen *c)
{
	struct h2_limits limits = limits_of(&c->limits);
	limits.connection_window = c->connection_window_bytes;
	limits.resets_received = c->limits.resets;
	limits.preface_timeout = c->preface_timeout;
	limits.settings_timeout = c->settings_timeout;
	limits.block_timeout = c->header_timeout;
	return limits;
}

struct h2_limits up_limits(const struct conf_origin *o)
{
	struct h2_limits limits = limits_of(&o->limits);
	limits.connection_window = o->connection_window_bytes;
	limits.settings_timeout = o->settings_timeout;
	limits.promises = o->limits.promises;
	limits.reserved_streams = o->limits.reserved_pushes;
	limits.interim_responses = o->limits.interim_responses;
	return limits;
}
