/* SPDX-License-Identifier: MIT */
/* Lessons, additions and outcomes as messages: the owner learns what a copy was shown, and believes no malformed one. */
#include "proxy/base/memory.h"
#include "tests/support/remembered_world.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Such bytes are nowhere else in a message. */
#define FIRST_CLIENT 0x31323300u

static struct remembered_world owner, copy;
static uint8_t buffer[REMEMBERED_MESSAGE_BYTES];

static int set_up(void **state)
{
	(void)state;
	remembered_world_init(&owner, NULL);
	remembered_world_init(&copy, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	remembered_world_fini(&owner);
	remembered_world_fini(&copy);
	return 0;
}

static const struct remembered_item css = {.target = SLICE_INIT("/a.css"), .as = SLICE_INIT("style")};
static const struct remembered_item js = {
    .source = REMEMBERED_HEAD, .target = SLICE_INIT("/b.js"), .as = SLICE_INIT("script")};
static const struct remembered_view page = {.path = "/p?q=1"};

struct heads {
	struct http_head *request, *response;
};

static struct heads heads_new(const char *fields)
{
	struct remembered_view v = page;
	v.request = fields;
	struct heads h = {remembered_request(&copy, &v), http_head_new(copy.pool)};
	h.response->kind = HTTP_RESPONSE;
	h.response->status = 200;
	http_head_add(h.response, SLICE("content-type"), SLICE("text/html"));
	http_head_add(h.response, SLICE("no-vary-search"), SLICE("params=(\"q\")"));
	return h;
}

static void heads_free(const struct heads *h)
{
	http_head_free(h->request);
	http_head_free(h->response);
}

/* A draft with the first item; NULL: refused. */
static struct remembered_draft *draft(const struct heads *h, uint32_t client)
{
	client += FIRST_CLIENT;
	enum remembered_answer answer;
	const struct remembered_lesson lesson = {.request = h->request,
	    .response = h->response,
	    .client = slice_of(&client, sizeof(client)),
	    .is_page_load = true,
	    .items = &css,
	    .count = 1};
	return remembered_draft_new(copy.m, &lesson, &answer, copy.now);
}

static bool contains(struct slice bytes, const void *text, size_t length)
{
	return memmem(bytes.ptr, bytes.len, text, length) != NULL;
}

static void view(uint32_t client)
{
	const uint32_t address = client + FIRST_CLIENT;
	char fields[64];
	snprintf(fields, sizeof(fields), "cookie: user=secret%u\nx-id: id-%u", client, client);
	struct heads h = heads_new(fields);
	struct remembered_draft *d = draft(&h, client);
	remembered_draft_add(d, &js);
	struct slice message = remembered_draft_end(d, h.request);
	assert_true(message.len > 0);
	assert_false(contains(message, "secret", 6));
	assert_false(contains(message, &address, sizeof(address)));
	assert_null(remembered_take(owner.m, message, owner.now));
	remembered_draft_free(d);
	heads_free(&h);
	owner.now = copy.now += USEC_PER_SEC;
}

static void the_owner_learns_what_copies_see(void **state)
{
	(void)state;
	view(1);
	assert_string_equal(remembered_told(&owner, &page), "");
	view(2);
	assert_string_equal(remembered_told(&owner, &page), "/a.css /b.js");
	assert_string_equal(remembered_told(&copy, &page), "");
}

static void what_the_client_said_is_not_in_its_message(void **state)
{
	(void)state;
	struct heads h = heads_new("x-forwarded-host: evil.example");
	struct remembered_draft *d = draft(&h, 1);
	const struct remembered_item evil = {
	    .source = REMEMBERED_HEAD, .target = SLICE("https://evil.example/x.js"), .as = SLICE("script")};
	remembered_draft_add(d, &evil);
	remembered_draft_add(d, &js);
	struct slice message = remembered_draft_end(d, h.request);
	assert_false(contains(message, "evil", 4));
	assert_true(contains(message, "/b.js", 5));
	remembered_draft_free(d);
	heads_free(&h);
}

static void a_page_that_names_too_much_teaches_nothing(void **state)
{
	(void)state;
	struct heads h = heads_new(NULL);
	struct remembered_draft *d = draft(&h, 1);
	char target[REMEMBERED_TARGET_BYTES];
	struct remembered_item item = {.as = SLICE("style")};
	for (int i = 0; i < 255; i++) {
		item.target = slice_of(target, (size_t)sprintf(target, "/%d.css", i));
		remembered_draft_add(d, &item);
	}
	assert_true(remembered_draft_end(d, h.request).len > 0);
	remembered_draft_add(d, &item);
	assert_int_equal(remembered_draft_end(d, h.request).len, 0);
	remembered_draft_free(d);
	/* Or too long. */
	d = draft(&h, 1);
	memset(target, 'x', sizeof(target));
	item.target = slice_of(target, sizeof(target));
	for (int i = 0; i < 70; i++) {
		target[0] = '/';
		target[1] = (char)('0' + i);
		remembered_draft_add(d, &item);
	}
	assert_int_equal(remembered_draft_end(d, h.request).len, 0);
	assert_true(copy.budget.peak_bytes < 80 * 1024);
	remembered_draft_free(d);
	heads_free(&h);
}

static void a_draft_without_memory_teaches_nothing(void **state)
{
	(void)state;
	struct heads h = heads_new(NULL);
	for (size_t n = 1; n <= 2; n++) {
		budget_fail_nth(&copy.budget, n);
		assert_null(draft(&h, 1));
	}
	struct remembered_draft *d = draft(&h, 1);
	char target[600];
	memset(target, 'x', sizeof(target));
	target[0] = '/';
	const struct remembered_item item = {.target = slice_of(target, sizeof(target)), .as = SLICE("style")};
	budget_fail_nth(&copy.budget, 1);
	for (int i = 0; i < 4; i++)
		remembered_draft_add(d, &item);
	assert_int_equal(remembered_draft_end(d, h.request).len, 0);
	remembered_draft_free(d);
	heads_free(&h);
}

static size_t addition(uint32_t client, const struct remembered_item *item)
{
	client += FIRST_CLIENT;
	return remembered_add_message(
	    copy.m, SLICE("https://WWW.example/p?q=1"), slice_of(&client, sizeof(client)), item, 1, buffer);
}

static void additions_and_outcomes_are_messages(void **state)
{
	(void)state;
	const struct remembered_item font = {
	    .source = REMEMBERED_STYLE, .target = SLICE("/f.woff2"), .as = SLICE("font")};
	for (uint32_t c = 1; c <= 2; c++) {
		view(c);
		size_t length = addition(c, &font);
		assert_null(remembered_take(owner.m, slice_of(buffer, length), owner.now));
	}
	assert_string_equal(remembered_told(&owner, &page), "/a.css /b.js /f.woff2");
	assert_int_equal(addition(1, &css), 0);
	/* An outcome is that of a page of the copy. */
	struct heads h = heads_new(NULL);
	uint64_t since = 0;
	const struct slice client = SLICE("c"), target = SLICE("/a.css");
	assert_int_equal(
	    remembered_outcome_message(copy.m, h.request, client, target, REMEMBERED_GONE, buffer), 0);
	char *line = memory_alloc(REMEMBERED_PAGE_BYTES);
	size_t length = remembered_write_since(owner.m, &since, line, owner.now);
	assert_null(remembered_replace_page(copy.m, slice_of(line, length), 0, copy.now));
	free(line);
	length = remembered_outcome_message(copy.m, h.request, client, target, REMEMBERED_GONE, buffer);
	assert_null(remembered_take(owner.m, slice_of(buffer, length), owner.now));
	assert_string_equal(remembered_told(&owner, &page), "/b.js /f.woff2");
	heads_free(&h);
}

/* Each byte changed to each of some values: refused, or a message like any other. */
static void mutate(struct slice message)
{
	static const uint8_t values[] = {0, 1, 4, 127, 128, 255};
	uint8_t *bytes = memory_alloc(message.len + 1);
	memcpy(bytes, message.ptr, message.len);
	for (size_t i = 0; i < message.len; i++) {
		for (size_t v = 0; v < sizeof(values); v++) {
			bytes[i] = values[v];
			(void)remembered_take(owner.m, slice_of(bytes, message.len), owner.now);
		}
		bytes[i] = (uint8_t)message.ptr[i];
		assert_non_null(remembered_take(owner.m, slice_of(bytes, i < 60 ? i : 60), owner.now));
	}
	bytes[message.len] = 'x';
	assert_non_null(remembered_take(owner.m, slice_of(bytes, message.len + 1), owner.now));
	free(bytes);
}

static void malformed_messages_change_nothing(void **state)
{
	(void)state;
	view(1);
	view(2);
	struct heads h = heads_new("cookie: a=b");
	struct remembered_draft *d = draft(&h, 3);
	struct slice message = remembered_draft_end(d, h.request);
	for (size_t length = 0; length < message.len; length++)
		if (length != message.len - sizeof(uint64_t) - strlen("/a.cssstyle"))
			assert_non_null(remembered_take(owner.m, slice_of(message.ptr, length), owner.now));
	assert_string_equal(remembered_told(&owner, &page), "/a.css /b.js");
	mutate(message);
	remembered_draft_free(d);
	heads_free(&h);
	const struct remembered_item font = {
	    .source = REMEMBERED_ASKED, .target = SLICE("/f.woff2"), .as = SLICE("font")};
	size_t length = addition(1, &font);
	uint8_t *whole = memory_alloc(length);
	memcpy(whole, buffer, length);
	mutate(slice_of(whole, length));
	free(whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	    TEST(the_owner_learns_what_copies_see),
	    TEST(what_the_client_said_is_not_in_its_message),
	    TEST(a_page_that_names_too_much_teaches_nothing),
	    TEST(a_draft_without_memory_teaches_nothing),
	    TEST(additions_and_outcomes_are_messages),
	    TEST(malformed_messages_change_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
