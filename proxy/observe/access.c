/* SPDX-License-Identifier: MIT */
/*
 * The access log: one JSON object per line, formatted by hand and gathered in a batch. One system
 * call per line would cost more than the line itself. A batch is as large as one write that a pipe
 * takes in one piece, so lines of several workers never mix.
 */
#include "proxy/base/ensure.h"
#include "proxy/observe/line.h"
#include <errno.h>
#include <limits.h>
#include <unistd.h>

_Static_assert(OBSERVE_BATCH_BYTES <= PIPE_BUF, "a batch must stay in one piece in the pipe");

/* Bounds of the values in a line, such that the longest line fits into a batch: */
enum {
	BOUND_NAME = 64, /* listen, route, origin, rule */
	BOUND_METHOD = 32,
	BOUND_SCHEME = 16,
	BOUND_AUTHORITY = 260,
	BOUND_PATH = 1200,
	BOUND_USER_AGENT = 300,
	BOUND_REFERER = 500,
	BOUND_CODE = 40, /* code_name, reason, end_reason, outcome, source, verdict */
	BOUND_DETAIL = 300,
	BOUND_MISSED = 72,
	BOUND_ADDRESS = 46,
	BOUND_NUMBERS = 9 * 20 + 2 * 10 + 3 + 24,
	BOUND_KEYS = 482,
};
_Static_assert(4 * BOUND_NAME + BOUND_METHOD + BOUND_SCHEME + BOUND_AUTHORITY + BOUND_PATH +
		       BOUND_USER_AGENT + BOUND_REFERER + 6 * BOUND_CODE + BOUND_DETAIL +
		       BOUND_MISSED + BOUND_ADDRESS + BOUND_NUMBERS + BOUND_KEYS <=
		   OBSERVE_BATCH_BYTES,
    "an access line must fit into a batch");

/* `key` includes its punctuation: `,"path":"`. */
static void put_string(struct line *l, struct slice key, struct slice value, size_t most)
{
	line_text(l, key);
	line_json(l, value, most);
	LINE_LITERAL(l, "\"");
}

static void put_if_any(struct line *l, struct slice key, struct slice value, size_t most)
{
	if (value.len > 0)
		put_string(l, key, value, most);
}

static void put_name(struct line *l, struct slice key, const char *name, size_t most)
{
	if (name)
		put_string(l, key, slice_of_string(name), most);
}

static void put_number(struct line *l, struct slice key, uint64_t n)
{
	line_text(l, key);
	line_number(l, n);
}

static void put_request(struct line *l, const struct observe_exchange *x)
{
	char address[BOUND_ADDRESS];
	address_format(&x->client, address, sizeof(address));
	put_string(l, SLICE(",\"client\":\""), slice_of_string(address), BOUND_ADDRESS);
	put_name(l, SLICE(",\"listen\":\""), x->listen, BOUND_NAME);
	put_name(l, SLICE(",\"route\":\""), x->route, BOUND_NAME);
	put_name(l, SLICE(",\"origin\":\""), x->origin, BOUND_NAME);
	put_if_any(l, SLICE(",\"method\":\""), x->method, BOUND_METHOD);
	put_if_any(l, SLICE(",\"scheme\":\""), x->scheme, BOUND_SCHEME);
	put_if_any(l, SLICE(",\"authority\":\""), x->authority, BOUND_AUTHORITY);
	put_if_any(l, SLICE(",\"path\":\""), x->path, BOUND_PATH);
	put_if_any(l, SLICE(",\"user_agent\":\""), x->user_agent, BOUND_USER_AGENT);
	put_if_any(l, SLICE(",\"referer\":\""), x->referer, BOUND_REFERER);
}

static void put_response(struct line *l, const struct observe_exchange *x)
{
	put_number(l, SLICE(",\"status\":"), x->status);
	put_number(l, SLICE(",\"request_bytes\":"), x->request_bytes);
	put_number(l, SLICE(",\"response_bytes\":"), x->response_bytes);
	put_number(l, SLICE(",\"duration_us\":"), x->duration);
	if (x->first_byte)
		put_number(l, SLICE(",\"first_byte_us\":"), x->first_byte);
	put_name(l, SLICE(",\"outcome\":\""), observe_outcome_name(x->outcome), BOUND_CODE);
	/* NO_ERROR is 0, so code_name tells whether there was a code. */
	if (x->code || x->code_name)
		put_number(l, SLICE(",\"code\":"), x->code);
	put_name(l, SLICE(",\"code_name\":\""), x->code_name, BOUND_CODE);
	put_name(l, SLICE(",\"detail\":\""), x->detail, BOUND_DETAIL);
	if (x->retried)
		LINE_LITERAL(l, ",\"retried\":true");
	put_name(l, SLICE(",\"missed\":\""), x->missed, BOUND_MISSED);
}

static void put_push(struct line *l, const struct observe_exchange *x)
{
	LINE_LITERAL(l, ",\"push\":true");
	put_number(l, SLICE(",\"parent\":"), x->parent_id);
	put_name(l, SLICE(",\"source\":\""), policy_source_name(x->source), BOUND_CODE);
	put_name(l, SLICE(",\"verdict\":\""), policy_action_name(x->verdict), BOUND_CODE);
	put_name(l, SLICE(",\"rule\":\""), x->rule, BOUND_NAME);
	if (x->reason)
		put_name(l, SLICE(",\"reason\":\""), x->reason->code, BOUND_CODE);
	if (x->end_reason)
		put_name(l, SLICE(",\"end_reason\":\""), x->end_reason->code, BOUND_CODE);
	if (x->wasted_bytes)
		put_number(l, SLICE(",\"wasted_bytes\":"), x->wasted_bytes);
}

/* Writes the first `bytes` bytes of the batch and empties it. */
static void write_batch(struct observe *o, size_t bytes)
{
	const char *p = o->batch;
	if (o->access_file) {
		observe_file_write(o, o->access_file, p, bytes);
		bytes = 0;
	}
	while (bytes > 0) {
		ssize_t n = write(o->access_fd, p, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			o->counters->access_lines_dropped += o->batch_lines;
			break;
		}
		/* A pipe accepts all or nothing. */
		p += n;
		bytes -= (size_t)n;
	}
	o->batch_bytes = 0;
	o->batch_lines = 0;
}

void observe_flush(struct observe *o)
{
	if (o->batch_bytes > 0)
		write_batch(o, o->batch_bytes);
}

/*
 * Adds the line at `start`, which is just behind the batch. If it does not fit, the batch is
 * written first.
 */
static void add_line(struct observe *o, const char *start, size_t bytes)
{
	ensure(bytes <= OBSERVE_BATCH_BYTES);
	if (o->batch_bytes + bytes > OBSERVE_BATCH_BYTES) {
		observe_flush(o);
		memmove(o->batch, start, bytes);
	}
	o->batch_bytes += (uint32_t)bytes;
	if (o->batch_lines++ == 0 && o->gathers)
		o->gathers(o->gathers_context);
}

void observe_access(struct observe *o, const struct observe_exchange *x)
{
	if (o->access_fd < 0)
		return;
	char *start = o->batch + o->batch_bytes;
	struct line l = {.at = start};
	LINE_LITERAL(&l, "{\"time\":\"");
	line_time(&l, o, x->started_wall);
	put_number(&l, SLICE("\",\"worker\":"), o->worker);
	put_number(&l, SLICE(",\"id\":"), x->id);
	put_request(&l, x);
	put_response(&l, x);
	if (x->is_push)
		put_push(&l, x);
	if (l.was_cut)
		LINE_LITERAL(&l, ",\"cut\":true");
	LINE_LITERAL(&l, "}\n");
	add_line(o, start, (size_t)(l.at - start));
}
