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

void fetch_fail_closed(struct fetch *f, const char *text, const char *likely)
{
	fetch_fail(f, FETCH_PROTOCOL, "the server closed the connection%s%s%s%s",
	    text && text[0] ? " (" : "", text ? text : "", text && text[0] ? ")" : "", likely);
}

/* ---- items ---- */

char *fetch_printable(struct slice s)
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
	*i = (struct fetch_item){.id = id, .path = fetch_printable(path)};
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

const char *fetch_on_promise(
    struct fetch *f, uint32_t id, const struct http_head *head, const char *fault)
{
	struct fetch_item *i = fetch_add_item(f, id, head ? head->path : SLICE("?"));
	i->is_push = true;
	i->start = fetch_since_sent(f);
	const char *why = head ? refusal_of(f, head) : fault;
	if (why || !head)
		end_item(f, i, FETCH_REFUSED, why);
	return why;
}

static void on_interim(struct fetch *f, struct fetch_item *i, const struct http_head *head)
{
	if (i->interim_count == FETCH_INTERIMS_MAX)
		return;
	const struct http_field *link = http_head_find(head, HTTP_TOKEN_LINK);
	i->interims[i->interim_count].status = head->status;
	i->interims[i->interim_count].at = fetch_since_sent(f);
	i->interims[i->interim_count].link = link ? fetch_printable(link->value) : NULL;
	i->interim_count++;
	if (i == &f->result->items[0])
		fetch_follow_links(f, head); /* may move the items */
}

void fetch_on_head(struct fetch *f, uint32_t id, const struct http_head *head, bool end)
{
	struct fetch_item *i = item_of(f, id);
	if (!i)
		return;
	if (http_head_is_interim(head)) {
		on_interim(f, i, head);
		return;
	}
	i->status = head->status;
	i->first_byte = fetch_since_sent(f);
	i->state = FETCH_RECEIVING;
	if (end)
		end_item(f, i, FETCH_COMPLETE, NULL);
	f->page_has_begun |= end && i == &f->result->items[0];
}

void fetch_on_data(struct fetch *f, uint32_t id, struct slice data, bool end)
{
	struct fetch_item *i = item_of(f, id);
	if (!i)
		return;
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
	if (end)
		end_item(f, i, FETCH_COMPLETE, NULL);
}

void fetch_on_trailers(struct fetch *f, uint32_t id)
{
	struct fetch_item *i = item_of(f, id);
	if (i)
		end_item(f, i, FETCH_COMPLETE, NULL);
}

bool fetch_on_reset(struct fetch *f, uint32_t id, const char *why)
{
	struct fetch_item *i = item_of(f, id);
	if (!i || !is_under_way(i))
		return false;
	end_item(f, i, FETCH_RESET, why);
	return i == &f->result->items[0];
}

void fetch_go_on(struct fetch *f)
{
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
