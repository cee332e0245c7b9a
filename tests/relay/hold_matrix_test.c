/* SPDX-License-Identifier: MIT */
/*
 * Who may claim what: each response that an origin may push against each request that may ask for it, at three moments.
 * No private response ever goes to another user. The tables are those of docs/HOLD.md: when they differ, the test fails
 * and has printed the new ones.
 */
#include "tests/support/hold_world.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

enum route_in { SAME_CONNECTION, OTHER_CONNECTION, THROUGH_A_PROXY, MANY_USERS };

#define MOST_FIELDS 8
typedef const char *field_list[MOST_FIELDS + 1];

struct column {
	const char *label;
	field_list page, request;
	enum route_in from;
	bool is_another_user;
};

#define COOKIE_A "cookie", "user=a"
#define COOKIE_B "cookie", "user=b"
#define AUTHORIZED_X "authorization", "Basic eDp4"
#define AUTHORIZED_Y "authorization", "Basic eTp5"
#define BROTLI "accept-encoding", "br"

static const struct column columns[] = {
    {"the same fields", {COOKIE_A}, {COOKIE_A, BROTLI}, SAME_CONNECTION, false},
    {"cookie set by the page", {NULL}, {COOKIE_B, BROTLI}, SAME_CONNECTION, true},
    {"other cookie", {COOKIE_A}, {COOKIE_B, BROTLI}, SAME_CONNECTION, true},
    {"cookie gone", {COOKIE_A}, {BROTLI}, SAME_CONNECTION, true},
    {"other Accept-Encoding", {COOKIE_A}, {COOKIE_A, "accept-encoding", "gzip"}, SAME_CONNECTION, false},
    {"same Authorization", {COOKIE_A, AUTHORIZED_X}, {COOKIE_A, AUTHORIZED_X, BROTLI}, SAME_CONNECTION, false},
    {"same Authorization, other cookie", {COOKIE_A, AUTHORIZED_X}, {COOKIE_B, AUTHORIZED_X, BROTLI}, SAME_CONNECTION, true},
    {"other Authorization", {AUTHORIZED_X}, {AUTHORIZED_Y, BROTLI}, SAME_CONNECTION, true},
    {"Authorization added", {NULL}, {AUTHORIZED_X, BROTLI}, SAME_CONNECTION, true},
    {"came through a proxy", {COOKIE_A}, {COOKIE_A, BROTLI}, THROUGH_A_PROXY, true},
    {"`clients = shared`", {COOKIE_A}, {COOKIE_A, BROTLI}, MANY_USERS, true},
    {"other connection", {COOKIE_A}, {COOKIE_A, BROTLI}, OTHER_CONNECTION, true},
};
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

struct row {
	const char *label;
	field_list response;
	bool is_for_all;         /* it says so of itself */
	bool even_if_authorized; /* RFC 9111 3.5 */
	bool is_by_cookie;       /* a shared cache may give it to whoever has the same cookies (Vary) */
};

/* The clock of the tests begins at Sun, 09 Sep 2001 01:46:40 GMT. */
#define IN_A_MINUTE "Sun, 09 Sep 2001 01:47:40 GMT"
#define BEFORE_100_S "Sun, 09 Sep 2001 01:45:00 GMT"
#define CACHE "cache-control"

static const struct row rows[] = {
    {"`max-age=60`", {CACHE, "max-age=60"}, true, false, false},
    {"`public, max-age=60`", {CACHE, "public, max-age=60"}, true, true, false},
    {"`max-age=60, must-revalidate`", {CACHE, "max-age=60, must-revalidate"}, true, true, false},
    {"`s-maxage=60`", {CACHE, "s-maxage=60"}, true, true, false},
    {"`Expires` in a minute", {"expires", IN_A_MINUTE}, true, false, false},
    {"`public`", {CACHE, "public"}, true, true, false},
    {"`public, no-cache`", {CACHE, "public, no-cache"}, true, true, false},
    {"`max-age=60`, `Vary: Accept-Encoding`", {CACHE, "max-age=60", "vary", "Accept-Encoding"}, true, false, false},
    {"`max-age=60`, `Vary: Cookie`", {CACHE, "max-age=60", "vary", "Cookie"}, false, false, true},
    {"`max-age=60`, `Vary: *`", {CACHE, "max-age=60", "vary", "*"}, false, false, false},
    {"`max-age=60`, `Set-Cookie`", {CACHE, "max-age=60", "set-cookie", "a=1"}, false, false, false},
    {"`public, max-age=60`, `Set-Cookie`", {CACHE, "public, max-age=60", "set-cookie", "a=1"}, false, false, false},
    {"`s-maxage=0, max-age=60`", {CACHE, "s-maxage=0, max-age=60"}, false, false, false},
    {"`private, max-age=60`", {CACHE, "private, max-age=60"}, false, false, false},
    {"`private`, `ETag`", {CACHE, "private", "etag", "\"1\""}, false, false, false},
    {"`Last-Modified`", {"last-modified", BEFORE_100_S}, false, false, false},
    {"`ETag`", {"etag", "\"1\""}, false, false, false},
    {"nothing of all this", {"content-type", "text/css"}, false, false, false},
    {"`max-age=0`", {CACHE, "max-age=0"}, false, false, false},
    {"`no-cache`", {CACHE, "no-cache"}, false, false, false},
    {"`no-store`", {CACHE, "no-store"}, false, false, false},
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

enum moment { WHOLE, OPEN, BEFORE_THE_HEAD, MOMENTS };
#define CAUSE_BYTES 48

/* ---- one response and one request ---- */

static void answer(struct hold_world *hw, struct exchange *push, const struct row *r, const char *body, bool end)
{
	hold_world_head(hw, push, 200, r->response, false);
	if (!exchange_is_over(push))
		world_download(hw->w, push, body, end);
	hold_world_pass(hw);
}

static void finish(struct hold_world *hw, struct exchange *push, const char *body)
{
	if (!exchange_is_over(push))
		world_download(hw->w, push, body, true);
	hold_world_pass(hw);
}

/* The promise has the page's cookies, and an encoding. */
static struct exchange *promise(struct hold_world *hw, const struct column *c)
{
	const char *fields[5] = {BROTLI, NULL, NULL, NULL};
	if (c->page[0] && strcmp(c->page[0], "cookie") == 0) {
		fields[2] = c->page[0];
		fields[3] = c->page[1];
	}
	return hold_world_promise(hw, "/a", fields, NULL);
}

/* Why the last request missed. */
static void copy_cause(char cause[CAUSE_BYTES], const char *notes)
{
	const char *missed = NULL;
	for (const char *at = notes; (at = strstr(at, "missed ")) != NULL; at++)
		missed = at + strlen("missed ");
	snprintf(cause, CAUSE_BYTES, "%.*s", missed ? (int)strcspn(missed, ";") : 8, missed ? missed : "not held");
	for (char *p = cause; *p; p++)
		*p = (char)(*p == ':' ? ' ' : *p);
}

/* Whether the request gets what was pushed; if not, why. */
static bool gets(const struct row *r, const struct column *c, enum moment when, bool shares, char cause[CAUSE_BYTES])
{
	struct hold_world *hw = hold_world_with(c->page, false, &hold_world_ample, shares ? &hold_world_ample : NULL);
	struct hold_store other;
	struct world_leg *down;
	hold_store_init(&other, &hw->hold, &hw->w->budget, &hold_world_ample, true);
	hw->store.one_user = c->from != MANY_USERS;
	struct exchange *push = promise(hw, c);
	if (push && when != BEFORE_THE_HEAD)
		answer(hw, push, r, when == WHOLE ? "mine" : "mi", when == WHOLE);
	struct exchange *x =
	    hold_world_request(hw, c->from == OTHER_CONNECTION ? &other : &hw->store, "GET", "/a", c->request, &down);
	x->facts.came_through = c->from == THROUGH_A_PROXY;
	if (!hold_claim(&hw->hold, x))
		exchange_dispatch(x);
	hold_world_pass(hw);
	if (push && when == BEFORE_THE_HEAD)
		answer(hw, push, r, "mine", true);
	else if (push && when == OPEN)
		finish(hw, push, "ne");
	hold_world_take(hw, down);
	bool got = strcmp(down->bytes, "mine") == 0;
	assert_true(got || down->byte_count == 0);
	copy_cause(cause, hw->notes);
	hold_world_lose(hw);
	hold_store_fini(&other);
	hold_world_free(hw);
	return got;
}

/* ---- the law that no table may break ---- */

static const char *field_of(const char *const *fields, const char *name)
{
	for (; *fields; fields += 2)
		if (strcmp(fields[0], name) == 0)
			return fields[1];
	return "";
}

static void no_private_response_crosses_users(
    const struct row *r, const struct column *c, bool shares, const bool got[MOMENTS])
{
	bool is_authorized = *field_of(c->page, "authorization") != 0;
	bool has_same_cookie = strcmp(field_of(c->page, "cookie"), field_of(c->request, "cookie")) == 0;
	bool is_for_all = (r->is_for_all || (shares && r->is_by_cookie && has_same_cookie)) &&
			  (r->even_if_authorized || !is_authorized);
	bool crosses = c->from != SAME_CONNECTION;
	for (unsigned when = 0; when < MOMENTS; when++)
		if (got[when] && c->is_another_user && (!is_for_all || (crosses && !shares)))
			fail_msg("%s goes to another user (%s)", r->label, c->label);
}

/* ---- the tables ---- */

static void write_cell(FILE *out, const struct row *r, const struct column *c, bool shares)
{
	char cause[MOMENTS][CAUSE_BYTES];
	bool got[MOMENTS];
	for (unsigned when = 0; when < MOMENTS; when++)
		got[when] = gets(r, c, when, shares, cause[when]);
	no_private_response_crosses_users(r, c, shares, got);
	/* What the whole response would answer, its beginning answers; before the head only the worker's store is unknown. */
	assert_true(got[OPEN] || !got[WHOLE]);
	if (c->from == SAME_CONNECTION)
		assert_true(got[BEFORE_THE_HEAD] || !got[WHOLE] || shares);
	if (got[WHOLE])
		fputs(" **yes** |", out);
	else if (got[OPEN])
		fputs(" open |", out);
	else if (got[BEFORE_THE_HEAD])
		fputs(" waiting |", out);
	else /* what was given up with its head is not fresh for anybody: what keeps it from a request that waited says more */
		fprintf(out, " %s |", cause[strcmp(cause[OPEN], "not-fresh") == 0 ? BEFORE_THE_HEAD : OPEN]);
}

static void write_table(FILE *out, bool shares)
{
	fputs("| response |", out);
	for (size_t c = 0; c < COLUMNS; c++)
		fprintf(out, " %s |", columns[c].label);
	fputs("\n|---|", out);
	for (size_t c = 0; c < COLUMNS; c++)
		fputs("---|", out);
	for (size_t r = 0; r < ROWS; r++) {
		fprintf(out, "\n| %s |", rows[r].label);
		for (size_t c = 0; c < COLUMNS; c++)
			write_cell(out, &rows[r], &columns[c], shares);
	}
	fputs("\n", out);
}

static char *read_page(void)
{
	FILE *in = fopen("docs/HOLD.md", "r"); /* tests run in the root of the tree */
	assert_non_null(in);
	char *text = calloc(1, 1 << 16);
	assert_non_null(text);
	assert_true(fread(text, 1, (1 << 16) - 1, in) > 0);
	fclose(in);
	return text;
}

static void is_the_table_of_the_page(bool shares)
{
	char *table = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&table, &size);
	write_table(out, shares);
	fclose(out);
	fputs(table, stdout);
	char *page = read_page();
	bool is_there = strstr(page, table) != NULL;
	free(page);
	free(table);
	if (!is_there)
		fail_msg("docs/HOLD.md has another table than the one above (hold-shared = %s)", shares ? "yes" : "no");
}

/* covers: P-hold-private P-hold-fresh P-hold-no-store P-hold-claim */
static void who_may_claim_what_on_one_connection(void **state)
{
	(void)state;
	is_the_table_of_the_page(false);
}

/* covers: P-hold-private P-hold-shared */
static void who_may_claim_what_where_holds_are_shared(void **state)
{
	(void)state;
	is_the_table_of_the_page(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(who_may_claim_what_on_one_connection),
	    cmocka_unit_test(who_may_claim_what_where_holds_are_shared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
