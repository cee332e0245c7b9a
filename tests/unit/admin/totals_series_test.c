/* SPDX-License-Identifier: MIT */
/* Series of several generations in one sum, by the names of their labels. */
#include "proxy/base/memory.h"
#include "proxy/admin/admin.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t one_server(const void *context, size_t origin)
{
	(void)context;
	(void)origin;
	return 1;
}

/* A configuration with one listener, one origin with one server, and these routes; and its series. */
struct site {
	struct conf conf;
	struct conf_listen listen;
	struct conf_origin origin;
	struct conf_origin_server server;
	struct conf_route routes[4];
	struct series series;
	struct series_lane lane;
	char memory[65536];
};

static struct site *site_new(size_t count, const char *const *routes)
{
	struct site *s = memory_new(struct site);
	s->listen.name = "l";
	s->origin.name = "o";
	s->origin.servers = &s->server;
	s->origin.server_count = 1;
	s->server.text = "http://a\"b\\c";
	for (size_t i = 0; i < count; i++)
		s->routes[i].name = routes[i];
	s->conf.listens = &s->listen;
	s->conf.origins = &s->origin;
	s->conf.routes = s->routes;
	s->conf.listen_count = s->conf.origin_count = 1;
	s->conf.route_count = count;
	const struct series_sizes sizes = {1, count, 1, one_server, NULL};
	assert_in_range(series_init(&s->series, &sizes, 50, 1), 1, sizeof(s->memory) - 64);
	series_attach(&s->series, (void *)(((uintptr_t)s->memory + 63) / 64 * 64));
	s->lane = series_lane(&s->series, 0);
	return s;
}

static void site_free(struct site *s)
{
	series_fini(&s->series);
	free(s);
}

/* Two at a time. */
static char *print(struct totals *t)
{
	char *text = NULL;
	size_t size, at = 0;
	FILE *out = open_memstream(&text, &size);
	do
		at = totals_series_print(t, at, 2, out);
	while (at > 0);
	fclose(out);
	return text;
}

static void a_series_whose_route_has_moved_goes_on(void **state)
{
	(void)state;
	struct site *before = site_new(2, (const char *const[]){"a", "b"});
	struct site *after = site_new(3, (const char *const[]){"c", "b", "a"});
	struct totals *t = totals_new(), *all = totals_new();
	series_count(&before->lane, SERIES_REQUEST, 1, 1, 1000); /* a */
	series_count(&before->lane, SERIES_REQUEST, 1, 2, 2000); /* b */
	series_count(&after->lane, SERIES_REQUEST, 1, 2, 20);    /* b */
	series_count(&after->lane, SERIES_REQUEST, 1, 3, 10);    /* a */
	series_count(&after->lane, SERIES_REQUEST, 1, 0, 5);
	totals_add_series(t, &before->conf, &before->series);
	totals_add_totals(all, t);
	totals_add_series(all, &after->conf, &after->series);
	assert_int_equal(totals_series(all, SERIES_REQUEST, "listen=\"l\",route=\"a\"")->sum, 1010);
	assert_int_equal(totals_series(all, SERIES_REQUEST, "listen=\"l\",route=\"b\"")->sum, 2020);
	assert_int_equal(totals_series(all, SERIES_REQUEST, "listen=\"l\",route=\"(none)\"")->sum, 5);
	assert_int_equal(all->series.count, 3);
	series_count(&after->lane, SERIES_QUEUE, 1, 0, 40000);
	totals_add_series(all, &after->conf, &after->series);
	const struct histogram queue = totals_family(all, SERIES_QUEUE), request = totals_family(all, SERIES_REQUEST);
	assert_int_equal(queue.counts[histogram_bucket(40000)], 1);
	assert_int_equal(queue.sum, 40000);
	assert_int_equal(histogram_total(&request), 8); /* those of the later configuration twice */
	assert_int_equal(request.sum, 3000 + 2 * 35);
	assert_int_equal(totals_family(all, SERIES_TLS).sum, 0);
	totals_free(t);
	totals_free(all);
	site_free(before);
	site_free(after);
}

static void families_are_printed_in_order_with_their_labels(void **state)
{
	(void)state;
	struct site *s = site_new(1, (const char *const[]){"r"});
	struct totals *t = totals_new();
	series_count(&s->lane, SERIES_TLS, 1, 0, 1);
	series_count(&s->lane, SERIES_FIRST_BYTE, 1, 1, 1);
	series_count(&s->lane, SERIES_FIRST_BYTE, 1, 0, 1);
	series_count(&s->lane, SERIES_QUEUE, 1, 0, 1);
	series_count(&s->lane, SERIES_PUSH, 1, 0, 1);
	series_count(&s->lane, SERIES_REQUEST, 1, 1, 1);
	totals_add_series(t, &s->conf, &s->series);
	char *text = print(t), *at = text;
	static const char *const wanted[] = {
	    "# HELP pushgate_request_duration_seconds from ",
	    "# TYPE pushgate_request_duration_seconds histogram\n",
	    "pushgate_request_duration_seconds_bucket{listen=\"l\",route=\"r\",le=\"0.005\"} 1\n",
	    "pushgate_request_duration_seconds_sum{listen=\"l\",route=\"r\"} 0.000001\n",
	    "pushgate_push_duration_seconds_count{route=\"r\"} 1\n",
	    "pushgate_queue_wait_seconds_count{origin=\"o\"} 1\n",
	    "# TYPE pushgate_origin_first_byte_seconds histogram\n",
	    "pushgate_origin_first_byte_seconds_count{origin=\"o\",server=\"http://a\\\"b\\\\c\"} 1\n",
	    "pushgate_origin_first_byte_seconds_count{origin=\"o\",server=\"(none)\"} 1\n",
	    "pushgate_tls_handshake_seconds_count{listen=\"l\"} 1\n",
	};
	for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		at = strstr(at, wanted[i]);
		assert_non_null(at);
	}
	const char *type = strstr(text, "# TYPE pushgate_origin_first_byte_seconds");
	assert_null(strstr(type + 1, "# TYPE pushgate_origin_first_byte_seconds"));
	free(text);
	totals_free(t);
	site_free(s);
}

static void what_has_no_name_is_counted_together(void **state)
{
	(void)state;
	char name[TOTALS_LABELS_BYTES + 1];
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	struct site *s = site_new(2, (const char *const[]){name, "r"});
	struct totals *t = totals_new();
	series_count(&s->lane, SERIES_PUSH, 1, 0, 3);
	totals_add_series(t, &s->conf, &s->series);
	totals_add_series(t, NULL, &s->series); /* a generation that was given up */
	totals_add_series(t, NULL, NULL);
	assert_int_equal(t->series.count, 1);
	assert_int_equal(totals_series(t, SERIES_PUSH, "route=\"(other)\"")->sum, 6);
	totals_free(t);
	site_free(s);
}

static void there_are_so_many_names_and_no_more(void **state)
{
	(void)state;
	struct totals *t = totals_new();
	char labels[64];
	for (unsigned i = 0; i < TOTALS_SERIES + 100; i++) {
		snprintf(labels, sizeof(labels), "route=\"%u\"", i);
		totals_series(t, SERIES_CLAIM, labels)->sum += 1;
	}
	assert_int_equal(totals_series(t, SERIES_CLAIM, "route=\"(other)\"")->sum, 100);
	assert_int_equal(totals_series(t, SERIES_CLAIM, "route=\"0\"")->sum, 1);
	assert_int_equal(t->series.count, TOTALS_SERIES + 1);
	totals_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_series_whose_route_has_moved_goes_on),
	    cmocka_unit_test(families_are_printed_in_order_with_their_labels),
	    cmocka_unit_test(what_has_no_name_is_counted_together),
	    cmocka_unit_test(there_are_so_many_names_and_no_more),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
