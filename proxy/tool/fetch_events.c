/* SPDX-License-Identifier: MIT */
/*
 * Records the response and the pushes as items of the result. Fetch accepts a promise only for the
 * origin of the request (RFC 9113 8.4).
 */
#include "proxy/base/memory.h"
#include "proxy/http/authority.h"
#include "proxy/tool/fetch_state.h"
#include <errno.h>
#include <stdarg.h>

/* ---- ends ---- */

void fetch_fail(struct fetch *f, int status, const char *format, ...)
{
	if (f->result->exit_status != FETCH_OK)
		return;
	f->result->exit_status = status;
	va_list args;
	va_start(args, format);
	vsnprintf(f->result->error, sizeof(f->result->error), format, args);
	va_end(args);
}

void fetch_fail_closed(struct fetch *f, const char *text)
{
	const char *guess = "", *other = "";
	if (f->server == FETCH_SERVER_UNKNOWN) {
		guess = ": it may speak no HTTP/2 at this port, or only ";
		other = f->tls ? "without TLS (http://)" : "over TLS (https://)";
	}
	fetch_fail(f, FETCH_PROTOCOL, "the server closed the connection%s%s%s%s%s",
	    text && text[0] ? " (" : "", text ? text : "", text && text[0] ? ")" : "", guess,
	    other);
}

void fetch_finish(struct fetch *f)
{
	if (f->is_over)
		return;
	f->is_over = true;
	net_stop(f->loop);
}

usec fetch_since_sent(const struct fetch *f)
{
	usec at = net_now(f->loop) - f->sent;
	return at ? at : 1;
}

/* ---- items ---- */

/* Replaces control bytes, so that a peer cannot control the terminal. */
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

static void on_promise(struct fetch *f, struct h2_event *e)
{
	if (!e->promised) {
		struct fetch_item *i = fetch_add_item(f, e->last_id, SLICE("?"));
		i->is_push = true;
		i->start = fetch_since_sent(f);
		end_item(f, i, FETCH_REFUSED, e->fault ? e->fault->name : NULL);
		return;
	}
	struct fetch_item *i = fetch_add_item(f, h2_stream_id(e->promised), e->head->path);
	i->is_push = true;
	i->start = fetch_since_sent(f);
	const char *why = refusal_of(f, e->head);
	if (!why)
		return;
	h2_reset(f->wire.h2, e->promised, H2_PROTOCOL_ERROR);
	end_item(f, i, FETCH_REFUSED, why);
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

static void on_head(struct fetch *f, struct fetch_item *i, const struct h2_event *e)
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

static void on_data(struct fetch *f, struct fetch_item *i, const struct h2_event *e)
{
	struct slice data = piece_slice(e->piece);
	i->bytes += data.len;
	bool is_main = i == &f->result->items[0];
	f->page_has_begun |= is_main;
	if (is_main && f->output && data.len > 0 &&
	    fwrite(data.ptr, 1, data.len, f->output) != data.len) {
		fetch_fail(
		    f, FETCH_WRITE, "cannot write %s: %s", f->request->output, strerror(errno));
		fetch_finish(f);
		return;
	}
	if (e->end)
		end_item(f, i, FETCH_COMPLETE, NULL);
	else
		h2_credit(f->wire.h2, e->stream, e->piece.length);
}

static bool is_under_way(const struct fetch_item *i)
{
	return i->state == FETCH_STARTED || i->state == FETCH_RECEIVING;
}

static void fail_reset(struct fetch *f, const struct h2_event *e)
{
	if (e->unprocessed && f->server == FETCH_SERVER_LEAVES)
		fetch_fail(f, FETCH_PROTOCOL,
		    "the server is closing the connection and did not process the request, which "
		    "may be sent again");
	else
		fetch_fail(f, FETCH_PROTOCOL, "the server reset the request: %s (%s)",
		    h2_code_name(e->code), fetch_code_words(e->code));
}

static void on_reset(struct fetch *f, struct fetch_item *i, const struct h2_event *e)
{
	if (is_under_way(i))
		end_item(f, i, FETCH_RESET, e->fault ? e->fault->name : h2_code_name(e->code));
	if (i == &f->result->items[0]) {
		if (e->fault)
			fetch_fail(f, FETCH_PROTOCOL, "the response is malformed: %s (%s)",
			    e->fault->text, e->fault->section);
		else if (i->state == FETCH_RESET)
			fail_reset(f, e);
	}
}

static void on_goaway(struct fetch *f, const struct h2_event *e)
{
	f->server = FETCH_SERVER_LEAVES;
	if (e->code == H2_NO_ERROR)
		return;
	char *debug = printable(e->debug);
	fetch_fail(f, FETCH_PROTOCOL, "the server ends the connection: GOAWAY %s (%s)%s%s",
	    h2_code_name(e->code), fetch_code_words(e->code), debug[0] ? "; it says: " : "", debug);
	free(debug);
}

void fetch_lose_all(struct fetch *f)
{
	for (size_t i = 0; i < f->result->count; i++)
		if (is_under_way(&f->result->items[i]))
			end_item(f, &f->result->items[i], FETCH_LOST, NULL);
}

static void on_failed(struct fetch *f, const struct h2_event *e)
{
	if (e->fault)
		fetch_fail(f, FETCH_PROTOCOL, "the server violated HTTP/2: %s (%s)", e->fault->text,
		    e->fault->section);
	else if (e->code)
		fetch_fail(
		    f, FETCH_PROTOCOL, "the connection ended with %s", h2_code_name(e->code));
	else
		fetch_fail_closed(f, NULL);
	fetch_lose_all(f);
}

static void on_stream_event(struct fetch *f, struct h2_event *e)
{
	struct fetch_item *i = e->stream ? item_of(f, h2_stream_id(e->stream)) : NULL;
	if (!i)
		return;
	if (e->kind == H2_EVENT_HEAD)
		on_head(f, i, e);
	else if (e->kind == H2_EVENT_DATA)
		on_data(f, i, e);
	else if (e->kind == H2_EVENT_TRAILERS)
		end_item(f, i, FETCH_COMPLETE, NULL);
	else
		on_reset(f, i, e);
}

void fetch_on_event(void *owner, struct h2_event *e)
{
	struct fetch *f = owner;
	switch (e->kind) {
	case H2_EVENT_HEAD:
	case H2_EVENT_DATA:
	case H2_EVENT_TRAILERS:
	case H2_EVENT_RESET:
		on_stream_event(f, e);
		break;
	case H2_EVENT_PROMISE:
		on_promise(f, e);
		break;
	case H2_EVENT_GOAWAY:
		on_goaway(f, e);
		break;
	case H2_EVENT_FAILED:
		on_failed(f, e);
		break;
	case H2_EVENT_SETTINGS:
		if (f->server == FETCH_SERVER_UNKNOWN)
			f->server = FETCH_SERVER_HTTP2;
		break;
	case H2_EVENT_CLOSED:
	case H2_EVENT_PONG:
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
