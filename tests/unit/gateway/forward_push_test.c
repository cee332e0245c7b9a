/* SPDX-License-Identifier: MIT */
/*
 * Pushes through a forward proxy: what an origin may promise, for whom, and that nothing of it reaches another client.
 * The origins speak HTTP/2 over TLS, with a certificate for test2.invalid and the names below it.
 */
#include "tests/support/gateway_world.h"

#include "tests/unit/conf/pem.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NAMES "127.0.0.1 test2.invalid a.test2.invalid b.test2.invalid other.invalid evil.test2.invalid\n"
#define EVERYTHING "allow = client=any address=any port=1-65535\n"

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

/* ---- too many refusals ---- */

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

#define SHAREABLE "cache-control", "public, max-age=60"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(origin_may_promise_for_its_own_authority),
	    cmocka_unit_test(origin_may_promise_for_names_of_its_certificate),
	    cmocka_unit_test(without_verification_a_certificate_says_nothing),
	    cmocka_unit_test(promise_is_refused_where_its_request_would_be),
	    cmocka_unit_test(routes_of_forward_mode_say_what_belongs_together),
	    cmocka_unit_test(one_destination_that_promises_too_much_loses_only_its_own_pushes),
	    cmocka_unit_test(rules_ask_where_the_request_goes),
	    cmocka_unit_test(held_responses_stay_with_their_client),
	    cmocka_unit_test(what_is_between_client_and_proxy_stays_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
