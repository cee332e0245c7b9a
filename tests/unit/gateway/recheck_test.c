/* SPDX-License-Identifier: MIT */
/* access-recheck: what an older worker asks about its tunnels, what becomes of the answers, and how a newer one judges. */
#include "tests/support/gateway_world.h"

#include "proxy/gateway/gateway_private.h"
#include <stdio.h>

#define ACCESS "[access lab]\nallow = address=127.0.0.0/8 port=1024-65535\n"
#define ASKED_AT_ONCE 32u

struct scene {
	struct gate_world *w;
	char to[64];
	struct gate_peer *peer;
	/* The questions. */
	struct gateway_tunnel asked[128];
	size_t asked_count;
	bool is_full; /* takes no question now */
};

static struct scene *scene(void)
{
	static struct scene s;
	s = (struct scene){.w = gate_world_new(NULL, "mode = forward\naccess = lab", NULL,
			       ACCESS "[origin world]\nserver = forward:\n[route r]\norigin = world\n")};
	net_address_format(gate_site_address(s.w, 0), s.to, sizeof(s.to));
	s.peer = gate_client(s.w, NULL);
	return &s;
}

/* Ends that stay open: nothing closes them before the program's end. */
static void keep(struct gate_site *site, int fd)
{
	(void)site, (void)fd;
}

static struct gate_stream *opens(struct scene *s)
{
	struct gate_stream *stream;
	s->w->sites[0].adopt = keep;
	stream = gate_connect(s->peer, s->to);
	UNTIL(s->w, stream->status);
	assert_int_equal(stream->status, 200);
	return stream;
}

/* Only what is constant stays good. */
static bool ask(void *context, const struct gateway_tunnel *t)
{
	struct scene *s = context;
	if (s->is_full)
		return false;
	assert_true(s->asked_count < sizeof(s->asked) / sizeof(s->asked[0]));
	assert_true(t->is_forward && t->is_connect);
	assert_true(net_address_equal(t->to, gate_site_address(s->w, 0)));
	assert_true(slice_equal(t->listener, SLICE("l")));
	assert_true(slice_equal(t->authority, slice_of_string(s->to)));
	assert_int_equal(t->client.family, 4);
	s->asked[s->asked_count++] = *t;
	return true;
}

static bool answers(struct scene *s, size_t question, const char *reason)
{
	return gateway_recheck_answer(s->w->gateway, s->asked[question].id, reason);
}

static uint64_t revoked(const struct scene *s)
{
	return s->w->counters.causes[relay_cause_index(&relay_cause_ACCESS_REVOKED)];
}

static void tunnel_that_is_denied_ends_and_the_others_go_on(void **state)
{
	(void)state;
	struct scene *s = scene();
	struct gate_stream *first = opens(s), *second = opens(s);
	gateway_recheck(s->w->gateway, ask, s);
	assert_int_equal(s->asked_count, 2);
	assert_true(answers(s, 1, "rule"));
	UNTIL(s->w, second->was_reset);
	assert_int_equal(second->code, RELAY_CANCEL);
	assert_true(answers(s, 0, ""));
	/* No more was asked. */
	assert_false(answers(s, 0, "rule"));
	gate_passes(s->w);
	assert_false(first->was_reset);
	assert_int_equal(revoked(s), 1);
	assert_int_equal(s->w->counters.tunnels_open, 1);
	gate_world_free(s->w);
}

static void tunnel_that_opens_later_is_asked_about_too(void **state)
{
	(void)state;
	struct scene *s = scene();
	gateway_recheck(s->w->gateway, ask, s);
	assert_int_equal(s->asked_count, 0);
	struct gate_stream *stream = opens(s);
	assert_int_equal(s->asked_count, 1);
	assert_true(answers(s, 0, "port"));
	UNTIL(s->w, stream->was_reset);
	/* Until nobody answers any more. */
	gateway_recheck(s->w->gateway, NULL, NULL);
	opens(s);
	assert_int_equal(s->asked_count, 1);
	gate_world_free(s->w);
}

static void so_many_questions_wait_for_their_answers(void **state)
{
	(void)state;
	struct scene *s = scene();
	struct gate_stream *streams[ASKED_AT_ONCE + 3];
	for (size_t i = 0; i < ASKED_AT_ONCE + 3; i++)
		streams[i] = opens(s);
	gateway_recheck(s->w->gateway, ask, s);
	assert_int_equal(s->asked_count, ASKED_AT_ONCE);
	/* One that has ended meanwhile, and one that ends before it is asked about. */
	gate_reset_stream(streams[0], RELAY_CANCEL);
	gate_reset_stream(streams[ASKED_AT_ONCE], RELAY_CANCEL);
	UNTIL(s->w, s->w->counters.tunnels_open == ASKED_AT_ONCE + 1);
	assert_true(answers(s, 0, "rule"));
	assert_int_equal(s->asked_count, ASKED_AT_ONCE + 1);
	assert_true(answers(s, ASKED_AT_ONCE, "rule"));
	UNTIL(s->w, streams[ASKED_AT_ONCE + 1]->was_reset);
	assert_int_equal(s->asked_count, ASKED_AT_ONCE + 2);
	assert_int_equal(revoked(s), 1);
	/* What is open is asked about anew. */
	gateway_recheck(s->w->gateway, ask, s);
	assert_int_equal(s->asked_count, 2 * ASKED_AT_ONCE + 2);
	gate_world_free(s->w);
}

static void question_that_is_not_taken_is_asked_again(void **state)
{
	(void)state;
	struct scene *s = scene();
	opens(s);
	s->is_full = true;
	gateway_recheck(s->w->gateway, ask, s);
	gate_passes(s->w);
	s->is_full = false;
	UNTIL(s->w, s->asked_count == 1);
	s->is_full = true;
	opens(s);
	s->is_full = false;
	assert_true(answers(s, 0, ""));
	assert_int_equal(s->asked_count, 2);
	gate_world_free(s->w);
}

/* ---- the rules ---- */

static const struct net_address *at(const char *text)
{
	static struct net_address a;
	assert_null(net_address_parse(slice_of_string(text), &a));
	return &a;
}

#define SITE .listener = SLICE_INIT("l"), .scheme = SLICE_INIT("https")
#define PROXY .listener = SLICE_INIT("f"), .is_forward = true, .is_connect = true

static void newer_worker_judges_as_it_would_judge_a_request(void **state)
{
	(void)state;
	static const struct {
		struct gateway_tunnel tunnel;
		const char *client, *to, *reason;
	} rows[] = {
	    /* A gateway: [listen l], whose rules look at paths, users and hosts. */
	    {{SITE, .authority = SLICE_INIT("a.test"), .path = SLICE_INIT("/ws?x")}, "192.0.2.1", NULL, NULL},
	    {{SITE, .authority = SLICE_INIT("a.test"), .path = SLICE_INIT("/x/../admin")}, "192.0.2.1", NULL, "rule"},
	    {{SITE, .authority = SLICE_INIT("a.test"), .path = SLICE_INIT("/%00")}, "192.0.2.1", NULL, "rule"},
	    {{SITE, .authority = SLICE_INIT("b.test:8443"), .path = SLICE_INIT("/ws")}, "192.0.2.1", NULL, "rule"},
	    {{SITE, .authority = SLICE_INIT("c.test"), .path = SLICE_INIT("/ws")}, "192.0.2.1", NULL, "ask"},
	    {{SITE, .authority = SLICE_INIT("c.test"), .path = SLICE_INIT("/ws"), .user = SLICE_INIT("anna")}, "192.0.2.1", NULL, NULL},
	    {{SITE, .authority = SLICE_INIT("a.test"), .path = SLICE_INIT("/ws")}, "198.51.100.1", NULL, "rule"},
	    {{SITE, .authority = SLICE_INIT("a.test"), .path = SLICE_INIT("/ws"), .cert = SLICE_INIT("cn:a\ncn:eve\n")}, "192.0.2.1", NULL, "rule"},
	    {{SITE, .authority = SLICE_INIT("a.test"), .path = SLICE_INIT("/ws"), .cert = SLICE_INIT("cn:a\n")}, "192.0.2.1", NULL, NULL},
	    /* Forward mode. */
	    {{PROXY, .authority = SLICE_INIT("a.test:443")}, "10.0.0.1", "127.0.0.1:443", NULL},
	    {{PROXY, .authority = SLICE_INIT("a.test:443")}, "10.0.0.1", "127.0.0.2:443", "address-not-global"},
	    {{PROXY, .authority = SLICE_INIT("a.test:22")}, "10.0.0.1", "127.0.0.1:22", "port"},
	    {{PROXY, .authority = SLICE_INIT("a.test:443")}, "192.0.2.1", "127.0.0.1:443", "client"},
	    /* An upstream proxy knows the address, unless the host is one. */
	    {{PROXY, .authority = SLICE_INIT("a.test:443")}, "10.0.0.1", NULL, NULL},
	    {{PROXY, .authority = SLICE_INIT("127.0.0.2:443")}, "10.0.0.1", NULL, "address-not-global"},
	    {{PROXY, .authority = SLICE_INIT("...:443")}, "10.0.0.1", "127.0.0.1:443", "port"},
	    /* No rules: of a listener that is gone, has another mode, or has none. */
	    {{.listener = SLICE_INIT("gone"), .is_forward = true, .is_connect = true, .authority = SLICE_INIT("a.test:22")}, "10.0.0.1", "127.0.0.1:22", NULL},
	    {{.listener = SLICE_INIT("l"), .is_forward = true, .is_connect = true, .authority = SLICE_INIT("b.test:22")}, "10.0.0.1", "127.0.0.1:22", NULL},
	    {{.listener = SLICE_INIT("open"), .scheme = SLICE_INIT("http"), .authority = SLICE_INIT("b.test"), .path = SLICE_INIT("/admin")}, "192.0.2.1", NULL, NULL},
	};
	struct gate_world *w = gate_world_new(NULL, "access = site", NULL,
	    "[access site]\nusers = /dev/null\ndeny = client=198.51.100.0/24\ndeny = cert=cn:eve\ndeny = path=/admin\ndeny = host=b.test\n"
	    "ask = host=c.test\nallow = all\n"
	    "[listen open]\naddress = unix:/tmp/open\n[listen f]\naddress = unix:/tmp/forward\nmode = forward\naccess = lab\n"
	    "[access lab]\nallow = address=127.0.0.1\nallow = all\n"
	    "[origin world]\nserver = forward:\n[route r]\norigin = world\n[route s]\norigin = a\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gateway_tunnel t = rows[i].tunnel;
		assert_true(address_parse(slice_of_string(rows[i].client), &t.client));
		t.to = rows[i].to ? at(rows[i].to) : NULL;
		const char *reason = gateway_judge_tunnel(w->gateway, &t);
		if (rows[i].reason ? !reason || strcmp(reason, rows[i].reason) != 0 : reason != NULL)
			fail_msg("row %zu: %s, not %s", i, reason ? reason : "allowed", rows[i].reason ? rows[i].reason : "allowed");
	}
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(tunnel_that_is_denied_ends_and_the_others_go_on),
	    cmocka_unit_test(tunnel_that_opens_later_is_asked_about_too),
	    cmocka_unit_test(so_many_questions_wait_for_their_answers),
	    cmocka_unit_test(question_that_is_not_taken_is_asked_again),
	    cmocka_unit_test(newer_worker_judges_as_it_would_judge_a_request),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
