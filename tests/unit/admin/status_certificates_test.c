/* SPDX-License-Identifier: MIT */
/* The table of certificates, and what status says of it. */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/admin/admin.h"
#include <stdlib.h>
#include <string.h>

static void text_is(const struct status *s, void (*print)(const struct status *s, FILE *out), const char *text)
{
	char *bytes = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&bytes, &size);
	print(s, out);
	fclose(out);
	assert_string_equal(bytes, text);
	free(bytes);
}

static void entry_that_is_being_written_is_left_out(void **state)
{
	(void)state;
	struct certificate_entry e = {0};
	struct certificate_report r = {.state = CERTIFICATE_GOOD, .next_at = 7}, read;
	assert_false(certificate_entry_read(&e, &read));
	certificate_entry_write(&e, &r);
	assert_true(certificate_entry_read(&e, &read));
	assert_int_equal(read.next_at, 7);
	/* The writer has died in the middle; the next one writes it anew. */
	atomic_fetch_add(&e.version, 1);
	assert_false(certificate_entry_read(&e, &read));
	r.next_at = 8;
	certificate_entry_write(&e, &r);
	assert_true(certificate_entry_read(&e, &read));
	assert_int_equal(read.next_at, 8);
	/* A writer that was taken over. */
	memset(e.report.why, 'x', sizeof(e.report.why));
	assert_true(certificate_entry_read(&e, &read));
	assert_int_equal(strlen(read.why), CERTIFICATE_WHY_BYTES - 1);
	e.report.state = 99;
	assert_false(certificate_entry_read(&e, &read));
}

static void status_says_what_is_due_and_what_has_failed(void **state)
{
	(void)state;
	struct conf_acme_listen acme = {0};
	struct conf_listen listens[] = {{.name = "one", .acme = &acme}, {.name = "plain"}, {.name = "two", .acme = &acme}, {.name = "three", .acme = &acme}};
	struct conf conf = {.listens = listens, .listen_count = 4};
	struct certificate_entry entries[4] = {0};
	const struct status s = {.conf = &conf, .certificates = entries};
	text_is(&s, status_certificate_notes, "");
	text_is(&s, status_certificates_print, "");
	certificate_entry_write(&entries[0], &(struct certificate_report){.state = CERTIFICATE_GOOD, .next_at = 1800000000});
	certificate_entry_write(&entries[1], &(struct certificate_report){.state = CERTIFICATE_GOOD});
	certificate_entry_write(&entries[2], &(struct certificate_report){.state = CERTIFICATE_MISSING, .failures = 2, .next_at = 1800000060, .why = "the order: \x1b[2J"});
	certificate_entry_write(&entries[3], &(struct certificate_report){.state = CERTIFICATE_LACKING, .failures = 1, .open = 1, .next_at = 1, .why = "no"});
	text_is(&s, status_certificate_notes,
	    "# certificate of listen one: good; the next order is due at 2027-01-15T08:00:00Z\n"
	    "# certificate of listen two: there is none yet, clients get one of our own; the next order is due at 2027-01-15T08:01:00Z; 2 orders have failed, the last: the order:  [2J\n"
	    "# certificate of listen three: it lacks a host of the routes; another one is ordered now; 1 order has failed, the last: no\n");
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	status_certificates_print(&s, out);
	fclose(out);
	static const char *const lines[] = {
	    "\npushgate_acme_certificate_state{listen=\"one\",state=\"good\"} 1\n",
	    "\npushgate_acme_certificate_state{listen=\"two\",state=\"missing\"} 1\n",
	    "\npushgate_acme_certificate_state{listen=\"three\",state=\"lacking\"} 1\n",
	    "\npushgate_acme_next_order_timestamp_seconds{listen=\"one\"} 1800000000\n",
	    "\npushgate_acme_failures_in_a_row{listen=\"one\"} 0\n",
	    "\npushgate_acme_failures_in_a_row{listen=\"two\"} 2\n",
	};
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (!strstr(text, lines[i]))
			fail_msg("no %s in %s", lines[i], text);
	assert_null(strstr(text, "plain"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(entry_that_is_being_written_is_left_out),
	    cmocka_unit_test(status_says_what_is_due_and_what_has_failed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
