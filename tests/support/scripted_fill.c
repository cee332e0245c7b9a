/* SPDX-License-Identifier: MIT */
/* What a scripted session sends: its lines first, then data, the oldest stream first. */
#include "tests/support/scripted_inside.h"

#include <stdio.h>
#include <stdlib.h>

static struct scripted_stream *sendable(const struct scripted *s)
{
	list_for_each(&s->streams, stream, struct scripted_stream, link)
	{
		if (s->has_failed || stream->is_over || stream->local_ended || !stream->base.user)
			continue;
		if ((stream->offered > 0 && stream->send_window > 0) ||
		    (stream->offered == 0 && stream->offered_end))
			return stream;
	}
	return NULL;
}

static void put_data(struct scripted *s, struct scripted_stream *stream, struct session_output *output)
{
	size_t n = stream->offered < FRAME_MOST ? stream->offered : FRAME_MOST;
	if ((int64_t)n > stream->send_window && n > 0)
		n = (size_t)stream->send_window;
	stream->offered -= n;
	stream->send_window -= (int64_t)n;
	bool end = stream->offered == 0 && stream->offered_end;
	int size = snprintf(s->header, sizeof(s->header), "data %u%s %zu ", stream->id, end ? "." : "", n);
	*output = (struct session_output){
	    .before = slice_of(s->header, (size_t)size),
	    .stream = &stream->base,
	    .length = (uint32_t)n,
	    .end = end,
	    .after = SLICE("\n"),
	};
	if (end) {
		stream->local_ended = true;
		scripted_check_closed(s, stream);
	}
}

bool scripted_next_output(struct session *session, uint32_t most, struct session_output *output)
{
	struct scripted *s = (struct scripted *)session;
	(void)most;
	scripted_bury(s);
	free(s->lent);
	s->lent = NULL;
	struct scripted_stream *stream = sendable(s);
	if (s->out_bytes > 0) {
		*output = (struct session_output){.before = slice_of(s->out, s->out_bytes)};
		s->lent = s->out;
		s->out = NULL;
		s->out_bytes = s->out_room = 0;
		return true;
	}
	if (stream)
		put_data(s, stream, output);
	return stream != NULL;
}

bool scripted_wants_write(const struct session *session)
{
	const struct scripted *s = (const struct scripted *)session;
	return s->out_bytes > 0 || sendable(s);
}
