/* SPDX-License-Identifier: MIT */
/* Clients that load pages, for tests of the memory of pages. */
#include "tests/support/remembered_world.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include <stdio.h>

void remembered_world_init(struct remembered_world *w, const struct remembered_options *options)
{
	static const struct remembered_options none = {0};
	w->pool = http_head_pool_new(4);
	budget_init(&w->budget, NULL, (size_t)1 << 30);
	w->m = remembered_new(options ? options : &none, 0x5eed, &w->budget);
	w->now = WORLD_START;
}

void remembered_world_fini(struct remembered_world *w)
{
	remembered_free(w->m);
	budget_fini(&w->budget);
	http_head_pool_free(w->pool);
}

static void add_fields(struct http_head *head, const char *lines)
{
	struct slice rest = slice_of_string(lines ? lines : "");
	while (rest.len > 0) {
		struct slice line = slice_cut(&rest, '\n');
		size_t colon = slice_find(line, ':');
		http_head_add(head, slice_sub(line, 0, colon), slice_trim(slice_from(line, colon + 1)));
	}
}

struct http_head *remembered_request(struct remembered_world *w, const struct remembered_view *view)
{
	struct http_head *head = http_head_new(w->pool);
	head->kind = HTTP_REQUEST;
	head->method = view->is_post ? SLICE("POST") : SLICE("GET");
	head->method_token = view->is_post ? HTTP_METHOD_POST : HTTP_METHOD_GET;
	head->scheme = view->is_plain_http ? SLICE("http") : SLICE("https");
	head->authority = slice_of_string(view->authority ? view->authority : "www.example");
	head->path = slice_of_string(view->path ? view->path : "/");
	add_fields(head, view->request);
	return head;
}

static size_t read_items(const char *text, enum remembered_source source, struct remembered_item *items, size_t most)
{
	struct slice rest = slice_of_string(text ? text : "");
	size_t count = 0;
	while (rest.len > 0 && count < most) {
		struct slice word = slice_cut(&rest, ' ');
		bool is_head = slice_starts_with(word, SLICE("~"));
		slice_skip(&word, is_head);
		size_t as = slice_find(word, '=');
		items[count++] = (struct remembered_item){
		    .source = is_head ? REMEMBERED_HEAD : source,
		    .target = slice_sub(word, 0, as),
		    .as = slice_from(word, as + 1),
		};
	}
	return count;
}

enum remembered_answer remembered_view(
    struct remembered_world *w, uint32_t client, const struct remembered_view *view)
{
	/* A word has two characters at least. */
	size_t most = strlen(view->items ? view->items : "") / 2 + 3;
	struct remembered_item *items = memory_alloc(most * sizeof(*items));
	struct http_head *request = remembered_request(w, view), *response = http_head_new(w->pool);
	response->kind = HTTP_RESPONSE;
	response->status = view->status ? view->status : 200;
	const char *type = view->type ? view->type : "text/html; charset=utf-8";
	if (type[0])
		http_head_add(response, SLICE("content-type"), slice_of_string(type));
	add_fields(response, view->response);
	size_t count = read_items(view->items, REMEMBERED_LINK, items, most - 2);
	if (view->csp)
		items[count++] = (struct remembered_item){
		    .rel = REMEMBERED_CSP, .target = slice_of_string(view->csp)};
	if (view->referrer_policy)
		items[count++] = (struct remembered_item){
		    .rel = REMEMBERED_REFERRER_POLICY, .target = slice_of_string(view->referrer_policy)};
	const struct remembered_lesson lesson = {
	    .request = request,
	    .response = response,
	    .client = slice_of(&client, sizeof(client)),
	    .is_page_load = !view->is_no_page_load,
	    .has_user = view->has_user,
	    .items = items,
	    .count = count,
	};
	enum remembered_answer answer = remembered_teach(w->m, &lesson, w->now);
	w->now += USEC_PER_SEC;
	http_head_free(request);
	http_head_free(response);
	free(items);
	return answer;
}

const char *remembered_told(struct remembered_world *w, const struct remembered_view *view)
{
	static char text[REMEMBERED_RESOURCES * (REMEMBERED_TARGET_BYTES + 1) + 1];
	struct remembered_told told[REMEMBERED_RESOURCES];
	struct http_head *request = remembered_request(w, view);
	struct remembered_fields fields;
	size_t count = remembered_find(w->m, request, told, &fields, w->now), at = 0;
	for (size_t i = 0; i < count; i++)
		at += (size_t)sprintf(text + at, "%s%.*s", i > 0 ? " " : "", SLICE_ARG(told[i].item.target));
	text[at] = '\0';
	http_head_free(request);
	return text;
}

const char *remembered_told_fields(struct remembered_world *w, const struct remembered_view *view)
{
	static char text[2 * REMEMBERED_FIELD_BYTES + 4];
	struct http_head *request = remembered_request(w, view);
	struct remembered_told told[REMEMBERED_RESOURCES];
	struct remembered_fields fields;
	remembered_find(w->m, request, told, &fields, w->now);
	sprintf(text, "%.*s | %.*s", SLICE_ARG(fields.csp), SLICE_ARG(fields.referrer_policy));
	http_head_free(request);
	return text;
}

void remembered_asks(struct remembered_world *w, uint32_t client, const char *page, const char *paths, bool style)
{
	struct remembered_item items[64];
	size_t count = read_items(paths, style ? REMEMBERED_STYLE : REMEMBERED_ASKED, items, 64);
	remembered_add(w->m, slice_of_string(page), slice_of(&client, sizeof(client)), items, count, w->now);
}

void remembered_outcome(struct remembered_world *w, uint32_t client, const struct remembered_view *view,
    const char *target, enum remembered_outcome outcome)
{
	struct http_head *request = remembered_request(w, view);
	remembered_on_outcome(w->m, request, slice_of(&client, sizeof(client)), slice_of_string(target), outcome, w->now);
	http_head_free(request);
}

char *remembered_text(struct remembered_world *w, size_t *length, uint64_t wall_sec)
{
	static uint32_t round;
	char *page = memory_alloc(REMEMBERED_PAGE_BYTES), *text = memory_alloc(256);
	size_t n = remembered_write_begin(text, 256, wall_sec), add;
	ensure(n > 0);
	round++;
	while ((add = remembered_write_page(w->m, round, page, w->now)) > 0) {
		text = memory_resize(text, n + add, 1);
		memcpy(text + n, page, add);
		n += add;
	}
	free(page);
	*length = n;
	return text;
}
