/* SPDX-License-Identifier: MIT */
/* What pushgate's own answers say, and to whom: text, JSON, or what the owner has for them. */
#include "tests/support/relay_world.h"

#include "proxy/http/via.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>

static char sent[1024]; /* the fields of the head that was sent last */

static bool note_head(struct leg *leg, const struct http_head *head, bool end)
{
	(void)leg;
	size_t n = (size_t)snprintf(sent, sizeof(sent), "%u%s", head->status, end ? " end" : "");
	for (uint32_t i = 0; i < head->count; i++)
		n += (size_t)snprintf(sent + n, sizeof(sent) - n, "\n%.*s: %.*s",
		    SLICE_ARG(head->fields[i].name), SLICE_ARG(head->fields[i].value));
	return true;
}

/* Asks for the page and has it refused with the cause. Returns the body. */
static const char *refused(struct world *w, const char *method, const char *accept,
    const struct relay_cause *cause, const char *detail)
{
	struct world_leg *down;
	struct exchange *x = world_exchange(w, method, true, &down);
	struct leg_ops leg = *x->down.ops;
	if (accept)
		http_head_add_token(world_request_of(x), HTTP_TOKEN_ACCEPT, slice_of_string(accept));
	leg.send_head = note_head;
	x->down.ops = &leg;
	exchange_refuse(x, cause, detail);
	world_take(down);
	assert_true(exchange_is_over(x));
	relay_reap(&w->relay);
	return down->bytes;
}

static void field_is(const char *name, const char *value)
{
	char line[512];
	snprintf(line, sizeof(line), "\n%s:%s%s", name, value ? " " : "", value ? value : "");
	const char *at = strstr(sent, line);
	if (!value) {
		assert_null(at);
		return;
	}
	if (!at || (at[strlen(line)] != '\n' && at[strlen(line)] != '\0'))
		fail_msg("no \"%s\" in:\n%s", line, sent);
}

#define JSON "application/problem+json"

static void client_that_prefers_json_gets_it(void **state)
{
	(void)state;
	struct world *w = world_new();
	assert_string_equal(refused(w, "GET", "application/json", &relay_cause_NO_ROUTE, "no route for this path"),
	    "{\"status\":404,\"title\":\"Not Found\",\"detail\":\"no route for this path\"}\n");
	field_is("content-type", JSON);
	field_is("content-length", "69");
	field_is("vary", "accept");
	assert_string_equal(refused(w, "GET", NULL, &relay_cause_NO_ROUTE, "no route for this path"),
	    "404 Not Found: no route for this path\n");
	field_is("content-type", "text/plain");
	field_is("vary", "accept");
	/* It must not be stored, so nobody need know for whom it is. */
	assert_string_equal(refused(w, "GET", "application/json", &relay_cause_QUEUE_FULL, "say \"\\no\""),
	    "{\"status\":503,\"title\":\"Service Unavailable\",\"detail\":\"say \\\"\\\\no\\\"\"}\n");
	field_is("cache-control", "no-store");
	field_is("vary", NULL);
	world_free(w);
}

static void json_has_no_more_of_the_detail_than_the_text(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	for (int i = 0; i < 2; i++) {
		struct exchange *x = world_connected(w, "GET", true, &down, &up);
		if (i)
			http_head_add_token(world_request_of(x), HTTP_TOKEN_ACCEPT, SLICE("application/json"));
		exchange_on_up_failed(x, &relay_cause_UP_TLS, 0, "10.1.2.3:443: wrong version number");
		world_take(down);
		assert_string_equal(down->bytes,
		    i ? "{\"status\":503,\"title\":\"Service Unavailable\",\"detail\":\"origin-tls\"}\n"
		      : "503 Service Unavailable: origin-tls\n");
	}
	world_free(w);
}

/* What is known of an origin is for the log, except what it was that made its response no response. */
static void details_of_origins_are_not_for_clients(void **state)
{
	(void)state;
	for (size_t i = 0; i < RELAY_CAUSE_COUNT; i++) {
		const struct relay_cause *cause = relay_cause_table[i];
		bool is_public = cause == &relay_cause_UP_FAULT || cause == &relay_cause_UP_MALFORMED ||
				 cause == &relay_cause_UP_FIELDS_LARGE ||
				 (cause->side != RELAY_ORIGIN && cause != &relay_cause_NO_TUNNEL);
		if (cause->status < 400)
			continue;
		struct world *w = world_new();
		char wanted[64];
		snprintf(wanted, sizeof(wanted), ": %s\n", is_public ? "10.1.2.3" : cause->name);
		const char *body = refused(w, "GET", NULL, cause, "10.1.2.3");
		if (!strstr(body, wanted))
			fail_msg("%s: %s", cause->name, body);
		world_free(w);
	}
}

static char page[20000];
static const char *page_type;

static void fill_in(void *context, struct exchange *x, struct http_own_answer *answer)
{
	(void)context;
	assert_non_null(x->ending.cause);
	answer->body = slice_of_string(page);
	answer->content_type = page_type;
	answer->transport_security = SLICE("max-age=1");
}

static struct relay_ops ops;
static struct world *world_with_a_page(size_t bytes, const char *type)
{
	struct world *w = world_new();
	memset(page, 'p', bytes);
	page[bytes] = '\0';
	page_type = type;
	ops = *w->relay.ops;
	ops.own_answer = fill_in;
	w->relay.ops = &ops;
	return w;
}

static void owners_body_takes_the_place_of_the_text(void **state)
{
	(void)state;
	struct world *w = world_with_a_page(3000, "text/html; charset=utf-8");
	assert_string_equal(refused(w, "GET", "text/html,*/*;q=0.8", &relay_cause_NO_ROUTE, "why"), page);
	field_is("content-type", "text/html; charset=utf-8");
	field_is("content-length", "3000");
	field_is("strict-transport-security", "max-age=1");
	char head[sizeof(sent) + 8];
	assert_int_equal(strncmp(sent, "404\n", 4), 0);
	snprintf(head, sizeof(head), "404 end%s", sent + 3);
	assert_string_equal(refused(w, "HEAD", "text/html,*/*;q=0.8", &relay_cause_NO_ROUTE, "why"), "");
	assert_string_equal(sent, head); /* the same fields */
	refused(w, "GET", "application/json", &relay_cause_NO_ROUTE, "why");
	field_is("content-type", JSON);
	world_free(w);
}

static void owners_json_is_not_replaced_by_ours(void **state)
{
	(void)state;
	struct world *w = world_with_a_page(10, "application/json");
	assert_string_equal(refused(w, "GET", "application/json", &relay_cause_NO_ROUTE, "why"), page);
	world_free(w);
}

/* A short text costs less than a long one, while memory is short. */
static void body_for_which_there_is_no_room_becomes_the_text(void **state)
{
	(void)state;
	struct world *w = world_with_a_page(sizeof(page) - 1, "text/html");
	w->down_budget.limit_bytes = w->down_budget.used_bytes + 15000;
	assert_string_equal(refused(w, "GET", NULL, &relay_cause_NO_ROUTE, "why"), "404 Not Found: why\n");
	field_is("content-type", "text/plain");
	world_free(w);
}

static void redirect_has_no_body(void **state)
{
	(void)state;
	struct world *w = world_new();
	assert_string_equal(refused(w, "GET", "application/json", &relay_cause_REDIRECT, NULL), "");
	assert_int_equal(strncmp(sent, "308 end\n", 8), 0);
	field_is("content-length", "0");
	field_is("content-type", NULL);
	field_is("vary", NULL);
	world_free(w);
}

/* Nothing of the request is known: no method, no path. */
static void request_that_could_not_be_read_is_answered(void **state)
{
	(void)state;
	static const struct {
		const struct relay_cause *cause;
		const char *body, *status;
	} rows[] = {
	    {&relay_cause_DOWN_MALFORMED, "400 Bad Request: why\n", "tester; error=http_request_error; status-code=400; details=\"why\""},
	    {&relay_cause_REQUEST_LATE, "408 Request Timeout: why\n", "tester; error=http_request_error; status-code=408; details=\"why\""},
	    {&relay_cause_NEEDS_LENGTH, "411 Length Required: why\n", "tester; error=http_request_error; status-code=411; details=\"why\""},
	    {&relay_cause_TARGET_LARGE, "414 URI Too Long: why\n", "tester; error=http_request_error; status-code=414; details=\"why\""},
	    {&relay_cause_HEAD_LARGE, "431 Request Header Fields Too Large: why\n", "tester; error=http_request_error; status-code=431; details=\"why\""},
	    {&relay_cause_CODING_UNKNOWN, "501 Not Implemented: why\n", "tester; error=http_request_error; status-code=501; details=\"why\""},
	    {&relay_cause_VERSION_UNKNOWN, "505 HTTP Version Not Supported: why\n", "tester; error=http_request_error; status-code=505; details=\"why\""},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = world_new();
		struct world_leg *down;
		char text[256];
		struct exchange *x = world_exchange(w, "GET", true, &down);
		struct leg_ops leg = *x->down.ops;
		struct http_head *head = world_request_of(x);
		const struct slice none = {"", 0};
		head->method = head->scheme = head->authority = head->path = none;
		head->method_token = HTTP_METHOD_OTHER;
		x->method = HTTP_METHOD_OTHER;
		leg.send_head = note_head;
		x->down.ops = &leg;
		exchange_refuse(x, rows[i].cause, "why");
		exchange_describe(x, text, sizeof(text));
		world_take(down);
		assert_string_equal(down->bytes, rows[i].body);
		field_is("proxy-status", rows[i].status);
		assert_ptr_equal(x->ending.cause, rows[i].cause);
		world_free(w);
	}
}

/* The request's body could not be read on: an answer if there was none, and never a whole upload. */
static void request_whose_body_cannot_be_read_is_answered_or_cut(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down, *up;
	struct exchange *x = world_connected(w, "POST", false, &down, &up);
	world_upload(w, x, "abc", false);
	world_take(up);
	exchange_abort(x, &relay_cause_DOWN_MALFORMED, "chunk-size-bad");
	assert_string_equal(up->said, "reset 8");
	world_take(down);
	assert_string_equal(down->said, "head 400; end; reset 0");
	assert_string_equal(down->bytes, "400 Bad Request: chunk-size-bad\n");

	x = world_connected(w, "POST", false, &down, &up);
	exchange_on_response(x, world_response(w, 200), false);
	exchange_abort(x, &relay_cause_DOWN_MALFORMED, "chunk-size-bad");
	assert_string_equal(up->said, "reset 8");
	assert_string_equal(down->said, "head 200; reset 1");
	world_free(w);
}

/* ---- an answer whose body comes later, from an upstream leg ---- */

static char asked[256]; /* of that leg */

static void note_credit(struct leg *leg, size_t n)
{
	(void)leg;
	snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), "credit %zu; ", n);
}

static void note_reset(struct leg *leg, uint32_t code)
{
	(void)leg;
	snprintf(asked + strlen(asked), sizeof(asked) - strlen(asked), "reset %u; ", code);
}

static const struct leg_ops later = {.credit = note_credit, .reset = note_reset};

static void begin_later(void *context, struct exchange *x, struct http_own_answer *answer)
{
	(void)context;
	answer->content_type = "text/plain";
	answer->is_streamed = true;
	exchange_answer_from(x, &(struct leg){.ops = &later});
}

static struct exchange *begun_later(struct world *w, const char *method, bool end, struct world_leg **down)
{
	ops = *w->relay.ops;
	ops.own_answer = begin_later;
	w->relay.ops = &ops;
	asked[0] = '\0';
	struct exchange *x = world_exchange(w, method, end, down);
	exchange_refuse(x, &relay_cause_ADMIN_PAGE, NULL);
	assert_int_equal(x->phase, EXCHANGE_REFUSED);
	assert_string_equal((*down)->said, "head 200");
	return x;
}

static void body_that_comes_later_is_passed_on(void **state)
{
	(void)state;
	struct world *w = world_new();
	for (int has_body = 0; has_body < 2; has_body++) {
		struct world_leg *down;
		struct exchange *x = begun_later(w, has_body ? "POST" : "GET", !has_body, &down);
		world_download(w, x, "abc", false);
		world_take(down);
		assert_string_equal(down->bytes, "abc");
		assert_string_equal(asked, "credit 3; ");
		world_download(w, x, "d", true);
		exchange_on_leg_closed(&x->up);
		assert_false(exchange_is_over(x));
		world_take(down);
		assert_string_equal(down->bytes, "abcd");
		assert_string_equal(asked, "credit 3; "); /* for the last bytes there is nobody */
		if (has_body) { /* the rest of the request is read and dropped */
			assert_int_equal(x->phase, EXCHANGE_LINGERING);
			world_upload(w, x, "x", true);
		}
		assert_true(exchange_is_over(x));
		assert_int_equal(x->response.answered_by, ANSWERED_BY_SELF);
	}
	world_free(w);
}

static void body_that_comes_later_ends_with_its_client(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = begun_later(w, "GET", true, &down);
	exchange_on_down_ended(x, &relay_cause_DOWN_RESET, 8, NULL);
	assert_true(exchange_is_over(x));
	assert_string_equal(asked, "reset 8; ");

	/* It takes nothing. */
	w->limits[RELAY_TIMEOUT_TAKE_DOWN] = 5 * USEC_PER_SEC;
	x = begun_later(w, "GET", true, &down);
	world_pass(w, 60 * USEC_PER_SEC);
	assert_false(exchange_is_over(x)); /* there was nothing to take */
	world_download(w, x, "abc", false);
	world_pass(w, 4 * USEC_PER_SEC);
	assert_false(exchange_is_over(x));
	world_pass(w, 3 * USEC_PER_SEC);
	assert_string_equal(asked, "reset 8; ");
	assert_string_equal(down->said, "head 200; reset 8");

	/* It is cut off, as at a drain. */
	x = begun_later(w, "GET", true, &down);
	exchange_abort(x, &relay_cause_DRAINED, NULL);
	assert_string_equal(asked, "reset 8; ");
	assert_string_equal(down->said, "head 200; reset 8");
	world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(client_that_prefers_json_gets_it),
	    cmocka_unit_test(json_has_no_more_of_the_detail_than_the_text),
	    cmocka_unit_test(details_of_origins_are_not_for_clients),
	    cmocka_unit_test(owners_body_takes_the_place_of_the_text),
	    cmocka_unit_test(owners_json_is_not_replaced_by_ours),
	    cmocka_unit_test(body_for_which_there_is_no_room_becomes_the_text),
	    cmocka_unit_test(redirect_has_no_body),
	    cmocka_unit_test(request_that_could_not_be_read_is_answered),
	    cmocka_unit_test(request_whose_body_cannot_be_read_is_answered_or_cut),
	    cmocka_unit_test(body_that_comes_later_is_passed_on),
	    cmocka_unit_test(body_that_comes_later_ends_with_its_client),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
