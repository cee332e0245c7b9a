/* SPDX-License-Identifier: MIT */
/* Calls of gRPC in the whole data plane: which limit counts for them, and what each cause tells their client. */
#include "tests/support/gateway_world.h"

#include "proxy/http/via.h"
#include "proxy/relay/deadline.h"

/* covers: R204 R205 R206 */

static struct exchange *only_exchange(struct gate_world *w)
{
	return list_first(&w->gateway->relay.live, struct exchange, link);
}

static struct gate_stream *call(struct gate_world *w, int end, const char *timeout)
{
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_request(c, "POST", "example.com", "/call", end, "content-type",
	    "application/grpc", timeout ? "grpc-timeout" : NULL, timeout, NULL);
	UNTIL(w, gate_find(w, "/call"));
	return s;
}

static void expect_deadline(struct gate_world *w, const struct relay_cause *cause, usec after, usec since)
{
	struct exchange_deadline d = exchange_deadline(only_exchange(w));
	assert_ptr_equal(d.cause, cause);
	assert_int_equal(d.at, since + after);
}

static void no_limit_but_that_of_streams_ends_a_call_that_is_not_answered(void **state)
{
	(void)state;
	for (int end = 0; end < 2; end++) {
		struct gate_world *w = gate_world_new(NULL, NULL, "response-timeout = 1s",
		    "[route r]\norigin = a\nstream-idle-timeout = 11m\n");
		struct gate_stream *s = call(w, end, NULL);
		expect_deadline(w, &relay_cause_STREAM_IDLE, 660 * USEC_PER_SEC,
		    only_exchange(w)->upload.taken.last);
		gate_answer(gate_find(w, "/call"), 200, 10, false);
		UNTIL(w, s->received == 10);
		gate_passes(w);
		expect_deadline(w, &relay_cause_STREAM_IDLE, 660 * USEC_PER_SEC,
		    only_exchange(w)->download.taken.last);
		gate_world_free(w);
	}
	struct gate_world *w = gate_world_new(
	    NULL, NULL, "response-timeout = 1s", "[route r]\norigin = a\nstream-idle-timeout = 0\n");
	call(w, true, NULL);
	assert_int_equal(exchange_deadline(only_exchange(w)).at, USEC_NEVER);
	gate_world_free(w);
}

static void a_calls_own_deadline_counts_from_its_arrival(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct gate_stream *s = call(w, false, "30S");
	const struct exchange *x = only_exchange(w);
	expect_deadline(w, &relay_cause_CALL_LATE, 30 * USEC_PER_SEC, x->timing.started);
	gate_more(s, 10, false);
	UNTIL(w, gate_find(w, "/call")->received == 10);
	expect_deadline(w, &relay_cause_CALL_LATE, 30 * USEC_PER_SEC, x->timing.started);
	gate_world_free(w);
}

static usec bounded(struct exchange *x, usec timeout)
{
	x->terms.call_timeout = timeout;
	client_bound_call(x);
	return x->terms.call_timeout;
}

static void near_deadlines_beyond_the_rate_of_resets_are_put_off(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL,
	    "limit-resets = 1/s burst 3\nmax-concurrent-streams = 3", NULL, NULL);
	call(w, false, NULL);
	struct exchange *x = only_exchange(w);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(bounded(x, 1), 1);
	assert_int_equal(bounded(x, 1), USEC_PER_SEC);
	assert_int_equal(bounded(x, 999999), USEC_PER_SEC);
	assert_int_equal(bounded(x, USEC_PER_SEC), USEC_PER_SEC);
	assert_int_equal(bounded(x, 2 * USEC_PER_SEC), 2 * USEC_PER_SEC);
	w->gateway->relay.now += USEC_PER_SEC;
	assert_int_equal(bounded(x, 1), 1);
	assert_int_equal(bounded(x, 1), USEC_PER_SEC);
	/* And each request is looked at. */
	struct bucket *b =
	    &list_first(&w->gateway->clients.conns, struct client_conn, link)->near_deadlines;
	b->full_at_nsec += 3600 * NSEC_PER_SEC;
	gate_request(w->clients[0], "POST", "example.com", "/near", false, "content-type",
	    "application/grpc", "grpc-timeout", "1m", NULL);
	UNTIL(w, gate_find(w, "/near"));
	list_for_each(&w->gateway->relay.live, other, struct exchange, link)
	    assert_true(other == x || other->terms.call_timeout == USEC_PER_SEC);
	assert_int_equal(w->gateway->relay.live_count, 2);
	gate_world_free(w);
}

static const struct {
	const char *cause;
	enum grpc_status status;
} wanted[] = {
    {"origin-unprocessed", GRPC_UNAVAILABLE},
    {"origin-unreachable", GRPC_UNAVAILABLE},
    {"origin-unroutable", GRPC_UNAVAILABLE},
    {"origin-name", GRPC_UNAVAILABLE},
    {"origin-name-late", GRPC_UNAVAILABLE},
    {"upstream-proxy-refused", GRPC_UNAVAILABLE},
    {"upstream-proxy-user", GRPC_UNAVAILABLE},
    {"upstream-proxy-answer", GRPC_UNAVAILABLE},
    {"origin-tls", GRPC_UNAVAILABLE},
    {"origin-certificate", GRPC_UNAVAILABLE},
    {"origin-alert", GRPC_UNAVAILABLE},
    {"origin-reset", GRPC_CANCELLED}, /* by its code */
    {"origin-not-http2", GRPC_UNAVAILABLE},
    {"origin-no-alpn", GRPC_UNAVAILABLE},
    {"origin-needs-http1", GRPC_UNAVAILABLE},
    {"origin-lost", GRPC_UNAVAILABLE},
    {"origin-ended-by-request", GRPC_INTERNAL},
    {"origin-fault", GRPC_INTERNAL},
    {"response-malformed", GRPC_INTERNAL},
    {"response-fields-large", GRPC_RESOURCE_EXHAUSTED},
    {"connect-late", GRPC_UNAVAILABLE},
    {"queue-late", GRPC_UNAVAILABLE},
    {"queue-full", GRPC_UNAVAILABLE},
    {"speculation-no-room", GRPC_UNAVAILABLE},
    {"subscriptions-full", GRPC_UNAVAILABLE},
    {"origin-stalled", GRPC_UNAVAILABLE},
    {"response-late", GRPC_DEADLINE_EXCEEDED},
    {"response-stalled", GRPC_UNAVAILABLE},
    {"stream-idle", GRPC_DEADLINE_EXCEEDED},
    {"request-malformed", GRPC_OK}, /* the status is HTTP's */
    {"request-late", GRPC_OK},
    {"target-too-long", GRPC_OK},
    {"transfer-coding", GRPC_OK},
    {"http-version", GRPC_OK},
    {"length-required", GRPC_UNKNOWN},
    {"request-stalled", GRPC_DEADLINE_EXCEEDED},
    {"request-too-large", GRPC_RESOURCE_EXHAUSTED},
    {"fields-too-large", GRPC_RESOURCE_EXHAUSTED},
    {"fields-too-large-for-origin", GRPC_RESOURCE_EXHAUSTED},
    {"misdirected", GRPC_UNIMPLEMENTED},
    {"untrusted-scheme", GRPC_UNIMPLEMENTED},
    {"access-denied", GRPC_PERMISSION_DENIED},
    {"address-denied", GRPC_PERMISSION_DENIED},
    {"own-address", GRPC_PERMISSION_DENIED},
    {"host-strange", GRPC_PERMISSION_DENIED},
    {"no-target", GRPC_INTERNAL},
    {"user-unknown", GRPC_UNAUTHENTICATED},
    {"proxy-user-unknown", GRPC_UNAUTHENTICATED},
    {"users-busy", GRPC_UNAVAILABLE},
    {"user-failures", GRPC_RESOURCE_EXHAUSTED},
    {"destinations-full", GRPC_UNAVAILABLE},
    {"no-route", GRPC_UNIMPLEMENTED},
    {"loop", GRPC_INTERNAL},
    {"request-rate", GRPC_RESOURCE_EXHAUSTED},
    {"request-concurrency", GRPC_RESOURCE_EXHAUSTED},
    {"tunnels-per-client", GRPC_UNAVAILABLE},
    {"tunnels-per-user", GRPC_UNAVAILABLE},
    {"redirect", GRPC_UNKNOWN},
    {"route-redirect", GRPC_UNKNOWN},
    {"fixed-answer", GRPC_UNKNOWN},
    {"file", GRPC_UNKNOWN}, /* 405: a call is no GET */
    {"pac-file", GRPC_OK},
    {"speculation-rules", GRPC_OK},
    {"acme-challenge", GRPC_OK},
    {"admin-page", GRPC_OK},
    {"not-implemented", GRPC_UNIMPLEMENTED},
    {"final-recipient", GRPC_UNKNOWN},
    {"no-memory", GRPC_UNAVAILABLE},
    {"memory-short", GRPC_UNAVAILABLE},
    {"memory-stalled", GRPC_UNAVAILABLE},
    {"memory-shed", GRPC_UNAVAILABLE},
    {"push-off", GRPC_UNAVAILABLE},
    {"call-deadline", GRPC_DEADLINE_EXCEEDED},
    {"request-deadline", GRPC_DEADLINE_EXCEEDED},
    {"needs-http2", GRPC_UNIMPLEMENTED},
    {"origin-no-tunnel", GRPC_UNKNOWN},
    {"tunnels-full", GRPC_UNAVAILABLE},
    {"drained", GRPC_UNAVAILABLE},
};

static void every_cause_has_a_status_of_grpc(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	call(w, false, NULL);
	struct exchange *x = only_exchange(w);
	size_t at = 0;
	for (size_t i = 0; i < RELAY_CAUSE_COUNT; i++) {
		const struct relay_cause *cause = relay_cause_table[i];
		if (cause->status == 0)
			continue;
		struct http_own_answer answer = {.status = cause->status};
		x->ending.cause = cause;
		x->ending.code = RELAY_CANCEL;
		gateway_own_answer(w->gateway, x, &answer);
		assert_true(at < sizeof(wanted) / sizeof(wanted[0]));
		assert_string_equal(cause->name, wanted[at].cause);
		if (answer.grpc_status != wanted[at].status)
			fail_msg("%s: %u", cause->name, (unsigned)answer.grpc_status);
		at++;
	}
	assert_int_equal(at, sizeof(wanted) / sizeof(wanted[0]));
	x->ending.cause = NULL;
	gate_world_free(w);
}

/* A client that is told to come back later does not make it last, so it is told for what passes by itself alone. */
static void what_passes_by_itself_says_when_to_come_back(void **state)
{
	(void)state;
	const struct relay_cause *const passing[] = {&relay_cause_QUEUE_FULL, &relay_cause_TUNNELS_FULL,
	    &relay_cause_SUBSCRIPTIONS_FULL, &relay_cause_NO_MEMORY, &relay_cause_MEMORY_SHORT,
	    &relay_cause_MEMORY_STALLED, &relay_cause_SHED, &relay_cause_UP_UNREACHABLE,
	    &relay_cause_UP_UNROUTABLE, &relay_cause_UP_UNPROCESSED, &relay_cause_USERS_BUSY,
	    &relay_cause_SPECULATION_NO_ROOM};
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	call(w, false, NULL);
	struct exchange *x = only_exchange(w);
	for (size_t i = 0; i < RELAY_CAUSE_COUNT; i++) {
		bool passes = false;
		for (size_t k = 0; k < sizeof(passing) / sizeof(passing[0]); k++)
			passes = passes || passing[k] == relay_cause_table[i];
		struct http_own_answer answer = {.status = 503};
		x->ending.cause = relay_cause_table[i];
		gateway_own_answer(w->gateway, x, &answer);
		if ((answer.retry_after > 0) != passes)
			fail_msg("%s: %u", relay_cause_table[i]->name, (unsigned)answer.retry_after);
	}
	x->ending.cause = NULL;
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_limit_but_that_of_streams_ends_a_call_that_is_not_answered),
	    cmocka_unit_test(a_calls_own_deadline_counts_from_its_arrival),
	    cmocka_unit_test(near_deadlines_beyond_the_rate_of_resets_are_put_off),
	    cmocka_unit_test(every_cause_has_a_status_of_grpc),
	    cmocka_unit_test(what_passes_by_itself_says_when_to_come_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
