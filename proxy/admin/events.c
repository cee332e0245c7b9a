/* SPDX-License-Identifier: MIT */
/*
 * /events: server-sent events (HTML, "Server-sent events"). Each page that is over, or of which a push has ended later, is
 * an event `page`. However many there are, a stream sends EVENTS_A_TICK of them each TICK_USEC: the newest ones; `skipped`
 * says how many others there were. It looks at the page records then, and nothing is queued.
 */
#include "proxy/admin/admin_private.h"
#include "proxy/admin/page_json.h"
#include "proxy/base/memory.h"

#define TICK_USEC (200 * USEC_PER_MSEC)
#define EVENTS_A_TICK 4u
/* Each tick looks at lanes until so many records have been seen: the other lanes come first in the next one. */
#define LOOK_RECORDS 4096u
/* After so many ticks without an event the stream gets a comment: its writing fails if the reader has left. */
#define SILENT_TICKS 25u

struct stream {
	const struct waterfall *records;
	struct worker_env *worker;
	uint32_t first_lane; /* of the next tick */
	unsigned silent;
	struct page_record record;
	/* Of each lane: the last change that was sent or skipped, and how many pages had no record by then. */
	struct {
		uint64_t change, left_out;
	} seen[];
};

/* The records of one lane that have changed, the newest EVENTS_A_TICK of them; in the order of their changes. */
struct news {
	uint32_t at[EVENTS_A_TICK];
	uint64_t change[EVENTS_A_TICK];
	uint32_t count;
	uint64_t all; /* also those that are not in it, or whose place another page has by now */
};

static void add_news(struct news *n, uint32_t at, uint64_t change, uint32_t room)
{
	n->all++;
	uint32_t i = n->count;
	if (n->count == room) {
		if (room == 0 || change < n->change[0])
			return;
		memmove(n->at, n->at + 1, (room - 1) * sizeof(n->at[0]));
		memmove(n->change, n->change + 1, (room - 1) * sizeof(n->change[0]));
		i--;
	} else {
		n->count++;
	}
	for (; i > 0 && n->change[i - 1] > change; i--) {
		n->at[i] = n->at[i - 1];
		n->change[i] = n->change[i - 1];
	}
	n->at[i] = at;
	n->change[i] = change;
}

static struct news look(struct stream *s, uint32_t lane, uint32_t room)
{
	struct news n = {0};
	struct page_glance g;
	uint64_t last = waterfall_last_change(s->records, lane);
	if (last == s->seen[lane].change)
		return n;
	for (uint32_t i = 0; i < s->records->records; i++)
		if (waterfall_glance(s->records, lane, i, &g) && g.change > s->seen[lane].change &&
		    g.change <= last)
			add_news(&n, i, g.change, room);
	if (n.all ==
	    s->records->records) /* there were as many at least: each change was another page's */
		n.all = last - s->seen[lane].change;
	s->seen[lane].change = last;
	return n;
}

static uint32_t write_news(struct stream *s, uint32_t lane, const struct news *n, FILE *out)
{
	uint32_t sent = 0;
	for (uint32_t i = 0; i < n->count; i++) {
		struct json j = {.out = out};
		if (!waterfall_read(s->records, lane, n->at[i], &s->record))
			continue;
		fputs("event: page\ndata: ", out);
		page_json_line(&j, &s->record, lane, s->worker->conf);
		fputs("\n\n", out);
		sent++;
	}
	return sent;
}

/* Pages without a record, since the last tick. */
static uint64_t left_out(struct stream *s, uint32_t lane)
{
	uint64_t before = s->seen[lane].left_out;
	s->seen[lane].left_out = waterfall_left_out(s->records, lane);
	return s->seen[lane].left_out - before;
}

static uint32_t next_lane(uint32_t lane, uint32_t lanes)
{
	return lane + 1 < lanes ? lane + 1 : 0;
}

static enum admin_step produce(void *context, struct admin_output *output, FILE *out)
{
	struct stream *s = context;
	uint32_t sent = 0;
	uint64_t skipped = 0;
	const uint32_t lanes = s->records->workers;
	uint32_t i = 0;
	for (; i < lanes && i * s->records->records < LOOK_RECORDS; i++) {
		uint32_t lane = s->first_lane;
		s->first_lane = next_lane(lane, lanes);
		struct news n = look(s, lane, EVENTS_A_TICK - sent);
		uint32_t written = write_news(s, lane, &n, out);
		sent += written;
		skipped += n.all - written + left_out(s, lane);
	}
	if (i == lanes) /* no lane comes always first */
		s->first_lane = next_lane(s->first_lane, lanes);
	if (skipped > 0)
		fprintf(
		    out, "event: skipped\ndata: {\"pages\":%llu}\n\n", (unsigned long long)skipped);
	s->silent = sent > 0 || skipped > 0 ? 0 : s->silent + 1;
	if (s->silent == SILENT_TICKS) {
		fputs(":\n\n", out);
		s->silent = 0;
	}
	admin_output_wake_at(output, net_now(s->worker->loop) + TICK_USEC);
	return ADMIN_SLEEPS;
}

void admin_events(struct admin_request *r)
{
	static const struct admin_producer producer = {
	    .produce = produce, .free = free, .is_endless = true};
	const struct waterfall *records = r->admin->env.pages;
	if (!records) {
		/* A browser does not come back after a 204. */
		r->answer->status = 204;
		return;
	}
	struct stream *s = memory_zalloc(sizeof(*s) + records->workers * sizeof(s->seen[0]));
	s->records = records;
	s->worker = r->admin->env.worker;
	s->silent =
	    SILENT_TICKS - 1; /* the first bytes come at once: its client sees that it is open */
	for (uint32_t i = 0; i < records->workers; i++) {
		s->seen[i].change = waterfall_last_change(records, i);
		s->seen[i].left_out = waterfall_left_out(records, i);
	}
	r->answer->content_type = "text/event-stream";
	admin_answer_with(r, &producer, s);
}
