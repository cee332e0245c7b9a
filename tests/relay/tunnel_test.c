/* SPDX-License-Identifier: MIT */
/* Tunnels in the relay: what waits for the answer, how each direction ends, and every limit. */
#include "tests/support/relay_world.h"

#include "proxy/relay/relay_private.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define HOUR (3600 * USEC_PER_SEC)

struct scene {
	struct world *w;
	struct world_leg *down, *up;
	struct exchange *x;
};

/* A request for a tunnel that has been sent to its origin; by Upgrade, or as a CONNECT. */
static struct scene asked(bool is_upgrade)
{
	struct scene s = {.w = world_new()};
	s.x = world_exchange(s.w, "GET", is_upgrade, &s.down);
	if (!is_upgrade) {
		struct http_head *head = world_request_of(s.x);
		head->method = SLICE("CONNECT");
		head->method_token = HTTP_METHOD_CONNECT;
		head->protocol = SLICE("websocket");
		s.x->method = HTTP_METHOD_CONNECT;
	}
	exchange_ask_for_tunnel(s.x, is_upgrade ? SLICE("websocket") : SLICE(""));
	exchange_dispatch(s.x);
	s.up = world_leg_of(s.w, &s.x->up);
	return s;
}

/* A CONNECT of an HTTP/1 client, which opens no stream of another protocol. end: as its request came. */
static struct scene asked_by_connect(enum http_version version, bool end)
{
	struct scene s = {.w = world_new()};
	s.x = world_exchange(s.w, "GET", end, &s.down);
	struct http_head *head = world_request_of(s.x);
	head->method = SLICE("CONNECT");
	head->method_token = HTTP_METHOD_CONNECT;
	head->version = version;
	s.x->method = HTTP_METHOD_CONNECT;
	exchange_ask_for_tunnel(s.x, SLICE(""));
	exchange_dispatch(s.x);
	s.up = world_leg_of(s.w, &s.x->up);
	return s;
}

static struct http_head *opening(struct world *w)
{
	struct http_head *head = world_response(w, 200);
	head->opens_tunnel = true;
	return head;
}

static struct scene opened(bool is_upgrade)
{
	struct scene s = asked(is_upgrade);
	exchange_on_response(s.x, opening(s.w), false);
	assert_true(exchange_is_tunnel(s.x));
	return s;
}

static void an_upgrade_becomes_a_connect(void **state)
{
	(void)state;
	struct scene s = asked(true);
	assert_true(slice_equal(s.x->request->method, SLICE("CONNECT")));
	assert_true(slice_equal(s.x->request->protocol, SLICE("websocket")));
	assert_int_equal(s.x->method, HTTP_METHOD_CONNECT);
	assert_false(s.x->upload.source_ended);
	world_end(s.w);
}

/* The head of an HTTP/1 request has an end of its own; in HTTP/2 it would be the end of the client's direction. */
static void what_follows_a_connect_of_http_1_is_the_tunnels(void **state)
{
	(void)state;
	static const enum http_version versions[] = {HTTP_VERSION_1_0, HTTP_VERSION_1_1, HTTP_VERSION_2};
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct scene s = asked_by_connect(versions[i], true);
		bool is_http1 = versions[i] != HTTP_VERSION_2;
		assert_int_equal(s.x->upload.source_ended, !is_http1);
		exchange_on_response(s.x, opening(s.w), false);
		assert_int_equal(s.x->tunnel.ended > 0, !is_http1);
		if (is_http1) {
			world_upload(s.w, s.x, "hello", false);
			world_take(s.up);
			assert_string_equal(s.up->bytes, "hello");
		}
		world_end(s.w);
	}
}

static bool has_field(const struct http_head *head, struct slice name)
{
	for (uint32_t i = 0; i < head->count; i++)
		if (slice_equal(head->fields[i].name, name))
			return true;
	return false;
}

static const struct http_head *head_to_client;

static void note_response_head(void *context, struct exchange *x, struct http_head *head)
{
	(void)context, (void)x;
	head_to_client = head;
	assert_true(has_field(head, SLICE("sec-websocket-protocol")));
	assert_false(has_field(head, SLICE("sec-websocket-accept")));
}

/* Each hop has keys of its own; all other fields are for both ends. */
static void the_keys_of_a_hop_stay_there(void **state)
{
	(void)state;
	struct scene s = {.w = world_new()};
	struct relay_ops ops = *s.w->relay.ops;
	ops.response_head = note_response_head;
	s.w->relay.ops = &ops;
	s.x = world_exchange(s.w, "GET", true, &s.down);
	struct http_head *head = world_request_of(s.x);
	http_head_add(head, SLICE("sec-websocket-key"), SLICE("dGhlIHNhbXBsZSBub25jZQ=="));
	http_head_add(head, SLICE("sec-websocket-protocol"), SLICE("chat"));
	exchange_ask_for_tunnel(s.x, SLICE("websocket"));
	assert_true(has_field(s.x->request, SLICE("sec-websocket-protocol")));
	assert_false(has_field(s.x->request, SLICE("sec-websocket-key")));
	exchange_dispatch(s.x);
	head = opening(s.w);
	http_head_add(head, SLICE("sec-websocket-accept"), SLICE("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
	http_head_add(head, SLICE("sec-websocket-protocol"), SLICE("chat"));
	head_to_client = NULL;
	exchange_on_response(s.x, head, false);
	assert_non_null(head_to_client);
	world_end(s.w);
}

/* Of a connection that carries one exchange at a time: is that a tunnel? */
static void the_first_leg_of_a_connection_is_a_tunnels_or_not(void **state)
{
	(void)state;
	struct list legs;
	list_init(&legs);
	assert_false(exchange_tunnel_is_first(&legs));
	struct scene s = asked(true);
	list_append(&legs, &s.x->down.link);
	assert_false(exchange_tunnel_is_first(&legs)); /* it is not open */
	exchange_on_response(s.x, opening(s.w), false);
	assert_true(exchange_tunnel_is_first(&legs));
	world_end(s.w);
	assert_true(list_is_empty(&legs));
}

static void what_the_client_sends_waits_for_the_answer(void **state)
{
	(void)state;
	struct scene s = asked(false);
	world_upload(s.w, s.x, "early", false);
	assert_false(s.up->is_ready);
	exchange_on_response(s.x, opening(s.w), false);
	assert_true(s.up->is_ready);
	world_take(s.up);
	assert_int_equal(s.up->byte_count, 5);
	assert_int_equal(s.down->credit, 5);
	world_end(s.w);
}

/* The log needs the request when the tunnel has ended. */
static void an_open_tunnel_keeps_no_more_of_its_request_than_it_needs(void **state)
{
	(void)state;
	struct scene s = asked(true);
	size_t before = s.x->payer.charge;
	struct slice path = s.x->request->path;
	exchange_on_response(s.x, opening(s.w), false);
	assert_true(s.x->payer.charge < before - 2048);
	assert_true(slice_equal(s.x->request->protocol, SLICE("websocket")));
	assert_int_equal(s.x->request->path.len, path.len);
	exchange_abort(s.x, &relay_cause_TUNNEL_AGE, "a detail in the request's arena");
	assert_string_equal(s.x->ending.detail, "a detail in the request's arena");
	world_end(s.w);
}

/* Its hints, and why no held response answered it, lie in the request's arena, and are logged at its end. */
static void a_tunnel_whose_request_is_still_looked_into_keeps_it(void **state)
{
	(void)state;
	struct scene s = asked(true);
	const struct http_head *request = s.x->request;
	s.x->ending.missed = arena_printf(&world_request_of(s.x)->arena, "vary %s", "cookie").ptr;
	exchange_on_response(s.x, opening(s.w), false);
	assert_ptr_equal(s.x->request, request);
	assert_string_equal(s.x->ending.missed, "vary cookie");
	world_end(s.w);

	static const struct http_target css = {
	    SLICE_INIT("https"), SLICE_INIT("example.com"), SLICE_INIT("/a.css")};
	s = asked(true);
	request = s.x->request;
	exchange_note_hinted(s.x, &css);
	exchange_on_response(s.x, opening(s.w), false);
	assert_ptr_equal(s.x->request, request);
	assert_true(exchange_was_hinted(s.x, &css));
	world_end(s.w);
}

static void each_direction_ends_by_itself(void **state)
{
	(void)state;
	for (unsigned client_first = 0; client_first < 2; client_first++) {
		struct scene s = opened(client_first);
		if (client_first)
			world_upload(s.w, s.x, "", true);
		else
			world_download(s.w, s.x, "", true);
		world_take(client_first ? s.up : s.down);
		assert_int_equal(s.x->tunnel.client_ended_first, client_first);
		assert_false(exchange_is_over(s.x));
		if (client_first)
			world_download(s.w, s.x, "rest", false);
		else
			world_upload(s.w, s.x, "rest", false);
		world_take(client_first ? s.down : s.up);
		assert_int_equal((client_first ? s.down : s.up)->byte_count, 4);
		if (client_first)
			world_download(s.w, s.x, "", true);
		else
			world_upload(s.w, s.x, "", true);
		world_take(client_first ? s.down : s.up);
		assert_string_equal(s.w->ended, "x1 complete 200");
		world_free(s.w);
	}
}

/* The client has said all before the answer comes: the tunnel is half-closed from the first. */
static void an_end_before_the_answer_counts(void **state)
{
	(void)state;
	struct scene s = asked(false);
	world_upload(s.w, s.x, "all", true);
	exchange_on_response(s.x, opening(s.w), false);
	world_take(s.up);
	assert_true(s.x->tunnel.ended > 0);
	assert_true(s.x->tunnel.client_ended_first);
	world_download(s.w, s.x, "", true);
	world_take(s.down);
	assert_true(s.x->tunnel.client_ended_first);
	assert_string_equal(s.w->ended, "x1 complete 200");
	world_free(s.w);
	s = asked(false);
	s.w->limits[RELAY_TIMEOUT_IDLE] = HOUR;
	s.w->limits[RELAY_TIMEOUT_TUNNEL_HALF] = 60 * USEC_PER_SEC;
	world_upload(s.w, s.x, "", true);
	exchange_on_response(s.x, opening(s.w), false);
	world_take(s.up);
	world_pass(s.w, 62 * USEC_PER_SEC);
	assert_string_equal(s.w->ended, "x1 tunnel-half-closed 200");
	world_free(s.w);
}

/* The origin has ended its direction, and is lost before it has all of the client's. */
static void an_origin_that_is_lost_after_its_end_is_no_good_end(void **state)
{
	(void)state;
	struct scene s = opened(false);
	world_download(s.w, s.x, "last words", true);
	world_upload(s.w, s.x, "never taken", false);
	exchange_on_up_failed(s.x, &relay_cause_UP_LOST, 0, NULL);
	world_take(s.down);
	assert_string_equal(s.down->bytes, "last words");
	assert_non_null(strstr(s.down->said, "reset 2"));
	assert_string_equal(s.w->ended, "x1 origin-lost 200");
	world_free(s.w);
	s = opened(false);
	world_download(s.w, s.x, "", true);
	world_take(s.down);
	exchange_on_up_failed(s.x, &relay_cause_UP_RESET, RELAY_CANCEL, NULL);
	assert_non_null(strstr(s.down->said, "reset 8"));
	assert_string_equal(s.w->ended, "x1 origin-reset 200");
	world_free(s.w);
}

/* It has the end of either direction: what is left is the client's to take. */
static void an_origin_that_has_all_may_be_lost(void **state)
{
	(void)state;
	struct scene s = opened(false);
	world_upload(s.w, s.x, "", true);
	world_take(s.up);
	world_download(s.w, s.x, "last words", true);
	exchange_on_up_failed(s.x, &relay_cause_UP_LOST, 0, NULL);
	assert_false(exchange_is_over(s.x));
	world_take(s.down);
	assert_string_equal(s.down->bytes, "last words");
	assert_string_equal(s.w->ended, "x1 complete 200");
	world_free(s.w);
}

/* Bytes have gone both ways, and all that came has left. */
static struct scene served(void)
{
	struct scene s = opened(false);
	world_upload(s.w, s.x, "asked", false);
	world_take(s.up);
	world_download(s.w, s.x, "answered", false);
	world_take(s.down);
	return s;
}

static void a_client_that_closes_a_tunnel_which_has_served_ends_it_in_good_order(void **state)
{
	(void)state;
	struct scene s = served();
	exchange_on_client_closed(s.x, &relay_cause_DOWN_LOST, RELAY_CANCEL, NULL);
	assert_true(s.x->tunnel.client_ended_first);
	assert_non_null(strstr(s.up->said, "reset 8"));
	assert_string_equal(s.w->ended, "x1 complete 200");
	world_free(s.w);
	s = served(); /* what it did not take is its own affair */
	world_download(s.w, s.x, "more", false);
	exchange_on_client_closed(s.x, &relay_cause_DOWN_RESET, RELAY_CANCEL, NULL);
	assert_string_equal(s.w->ended, "x1 complete 200");
	world_free(s.w);
}

static void a_tunnel_that_has_not_served_is_lost_with_its_client(void **state)
{
	(void)state;
	struct scene s = opened(false); /* not a byte */
	exchange_on_client_closed(s.x, &relay_cause_DOWN_LOST, RELAY_CANCEL, NULL);
	assert_string_equal(s.w->ended, "x1 client-lost 200");
	world_free(s.w);
	s = opened(false); /* bytes in one direction alone */
	world_upload(s.w, s.x, "asked", false);
	world_take(s.up);
	exchange_on_client_closed(s.x, &relay_cause_DOWN_RESET, RELAY_CANCEL, NULL);
	assert_string_equal(s.w->ended, "x1 client-reset 200");
	world_free(s.w);
	s = served(); /* some of the client's bytes have not left */
	world_upload(s.w, s.x, "never taken", false);
	exchange_on_client_closed(s.x, &relay_cause_DOWN_LOST, RELAY_CANCEL, NULL);
	assert_string_equal(s.w->ended, "x1 client-lost 200");
	exchange_on_client_closed(s.x, &relay_cause_DOWN_RESET, RELAY_CANCEL, NULL);
	assert_string_equal(s.w->ended, "x1 client-lost 200"); /* said twice, it counts once */
	world_free(s.w);
	s = served(); /* the client's host has died */
	exchange_on_down_ended(s.x, &relay_cause_DOWN_LOST, RELAY_CANCEL, NULL);
	assert_string_equal(s.w->ended, "x1 client-lost 200");
	world_free(s.w);
}

/* It answers what the client still says with a reset, as the kernel does for a closed socket. */
static void an_origin_that_closes_a_tunnel_which_has_served_ends_it_in_good_order(void **state)
{
	(void)state;
	struct scene s = served();
	world_download(s.w, s.x, "", true);
	world_take(s.down);
	world_upload(s.w, s.x, "taken by nobody", false);
	world_take(s.up);
	exchange_on_up_failed(s.x, &relay_cause_UP_LOST, 0, NULL);
	assert_false(s.x->tunnel.client_ended_first);
	assert_non_null(strstr(s.down->said, "reset 0"));
	assert_string_equal(s.w->ended, "x1 complete 200");
	world_free(s.w);
	s = served(); /* without an end before, it is a loss */
	exchange_on_up_failed(s.x, &relay_cause_UP_LOST, 0, NULL);
	assert_string_equal(s.w->ended, "x1 origin-lost 200");
	world_free(s.w);
}

/* A refusal is an answer like any other; no byte for the tunnel reaches the origin. */
static void a_refusal_arrives_and_drops_what_was_sent(void **state)
{
	(void)state;
	for (unsigned is_upgrade = 0; is_upgrade < 2; is_upgrade++) {
		struct scene s = asked(is_upgrade);
		world_upload(s.w, s.x, "GET / HTTP/1.1", false);
		exchange_on_response(s.x, world_response(s.w, 403), false);
		world_upload(s.w, s.x, "more", false);
		world_download(s.w, s.x, "no", true);
		world_take(s.down);
		assert_string_equal(s.down->bytes, "no");
		assert_int_equal(s.up->byte_count, 0);
		assert_string_equal(s.w->ended, "x1 complete 403");
		world_free(s.w);
	}
}

/* The origin did not change the protocol: to an Upgrade that is an answer, to a CONNECT it would be an opening. */
static void a_2xx_that_opens_nothing(void **state)
{
	(void)state;
	struct scene s = asked(true);
	exchange_on_response(s.x, world_response(s.w, 200), true);
	assert_string_equal(s.w->ended, "x1 complete 200");
	world_free(s.w);
	s = asked(false);
	exchange_on_response(s.x, world_response(s.w, 200), false);
	world_take(s.down);
	assert_string_equal(s.w->ended, "x1 origin-no-tunnel 501");
	world_free(s.w);
}

struct limit_row {
	enum relay_timeout which;
	const char *ended;
	bool is_half, moves;
};

static void every_limit_ends_it_with_its_cause(void **state)
{
	(void)state;
	static const struct limit_row rows[] = {
	    {RELAY_TIMEOUT_IDLE, "x1 tunnel-idle 200", false, false},
	    {RELAY_TIMEOUT_TUNNEL_HALF, "x1 tunnel-half-closed 200", true, false},
	    {RELAY_TIMEOUT_TUNNEL_AGE, "x1 tunnel-age 200", false, true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s = opened(true);
		s.w->limits[RELAY_TIMEOUT_IDLE] = s.w->limits[RELAY_TIMEOUT_TUNNEL_HALF] = 0;
		s.w->limits[rows[i].which] = HOUR;
		world_upload(s.w, s.x, "x", rows[i].is_half);
		world_take(s.up);
		for (unsigned part = 0; part < 9; part++) {
			world_pass(s.w, HOUR / 10);
			assert_false(exchange_is_over(s.x));
			if (rows[i].moves) {
				world_download(s.w, s.x, "y", false);
				world_take(s.down);
			}
		}
		world_pass(s.w, HOUR / 10 + 2 * USEC_PER_SEC);
		assert_string_equal(s.w->ended, rows[i].ended);
		world_free(s.w);
	}
}

static void first_bytes_wait_until_they_may_pass(void **state)
{
	(void)state;
	struct scene s = asked(false);
	s.x->tunnel.is_checked = true;
	world_upload(s.w, s.x, "one", false);
	exchange_on_response(s.x, opening(s.w), false);
	world_upload(s.w, s.x, "two", false);
	assert_int_equal(s.x->upload.state, FLOW_HEAD);
	world_download(s.w, s.x, "from the origin", false); /* which waits for nothing */
	world_take(s.down);
	assert_string_equal(s.down->bytes, "from the origin");
	s.w->look = RELAY_LETS_PASS;
	world_upload(s.w, s.x, "three", false);
	world_take(s.up);
	assert_string_equal(s.up->bytes, "onetwothree");
	s.w->look = RELAY_REFUSES; /* nobody looks again */
	world_upload(s.w, s.x, "four", false);
	world_take(s.up);
	assert_string_equal(s.up->bytes, "onetwothreefour");
	world_end(s.w);
}

static void first_bytes_may_end_the_tunnel(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct scene s = asked(false);
		s.x->tunnel.is_checked = true;
		s.w->look = i == 2 ? RELAY_LOOKS_AGAIN : RELAY_REFUSES;
		if (i == 0) /* before the answer */
			world_upload(s.w, s.x, "one", false);
		exchange_on_response(s.x, opening(s.w), false);
		if (i > 0) /* i 2: the client has ended, and more will not come */
			world_upload(s.w, s.x, "one", i == 2);
		assert_string_equal(s.w->ended, "x1 tunnel-sni 200");
		assert_string_equal(s.up->bytes, "");
		world_free(s.w);
	}
}

static void bytes_of_both_directions_are_limited(void **state)
{
	(void)state;
	struct scene s = opened(true);
	s.x->tunnel.bytes_most = 6;
	world_upload(s.w, s.x, "abc", false);
	world_take(s.up);
	world_download(s.w, s.x, "def", false);
	world_take(s.down);
	assert_false(exchange_is_over(s.x));
	world_download(s.w, s.x, "g", false);
	assert_string_equal(s.w->ended, "x1 tunnel-bytes 200");
	world_free(s.w);
	s = opened(true);
	s.x->tunnel.bytes_most = 6;
	world_download(s.w, s.x, "defg", false);
	world_take(s.down);
	world_upload(s.w, s.x, "abc", false);
	assert_string_equal(s.w->ended, "x1 tunnel-bytes 200");
	world_free(s.w);
}

/* What comes before the answer is bounded by the client's window. A refusal may be longer than any tunnel. */
static void bytes_are_limited_from_the_opening_on(void **state)
{
	(void)state;
	struct scene s = asked(true);
	s.x->tunnel.bytes_most = 2;
	world_upload(s.w, s.x, "abc", false);
	exchange_on_response(s.x, world_response(s.w, 403), false);
	world_download(s.w, s.x, "not here", true);
	world_take(s.down);
	assert_string_equal(s.down->bytes, "not here");
	assert_string_equal(s.w->ended, "x1 complete 403");
	world_free(s.w);
}

/* ---- a rate ---- */

static bool rate_is_used_up;

static bool waits(void *context, struct exchange *x)
{
	(void)context;
	assert_true(x->tunnel.is_rated);
	return rate_is_used_up;
}

static const struct relay_ops *ops_of_rate(const struct world *w)
{
	static struct relay_ops ops;
	ops = *w->relay.ops;
	ops.tunnel_waits = waits;
	return &ops;
}

/* A tunnel that owes its client 5 bytes of credit, and its origin 6. */
static struct scene owing(void)
{
	struct scene s = opened(false);
	s.w->relay.ops = ops_of_rate(s.w);
	s.x->tunnel.is_rated = true;
	rate_is_used_up = true;
	world_upload(s.w, s.x, "asked", false);
	world_take(s.up);
	world_download(s.w, s.x, "answer", false);
	world_take(s.down);
	assert_string_equal(s.up->bytes, "asked");
	assert_string_equal(s.down->bytes, "answer");
	assert_int_equal(s.down->credit, 0);
	assert_int_equal(s.up->credit, 0);
	return s;
}

static void credit_waits_while_the_rate_is_used_up(void **state)
{
	(void)state;
	struct scene s = owing();
	rate_is_used_up = false; /* what is owed is given with the next */
	world_upload(s.w, s.x, "more", false);
	world_take(s.up);
	assert_int_equal(s.down->credit, 9);
	assert_int_equal(s.up->credit, 0);
	world_end(s.w);
}

static void credit_that_is_owed_is_given_in_parts(void **state)
{
	(void)state;
	struct scene s = owing();
	size_t given;
	assert_true(exchange_give_credit(s.x, 3, &given));
	assert_int_equal(given, 6);
	assert_int_equal(s.down->credit, 3);
	assert_int_equal(s.up->credit, 3);
	assert_true(exchange_give_credit(s.x, 2, &given)); /* the origin alone is owed more */
	assert_int_equal(given, 4);
	assert_int_equal(s.down->credit, 5);
	assert_false(exchange_give_credit(s.x, 2, &given));
	assert_int_equal(given, 1);
	assert_int_equal(s.down->credit, 5);
	assert_int_equal(s.up->credit, 6);
	world_end(s.w);
}

static void a_source_that_has_ended_is_owed_no_credit(void **state)
{
	(void)state;
	struct scene s = owing();
	size_t given;
	world_upload(s.w, s.x, "", true);
	world_take(s.up);
	assert_false(exchange_give_credit(s.x, 100, &given));
	assert_int_equal(given, 6);
	assert_int_equal(s.down->credit, 0);
	assert_int_equal(s.up->credit, 6);
	world_end(s.w);
}

/* Its last bytes are still on their way to the client. */
static void an_origin_that_has_reset_its_stream_is_owed_no_credit(void **state)
{
	(void)state;
	struct scene s = owing();
	size_t given;
	world_download(s.w, s.x, "ed", false);
	exchange_on_up_failed(s.x, &relay_cause_UP_RESET, RELAY_NO_ERROR, NULL);
	assert_false(exchange_is_over(s.x));
	assert_int_equal(s.down->credit, 5); /* its bytes lead nowhere any more */
	assert_true(s.x->download.owed > 0);
	assert_false(exchange_give_credit(s.x, 100, &given));
	assert_int_equal(given, 0);
	assert_int_equal(s.up->credit, 0);
	world_take(s.down);
	assert_string_equal(s.down->bytes, "answered");
	assert_string_equal(s.w->ended, "x1 origin-reset 200");
	world_free(s.w);
}

/* While bytes wait and memory is short, the rate gives none either. */
static void credit_that_memory_keeps_back_is_not_given_by_the_rate(void **state)
{
	(void)state;
	struct scene s = owing();
	size_t given, limit = s.w->up_budget.limit_bytes;
	assert_true(exchange_give_credit(s.x, 5, &given));
	assert_int_equal(given, 10);
	world_upload(s.w, s.x, "more", false);
	world_take(s.up);
	world_upload(s.w, s.x, "rest", false);
	s.w->up_budget.limit_bytes = 1;
	assert_true(exchange_give_credit(s.x, 1, &given));
	assert_int_equal(given, 1); /* the origin's */
	assert_int_equal(s.down->credit, 5);
	assert_int_equal(s.up->credit, 6);
	s.w->up_budget.limit_bytes = limit;
	assert_false(exchange_give_credit(s.x, 100, &given));
	assert_int_equal(given, 4);
	assert_int_equal(s.down->credit, 9);
	world_end(s.w);
}

/* Half an hour without a byte: none of the limits for requests and responses counts. */
static void a_silent_tunnel_stays(void **state)
{
	(void)state;
	struct scene s = opened(false);
	for (size_t i = 0; i < sizeof(s.w->limits) / sizeof(s.w->limits[0]); i++)
		s.w->limits[i] = 10 * USEC_PER_SEC;
	s.w->limits[RELAY_TIMEOUT_IDLE] = HOUR;
	s.w->limits[RELAY_TIMEOUT_TUNNEL_AGE] = 0;
	world_pass(s.w, HOUR / 2);
	world_upload(s.w, s.x, "ping", false);
	world_take(s.up);
	world_download(s.w, s.x, "pong", false);
	world_take(s.down);
	assert_string_equal(s.down->bytes, "pong");
	world_end(s.w);
}

/* The client may send already; the origin's time for its answer runs all the same. */
static void an_answer_that_does_not_come_is_late(void **state)
{
	(void)state;
	struct scene s = asked(false);
	s.w->limits[RELAY_TIMEOUT_RESPONSE] = 60 * USEC_PER_SEC;
	s.w->limits[RELAY_TIMEOUT_BODY_UP] = s.w->limits[RELAY_TIMEOUT_TAKE_UP] = USEC_PER_SEC;
	s.w->limits[RELAY_TIMEOUT_IDLE] = USEC_PER_SEC;
	world_upload(s.w, s.x, "early", false);
	world_pass(s.w, 59 * USEC_PER_SEC);
	assert_string_equal(s.w->ended, "");
	world_pass(s.w, 3 * USEC_PER_SEC);
	world_take(s.down);
	assert_string_equal(s.w->ended, "x1 response-late 504");
	world_free(s.w);
}

static void a_reset_of_one_side_resets_the_other(void **state)
{
	(void)state;
	struct scene s = opened(false);
	exchange_on_down_ended(s.x, &relay_cause_DOWN_RESET, 8, NULL);
	assert_string_equal(s.up->said, "reset 8");
	world_free(s.w);
	s = opened(false);
	exchange_on_up_failed(s.x, &relay_cause_UP_LOST, 0, NULL);
	assert_non_null(strstr(s.down->said, "reset 2"));
	world_free(s.w);
}

/* RFC 9113 8.5. A connection that the client has not asked for by CONNECT alone has no such error. */
static void an_error_of_the_connection_that_connect_asked_for_is_named(void **state)
{
	(void)state;
	struct scene s = asked_by_connect(HTTP_VERSION_2, false);
	exchange_on_response(s.x, opening(s.w), false);
	exchange_on_up_failed(s.x, &relay_cause_UP_LOST, 0, NULL);
	assert_non_null(strstr(s.down->said, "reset 10"));
	assert_string_equal(s.w->ended, "x1 origin-lost 200");
	world_free(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_upgrade_becomes_a_connect),
	    cmocka_unit_test(what_follows_a_connect_of_http_1_is_the_tunnels),
	    cmocka_unit_test(the_keys_of_a_hop_stay_there),
	    cmocka_unit_test(the_first_leg_of_a_connection_is_a_tunnels_or_not),
	    cmocka_unit_test(what_the_client_sends_waits_for_the_answer),
	    cmocka_unit_test(an_open_tunnel_keeps_no_more_of_its_request_than_it_needs),
	    cmocka_unit_test(a_tunnel_whose_request_is_still_looked_into_keeps_it),
	    cmocka_unit_test(each_direction_ends_by_itself),
	    cmocka_unit_test(an_end_before_the_answer_counts),
	    cmocka_unit_test(an_origin_that_is_lost_after_its_end_is_no_good_end),
	    cmocka_unit_test(an_origin_that_has_all_may_be_lost),
	    cmocka_unit_test(a_client_that_closes_a_tunnel_which_has_served_ends_it_in_good_order),
	    cmocka_unit_test(a_tunnel_that_has_not_served_is_lost_with_its_client),
	    cmocka_unit_test(an_origin_that_closes_a_tunnel_which_has_served_ends_it_in_good_order),
	    cmocka_unit_test(a_refusal_arrives_and_drops_what_was_sent),
	    cmocka_unit_test(a_2xx_that_opens_nothing),
	    cmocka_unit_test(every_limit_ends_it_with_its_cause),
	    cmocka_unit_test(first_bytes_wait_until_they_may_pass),
	    cmocka_unit_test(first_bytes_may_end_the_tunnel),
	    cmocka_unit_test(bytes_of_both_directions_are_limited),
	    cmocka_unit_test(bytes_are_limited_from_the_opening_on),
	    cmocka_unit_test(credit_waits_while_the_rate_is_used_up),
	    cmocka_unit_test(credit_that_is_owed_is_given_in_parts),
	    cmocka_unit_test(a_source_that_has_ended_is_owed_no_credit),
	    cmocka_unit_test(an_origin_that_has_reset_its_stream_is_owed_no_credit),
	    cmocka_unit_test(credit_that_memory_keeps_back_is_not_given_by_the_rate),
	    cmocka_unit_test(a_silent_tunnel_stays),
	    cmocka_unit_test(an_answer_that_does_not_come_is_late),
	    cmocka_unit_test(a_reset_of_one_side_resets_the_other),
	    cmocka_unit_test(an_error_of_the_connection_that_connect_asked_for_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
