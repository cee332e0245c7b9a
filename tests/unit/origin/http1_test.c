/* SPDX-License-Identifier: MIT */
/* Connections to origins that speak HTTP/1.1: which are opened and used again, and how they end. */
#include "tests/support/accounts.h"
#include "tests/support/script_peer.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/net/net_conn.h"

#define OK "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

struct scene {
	struct gate_world *w;
	struct gate_site *site;
	struct gate_peer *client;
};

static struct scene scene_with(const char *origin, const char *listen, const struct gate_peer_options *options)
{
	char more[512];
	snprintf(more, sizeof(more),
	    "[origin c]\nserver = http://%%a\n%s\n[route r]\nhost = example.com\norigin = c\n", origin);
	struct scene s = {.w = gate_world_new(NULL, listen, NULL, more)};
	s.site = &s.w->sites[0];
	script_site(s.site);
	s.client = gate_client(s.w, options);
	return s;
}

static struct scene scene(const char *origin)
{
	return scene_with(origin, NULL, NULL);
}

static void put(struct script_peer *p, const char *text)
{
	script_put(p, text, strlen(text));
}

static struct gate_stream *post(struct scene *s, const char *path, int end)
{
	return gate_request(s->client, "POST", "example.com", path, end, NULL);
}

/* The n-th connection has got a request with this path. */
#define ASKED(s, n, path)                                                                          \
	UNTIL((s)->w, script_origins((s)->site) > (n) &&                                            \
			  script_saw(script_origin((s)->site, (n)), path " HTTP/1.1\r\n"))

static void done(struct scene *s, const struct gate_stream *x, unsigned status)
{
	UNTIL(s->w, x->is_over);
	assert_int_equal(x->status, status);
}

static void answered(struct scene *s, struct gate_stream *x, size_t n)
{
	put(script_origin(s->site, n), OK);
	done(s, x, 200);
	assert_int_equal(x->received, 2);
}

/* The first connection has carried a request and is idle. */
static struct script_peer *warm(struct scene *s)
{
	struct gate_stream *x = gate_get(s->client, "/warm");
	ASKED(s, 0, "GET /warm");
	answered(s, x, 0);
	return script_origin(s->site, 0);
}

static struct origin_conn *nth(struct scene *s, size_t n)
{
	list_for_each(&s->w->gateway->upstream.origins.conns, c, struct origin_conn, all) if (n-- == 0) return c;
	return NULL;
}

/* ---- reuse ---- */

static void a_connection_is_used_again(void **state)
{
	(void)state;
	struct scene s = scene("");
	warm(&s);
	for (unsigned i = 0; i < 3; i++) {
		char path[16], line[32];
		snprintf(path, sizeof(path), "/%u", i);
		snprintf(line, sizeof(line), "GET %s HTTP/1.1", path);
		struct gate_stream *x = gate_get(s.client, path);
		SCRIPT_SEES(script_origin(s.site, 0), line);
		answered(&s, x, 0);
	}
	assert_int_equal(script_origins(s.site), 1);
	gate_world_free(s.w);
}

static void requests_with_and_without_push_share_connections(void **state)
{
	(void)state;
	struct scene s = scene("");
	warm(&s);
	const struct gate_peer_options no_push = {.no_push = true};
	s.client = gate_client(s.w, &no_push);
	struct gate_stream *x = gate_get(s.client, "/plain");
	ASKED(&s, 0, "GET /plain");
	answered(&s, x, 0);
	assert_int_equal(script_origins(s.site), 1);
	gate_world_free(s.w);
}

static void the_last_used_connection_is_used_first(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *x[3];
	for (unsigned i = 0; i < 3; i++) {
		x[i] = gate_get(s.client, "/a");
		UNTIL(s.w, script_origins(s.site) == i + 1);
		ASKED(&s, i, "GET /a");
	}
	answered(&s, x[1], 1);
	answered(&s, x[2], 2);
	answered(&s, x[0], 0);
	for (unsigned i = 0; i < 2; i++) {
		struct gate_stream *next = gate_get(s.client, "/next");
		UNTIL(s.w, script_times(script_origin(s.site, 0), "GET /next") == i + 1);
		answered(&s, next, 0);
	}
	assert_int_equal(script_origins(s.site), 3);
	gate_world_free(s.w);
}

static void max_http1_connections_bounds_them(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 2\nmax-connections = 1");
	struct gate_stream *x[3];
	for (unsigned i = 0; i < 3; i++)
		x[i] = gate_get(s.client, "/a");
	ASKED(&s, 0, "GET /a");
	ASKED(&s, 1, "GET /a");
	gate_passes(s.w);
	assert_int_equal(script_origins(s.site), 2);
	put(script_origin(s.site, 0), OK);
	UNTIL(s.w, script_times(script_origin(s.site, 0), "GET /a") == 2);
	put(script_origin(s.site, 0), OK);
	put(script_origin(s.site, 1), OK);
	for (unsigned i = 0; i < 3; i++)
		done(&s, x[i], 200);
	gate_world_free(s.w);
}

/* Nothing else happens meanwhile: the only connection is busy, and its origin is silent. */
static void a_request_that_waits_after_a_failed_connect_gets_another_one(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *x = gate_get(s.client, "/long");
	ASKED(&s, 0, "GET /long");
	gate_site_close(s.site);
	struct gate_stream *y = gate_get(s.client, "/b");
	UNTIL(s.w, s.w->counters.upstream_failed == 1);
	gate_site_open(s.site);
	ASKED(&s, 1, "GET /b");
	answered(&s, y, 1);
	assert_false(x->is_over);
	gate_world_free(s.w);
}

static void a_connection_whose_response_says_close_is_not_used_again(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *x = gate_get(s.client, "/a");
	ASKED(&s, 0, "GET /a");
	put(script_origin(s.site, 0), "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
	done(&s, x, 200);
	UNTIL(s.w, script_origin(s.site, 0)->ended);
	x = gate_get(s.client, "/b");
	ASKED(&s, 1, "GET /b");
	answered(&s, x, 1);
	gate_world_free(s.w);
}

static void idle_connections_end_before_the_origin_ends_them(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *x = gate_get(s.client, "/a");
	ASKED(&s, 0, "GET /a");
	put(script_origin(s.site, 0),
	    "HTTP/1.1 200 OK\r\nkeep-alive: timeout=5\r\ncontent-length: 2\r\n\r\nok");
	done(&s, x, 200);
	gate_passes(s.w);
	struct origin_conn *c = nth(&s, 0);
	usec quiet = c->quiet_since;
	assert_int_equal(c->timer.deadline, quiet + 4 * USEC_PER_SEC);
	origin_conn_expired(&c->timer, quiet + 4 * USEC_PER_SEC);
	UNTIL(s.w, script_origin(s.site, 0)->ended);
	/* One second is too short to be sure. */
	x = gate_get(s.client, "/b");
	ASKED(&s, 1, "GET /b");
	put(script_origin(s.site, 1),
	    "HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok");
	done(&s, x, 200);
	UNTIL(s.w, script_origin(s.site, 1)->ended);
	gate_world_free(s.w);
}

/* ---- idle connections that end ---- */

static void an_idle_connection_with_surplus_bytes_is_closed(void **state)
{
	(void)state;
	struct scene s = scene("");
	put(warm(&s), OK);
	UNTIL(s.w, script_origin(s.site, 0)->ended);
	struct gate_stream *x = post(&s, "/b", true);
	ASKED(&s, 1, "POST /b");
	answered(&s, x, 1);
	gate_world_free(s.w);
}

static void surplus_bytes_behind_a_response_end_the_connection(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *x = gate_get(s.client, "/a");
	ASKED(&s, 0, "GET /a");
	put(script_origin(s.site, 0), OK OK);
	done(&s, x, 200);
	UNTIL(s.w, script_origin(s.site, 0)->ended);
	gate_world_free(s.w);
}

/* Even a POST: it has not left when the end of the connection is read in the same loop pass. */
static void a_request_in_the_loop_pass_of_a_fin_uses_another_connection(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct script_peer *first = warm(&s);
	gate_passes(s.w);
	shutdown(first->net->fd, SHUT_WR);
	struct gate_stream *x = post(&s, "/b", true);
	ASKED(&s, 1, "POST /b");
	answered(&s, x, 1);
	assert_false(script_saw(first, "POST"));
	gate_world_free(s.w);
}

/* What the origin sends between two requests is nobody's response, though the next one is waiting to leave. */
static void bytes_that_come_before_a_request_leaves_are_not_its_response(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct script_peer *first = warm(&s);
	gate_passes(s.w);
	const char foreign[] = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nforeign";
	assert_int_equal(write(first->net->fd, foreign, sizeof(foreign) - 1), sizeof(foreign) - 1);
	struct gate_stream *x = post(&s, "/b", true);
	ASKED(&s, 1, "POST /b");
	answered(&s, x, 1);
	assert_false(script_saw(first, "POST"));
	gate_world_free(s.w);
}

/* ---- stale connections ---- */

static void lose_request(struct scene *s, const char *method, unsigned status, unsigned attempts)
{
	warm(s);
	struct gate_stream *x = gate_request(s->client, method, "example.com", "/b", true, NULL);
	UNTIL(s->w, script_saw(script_origin(s->site, 0), " /b HTTP/1.1\r\n"));
	script_abort(script_origin(s->site, 0));
	if (attempts > 1) {
		UNTIL(s->w, script_origins(s->site) == 2 && script_saw(script_origin(s->site, 1), " /b HTTP/1.1\r\n"));
		put(script_origin(s->site, 1), OK);
	}
	done(s, x, status);
	assert_int_equal(script_origins(s->site), attempts);
}

static void idempotent_requests_are_sent_again_when_the_connection_was_stale(void **state)
{
	(void)state;
	const char *methods[] = {"GET", "PUT", "DELETE", "OPTIONS"};
	for (size_t i = 0; i < 4; i++) {
		struct scene s = scene("");
		lose_request(&s, methods[i], 200, 2);
		gate_world_free(s.w);
	}
}

static void other_requests_are_not_sent_again(void **state)
{
	(void)state;
	const char *methods[] = {"POST", "PATCH", "BREW"};
	for (size_t i = 0; i < 3; i++) {
		struct scene s = scene("");
		lose_request(&s, methods[i], 502, 1);
		gate_world_free(s.w);
	}
}

static void a_request_whose_body_has_begun_to_leave_is_not_sent_again(void **state)
{
	(void)state;
	struct scene s = scene("");
	warm(&s);
	struct gate_stream *x = gate_request(s.client, "PUT", "example.com", "/b", false, NULL);
	gate_more(x, 10, true);
	SCRIPT_SEES(script_origin(s.site, 0), "0000000000");
	script_abort(script_origin(s.site, 0));
	done(&s, x, 502);
	assert_int_equal(script_origins(s.site), 1);
	gate_world_free(s.w);
}

static void a_retry_uses_a_fresh_connection_and_is_the_last(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *x[2];
	for (unsigned i = 0; i < 2; i++) {
		x[i] = gate_get(s.client, "/a");
		ASKED(&s, i, "GET /a");
	}
	answered(&s, x[1], 1);
	answered(&s, x[0], 0);
	struct gate_stream *y = gate_get(s.client, "/b");
	ASKED(&s, 0, "GET /b");
	script_abort(script_origin(s.site, 0));
	ASKED(&s, 2, "GET /b"); /* although the second one is idle */
	script_abort(script_origin(s.site, 2));
	done(&s, y, 502);
	assert_false(script_saw(script_origin(s.site, 1), "/b"));
	y = gate_get(s.client, "/c");
	ASKED(&s, 1, "GET /c");
	answered(&s, y, 1);
	gate_world_free(s.w);
}

static void a_retry_takes_an_old_connection_when_no_other_may_be_opened(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 2");
	struct gate_stream *x[2];
	for (unsigned i = 0; i < 2; i++) {
		x[i] = gate_get(s.client, "/a");
		ASKED(&s, i, "GET /a");
	}
	answered(&s, x[1], 1);
	answered(&s, x[0], 0);
	struct gate_stream *y = gate_get(s.client, "/b");
	ASKED(&s, 0, "GET /b");
	gate_site_close(s.site);
	script_abort(script_origin(s.site, 0));
	ASKED(&s, 1, "GET /b");
	answered(&s, y, 1);
	gate_world_free(s.w);
}

static void a_response_that_has_begun_is_not_asked_for_again(void **state)
{
	(void)state;
	struct scene s = scene("");
	warm(&s);
	struct gate_stream *x = gate_get(s.client, "/b");
	ASKED(&s, 0, "GET /b");
	put(script_origin(s.site, 0), "HTTP/1.1 20");
	gate_passes(s.w);
	script_abort(script_origin(s.site, 0));
	done(&s, x, 502);
	assert_int_equal(script_origins(s.site), 1);
	gate_world_free(s.w);
}

/* ---- the end of responses ---- */

static void ask_and_put(struct scene *s, struct gate_stream **x, const char *text)
{
	*s = scene("");
	*x = gate_get(s->client, "/a");
	ASKED(s, 0, "GET /a");
	put(script_origin(s->site, 0), text);
	UNTIL(s->w, (*x)->status == 200 && (*x)->received > 0);
}

static void fin(struct script_peer *p)
{
	shutdown(p->net->fd, SHUT_WR);
}

static void a_response_without_length_ends_with_the_connection(void **state)
{
	(void)state;
	struct scene s;
	struct gate_stream *x;
	ask_and_put(&s, &x, "HTTP/1.1 200 OK\r\n\r\nsome");
	fin(script_origin(s.site, 0));
	UNTIL(s.w, x->is_over);
	assert_true(x->ended);
	assert_false(x->was_reset);
	assert_int_equal(x->received, 4);
	gate_world_free(s.w);
}

static void a_response_that_is_cut_is_reset(void **state)
{
	(void)state;
	const char *texts[] = {
	    "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nsome",
	    "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\nsome\r\n",
	};
	for (size_t i = 0; i < 2; i++) {
		struct scene s;
		struct gate_stream *x;
		ask_and_put(&s, &x, texts[i]);
		fin(script_origin(s.site, 0));
		UNTIL(s.w, x->is_over);
		assert_true(x->was_reset);
		assert_false(x->ended);
		gate_world_free(s.w);
	}
}

static void a_reset_never_ends_a_response_without_length(void **state)
{
	(void)state;
	struct scene s;
	struct gate_stream *x;
	ask_and_put(&s, &x, "HTTP/1.1 200 OK\r\n\r\nsome");
	struct linger now = {1, 0};
	setsockopt(script_origin(s.site, 0)->net->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	script_abort(script_origin(s.site, 0));
	UNTIL(s.w, x->is_over);
	assert_true(x->was_reset);
	assert_false(x->ended);
	gate_world_free(s.w);
}

static void an_unasked_101_is_a_502(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *x = gate_get(s.client, "/a");
	ASKED(&s, 0, "GET /a");
	put(script_origin(s.site, 0),
	    "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nraw bytes");
	done(&s, x, 502);
	UNTIL(s.w, script_origin(s.site, 0)->ended);
	gate_world_free(s.w);
}

/* ---- uploads ---- */

static void a_response_reaches_the_client_while_the_upload_goes_on(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *x = post(&s, "/up", false);
	gate_more(x, 10, false);
	SCRIPT_SEES(script_origin(s.site, 0), "0000000000");
	put(script_origin(s.site, 0), OK);
	UNTIL(s.w, x->ended);
	assert_int_equal(x->status, 200);
	size_t before = script_origin(s.site, 0)->in_bytes;
	gate_more(x, 1000, true);
	UNTIL(s.w, script_origin(s.site, 0)->in_bytes >= before + 1000);
	UNTIL(s.w, x->is_over);
	assert_false(x->was_reset);
	struct gate_stream *y = gate_get(s.client, "/next");
	ASKED(&s, 0, "GET /next");
	answered(&s, y, 0);
	gate_world_free(s.w);
}

/* The origin answers and closes with bytes unread: its kernel sends RST behind the response. */
static void a_response_before_a_reset_reaches_the_client(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *x = post(&s, "/up", false);
	gate_more(x, 10, false);
	SCRIPT_SEES(script_origin(s.site, 0), "0000000000");
	struct script_peer *o = script_origin(s.site, 0);
	net_conn_pause_reading(o->net, NET_PAUSE_PEER);
	struct origin_conn *c = nth(&s, 0);
	gate_more(x, 60000, false);
	UNTIL(s.w, x->out == 0);
	gate_passes(s.w);
	/* Nothing is read from the origin until our next write has failed. */
	net_conn_pause_reading(c->net, NET_PAUSE_MEMORY);
	static const char late[] =
	    "HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length: 5\r\n\r\nlarge";
	put(o, late);
	UNTIL(s.w, o->out_bytes == 0);
	gate_passes(s.w);
	script_abort(o);
	gate_more(x, 10000, false);
	UNTIL(s.w, c->transport == ORIGIN_TRANSPORT_READABLE);
	net_conn_resume_reading(c->net, NET_PAUSE_MEMORY);
	UNTIL(s.w, x->ended);
	assert_int_equal(x->status, 413);
	assert_int_equal(x->received, 5);
	gate_world_free(s.w);
}

static void an_origin_of_http10_gets_no_body_of_unknown_length(void **state)
{
	(void)state;
	struct scene s = scene("");
	struct gate_stream *x = gate_get(s.client, "/a");
	ASKED(&s, 0, "GET /a");
	put(script_origin(s.site, 0), "HTTP/1.0 200 OK\r\n\r\nold");
	UNTIL(s.w, x->received == 3);
	fin(script_origin(s.site, 0));
	done(&s, x, 200);
	x = post(&s, "/b", false);
	UNTIL(s.w, x->status == 411);
	gate_more(x, 1, true);
	x = gate_request(s.client, "POST", "example.com", "/c", false, "content-length", "4", NULL);
	gate_more(x, 4, true);
	UNTIL(s.w, script_saw(script_origin(s.site, script_origins(s.site) - 1), "POST /c"));
	/* What a newer one says counts from then on. */
	answered(&s, x, script_origins(s.site) - 1);
	x = post(&s, "/d", false);
	gate_more(x, 3, true);
	UNTIL(s.w, script_saw(script_origin(s.site, script_origins(s.site) - 1), "POST /d"));
	gate_world_free(s.w);
}

/* ---- back-pressure ---- */

static void the_log_has_the_version_that_an_origin_answered_in(void **state)
{
	(void)state;
	struct scene s = scene("");
	accounts_begin(s.w);
	struct gate_stream *x = gate_get(s.client, "/old");
	ASKED(&s, 0, "GET /old");
	put(script_origin(s.site, 0), "HTTP/1.0 204 No Content\r\n\r\n");
	done(&s, x, 204);
	accounts_are(s.w,
	    "connections 1\nupstream_connections 1\nrequests 1\nresponses_2xx 1\nconnections_open 1\n"
	    "sessions_client_h2 1\n",
	    "1: route=r origin=c origin_address=* origin_connection=1 origin_protocol=http/1.0 path=/old status=204 "
	    "response_bytes=0 origin_first_byte_us=* origin_duration_us=* outcome=complete\n");
	gate_world_free(s.w);
}

/* Who meets an expectation of 100: the server, or pushgate for one of HTTP/1.0 and where it waits for the whole body; the
 * server is then asked for nothing that has been done. */
static void an_expectation_is_met_once(void **state)
{
	(void)state; /* covers: R136 R650 */
	static const struct {
		const char *version, *route;
		bool is_ours;
	} rows[] = {
	    {"1.1", "", false},
	    {"1.0", "", true},
	    {"1.1", "request-buffer = 1k", true},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char more[256], ok[128];
		snprintf(more, sizeof(more),
		    "[origin c]\nserver = http://%%a\n[route r]\nhost = example.com\norigin = c\n%s\n", rows[i].route);
		snprintf(ok, sizeof(ok), "HTTP/%s 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nok", rows[i].version);
		struct scene s = {.w = gate_world_new(NULL, NULL, NULL, more)};
		s.site = &s.w->sites[0];
		script_site(s.site);
		s.client = gate_client(s.w, NULL);
		struct gate_stream *first = gate_get(s.client, "/warm");
		ASKED(&s, 0, "GET /warm");
		put(script_origin(s.site, 0), ok);
		done(&s, first, 200);
		struct gate_stream *x = gate_request(s.client, "POST", "example.com", "/a", false,
		    "content-length", "4", "expect", "100-continue", NULL);
		if (!rows[i].is_ours) {
			ASKED(&s, 0, "POST /a");
			assert_int_equal(x->interims, 0);
			put(script_origin(s.site, 0), "HTTP/1.1 100 Continue\r\n\r\n");
		}
		UNTIL(s.w, x->interims == 1);
		gate_more(x, 4, true);
		UNTIL(s.w, script_times(script_origin(s.site, 0), "\r\n\r\n") == 2);
		assert_int_equal(script_saw(script_origin(s.site, 0), "expect: 100-continue"), !rows[i].is_ours);
		put(script_origin(s.site, 0), ok);
		done(&s, x, 200);
		assert_int_equal(x->interims, 1);
		gate_world_free(s.w);
	}
}

static void a_slow_client_stops_the_origin(void **state)
{
	(void)state;
	const struct gate_peer_options slow = {.keeps_credit = true};
	struct scene s = scene_with("", NULL, &slow);
	struct gate_stream *x = gate_get(s.client, "/a");
	ASKED(&s, 0, "GET /a");
	struct script_peer *o = script_origin(s.site, 0);
	static char body[8u << 20];
	memset(body, 'b', sizeof(body));
	char head[64];
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\ncontent-length: %zu\r\n\r\n", sizeof(body));
	put(o, head);
	script_put(o, body, sizeof(body));
	struct origin_conn *c = nth(&s, 0);
	UNTIL(s.w, c->is_full && net_conn_is_blocked(o->net));
	gate_passes(s.w);
	assert_true(s.w->counters.up_in_bytes < sizeof(body) / 4);
	/* The origin is not to blame. */
	origin_conn_expired(&c->timer, s.w->gateway->relay.now + 3600 * USEC_PER_SEC);
	assert_non_null(c->net);
	x->peer->options.keeps_credit = false;
	while (x->received < sizeof(body)) {
		gate_credit(x);
		net_run_once(s.w->loop, USEC_PER_MSEC);
	}
	UNTIL(s.w, x->is_over);
	assert_false(c->is_full);
	struct gate_stream *y = gate_get(s.client, "/next");
	ASKED(&s, 0, "GET /next");
	answered(&s, y, 0);
	gate_world_free(s.w);
}

/* ---- cancelled requests ---- */

static void a_cancelled_request_ends_its_connection(void **state)
{
	(void)state;
	struct scene s = scene("max-http1-connections = 1");
	struct gate_stream *x = gate_get(s.client, "/a"), *y = gate_get(s.client, "/b");
	ASKED(&s, 0, "GET /a");
	gate_reset_stream(x, SESSION_CANCEL);
	UNTIL(s.w, script_origin(s.site, 0)->ended);
	ASKED(&s, 1, "GET /b");
	answered(&s, y, 1);
	gate_world_free(s.w);
}

/* Above a rate, responses to cancelled requests are read to their end: no more connections are opened. */
static void a_flood_of_cancellations_opens_few_connections(void **state)
{
	(void)state;
	struct scene s = scene_with("max-http1-connections = 1", "limit-resets = 1000000/s", NULL);
	struct bucket *b = &gate_server(s.w, 2)->at.known.cancels;
	warm(&s);
	const struct rate all = {100, 200};
	assert_true(bucket_take(b, &all, 200, s.w->gateway->relay.now + 10 * USEC_PER_SEC));
	for (unsigned i = 0; i < 30; i++) {
		struct gate_stream *x = gate_get(s.client, "/cancelled");
		UNTIL(s.w, script_times(script_origin(s.site, 0), "/cancelled") == i + 1);
		gate_reset_stream(x, SESSION_CANCEL);
		gate_passes(s.w);
		put(script_origin(s.site, 0), OK);
	}
	struct gate_stream *y = gate_get(s.client, "/b");
	ASKED(&s, 0, "GET /b");
	answered(&s, y, 0);
	assert_int_equal(script_origins(s.site), 1);
	/* But not for ever, and not whatever its length. */
	y = gate_get(s.client, "/late");
	ASKED(&s, 0, "GET /late");
	gate_reset_stream(y, SESSION_CANCEL);
	struct origin_conn *c = nth(&s, 0);
	UNTIL(s.w, c->single.discards_since != 0);
	assert_true(c->timer.deadline <= c->single.discards_since + 5 * USEC_PER_SEC);
	origin_conn_expired(&c->timer, c->single.discards_since + 5 * USEC_PER_SEC);
	UNTIL(s.w, script_origin(s.site, 0)->ended);
	y = gate_get(s.client, "/long");
	ASKED(&s, 1, "GET /long");
	gate_reset_stream(y, SESSION_CANCEL);
	UNTIL(s.w, nth(&s, 0) && nth(&s, 0)->single.discards_since != 0);
	static char body[300000];
	memset(body, 'b', sizeof(body));
	put(script_origin(s.site, 1), "HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n");
	script_put(script_origin(s.site, 1), body, sizeof(body));
	UNTIL(s.w, script_origin(s.site, 1)->ended);
	gate_world_free(s.w);
}

static void an_upload_that_is_given_up_keeps_no_connection(void **state)
{
	(void)state;
	struct scene s = scene("");
	warm(&s);
	struct bucket *b = &gate_server(s.w, 2)->at.known.cancels;
	const struct rate all = {100, 200};
	assert_true(bucket_take(b, &all, 200, s.w->gateway->relay.now + 10 * USEC_PER_SEC));
	struct gate_stream *x = post(&s, "/b", false);
	ASKED(&s, 0, "POST /b");
	gate_reset_stream(x, SESSION_CANCEL);
	UNTIL(s.w, nth(&s, 0) == NULL || nth(&s, 0)->single.discards_since != 0);
	assert_null(nth(&s, 0));
	gate_world_free(s.w);
}

/* ---- pushes of our own ---- */

static void requests_of_clients_wait_before_pushes(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL,
	    "[origin c]\nserver = http://%a\nmax-http1-connections = 1\n"
	    "[route r]\nhost = example.com\norigin = c\n[preload p]\npath = /page\nadd = /style.css as=style\n");
	struct scene s = {.w = w, .site = &w->sites[0]};
	script_site(s.site);
	s.client = gate_client(w, NULL);
	struct gate_stream *page = gate_request(s.client, "GET", "example.com", "/page", true, "sec-fetch-mode", "navigate", NULL);
	ASKED(&s, 0, "GET /page");
	UNTIL(w, w->counters.pushes_open == 1);
	struct gate_stream *next = gate_get(s.client, "/next");
	gate_passes(w);
	answered(&s, page, 0);
	ASKED(&s, 0, "GET /next");
	assert_false(script_saw(script_origin(s.site, 0), "/style.css"));
	answered(&s, next, 0);
	ASKED(&s, 0, "GET /style.css");
	put(script_origin(s.site, 0), OK);
	UNTIL(w, w->counters.pushes_open == 0);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_connection_is_used_again),
	    cmocka_unit_test(requests_with_and_without_push_share_connections),
	    cmocka_unit_test(the_last_used_connection_is_used_first),
	    cmocka_unit_test(max_http1_connections_bounds_them),
	    cmocka_unit_test(a_request_that_waits_after_a_failed_connect_gets_another_one),
	    cmocka_unit_test(a_connection_whose_response_says_close_is_not_used_again),
	    cmocka_unit_test(idle_connections_end_before_the_origin_ends_them),
	    cmocka_unit_test(an_idle_connection_with_surplus_bytes_is_closed),
	    cmocka_unit_test(surplus_bytes_behind_a_response_end_the_connection),
	    cmocka_unit_test(a_request_in_the_loop_pass_of_a_fin_uses_another_connection),
	    cmocka_unit_test(bytes_that_come_before_a_request_leaves_are_not_its_response),
	    cmocka_unit_test(idempotent_requests_are_sent_again_when_the_connection_was_stale),
	    cmocka_unit_test(other_requests_are_not_sent_again),
	    cmocka_unit_test(a_request_whose_body_has_begun_to_leave_is_not_sent_again),
	    cmocka_unit_test(a_retry_uses_a_fresh_connection_and_is_the_last),
	    cmocka_unit_test(a_retry_takes_an_old_connection_when_no_other_may_be_opened),
	    cmocka_unit_test(a_response_that_has_begun_is_not_asked_for_again),
	    cmocka_unit_test(a_response_without_length_ends_with_the_connection),
	    cmocka_unit_test(a_response_that_is_cut_is_reset),
	    cmocka_unit_test(a_reset_never_ends_a_response_without_length),
	    cmocka_unit_test(an_unasked_101_is_a_502),
	    cmocka_unit_test(a_response_reaches_the_client_while_the_upload_goes_on),
	    cmocka_unit_test(a_response_before_a_reset_reaches_the_client),
	    cmocka_unit_test(an_origin_of_http10_gets_no_body_of_unknown_length),
	    cmocka_unit_test(an_expectation_is_met_once),
	    cmocka_unit_test(a_slow_client_stops_the_origin),
	    cmocka_unit_test(a_cancelled_request_ends_its_connection),
	    cmocka_unit_test(a_flood_of_cancellations_opens_few_connections),
	    cmocka_unit_test(an_upload_that_is_given_up_keeps_no_connection),
	    cmocka_unit_test(the_log_has_the_version_that_an_origin_answered_in),
	    cmocka_unit_test(requests_of_clients_wait_before_pushes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
