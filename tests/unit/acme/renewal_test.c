/* SPDX-License-Identifier: MIT */
/* Times: of renewal, of pauses, of windows, and the texts that have them. */
#include "proxy/acme/acme.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

enum { HOUR = 3600, DAY = 86400 };

static void certificate_of_the_rfc_has_its_identifier(void **state)
{
	(void)state;
	/* RFC 9773 4.1. */
	struct net_issued c = {
	    .authority = {0x69, 0x88, 0x5B, 0x6B, 0x87, 0x46, 0x40, 0x41, 0xE1, 0xB3, 0x7B, 0x84, 0x7B,
		0xA0, 0xAE, 0x2C, 0xDE, 0x01, 0xC8, 0xD4},
	    .authority_length = 20,
	    .serial = {0x00, 0x87, 0x65, 0x43, 0x21},
	    .serial_length = 5};
	char id[ACME_ID_BYTES];
	assert_true(acme_certificate_id(&c, id));
	assert_string_equal(id, "aYhba4dGQEHhs3uEe6CuLN4ByNQ.AIdlQyE");
	c.serial_length = 0;
	assert_false(acme_certificate_id(&c, id));
	c.serial_length = sizeof(c.serial);
	c.authority_length = sizeof(c.authority);
	assert_true(acme_certificate_id(&c, id));
	assert_int_equal(strlen(id), ACME_ID_BYTES - 1);
}

static void times_are_those_of_rfc_3339(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t seconds; /* 0: it is none */
	} rows[] = {
	    {"2025-01-02T04:00:00Z", 1735790400},
	    {"2025-01-02T04:00:00.123456Z", 1735790400},
	    {"2025-01-02t04:00:00z", 0},
	    {"2025-01-02T05:30:00+01:30", 1735790400},
	    {"2025-01-01T20:00:00-08:00", 1735790400},
	    {"2025-01-02T04:00:00", 0},
	    {"2025-01-02T04:00:00+0100", 0},
	    {"2025-01-02T04:00:00+1:00", 0},
	    {"2025-01-02T04:00:00+24:00", 0},
	    {"2025-01-02T04:00:00Zx", 0},
	    {"2025-01-02", 0},
	    {"soon", 0},
	    {"", 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t seconds = 0;
		assert_int_equal(acme_time_parse(rows[i].text, &seconds), rows[i].seconds != 0);
		if (rows[i].seconds)
			assert_int_equal(seconds, rows[i].seconds);
	}
}

static void renewal_is_at_two_thirds_without_a_window(void **state)
{
	(void)state;
	const struct net_issued c = {.starts = 1000 * DAY, .ends = 1090 * DAY};
	const struct acme_window odd = {1050 * DAY, 1050 * DAY}, late = {1090 * DAY, 1100 * DAY};
	assert_int_equal(acme_renewal_time(&c, NULL, 7), 1060 * DAY);
	assert_int_equal(acme_renewal_time(&c, &odd, 7), 1060 * DAY);
	assert_int_equal(acme_renewal_time(&c, &late, 7), 1060 * DAY);
}

static void renewal_is_somewhere_in_the_window(void **state)
{
	(void)state;
	const struct net_issued c = {.starts = 1000 * DAY, .ends = 1090 * DAY};
	const struct acme_window early = {1010 * DAY, 1012 * DAY}, late = {1089 * DAY, 1100 * DAY};
	assert_int_equal(acme_renewal_time(&c, &early, 0), 1010 * DAY);
	assert_int_equal(acme_renewal_time(&c, &early, 2 * DAY - 1), 1012 * DAY - 1);
	assert_int_equal(acme_renewal_time(&c, &early, 2 * DAY + 5), 1010 * DAY + 5);
	for (uint64_t i = 0; i < 1000; i++)
		assert_true(acme_renewal_time(&c, &late, i * 7919) < c.ends);
}

static void pauses_grow_and_obey_the_authority(void **state)
{
	(void)state;
	uint32_t before = 0;
	for (unsigned failures = 1; failures < 100; failures++) {
		uint32_t pause = acme_pause_seconds(failures, 0, 0);
		assert_true(pause >= before && pause <= 4 * HOUR);
		before = pause;
	}
	assert_int_equal(before, 4 * HOUR);
	assert_int_equal(acme_pause_seconds(1, 0, 0), 60);
	assert_int_equal(acme_pause_seconds(3, 0, 0), 240);
	assert_int_equal(acme_pause_seconds(1, 0, 6), 66);
	assert_int_equal(acme_pause_seconds(1, 0, 7), 60);
	assert_int_equal(acme_pause_seconds(1, DAY, 7), DAY);
	assert_int_equal(acme_window_seconds(0), 6 * HOUR);
	assert_int_equal(acme_window_seconds(1), 60);
	assert_int_equal(acme_window_seconds(7200), 7200);
	assert_int_equal(acme_window_seconds(UINT32_MAX), DAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(certificate_of_the_rfc_has_its_identifier),
	    cmocka_unit_test(times_are_those_of_rfc_3339),
	    cmocka_unit_test(renewal_is_at_two_thirds_without_a_window),
	    cmocka_unit_test(renewal_is_somewhere_in_the_window),
	    cmocka_unit_test(pauses_grow_and_obey_the_authority),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
