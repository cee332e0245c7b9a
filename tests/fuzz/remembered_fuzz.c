/* SPDX-License-Identifier: MIT */
/*
 * The memory of pages: any bytes as its file, and any sequence of views, requests and outcomes. Counts and bytes stay
 * within their bounds, what is told is well-formed and needs several clients, what is written is read again, and all
 * memory comes back.
 *
 * Input: one byte, modulo 3. 0: what follows is a file. 1: steps of five bytes. 2: messages, each behind two bytes of
 * length. Then bytes are changed in a message that a draft has made.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/remembered/remembered.h"

#include <stdio.h>
#include <stdlib.h>

enum { PAGES = 6, MEMORY_BYTES = 60000, WRITTEN = 1000 };

static struct http_head_pool *pool;
static char page_line[REMEMBERED_PAGE_BYTES];

static void check_told(const struct remembered *m, const struct http_head *request, usec now)
{
	struct remembered_told told[REMEMBERED_RESOURCES];
	struct remembered_fields fields;
	size_t count = remembered_find(m, request, told, &fields, now);
	ensure(count <= REMEMBERED_RESOURCES);
	for (size_t i = 0; i < count; i++) {
		const struct remembered_item *item = &told[i].item;
		ensure(item->target.len > 0 && item->target.len <= REMEMBERED_TARGET_BYTES);
		ensure(ascii_is_visible(item->target) && told[i].sources != 0);
		ensure(slice_find(item->target, '>') == item->target.len);
		ensure(i == 0 || told[i - 1].item.source <= item->source);
		for (size_t j = 0; j < i; j++)
			ensure(!slice_equal(told[j].item.target, item->target));
		ensure(!remembered_rel_is_field(item->rel));
	}
	ensure(fields.csp.len <= REMEMBERED_FIELD_BYTES && slice_find(fields.csp, '"') == fields.csp.len);
	ensure(fields.referrer_policy.len <= REMEMBERED_FIELD_BYTES);
	ensure(slice_find(fields.referrer_policy, ':') == fields.referrer_policy.len);
}

/* Writes all of it, with one page each time; reads it into another memory, which writes the same. */
static size_t write_all(struct remembered *m, uint32_t round, char **text, usec now)
{
	*text = memory_alloc(128);
	size_t length = remembered_write_begin(*text, 128, WRITTEN), more;
	while ((more = remembered_write_page(m, round, page_line, now)) > 0) {
		*text = memory_resize(*text, length + more, 1);
		memcpy(*text + length, page_line, more);
		length += more;
	}
	return length;
}

static void check(struct remembered *m, const struct budget *budget, usec now)
{
	char lines[REMEMBERED_LINES][REMEMBERED_LINE], text[512];
	char *written, *again;
	uint32_t line;
	ensure(budget->used_bytes <= MEMORY_BYTES + 1024);
	size_t count = remembered_lines(m, lines, now);
	ensure(count <= PAGES);
	for (size_t i = 0; i < count; i++)
		ensure(strnlen(lines[i], REMEMBERED_LINE) < REMEMBERED_LINE && strncmp(lines[i], "http", 4) == 0);
	ensure(remembered_describe(m, text, sizeof(text)) > 0);
	size_t length = write_all(m, 1, &written, now);
	struct remembered *copy =
	    remembered_new(&(struct remembered_options){.pages = PAGES * 2}, 2, NULL);
	ensure(!remembered_read(copy, slice_of(written, length), WRITTEN, now, &line));
	size_t other = write_all(copy, 1, &again, now);
	/* An age that is about to be over may be over. */
	ensure(other <= length);
	uint32_t lines_written = 0;
	uint64_t since = 0;
	remembered_look(m, now);
	while ((length = remembered_write_since(m, &since, page_line, now)) > 0) {
		ensure(!remembered_replace_page(copy, slice_of(page_line, length), 0, now));
		ensure(++lines_written <= PAGES + 64);
	}
	free(written);
	free(again);
	remembered_free(copy);
}

static void say(const char *line, void *context)
{
	(void)context;
	ensure(strlen(line) < REMEMBERED_LINE && strchr(line, '\n') == NULL);
}

static struct http_head *request_of(uint8_t page, uint8_t who)
{
	static const char *const paths[] = {"/", "/p", "/p?a=1", "/p?b=2&a=1", "/q?u=/a.css", "/%2f", "//x", "/x#y"};
	struct http_head *h = http_head_new(pool);
	h->kind = HTTP_REQUEST;
	h->method_token = HTTP_METHOD_GET;
	h->scheme = SLICE("https");
	h->authority = who & 128 ? SLICE("b.example") : SLICE("a.example");
	h->path = slice_of_string(paths[page % 8]);
	if (who & 16)
		http_head_add(h, SLICE("cookie"), who & 32 ? SLICE("user=alice") : SLICE("user=bernd"));
	if (who & 64)
		http_head_add(h, SLICE("accept-language"), who & 32 ? SLICE("de") : SLICE("en"));
	return h;
}

static struct http_head *response_of(uint8_t kind)
{
	static const char *const values[][2] = {{"cache-control", "private"}, {"vary", "cookie"},
	    {"vary", "accept-language, x"}, {"no-vary-search", "params=(\"a\"), key-order"}, {"etag", "\"1\""},
	    {"set-cookie", "a=b"}, {"cache-control", "no-store"}};
	struct http_head *h = http_head_new(pool);
	h->kind = HTTP_RESPONSE;
	h->status = 200;
	http_head_add(h, SLICE("content-type"), SLICE("text/html"));
	for (int i = 0; i < 7; i++)
		if (kind >> i & 1)
			http_head_add(h, slice_of_string(values[i][0]), slice_of_string(values[i][1]));
	return h;
}

static size_t items_of(uint8_t set, bool is_later, struct remembered_item items[8])
{
	static const char *const targets[] = {"/a.css", "/b.js", "/users/alice.css", "/c.png?q", "https://c.example/d.js",
	    "//x", "", "/e\"f.css"};
	size_t count = 0;
	for (int i = 0; i < 8; i++)
		if (set >> i & 1)
			items[count++] = (struct remembered_item){
			    .source = is_later ? (i % 2 ? REMEMBERED_ASKED : REMEMBERED_STYLE)
					       : (i % 2 ? REMEMBERED_HEAD : REMEMBERED_LINK),
			    .target = slice_of_string(targets[i]),
			    .as = i % 3 ? SLICE("style") : SLICE("")};
	return count;
}

static void step(struct remembered *m, struct input *in, usec *now)
{
	uint8_t action = input_byte(in), page = input_byte(in), who = input_byte(in), set = input_byte(in);
	uint8_t wait = input_byte(in), client = who % 16;
	struct remembered_item items[8];
	struct slice address = slice_of(&client, 1);
	struct http_head *request = request_of(page, who), *response = response_of(action / 2);
	const struct remembered_lesson lesson = {request, response, address, true, false, items,
	    items_of(set, false, items)};
	*now += (usec)wait * wait * wait * USEC_PER_MSEC * 10;
	if (action % 2 == 0)
		(void)remembered_teach(m, &lesson, *now);
	else if (action % 4 == 1)
		remembered_add(m, page & 8 ? SLICE("https://a.example/p") : SLICE("https://b.example"), address, items,
		    items_of(set, true, items), *now);
	else if (set < 128)
		remembered_on_outcome(m, request, address, SLICE("/a.css"), (enum remembered_outcome)(set % 3), *now);
	else
		(void)remembered_explain(m, request, say, NULL, *now);
	check_told(m, request, *now);
	http_head_free(request);
	http_head_free(response);
}

static void take_messages(struct remembered *m, struct input *in, usec *now)
{
	while (in->left > 0) {
		size_t length = (size_t)input_byte(in) | (size_t)input_byte(in) << 8;
		length = length < in->left ? length : in->left;
		(void)remembered_take(m, slice_of(in->at, length), *now);
		in->at += length;
		in->left -= length;
		*now += USEC_PER_SEC;
	}
}

/* The message of a view, with the bytes at these places changed. */
static void take_changed(struct remembered *m, struct input *in, usec now)
{
	struct remembered_item items[8];
	enum remembered_answer answer;
	struct http_head *request = request_of(3, 0xf0), *response = response_of(2);
	const struct remembered_lesson lesson = {
	    request, response, SLICE("12"), true, false, items, items_of(input_byte(in), false, items)};
	struct remembered_draft *d = remembered_draft_new(m, &lesson, &answer, now);
	struct slice made = d ? remembered_draft_end(d, request) : SLICE("");
	uint8_t *bytes = memory_alloc(made.len + 1);
	if (made.len > 0)
		memcpy(bytes, made.ptr, made.len);
	for (int i = 0; i < 8 && in->left > 1 && made.len > 0; i++)
		bytes[input_byte(in) % made.len] = input_byte(in);
	(void)remembered_take(m, slice_of(bytes, made.len), now);
	free(bytes);
	remembered_draft_free(d);
	http_head_free(request);
	http_head_free(response);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct slice ignored[] = {SLICE_INIT("u*")};
	const struct remembered_options options = {
	    .pages = PAGES, .bytes = MEMORY_BYTES, .ignored = ignored, .ignored_count = 1};
	struct input in = {data, size};
	struct budget budget;
	usec now = USEC_PER_SEC;
	uint32_t line;
	pool = http_head_pool_new(4);
	budget_init(&budget, NULL, 2 * MEMORY_BYTES);
	struct remembered *m = remembered_new(&options, 1, &budget);
	uint8_t what = input_byte(&in) % 3;
	if (what == 0) {
		const char *mistake = remembered_read(m, slice_of(in.at, in.left), WRITTEN, now, &line);
		char lines[REMEMBERED_LINES][REMEMBERED_LINE];
		ensure(!mistake || (line > 0 && remembered_lines(m, lines, now) == 0));
	} else if (what == 1) {
		while (in.left > 0)
			step(m, &in, &now);
	} else {
		take_changed(m, &in, now);
		take_messages(m, &in, &now);
	}
	check(m, &budget, now);
	remembered_free(m);
	budget_fini(&budget);
	http_head_pool_free(pool);
	return 0;
}
