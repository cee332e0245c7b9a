/* SPDX-License-Identifier: MIT */
/* Which server gets a request: turns, draws, the ring, tiers, slow start, and all of it against a slow model. */
#include "proxy/upstream/balance.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define NOW (1000 * USEC_PER_SEC)
#define MOST 1000u

/* ---- a fleet ---- */

static struct balance_member members[MOST];
static struct balance_member *pointers[MOST];
static size_t fleet;
static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	uint64_t v = (state ^ state >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
	return (v >> 20) % below;
}

static void make_fleet(size_t count)
{
	fleet = count;
	state = count;
	for (size_t i = 0; i < count; i++) {
		members[i] = (struct balance_member){.key = draw(UINT64_MAX >> 20) << 20 | (i + 1),
		    .id = (uint32_t)(100 + i),
		    .weight = 1,
		    .is_usable = true};
		pointers[i] = &members[i];
	}
}

static struct balance *make_balance(enum balance_kind kind, usec slow_start)
{
	struct balance *b = balance_new(kind, slow_start, 42);
	balance_set(b, pointers, fleet, NOW);
	return b;
}

static size_t index_of(const struct balance_member *m)
{
	assert_non_null(m);
	return (size_t)(m - members);
}

static size_t choose(struct balance *b)
{
	return index_of(balance_choose(b, &(struct balance_question){0}, NOW));
}

static size_t choose_by_hash(struct balance *b, uint64_t hash)
{
	const struct balance_question q = {.has_hash = true, .hash = hash};
	return index_of(balance_choose(b, &q, NOW));
}

/* ---- round-robin ---- */

static void servers_of_one_weight_take_turns(void **unused)
{
	(void)unused;
	make_fleet(5);
	struct balance *b = make_balance(BALANCE_ROUND_ROBIN, 0);
	size_t first = choose(b);
	for (size_t i = 1; i < 50; i++)
		assert_int_equal(choose(b), (first + i) % 5);
	balance_free(b);
}

/* In each round, wherever it begins, each gets exactly what its weight says. */
/* covers: R421 */
static void each_gets_its_weight_in_every_round(void **unused)
{
	(void)unused;
	const uint32_t weights[] = {7, 3, 2, 1, 1};
	make_fleet(5);
	for (size_t i = 0; i < 5; i++)
		members[i].weight = weights[i];
	struct balance *b = make_balance(BALANCE_ROUND_ROBIN, 0);
	size_t order[14 * 20];
	for (size_t i = 0; i < 14 * 20; i++)
		order[i] = choose(b);
	for (size_t from = 0; from + 14 <= 14 * 20; from++) {
		uint32_t counts[5] = {0};
		for (size_t i = from; i < from + 14; i++)
			counts[order[i]]++;
		for (size_t i = 0; i < 5; i++)
			assert_int_equal(counts[i], weights[i]);
	}
	balance_free(b);
}

static void turns_of_a_heavy_server_are_spread(void **unused)
{
	(void)unused;
	make_fleet(3);
	members[0].weight = 5;
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct balance *b = balance_new(BALANCE_ROUND_ROBIN, 0, seed);
		balance_set(b, pointers, fleet, NOW);
		size_t run = 0, last = 0;
		for (size_t i = 0; i < 70; i++) {
			size_t n = choose(b);
			run = n == 0 ? run + 1 : 0;
			assert_true(run <= 4);
			assert_true(n == 0 || last == 0 || i == 0);
			last = n;
		}
		balance_free(b);
	}
}

static void turns_that_were_missed_are_not_made_up_for(void **unused)
{
	(void)unused;
	make_fleet(4);
	members[0].weight = 200;
	members[1].weight = 2;
	struct balance *b = make_balance(BALANCE_ROUND_ROBIN, 0);
	uint32_t tried[] = {100, 102};
	const struct balance_question q = {.tried = tried, .tried_count = 2};
	uint32_t counts[4] = {0};
	for (size_t i = 0; i < 300; i++)
		counts[index_of(balance_choose(b, &q, NOW))]++;
	assert_int_equal(counts[0] + counts[2], 0);
	assert_int_equal(counts[1], 200);
	assert_int_equal(counts[3], 100);
	uint32_t others = 0;
	for (size_t i = 0; i < 100; i++)
		others += choose(b) > 0;
	/* Those that were left out go on by their weights, and do not make up for what they missed. */
	assert_true(others >= 1 && others <= 3);
	balance_free(b);
}

/* ---- least ---- */

/* Each request lasts for as long as `fleet * each` others take to come. */
static void play(struct balance *b, uint32_t *counts, size_t requests, size_t at_once)
{
	size_t *running = calloc(at_once, sizeof *running);
	for (size_t i = 0; i < requests; i++) {
		size_t slot = (size_t)draw(at_once);
		if (i >= at_once)
			balance_count(b, &members[running[slot]], -1);
		else
			slot = i;
		running[slot] = choose(b);
		balance_count(b, &members[running[slot]], 1);
		counts[running[slot]]++;
	}
	free(running);
}

/* covers: R420 */
static void shares_follow_weights_when_busy_and_when_idle(void **unused)
{
	(void)unused;
	const uint32_t weights[] = {8, 4, 2, 1, 1};
	for (size_t at_once = 1; at_once <= 1000; at_once += 999) {
		uint32_t counts[5] = {0};
		make_fleet(5);
		for (size_t i = 0; i < 5; i++)
			members[i].weight = weights[i];
		struct balance *b = make_balance(BALANCE_LEAST, 0);
		play(b, counts, 32000, at_once);
		for (size_t i = 0; i < 5; i++) {
			assert_true(counts[i] * 10 > weights[i] * 2000 * 8);
			assert_true(counts[i] * 10 < weights[i] * 2000 * 12);
		}
		balance_free(b);
	}
}

static void of_two_the_one_with_less_to_do(void **unused)
{
	(void)unused;
	make_fleet(2);
	struct balance *b = make_balance(BALANCE_LEAST, 0);
	members[0].outstanding = 3;
	members[1].outstanding = 2;
	uint32_t counts[2] = {0};
	for (size_t i = 0; i < 1000; i++)
		counts[choose(b)]++;
	/* Both draws may be the same, seldom. */
	assert_true(counts[1] > 950);
	balance_free(b);
}

/* A server that is slow has more outstanding, and gets less. */
/* Also of two, of which chance alone draws the same one again and again, and whatever their weights. */
static void a_busy_server_is_never_chosen_beside_an_idle_one(void **unused)
{
	(void)unused;
	for (uint32_t heavy = 1; heavy <= 200; heavy += 199) {
		make_fleet(2);
		members[0].outstanding = 1000;
		members[0].weight = heavy;
		struct balance *b = make_balance(BALANCE_LEAST, 0);
		for (unsigned i = 0; i < 10000; i++)
			assert_int_equal(choose(b), 1);
		balance_free(b);
	}
}

static void share_of_a_slow_server_shrinks(void **unused)
{
	(void)unused;
	make_fleet(10);
	struct balance *b = make_balance(BALANCE_LEAST, 0);
	members[3].outstanding = 100;
	uint32_t counts[10] = {0};
	play(b, counts, 10000, 50);
	assert_true(counts[3] < 100);
	for (size_t i = 0; i < 10; i++)
		assert_true(i == 3 || counts[i] > 900);
	balance_free(b);
}

/* ---- hash ---- */

/* covers: R423 */
static void removing_one_of_ten_moves_its_keys_alone(void **unused)
{
	(void)unused;
	enum { KEYS = 20000 };
	static uint8_t before[KEYS];
	make_fleet(10);
	struct balance *b = make_balance(BALANCE_HASH, 0);
	state = 5;
	for (size_t i = 0; i < KEYS; i++)
		before[i] = (uint8_t)choose_by_hash(b, draw(UINT64_MAX >> 20) << 20);
	/* Out of the list, then in it and not in use: the same. */
	for (int round = 0; round < 2; round++) {
		struct balance_member *rest[10];
		memcpy(rest, pointers, sizeof rest);
		if (round == 0)
			memmove(&rest[4], &rest[5], 5 * sizeof *rest);
		else
			members[4].is_usable = false;
		balance_set(b, rest, round == 0 ? 9 : 10, NOW);
		size_t moved = 0;
		state = 5;
		for (size_t i = 0; i < KEYS; i++) {
			size_t now = choose_by_hash(b, draw(UINT64_MAX >> 20) << 20);
			moved += now != before[i];
			assert_true(now != 4);
			assert_true(now == before[i] || before[i] == 4);
		}
		assert_in_range(moved, KEYS * 7 / 100, KEYS * 13 / 100);
	}
	members[4].is_usable = true;
	balance_set(b, pointers, fleet, NOW);
	state = 5;
	for (size_t i = 0; i < KEYS; i++)
		assert_int_equal(choose_by_hash(b, draw(UINT64_MAX >> 20) << 20), before[i]);
	balance_free(b);
}

static void keys_are_the_same_for_every_worker(void **unused)
{
	(void)unused;
	make_fleet(7);
	struct balance *one = balance_new(BALANCE_HASH, 0, 1);
	struct balance *other = balance_new(BALANCE_HASH, 0, 999);
	balance_set(one, pointers, fleet, NOW);
	/* Another order of the same servers, as a resolver gives it. */
	struct balance_member *turned[7];
	for (size_t i = 0; i < 7; i++)
		turned[i] = &members[(i + 3) % 7];
	balance_set(other, turned, 7, NOW + 12345);
	for (size_t i = 0; i < 1000; i++) {
		uint64_t hash = draw(UINT64_MAX >> 20) << 20;
		size_t mine = choose_by_hash(one, hash);
		assert_int_equal(choose_by_hash(other, hash), mine);
	}
	balance_free(one);
	balance_free(other);
}

static void backups_that_join_get_their_keys(void **unused)
{
	(void)unused;
	make_fleet(10);
	members[0].is_usable = false;
	for (size_t i = 1; i < 10; i++)
		members[i].is_backup = true;
	struct balance *b = balance_new(BALANCE_HASH, 0, 1);
	balance_set(b, pointers, 5, NOW);
	assert_in_range(choose_by_hash(b, 1), 1, 4);
	balance_set(b, pointers, 10, NOW);
	struct balance *fresh = make_balance(BALANCE_HASH, 0);
	size_t of_those_that_joined = 0;
	for (size_t i = 0; i < 1000; i++) {
		uint64_t hash = draw(UINT64_MAX >> 20) << 20;
		size_t chosen = choose_by_hash(b, hash);
		assert_int_equal(choose_by_hash(fresh, hash), chosen);
		of_those_that_joined += chosen >= 5;
	}
	assert_true(of_those_that_joined > 400);
	balance_free(b);
	balance_free(fresh);
}

static void keys_are_shared_by_weight(void **unused)
{
	(void)unused;
	uint32_t counts[10] = {0};
	make_fleet(10);
	members[2].weight = 4;
	members[5].weight = 3;
	struct balance *b = make_balance(BALANCE_HASH, 0);
	for (size_t i = 0; i < 15000; i++)
		counts[choose_by_hash(b, draw(UINT64_MAX >> 20) << 20)]++;
	for (size_t i = 0; i < 10; i++) {
		assert_true(counts[i] > members[i].weight * 700);
		assert_true(counts[i] < members[i].weight * 1300);
	}
	balance_free(b);
}

/* Nine of ten requests are for one key: nobody has more than its bound. */
/* covers: R423 */
static void loads_are_bounded(void **unused)
{
	(void)unused;
	make_fleet(10);
	members[1].weight = 3;
	struct balance *b = make_balance(BALANCE_HASH, 0);
	uint64_t total = 0;
	for (size_t i = 0; i < 5000; i++) {
		uint64_t hash = draw(10) ? UINT64_C(77) << 50 : draw(UINT64_MAX >> 20) << 20;
		size_t n = choose_by_hash(b, hash);
		/* Fewer than ceil(1.25 * (total + 1) * weight / 12). */
		assert_true((uint64_t)members[n].outstanding * 48 < 5 * (total + 1) * members[n].weight);
		balance_count(b, &members[n], 1);
		total++;
		size_t done = (size_t)draw(10);
		if (draw(3) == 0 && members[done].outstanding > 0) {
			balance_count(b, &members[done], -1);
			total--;
		}
	}
	balance_free(b);
}

static void outstanding_requests_of_one_that_left_do_not_count(void **unused)
{
	(void)unused;
	make_fleet(3);
	struct balance *b = make_balance(BALANCE_HASH, 0);
	choose_by_hash(b, 1);
	balance_count(b, &members[2], 1000);
	balance_set(b, pointers, 2, NOW);
	choose_by_hash(b, 1);
	balance_count(b, &members[2], -1000);
	/* Both have 10 now: the first that has 13 gets no more (1.25 * 21 / 2). */
	balance_count(b, &members[0], 10);
	balance_count(b, &members[1], 10);
	for (size_t i = 0; i < 100; i++) {
		size_t n = choose_by_hash(b, draw(UINT64_MAX >> 20) << 20);
		assert_true(members[n].outstanding < 14);
		balance_count(b, &members[n], 1);
		balance_count(b, &members[n], -1);
	}
	assert_int_equal(members[2].outstanding, 0);
	balance_free(b);
}

static void without_a_key_the_choice_is_that_of_least(void **unused)
{
	(void)unused;
	make_fleet(2);
	struct balance *b = make_balance(BALANCE_HASH, 0);
	uint32_t counts[2] = {0};
	for (size_t i = 0; i < 1000; i++)
		counts[choose(b)]++;
	assert_in_range(counts[0], 400, 600);
	balance_free(b);
}

/* Most servers are down: a walk ends, and still each key has its server. */
static void a_walk_ends_when_hardly_any_is_in_use(void **unused)
{
	(void)unused;
	make_fleet(1000);
	for (size_t i = 0; i < 1000; i++)
		members[i].is_usable = i == 500 || i == 900;
	struct balance *b = make_balance(BALANCE_HASH, 0);
	uint32_t counts[2] = {0};
	for (size_t i = 0; i < 1000; i++) {
		uint64_t hash = draw(UINT64_MAX >> 20) << 20 | i;
		size_t n = choose_by_hash(b, hash);
		assert_true(n == 500 || n == 900);
		counts[n == 900]++;
		assert_int_equal(choose_by_hash(b, hash), n);
	}
	assert_in_range(counts[0], 200, 800);
	balance_free(b);
}

/* ---- slow start ---- */

/* covers: R422 */
static void a_server_that_joined_begins_with_a_tenth(void **unused)
{
	(void)unused;
	const enum balance_kind kinds[] = {BALANCE_LEAST, BALANCE_ROUND_ROBIN, BALANCE_HASH};
	for (size_t k = 0; k < 3; k++) {
		make_fleet(10);
		members[9].joined = NOW;
		struct balance *b = make_balance(kinds[k], 10 * USEC_PER_SEC);
		/* Begins with 1 of 91, has 5.5 of 95 half-way, and its tenth in the end. */
		for (usec after = 0; after <= 10; after += 5) {
			uint32_t got = 0;
			usec now = NOW + after * USEC_PER_SEC;
			for (size_t i = 0; i < 20000; i++) {
				const struct balance_question q = {
				    .has_hash = true, .hash = draw(UINT64_MAX >> 20) << 20};
				got += index_of(balance_choose(b, &q, now)) == 9;
			}
			uint32_t share = after == 0 ? 220 : after == 5 ? 1150 : 2000;
			assert_in_range(got, share * 7 / 10, share * 13 / 10);
		}
		balance_free(b);
	}
}

static void when_all_are_new_all_count_the_same(void **unused)
{
	(void)unused;
	const enum balance_kind kinds[] = {BALANCE_LEAST, BALANCE_ROUND_ROBIN, BALANCE_HASH};
	for (size_t k = 0; k < 3; k++) {
		uint32_t counts[4] = {0};
		make_fleet(4);
		for (size_t i = 0; i < 4; i++)
			members[i].joined = NOW;
		struct balance *b = make_balance(kinds[k], 10 * USEC_PER_SEC);
		for (size_t i = 0; i < 4000; i++)
			counts[choose_by_hash(b, draw(UINT64_MAX >> 20) << 20)]++;
		for (size_t i = 0; i < 4; i++)
			assert_in_range(counts[i], 700, 1300);
		balance_free(b);
	}
}

/* ---- who is wanted, and tiers ---- */

static void affinity_comes_first_then_the_parents_server(void **unused)
{
	(void)unused;
	for (size_t count = 2; count <= 1000; count += 499) {
		make_fleet(count);
		struct balance *b = make_balance(BALANCE_LEAST, 0);
		for (size_t i = 0; i < count; i++) {
			struct balance_question q = {
			    .affinity = members[i].key, .preferred = &members[(i + 1) % count]};
			assert_int_equal(index_of(balance_choose(b, &q, NOW)), i);
			q.tried = &members[i].id;
			q.tried_count = 1;
			assert_int_equal(
			    index_of(balance_choose(b, &q, NOW)), (i + 1) % count);
		}
		/* Unknown ones ask for nothing. */
		for (uint64_t i = 0; i < 50; i++) {
			struct balance_member stranger = {.key = 9, .id = 9, .weight = 1, .is_usable = true};
			const struct balance_question q = {.affinity = i + 2000000, .preferred = &stranger};
			const struct balance_member *m = balance_choose(b, &q, NOW);
			assert_non_null(m);
			assert_ptr_not_equal(m, &stranger);
		}
		balance_free(b);
	}
}

static void affinity_does_not_bring_an_unusable_server_back(void **unused)
{
	(void)unused;
	make_fleet(3);
	members[1].is_usable = false;
	struct balance *b = make_balance(BALANCE_LEAST, 0);
	const struct balance_question q = {.affinity = members[1].key, .preferred = &members[1]};
	for (size_t i = 0; i < 100; i++)
		assert_true(index_of(balance_choose(b, &q, NOW)) != 1);
	balance_free(b);
}

/* Its connect takes long: who is bound to it waits, others need not. */
static void affinity_alone_leads_to_a_late_server(void **unused)
{
	(void)unused;
	make_fleet(3);
	members[1].is_late = true;
	struct balance *b = make_balance(BALANCE_LEAST, 0);
	const struct balance_question bound = {.affinity = members[1].key};
	const struct balance_question offer = {.preferred = &members[1]};
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(index_of(balance_choose(b, &bound, NOW)), 1);
		assert_true(index_of(balance_choose(b, &offer, NOW)) != 1);
		assert_true(choose(b) != 1);
	}
	balance_free(b);
}

static void nobody_is_chosen_of_nobody(void **unused)
{
	(void)unused;
	make_fleet(1);
	struct balance *b = make_balance(BALANCE_LEAST, 0);
	const struct balance_question tried = {.tried = &members[0].id, .tried_count = 1};
	assert_int_equal(choose(b), 0);
	assert_null(balance_choose(b, &tried, NOW));
	/* Better than none. */
	members[0].is_usable = false;
	balance_set(b, pointers, 1, NOW);
	assert_int_equal(choose(b), 0);
	balance_set(b, pointers, 0, NOW);
	assert_null(balance_choose(b, &tried, NOW));
	balance_free(b);
	balance_free(NULL);
}

/* ---- against a slow model ---- */

static unsigned rank_of(const struct balance_member *m)
{
	return (m->is_usable ? 0u : 2u) + (m->is_backup ? 1u : 0u);
}

static bool was_tried(const struct balance_question *q, const struct balance_member *m)
{
	for (size_t i = 0; i < q->tried_count; i++) {
		if (q->tried[i] == m->id)
			return true;
	}
	return false;
}

/* The tier that the choice must come from; 4: there is nothing left. */
static unsigned best_rank(const struct balance_question *q)
{
	unsigned best = 4;
	for (size_t i = 0; i < fleet; i++) {
		if (!was_tried(q, &members[i]) && rank_of(&members[i]) < best)
			best = rank_of(&members[i]);
	}
	return best;
}

/* When one of the tier is below its bound, so is the one that was chosen. */
static void check_bound(const struct balance_question *q, const struct balance_member *chosen)
{
	uint64_t total = 0, weight = 0;
	bool some_below = false;
	for (size_t i = 0; i < fleet; i++) {
		if (rank_of(&members[i]) != rank_of(chosen))
			continue;
		total += members[i].outstanding;
		weight += members[i].weight;
	}
	for (size_t i = 0; i < fleet; i++) {
		const struct balance_member *m = &members[i];
		if (rank_of(m) == rank_of(chosen) && !was_tried(q, m))
			some_below |= 4 * m->outstanding * weight < 5 * (total + 1) * m->weight;
	}
	if (some_below)
		assert_true(4 * chosen->outstanding * weight < 5 * (total + 1) * chosen->weight);
}

static void change_some(struct balance *b, usec now)
{
	for (size_t i = 0; i < fleet; i++) {
		if (draw(4) > 0)
			continue;
		members[i].weight = 1 + (uint32_t)draw(draw(2) ? 3 : LIMIT_SERVER_WEIGHT);
		members[i].is_usable = draw(3) > 0;
		members[i].is_backup = draw(4) == 0;
		members[i].joined = draw(2) ? now - draw(20) * USEC_PER_SEC : 0;
	}
	balance_set(b, pointers, fleet, now);
}

/* covers: R424 */
static void random_fleets_are_served_as_the_model_says(void **unused)
{
	(void)unused;
	for (size_t round = 0; round < 300; round++) {
		make_fleet(1 + round % 40);
		state = round + 1;
		struct balance *b = balance_new(
		    (enum balance_kind)(round % 3), draw(3) * 5 * USEC_PER_SEC, round);
		usec now = NOW;
		balance_set(b, pointers, fleet, now);
		for (size_t step = 0; step < 400; step++, now += draw(USEC_PER_SEC / 5)) {
			uint32_t tried[8];
			struct balance_question q = {.has_hash = draw(4) > 0,
			    .hash = draw(UINT64_MAX >> 20) << 20,
			    .tried = tried,
			    .tried_count = draw(3) ? 0 : (size_t)draw(9)};
			if (draw(40) == 0)
				change_some(b, now);
			for (size_t i = 0; i < q.tried_count; i++)
				tried[i] = members[draw(fleet)].id;
			struct balance_member *m = balance_choose(b, &q, now);
			if (!m) {
				assert_int_equal(best_rank(&q), 4);
				continue;
			}
			assert_false(was_tried(&q, m));
			assert_int_equal(fleet == 1 ? rank_of(m) : best_rank(&q), rank_of(m));
			if (round % 3 == BALANCE_HASH && q.has_hash && fleet > 1)
				check_bound(&q, m);
			balance_count(b, m, 1);
			struct balance_member *done = &members[draw(fleet)];
			if (done->outstanding > 0 && draw(2))
				balance_count(b, done, -1);
		}
		balance_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(servers_of_one_weight_take_turns),
	    cmocka_unit_test(each_gets_its_weight_in_every_round),
	    cmocka_unit_test(turns_of_a_heavy_server_are_spread),
	    cmocka_unit_test(turns_that_were_missed_are_not_made_up_for),
	    cmocka_unit_test(shares_follow_weights_when_busy_and_when_idle),
	    cmocka_unit_test(of_two_the_one_with_less_to_do),
	    cmocka_unit_test(a_busy_server_is_never_chosen_beside_an_idle_one),
	    cmocka_unit_test(share_of_a_slow_server_shrinks),
	    cmocka_unit_test(removing_one_of_ten_moves_its_keys_alone),
	    cmocka_unit_test(keys_are_the_same_for_every_worker),
	    cmocka_unit_test(backups_that_join_get_their_keys),
	    cmocka_unit_test(keys_are_shared_by_weight),
	    cmocka_unit_test(loads_are_bounded),
	    cmocka_unit_test(outstanding_requests_of_one_that_left_do_not_count),
	    cmocka_unit_test(without_a_key_the_choice_is_that_of_least),
	    cmocka_unit_test(a_walk_ends_when_hardly_any_is_in_use),
	    cmocka_unit_test(a_server_that_joined_begins_with_a_tenth),
	    cmocka_unit_test(when_all_are_new_all_count_the_same),
	    cmocka_unit_test(affinity_comes_first_then_the_parents_server),
	    cmocka_unit_test(affinity_does_not_bring_an_unusable_server_back),
	    cmocka_unit_test(affinity_alone_leads_to_a_late_server),
	    cmocka_unit_test(nobody_is_chosen_of_nobody),
	    cmocka_unit_test(random_fleets_are_served_as_the_model_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
