/* SPDX-License-Identifier: MIT */
/*
 * Pushes through a forward proxy: what an origin may promise, for whom, and that nothing of it reaches another client.
 * The origins speak HTTP/2 over TLS, with a certificate for test2.invalid and the names below it.
 */
#include "tests/support/script_peer.h"

#include "proxy/remembered/remembered_private.h"
#include "tests/unit/conf/pem.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAMES "127.0.0.1 test2.invalid a.test2.invalid b.test2.invalid other.invalid evil.test2.invalid\n"
#define EVERYTHING "allow = client=any address=any port=1-65535\n"
#define SHAREABLE "cache-control", "public, max-age=60"

struct scene {
	struct gate_world *w;
	struct net_tls *tls;
	struct gate_peer *client;
	char chain[64], key[64];
	char authority[2][64]; /* a.test2.invalid at the ports of the two sites */
};

static void write_file(char *name, size_t size, const char *text)
{
	snprintf(name, size, "/tmp/pushgate-forward-XXXXXX");
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static const struct gate_peer_options https = {.scheme = "https"};

/* rules: of the listener; more: sections. */
static struct scene scene_new(
    const char *server, const char *listen, const char *origin, const char *rules, const char *more)
{
	struct scene s = {.w = NULL};
	char listener[256], text[2048], error[128];
	write_file(s.chain, sizeof(s.chain), PEM_CERTIFICATE_2);
	write_file(s.key, sizeof(s.key), PEM_KEY_2);
	const struct net_certificate certificate = {s.chain, s.key};
	const struct net_tls_server_options o = {
	    .certificates = &certificate, .certificate_count = 1, .alpn = "h2"};
	s.tls = net_tls_server_new(&o, error, sizeof(error));
	assert_non_null(s.tls);
	snprintf(listener, sizeof(listener), "mode = forward\naccess = rules\n%s", listen);
	bool verifies = !strstr(origin, "tls-verify");
	snprintf(text, sizeof(text), "[access rules]\n%s[origin f]\nserver = forward:\n%s\n%s%s\n[route f]\norigin = f\n%s",
	    rules, origin, verifies ? "tls-ca = " : "", verifies ? s.chain : "", more);
	s.w = gate_world_new(server, listener, NULL, text);
	gateway_set_hosts(s.w->gateway, SLICE(NAMES));
	for (size_t i = 0; i < 2; i++) {
		s.w->sites[i].options.tls = s.tls;
		snprintf(s.authority[i], sizeof(s.authority[i]), "a.test2.invalid:%u", s.w->sites[i].port);
	}
	s.client = gate_client(s.w, &https);
	return s;
}

static struct scene scene_of(const char *rules)
{
	return scene_new(NULL, "", "", rules, "");
}

static void end(struct scene *s)
{
	gate_world_free(s->w);
	net_tls_free(s->tls);
	unlink(s->chain);
	unlink(s->key);
}

/* The request of a page, at the origin. */
static struct gate_stream *page(struct scene *s, struct gate_peer *client, const char *path)
{
	struct gate_stream *x = gate_request(client, "GET", s->authority[0], path, true, NULL);
	UNTIL(s->w, x->is_over || gate_find(s->w, path));
	if (x->is_over)
		fail_msg("%u %s", x->status, x->status_error);
	return gate_find(s->w, path);
}

static uint64_t dropped(const struct scene *s, const struct policy_reason *reason)
{
	return s->w->counters.push[POLICY_RELAYED][POLICY_DROP][policy_reason_position(reason)];
}

static void refused(struct scene *s, struct gate_stream *promise, const struct policy_reason *reason)
{
	uint64_t before = dropped(s, reason);
	assert_non_null(promise);
	UNTIL(s->w, promise->is_over);
	assert_true(promise->was_reset);
	assert_int_equal(dropped(s, reason), before + 1);
	assert_null(gate_find_at(s->client, promise->path));
}

static struct gate_stream *taken(struct scene *s, struct gate_stream *promise)
{
	assert_non_null(promise);
	UNTIL(s->w, promise->is_over || gate_find_at(s->client, promise->path));
	struct gate_stream *push = gate_find_at(s->client, promise->path);
	if (!push)
		fail_msg("refused: %s", promise->path);
	assert_string_equal(push->scheme, "https");
	assert_string_equal(push->authority, promise->authority);
	gate_answer(promise, 200, 10, true);
	UNTIL(s->w, push->is_over);
	assert_int_equal(push->received, 10);
	return push;
}

static struct gate_stream *promise(
    const struct scene *s, struct gate_stream *at, const char *scheme, const char *host, const char *path)
{
	char authority[96];
	snprintf(authority, sizeof(authority), "%s:%u", host, s->w->sites[0].port);
	return gate_promise(at, scheme, authority, path);
}

/* ---- which promises ---- */

/* covers: P-fwd-own P-recv-authority */
static void origin_may_promise_for_its_own_authority(void **state)
{
	(void)state;
	struct scene s = scene_of(EVERYTHING);
	struct gate_stream *at = page(&s, s.client, "/page");
	taken(&s, gate_promise(at, "https", s.authority[0], "/own"));
	refused(&s, gate_promise(at, "http", s.authority[0], "/http"), &policy_reason_AUTHORITY);
	refused(&s, gate_promise(at, "https", "a.test2.invalid", "/port"), &policy_reason_AUTHORITY);
	refused(&s, gate_promise(at, "https", s.authority[1], "/other-port"), &policy_reason_AUTHORITY);
	end(&s);
}

/* covers: P-fwd-certificate */
static void origin_may_promise_for_names_of_its_certificate(void **state)
{
	(void)state;
	struct scene s = scene_of(EVERYTHING);
	struct gate_stream *at = page(&s, s.client, "/page");
	taken(&s, promise(&s, at, "https", "b.test2.invalid", "/b"));
	taken(&s, promise(&s, at, "https", "test2.invalid", "/parent"));
	refused(&s, promise(&s, at, "https", "other.invalid", "/other"), &policy_reason_AUTHORITY);
	refused(&s, promise(&s, at, "https", "deep.b.test2.invalid", "/deep"), &policy_reason_AUTHORITY);
	refused(&s, promise(&s, at, "https", "127.0.0.1", "/address"), &policy_reason_AUTHORITY);
	refused(&s, gate_promise(at, "https", "b.test2.invalid", "/port"), &policy_reason_AUTHORITY);
	end(&s);
}

/* Its certificate is not looked through without end.
 * covers: P-fwd-certificate */
static void origin_may_promise_for_some_other_hosts(void **state)
{
	(void)state;
	struct scene s = scene_of(EVERYTHING);
	struct gate_stream *at = page(&s, s.client, "/page");
	char host[64], path[16];
	taken(&s, promise(&s, at, "https", "b.test2.invalid", "/first"));
	for (unsigned i = 1; i < LIMIT_PROMISED_HOSTS; i++) {
		snprintf(host, sizeof(host), "h%u.test2.invalid", i);
		snprintf(path, sizeof(path), "/%u", i);
		taken(&s, promise(&s, at, "https", host, path));
	}
	refused(&s, promise(&s, at, "https", "one-more.test2.invalid", "/one-more"), &policy_reason_AUTHORITY);
	taken(&s, promise(&s, at, "https", "b.test2.invalid", "/known"));
	taken(&s, gate_promise(at, "https", s.authority[0], "/own"));
	end(&s);
}

/* covers: P-fwd-certificate */
static void without_verification_a_certificate_says_nothing(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, "", "tls-verify = no", EVERYTHING, "");
	struct gate_stream *at = page(&s, s.client, "/page");
	taken(&s, gate_promise(at, "https", s.authority[0], "/own"));
	refused(&s, promise(&s, at, "https", "b.test2.invalid", "/b"), &policy_reason_AUTHORITY);
	end(&s);
}

/* ---- access ---- */

/* covers: P-fwd-access P-recv-access */
static void promise_is_refused_where_its_request_would_be(void **state)
{
	(void)state;
	struct scene s = scene_of("deny = path=/secret/*\ndeny = host=evil.test2.invalid\n"
				  "allow = host=b.test2.invalid client=any address=10.0.0.0/8 port=1-65535\n"
				  "deny = host=b.test2.invalid\n" EVERYTHING);
	struct gate_stream *at = page(&s, s.client, "/page");
	refused(&s, gate_promise(at, "https", s.authority[0], "/secret/a"), &policy_reason_ACCESS_DENIED);
	refused(&s, promise(&s, at, "https", "evil.test2.invalid", "/evil"), &policy_reason_ACCESS_DENIED);
	/* It may be asked for there, but not at the address that this connection leads to. */
	refused(&s, promise(&s, at, "https", "b.test2.invalid", "/b"), &policy_reason_ACCESS_DENIED);
	taken(&s, gate_promise(at, "https", s.authority[0], "/open/a"));
	end(&s);
}

/* covers: P-fwd-routes */
static void routes_of_forward_mode_say_what_belongs_together(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, "", "", EVERYTHING,
	    "[origin g]\nserver = forward:\n[route g]\nhost = b.test2.invalid\norigin = g\n");
	struct gate_stream *at = page(&s, s.client, "/page");
	refused(&s, promise(&s, at, "https", "b.test2.invalid", "/b"), &policy_reason_AUTHORITY);
	taken(&s, promise(&s, at, "https", "test2.invalid", "/parent"));
	end(&s);
}

/* A link of a page to another host: the rule wants it, the listener's rules decide.
 * covers: P-fwd-offers P-recv-access */
static void own_offers_are_for_what_the_client_may_ask_for(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, "", "",
	    "deny = host=evil.test2.invalid\ndeny = path=/secret/*\n"
	    "allow = host=b.test2.invalid client=any address=10.0.0.0/8 port=1-65535\ndeny = host=b.test2.invalid\n" EVERYTHING,
	    "[push all]\ncross-origin = yes\naction = forward\n[preload p]\nlink = yes\n");
	struct gate_stream *x = gate_request(s.client, "GET", s.authority[0], "/page", true, NULL);
	UNTIL(s.w, gate_find(s.w, "/page"));
	char links[512];
	unsigned port = s.w->sites[0].port;
	snprintf(links, sizeof(links),
	    "</own>; rel=preload, </secret/a>; rel=preload, <https://test2.invalid:%u/other>; rel=preload, "
	    "<https://evil.test2.invalid:%u/evil>; rel=preload, <https://b.test2.invalid:%u/b>; rel=preload",
	    port, port, port);
	gate_answer_fields(gate_find(s.w, "/page"), 200, true, "link", links, NULL);
	UNTIL(s.w, x->is_over && gate_find(s.w, "/own") && gate_find(s.w, "/other"));
	/* What its address forbids is found out when it is requested. */
	UNTIL(s.w, gate_find_at(s.client, "/b") && gate_find_at(s.client, "/b")->is_over);
	assert_true(gate_find_at(s.client, "/b")->was_reset);
	assert_null(gate_find_at(s.client, "/evil"));
	assert_null(gate_find_at(s.client, "/secret/a"));
	assert_null(gate_find(s.w, "/b"));
	size_t denied = policy_reason_position(&policy_reason_ACCESS_DENIED);
	assert_int_equal(s.w->counters.push[POLICY_LINK][POLICY_DROP][denied], 2);
	assert_string_equal(gate_find(s.w, "/own")->authority, s.authority[0]);
	end(&s);
}

/* ---- users ---- */

/* base64 of "alice:a" and "bob:b". */
#define ALICE "Basic YWxpY2U6YQ=="
#define BOB "Basic Ym9iOmI="
#define USERS "users = users\nask = method=GET\n" EVERYTHING

static struct gate_stream *page_of(struct scene *s, const char *path, const char *credentials)
{
	size_t asked = s->w->question_count;
	struct gate_stream *x =
	    gate_request(s->client, "GET", s->authority[0], path, true, "proxy-authorization", credentials, NULL);
	UNTIL(s->w, x->is_over || gate_find(s->w, path) || s->w->question_count > asked);
	if (s->w->question_count > asked)
		assert_true(gateway_password_answer(s->w->gateway, s->w->questions[asked].id, true));
	UNTIL(s->w, x->is_over || gate_find(s->w, path));
	assert_false(x->is_over);
	return gate_find(s->w, path);
}

static void rules_ask_who_the_client_is(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, "", "", USERS, "[push a]\nuser = alice\naction = drop\n[push b]\nuser = *\naction = forward\n");
	/* Nothing that her origins push could be of use. */
	assert_int_equal(page_of(&s, "/1", ALICE)->peer->enable_push, 0);
	taken(&s, gate_promise(page_of(&s, "/2", BOB), "https", s.authority[0], "/b"));
	end(&s);
}

/* Two users of one connection are two clients.
 * covers: P-fwd-users R564 */
static void users_of_a_connection_share_nothing(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, "", "", USERS, "");
	struct gate_stream *p = gate_promise(page_of(&s, "/1", ALICE), "https", s.authority[0], "/a");
	gate_answer_fields(p, 200, true, SHAREABLE, NULL);
	UNTIL(s.w, gate_find_at(s.client, "/a") && gate_find_at(s.client, "/a")->is_over);
	struct gate_stream *again = gate_promise(page_of(&s, "/2", ALICE), "https", s.authority[0], "/a");
	UNTIL(s.w, again->is_over);
	assert_int_equal(dropped(&s, &policy_reason_KNOWN), 1);
	size_t pushes = s.client->stream_count;
	p = gate_promise(page_of(&s, "/3", BOB), "https", s.authority[0], "/a");
	UNTIL(s.w, p->is_over || s.client->stream_count > pushes + 1);
	assert_false(p->is_over);
	end(&s);
	s = scene_new("default-action = hold", "", "", USERS, "");
	p = gate_promise(page_of(&s, "/1", ALICE), "https", s.authority[0], "/held");
	gate_answer_fields(p, 200, true, SHAREABLE, NULL);
	gate_passes(s.w);
	page_of(&s, "/held", BOB); /* it gets to the origin */
	struct gate_stream *x =
	    gate_request(s.client, "GET", s.authority[0], "/held", true, "proxy-authorization", ALICE, NULL);
	UNTIL(s.w, x->is_over);
	assert_int_equal(x->status, 200);
	end(&s);
}

/* ---- too many refusals ---- */

/* covers: P-fwd-refusals */
static void one_destination_that_promises_too_much_loses_only_its_own_pushes(void **state)
{
	(void)state;
	struct scene s = scene_new("reset-rate = 5\npromise-refusals = 1000", "", "", EVERYTHING, "");
	struct gate_stream *at = page(&s, s.client, "/page");
	for (unsigned i = 0; i < 10; i++)
		refused(&s, gate_promise(at, "http", s.authority[0], "/http"), &policy_reason_AUTHORITY);
	assert_int_equal(at->peer->enable_push, 1);
	struct gate_stream *next = page(&s, s.client, "/next");
	assert_int_equal(next->peer->enable_push, 0);
	struct gate_stream *x = gate_request(s.client, "GET", s.authority[1], "/other", true, NULL);
	UNTIL(s.w, x->is_over || gate_find(s.w, "/other"));
	assert_int_equal(gate_find(s.w, "/other")->peer->enable_push, 1);
	end(&s);
}

/* ---- rules ---- */

static void rules_ask_where_the_request_goes(void **state)
{
	(void)state;
	struct scene s = scene_new(NULL, "", "", EVERYTHING,
	    "[push strip]\ndestination = *.test2.invalid:443\naction = drop\n"
	    "[push keep]\ndestination = *.test2.invalid\npromised-path = /keep\naction = forward\n"
	    "[push none]\ndestination = a.test2.invalid\naction = drop\n");
	struct gate_stream *at = page(&s, s.client, "/page");
	taken(&s, gate_promise(at, "https", s.authority[0], "/keep"));
	refused(&s, gate_promise(at, "https", s.authority[0], "/strip"), &policy_reason_RULE);
	end(&s);
}

/* ---- nothing is shared ---- */

static struct gate_stream *get(struct scene *s, struct gate_peer *client, const char *path)
{
	struct gate_stream *x = gate_request(client, "GET", s->authority[0], path, true, NULL);
	UNTIL(s->w, x->is_over);
	return x;
}

static void held(struct scene *s, const char *path)
{
	struct gate_stream *at = page(s, s->client, "/page");
	struct gate_stream *p = gate_promise(at, "https", s->authority[0], path);
	gate_answer_fields(p, 200, false, SHAREABLE, NULL);
	gate_more(p, 10, true);
	UNTIL(s->w, p->is_over);
	gate_passes(s->w);
}

static void answer(struct gate_stream *s)
{
	if (strcmp(s->path, "/page") != 0)
		gate_answer(s, 204, 0, true);
}

/* covers: P-fwd-alone P-hold-shared */
static void held_responses_stay_with_their_client(void **state)
{
	(void)state;
	static const char server[] = "hold-shared = yes\ndefault-action = hold";
	struct scene s = scene_new(server, "", "", EVERYTHING, "");
	s.w->sites[0].serve = answer;
	held(&s, "/held");
	struct gate_peer *other = gate_client(s.w, &https);
	assert_int_equal(get(&s, other, "/held")->status, 204);
	assert_int_equal(get(&s, s.client, "/held")->status, 200);
	end(&s);
	/* Unless the listener says otherwise. */
	s = scene_new(server, "shares = yes", "", EVERYTHING, "");
	s.w->sites[0].serve = answer;
	held(&s, "/held");
	other = gate_client(s.w, &https);
	assert_int_equal(get(&s, other, "/held")->status, 200);
	end(&s);
}

/* What came from an address that only she may reach is not for him, though their clients share.
 * covers: P-fwd-alone */
static void held_responses_are_judged_by_where_they_came_from(void **state)
{
	(void)state;
	struct scene s = scene_new("hold-shared = yes\ndefault-action = hold", "shares = yes", "",
	    "users = users\nask = all\nallow = user=alice client=any address=127.0.0.0/8 port=1-65535\n"
	    "allow = user=bob client=any port=1-65535\n",
	    "");
	struct gate_stream *p = gate_promise(page_of(&s, "/page", ALICE), "https", s.authority[0], "/held");
	gate_answer_fields(p, 200, false, SHAREABLE, NULL);
	gate_more(p, 10, true);
	UNTIL(s.w, p->is_over);
	gate_passes(s.w);
	struct gate_stream *x;
	s.client = gate_client(s.w, &https);
	x = gate_request(s.client, "GET", s.authority[0], "/held", true, "proxy-authorization", BOB, NULL);
	UNTIL(s.w, s.w->question_count > 1);
	assert_true(gateway_password_answer(s.w->gateway, s.w->questions[1].id, true));
	UNTIL(s.w, x->is_over);
	assert_int_equal(x->status, 403);
	s.client = gate_client(s.w, &https);
	x = gate_request(s.client, "GET", s.authority[0], "/held", true, "proxy-authorization", ALICE, NULL);
	UNTIL(s.w, x->is_over);
	assert_int_equal(x->status, 200);
	end(&s);
}

/* Two routes with fields of their own share nothing, on one connection and where clients share.
 * covers: P-fwd-alone P-hold-private */
static void held_responses_stay_with_the_fields_that_their_route_sets(void **state)
{
	(void)state;
	static const char routes[] = "field = X-Tenant: a\nrequest-set = X-Api-Key: KEY-A\n"
				     "[route b]\norigin = f\nfield = X-Tenant: b\nrequest-set = X-Api-Key: KEY-B\n";
	static const char server[] = "hold-shared = yes\ndefault-action = hold";
	for (unsigned shares = 0; shares < 2; shares++) {
		struct scene s = scene_new(server, shares ? "shares = yes" : "", "", EVERYTHING, routes);
		s.w->sites[0].serve = answer;
		gate_request(s.client, "GET", s.authority[0], "/page", true, "x-tenant", "a", NULL);
		UNTIL(s.w, gate_find(s.w, "/page"));
		struct gate_stream *p = gate_promise_fields(
		    gate_find(s.w, "/page"), "https", s.authority[0], "/held", "x-tenant", "a", NULL);
		gate_answer_fields(p, 200, false, "cache-control", "max-age=60", NULL);
		gate_more(p, 10, true);
		UNTIL(s.w, p->is_over);
		gate_passes(s.w);
		struct gate_peer *asker = shares ? gate_client(s.w, &https) : s.client;
		static const struct {
			const char *tenant;
			unsigned status;
		} rows[] = {{"b", 204}, {"a", 200}};
		for (size_t i = 0; i < 2; i++) {
			struct gate_stream *x =
			    gate_request(asker, "GET", s.authority[0], "/held", true, "x-tenant", rows[i].tenant, NULL);
			UNTIL(s.w, x->is_over);
			assert_int_equal(x->status, rows[i].status);
		}
		end(&s);
	}
}

/* A page that is navigated to, and a resource that is asked for after it. */
static void browse(struct scene *s)
{
	char referer[96];
	snprintf(referer, sizeof(referer), "https://%s/index", s->authority[0]);
	struct gate_stream *x = gate_request(
	    s->client, "GET", s->authority[0], "/index", true, "sec-fetch-mode", "navigate", NULL);
	UNTIL(s->w, gate_find(s->w, "/index"));
	struct gate_stream *at = gate_find(s->w, "/index");
	struct gate_stream *p = gate_promise(at, "https", s->authority[0], "/a.css");
	gate_answer_fields(p, 200, true, SHAREABLE, "etag", "\"1\"", NULL);
	gate_answer_fields(at, 200, true, "etag", "\"1\"", "content-type", "text/html", NULL);
	UNTIL(s->w, x->is_over && gate_find_at(s->client, "/a.css") && gate_find_at(s->client, "/a.css")->is_over);
	x = gate_request(s->client, "GET", s->authority[0], "/b.css", true, "referer", referer, NULL);
	UNTIL(s->w, gate_find(s->w, "/b.css"));
	gate_answer(gate_find(s->w, "/b.css"), 200, 5, true);
	UNTIL(s->w, x->is_over);
}

/* covers: P-fwd-alone */
static void nothing_is_remembered_of_clients(void **state)
{
	(void)state;
	for (unsigned shares = 0; shares < 2; shares++) {
		struct scene s = scene_new(
		    NULL, shares ? "shares = yes" : "", "", EVERYTHING, "[preload p]\nremembered = apply\n");
		browse(&s);
		assert_int_equal(s.w->gateway->lessons.memory->page_count, shares);
		assert_int_equal(s.w->gateway->clients.validators.entries != NULL, shares);
		end(&s);
	}
}

/* covers: P-fwd-alone */
static void nothing_that_is_remembered_is_offered_to_clients(void **state)
{
	(void)state;
	for (unsigned shares = 0; shares < 2; shares++) {
		struct scene s = scene_new(
		    NULL, shares ? "shares = yes" : "", "", EVERYTHING, "[preload p]\nremembered = apply\n");
		char line[1024];
		snprintf(line, sizeof(line),
		    "{\"scheme\":\"https\",\"authority\":\"%s\",\"path\":\"/index\",\"vary\":\"\",\"rule\":\"=*\","
		    "\"query\":\"\",\"variant\":\"\",\"known\":9,\"viewed\":1,\"views\":3,\"resources\":[{\"target\":\"/b.css\","
		    "\"rel\":\"preload\",\"as\":\"style\",\"crossorigin\":\"\",\"attributes\":\"\",\"sources\":[\"link\"],"
		    "\"known\":9,\"named\":1,\"offered\":0,\"used\":0,\"failed\":0}]}",
		    s.authority[0]);
		assert_null(remembered_read_page(
		    gateway_remembered(s.w->gateway), slice_of_string(line), 0, s.w->gateway->relay.now));
		struct gate_stream *x = gate_request(s.client, "GET", s.authority[0], "/index", true, "sec-fetch-dest",
		    "document", NULL);
		UNTIL(s.w, gate_find(s.w, "/index"));
		assert_false(x->is_over);
		assert_int_equal(s.w->counters.pushes_offered, shares);
		end(&s);
	}
}

/* The diary of a connection is its own client's. */
static void client_is_not_pushed_what_it_has(void **state)
{
	(void)state;
	struct scene s = scene_of(EVERYTHING);
	browse(&s);
	struct gate_stream *at = page(&s, s.client, "/page");
	struct gate_stream *again = gate_promise(at, "https", s.authority[0], "/a.css");
	UNTIL(s.w, again->is_over);
	assert_int_equal(dropped(&s, &policy_reason_KNOWN), 1);
	struct gate_peer *other = gate_client(s.w, &https);
	at = page(&s, other, "/other");
	again = gate_promise(at, "https", s.authority[0], "/a.css");
	UNTIL(s.w, again->is_over || gate_find_at(other, "/a.css"));
	assert_false(again->is_over);
	end(&s);
}

static const char *field(const struct gate_stream *s, const char *name);

/* covers: P-fwd-alone */
static void no_cookie_is_set_and_none_is_taken(void **state)
{
	(void)state;
	char key[64], server[256];
	write_file(key, sizeof(key), "0123456789abcdef0123456789abcdef");
	snprintf(server, sizeof(server), "diary-cookie = seen\ndiary-cookie-key = %s", key);
	for (unsigned shares = 0; shares < 2; shares++) {
		struct scene s = scene_new(server, shares ? "shares = yes" : "", "", EVERYTHING, "");
		browse(&s);
		struct gate_stream *x = gate_request(s.client, "GET", s.authority[0], "/next", true, "sec-fetch-mode",
		    "navigate", "cookie", "seen=1; own=2", NULL);
		UNTIL(s.w, gate_find(s.w, "/next"));
		assert_string_equal(field(gate_find(s.w, "/next"), "cookie"), shares ? "own=2" : "seen=1; own=2");
		gate_answer(gate_find(s.w, "/next"), 200, 5, true);
		UNTIL(s.w, x->is_over);
		bool is_set = field(gate_find_at(s.client, "/index"), "set-cookie") || field(x, "set-cookie");
		assert_int_equal(is_set, shares);
		end(&s);
	}
	unlink(key);
}

/* ---- fields ---- */

static const char *field(const struct gate_stream *s, const char *name)
{
	static char text[128];
	for (uint32_t i = 0; s->head && i < s->head->count; i++) {
		if (!slice_equal(s->head->fields[i].name, slice_of_string(name)))
			continue;
		snprintf(text, sizeof(text), "%.*s", SLICE_ARG(s->head->fields[i].value));
		return text;
	}
	return NULL;
}

/* covers: R347 R498 R563 */
static void what_is_between_client_and_proxy_stays_there(void **state)
{
	(void)state;
	struct scene s = scene_of(EVERYTHING);
	struct gate_stream *x = gate_request(s.client, "GET", s.authority[0], "/a", true, "proxy-authorization", "Basic YTpi",
	    "forwarded", "for=192.0.2.1", "x-forwarded-for", "192.0.2.1", "x-own", "1", NULL);
	UNTIL(s.w, gate_find(s.w, "/a"));
	struct gate_stream *at = gate_find(s.w, "/a");
	assert_null(field(at, "proxy-authorization"));
	assert_null(field(at, "forwarded"));
	assert_null(field(at, "x-forwarded-for"));
	assert_string_equal(field(at, "x-own"), "1");
	gate_answer_fields(at, 407, true, "proxy-authenticate", "Basic realm=\"x\"", "x-own", "2", NULL);
	UNTIL(s.w, x->is_over);
	assert_int_equal(x->status, 502);
	assert_null(field(x, "proxy-authenticate"));
	assert_string_equal(field(x, "x-own"), "2");
	assert_non_null(strstr(field(x, "proxy-status"), "received-status=407"));
	end(&s);
}

static void put(struct script_peer *p, const char *text)
{
	script_put(p, text, strlen(text));
}

/* The same in HTTP/1.1 on both sides, where trailers may have such fields too. */
static void it_stays_there_in_http1_too(void **state)
{
	(void)state;
	struct scene s = scene_of(EVERYTHING);
	char request[512];
	s.w->sites[1].options.tls = NULL;
	script_site(&s.w->sites[1]);
	struct script_peer *c = script_client_mute(s.w, NULL, NULL);
	snprintf(request, sizeof(request),
	    "GET http://%s/a HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic YTpi\r\nProxy-Connection: keep-alive\r\n"
	    "Proxy: http://evil.invalid\r\nX-Forwarded-For: 192.0.2.1\r\nX-Real-IP: 192.0.2.1\r\nForwarded: for=192.0.2.1\r\n"
	    "X-Own: 1\r\n\r\n",
	    s.authority[1], s.authority[1]);
	put(c, request);
	UNTIL(s.w, script_origins(&s.w->sites[1]) == 1);
	struct script_peer *at = script_origin(&s.w->sites[1], 0);
	SCRIPT_SEES(at, "\r\n\r\n");
	assert_true(script_saw(at, "GET /a HTTP/1.1\r\n"));
	assert_true(script_saw(at, "x-own: 1\r\n"));
	static const char *const gone[] = {"proxy", "forwarded", "real-ip", "192.0.2.1", "YTpi"};
	for (size_t i = 0; i < sizeof(gone) / sizeof(gone[0]); i++)
		assert_false(script_saw(at, gone[i]));
	put(at, "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=x\r\nProxy-Connection: close\r\n"
		"Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\nProxy-Authentication-Info: a=b\r\nX-Own: 2\r\n\r\n");
	SCRIPT_SEES(c, "x-own: 2\r\n\r\n");
	assert_true(script_saw(c, "HTTP/1.1 502 Bad Gateway\r\n"));
	assert_true(script_saw(c, "received-status=407"));
	assert_false(script_saw(c, "roxy-auth"));
	assert_false(script_saw(c, "roxy-connection"));
	end(&s);
}

/* ---- what is sent again ---- */

static void refuse(struct gate_stream *s)
{
	gate_reset_stream(s, SESSION_REFUSED_STREAM);
}

/* All destinations of an origin share its retry-budget: one that refuses everything must not use it up. */
static void a_host_that_refuses_all_takes_nothing_from_the_budget(void **state)
{
	(void)state;
	struct scene s = scene_of(EVERYTHING);
	s.w->sites[0].serve = refuse;
	struct gate_stream *x = gate_request(s.client, "GET", s.authority[0], "/", true, NULL);
	UNTIL(s.w, x->is_over);
	assert_int_equal(x->status, 503);
	assert_int_equal(gate_seen(&s.w->sites[0], "/"), 2);
	assert_int_equal(s.w->counters.retries_unprocessed, 1);
	assert_int_equal(s.w->counters.retries_over_budget, 0);
	end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(origin_may_promise_for_its_own_authority),
	    cmocka_unit_test(origin_may_promise_for_names_of_its_certificate),
	    cmocka_unit_test(origin_may_promise_for_some_other_hosts),
	    cmocka_unit_test(without_verification_a_certificate_says_nothing),
	    cmocka_unit_test(promise_is_refused_where_its_request_would_be),
	    cmocka_unit_test(routes_of_forward_mode_say_what_belongs_together),
	    cmocka_unit_test(own_offers_are_for_what_the_client_may_ask_for),
	    cmocka_unit_test(rules_ask_who_the_client_is),
	    cmocka_unit_test(users_of_a_connection_share_nothing),
	    cmocka_unit_test(one_destination_that_promises_too_much_loses_only_its_own_pushes),
	    cmocka_unit_test(rules_ask_where_the_request_goes),
	    cmocka_unit_test(held_responses_stay_with_their_client),
	    cmocka_unit_test(held_responses_are_judged_by_where_they_came_from),
	    cmocka_unit_test(held_responses_stay_with_the_fields_that_their_route_sets),
	    cmocka_unit_test(nothing_is_remembered_of_clients),
	    cmocka_unit_test(nothing_that_is_remembered_is_offered_to_clients),
	    cmocka_unit_test(client_is_not_pushed_what_it_has),
	    cmocka_unit_test(no_cookie_is_set_and_none_is_taken),
	    cmocka_unit_test(what_is_between_client_and_proxy_stays_there),
	    cmocka_unit_test(it_stays_there_in_http1_too),
	    cmocka_unit_test(a_host_that_refuses_all_takes_nothing_from_the_budget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
