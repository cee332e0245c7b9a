/* SPDX-License-Identifier: MIT */
/* Tasks against a scripted authority: each row is a request that must come, and its answer. */
#include "proxy/acme/acme.h"
#include "proxy/base/base64.h"
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define CA "https://ca.example:14000"

static const char *const names[] = {"a.example", "b.example"};

/* A row of a script. */
struct row {
	enum acme_step step;
	const char *url; /* NULL: any */
	unsigned status;
	const char *body, *location, *nonce;
	uint32_t retry_after;
	uint32_t waits; /* seconds that the task then waits; 0: it does not */
};

static const char directory[] =
    "{\"newNonce\":\"" CA "/nonce\",\"newAccount\":\"" CA "/account\",\"newOrder\":\"" CA
    "/order\",\"renewalInfo\":\"" CA "/renewal\"}";

#define ORDER(status)                                                                              \
	"{\"status\":\"" status "\",\"finalize\":\"" CA "/o/1/f\",\"authorizations\":[\"" CA         \
	"/z/1\"],\"certificate\":\"" CA "/c/1\"}"
#define AUTHORIZATION(status, name)                                                                \
	"{\"status\":\"" status "\",\"identifier\":{\"type\":\"dns\",\"value\":\"" name                \
	"\"},\"challenges\":[{\"type\":\"dns-01\",\"url\":\"" CA                                     \
	"/d\",\"token\":\"x\"},{\"type\":\"http-01\",\"url\":\"" CA                                  \
	"/h/" name "\",\"token\":\"t-1_x\"}]}"
#define PROBLEM(type) "{\"type\":\"urn:ietf:params:acme:error:" type "\",\"detail\":\"no\\nno\"}"
#define CHAIN "-----BEGIN CERTIFICATE-----\n"

/* The first four rows of most scripts: up to the order. */
#define BEGINS                                                                                     \
	{ACME_STEP_DIRECTORY, CA "/dir", 200, directory, NULL, NULL, 0, 0},                         \
	    {ACME_STEP_NONCE, CA "/nonce", 200, NULL, NULL, "n1", 0, 0},                            \
	{                                                                                          \
		ACME_STEP_ACCOUNT, CA "/account", 201, "{\"status\":\"valid\"}", CA "/a/1", "n2",    \
		    0, 0                                                                           \
	}
#define ORDERED {ACME_STEP_ORDER, CA "/order", 201, ORDER("pending"), CA "/o/1", "n3", 0, 0}

static struct net_key *key;
static struct acme_ca ca;
static struct acme_task task;
static char *last_body; /* of the last request */

static int set_up_all(void **state)
{
	(void)state;
	key = net_key_new();
	return 0;
}

static int tear_down_all(void **state)
{
	(void)state;
	net_key_free(key);
	return 0;
}

static int set_up(void **state)
{
	(void)state;
	acme_ca_init(&ca, CA "/dir", "me@a.example", key);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	acme_task_fini(&task);
	acme_task_fini(&task);
	acme_ca_fini(&ca);
	free(last_body);
	last_body = NULL;
	return 0;
}

static void begin(size_t count, const char *replaces)
{
	const struct acme_wish wish = {.names = names,
	    .count = count,
	    .key = key,
	    .challenge = "http-01",
	    .replaces = replaces};
	acme_order_begin(&task, &ca, &wish);
}

static struct slice slice_or_none(const char *text)
{
	return text ? slice_of_string(text) : (struct slice){0};
}

static void play_row(const struct row *row)
{
	struct acme_request r;
	assert_int_equal(task.state, ACME_REQUEST);
	assert_int_equal(acme_task_next(&task), row->step);
	acme_task_request(&task, &r);
	if (row->url)
		assert_string_equal(r.url, row->url);
	free(last_body);
	last_body = r.body;
	const struct acme_answer a = {.status = row->status,
	    .why = "no connection to it",
	    .body = slice_or_none(row->body),
	    .location = slice_or_none(row->location),
	    .nonce = slice_or_none(row->nonce),
	    .retry_after = row->retry_after};
	acme_task_take(&task, &a);
	if (row->waits == 0)
		return;
	assert_int_equal(task.state, ACME_WAITING);
	assert_int_equal(task.wait_seconds, row->waits);
	acme_task_waited(&task);
}

#define PLAY(...)                                                                                  \
	do {                                                                                       \
		const struct row script[] = {__VA_ARGS__};                                         \
		for (size_t at = 0; at < sizeof(script) / sizeof(script[0]); at++)                 \
			play_row(&script[at]);                                                     \
	} while (0)

/* A part of the last request that is base64url, as JSON or NULL. */
static json_t *part(const char *name)
{
	char text[4096];
	size_t length;
	json_t *jws = json_loads(last_body, 0, NULL);
	const char *encoded = json_string_value(json_object_get(jws, name));
	assert_true(base64url_decode(slice_of_string(encoded), text, sizeof(text), &length));
	json_decref(jws);
	return json_loadb(text, length, 0, NULL);
}

static void header_has(const char *member, const char *value)
{
	json_t *header = part("protected");
	const char *text = json_string_value(json_object_get(header, member));
	assert_true((value == NULL) == (text == NULL));
	if (value)
		assert_string_equal(text, value);
	json_decref(header);
}

static void fails_with(const char *problem)
{
	assert_int_equal(task.state, ACME_FAILED);
	assert_string_equal(task.problem, problem);
}

/* ---- what goes well ---- */

static void certificate_comes_after_all_steps(void **state)
{
	(void)state;
	begin(1, NULL);
	PLAY(BEGINS);
	header_has("nonce", "n1");
	header_has("kid", NULL);
	header_has("url", CA "/account");
	json_t *account = part("payload");
	assert_string_equal(
	    json_string_value(json_array_get(json_object_get(account, "contact"), 0)),
	    "mailto:me@a.example");
	json_decref(account);
	PLAY(ORDERED);
	header_has("nonce", "n2");
	header_has("kid", CA "/a/1");
	PLAY({ACME_STEP_AUTHORIZATION, CA "/z/1", 200, AUTHORIZATION("pending", "a.example"), NULL,
	    "n4", 0, 0});
	assert_string_equal(task.order.name, "a.example");
	assert_string_equal(task.order.token, "t-1_x");
	PLAY({ACME_STEP_CHALLENGE, CA "/h/a.example", 200, "{}", NULL, "n5", 0, 1},
	    {ACME_STEP_AUTHORIZATION, CA "/z/1", 200, AUTHORIZATION("pending", "a.example"), NULL,
		"n6", 0, 2},
	    {ACME_STEP_AUTHORIZATION, CA "/z/1", 200, AUTHORIZATION("pending", "a.example"), NULL,
		"n6", 7, 7},
	    {ACME_STEP_AUTHORIZATION, CA "/z/1", 200, AUTHORIZATION("valid", "a.example"), NULL,
		"n7", 0, 0},
	    {ACME_STEP_ORDER_STATE, CA "/o/1", 200, ORDER("ready"), NULL, "n8", 0, 0},
	    {ACME_STEP_FINALIZATION, CA "/o/1/f", 200, ORDER("processing"), NULL, "n9", 900, 300},
	    {ACME_STEP_ORDER_STATE, CA "/o/1", 200, ORDER("valid"), NULL, NULL, 0, 0},
	    {ACME_STEP_NONCE, CA "/nonce", 204, NULL, NULL, "n10", 0, 0},
	    {ACME_STEP_CERTIFICATE, CA "/c/1", 200, CHAIN, NULL, "n11", 0, 0});
	assert_int_equal(task.state, ACME_DONE);
	assert_string_equal(task.chain, CHAIN);
}

static void authorizations_that_are_valid_need_no_challenge(void **state)
{
	(void)state;
	begin(2, NULL);
	PLAY(BEGINS,
	    {ACME_STEP_ORDER, NULL, 201,
		"{\"status\":\"pending\",\"finalize\":\"" CA "/o/1/f\",\"authorizations\":[\"" CA
		"/z/1\",\"" CA "/z/2\"]}",
		CA "/o/1", "n3", 0, 0});
	json_t *order = part("payload");
	assert_int_equal(json_array_size(json_object_get(order, "identifiers")), 2);
	assert_null(json_object_get(order, "replaces"));
	json_decref(order);
	PLAY({ACME_STEP_AUTHORIZATION, CA "/z/1", 200, AUTHORIZATION("valid", "a.example"), NULL,
		 "n4", 0, 0},
	    {ACME_STEP_AUTHORIZATION, CA "/z/2", 200, AUTHORIZATION("pending", "B.Example"), NULL,
		"n5", 0, 0});
	assert_string_equal(task.order.name, "b.example");
	PLAY({ACME_STEP_CHALLENGE, NULL, 200, "{}", NULL, "n6", 0, 1},
	    {ACME_STEP_AUTHORIZATION, CA "/z/2", 200, AUTHORIZATION("valid", "b.example"), NULL,
		"n7", 0, 0});
	assert_int_equal(acme_task_next(&task), ACME_STEP_ORDER_STATE);
}

static void order_that_is_ready_is_finalized_at_once(void **state)
{
	(void)state;
	begin(1, NULL);
	PLAY(BEGINS, {ACME_STEP_ORDER, NULL, 201, ORDER("ready"), CA "/o/1", "n3", 0, 0},
	    {ACME_STEP_FINALIZATION, CA "/o/1/f", 200, ORDER("valid"), NULL, "n4", 0, 0},
	    {ACME_STEP_CERTIFICATE, CA "/c/1", 200, CHAIN, NULL, "n5", 0, 0});
	assert_int_equal(task.state, ACME_DONE);
}

static void second_order_needs_neither_directory_nor_account(void **state)
{
	(void)state;
	begin(1, NULL);
	PLAY(BEGINS, ORDERED);
	acme_task_fini(&task);
	begin(1, NULL);
	PLAY(ORDERED);
	header_has("nonce", "n3");
}

static void window_is_asked_for_without_account(void **state)
{
	(void)state;
	acme_window_begin(&task, &ca, "aki.serial");
	PLAY({ACME_STEP_DIRECTORY, NULL, 200, directory, NULL, NULL, 0, 0},
	    {ACME_STEP_WINDOW, CA "/renewal/aki.serial", 200,
		"{\"suggestedWindow\":{\"start\":\"2025-01-02T04:00:00Z\",\"end\":\"2025-01-03T04:00:00Z\"}}",
		NULL, NULL, 21600, 0});
	assert_int_equal(task.state, ACME_DONE);
	assert_int_equal(task.window.start, 1735790400);
	assert_int_equal(task.window.end, 1735790400 + 86400);
	assert_int_equal(task.wait_seconds, 21600);
	assert_null(last_body);
}

static void order_names_the_certificate_that_it_replaces(void **state)
{
	(void)state;
	begin(1, "aki.serial");
	PLAY(BEGINS,
	    {ACME_STEP_ORDER, NULL, 409, PROBLEM("alreadyReplaced"), NULL, "n3", 0, 0});
	json_t *order = part("payload");
	assert_string_equal(json_string_value(json_object_get(order, "replaces")), "aki.serial");
	json_decref(order);
	PLAY(ORDERED);
	order = part("payload");
	assert_null(json_object_get(order, "replaces"));
	json_decref(order);
}

/* ---- what is tried again ---- */

static void nonce_that_is_refused_is_exchanged(void **state)
{
	(void)state;
	begin(1, NULL);
	PLAY(BEGINS, {ACME_STEP_ORDER, NULL, 400, PROBLEM("badNonce"), NULL, "m1", 0, 0}, ORDERED);
	header_has("nonce", "m1");
}

static void nonces_are_not_refused_for_ever(void **state)
{
	(void)state;
	const struct row refusal = {
	    ACME_STEP_ORDER, NULL, 400, PROBLEM("badNonce"), NULL, "m1", 0, 0};
	begin(1, NULL);
	PLAY(BEGINS);
	for (int i = 0; i < 24; i++)
		play_row(&refusal);
	assert_int_equal(task.state, ACME_REQUEST);
	play_row(&refusal);
	fails_with("the order: status 400, badNonce: no no");
}

/* One authority refuses each second nonce: an order for many names takes long, and comes to its end. */
static void refused_nonces_between_answers_do_not_count(void **state)
{
	(void)state;
	begin(1, NULL);
	PLAY(BEGINS, ORDERED, {ACME_STEP_AUTHORIZATION, NULL, 200, AUTHORIZATION("pending", "a.example"), NULL, "n4", 0, 0},
	    {ACME_STEP_CHALLENGE, NULL, 200, "{}", NULL, "n5", 0, 1});
	for (int i = 0; i < 30; i++) {
		const struct row rows[] = {
		    {ACME_STEP_AUTHORIZATION, NULL, 400, PROBLEM("badNonce"), NULL, "m1", 0, 0},
		    {ACME_STEP_AUTHORIZATION, NULL, 200, AUTHORIZATION("pending", "a.example"), NULL, "m2", 2, 2},
		};
		play_row(&rows[0]);
		play_row(&rows[1]);
	}
	assert_int_equal(task.state, ACME_REQUEST);
}

/* Else two answers could take turns for ever: the account is there, and it is not. */
static void account_is_not_made_again_for_ever(void **state)
{
	(void)state;
	const struct row rows[] = {
	    {ACME_STEP_ORDER, NULL, 400, PROBLEM("accountDoesNotExist"), NULL, "m1", 0, 0},
	    {ACME_STEP_ACCOUNT, NULL, 201, "{}", CA "/a/2", "m2", 0, 0},
	};
	begin(1, NULL);
	PLAY(BEGINS);
	for (int i = 0; i < 24; i++) {
		play_row(&rows[0]);
		play_row(&rows[1]);
	}
	play_row(&rows[0]);
	fails_with("the order: status 400, accountDoesNotExist: no no");
}

static void account_that_is_gone_is_made_again(void **state)
{
	(void)state;
	begin(1, NULL);
	PLAY(BEGINS,
	    {ACME_STEP_ORDER, NULL, 400, PROBLEM("accountDoesNotExist"), NULL, "m1", 0, 0},
	    {ACME_STEP_ACCOUNT, NULL, 201, "{}", CA "/a/2", "m2", 0, 0}, ORDERED);
	header_has("kid", CA "/a/2");
}

/* ---- what fails ---- */

static void polls_end(void **state)
{
	(void)state;
	const struct row poll = {ACME_STEP_AUTHORIZATION, NULL, 200,
	    AUTHORIZATION("pending", "a.example"), NULL, "n", 0, 0};
	begin(1, NULL);
	PLAY(BEGINS, ORDERED, poll, {ACME_STEP_CHALLENGE, NULL, 200, "{}", NULL, "n", 0, 1});
	uint32_t waited = 0;
	for (int i = 0; i < 59; i++) {
		play_row(&poll);
		assert_int_equal(task.state, ACME_WAITING);
		waited += task.wait_seconds;
		acme_task_waited(&task);
	}
	assert_true(waited > 500 && waited < 700);
	play_row(&poll);
	fails_with("the authorization: it takes too long");
}

static void authority_says_when_to_come_again(void **state)
{
	(void)state;
	begin(1, NULL);
	PLAY(BEGINS, {ACME_STEP_ORDER, NULL, 429, PROBLEM("rateLimited"), NULL, "n", 3600, 0});
	fails_with("the order: status 429, rateLimited: no no");
	assert_int_equal(task.wait_seconds, 3600);
}

static void rate_limit_is_none_of_the_certificate_before(void **state)
{
	(void)state;
	begin(1, "aki.serial");
	PLAY(BEGINS, {ACME_STEP_ORDER, NULL, 429, PROBLEM("rateLimited"), NULL, "n", 60, 0});
	assert_int_equal(task.state, ACME_FAILED);
}

static void failed_validation_says_why(void **state)
{
	(void)state;
	begin(1, NULL);
	PLAY(BEGINS, ORDERED,
	    {ACME_STEP_AUTHORIZATION, NULL, 200,
		"{\"status\":\"invalid\",\"identifier\":{\"value\":\"a.example\"},\"challenges\":[{"
		"\"type\":\"http-01\",\"error\":{\"detail\":\"404 at a.example\"}}]}",
		NULL, "n4", 0, 0});
	fails_with("the authorization: that of a.example is invalid: 404 at a.example");
}

/* Rows that end a task: the answer to the step behind those that `until` names. */
static const struct end {
	enum acme_step step;
	struct row row;
	const char *problem;
} ends[] = {
    {ACME_STEP_DIRECTORY, {ACME_STEP_DIRECTORY, NULL, 0, NULL, NULL, NULL, 0, 0},
	"the directory: no connection to it"},
    {ACME_STEP_DIRECTORY, {ACME_STEP_DIRECTORY, NULL, 200, "<html>", NULL, NULL, 0, 0},
	"the directory: the answer is no directory: it is no JSON object"},
    {ACME_STEP_DIRECTORY, {ACME_STEP_DIRECTORY, NULL, 200, "{}", NULL, NULL, 0, 0},
	"the directory: the answer has no address of newNonce"},
    {ACME_STEP_DIRECTORY,
	{ACME_STEP_DIRECTORY, NULL, 200, "{\"newNonce\":\"https://ca.example:14000.evil/n\"}", NULL,
	    NULL, 0, 0},
	"the directory: the address of newNonce is not at the authority of the directory: "
	"https://ca.example:14000.evil/n"},
    {ACME_STEP_DIRECTORY,
	{ACME_STEP_DIRECTORY, NULL, 200, "{\"newNonce\":\"http://ca.example:14000/n\"}", NULL, NULL,
	    0, 0},
	"the directory: the address of newNonce is not at the authority of the directory: "
	"http://ca.example:14000/n"},
    {ACME_STEP_DIRECTORY, {ACME_STEP_DIRECTORY, NULL, 302, "", NULL, NULL, 0, 0},
	"the directory: status 302"},
    {ACME_STEP_NONCE, {ACME_STEP_NONCE, NULL, 200, NULL, NULL, NULL, 0, 0},
	"a nonce: the answer has none that can be used"},
    {ACME_STEP_NONCE, {ACME_STEP_NONCE, NULL, 200, NULL, NULL, "a b", 0, 0},
	"a nonce: the answer has none that can be used"},
    {ACME_STEP_ACCOUNT, {ACME_STEP_ACCOUNT, NULL, 200, "{}", NULL, "n", 0, 0},
	"the account: the answer has no address of the account"},
    {ACME_STEP_ACCOUNT,
	{ACME_STEP_ACCOUNT, NULL, 200, "{\"status\":\"revoked\"}", CA "/a/1", "n", 0, 0},
	"the account: its status is revoked"},
    {ACME_STEP_ORDER, {ACME_STEP_ORDER, NULL, 201, ORDER("pending"), NULL, "n", 0, 0},
	"the order: the address of the order is not at the authority of the directory: "},
    {ACME_STEP_ORDER, {ACME_STEP_ORDER, NULL, 201, "{}", CA "/o", "n", 0, 0},
	"the order: the answer has no address of finalize"},
    {ACME_STEP_ORDER,
	{ACME_STEP_ORDER, NULL, 201, "{\"finalize\":\"" CA "/f\",\"authorizations\":[]}", CA "/o",
	    "n", 0, 0},
	"the order: the answer has no authorizations, or too many"},
    {ACME_STEP_ORDER, {ACME_STEP_ORDER, NULL, 201, ORDER("invalid"), CA "/o", "n", 0, 0},
	"the order: its status is invalid: the authority does not say why"},
    {ACME_STEP_AUTHORIZATION,
	{ACME_STEP_AUTHORIZATION, NULL, 200, AUTHORIZATION("pending", "c.example"), NULL, "n", 0,
	    0},
	"the authorization: it is for a name that was not ordered"},
    {ACME_STEP_AUTHORIZATION,
	{ACME_STEP_AUTHORIZATION, NULL, 200,
	    "{\"status\":\"pending\",\"identifier\":{\"value\":\"a.example\"}}", NULL, "n", 0, 0},
	"the authorization: the authority offers no challenge http-01 for a.example"},
    {ACME_STEP_AUTHORIZATION,
	{ACME_STEP_AUTHORIZATION, NULL, 200,
	    "{\"status\":\"pending\",\"identifier\":{\"value\":\"a.example\"},\"challenges\":[{"
	    "\"type\":\"http-01\",\"token\":\"../x\"}]}",
	    NULL, "n", 0, 0},
	"the authorization: the challenge for a.example has no token that can be used"},
    {ACME_STEP_AUTHORIZATION,
	{ACME_STEP_AUTHORIZATION, NULL, 200, "{}", NULL, "n", 0, 0},
	"the authorization: that of a name is damaged: the authority does not say why"},
};

static void answers_that_cannot_be_used_end_the_task(void **state)
{
	(void)state;
	const struct row before[] = {BEGINS, ORDERED};
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		acme_ca_fini(&ca);
		acme_ca_init(&ca, CA "/dir", NULL, key);
		begin(2, NULL);
		for (const struct row *r = before; r < before + 4 && r->step != ends[i].step; r++)
			play_row(r);
		play_row(&ends[i].row);
		fails_with(ends[i].problem);
		acme_task_fini(&task);
	}
}

static void windows_that_cannot_be_used_fail(void **state)
{
	(void)state;
	static const char *const bodies[] = {"{}", "[", "{\"suggestedWindow\":{\"start\":1}}",
	    "{\"suggestedWindow\":{\"start\":\"2025-01-02T04:00:00Z\",\"end\":\"2025-01-02T04:00:00Z\"}}"};
	for (size_t i = 0; i < 4; i++) {
		acme_window_begin(&task, &ca, "aki.serial");
		if (i == 0)
			PLAY({ACME_STEP_DIRECTORY, NULL, 200, directory, NULL, NULL, 0, 0});
		PLAY({ACME_STEP_WINDOW, NULL, 200, bodies[i], NULL, NULL, 0, 0});
		fails_with("the time of renewal: the answer has no window of time");
		acme_task_fini(&task);
	}
	acme_ca_fini(&ca);
	acme_ca_init(&ca, CA "/dir", NULL, key);
	acme_window_begin(&task, &ca, "aki.serial");
	PLAY({ACME_STEP_DIRECTORY, NULL, 200,
	    "{\"newNonce\":\"" CA "/n\",\"newAccount\":\"" CA "/a\",\"newOrder\":\"" CA "/o\"}", NULL,
	    NULL, 0, 0});
	fails_with("the directory: the authority does not say when to renew");
	acme_task_fini(&task);
	/* The same directory is not asked again. */
	acme_window_begin(&task, &ca, "aki.serial");
	fails_with("the directory: the authority does not say when to renew");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(certificate_comes_after_all_steps),
	    TEST(authorizations_that_are_valid_need_no_challenge),
	    TEST(order_that_is_ready_is_finalized_at_once),
	    TEST(second_order_needs_neither_directory_nor_account),
	    TEST(window_is_asked_for_without_account),
	    TEST(order_names_the_certificate_that_it_replaces),
	    TEST(nonce_that_is_refused_is_exchanged),
	    TEST(nonces_are_not_refused_for_ever),
	    TEST(refused_nonces_between_answers_do_not_count),
	    TEST(account_is_not_made_again_for_ever),
	    TEST(account_that_is_gone_is_made_again),
	    TEST(polls_end),
	    TEST(authority_says_when_to_come_again),
	    TEST(rate_limit_is_none_of_the_certificate_before),
	    TEST(failed_validation_says_why),
	    TEST(answers_that_cannot_be_used_end_the_task),
	    TEST(windows_that_cannot_be_used_fail),
	};
	return cmocka_run_group_tests(tests, set_up_all, tear_down_all);
}
