/* SPDX-License-Identifier: MIT */
/*
 * Records what came on the session, in either version of HTTP: the response, the pushes and the assets as items
 * of the result. Fetch accepts a promise only for the origin of the request (RFC 9113 8.4).
 */
#include "proxy/base/memory.h"
#include "proxy/http/authority.h"
#include "proxy/tool/fetch_state.h"
#include <errno.h>
#include <stdarg.h>

/* ---- ends ---- */

bool fetch_fail(struct fetch *f, int status, const char *format, ...)
{
	if (f->result->exit_status != FETCH_OK)
		return false;
	f->result->exit_status = status;
	va_list args;
	va_start(args, format);
	vsnprintf(f->result->error, sizeof(f->result->error), format, args);
	va_end(args);
	return false;
}

/* Why the server may have closed the connection. */
static const char *likely_reason(const struct fetch *f)
{
	if (!f->wire.is_http2)
		return f->result->items[0].status > 0 ? ": the response is not complete"
						      : ": it did not answer";
	if (f->wire.server != FETCH_SERVER_UNKNOWN)
		return "";
	return f->tls ? ": it may speak no HTTP/2 at this port, or only without TLS (http://)"
		      : ": it may speak no HTTP/2 at this port, or only over TLS (https://); "
			"--http1.1 asks in HTTP/1.1";
}

void fetch_fail_closed(struct fetch *f, const char *text)
{
	fetch_fail(f, FETCH_PROTOCOL, "the server closed the connection%s%s%s%s",
	    text && text[0] ? " (" : "", text ? text : "", text && text[0] ? ")" : "",
	    likely_reason(f));
}

static void fail_reset(struct fetch *f, const struct session_event *e)
{
	if (e->fault)
		fetch_fail(f, FETCH_PROTOCOL, "the response is malformed: %s (%s)", e->fault->text,
		    e->fault->section);
	else if (e->unprocessed && f->wire.server == FETCH_SERVER_LEAVES)
		fetch_fail(f, FETCH_PROTOCOL,
		    "the server is closing the connection and did not process the request, which "
		    "may be sent again");
	else
		fetch_fail(f, FETCH_PROTOCOL, "the server reset the request: %s (%s)",
		    session_code_name(e->code), fetch_code_words(e->code));
}

/* ---- items ---- */

/* A copy (owned) without control bytes, so that a peer cannot control the terminal. */
static char *printable(struct slice s)
{
	char *copy = memory_alloc(s.len + 1);
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.ptr[i];
		copy[i] = c >= 0x20 && c < 0x7f ? (char)c : '?';
	}
	copy[s.len] = '\0';
	return copy;
}

struct fetch_item *fetch_add_item(struct fetch *f, uint32_t id, struct slice path)
{
	struct fetch_result *result = f->result;
	result->items = memory_resize(result->items, result->count + 1, sizeof(*result->items));
	struct fetch_item *i = &result->items[result->count++];
	*i = (struct fetch_item){.id = id, .path = printable(path)};
	f->open++;
	return i;
}

static struct fetch_item *item_of(struct fetch *f, uint32_t id)
{
	for (size_t i = 0; i < f->result->count; i++)
		if (f->result->items[i].id == id)
			return &f->result->items[i];
	return NULL;
}

static void end_item(struct fetch *f, struct fetch_item *i, enum fetch_state state, const char *why)
{
	i->state = state;
	i->why = why;
	i->end = fetch_since_sent(f);
	f->open--;
}

static bool is_under_way(const struct fetch_item *i)
{
	return i->state == FETCH_STARTED || i->state == FETCH_RECEIVING;
}

void fetch_lose_all(struct fetch *f)
{
	for (size_t i = 0; i < f->result->count; i++)
		if (is_under_way(&f->result->items[i]))
			end_item(f, &f->result->items[i], FETCH_LOST, NULL);
}

/* ---- events ---- */

static const char *refusal_of(struct fetch *f, const struct http_head *promised)
{
	const struct fetch_request *r = f->request;
	struct slice scheme = r->is_https ? SLICE("https") : SLICE("http");
	struct http_authority asked, got;
	if (!slice_equal_nocase(promised->scheme, scheme))
		return "another scheme";
	if (!http_authority_parse(r->authority, scheme, &asked) ||
	    !http_authority_parse(promised->authority, scheme, &got) ||
	    !http_authority_equal(&asked, &got))
		return "another origin";
	if (f->result->count > FETCH_PUSHES_MAX)
		return "too many pushes";
	return NULL;
}

static void on_promise(struct fetch *f, const struct session_event *e)
{
	uint32_t id = e->promised ? h2_stream_id(e->promised) : e->last_id;
	struct fetch_item *i = fetch_add_item(f, id, e->head ? e->head->path : SLICE("?"));
	i->is_push = true;
	i->start = fetch_since_sent(f);
	const char *why = e->fault ? e->fault->name : NULL;
	if (e->head)
		why = refusal_of(f, e->head);
	if (why || !e->head)
		end_item(f, i, FETCH_REFUSED, why);
	if (why && e->promised)
		session_reset(f->wire.link.session, e->promised, SESSION_PROTOCOL_ERROR);
}

static void on_interim(struct fetch *f, struct fetch_item *i, const struct http_head *head)
{
	if (i->interim_count == FETCH_INTERIMS_MAX)
		return;
	const struct http_field *link = http_head_find(head, HTTP_TOKEN_LINK);
	i->interims[i->interim_count].status = head->status;
	i->interims[i->interim_count].at = fetch_since_sent(f);
	i->interims[i->interim_count].link = link ? printable(link->value) : NULL;
	i->interim_count++;
	if (i == &f->result->items[0])
		fetch_follow_links(f, head); /* may move the items */
}

static void on_head(struct fetch *f, struct fetch_item *i, const struct session_event *e)
{
	if (http_head_is_interim(e->head)) {
		on_interim(f, i, e->head);
		return;
	}
	i->status = e->head->status;
	i->first_byte = fetch_since_sent(f);
	i->state = FETCH_RECEIVING;
	if (e->end)
		end_item(f, i, FETCH_COMPLETE, NULL);
	f->page_has_begun |= e->end && i == &f->result->items[0];
}

/* The end of a body may come alone. */
static void on_data(struct fetch *f, struct fetch_item *i, const struct session_event *e)
{
	struct slice data = e->piece.length ? piece_slice(e->piece) : SLICE("");
	i->bytes += data.len;
	bool is_main = i == &f->result->items[0];
	f->page_has_begun |= is_main;
	if (is_main && f->output && data.len > 0 &&
	    fwrite(data.ptr, 1, data.len, f->output) != data.len) {
		fetch_fail(
		    f, FETCH_WRITE, "cannot write %s: %s", f->request->output, strerror(errno));
		fetch_finish(f);
	} else if (e->end) {
		end_item(f, i, FETCH_COMPLETE, NULL);
	}
	if (!e->end)
		session_credit(f->wire.link.session, e->stream, e->piece.length);
}

/* The response is not complete. */
static void on_reset(struct fetch *f, struct fetch_item *i, const struct session_event *e)
{
	if (!is_under_way(i))
		return;
	end_item(f, i, FETCH_RESET, e->fault ? e->fault->name : session_code_name(e->code));
	if (i == &f->result->items[0])
		fail_reset(f, e);
}

static void on_stream_event(struct fetch *f, const struct session_event *e)
{
	const struct fetch_wire *w = &f->wire;
	struct fetch_item *i = item_of(f, w->is_http2 ? h2_stream_id(e->stream) : w->requests);
	if (!i)
		return;
	if (e->kind == SESSION_EVENT_HEAD)
		on_head(f, i, e);
	else if (e->kind == SESSION_EVENT_DATA)
		on_data(f, i, e);
	else if (e->kind == SESSION_EVENT_TRAILERS)
		end_item(f, i, FETCH_COMPLETE, NULL);
	else
		on_reset(f, i, e);
}

static void on_goaway(struct fetch *f, const struct session_event *e)
{
	f->wire.server = FETCH_SERVER_LEAVES;
	if (e->code == SESSION_NO_ERROR)
		return;
	char *debug = printable(e->debug);
	fetch_fail(f, FETCH_PROTOCOL, "the server ends the connection: GOAWAY %s (%s)%s%s",
	    session_code_name(e->code), fetch_code_words(e->code), debug[0] ? "; it says: " : "",
	    debug);
	free(debug);
}

static void on_failed(struct fetch *f, const struct session_event *e)
{
	bool is_http2 = f->wire.is_http2;
	if (e->fault)
		fetch_fail(f, FETCH_PROTOCOL, "the server violated %s: %s (%s)",
		    is_http2 ? "HTTP/2" : "HTTP/1.1", e->fault->text, e->fault->section);
	else if (e->code)
		fetch_fail(
		    f, FETCH_PROTOCOL, "the connection ended with %s", session_code_name(e->code));
	else if (is_http2) /* in HTTP/1.1 a reset has said it */
		fetch_fail_closed(f, NULL);
	fetch_lose_all(f);
}

void fetch_on_event(void *fetch, struct session_event *e)
{
	struct fetch *f = fetch;
	switch (e->kind) {
	case SESSION_EVENT_HEAD:
	case SESSION_EVENT_DATA:
	case SESSION_EVENT_TRAILERS:
	case SESSION_EVENT_RESET:
		on_stream_event(f, e);
		break;
	case SESSION_EVENT_PROMISE:
		on_promise(f, e);
		break;
	case SESSION_EVENT_GOAWAY:
		on_goaway(f, e);
		break;
	case SESSION_EVENT_FAILED:
		on_failed(f, e);
		break;
	case SESSION_EVENT_READY:
		if (f->wire.server == FETCH_SERVER_UNKNOWN)
			f->wire.server = FETCH_SERVER_SPEAKS;
		break;
	case SESSION_EVENT_CLOSED:
	case SESSION_EVENT_PONG:
	case SESSION_EVENT_REFUSED: /* uncovered 2: for servers alone */
		break;
	}
	http_head_free(e->head);
	if (f->page_has_begun)
		fetch_get_assets(f);
	if (f->open == 0)
		fetch_finish(f);
}

void fetch_result_fini(struct fetch_result *result)
{
	for (size_t i = 0; i < result->count; i++) {
		free(result->items[i].path);
		for (uint32_t n = 0; n < result->items[i].interim_count; n++)
			free(result->items[i].interims[n].link);
	}
	free(result->items);
}
