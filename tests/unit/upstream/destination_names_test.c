/* SPDX-License-Identifier: MIT */
/* Servers that come from names, in a whole gateway: addresses that come, go and come back while requests are open. */
#include "tests/support/gateway_world.h"

/* covers: R433 */

#define FLEET 2

static struct destination *fleet(struct gate_world *w)
{
	return &w->gateway->upstream.destinations[FLEET];
}

/* The hosts file gives addresses; no resolver answers. The names have digits, since the port of a site is known with its
 * address alone. */
static struct gate_world *world(const char *servers)
{
	char more[512];
	snprintf(more, sizeof(more), "[origin f]\n%s[route r]\norigin = f\n", servers);
	return gate_world_new("resolver = 127.0.0.1:1", NULL, NULL, more);
}

static void set_hosts(struct gate_world *w, const char *text)
{
	gateway_set_hosts(w->gateway, slice_of_string(text));
	gate_passes(w);
}

static size_t count_of_leaving(struct gate_world *w)
{
	size_t count = 0;
	list_for_each(&fleet(w)->servers, s, struct server, link) count += s->at.is_leaving;
	return count;
}

static void expect(struct gate_world *w, struct gate_stream *s, unsigned status)
{
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, status);
}

/* Answers that flip while a request is open make no server each. */
static void an_address_that_comes_back_is_the_same_server(void **state)
{
	(void)state;
	struct gate_world *w = world("server = h2c://f.%a\n");
	set_hosts(w, "127.0.0.1 f.127.0.0.1\n");
	UNTIL(w, fleet(w)->server_count == 1);
	struct server *first = list_first(&fleet(w)->servers, struct server, link);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *open = gate_get(c, "/open");
	UNTIL(w, gate_find(w, "/open"));
	gate_answer(gate_find(w, "/open"), 200, 3, false);
	for (unsigned i = 0; i < 5; i++) {
		set_hosts(w, "127.0.0.9 f.127.0.0.1\n");
		UNTIL(w, first->at.is_leaving);
		assert_int_equal(count_of_leaving(w), 1);
		assert_int_equal(fleet(w)->leaving_count, 1);
		set_hosts(w, "127.0.0.1 f.127.0.0.1\n");
		UNTIL(w, !first->at.is_leaving && fleet(w)->server_count == 1);
		assert_int_equal(fleet(w)->leaving_count, 0);
	}
	/* It serves again, on a new connection. */
	struct gate_stream *next = gate_get(c, "/next");
	UNTIL(w, gate_find(w, "/next"));
	assert_ptr_not_equal(gate_find(w, "/next")->peer, gate_find(w, "/open")->peer);
	gate_answer(gate_find(w, "/next"), 200, 2, true);
	expect(w, next, 200);
	gate_more(gate_find(w, "/open"), 2, true);
	expect(w, open, 200);
	assert_int_equal(first->member.outstanding, 0);
	gate_world_free(w);
}

static void addresses_without_a_source_are_not_used(void **state)
{
	(void)state;
	struct gate_world *w = world("server = h2c://f.%a\nsource-address = 127.0.0.1\n");
	set_hosts(w, "127.0.0.1 f.127.0.0.1\n::1 f.127.0.0.1\n");
	UNTIL(w, fleet(w)->server_count == 1);
	const struct server *s = list_first(&fleet(w)->servers, struct server, link);
	assert_int_equal(s->at.address->any.sa_family, AF_INET);
	assert_null(destination_name_error(fleet(w)));
	set_hosts(w, "::1 f.127.0.0.1\n");
	UNTIL(w, fleet(w)->server_count == 0);
	assert_string_equal(
	    destination_name_error(fleet(w)), "no address of a family that source-address has");
	gate_world_free(w);
}

/* covers: P-fetch-share */
static void fetches_take_no_place_from_requests_that_wait_for_a_name(void **state)
{
	(void)state;
	struct gate_world *w = world("server = h2c://f.%a\nmax-queue = 2\n[preload p]\npath = /\n"
				     "add = /a.css as=style\nadd = /b.css as=style\nadd = /c.css as=style\n"
				     "[push all]\naction = hold\n");
	struct gate_peer *c = gate_client(w, &(struct gate_peer_options){.no_push = true});
	struct gate_stream *page = gate_get(c, "/");
	UNTIL(w, fleet(w)->origin.queued == 3);
	assert_int_equal(fleet(w)->origin.fetches_queued, 2);
	struct gate_stream *joins = gate_get(c, "/a.css");
	UNTIL(w, fleet(w)->origin.fetches_queued == 1);
	expect(w, gate_get(c, "/other"), 503); /* two requests wait */
	gate_reset_stream(page, 8);
	UNTIL(w, fleet(w)->origin.queued == 1);
	assert_int_equal(fleet(w)->origin.fetches_queued, 0);
	set_hosts(w, "127.0.0.1 f.127.0.0.1\n");
	UNTIL(w, gate_find(w, "/a.css"));
	gate_answer_fields(gate_find(w, "/a.css"), 200, true, "cache-control", "max-age=60", NULL);
	expect(w, joins, 200);
	assert_int_equal(fleet(w)->origin.queued, 0);
	gate_world_free(w);
}

/* ---- the health table ---- */

static size_t entries(const struct health_table *b)
{
	size_t count = 0, origin;
	for (size_t i = 0; i < b->capacity; i++)
		count += health_table_entry(b, i, &origin) != NULL;
	return count;
}

/* Before any server is there: that is from names alone. */
static struct health_table *give_board(struct gate_world *w)
{
	struct health_table *b = health_table_new(calloc(1, health_table_bytes(2, 2)), 2, 2);
	w->gateway->env.health_table = b;
	return b;
}

static void free_health_table(struct health_table *b)
{
	free((void *)b->version);
	free(b);
}

static void two_names_of_one_address_have_one_entry(void **state)
{
	(void)state;
	struct gate_world *w = world("server = h2c://a.%a\nserver = h2c://b.%a\n");
	struct health_table *b = give_board(w);
	for (unsigned i = 0; i < 3; i++) {
		set_hosts(w, "127.0.0.1 a.127.0.0.1 b.127.0.0.1\n");
		UNTIL(w, fleet(w)->server_count == 2 && entries(b) == 1);
		set_hosts(w, "127.0.0.1 b.127.0.0.1\n127.0.0.2 a.127.0.0.1\n");
		UNTIL(w, fleet(w)->server_count == 2 && entries(b) == 2);
		set_hosts(w, "127.0.0.2 a.127.0.0.1 b.127.0.0.1\n");
		UNTIL(w, fleet(w)->server_count == 2 && entries(b) == 1);
	}
	gate_world_free_gateway(w);
	for (size_t i = 0; i < b->capacity; i++)
		assert_int_equal(b->entries[i].key, 0);
	free_health_table(b);
	gate_world_free(w);
}

/* Its last request may take hours: what is known of it is of no use to anybody. */
static void a_server_that_leaves_gives_its_entry_back(void **state)
{
	(void)state;
	struct gate_world *w = world("server = h2c://f.%a\n");
	struct health_table *b = give_board(w);
	set_hosts(w, "127.0.0.1 f.127.0.0.1\n");
	UNTIL(w, entries(b) == 1);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *open = gate_get(c, "/open");
	UNTIL(w, gate_find(w, "/open"));
	gate_answer(gate_find(w, "/open"), 200, 3, false);
	set_hosts(w, "127.0.0.9 f.127.0.0.1\n");
	UNTIL(w, fleet(w)->leaving_count == 1);
	assert_int_equal(fleet(w)->server_count, 2);
	assert_int_equal(entries(b), 1);
	gate_more(gate_find(w, "/open"), 2, true);
	expect(w, open, 200);
	UNTIL(w, fleet(w)->server_count == 1);
	gate_world_free_gateway(w);
	assert_int_equal(entries(b), 0);
	free_health_table(b);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_address_that_comes_back_is_the_same_server),
	    cmocka_unit_test(addresses_without_a_source_are_not_used),
	    cmocka_unit_test(fetches_take_no_place_from_requests_that_wait_for_a_name),
	    cmocka_unit_test(two_names_of_one_address_have_one_entry),
	    cmocka_unit_test(a_server_that_leaves_gives_its_entry_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
