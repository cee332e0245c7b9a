/* SPDX-License-Identifier: MIT */
/* Puts the output of a session into a send: its own bytes are copied, bodies come straight from their owner. */
#include "proxy/protocols/protocols.h"

#include "proxy/base/ensure.h"

#define RUN_BYTES_MOST 65536u
/* A send with less room grows by so many: tiny frames and chunks cost more. */
#define RUN_BYTES_LEAST 4096u

static void put_body(
    const struct session_env *env, struct net_out *out, const struct session_output *output)
{
	void *user = output->stream->user;
	uint32_t left = output->length;
	do {
		struct piece p = env->front(user, left);
		ensure(p.length > 0 || left == 0);
		if (p.length > 0)
			net_out_piece(out, p);
		left -= p.length;
		env->taken(user, p.length, left == 0 && output->end);
	} while (left > 0);
}

bool protocols_fill(struct session *s, struct net_out *out)
{
	struct session_output output;
	bool any = false;
	size_t room;
	while ((room = net_out_room(out)) > 0) {
		uint32_t most = room < RUN_BYTES_MOST ? (uint32_t)room : RUN_BYTES_MOST;
		if (most < RUN_BYTES_LEAST)
			most = RUN_BYTES_LEAST;
		if (!session_next_output(s, most, &output))
			break;
		net_out_copy(out, output.before.ptr, output.before.len);
		if (output.stream && output.stream->user && (output.length > 0 || output.end))
			put_body(s->env, out, &output);
		net_out_copy(out, output.after.ptr, output.after.len);
		/* The end of a body that the connection's end delimits has no bytes. */
		any |= output.before.len + output.length + output.after.len > 0;
	}
	return any;
}
