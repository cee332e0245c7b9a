/* SPDX-License-Identifier: MIT */
/* The answer of a route with `files`: the file, 304, 404, 405, or the way to a folder's own path. */
#include "proxy/gateway/gateway_private.h"

#include "proxy/http/cache.h"
#include "proxy/http/date.h"

/* RFC 9110 13.2.2. */
static bool is_not_modified(const struct http_head *request, const struct http_file *f)
{
	const struct http_field *since = http_head_find(request, HTTP_TOKEN_IF_MODIFIED_SINCE);
	uint64_t sec;
	if (http_head_find(request, HTTP_TOKEN_IF_NONE_MATCH))
		return http_etag_is_named(request, slice_of_string(f->tag));
	return since && http_date_parse(since->value, clock_wall() / USEC_PER_SEC, &sec) &&
	       f->modified_sec <= sec;
}

static void add_fields(struct arena *a, const struct http_file *f, struct http_own_answer *answer)
{
	struct http_own_field *more = arena_alloc(a, 3 * sizeof(*more));
	char *date = arena_bytes(a, HTTP_DATE_LEN);
	http_date_write(date, f->modified_sec);
	more[0] = (struct http_own_field){SLICE("etag"), arena_copy(a, slice_of_string(f->tag))};
	more[1] = (struct http_own_field){SLICE("last-modified"), slice_of(date, HTTP_DATE_LEN)};
	more[2] = (struct http_own_field){SLICE("x-content-type-options"), SLICE("nosniff")};
	answer->more = more;
	answer->more_count = 3;
}

static void answer_file(
    struct exchange *x, const struct http_file *f, struct http_own_answer *answer)
{
	struct arena *a = exchange_arena(x);
	bool is_known = is_not_modified(x->request, f);
	if (!is_known && x->method != HTTP_METHOD_HEAD &&
	    f->body.len > budget_room(x->payer.budget)) {
		answer->status = 503;
		return;
	}
	add_fields(a, f, answer);
	answer->status = is_known ? 304 : 200;
	answer->body = f->body;
	answer->content_type = arena_printf(a, "%.*s", SLICE_ARG(f->type)).ptr;
	answer->is_whole = true;
}

static struct slice folder_location(const struct http_head *request, struct arena *a)
{
	struct slice path = request->path, query = slice_from(path, slice_find(path, '?'));
	return arena_printf(
	    a, "%.*s/%.*s", (int)(path.len - query.len), path.ptr, SLICE_ARG(query));
}

void file_answer(struct exchange *x, struct http_own_answer *answer)
{
	struct http_file f;
	answer->details = NULL;
	if (x->method != HTTP_METHOD_GET && x->method != HTTP_METHOD_HEAD) {
		answer->status = 405;
		answer->allow = SLICE("GET, HEAD");
		return;
	}
	switch (route_find_file(x->place.route, x->request, &f)) {
	case ROUTE_FILE_FOUND:
		answer_file(x, &f, answer);
		return;
	case ROUTE_FILE_FOLDER:
		answer->status = 301;
		answer->location = folder_location(x->request, exchange_arena(x));
		return;
	case ROUTE_FILE_NONE:
		answer->status = 404;
		return;
	}
}
