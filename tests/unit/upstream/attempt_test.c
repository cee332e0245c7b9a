/* SPDX-License-Identifier: MIT */
/* What upstream/ keeps in an exchange of how its request failed. */
#include "proxy/upstream/destination.h"

#include "tests/support/relay_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* If no other server can be reached, the client is told this failure. */
static void what_failed_first_is_remembered(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = world_exchange(w, "GET", true, &down);
	char detail[] = "read: connection reset";
	const struct relay_failure failure = {
	    .why = RELAY_IF_LOST, .cause = &relay_cause_UP_LOST, .code = 3, .detail = detail};
	attempt_failed(x, &failure);
	memset(detail, 'x', sizeof(detail) - 1); /* it was lent */
	assert_ptr_equal(attempt_of(x)->failure.cause, &relay_cause_UP_LOST);
	assert_int_equal(attempt_of(x)->failure.code, 3);
	assert_string_equal(attempt_of(x)->failure.detail, "read: connection reset");
	world_end(w);
}

/* What no server has processed, and an error status, are no failures of a server that the client is told later. */
static void other_failures_are_not_kept(void **state)
{
	(void)state;
	struct world *w = world_new();
	struct world_leg *down;
	struct exchange *x = world_exchange(w, "GET", true, &down);
	const struct relay_failure unprocessed = {.why = RELAY_AGAIN, .cause = &relay_cause_UP_UNPROCESSED};
	const struct relay_failure status = {.why = RELAY_IF_STATUS, .status = 502};
	attempt_failed(x, &unprocessed);
	attempt_failed(x, &status);
	assert_null(attempt_of(x)->failure.cause);
	world_end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_failed_first_is_remembered),
	    cmocka_unit_test(other_failures_are_not_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
