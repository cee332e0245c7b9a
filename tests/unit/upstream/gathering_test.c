/* SPDX-License-Identifier: MIT */
/* Requests to an origin in HTTP/1.1 that are sent when their body has wholly come: which do, and what ends the wait
 * (gathering.c). */
#include "tests/support/script_peer.h"

#include <stdio.h>

/* covers: R650 */

#define OK "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
#define WINDOW "stream-window = 128k"

struct scene {
	struct gate_world *w;
	struct gate_site *site;
	struct gate_peer *client;
	struct destination *destination;
};

static struct scene scene_with(const char *listen, const char *route)
{
	const struct gate_peer_options no_push = {.no_push = true};
	char more[512];
	snprintf(more, sizeof(more),
	    "[origin c]\nserver = http://%%a\n[route r]\nhost = example.com\norigin = c\n%s\n", route);
	struct scene s = {.w = gate_world_new(NULL, listen, NULL, more)};
	s.site = &s.w->sites[0];
	script_site(s.site);
	s.client = gate_client(s.w, &no_push);
	s.destination = &s.w->gateway->upstream.destinations[s.w->conf->origin_count - 1];
	return s;
}

static struct scene scene(const char *route)
{
	return scene_with(NULL, route);
}

/* The body follows. length NULL: it is not announced. */
static struct gate_stream *post(struct scene *s, const char *path, const char *length)
{
	return length ? gate_request(s->client, "POST", "example.com", path, false,
			    "content-length", length, NULL)
		      : gate_request(s->client, "POST", "example.com", path, false, NULL);
}

/* The exchange with this path, once the gateway has its head and this much of its body. */
static struct exchange *exchange(struct scene *s, const char *path, size_t received)
{
	struct exchange *found = NULL;
	UNTIL(s->w, ({
		list_for_each(&s->w->gateway->relay.live, x, struct exchange, link)
		{
			if (slice_equal(x->request->path, slice_of_string(path)) &&
			    x->upload.received >= received)
				found = x;
		}
		found != NULL;
	}));
	return found;
}

static bool was_sent(struct scene *s, const char *line)
{
	for (size_t i = 0; i < script_origins(s->site); i++)
		if (script_saw(script_origin(s->site, i), line))
			return true;
	return false;
}

#define SENT(s, line) UNTIL((s)->w, was_sent((s), (line)))

static void answered(struct scene *s, struct gate_stream *x)
{
	for (size_t i = 0; i < script_origins(s->site); i++)
		script_put(script_origin(s->site, i), OK, sizeof(OK) - 1);
	UNTIL(s->w, x->is_over);
	assert_int_equal(x->status, 200);
}

/* It waits, has no server and no place in a queue. */
static void assert_gathers(struct scene *s, const struct exchange *x)
{
	assert_int_equal(x->upload_wait, UPLOAD_GATHERS);
	assert_true(exchange_is_queued(x));
	assert_null(attempt_of(x)->at.server);
	assert_null(attempt_of(x)->at.pool);
	assert_int_equal(s->destination->origin.queued, 0);
	assert_int_equal(script_origins(s->site), 0);
}

/* ---- which do ---- */

/* What gathering_begins looks at, for an exchange that gathers, one thing changed at a time. */
struct look {
	struct exchange *x;
	struct conf_route route;
	struct conf_listen listen;
	struct http_head request;
	struct conf_origin origin;
	struct origin_known *known;
};

typedef void (*change)(struct look *l);

static void nothing(struct look *l)
{
	(void)l;
}

static void is_streaming(struct look *l)
{
	l->x->terms.is_streaming = true;
}

static void is_call(struct look *l)
{
	l->x->terms.is_call = true;
}

static void is_tunnel(struct look *l)
{
	l->x->tunnel.is_asked = true;
}

static void is_push(struct look *l)
{
	l->x->pushed.state = PUSH_OFFERED;
}

static void has_no_listener(struct look *l)
{
	l->x->facts.listener = NULL;
}

static void has_come(struct look *l)
{
	l->x->upload.source_ended = true;
}

static void has_length_65536(struct look *l)
{
	l->request.content_length = 65536;
}

static void has_length_65537(struct look *l)
{
	l->request.content_length = 65537;
}

static void has_no_length(struct look *l)
{
	l->request.content_length = HTTP_LENGTH_UNKNOWN;
}

static void buffer(struct look *l, uint32_t bytes)
{
	l->route.request_buffer = (struct conf_request_buffer){true, bytes};
}

static void buffer_is_as_long(struct look *l)
{
	buffer(l, 10);
}

static void buffer_is_shorter(struct look *l)
{
	buffer(l, 9);
}

static void buffer_is_off(struct look *l)
{
	buffer(l, 0);
}

/* Without a length, what has come counts: 4 bytes. */
static void no_length_and_buffer_is_as_long(struct look *l)
{
	has_no_length(l);
	buffer(l, 4);
}

static void no_length_and_buffer_is_shorter(struct look *l)
{
	has_no_length(l);
	buffer(l, 3);
}

static void window_is_larger(struct look *l)
{
	l->listen.stream_window_bytes = 11;
}

static void window_is_as_long(struct look *l)
{
	l->listen.stream_window_bytes = 10;
}

static void buffer_is_longer_than_window(struct look *l)
{
	buffer(l, 100000);
	window_is_as_long(l);
}

static void origin_speaks_other(struct look *l)
{
	l->origin.protocols = CONF_HTTP2;
}

static void origin_may_speak_both(struct look *l)
{
	l->origin.protocols = CONF_HTTP1 | CONF_HTTP2;
}

static void server_is_unknown(struct look *l)
{
	origin_may_speak_both(l);
	l->known->protocol = NULL;
}

static void server_multiplexes(struct look *l)
{
	origin_may_speak_both(l);
	l->known->capabilities |= SESSION_MULTIPLEXES;
}

static void alone_http1_counts_whatever_a_server_spoke(struct look *l)
{
	l->known->protocol = NULL;
}

static void origin_has_no_server(struct look *l)
{
	origin_may_speak_both(l);
	l->known = NULL;
}

static void memory_is_full(struct look *l)
{
	l->x->payer.budget->limit_bytes = l->x->payer.budget->used_bytes;
}

static void small_bodies_for_servers_in_http1_gather(void **state)
{
	(void)state;
	const struct {
		const char *what;
		change change;
		bool gathers;
	} rows[] = {
#define ROW(change, gathers) {#change, change, gathers}
	    ROW(nothing, true),
	    ROW(is_streaming, false),
	    ROW(is_call, false),
	    ROW(is_tunnel, false),
	    ROW(is_push, false),
	    ROW(has_no_listener, false),
	    ROW(has_come, false),
	    ROW(has_length_65536, true),
	    ROW(has_length_65537, false),
	    ROW(has_no_length, false),
	    ROW(buffer_is_as_long, true),
	    ROW(buffer_is_shorter, false),
	    ROW(buffer_is_off, false),
	    ROW(no_length_and_buffer_is_as_long, true),
	    ROW(no_length_and_buffer_is_shorter, false),
	    ROW(window_is_larger, true),
	    ROW(window_is_as_long, false),
	    ROW(buffer_is_longer_than_window, false),
	    ROW(origin_speaks_other, true), /* the server is known to speak HTTP/1.1 */
	    ROW(origin_may_speak_both, true),
	    ROW(server_is_unknown, false),
	    ROW(server_multiplexes, false),
	    ROW(alone_http1_counts_whatever_a_server_spoke, true),
	    ROW(origin_has_no_server, false),
	    ROW(memory_is_full, false),
#undef ROW
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct scene s = scene_with(WINDOW, "");
		struct gate_stream *stream = post(&s, "/a", "10");
		gate_more(stream, 4, false);
		struct exchange *x = exchange(&s, "/a", 4);
		assert_gathers(&s, x);
		const struct http_head *request = x->request;
		const struct conf_origin *origin = s.destination->origin.conf;
		const struct exchange_terms terms = x->terms;
		const uint8_t upload_wait = x->upload_wait;
		const struct relay_place place = x->place;
		const struct request_facts facts = x->facts;
		struct server *server = list_first(&s.destination->servers, struct server, link);
		const struct origin_known known = server->at.known;
		const size_t limit = x->payer.budget->limit_bytes;
		struct look l = {x, *x->place.route, *x->facts.listener, *request, *origin, &server->at.known};
		x->place.route = &l.route;
		x->facts.listener = &l.listen;
		x->request = &l.request;
		s.destination->origin.conf = &l.origin;
		x->upload_wait = UPLOAD_WAITS_NOT;
		rows[i].change(&l);
		if (!l.known)
			list_remove(&server->link);
		bool gathers = gathering_begins(s.destination, x);
		assert_int_equal(x->upload_wait == UPLOAD_GATHERS, gathers);
		if (gathers != rows[i].gathers)
			fail_msg("%s: %d", rows[i].what, gathers);
		if (!l.known)
			list_append(&s.destination->servers, &server->link);
		s.destination->origin.conf = origin;
		server->at.known = known;
		x->request = request;
		x->terms = terms;
		x->upload_wait = upload_wait;
		x->place = place;
		x->facts = facts;
		x->payer.budget->limit_bytes = limit;
		x->tunnel.is_asked = false;
		x->pushed.state = PUSH_NONE;
		x->upload.source_ended = false;
		gate_more(stream, 6, true);
		SENT(&s, "POST /a");
		answered(&s, stream);
		gate_world_free(s.w);
	}
}

/* ---- Expect: 100-continue ---- */

static struct gate_stream *expecting(struct scene *s)
{
	return gate_request(s->client, "PUT", "example.com", "/a", false, "content-length", "10",
	    "expect", "100-continue", NULL);
}

static void with_request_buffer_the_client_is_told_to_go_on(void **state)
{
	(void)state;
	struct scene s = scene("request-buffer = 64k");
	struct gate_stream *stream = expecting(&s);
	UNTIL(s.w, stream->interims == 1);
	assert_gathers(&s, exchange(&s, "/a", 0));
	gate_more(stream, 10, true);
	SENT(&s, "PUT /a");
	assert_false(was_sent(&s, "expect"));
	answered(&s, stream);
	assert_int_equal(stream->interims, 1);
	gate_world_free(s.w);
}

static void without_it_the_server_is_asked_whether_it_takes_the_body(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *stream = expecting(&s);
	SENT(&s, "PUT /a");
	SENT(&s, "expect: 100-continue");
	assert_int_equal(exchange(&s, "/a", 0)->upload_wait, UPLOAD_WAITS_NOT);
	assert_int_equal(stream->interims, 0);
	gate_more(stream, 10, true);
	answered(&s, stream);
	gate_world_free(s.w);
}

/* ---- what ends the wait ---- */

static void one_that_is_whole_is_sent(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *stream = post(&s, "/a", "10");
	gate_more(stream, 9, false);
	struct exchange *x = exchange(&s, "/a", 9);
	gate_passes(s.w);
	assert_gathers(&s, x);
	usec waited_since = x->timing.waits_since;
	gate_more(stream, 1, true);
	SENT(&s, "POST /a");
	assert_int_equal(x->upload_wait, UPLOAD_WAITS_NOT);
	assert_true(x->upload.source_ended);
	/* The time in the queue begins now: its client kept it waiting before. */
	assert_true(x->timing.waits_since > waited_since);
	answered(&s, stream);
	assert_int_equal(gate_server(s.w, s.w->conf->origin_count - 1)->at.pools[POOL_PLAIN]->slow.open, 0);
	gate_world_free(s.w);
}

static void one_that_outgrows_its_buffer_is_sent_as_it_comes(void **state)
{
	(void)state;
	struct scene s = scene("request-buffer = 10");
	struct gate_stream *stream = post(&s, "/a", NULL);
	gate_more(stream, 10, false);
	struct exchange *x = exchange(&s, "/a", 10);
	gate_passes(s.w);
	assert_gathers(&s, x);
	gate_more(stream, 1, false);
	SENT(&s, "POST /a");
	assert_int_equal(x->upload_wait, UPLOAD_WAITS_NOT);
	assert_false(x->upload.source_ended);
	gate_more(stream, 1, true);
	UNTIL(s.w, x->upload.source_ended);
	answered(&s, stream);
	gate_world_free(s.w);
}

static void one_whose_memory_is_used_up_is_sent_as_it_comes(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *stream = post(&s, "/a", "10");
	gate_more(stream, 4, false);
	struct exchange *x = exchange(&s, "/a", 4);
	assert_gathers(&s, x);
	const size_t limit = x->payer.budget->limit_bytes;
	x->payer.budget->limit_bytes = x->payer.budget->used_bytes;
	gathering_grew(s.destination, x);
	x->payer.budget->limit_bytes = limit;
	/* It has a server, and waits for the connection that is being opened there. */
	assert_non_null(attempt_of(x)->at.server);
	assert_int_equal(x->upload_wait, UPLOAD_IS_SLOW);
	SENT(&s, "POST /a");
	assert_int_equal(x->upload_wait, UPLOAD_WAITS_NOT);
	gate_more(stream, 6, true);
	UNTIL(s.w, x->upload.source_ended);
	answered(&s, stream);
	gate_world_free(s.w);
}

static void one_whose_client_goes_away_leaves_nothing_behind(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *stream = post(&s, "/a", "10");
	assert_gathers(&s, exchange(&s, "/a", 0));
	gate_reset_stream(stream, SESSION_CANCEL);
	UNTIL(s.w, s.w->gateway->relay.live_count == 0);
	stream = post(&s, "/b", "10");
	assert_gathers(&s, exchange(&s, "/b", 0));
	gate_peer_abort(s.client);
	UNTIL(s.w, s.w->gateway->relay.live_count == 0);
	assert_int_equal(s.destination->origin.queued, 0);
	assert_int_equal(script_origins(s.site), 0);
	gate_world_free(s.w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(small_bodies_for_servers_in_http1_gather),
	    cmocka_unit_test(with_request_buffer_the_client_is_told_to_go_on),
	    cmocka_unit_test(without_it_the_server_is_asked_whether_it_takes_the_body),
	    cmocka_unit_test(one_that_is_whole_is_sent),
	    cmocka_unit_test(one_that_outgrows_its_buffer_is_sent_as_it_comes),
	    cmocka_unit_test(one_whose_memory_is_used_up_is_sent_as_it_comes),
	    cmocka_unit_test(one_whose_client_goes_away_leaves_nothing_behind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
