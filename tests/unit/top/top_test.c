/* SPDX-License-Identifier: MIT */
/* The page of `pushgate top`, out of status texts. */
#include "proxy/top/top_private.h"

#include "proxy/base/memory.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct top_samples samples(const char *text)
{
	struct top_samples s;
	top_samples_read(&s, memory_strdup(text), 1700093784.5);
	return s;
}

static void sums_of_what_a_selector_chooses(void **state)
{
	(void)state;
	struct top_samples s = samples("# pushgate 1\n# HELP a b\nplain 5\nx{side=\"client\",code=\"2xx\"} 1\nx{side=\"origin\",code=\"2xx\"} 2\n"
				       "x{side=\"origin\",code=\"5}x\\\"x\"} 4.5\nx_total 100\nnan NaN\nbroken{a=\"\nempty\n# EOF\n");
	static const struct {
		const char *selector;
		double sum;
		bool is_there;
	} rows[] = {
	    {"plain", 5, true}, {"x", 7.5, true}, {"x{side=\"origin\"}", 6.5, true}, {"x{code=\"2xx\"}", 3, true},
	    {"x{code=\"5}x\\\"x\"}", 4.5, true}, {"x{code=\"3xx\"}", 0, false}, {"nothing", 0, false}, {"x_tot", 0, false},
	    {"nan", 0, false}, {"plain{a=\"b\"}", 0, false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_there;
		double sum = top_sum(&s, slice_of_string(rows[i].selector), &is_there);
		if (sum != rows[i].sum || is_there != rows[i].is_there)
			fail_msg("%s: %f", rows[i].selector, sum);
	}
	top_samples_free(&s);
}

#define BUCKET(route, le, n) "h_bucket{route=\"" route "\",le=\"" le "\"} " #n "\n"

static void quantiles_of_a_histogram_between_two_texts(void **state)
{
	(void)state;
	struct top_samples none = samples(""), before = samples(BUCKET("a", "0.1", 10) BUCKET("a", "1", 10) BUCKET("a", "+Inf", 10));
	struct top_samples now = samples(BUCKET("a", "0.1", 10) BUCKET("a", "1", 20) BUCKET("a", "+Inf", 20) BUCKET("b", "0.1", 10)
		BUCKET("b", "1", 10) BUCKET("b", "+Inf", 20) "h_sum 5\nh_count 40\nhh_bucket{le=\"+Inf\"} 1000\n");
	/* Of 30: 10 up to 0.1, 10 up to 1, 10 beyond. */
	assert_true(top_quantile(&before, &now, SLICE("h"), 1 / 6.0) == 0.05);
	assert_true(top_quantile(&before, &now, SLICE("h"), 0.5) > 0.549 && top_quantile(&before, &now, SLICE("h"), 0.5) < 0.551);
	assert_true(top_quantile(&before, &now, SLICE("h"), 0.99) == 1);
	assert_true(top_quantile(&now, &now, SLICE("h"), 0.5) == -1);
	assert_true(top_quantile(&none, &none, SLICE("h"), 0.5) == -1);
	top_samples_free(&none);
	top_samples_free(&before);
	top_samples_free(&now);
}

static char *page(const char *before, const char *now, double seconds, size_t columns, size_t rows, const char *notice)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct top_samples a = samples(before), b = samples(now);
	const struct top_view v = {.before = &a, .now = &b, .seconds = seconds, .is_since_start = !*before, .notice = notice};
	size_t left_out = top_page(&v, columns, rows, "|\n", out);
	if (left_out > 0)
		fprintf(out, "and %zu", left_out);
	fclose(out);
	top_samples_free(&a);
	top_samples_free(&b);
	return text;
}

#define HEAD "pushgate_build_info{version=\"1.2\",tls_library=\"x\"} 1\npushgate_start_time_seconds 1700000000.500\n"

static void page_is(char *text, const char *wanted)
{
	assert_string_equal(text, wanted);
	free(text);
}

static void a_page_has_rates_between_two_texts(void **state)
{
	(void)state;
	page_is(page(HEAD "pushgate_requests_total 1000\npushgate_body_sent_bytes_total{side=\"client\"} 5\n",
		    HEAD "pushgate_requests_total 1250\npushgate_requests_open 3\npushgate_body_sent_bytes_total{side=\"client\"} 3000005\n", 2, 0, 0, NULL),
	    "pushgate 1.2, up 1 d 02:03:04|\n|\n"
	    "requests     /s 125    open 3      |\n"
	    "bytes/s      client out 1.5M   |\n");
	/* It was started again meanwhile. */
	page_is(page(HEAD "pushgate_requests_total 1000\n", HEAD "pushgate_requests_total 50\n", 1, 0, 0, "no answer"),
	    "pushgate 1.2, up 1 d 02:03:04; no answer|\n|\nrequests     /s 50.0   |\n");
	page_is(page("", HEAD "pushgate_requests_total 93784\npushgate_memory_used_bytes 999\n", 93784, 0, 0, NULL),
	    "pushgate 1.2, up 1 d 02:03:04; averages since the start|\n|\n"
	    "requests     /s 1.00   |\nmemory       budget used 999    |\n");
}

#define SERVERS                                                                                                        \
	"pushgate_server_up{origin=\"app\",server=\"127.0.0.1:1\"} 1\n"                                                    \
	"pushgate_server_up{origin=\"other\",server=\"127.0.0.1:1\"} 0\n"                                                  \
	"pushgate_server_ejected_workers{origin=\"app\",server=\"127.0.0.1:1\"} 2\n"

static void a_table_has_a_row_for_each_label(void **state)
{
	(void)state;
	page_is(page(HEAD, HEAD SERVERS, 1, 0, 0, NULL),
	    "pushgate 1.2, up 1 d 02:03:04|\n|\n|\n"
	    "server                    up ejected in|\n"
	    "app 127.0.0.1:1            1          2|\n"
	    "other 127.0.0.1:1          0          0|\n");
	page_is(page("pushgate_rule_total{rule=\"r\",event=\"used\"} 1\n",
		    "pushgate_rule_total{rule=\"r\",event=\"used\"} 4\npushgate_rule_total{rule=\"r\",event=\"reset\"} 1\n"
		    "pushgate_rule_used_ratio{rule=\"r\"} 0.75\n", 1, 0, 0, NULL),
	    "pushgate , up 0 d 00:00:00|\n|\n|\n"
	    "rule   events/s    bytes/s used ratio|\n"
	    "r          4.00          0       0.75|\n");
	page_is(page("process_cpu_seconds_total{process=\"a\"} 1\n",
		    "pushgate_process_up{process=\"a\"} 1\npushgate_process_up{process=\"b\"} 0\nprocess_start_time_seconds{process=\"a\"} 1700090060.00\n"
		    "process_cpu_seconds_total{process=\"a\"} 1.25\nprocess_resident_memory_bytes{process=\"a\"} 4096000\n", 0.5, 0, 0, NULL),
	    "pushgate , up 0 d 00:00:00|\n|\n|\n"
	    "process        pid         up     starts      cpu %     memory|\n"
	    "a                0   01:02:04          0       50.0       4.1M|\n"
	    "b                0          -          0          0          -|\n");
}

/* Else all lines below would move. */
static void a_line_of_latencies_stays_while_no_request_comes(void **state)
{
	(void)state;
#define COUNTED HEAD "pushgate_request_duration_seconds_bucket{le=\"0.1\"} 4\npushgate_request_duration_seconds_bucket{le=\"+Inf\"} 4\n"
	page_is(page(HEAD, COUNTED, 1, 0, 0, NULL),
	    "pushgate 1.2, up 1 d 02:03:04|\n|\nlatency      p50 50 ms  p90 90 ms  p99 99 ms  |\n");
	page_is(page(COUNTED, COUNTED, 1, 0, 0, NULL),
	    "pushgate 1.2, up 1 d 02:03:04|\n|\nlatency      p50 -      p90 -      p99 -      |\n");
}

static void a_page_fits_the_window(void **state)
{
	(void)state;
	page_is(page(HEAD, HEAD SERVERS, 1, 10, 5, NULL), "pushgate 1|\n|\n|\nserver    |\napp 127.0.|\nand 1");
	page_is(page(HEAD, HEAD SERVERS, 1, 0, 1, NULL), "pushgate 1.2, up 1 d 02:03:04|\nand 5");
	page_is(page("", HEAD "pushgate_requests_open 1\npushgate_tunnels_open 2\npushgate_requests_total 0\n", 1, 37, 0, NULL),
	    "pushgate 1.2, up 1 d 02:03:04; averag|\n|\n"
	    "requests     /s 0      open 1      |\n"
	    "             tunnels 2      |\n");
	/* A character is not cut in its middle, and no control character gets through. */
	page_is(page("", "pushgate_server_up{origin=\"\303\244\303\266\033[2J\302\233\",server=\"s\"} 1\n", 0, 4, 0, NULL),
	    "push|\n|\n|\nserv|\n\303\244\303\266?[|\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sums_of_what_a_selector_chooses),
	    cmocka_unit_test(quantiles_of_a_histogram_between_two_texts),
	    cmocka_unit_test(a_page_has_rates_between_two_texts),
	    cmocka_unit_test(a_table_has_a_row_for_each_label),
	    cmocka_unit_test(a_line_of_latencies_stays_while_no_request_comes),
	    cmocka_unit_test(a_page_fits_the_window),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
