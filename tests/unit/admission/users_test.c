/* SPDX-License-Identifier: MIT */
/* Users in a whole gateway: what is asked of the password process, what waits for it, and what clients and origins read. */
#include "proxy/admission/user_results.h"
#include "proxy/limits.h"
#include "tests/support/gateway_world.h"

#define RULES "[access home]\nusers = users\nrealm = a house\nallow = path=/open\nask = path=/*\nallow = path=/*\n"
#define ROUTE "[route r]\norigin = a\n"

/* base64 of "alice:secret", "alice:wrong", "bob:hunter", "bob:2", "bob:3", "bob:4". */
#define ALICE "Basic YWxpY2U6c2VjcmV0"
#define MALLORY "Basic YWxpY2U6d3Jvbmc="
#define BOB "Basic Ym9iOmh1bnRlcg=="
#define BOB_2 "Basic Ym9iOjI="
#define BOB_3 "Basic Ym9iOjM="
#define BOB_4 "Basic Ym9iOjQ="

static struct gate_world *world(const char *server)
{
	return gate_world_new(server, "access = home", NULL, RULES ROUTE);
}

static struct gate_stream *asks(struct gate_peer *c, const char *path, const char *authorization)
{
	return gate_request(c, "GET", "example.com", path, true, authorization ? "authorization" : NULL,
	    authorization, NULL);
}

/* The answer to the n-th question. */
static void answer(struct gate_world *w, size_t n, bool is_right)
{
	UNTIL(w, w->question_count > n);
	assert_true(gateway_password_answer(w->gateway, w->questions[n].id, is_right));
}

static const char *field_of(const struct gate_stream *s, const char *name)
{
	static char text[256];
	text[0] = '\0';
	for (uint32_t i = 0; s->head && i < s->head->count; i++)
		if (slice_equal(s->head->fields[i].name, slice_of_string(name)))
			snprintf(text, sizeof(text), "%.*s", SLICE_ARG(s->head->fields[i].value));
	return text;
}

static void is_served(struct gate_world *w, struct gate_stream *s)
{
	UNTIL(w, s->is_over || gate_find(w, s->path));
	assert_false(s->is_over);
	assert_string_equal(field_of(gate_find(w, s->path), "authorization"), "");
	gate_answer(gate_find(w, s->path), 200, 10, true);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
}

static void is_answered(struct gate_world *w, struct gate_stream *s, unsigned status)
{
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, status);
	assert_null(gate_find(w, s->path));
}

static void request_goes_on_when_its_password_is_right(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = asks(c, "/1", ALICE);
	UNTIL(w, w->question_count == 1);
	assert_string_equal(w->questions[0].name, "alice");
	assert_string_equal(w->questions[0].password, "secret");
	assert_null(gate_find(w, "/1"));
	answer(w, 0, true);
	is_served(w, s);
	is_served(w, asks(c, "/2", ALICE)); /* it is known by now */
	assert_int_equal(w->question_count, 1);
	assert_int_equal(w->counters.password_hashes, 1);
	assert_int_equal(w->counters.passwords_wrong, 0);
	gate_world_free(w);
}

static void body_that_comes_before_the_answer_is_kept(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s =
	    gate_request(c, "POST", "example.com", "/upload", false, "authorization", ALICE, NULL);
	gate_more(s, 20000, true);
	UNTIL(w, w->question_count == 1);
	gate_passes(w);
	answer(w, 0, true);
	UNTIL(w, gate_find(w, "/upload") && gate_find(w, "/upload")->ended);
	assert_int_equal(gate_find(w, "/upload")->received, 20000);
	gate_answer(gate_find(w, "/upload"), 200, 0, true);
	UNTIL(w, s->is_over);
	gate_world_free(w);
}

static void who_has_no_password_or_a_wrong_one_is_challenged(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = asks(c, "/1", NULL);
	is_answered(w, s, 401);
	assert_string_equal(field_of(s, "www-authenticate"), "Basic realm=\"a house\", charset=\"UTF-8\"");
	s = asks(c, "/2", MALLORY);
	answer(w, 0, false);
	is_answered(w, s, 401);
	assert_string_equal(field_of(s, "www-authenticate"), "Basic realm=\"a house\", charset=\"UTF-8\"");
	assert_null(strstr((const char *)s->text, "wrong"));
	assert_non_null(strstr((const char *)s->text, "credentials-refused"));
	is_answered(w, asks(c, "/3", MALLORY), 401); /* known to be wrong */
	assert_int_equal(w->question_count, 1);
	assert_int_equal(w->counters.passwords_wrong, 1);
	gate_world_free(w);
}

static void malformed_credentials_cost_no_hash(void **state)
{
	(void)state;
	char longest[1024] = "Basic ", name[1024] = "Basic YTpi";
	static const char *const values[] = {"Basic", "Basic YTpi=", "Digest username=a", "Bearer YTpi", "Basic Og==",
	    "Basic OmI=", "Basic YTo="};
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		is_answered(w, asks(c, "/1", values[i]), 401);
	for (size_t i = 0; i < 86; i++) /* a name of 258 bytes */
		strcat(longest, "YWFh");
	strcat(longest, "YTpi");
	is_answered(w, asks(c, "/1", longest), 401);
	for (size_t i = 0; i < 85; i++) /* a password of 256 bytes */
		strcat(name, "YmJi");
	is_answered(w, asks(c, "/1", name), 401);
	is_answered(w,
	    gate_request(c, "GET", "example.com", "/1", true, "authorization", ALICE, "authorization", ALICE, NULL),
	    401);
	assert_int_equal(w->question_count, 0);
	gate_world_free(w);
}

static void credentials_for_the_gateway_stay_here_and_others_go_on(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = asks(c, "/open", MALLORY);
	answer(w, 0, false);
	is_served(w, s);
	s = asks(c, "/open", "Bearer abc");
	UNTIL(w, gate_seen(&w->sites[0], "/open") == 2);
	assert_string_equal(field_of(gate_find(w, "/open"), "authorization"), "Bearer abc");
	gate_answer(gate_find(w, "/open"), 200, 0, true);
	UNTIL(w, s->is_over);
	gate_world_free(w);
}

static void requests_with_the_same_credentials_wait_for_one_answer(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL), *other = gate_client(w, NULL);
	struct gate_stream *one = asks(c, "/1", ALICE), *two = asks(c, "/2", ALICE);
	struct gate_stream *three = asks(other, "/3", ALICE);
	UNTIL(w, w->gateway->relay.live_count == 3);
	answer(w, 0, true);
	is_served(w, one);
	is_served(w, two);
	is_served(w, three);
	assert_int_equal(w->question_count, 1);
	gate_world_free(w);
}

static void one_address_has_one_question_on_the_way(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s[3] = {asks(c, "/1", BOB_2), asks(c, "/2", BOB_3), asks(c, "/3", BOB)};
	UNTIL(w, w->gateway->relay.live_count == 3);
	gate_passes(w);
	assert_int_equal(w->question_count, 1);
	answer(w, 0, false);
	assert_int_equal(w->question_count, 2);
	answer(w, 1, false);
	answer(w, 2, true);
	is_answered(w, s[0], 401);
	is_answered(w, s[1], 401);
	is_served(w, s[2]);
	gate_world_free(w);
}

/* "Basic " and base64 of "bob:" and five digits. */
static const char *guess(unsigned n)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	static char value[32];
	char text[16], *at = value + 6;
	strcpy(value, "Basic ");
	snprintf(text, sizeof(text), "bob:%05u", n);
	for (unsigned i = 0; i < 9; i += 3) {
		unsigned bits = (unsigned)text[i] << 16 | (unsigned)text[i + 1] << 8 | (unsigned)text[i + 2];
		for (unsigned k = 0; k < 4; k++)
			*at++ = alphabet[bits >> (18 - 6 * k) & 63];
	}
	*at = '\0';
	return value;
}

/* The client that connected last comes from 127.0.0.N. */
static struct gate_peer *client_from(struct gate_world *w, uint8_t n)
{
	size_t before = 0, now = 0;
	list_for_each(&w->gateway->clients.conns, conn, struct client_conn, link) before++;
	struct gate_peer *c = gate_client(w, NULL);
	do {
		now = 0;
		net_run_once(w->loop, USEC_PER_MSEC);
		list_for_each(&w->gateway->clients.conns, conn, struct client_conn, link) now++;
	} while (now == before);
	list_for_each(&w->gateway->clients.conns, conn, struct client_conn, link) if (
	    conn->address.bytes[3] == 1) conn->address.bytes[3] = n;
	return c;
}

static void each_address_has_its_turn(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c[4] = {client_from(w, 11), client_from(w, 12), client_from(w, 13), client_from(w, 14)};
	for (unsigned i = 0; i < 4; i++)
		asks(c[0], "/1", guess(i));
	UNTIL(w, w->gateway->relay.live_count == 4);
	for (unsigned i = 1; i < 4; i++) {
		asks(c[i], "/1", guess(10 * i));
		asks(c[i], "/1", guess(10 * i + 1));
		UNTIL(w, w->gateway->relay.live_count == 4 + 2 * i);
	}
	static const char *const order[] = {
	    "00000", "00010", "00020", "00030", "00001", "00011", "00021", "00031", "00002", "00003"};
	for (size_t i = 0; i < 10; i++)
		answer(w, i, false);
	for (size_t i = 0; i < 10; i++)
		assert_string_equal(w->questions[i].password, order[i]);
	gate_world_free(w);
}

static void one_address_fills_the_queue_and_gives_way_to_others(void **state)
{
	(void)state;
	struct gate_world *w = world("user-failures = 0");
	struct gate_stream *s[LIMIT_PASSWORDS_WAITING + 1];
	struct gate_peer *c = NULL;
	for (unsigned i = 0; i < LIMIT_PASSWORDS_WAITING; i++) {
		if (i % 64 == 0)
			c = client_from(w, 11);
		s[i] = asks(c, "/1", guess(i));
		UNTIL(w, w->gateway->relay.live_count == i + 1);
	}
	is_answered(w, asks(c, "/1", guess(1000)), 503);
	assert_int_equal(w->question_count, 1);
	struct gate_stream *other = asks(client_from(w, 12), "/other", ALICE);
	UNTIL(w, w->question_count == 2);
	assert_string_equal(w->questions[1].name, "alice");
	is_answered(w, s[LIMIT_PASSWORDS_WAITING - 1], 503);
	answer(w, 1, true);
	is_served(w, other);
	assert_false(s[LIMIT_PASSWORDS_WAITING - 2]->is_over);
	gate_world_free(w);
}

static void after_too_many_wrong_passwords_no_more_are_hashed(void **state)
{
	(void)state;
	struct gate_world *w = world("user-failures = 2");
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = asks(c, "/1", ALICE);
	answer(w, 0, true); /* it costs nothing */
	is_served(w, s);
	s = asks(c, "/2", BOB_2);
	answer(w, 1, false);
	is_answered(w, s, 401);
	s = asks(c, "/3", BOB_3);
	answer(w, 2, false);
	is_answered(w, s, 401);
	s = asks(c, "/4", BOB_4);
	is_answered(w, s, 429);
	assert_string_equal(field_of(s, "retry-after"), "30");
	is_answered(w, asks(c, "/5", BOB), 429);   /* nobody knows that it is right */
	is_answered(w, asks(c, "/6", BOB_2), 401); /* known to be wrong */
	is_served(w, asks(c, "/7", ALICE));
	assert_int_equal(w->question_count, 3);
	assert_int_equal(w->counters.password_hashes, 3);
	gate_world_free(w);
}

static void any_number_may_fail_without_a_limit(void **state)
{
	(void)state;
	struct gate_world *w = world("user-failures = 0");
	struct gate_peer *c = gate_client(w, NULL);
	static const char *const wrong[] = {MALLORY, BOB_2, BOB_3, BOB_4};
	for (size_t i = 0; i < 4; i++) {
		struct gate_stream *s = asks(c, "/1", wrong[i]);
		answer(w, i, false);
		is_answered(w, s, 401);
	}
	gate_world_free(w);
}

static void what_was_on_its_way_to_a_dead_process_is_answered_503(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *lost = asks(c, "/1", ALICE), *kept = asks(c, "/2", BOB);
	UNTIL(w, w->gateway->relay.live_count == 2 && w->question_count == 1);
	w->asks_nobody = true;
	users_passwords_lost(gateway_users(w->gateway));
	is_answered(w, lost, 503);
	assert_string_equal(field_of(lost, "retry-after"), "1");
	assert_false(gateway_password_answer(w->gateway, w->questions[0].id, true));
	gate_passes(w);
	assert_int_equal(w->question_count, 1);
	w->asks_nobody = false;
	users_passwords_open(gateway_users(w->gateway));
	answer(w, 1, true);
	is_served(w, kept);
	gate_world_free(w);
}

static void what_nobody_answers_is_answered_503_in_time(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *asked = asks(c, "/1", ALICE), *waits = asks(c, "/2", BOB);
	UNTIL(w, w->gateway->relay.live_count == 2 && w->question_count == 1);
	relay_advance(&w->gateway->relay, net_now(w->loop) + 9 * USEC_PER_SEC);
	gate_passes(w);
	assert_false(asked->is_over || waits->is_over);
	relay_advance(&w->gateway->relay, net_now(w->loop) + 11 * USEC_PER_SEC);
	is_answered(w, asked, 503);
	is_answered(w, waits, 503);
	/* What the process says too late is known all the same; the other one was not asked. */
	answer(w, 0, true);
	assert_int_equal(w->question_count, 1);
	is_served(w, asks(c, "/3", ALICE));
	gate_world_free(w);
}

static void client_that_leaves_is_not_asked_about(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *asked = asks(c, "/1", ALICE), *waits = asks(c, "/2", BOB);
	UNTIL(w, w->gateway->relay.live_count == 2 && w->question_count == 1);
	gate_reset_stream(asked, SESSION_CANCEL);
	gate_reset_stream(waits, SESSION_CANCEL);
	UNTIL(w, w->gateway->relay.live_count == 0);
	answer(w, 0, true);
	gate_passes(w);
	assert_int_equal(w->question_count, 1);
	is_served(w, asks(c, "/3", ALICE));
	gate_world_free(w);
}

static void changed_file_makes_all_be_asked_again(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = asks(c, "/1", ALICE);
	answer(w, 0, true);
	is_served(w, s);
	assert_false(users_passwords_changed(gateway_users(w->gateway), 1));
	assert_true(users_passwords_changed(gateway_users(w->gateway), 0));
	s = asks(c, "/2", ALICE);
	answer(w, 1, false);
	is_answered(w, s, 401);
	users_passwords_open(gateway_users(w->gateway));
	s = asks(c, "/3", ALICE);
	answer(w, 2, true);
	is_served(w, s);
	gate_world_free(w);
}

static void push_has_the_user_of_its_page(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = asks(c, "/", ALICE);
	answer(w, 0, true);
	UNTIL(w, gate_find(w, "/"));
	gate_promise(gate_find(w, "/"), "http", "example.com", "/a.css");
	UNTIL(w, w->gateway->relay.live_count == 2);
	list_for_each(&w->gateway->relay.live, x, struct exchange, link)
	{
		assert_non_null(x->facts.user);
		assert_string_equal(x->facts.user->name, "alice");
	}
	gate_answer(gate_find(w, "/"), 200, 0, true);
	UNTIL(w, s->is_over);
	gate_world_free(w);
}

static void requests_that_wait_end_with_the_worker(void **state)
{
	(void)state;
	struct gate_world *w = world(NULL);
	struct gate_peer *c = gate_client(w, NULL);
	asks(c, "/1", ALICE);
	asks(c, "/2", BOB);
	UNTIL(w, w->gateway->relay.live_count == 2 && w->question_count == 1);
	gate_world_free(w);
}

/* ---- what is known of credentials ---- */

static void mac_of(uint8_t mac[USER_MAC_BYTES], unsigned n)
{
	memset(mac, 0, USER_MAC_BYTES);
	memcpy(mac, &n, sizeof(n));
}

static void results_are_known_for_a_time(void **state)
{
	(void)state;
	struct user_results r;
	struct exchange_user *user = calloc(1, sizeof(*user) + 1), *found;
	uint8_t right[USER_MAC_BYTES], wrong[USER_MAC_BYTES];
	mac_of(right, 1);
	mac_of(wrong, 2);
	user->references = 1;
	user_results_init(&r, 100);
	user_results_add(&r, right, 0, user, 1000);
	user_results_add(&r, wrong, 1, NULL, 1000);
	assert_true(user_results_find(&r, right, 1099, &found));
	assert_ptr_equal(found, user);
	assert_true(user_results_find(&r, right, 1198, &found)); /* it was used */
	assert_false(user_results_find(&r, right, 1298, &found));
	assert_int_equal(user->references, 1);
	assert_true(user_results_find(&r, wrong, 1000 + USER_WRONG_USEC - 1, &found));
	assert_null(found);
	assert_false(user_results_find(&r, wrong, 1000 + USER_WRONG_USEC, &found));
	user_results_add(&r, right, 0, user, 1000);
	user_results_add(&r, wrong, 1, NULL, 1000);
	user_results_forget(&r, 0);
	assert_false(user_results_find(&r, right, 1000, &found));
	assert_true(user_results_find(&r, wrong, 1000, &found));
	user_results_fini(&r);
	free(user);
}

static void results_are_bounded_and_wrong_ones_displace_no_right_one(void **state)
{
	(void)state;
	struct user_results r;
	struct exchange_user *user = calloc(1, sizeof(*user) + 1), *found;
	uint8_t mac[USER_MAC_BYTES];
	user->references = 1;
	user_results_init(&r, USEC_PER_SEC);
	for (unsigned i = 0; i < USER_RESULTS_MOST + 5; i++) {
		mac_of(mac, i);
		user_results_add(&r, mac, 0, user, 0);
		if (i == 0 || i == USER_RESULTS_MOST - 1) { /* the first is used: the second goes first */
			mac_of(mac, 0);
			assert_true(user_results_find(&r, mac, 0, &found));
		}
	}
	for (unsigned i = 0; i < USER_RESULTS_MOST + 5; i++) {
		mac_of(mac, 1000000 + i);
		user_results_add(&r, mac, 0, NULL, 0);
	}
	assert_int_equal(r.right.count, USER_RESULTS_MOST);
	assert_int_equal(r.wrong.count, USER_RESULTS_MOST);
	mac_of(mac, 0);
	assert_true(user_results_find(&r, mac, 0, &found));
	mac_of(mac, 5);
	assert_false(user_results_find(&r, mac, 0, &found));
	mac_of(mac, 6);
	assert_true(user_results_find(&r, mac, 0, &found));
	mac_of(mac, 1000004);
	assert_false(user_results_find(&r, mac, 0, &found));
	user_results_fini(&r);
	assert_int_equal(user->references, 1);
	free(user);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(request_goes_on_when_its_password_is_right),
	    cmocka_unit_test(body_that_comes_before_the_answer_is_kept),
	    cmocka_unit_test(who_has_no_password_or_a_wrong_one_is_challenged),
	    cmocka_unit_test(malformed_credentials_cost_no_hash),
	    cmocka_unit_test(credentials_for_the_gateway_stay_here_and_others_go_on),
	    cmocka_unit_test(requests_with_the_same_credentials_wait_for_one_answer),
	    cmocka_unit_test(one_address_has_one_question_on_the_way),
	    cmocka_unit_test(each_address_has_its_turn),
	    cmocka_unit_test(one_address_fills_the_queue_and_gives_way_to_others),
	    cmocka_unit_test(after_too_many_wrong_passwords_no_more_are_hashed),
	    cmocka_unit_test(any_number_may_fail_without_a_limit),
	    cmocka_unit_test(what_was_on_its_way_to_a_dead_process_is_answered_503),
	    cmocka_unit_test(what_nobody_answers_is_answered_503_in_time),
	    cmocka_unit_test(client_that_leaves_is_not_asked_about),
	    cmocka_unit_test(changed_file_makes_all_be_asked_again),
	    cmocka_unit_test(push_has_the_user_of_its_page),
	    cmocka_unit_test(requests_that_wait_end_with_the_worker),
	    cmocka_unit_test(results_are_known_for_a_time),
	    cmocka_unit_test(results_are_bounded_and_wrong_ones_displace_no_right_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
