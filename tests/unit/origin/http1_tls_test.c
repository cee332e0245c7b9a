/* SPDX-License-Identifier: MIT */
/* Origins over TLS: what ALPN chooses, also when it chooses otherwise later, and an end while bytes wait. */
#include "tests/support/script_peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proxy/net/net_conn.h"
#include "tests/support/net_sys.h"
#include "tests/unit/conf/pem.h"

#define OK "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

struct scene {
	struct gate_world *w;
	struct gate_site *site;
	struct gate_peer *client;
	struct net_tls *http1, *h2; /* servers that offer this protocol alone */
	char chain[64], key[64];
};

static void write_file(char *name, size_t size, const char *text)
{
	snprintf(name, size, "/tmp/pushgate-alpn-XXXXXX");
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static struct net_tls *server_of(const struct scene *s, const char *alpn)
{
	char error[128];
	const struct net_certificate certificate = {s->chain, s->key};
	const struct net_tls_server_options o = {
	    .certificates = &certificate, .certificate_count = 1, .alpn = alpn};
	struct net_tls *tls = net_tls_server_new(&o, error, sizeof(error));
	assert_non_null(tls);
	return tls;
}

static void answer_204(struct gate_stream *s)
{
	gate_answer(s, 204, 0, true);
}

static void speak_http1(struct scene *s)
{
	s->site->options.tls = s->http1;
	script_site(s->site);
}

static void speak_http2(struct scene *s)
{
	s->site->options.tls = s->h2;
	s->site->adopt = NULL;
	s->site->serve = answer_204;
}

static struct scene scene(const char *route, const struct gate_peer_options *options)
{
	struct scene s = {.w = NULL};
	char more[512];
	snprintf(more, sizeof(more),
	    "[origin c]\nserver = https://%%a\ntls-verify = no\nmax-stream-window = 64K\n[route r]\nhost = example.com\norigin = c\n%s\n",
	    route);
	s.w = gate_world_new(NULL, NULL, NULL, more);
	write_file(s.chain, sizeof(s.chain), PEM_CERTIFICATE_1);
	write_file(s.key, sizeof(s.key), PEM_KEY_1);
	s.http1 = server_of(&s, "http/1.1");
	s.h2 = server_of(&s, "h2");
	s.site = &s.w->sites[0];
	s.client = gate_client(s.w, options);
	return s;
}

/* The hosts file gives addresses; no resolver answers. */
static struct scene named_scene(void)
{
	struct scene s = {.w = gate_world_new("resolver = 127.0.0.1:1", NULL, NULL,
			      "[origin c]\nserver = https://f.%a\ntls-verify = no\n[route r]\norigin = c\n")};
	gateway_set_hosts(s.w->gateway, SLICE("127.0.0.1 f.127.0.0.1\n"));
	write_file(s.chain, sizeof(s.chain), PEM_CERTIFICATE_1);
	write_file(s.key, sizeof(s.key), PEM_KEY_1);
	s.http1 = server_of(&s, "http/1.1");
	s.h2 = server_of(&s, "h2");
	s.site = &s.w->sites[0];
	s.site->options.tls = s.h2;
	s.client = gate_client(s.w, NULL);
	return s;
}

static void end(struct scene *s)
{
	gate_world_free(s->w);
	net_tls_free(s->http1);
	net_tls_free(s->h2);
	unlink(s->chain);
	unlink(s->key);
}

static void put(struct script_peer *p, const char *text)
{
	script_put(p, text, strlen(text));
}

static void done(struct scene *s, const struct gate_stream *x, unsigned status)
{
	UNTIL(s->w, x->is_over);
	assert_int_equal(x->status, status);
}

/* Each of the three gets a connection of its own, the n-th and the two behind it; they answer as the last. */
static void three_at_once(struct scene *s, size_t n)
{
	struct gate_stream *x[3];
	for (unsigned i = 0; i < 3; i++)
		x[i] = gate_get(s->client, "/three");
	for (unsigned i = 0; i < 3; i++)
		SCRIPT_SEES(script_origin(s->site, n + i), "GET /three HTTP/1.1\r\n");
	for (unsigned i = 0; i < 3; i++)
		put(script_origin(s->site, n + i),
		    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok");
	for (unsigned i = 0; i < 3; i++)
		done(s, x[i], 200);
	for (unsigned i = 0; i < 3; i++)
		UNTIL(s->w, script_origin(s->site, n + i)->ended);
}

static struct pool *pool_of(struct scene *s, enum pool_kind kind)
{
	return gate_pool(s->w, s->w->conf->origin_count - 1, kind);
}

static size_t conns_in(struct scene *s, enum pool_kind kind)
{
	size_t n = 0;
	list_for_each(&pool_of(s, kind)->conns, c, struct origin_conn, link) n++;
	return n;
}

/* ---- ALPN ---- */

static void what_alpn_chooses_may_change_with_each_connection(void **state)
{
	(void)state;
	struct scene s = scene("", NULL);
	speak_http1(&s);
	three_at_once(&s, 0);
	speak_http2(&s);
	struct gate_stream *x[3];
	for (unsigned i = 0; i < 3; i++)
		x[i] = gate_get(s.client, "/h2");
	for (unsigned i = 0; i < 3; i++)
		done(&s, x[i], 204);
	/* HTTP/2 has pushes, so that the next request goes to the other pool: and finds HTTP/1.1 again. */
	assert_true(pool_of(&s, POOL_PUSH)->known->capabilities & SESSION_TAKES_PUSHES);
	for (size_t i = 0; i < s.site->peer_count; i++)
		gate_shutdown(s.site->peers[i]);
	UNTIL(s.w, s.w->counters.upstream_connections_open == 0);
	speak_http1(&s);
	three_at_once(&s, 3);
	assert_int_equal(script_origins(s.site), 6);
	assert_int_equal(conns_in(&s, POOL_PUSH), 0);
	assert_int_equal(pool_of(&s, POOL_PUSH)->queued + pool_of(&s, POOL_PLAIN)->queued, 0);
	assert_false(pool_of(&s, POOL_PUSH)->known->capabilities & SESSION_TAKES_PUSHES);
	end(&s);
}

static void a_server_that_chooses_no_protocol_fails_each_connection(void **state)
{
	(void)state;
	struct scene s = scene("[origin d]\nserver = h2://%a\ntls-verify = no\n[route d]\nhost = d.example\norigin = d", NULL);
	struct net_tls *silent = server_of(&s, NULL);
	s.site->options.tls = silent;
	struct gate_stream *x = gate_request(s.client, "GET", "d.example", "/a", true, NULL);
	done(&s, x, 503);
	assert_true(s.w->counters.upstream_failed > 0);
	assert_int_equal(s.w->counters.upstream_failed, s.w->counters.upstream_connections);
	assert_int_equal(s.w->counters.causes[relay_cause_index(&relay_cause_UP_NO_ALPN)], 1);
	gate_world_free_gateway(s.w);
	s.site->options.tls = s.h2;
	end(&s);
	net_tls_free(silent);
}

static struct scene *demanding;

/* The next connection speaks HTTP/1.1. */
static void demand_http1(struct gate_stream *s)
{
	gate_reset_stream(s, SESSION_HTTP_1_1_REQUIRED);
	speak_http1(demanding);
}

static void demand_http1_at_its_site(struct gate_stream *s)
{
	gate_reset_stream(s, SESSION_HTTP_1_1_REQUIRED);
	s->peer->site->options.tls = demanding->http1;
	script_site(s->peer->site);
}

static struct script_peer *asked_over_http1(struct gate_site *site)
{
	bool is_there = script_origins(site) > 0 && script_saw(script_origin(site, 0), "GET /a HTTP/1.1\r\n");
	return is_there ? script_origin(site, 0) : NULL;
}

/* A server has not failed by that: it may be the next one too, and so may the other. */
static void servers_that_all_demand_http1_get_it(void **state)
{
	(void)state;
	struct scene s = scene("[origin d]\nserver = https://%a\nserver = https://%b\ntls-verify = no\n"
			       "balance = round-robin\n[route d]\nhost = d.example\norigin = d", NULL);
	demanding = &s;
	struct gate_site *sites = s.w->sites;
	for (unsigned i = 0; i < 2; i++) {
		sites[i].options.tls = s.h2;
		sites[i].serve = demand_http1_at_its_site;
	}
	struct gate_stream *x = gate_request(s.client, "GET", "d.example", "/a", true, NULL);
	UNTIL(s.w, x->is_over || asked_over_http1(&sites[0]) || asked_over_http1(&sites[1]));
	assert_false(x->is_over);
	put(asked_over_http1(&sites[0]) ? asked_over_http1(&sites[0]) : asked_over_http1(&sites[1]), OK);
	done(&s, x, 200);
	end(&s);
}

static void asks_over_http1(struct scene *s, const char *path)
{
	char line[64];
	struct gate_stream *x = gate_get(s->client, path);
	snprintf(line, sizeof(line), "GET %s HTTP/1.1\r\n", path);
	UNTIL(s->w, script_origins(s->site) > 0);
	SCRIPT_SEES(script_origin(s->site, 0), line);
	put(script_origin(s->site, 0), OK);
	done(s, x, 200);
}

/* RFC 9113 7. Behind that time the server may speak HTTP/2 again. */
static void a_server_that_demands_http1_gets_it_for_a_time(void **state)
{
	(void)state;
	struct scene s = scene("", NULL);
	demanding = &s;
	speak_http2(&s);
	s.site->serve = demand_http1;
	asks_over_http1(&s, "/a");
	asks_over_http1(&s, "/b");
	assert_int_equal(script_origins(s.site), 1);
	assert_int_equal(s.w->counters.retries_unprocessed, 1);
	struct pool *p = pool_of(&s, POOL_PLAIN);
	assert_true(pool_offers_http1_alone(p));
	p->known->http1_until = s.w->gateway->relay.now; /* the time is over */
	assert_false(pool_offers_http1_alone(p));
	script_abort(script_origin(s.site, 0));
	UNTIL(s.w, s.w->counters.upstream_connections_open == 0);
	speak_http2(&s);
	struct gate_stream *x = gate_get(s.client, "/c");
	done(&s, x, 204);
	end(&s);
}

static void reset_when_its_name_leads_elsewhere(struct gate_stream *s)
{
	gateway_set_hosts(s->peer->world->gateway, SLICE("127.0.0.9 f.127.0.0.1\n"));
	UNTIL(s->peer->world, gate_server(s->peer->world, 2)->at.is_leaving);
	gate_reset_stream(s, SESSION_HTTP_1_1_REQUIRED);
}

/* The log may name the first server when that has been freed. */
static void a_server_that_demands_http1_may_be_gone_before_the_request_is_over(void **state)
{
	(void)state;
	struct scene s = named_scene();
	struct gate_stream *x = gate_get(s.client, "/a");
	UNTIL(s.w, gate_find(s.w, "/a"));
	const char *text = gate_server(s.w, 2)->at.text;
	reset_when_its_name_leads_elsewhere(gate_find(s.w, "/a"));
	UNTIL(s.w, s.w->counters.retries_unprocessed == 1);
	const struct exchange *e = list_first(&s.w->gateway->relay.live, struct exchange, link);
	assert_true(exchange_is_queued(e));
	assert_ptr_not_equal(origin_attempt_of(e)->hop.address, text);
	gate_peer_abort(x->peer);
	UNTIL(s.w, list_is_empty(&s.w->gateway->relay.live));
	end(&s);
}

static void reset(struct gate_stream *s)
{
	gate_reset_stream(s, SESSION_INTERNAL_ERROR);
}

static void another_error_demands_nothing(void **state)
{
	(void)state;
	struct scene s = scene("", NULL);
	speak_http2(&s);
	s.site->serve = reset;
	done(&s, gate_get(s.client, "/a"), 502);
	assert_false(pool_offers_http1_alone(pool_of(&s, POOL_PLAIN)));
	s.site->serve = answer_204;
	done(&s, gate_get(s.client, "/b"), 204);
	assert_int_equal(s.w->counters.upstream_connections, 1);
	end(&s);
}

static struct gate_stream *call(struct scene *s, const char *path)
{
	return gate_request(s->client, "POST", "example.com", path, true, "content-type",
	    "application/grpc", "te", "trailers", NULL);
}

static void assert_call_failed(struct scene *s, const struct gate_stream *x, const char *grpc_status)
{
	struct slice got = SLICE("");
	done(s, x, 200);
	for (uint32_t i = 0; i < x->head->count; i++)
		if (slice_equal(x->head->fields[i].name, SLICE("grpc-status")))
			got = x->head->fields[i].value;
	assert_true(slice_equal(got, slice_of_string(grpc_status)));
}

/* A call needs HTTP/2, which is not offered to the server until that time is over. */
static void calls_fail_while_the_server_gets_http1(void **state)
{
	(void)state;
	struct scene s = scene("", NULL);
	demanding = &s;
	speak_http2(&s);
	s.site->serve = demand_http1;
	asks_over_http1(&s, "/a");
	assert_call_failed(&s, call(&s, "/call"), "12"); /* UNIMPLEMENTED */
	assert_false(script_saw(script_origin(s.site, 0), "/call"));
	pool_of(&s, POOL_PLAIN)->known->http1_until = s.w->gateway->relay.now;
	script_abort(script_origin(s.site, 0));
	UNTIL(s.w, s.w->counters.upstream_connections_open == 0);
	speak_http2(&s);
	done(&s, call(&s, "/later"), 204);
	end(&s);
}

static void refuse_call(struct gate_stream *s)
{
	if (strcmp(s->path, "/call") == 0)
		gate_reset_stream(s, SESSION_HTTP_1_1_REQUIRED);
	else
		gate_answer(s, 204, 0, true);
}

static void a_call_of_which_http1_is_demanded_fails_alone(void **state)
{
	(void)state;
	struct scene s = scene("", NULL);
	speak_http2(&s);
	s.site->serve = refuse_call;
	assert_call_failed(&s, call(&s, "/call"), "2"); /* UNKNOWN */
	assert_false(pool_offers_http1_alone(pool_of(&s, POOL_PLAIN)));
	done(&s, call(&s, "/other"), 204);
	done(&s, gate_get(s.client, "/page"), 204);
	assert_int_equal(s.site->peer_count, 1);
	end(&s);
}

/* ---- subscriptions ---- */

/* Before the first connection nobody knows that the origin has no pushes. */
static void a_subscription_to_an_origin_without_pushes_is_a_request_like_any_other(void **state)
{
	(void)state;
	struct scene s = scene("subscription = yes", NULL);
	speak_http1(&s);
	struct gate_stream *x[2];
	for (unsigned i = 0; i < 2; i++)
		x[i] = gate_get(s.client, "/feed");
	assert_int_equal(conns_in(&s, POOL_PUSH), 0);
	for (unsigned i = 0; i < 2; i++)
		SCRIPT_SEES(script_origin(s.site, i), "GET /feed HTTP/1.1\r\n");
	assert_int_equal(conns_in(&s, POOL_SUBSCRIPTIONS), 0);
	assert_int_equal(conns_in(&s, POOL_PLAIN), 2);
	assert_int_equal(s.w->counters.subscriptions, 0);
	assert_int_equal(s.w->counters.subscriptions_open, 0);
	for (unsigned i = 0; i < 2; i++)
		put(script_origin(s.site, i), OK);
	for (unsigned i = 0; i < 2; i++)
		done(&s, x[i], 200);
	/* Its connection is used again, which that of a subscription is not. */
	struct gate_stream *next = gate_get(s.client, "/feed");
	UNTIL(s.w, script_times(script_origin(s.site, 0), "GET /feed") +
			       script_times(script_origin(s.site, 1), "GET /feed") ==
		       3);
	put(script_origin(s.site, script_times(script_origin(s.site, 0), "GET /feed") == 2 ? 0 : 1), OK);
	done(&s, next, 200);
	assert_int_equal(script_origins(s.site), 2);
	end(&s);
}

/* ---- tunnels ---- */

static void asks_for_tunnel(struct scene *s, const char *answer)
{
	struct script_peer *client = script_client_mute(s->w, NULL, NULL);
	put(client, "GET /t HTTP/1.1\r\nhost: example.com\r\nconnection: upgrade\r\nupgrade: echo\r\n\r\n");
	SCRIPT_SEES(client, answer);
}

static void takes_tunnel(struct gate_stream *s)
{
	gate_answer(s, 200, 0, false);
}

/* What an origin can do may change: that it could carry no tunnels is not for ever. */
static void an_origin_that_learns_to_carry_tunnels_gets_them(void **state)
{
	(void)state;
	struct scene s = scene("upgrade = echo", NULL);
	speak_http2(&s);
	for (unsigned i = 0; i < 2; i++)
		asks_for_tunnel(&s, "HTTP/1.1 501 ");
	s.site->options.takes_tunnels = true;
	s.site->serve = takes_tunnel;
	asks_for_tunnel(&s, "HTTP/1.1 101 ");
	assert_int_equal(s.w->counters.tunnels_open, 1);
	end(&s);
}

/* ---- the end while bytes wait ---- */

/* What the client's window and ours take, and a last piece of which a part waits. */
#define BODY (65535u + 65536u + 4000u)

static int dead_fd = -1;

static ssize_t send_to_the_living(int fd, const void *buffer, size_t size, int flags)
{
	errno = ETIMEDOUT;
	return fd == dead_fd ? -1 : send(fd, buffer, size, flags);
}

static ssize_t sendmsg_to_the_living(int fd, const struct msghdr *message, int flags)
{
	errno = ETIMEDOUT;
	return fd == dead_fd ? -1 : sendmsg(fd, message, flags);
}

/* The network to the origin is gone, and so is the connection: what of the response has come is the client's, at the
 * client's own speed. It is complete if all of it has come. */
static void a_response_that_waits_for_its_client_outlives_its_connection(void **state)
{
	(void)state;
	for (int is_whole = 0; is_whole < 2; is_whole++) {
		const struct gate_peer_options slow = {.keeps_credit = true};
		struct scene s = scene("", &slow);
		speak_http1(&s);
		struct gate_stream *x = gate_request(s.client, "POST", "example.com", "/up", false, NULL);
		SCRIPT_SEES(script_origin(s.site, 0), "POST /up HTTP/1.1\r\n");
		struct script_peer *o = script_origin(s.site, 0);
		struct origin_conn *c = list_first(&pool_of(&s, POOL_PLAIN)->conns, struct origin_conn, link);
		char head[64];
		static char body[BODY];
		memset(body, 'b', sizeof(body));
		snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\ncontent-length: %u\r\n\r\n",
		    is_whole ? BODY : BODY + 1);
		put(o, head);
		script_put(o, body, sizeof(body));
		UNTIL(s.w, c->is_full && o->out_bytes == 0);
		dead_fd = c->net->fd;
		net_sys.send = send_to_the_living;
		net_sys.sendmsg = sendmsg_to_the_living;
		gate_more(x, 1000, false);
		UNTIL(s.w, c->transport == ORIGIN_TRANSPORT_ENDED);
		net_sys_reset();
		gate_passes(s.w);
		assert_true(session_is_full(c->session));
		assert_true(x->received < BODY);
		assert_false(x->was_reset);
		s.client->options.keeps_credit = false;
		gate_credit(x);
		UNTIL(s.w, x->ended || x->was_reset);
		assert_int_equal(x->status, 200);
		assert_int_equal(x->ended, is_whole);
		if (is_whole)
			assert_int_equal(x->received, BODY);
		UNTIL(s.w, s.w->counters.upstream_connections_open == 0);
		end(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_alpn_chooses_may_change_with_each_connection),
	    cmocka_unit_test(a_server_that_chooses_no_protocol_fails_each_connection),
	    cmocka_unit_test(a_server_that_demands_http1_gets_it_for_a_time),
	    cmocka_unit_test(a_server_that_demands_http1_may_be_gone_before_the_request_is_over),
	    cmocka_unit_test(servers_that_all_demand_http1_get_it),
	    cmocka_unit_test(another_error_demands_nothing),
	    cmocka_unit_test(calls_fail_while_the_server_gets_http1),
	    cmocka_unit_test(a_call_of_which_http1_is_demanded_fails_alone),
	    cmocka_unit_test(a_subscription_to_an_origin_without_pushes_is_a_request_like_any_other),
	    cmocka_unit_test(an_origin_that_learns_to_carry_tunnels_gets_them),
	    cmocka_unit_test(a_response_that_waits_for_its_client_outlives_its_connection),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
