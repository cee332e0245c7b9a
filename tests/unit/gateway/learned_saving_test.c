/* SPDX-License-Identifier: MIT */
/* The learned table is handed over in steps; a queue that is full or gone makes nobody wait. */
#include "tests/support/gateway_world.h"

#include "proxy/base/memory.h"
#include "proxy/offer/learned_table.h"

enum { PAGES = 100 };

struct taker {
	enum gateway_handover answer;
	unsigned pages, ends, asked;
};

static enum gateway_handover take(void *context, struct slice page, bool may_wait)
{
	struct taker *t = context;
	(void)may_wait;
	t->asked++;
	if (t->answer != GATEWAY_TAKEN)
		return t->answer;
	if (page.len > 0)
		t->pages++;
	else
		t->ends++;
	return GATEWAY_TAKEN;
}

/* A table with so many pages that are worth to be kept. */
static void fill(struct gate_world *w)
{
	struct offer_learned *t = w->gateway->learned;
	for (int i = 0; i < PAGES; i++) {
		char path[32];
		struct learned_page *p;
		snprintf(path, sizeof(path), "/page%d", i);
		assert_null(learned_page_add(
		    t, SLICE("h.example"), slice_of_string(path), &p, w->gateway->relay.now));
		const struct offer_learned_numbers numbers = {.hits = 9, .views = 9, .clients = 8};
		assert_null(learned_numbers_add(
		    t, p, SLICE("/a.css"), numbers, w->gateway->relay.now));
	}
}

static struct gate_world *world(struct taker *t)
{
	struct gate_world *w = gate_world_new(
	    NULL, NULL, NULL, "[preload p]\nlearned = apply\n[route a]\norigin = a\n");
	struct learned_saving *s = &w->gateway->saving;
	s->save_page = take;
	s->context = t;
	s->page = memory_alloc(OFFER_LEARNED_PAGE_BYTES);
	fill(w);
	return w;
}

static void minute_is_over(struct gate_world *w)
{
	w->gateway->saving.next_begin = w->gateway->relay.now;
	wheel_set(&w->gateway->relay.wheel, &w->gateway->saving.timer, w->gateway->relay.now);
}

static void all_pages_are_handed_over_in_steps(void **state)
{
	(void)state;
	struct taker t = {.answer = GATEWAY_TAKEN};
	struct gate_world *w = world(&t);
	minute_is_over(w);
	UNTIL(w, t.pages > 0);
	assert_in_range(t.pages, 1, 16);
	UNTIL(w, t.ends == 1);
	assert_int_equal(t.pages, PAGES);
	assert_false(w->gateway->saving.is_under_way);
	assert_int_equal(w->counters.learned_saves_dropped, 0);
	gate_world_free(w);
	/* And once more at the end of the worker. */
	assert_int_equal(t.pages, 2 * PAGES);
	assert_int_equal(t.ends, 2);
}

static void page_that_is_not_taken_is_offered_again_and_a_newer_copy_is_dropped(void **state)
{
	(void)state;
	struct taker t = {.answer = GATEWAY_LATER};
	struct gate_world *w = world(&t);
	minute_is_over(w);
	UNTIL(w, t.asked == 1);
	assert_true(w->gateway->saving.is_under_way);
	/* The next minute comes while the queue is still full. */
	minute_is_over(w);
	UNTIL(w, t.asked == 2);
	assert_int_equal(w->counters.learned_saves_dropped, 1);
	t.answer = GATEWAY_TAKEN;
	UNTIL(w, t.ends == 1);
	assert_int_equal(t.pages, PAGES);
	assert_int_equal(w->counters.learned_saves_dropped, 1);
	gate_world_free(w);
}

static void table_that_nobody_takes_is_given_up_and_counted(void **state)
{
	(void)state;
	struct taker t = {.answer = GATEWAY_LOST};
	struct gate_world *w = world(&t);
	minute_is_over(w);
	UNTIL(w, w->counters.learned_saves_dropped == 1);
	assert_int_equal(t.asked, 1);
	assert_false(w->gateway->saving.is_under_way);
	t.answer = GATEWAY_TAKEN;
	minute_is_over(w);
	UNTIL(w, t.ends == 1);
	assert_int_equal(t.pages, PAGES);
	/* At the end nothing hangs either. */
	t.answer = GATEWAY_LOST;
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(all_pages_are_handed_over_in_steps),
	    cmocka_unit_test(page_that_is_not_taken_is_offered_again_and_a_newer_copy_is_dropped),
	    cmocka_unit_test(table_that_nobody_takes_is_given_up_and_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
