/* SPDX-License-Identifier: MIT */
/* What a scripted session puts into a send: its lines first, then data, the oldest stream first. */
#include "tests/support/scripted_inside.h"

#include <stdio.h>

static struct session_stream *sendable(const struct scripted *s)
{
	list_for_each(&s->streams, stream, struct session_stream, link)
	{
		if (s->has_failed || stream->is_over || stream->local_ended || !stream->user)
			continue;
		if ((stream->offered > 0 && stream->send_window > 0) ||
		    (stream->offered == 0 && stream->offered_end))
			return stream;
	}
	return NULL;
}

/* The stream may be gone after its owner has been told. */
static void put_data(struct scripted *s, struct session_stream *stream, struct net_out *out)
{
	char header[64];
	void *user = stream->user;
	size_t n = stream->offered < FRAME_MOST ? stream->offered : FRAME_MOST;
	if ((int64_t)n > stream->send_window && n > 0)
		n = (size_t)stream->send_window;
	stream->offered -= n;
	stream->send_window -= (int64_t)n;
	bool end = stream->offered == 0 && stream->offered_end;
	int size = snprintf(header, sizeof(header), "data %u%s %zu ", stream->id, end ? "." : "", n);
	net_out_copy(out, header, (size_t)size);
	if (end) {
		stream->local_ended = true;
		scripted_check_closed(s, stream);
	}
	size_t left = n;
	do {
		struct piece p = {NULL, 0, 0};
		if (left > 0)
			p = s->env->front(user, left);
		if (p.length > 0)
			net_out_piece(out, p);
		left -= p.length;
		s->env->taken(user, p.length, left == 0 && end);
	} while (left > 0);
	net_out_copy(out, "\n", 1);
}

bool scripted_fill(struct session *session, struct net_out *out)
{
	struct scripted *s = (struct scripted *)session;
	bool any = false;
	scripted_bury(s);
	while (net_out_room(out) > 0) {
		struct session_stream *stream = sendable(s);
		if (s->out_bytes > 0) {
			net_out_copy(out, s->out, s->out_bytes);
			s->out_bytes = 0;
		} else if (stream) {
			put_data(s, stream, out);
		} else {
			break;
		}
		any = true;
	}
	return any;
}

bool scripted_wants_write(const struct session *session)
{
	const struct scripted *s = (const struct scripted *)session;
	return s->out_bytes > 0 || sendable(s);
}
