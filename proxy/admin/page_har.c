/* SPDX-License-Identifier: MIT */
/*
 * Page records as HAR 1.2. An entry is a request or a push; what was offered and became no push is among the page's
 * offers (_pushgate). What a record does not have (fields, cookies, values of queries) is empty there.
 */
#include "proxy/admin/page_json.h"

#include "proxy/admin/admin.h"

static void open_empty(struct json *j, const char *key)
{
	put_open(j, key, '[');
	put_close(j, ']');
}

static void write_pair(struct json *j, struct slice name)
{
	put_open(j, NULL, '{');
	put_slice(j, "name", name);
	put_slice(j, "value", SLICE("…"));
	put_close(j, '}');
}

static void write_query(struct json *j, const char *path)
{
	struct slice query = slice_of_string(path);
	slice_cut(&query, '?');
	put_open(j, "queryString", '[');
	while (query.len > 0) {
		struct slice member = slice_cut(&query, '&');
		size_t end = slice_find(member, '=');
		if (end < member.len)
			write_pair(j, slice_sub(member, 0, end));
	}
	put_close(j, ']');
}

static const char *version_of(const struct page_record *r)
{
	return r->request.version == HTTP_VERSION_2 ? "HTTP/2" : "HTTP/1.1";
}

/* What an entry says, of a page or of a push. */
struct entry {
	const char *method, *authority, *path;
	usec begin, head, end; /* USEC_NEVER: not yet */
	uint16_t status;
	uint64_t bytes;
};

static void write_request(struct json *j, const struct page_record *r, const struct entry *e)
{
	char url[768];
	snprintf(url, sizeof(url), "%s://%s%s", r->request.scheme, e->authority, e->path);
	put_open(j, "request", '{');
	put_slice(j, "method", slice_of_string(e->method));
	put_slice(j, "url", slice_of_string(url));
	put_string(j, "httpVersion", version_of(r));
	open_empty(j, "cookies");
	open_empty(j, "headers");
	write_query(j, e->path);
	put_number(j, "headersSize", 0);
	put_number(j, "bodySize", 0);
	put_close(j, '}');
}

static void write_response(struct json *j, const struct page_record *r, const struct entry *e)
{
	put_open(j, "response", '{');
	put_number(j, "status", e->status);
	put_slice(j, "statusText", slice_of_string(http_status_reason(e->status)));
	put_string(j, "httpVersion", version_of(r));
	open_empty(j, "cookies");
	open_empty(j, "headers");
	put_open(j, "content", '{');
	put_number(j, "size", e->bytes);
	put_slice(j, "mimeType", SLICE(""));
	put_close(j, '}');
	put_slice(j, "redirectURL", SLICE(""));
	put_number(j, "headersSize", 0);
	put_number(j, "bodySize", e->bytes);
	put_close(j, '}');
}

static usec span_of(usec from, usec to)
{
	return from != USEC_NEVER && to != USEC_NEVER && to > from ? to - from : 0;
}

/* Opens the entry; the caller closes it. */
static void write_entry(
    struct json *j, const struct page_record *r, const char *id, const struct entry *e)
{
	usec last = e->end != USEC_NEVER ? e->end : e->head;
	usec wait = span_of(e->begin, e->head != USEC_NEVER ? e->head : last);
	usec receive = span_of(e->head, last);
	put_open(j, NULL, '{');
	put_string(j, "pageref", id);
	put_date(j, "startedDateTime", r->started_wall + e->begin);
	put_thousandths(j, "time", wait + receive);
	write_request(j, r, e);
	write_response(j, r, e);
	put_open(j, "cache", '{');
	put_close(j, '}');
	put_open(j, "timings", '{');
	put_number(j, "send", 0);
	put_thousandths(j, "wait", wait);
	put_thousandths(j, "receive", receive);
	put_close(j, '}');
}

static void write_push(
    struct json *j, const struct page_record *r, const char *id, const struct page_push *p)
{
	bool was_promised = p->at[PAGE_PUSH_PROMISE] != USEC_NEVER;
	const struct entry e = {.method = "GET",
	    .authority = *p->authority ? p->authority : r->request.authority,
	    .path = p->path,
	    .begin = p->at[was_promised ? PAGE_PUSH_PROMISE : PAGE_PUSH_HOLD],
	    .head = p->at[PAGE_PUSH_HEAD],
	    .end = p->at[was_promised ? PAGE_PUSH_END : PAGE_PUSH_COMPLETE],
	    .status = p->status,
	    .bytes = p->bytes};
	if (p->exchange == 0 || e.begin == USEC_NEVER)
		return;
	write_entry(j, r, id, &e);
	put_bool(j, "_was_pushed", was_promised);
	put_number(j, "_exchange", p->exchange);
	put_close(j, '}');
}

void page_json_har_entries(struct json *j, const struct page_record *r, uint32_t worker)
{
	char id[PAGE_ID_TEXT];
	const struct entry page = {.method = r->request.method,
	    .authority = r->request.authority,
	    .path = r->request.path,
	    .head = r->result.at[PAGE_HEAD],
	    .end = r->result.at[PAGE_END],
	    .status = r->result.status,
	    .bytes = r->result.bytes};
	page_json_id(id, worker, r->number);
	write_entry(j, r, id, &page);
	put_close(j, '}');
	for (uint32_t i = 0; i < r->push_count; i++)
		write_push(j, r, id, &r->pushes[i]);
}

void page_json_har_page(
    struct json *j, const struct page_record *r, uint32_t worker, const struct conf *conf)
{
	char id[PAGE_ID_TEXT], title[768];
	page_json_id(id, worker, r->number);
	snprintf(title, sizeof(title), "%s://%s%s", r->request.scheme, r->request.authority,
	    r->request.path);
	put_open(j, NULL, '{');
	put_date(j, "startedDateTime", r->started_wall);
	put_string(j, "id", id);
	put_slice(j, "title", slice_of_string(title));
	put_open(j, "pageTimings", '{');
	put_close(j, '}');
	j->needs_comma = false;
	fputs(",\"_pushgate\":", j->out);
	page_json_whole(j, r, worker, conf);
	put_close(j, '}');
}
