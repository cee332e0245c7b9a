/* SPDX-License-Identifier: MIT */
/* gRPC's fields: which requests are calls, how long they may take, and what they are told. */
#include "proxy/http/grpc.h"
#include "proxy/http/via.h"
#include "tests/unit/http/heads.h"

#include <stdio.h>

static bool is_call(struct http_head_pool *heads, const char *method, const char *type)
{
	struct http_head *h = http_head_new(heads);
	h->method_token = (uint16_t)http_method_find(slice_of_string(method));
	if (type)
		http_head_add_token(h, HTTP_TOKEN_CONTENT_TYPE, slice_of_string(type));
	bool is = http_is_grpc_call(h);
	http_head_free(h);
	return is;
}

static void a_call_is_a_post_with_grpcs_type(void **state)
{
	(void)state;
	struct http_head_pool *heads = http_head_pool_new(4);
	static const char *const calls[] = {"application/grpc", "Application/gRPC+proto", "application/grpc+json",
	    "application/grpc; x=y", "application/grpc\t;x"};
	static const char *const others[] = {"", "application/grpc-web", "application/grpc-web+proto",
	    "application/grpc-web-text", "application/grpcx", "application/grp", "text/application/grpc"};
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		assert_true(is_call(heads, "POST", calls[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(is_call(heads, "POST", others[i]));
	assert_false(is_call(heads, "POST", NULL));
	assert_false(is_call(heads, "GET", "application/grpc")); /* its answer of 200 could be stored */
	http_head_pool_free(heads);
}

static usec timeout(struct http_head_pool *heads, const char *value, const char *second)
{
	struct http_head *h = http_head_new(heads);
	http_head_add(h, SLICE("x-other"), SLICE("1S"));
	if (value)
		http_head_add(h, SLICE("grpc-timeout"), slice_of_string(value));
	if (second)
		http_head_add(h, SLICE("grpc-timeout"), slice_of_string(second));
	usec t = http_grpc_timeout(h);
	http_head_free(h);
	return t;
}

static void a_timeout_has_up_to_eight_digits_and_a_unit(void **state)
{
	(void)state;
	static const struct {
		const char *value;
		usec wanted;
	} rows[] = {
	    {"1H", 3600 * USEC_PER_SEC}, {"99999999H", 99999999ull * 3600 * USEC_PER_SEC},
	    {"2M", 120 * USEC_PER_SEC}, {"10S", 10 * USEC_PER_SEC}, {"00000010S", 10 * USEC_PER_SEC},
	    {"250m", 250 * USEC_PER_MSEC}, {"17u", 17}, {"1n", 1}, {"1000n", 1}, {"1001n", 2},
	    {"0S", 1}, {"0n", 1}, /* it has passed */
	    {"", 0}, {"S", 0}, {"1", 0}, {"10", 0}, {"1s", 0}, {"1h", 0}, {"1 S", 0}, {" 1S", 0}, {"1S ", 0},
	    {"-1S", 0}, {"+1S", 0}, {"1.5S", 0}, {"123456789S", 0}, {"000000010S", 0}, {"1SS", 0}, {"1S, 1S", 0},
	};
	struct http_head_pool *heads = http_head_pool_new(4);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (timeout(heads, rows[i].value, NULL) != rows[i].wanted)
			fail_msg("%s: %llu", rows[i].value,
			    (unsigned long long)timeout(heads, rows[i].value, NULL));
	assert_int_equal(timeout(heads, NULL, NULL), 0);
	assert_int_equal(timeout(heads, "1S", "2S"), 0);
	http_head_pool_free(heads);
}

static void http_statuses_and_resets_become_grpcs(void **state)
{
	(void)state;
	static const unsigned statuses[][2] = {{400, 13}, {401, 16}, {403, 7}, {404, 12}, {429, 14}, {502, 14},
	    {503, 14}, {504, 14}, {408, 2}, {500, 2}, {501, 2}, {308, 2}, {204, 2}};
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		assert_int_equal(http_grpc_status((uint16_t)statuses[i][0]), statuses[i][1]);
	static const unsigned codes[] = {13, 13, 13, 13, 13, 13, 13, 14, 1, 13, 13, 8, 7, 2, 13};
	for (unsigned code = 0; code < sizeof(codes) / sizeof(codes[0]); code++)
		assert_int_equal(http_grpc_status_of_reset(code), codes[code]);
}

static const char *written(const struct http_head *h)
{
	static char text[1024];
	size_t n = (size_t)snprintf(text, sizeof(text), "%u", h->status);
	for (uint32_t i = 0; i < h->count; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "\n%.*s: %.*s",
		    SLICE_ARG(h->fields[i].name), SLICE_ARG(h->fields[i].value));
	return text;
}

static void a_failed_call_gets_trailers_alone(void **state)
{
	(void)state;
	struct http_head_pool *heads = http_head_pool_new(4);
	struct http_own_answer own = {.status = 404,
	    .pseudonym = SLICE("pg"),
	    .error = "destination_not_found",
	    .details = "100 % of \xc3\xa4\n\"it\"",
	    .body = SLICE("<p>not for calls"),
	    .content_type = "text/html",
	    .grpc_status = GRPC_UNIMPLEMENTED};
	struct slice body;
	struct http_head *h = http_own_response(heads, &own, &body);
	assert_int_equal(body.len, 0);
	assert_string_equal(written(h),
	    "200\ncontent-type: application/grpc\ngrpc-status: 12\n"
	    "grpc-message: 100 %25 of %C3%A4%0A\"it\"\nserver: pushgate\ncache-control: no-store\n"
	    "proxy-status: pg; error=destination_not_found; details=\"100 % of ???\\\"it\\\"\"");
	http_head_free(h);
	own.details = NULL;
	own.error = NULL;
	h = http_own_response(heads, &own, &body);
	assert_string_equal(written(h), "200\ncontent-type: application/grpc\ngrpc-status: 12\n"
					"server: pushgate\ncache-control: no-store");
	http_head_free(h);
	http_head_pool_free(heads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_call_is_a_post_with_grpcs_type),
	    cmocka_unit_test(a_timeout_has_up_to_eight_digits_and_a_unit),
	    cmocka_unit_test(http_statuses_and_resets_become_grpcs),
	    cmocka_unit_test(a_failed_call_gets_trailers_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
