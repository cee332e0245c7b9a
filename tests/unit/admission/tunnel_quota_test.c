/* SPDX-License-Identifier: MIT */
/* Tunnel quotas: how many tunnels there are of each client and user, and how the rate of one is shared by all its tunnels. */
#include "proxy/admission/admission.h"
#include "tests/support/relay_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define CLIENT 0x1111u
#define USER 0x2222u
/* Bytes a second; a quarter of them may pass at once. */
#define RATE 10240u

static struct tunnel_quotas quotas;

static struct world *begin(void)
{
	struct world *w = world_new();
	tunnel_quotas_init(&quotas, &w->relay);
	return w;
}

static void end(struct world *w)
{
	tunnel_quotas_fini(&quotas);
	world_end(w);
}

struct tunnel {
	struct exchange *x;
	struct world_leg *down, *up;
};

static struct tunnel asked(struct world *w, uint64_t client, uint64_t user, uint64_t rate)
{
	struct tunnel t;
	t.x = world_exchange(w, "GET", true, &t.down);
	exchange_ask_for_tunnel(t.x, SLICE("websocket"));
	const struct tunnel_keys keys = {client, user, rate};
	tunnel_quotas_begin(&quotas, t.x, &keys);
	return t;
}

static struct tunnel opened(struct world *w, uint64_t client, uint64_t user, uint64_t rate)
{
	struct tunnel t = asked(w, client, user, rate);
	exchange_dispatch(t.x);
	t.up = world_leg_of(w, &t.x->up);
	struct http_head *head = world_response(w, 200);
	head->opens_tunnel = true;
	exchange_on_response(t.x, head, false);
	return t;
}

static void ends(struct tunnel *t)
{
	tunnel_quotas_end(t->x);
	exchange_abort(t->x, &relay_cause_DRAINED, NULL);
}

/* The origin sends, and the client takes it: up to 1024 bytes at a time. */
static void download(struct world *w, struct tunnel *t, size_t n)
{
	char text[1025];
	while (n > 0) {
		size_t part = n < 1024 ? n : 1024;
		memset(text, 'd', part);
		text[part] = '\0';
		t->down->byte_count = 0;
		world_download(w, t->x, text, false);
		world_take(t->down);
		n -= part;
	}
}

static void upload(struct world *w, struct tunnel *t, size_t n)
{
	char text[1025];
	assert_true(n <= 1024);
	memset(text, 'u', n);
	text[n] = '\0';
	t->up->byte_count = 0;
	world_upload(w, t->x, text, false);
	world_take(t->up);
}

/* ---- the number ---- */

static void tunnels_are_counted_by_each_quota(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel first = asked(w, CLIENT, USER, 0), second = asked(w, CLIENT, 0, 0);
	struct tunnel nobody = asked(w, 0, 0, RATE);
	assert_int_equal(tunnel_quotas_count(&quotas, CLIENT), 2);
	assert_int_equal(tunnel_quotas_count(&quotas, USER), 1);
	assert_int_equal(tunnel_quotas_count(&quotas, 0), 0);
	assert_int_equal(quotas.map.count, 2);
	ends(&first);
	assert_int_equal(tunnel_quotas_count(&quotas, CLIENT), 1);
	assert_int_equal(tunnel_quotas_count(&quotas, USER), 0);
	ends(&second);
	ends(&nobody);
	assert_int_equal(quotas.map.count, 0);
	end(w);
}

/* ---- the rate ---- */

static void a_tunnel_within_the_rate_gets_credit_at_once(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel t = opened(w, CLIENT, 0, RATE);
	for (unsigned i = 0; i < 10; i++) {
		download(w, &t, RATE / 20);
		upload(w, &t, RATE / 20);
		assert_int_equal(t.up->credit, (i + 1) * (RATE / 20));
		assert_int_equal(t.down->credit, (i + 1) * (RATE / 20));
		world_pass(w, 100 * USEC_PER_MSEC);
	}
	assert_false(admission_part(t.x)->tunnel->has_waited);
	ends(&t);
	end(w);
}

/* Above it the source is owed its credit, and gets it as the time passes: nothing is dropped. */
static void above_the_rate_credit_comes_later(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel t = opened(w, CLIENT, 0, RATE);
	download(w, &t, 3 * RATE);
	assert_int_equal(t.x->download.forwarded, 3 * RATE);
	assert_true(t.up->credit < RATE / 2);
	assert_true(admission_part(t.x)->tunnel->has_waited);
	size_t at_once = t.up->credit;
	world_pass(w, USEC_PER_SEC);
	assert_int_equal(t.up->credit, at_once);
	world_pass(w, 6 * USEC_PER_SEC);
	assert_int_equal(t.up->credit, 3 * RATE);
	ends(&t);
	end(w);
}

/* A sender that sends whatever it has credit for: over a time, the quota's rate. */
static void the_rate_is_of_all_tunnels_together(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel t[4];
	size_t sent[4] = {0}, all = 0;
	for (unsigned i = 0; i < 4; i++) {
		t[i] = opened(w, CLIENT + i, USER, RATE);
		t[i].up->credit = 4096; /* the first window */
	}
	usec begin = w->relay.now;
	while (w->relay.now - begin < 20 * USEC_PER_SEC) {
		for (unsigned i = 0; i < 4; i++) {
			if (t[i].up->credit <= sent[i])
				continue;
			size_t n = t[i].up->credit - sent[i];
			sent[i] += n;
			all += n;
			download(w, &t[i], n);
		}
		world_pass(w, 20 * USEC_PER_MSEC);
	}
	assert_in_range(all, 19 * RATE, 23 * RATE);
	for (unsigned i = 0; i < 4; i++) {
		assert_in_range(sent[i], all / 6, all / 3); /* none has it all */
		ends(&t[i]);
	}
	end(w);
}

/* Each gets a least part in its turn, and all parts of one time are not much more than what the bucket has then: its burst,
 * and the bytes of a tenth of a second. */
static void many_tunnels_are_served_in_turn(void **state)
{
	(void)state;
	enum { TUNNELS = 12, BUCKET = RATE / 4 + RATE / 10, LEAST = 1024 };
	struct world *w = begin();
	struct tunnel t[TUNNELS];
	size_t sent[TUNNELS], all = 0;
	for (unsigned i = 0; i < TUNNELS; i++) {
		t[i] = opened(w, CLIENT + i, USER, RATE);
		sent[i] = 2 * LEAST;
	}
	for (unsigned i = 0; i < TUNNELS; i++)
		download(w, &t[i], sent[i]);
	usec begin = w->relay.now;
	for (unsigned step = 0; w->relay.now - begin < 20 * USEC_PER_SEC; step++) {
		size_t given = 0;
		world_pass(w, 20 * USEC_PER_MSEC);
		for (unsigned i = 0; i < TUNNELS; i++) {
			size_t n = t[i].up->credit + 2 * LEAST - sent[i];
			download(w, &t[i], n);
			sent[i] += n;
			given += n;
		}
		if (step > 0) /* before that, what the first tunnels got at once */
			assert_true(given <= BUCKET + LEAST);
		all += given;
	}
	assert_in_range(all, 17 * RATE, 21 * RATE);
	for (unsigned i = 0; i < TUNNELS; i++)
		ends(&t[i]);
	end(w);
}

static void both_directions_count_and_both_go_on(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel t = opened(w, CLIENT, 0, RATE);
	download(w, &t, RATE);
	for (unsigned i = 0; i < 4; i++)
		upload(w, &t, 1024);
	assert_int_equal(t.down->credit, 0);
	world_pass(w, 2 * USEC_PER_SEC);
	assert_int_equal(t.down->credit, 4096);
	assert_int_equal(t.up->credit, RATE);
	ends(&t);
	end(w);
}

static void other_clients_are_not_slowed(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel greedy = opened(w, CLIENT, 0, RATE), modest = opened(w, CLIENT + 1, 0, RATE);
	struct tunnel free_one = opened(w, CLIENT + 2, 0, 0);
	download(w, &greedy, 5 * RATE);
	download(w, &modest, 1000);
	download(w, &free_one, 5 * RATE);
	assert_int_equal(modest.up->credit, 1000);
	assert_int_equal(free_one.up->credit, 5 * RATE);
	ends(&greedy);
	ends(&modest);
	ends(&free_one);
	end(w);
}

/* The rate of a user counts for tunnels from all its addresses, that of the client for those without a user. */
static void a_user_is_rated_in_place_of_its_client(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel user = opened(w, CLIENT, USER, RATE), client = opened(w, CLIENT, 0, RATE);
	download(w, &user, 5 * RATE);
	download(w, &client, 1000);
	assert_int_equal(client.up->credit, 1000);
	ends(&user);
	ends(&client);
	end(w);
}

/* ---- what is remembered ---- */

static void a_new_tunnel_gets_no_full_bucket(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel t = opened(w, CLIENT, 0, RATE);
	download(w, &t, 2 * RATE);
	ends(&t);
	assert_int_equal(quotas.map.count, 1);
	assert_int_equal(tunnel_quotas_count(&quotas, CLIENT), 0);
	t = opened(w, CLIENT, 0, RATE);
	download(w, &t, 1000);
	assert_int_equal(t.up->credit, 0);
	world_pass(w, 4 * USEC_PER_SEC);
	assert_int_equal(t.up->credit, 1000);
	download(w, &t, RATE);
	ends(&t);
	world_pass(w, 4 * USEC_PER_SEC);
	assert_int_equal(quotas.map.count, 0);
	end(w);
}

/* ---- the worker of an older generation, in the same table ---- */

static void tunnels_of_an_older_generation_count(void **state)
{
	(void)state;
	struct world *w = begin();
	const struct limit_terms terms = {.concurrent = UINT32_MAX};
	void *memory = calloc(1, limit_table_bytes(true, 1024));
	struct limit_table *old = limit_table_in((struct limit_memory){memory, 0}, &terms, 1024);
	quotas.shared = limit_table_in((struct limit_memory){memory, 1}, &terms, 1024);
	bool was_full;
	struct limit_entry *theirs = limit_table_take(old, CLIENT, w->relay.now, &was_full);
	struct tunnel first = opened(w, CLIENT, USER, RATE), second = opened(w, CLIENT, 0, RATE);
	assert_int_equal(tunnel_quotas_count(&quotas, CLIENT), 3);
	assert_int_equal(tunnel_quotas_count(&quotas, USER), 1);
	ends(&first);
	assert_int_equal(tunnel_quotas_count(&quotas, CLIENT), 2);
	assert_int_equal(tunnel_quotas_count(&quotas, USER), 0);
	assert_int_equal(limit_table_open(old, CLIENT), 2);
	/* They carry their bytes together. */
	bucket_spend(&theirs->bucket, 2 * NSEC_PER_SEC, w->relay.now);
	download(w, &second, 1000);
	assert_int_equal(second.up->credit, 0);
	world_pass(w, 4 * USEC_PER_SEC);
	assert_int_equal(second.up->credit, 1000);
	ends(&second);
	assert_int_equal(quotas.map.count, 0); /* the table remembers the rest */
	assert_int_equal(tunnel_quotas_count(&quotas, CLIENT), 1);
	limit_entry_give(old, theirs);
	assert_int_equal(tunnel_quotas_count(&quotas, CLIENT), 0);
	limit_table_free(quotas.shared);
	limit_table_free(old);
	free(memory);
	end(w);
}

/* A worker that was taken over has written there. */
static void nonsense_in_the_shared_table_does_little(void **state)
{
	(void)state;
	struct world *w = begin();
	const struct limit_terms terms = {.concurrent = UINT32_MAX};
	quotas.shared = limit_table_new(&terms, 1024);
	bool was_full;
	struct limit_entry *e = limit_table_take(quotas.shared, CLIENT, w->relay.now, &was_full);
	limit_entry_give(quotas.shared, e);
	e->bucket.full_at_nsec = UINT64_MAX;
	struct tunnel first = opened(w, CLIENT, 0, RATE);
	assert_true(e->bucket.full_at_nsec <= (w->relay.now + 3600 * USEC_PER_SEC) * NSEC_PER_USEC);
	/* Another key has its place: all is still counted where the first was. */
	uint32_t tag = e->tag;
	e->tag = tag + 1;
	struct tunnel second = opened(w, CLIENT, 0, RATE);
	e->tag = tag;
	assert_int_equal(limit_table_open(quotas.shared, CLIENT), 2);
	ends(&first);
	ends(&second);
	assert_int_equal(limit_table_open(quotas.shared, CLIENT), 0);
	limit_table_free(quotas.shared);
	end(w);
}

/* All 8 places that the keys may have are taken. */
static void without_room_in_the_table_a_worker_counts_alone(void **state)
{
	(void)state;
	struct world *w = begin();
	const struct limit_terms terms = {.concurrent = UINT32_MAX};
	quotas.shared = limit_table_new(&terms, LIMIT_TABLE_WAYS);
	struct limit_entry *taken[LIMIT_TABLE_WAYS];
	bool was_full;
	for (uint64_t i = 0; i < LIMIT_TABLE_WAYS; i++)
		taken[i] = limit_table_take(quotas.shared, (i + 1) << 32, w->relay.now, &was_full);
	struct tunnel first = opened(w, CLIENT, 0, RATE), second = opened(w, CLIENT, 0, RATE);
	assert_int_equal(tunnel_quotas_count(&quotas, CLIENT), 2);
	limit_entry_give(quotas.shared, taken[0]);
	struct tunnel third = opened(w, CLIENT, 0, RATE);
	assert_int_equal(tunnel_quotas_count(&quotas, CLIENT), 3);
	download(w, &first, 2 * RATE);
	ends(&first);
	ends(&second);
	ends(&third);
	assert_int_equal(tunnel_quotas_count(&quotas, CLIENT), 0);
	assert_int_equal(quotas.map.count, 1); /* its own bucket is not full */
	limit_table_free(quotas.shared);
	end(w);
}

static void those_who_are_remembered_are_bounded(void **state)
{
	(void)state;
	struct world *w = begin();
	for (unsigned i = 0; i < 1100; i++) {
		struct tunnel t = opened(w, CLIENT + i, 0, RATE);
		download(w, &t, 100);
		ends(&t);
		relay_reap(&w->relay);
		w->leg_count = 0;
		w->dispatch_count = 0;
	}
	assert_int_equal(quotas.map.count, 1024);
	assert_int_equal(quotas.resting_count, 1024);
	end(w);
}

static void the_least_rate_still_moves(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel t = opened(w, CLIENT, 0, 1);
	download(w, &t, 10);
	assert_int_equal(t.up->credit, 0);
	world_pass(w, 12 * USEC_PER_SEC);
	assert_int_equal(t.up->credit, 10);
	ends(&t);
	end(w);
}

static void a_tunnel_that_waits_may_end(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel a = opened(w, CLIENT, 0, RATE), b = opened(w, CLIENT, 0, RATE);
	download(w, &a, 2 * RATE);
	download(w, &b, 1000);
	assert_int_equal(b.up->credit, 0);
	ends(&a);
	world_pass(w, 4 * USEC_PER_SEC);
	assert_int_equal(b.up->credit, 1000);
	world_download(w, b.x, "last", true);
	world_take(b.down);
	ends(&b);
	end(w);
}

/* The quota's time comes, and none of its tunnels waits any more. */
static void the_only_tunnel_that_waits_may_end(void **state)
{
	(void)state;
	static const size_t overdrawn[] = {RATE / 4 + 512, 2 * RATE}; /* for less than a part of its time, and for longer */
	for (size_t i = 0; i < 2; i++) {
		struct world *w = begin();
		struct tunnel a = opened(w, CLIENT, 0, RATE), b = opened(w, CLIENT, 0, RATE);
		download(w, &a, overdrawn[i]);
		assert_true(admission_part(a.x)->tunnel->has_waited);
		ends(&a);
		world_pass(w, 4 * USEC_PER_SEC);
		download(w, &b, 1000);
		assert_int_equal(b.up->credit, 1000);
		ends(&b);
		end(w);
	}
}

/* Nothing can come from it that would need credit; the other direction gets its own. */
static void a_direction_that_has_ended_is_owed_nothing(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel t = opened(w, CLIENT, 0, RATE);
	download(w, &t, 2 * RATE);
	upload(w, &t, 1000);
	size_t at_once = t.up->credit;
	world_download(w, t.x, "", true);
	world_take(t.down);
	world_pass(w, 8 * USEC_PER_SEC);
	assert_int_equal(t.up->credit, at_once);
	assert_int_equal(t.down->credit, 1000);
	ends(&t);
	end(w);
}

/* Credit then brings bytes for which there is no room: it comes when those that wait here have been taken. */
static void while_memory_is_short_a_tunnel_gets_none_in_its_turn(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel t = opened(w, CLIENT, 0, RATE);
	download(w, &t, 2 * RATE);
	size_t at_once = t.up->credit, limit = w->down_budget.limit_bytes;
	world_download(w, t.x, "waits here", false);
	w->down_budget.limit_bytes = w->down_budget.used_bytes;
	world_pass(w, 8 * USEC_PER_SEC);
	assert_int_equal(t.up->credit, at_once);
	w->down_budget.limit_bytes = limit;
	t.down->byte_count = 0;
	world_take(t.down);
	world_pass(w, 8 * USEC_PER_SEC);
	assert_int_equal(t.up->credit, 2 * RATE + 10);
	ends(&t);
	end(w);
}

/* Bytes that wait for a slow client are no reason as long as there is room for more. */
static void bytes_that_wait_keep_no_credit_back_while_there_is_room(void **state)
{
	(void)state;
	struct world *w = begin();
	struct tunnel t = opened(w, CLIENT, 0, RATE);
	download(w, &t, 2 * RATE);
	world_download(w, t.x, "waits here", false);
	world_pass(w, 8 * USEC_PER_SEC);
	assert_int_equal(t.up->credit, 2 * RATE);
	ends(&t);
	end(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tunnels_are_counted_by_each_quota),
	    cmocka_unit_test(a_tunnel_within_the_rate_gets_credit_at_once),
	    cmocka_unit_test(above_the_rate_credit_comes_later),
	    cmocka_unit_test(the_rate_is_of_all_tunnels_together),
	    cmocka_unit_test(many_tunnels_are_served_in_turn),
	    cmocka_unit_test(both_directions_count_and_both_go_on),
	    cmocka_unit_test(other_clients_are_not_slowed),
	    cmocka_unit_test(a_user_is_rated_in_place_of_its_client),
	    cmocka_unit_test(a_new_tunnel_gets_no_full_bucket),
	    cmocka_unit_test(those_who_are_remembered_are_bounded),
	    cmocka_unit_test(tunnels_of_an_older_generation_count),
	    cmocka_unit_test(nonsense_in_the_shared_table_does_little),
	    cmocka_unit_test(without_room_in_the_table_a_worker_counts_alone),
	    cmocka_unit_test(the_least_rate_still_moves),
	    cmocka_unit_test(a_tunnel_that_waits_may_end),
	    cmocka_unit_test(the_only_tunnel_that_waits_may_end),
	    cmocka_unit_test(a_direction_that_has_ended_is_owed_nothing),
	    cmocka_unit_test(while_memory_is_short_a_tunnel_gets_none_in_its_turn),
	    cmocka_unit_test(bytes_that_wait_keep_no_credit_back_while_there_is_room),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
