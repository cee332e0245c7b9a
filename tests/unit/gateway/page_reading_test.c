/* SPDX-License-Identifier: MIT */
/*
 * Reading bodies that pass, in a whole gateway: what is refused to the reading costs the response nothing, and no end of an
 * exchange leaves a reading behind. tests/wire/page-reading.test.mjs has what is read.
 */
#include "tests/support/gateway_world.h"

#include "tests/support/heap.h"

/* Of a reading at least. */
#define MARKUP_LEAST 5000u

#define MORE "[preload p]\nremembered = propose\n[route a]\norigin = a\n"

static struct gate_world *world(struct gate_peer **client)
{
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, MORE);
	*client = gate_client(w, NULL);
	UNTIL(w, (*client)->settings_came);
	return w;
}

static struct gate_stream *load_page(struct gate_world *w, struct gate_peer *client)
{
	struct gate_stream *page =
	    gate_request(client, "GET", "example.com", "/page", true, "sec-fetch-dest", "document", NULL);
	UNTIL(w, gate_find(w, "/page"));
	return page;
}

/* Of a stylesheet, since zeroes do not end its reading. */
static struct gate_stream *load_style(struct gate_world *w, struct gate_peer *client)
{
	struct gate_stream *page = load_page(w, client);
	gate_answer_fields(gate_find(w, "/page"), 200, true, "content-type", "text/html", NULL);
	UNTIL(w, page->is_over);
	struct gate_stream *style = gate_request(client, "GET", "example.com", "/a.css", true, "sec-fetch-dest", "style",
	    "referer", "http://example.com/page", NULL);
	UNTIL(w, gate_find(w, "/a.css"));
	gate_answer_fields(
	    gate_find(w, "/a.css"), 200, false, "content-type", "text/css", "cache-control", "max-age=60", NULL);
	gate_more(gate_find(w, "/a.css"), 100, false);
	UNTIL(w, style->received == 100);
	return style;
}

static bool is_reading(struct gate_world *w)
{
	list_for_each(&w->gateway->relay.live, x, struct exchange, link) if (x->onlooker) return true;
	return false;
}

static void each_allocation_of_a_reading_may_be_refused(void **state)
{
	(void)state;
	static const char *const codings[] = {"identity", "gzip", "br", "zstd", "unknown"};
	for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
		for (size_t n = 1; n <= 6; n++) {
			struct gate_peer *client;
			struct gate_world *w = world(&client);
			struct gate_stream *page = load_page(w, client);
			test_heap_refuse(n, 1);
			gate_answer_fields(gate_find(w, "/page"), 200, false, "content-type", "text/html",
			    "content-encoding", codings[i], NULL);
			gate_more(gate_find(w, "/page"), 100, true);
			UNTIL(w, page->is_over);
			test_heap_refuse(0, 0);
			assert_int_equal(page->status, 200);
			assert_int_equal(page->received, 100);
			/* A page that is not read says nothing of its head, which others may have read. */
			assert_int_equal(w->counters.lessons_taken, w->counters.page_readings);
			gate_world_free(w);
		}
	}
}

static void a_reading_is_charged_until_it_ends(void **state)
{
	(void)state;
	struct gate_peer *client;
	struct gate_world *w = world(&client);
	struct gate_stream *style = load_style(w, client);
	struct budget *b = &w->gateway->env.budget;
	assert_true(is_reading(w));
	size_t before = b->used_bytes;
	gate_more(gate_find(w, "/a.css"), 100, true);
	UNTIL(w, style->is_over);
	assert_int_equal(style->received, 200);
	gate_passes(w);
	assert_false(is_reading(w));
	assert_true(b->used_bytes + MARKUP_LEAST < before);
	assert_int_equal(w->counters.page_readings, 2); /* and the page's */

	gate_world_free(w);
}

static void a_style_sheet_that_is_pushed_or_held_is_read(void **state)
{
	(void)state;
	static const struct {
		bool is_before_page, is_pushed;
		const char *name, *value;
		unsigned readings; /* with the page's */
	} rows[] = {
	    {true, false, NULL, NULL, 2},
	    {false, false, NULL, NULL, 2},
	    {true, false, "set-cookie", "a=b", 1},
	    {true, false, "content-type", "text/javascript", 1},
	    {true, true, NULL, NULL, 2},
	    {false, true, NULL, NULL, 2},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bool is_pushed = rows[i].is_pushed;
		char more[128];
		snprintf(more, sizeof(more), "[preload p]\nremembered = propose\nadd = /a.css\n[route a]\norigin = a\n[push h]\naction = %s\n",
		    is_pushed ? "forward" : "hold");
		struct gate_world *w = gate_world_new(NULL, NULL, NULL, more);
		struct gate_peer *client = gate_client(w, &(struct gate_peer_options){.no_push = !is_pushed});
		UNTIL(w, client->settings_came);
		struct gate_stream *page = load_page(w, client);
		UNTIL(w, gate_find(w, "/a.css"));
		for (int n = 0; n < 2; n++) {
			if ((n == 0) == rows[i].is_before_page) {
				bool is_other = rows[i].name && strcmp(rows[i].name, "content-type") == 0;
				gate_answer_fields(gate_find(w, "/a.css"), 200, false, "cache-control", "max-age=60",
				    is_other ? rows[i].name : "content-type", is_other ? rows[i].value : "text/css",
				    is_other ? NULL : rows[i].name, rows[i].value, NULL);
				gate_more(gate_find(w, "/a.css"), 100, true);
			} else {
				gate_answer_fields(gate_find(w, "/page"), 200, true, "content-type", "text/html", NULL);
				UNTIL(w, page->is_over);
			}
			gate_passes(w);
		}
		assert_int_equal(w->counters.page_readings, rows[i].readings);
		assert_false(is_reading(w));
		gate_world_free(w);
	}
}

/* What the budget refuses may also be the request's own. */
static void each_charge_of_a_reading_may_be_refused(void **state)
{
	(void)state;
	size_t answered = 0, read = 0;
	for (size_t n = 1; n <= 8; n++) {
		struct gate_peer *client;
		struct gate_world *w = world(&client);
		struct gate_stream *page = load_page(w, client);
		budget_fail_nth(&w->gateway->env.budget, n);
		gate_answer_fields(gate_find(w, "/page"), 200, false, "content-type", "text/html", NULL);
		gate_more(gate_find(w, "/page"), 100, true);
		UNTIL(w, page->is_over);
		budget_fail_nth(&w->gateway->env.budget, 0);
		answered += page->received == 100;
		read += w->counters.page_readings;
		gate_world_free(w);
	}
	assert_true(answered > read && read > 0);
}

static void no_end_of_an_exchange_leaves_a_reading_behind(void **state)
{
	(void)state;
	for (unsigned how = 0; how < 4; how++) {
		struct gate_peer *client;
		struct gate_world *w = world(&client);
		struct gate_stream *style = load_style(w, client);
		assert_true(is_reading(w));
		if (how == 0)
			gate_reset_stream(style, 8);
		else if (how == 1)
			gate_reset_stream(gate_find(w, "/a.css"), 2);
		else if (how == 2)
			gate_peer_abort(client);
		else
			gate_trailers(gate_find(w, "/a.css"));
		UNTIL(w, !is_reading(w));
		assert_int_equal(w->counters.page_readings, how == 3 ? 2 : 1);
		assert_int_equal(w->counters.page_readings_given_up, how != 3);
		gate_world_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_allocation_of_a_reading_may_be_refused),
	    cmocka_unit_test(a_reading_is_charged_until_it_ends),
	    cmocka_unit_test(a_style_sheet_that_is_pushed_or_held_is_read),
	    cmocka_unit_test(each_charge_of_a_reading_may_be_refused),
	    cmocka_unit_test(no_end_of_an_exchange_leaves_a_reading_behind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
