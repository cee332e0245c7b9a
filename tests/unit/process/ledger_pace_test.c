/* SPDX-License-Identifier: MIT */
/* When the ledger is written: while somebody asks, at once when a process has ended, and for a hundredth of the time at most. */
#include "proxy/process/ledger_pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define SEC USEC_PER_SEC

static void while_nobody_asks_it_is_not_written(void **state)
{
	(void)state;
	struct ledger_pace p = {0};
	usec now = 1000 * SEC;
	assert_true(ledger_pace_wants(&p, 0, now)); /* it was never written */
	now = ledger_pace_next(&p, now, 10);
	assert_int_equal(now, 1001 * SEC);
	assert_false(ledger_pace_wants(&p, 0, now));
	assert_true(ledger_pace_wants(&p, 1, now));
	/* One question in a minute keeps it going. */
	for (uint64_t scrapes = 2; scrapes < 5; scrapes++)
		for (unsigned i = 0; i < 60; i++) {
			now = ledger_pace_next(&p, now, 10);
			assert_true(ledger_pace_wants(&p, scrapes, now));
		}
	while (ledger_pace_wants(&p, 4, now))
		now = ledger_pace_next(&p, now, 10);
	assert_in_range(now, 1001 * SEC + 400 * SEC, 1001 * SEC + 600 * SEC);
	/* A process has ended. */
	p.at = 0;
	assert_true(ledger_pace_wants(&p, 4, now));
	now = ledger_pace_next(&p, now, 10);
	assert_false(ledger_pace_wants(&p, 4, now));
	/* A generation with its workers has gone: fewer are counted. */
	assert_true(ledger_pace_wants(&p, 2, now));
}

static void it_takes_a_hundredth_of_the_time(void **state)
{
	(void)state;
	struct ledger_pace p = {0};
	assert_int_equal(ledger_pace_next(&p, 5 * SEC, SEC / 100), 6 * SEC);
	assert_int_equal(ledger_pace_next(&p, 5 * SEC, SEC / 20), 10 * SEC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(while_nobody_asks_it_is_not_written),
	    cmocka_unit_test(it_takes_a_hundredth_of_the_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
