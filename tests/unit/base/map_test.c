/* SPDX-License-Identifier: MIT */
/* The map and the ring: nothing lost while growing, walking, removing. */
#include "proxy/base/map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct entry {
	struct map_node node;
	uint32_t key, seen;
};

enum { COUNT = 1000 };

static void fill(struct map *m, struct entry *entries, uint64_t factor)
{
	map_init(m);
	for (uint32_t i = 0; i < COUNT; i++) {
		entries[i] = (struct entry){.key = i};
		map_insert(m, &entries[i].node, i * factor);
	}
}

static void empty_map_has_no_table(void **state)
{
	(void)state;
	struct map m;
	map_init(&m);
	assert_null(m.slots);
	assert_null(map_find(&m, 0));
	assert_null(map_after(&m, NULL));
	map_fini(&m);
}

static void every_node_is_found_after_growth(void **state)
{
	(void)state;
	const uint64_t factors[] = {
	    1, 2, 1u << 20, UINT64_C(1) << 40, UINT64_C(0x9e3779b97f4a7c15)};
	static struct entry entries[COUNT];
	for (size_t f = 0; f < sizeof(factors) / sizeof(factors[0]); f++) {
		struct map m;
		fill(&m, entries, factors[f]);
		assert_int_equal(m.count, COUNT);
		assert_true(m.mask + 1 >= COUNT);
		for (uint32_t i = 0; i < COUNT; i++)
			assert_ptr_equal(map_find(&m, i * factors[f]), &entries[i].node);
		assert_null(map_find(&m, UINT64_MAX));
		map_fini(&m);
	}
}

static void equal_hashes_are_all_reached(void **state)
{
	(void)state;
	static struct entry entries[COUNT];
	struct map m;
	map_init(&m);
	for (uint32_t i = 0; i < COUNT; i++)
		map_insert(&m, &entries[i].node, i % 10);
	for (uint64_t hash = 0; hash < 10; hash++) {
		uint32_t count = 0;
		for (struct map_node *n = map_find(&m, hash); n; n = map_next(n)) {
			assert_int_equal(n->hash, hash);
			count++;
		}
		assert_int_equal(count, COUNT / 10);
	}
	map_fini(&m);
}

static void removed_node_is_gone_and_the_others_stay(void **state)
{
	(void)state;
	static struct entry entries[COUNT];
	struct map m;
	fill(&m, entries, 1);
	for (uint32_t i = 0; i < COUNT; i += 2)
		map_remove(&m, &entries[i].node);
	assert_int_equal(m.count, COUNT / 2);
	for (uint32_t i = 0; i < COUNT; i++)
		assert_ptr_equal(map_find(&m, i), i % 2 ? &entries[i].node : NULL);
	map_fini(&m);
}

static void walk_meets_every_node_once(void **state)
{
	(void)state;
	static struct entry entries[COUNT];
	struct map m;
	struct map_node *last = NULL;
	fill(&m, entries, 7);
	map_for_each(&m, e, struct entry, node)
	{
		e->seen++;
		last = &e->node;
	}
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(entries[i].seen, 1);
	assert_null(map_after(&m, last));
	map_fini(&m);
}

static void node_may_be_removed_and_freed_while_walking(void **state)
{
	(void)state;
	struct map m;
	uint32_t met = 0;
	map_init(&m);
	for (uint32_t i = 0; i < COUNT; i++)
		map_insert(&m, &((struct entry *)calloc(1, sizeof(struct entry)))->node, i / 3);
	map_for_each(&m, e, struct entry, node)
	{
		map_remove(&m, &e->node);
		free(e);
		met++;
	}
	assert_int_equal(met, COUNT);
	assert_int_equal(m.count, 0);
	map_fini(&m);
}

struct item {
	struct list link;
	int value;
};

static int joined(struct list *head)
{
	int digits = 0;
	list_for_each(head, n, struct item, link) digits = digits * 10 + n->value;
	return digits;
}

static void ring_keeps_the_order_of_both_ends(void **state)
{
	(void)state;
	struct list head;
	struct item items[4];
	list_init(&head);
	assert_true(list_is_empty(&head));
	assert_null(list_first(&head, struct item, link));
	for (int i = 0; i < 4; i++) {
		items[i].value = i + 1;
		list_init(&items[i].link);
		assert_false(list_is_linked(&items[i].link));
	}
	list_append(&head, &items[1].link);
	list_append(&head, &items[2].link);
	list_prepend(&head, &items[0].link);
	list_insert_before(&items[2].link, &items[3].link);
	assert_int_equal(joined(&head), 1243);
	assert_ptr_equal(list_first(&head, struct item, link), &items[0]);
	list_remove(&items[1].link);
	list_remove(&items[1].link);
	assert_false(list_is_linked(&items[1].link));
	assert_int_equal(joined(&head), 143);
}

static void ring_walk_may_remove_the_current_node(void **state)
{
	(void)state;
	struct list head;
	struct item items[5];
	list_init(&head);
	for (int i = 0; i < 5; i++) {
		items[i].value = i + 1;
		list_append(&head, &items[i].link);
	}
	list_for_each(&head, n, struct item, link)
	{
		if (n->value % 2)
			list_remove(&n->link);
	}
	assert_int_equal(joined(&head), 24);
}

static void splice_moves_all_and_empties_the_source(void **state)
{
	(void)state;
	struct list to, from;
	struct item items[4];
	list_init(&to);
	list_init(&from);
	list_splice(&to, &from);
	assert_true(list_is_empty(&to));
	for (int i = 0; i < 4; i++) {
		items[i].value = i + 1;
		list_append(i < 2 ? &to : &from, &items[i].link);
	}
	list_splice(&to, &from);
	assert_int_equal(joined(&to), 1234);
	assert_true(list_is_empty(&from));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(empty_map_has_no_table),
	    cmocka_unit_test(every_node_is_found_after_growth),
	    cmocka_unit_test(equal_hashes_are_all_reached),
	    cmocka_unit_test(removed_node_is_gone_and_the_others_stay),
	    cmocka_unit_test(walk_meets_every_node_once),
	    cmocka_unit_test(node_may_be_removed_and_freed_while_walking),
	    cmocka_unit_test(ring_keeps_the_order_of_both_ends),
	    cmocka_unit_test(ring_walk_may_remove_the_current_node),
	    cmocka_unit_test(splice_moves_all_and_empties_the_source),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
