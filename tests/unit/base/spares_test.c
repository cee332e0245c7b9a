/* SPDX-License-Identifier: MIT */
/* Spares: the one that came last goes first, no more are kept than wanted, and none is touched meanwhile. */
#include "proxy/base/spares.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

struct object {
	char bytes[40];
};

static void the_last_that_came_goes_first(void **state)
{
	(void)state;
	struct spares s;
	spares_init(&s, sizeof(struct object), 2);
	assert_null(spares_take(&s));
	struct object *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	assert_true(spares_keep(&s, a));
	assert_true(spares_keep(&s, b));
	assert_int_equal(s.count, 2);
	assert_ptr_equal(spares_take(&s), b);
	assert_ptr_equal(spares_take(&s), a);
	assert_null(spares_take(&s));
	assert_int_equal(s.count, 0);
	free(a);
	free(b);
}

static void what_is_too_much_stays_with_its_owner(void **state)
{
	(void)state;
	struct spares s;
	spares_init(&s, sizeof(struct object), 1);
	struct object *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));
	assert_true(spares_keep(&s, a));
	assert_false(spares_keep(&s, b));
	b->bytes[0] = 'b';
	spares_keep_or_free(&s, b);
	assert_int_equal(s.count, 1);
	spares_free(&s);
	assert_int_equal(s.count, 0);
	assert_null(spares_take(&s));
}

static void those_that_nobody_needed_are_freed(void **state)
{
	(void)state;
	struct spares s;
	spares_init(&s, sizeof(struct object), 10);
	assert_int_equal(spares_trim(&s), 0);
	for (int i = 0; i < 5; i++)
		assert_true(spares_keep(&s, calloc(1, sizeof(struct object))));
	/* There were none for a while: whoever made five needed five. */
	assert_int_equal(spares_trim(&s), 0);
	void *a = spares_take(&s), *b = spares_take(&s);
	spares_keep_or_free(&s, a);
	spares_keep_or_free(&s, b);
	assert_int_equal(s.count, 5);
	assert_int_equal(spares_trim(&s), 3 * sizeof(struct object));
	assert_int_equal(s.count, 2);
	assert_int_equal(spares_trim(&s), 2 * sizeof(struct object));
	assert_int_equal(s.count, 0);
	spares_free(&s);
}

static void who_touches_a_kept_one_is_seen(void **state)
{
	(void)state;
#ifndef POISON_IS_SEEN
	skip();
#endif
	struct spares s;
	struct object *a = calloc(1, sizeof(*a));
	spares_init(&s, sizeof(*a), 1);
	assert_false(poison_is_at(&a->bytes[0]));
	assert_true(spares_keep(&s, a));
	assert_true(poison_is_at(&a->bytes[0]));
	assert_true(poison_is_at(&a->bytes[sizeof(*a) - 1]));
	assert_ptr_equal(spares_take(&s), a);
	assert_false(poison_is_at(&a->bytes[0]));
	assert_false(poison_is_at(&a->bytes[sizeof(*a) - 1]));
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_last_that_came_goes_first),
	    cmocka_unit_test(what_is_too_much_stays_with_its_owner),
	    cmocka_unit_test(those_that_nobody_needed_are_freed),
	    cmocka_unit_test(who_touches_a_kept_one_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
