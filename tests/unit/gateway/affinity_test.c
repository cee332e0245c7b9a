/* SPDX-License-Identifier: MIT */
/* The cookie of affinity-cookie: who gets it, who sees it, and which server it leads to. And the keys of hash. */
#include "tests/unit/gateway/field_rules.h"

#define FLEET(options)                                                                                     \
	"[origin fleet]\nserver = %A\nserver = %B\n" options "[route r]\norigin = fleet\n"

/* Each site says which one it is, and what cookies it got. */
static const char *response_cache_control;

static void serve(struct gate_stream *s)
{
	char cookies[512];
	field_text(s->head, "cookie", cookies);
	gate_answer_fields(s, 200, true, "x-site", s->peer->site == &s->peer->world->sites[0] ? "a" : "b",
	    "x-cookies", cookies[0] ? cookies : "none", response_cache_control ? "cache-control" : NULL,
	    response_cache_control, NULL);
}

static struct gate_world *world(const char *more)
{
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, more);
	w->sites[0].serve = w->sites[1].serve = serve;
	response_cache_control = NULL;
	return w;
}

static struct gate_stream *get(struct gate_world *w, struct gate_peer *c, const char *path, const char *cookie)
{
	struct gate_stream *s = cookie ? gate_request(c, "GET", "a.test", path, true, "cookie", cookie, NULL)
				       : gate_get(c, path);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	return s;
}

/* "srv=0123456789abcdef" of a Set-Cookie field; "" without. */
static const char *cookie_of(const struct gate_stream *s, char text[512])
{
	field_text(s->head, "set-cookie", text);
	text[strcspn(text, ";")] = '\0';
	return text;
}

static char site_of(const struct gate_stream *s)
{
	char text[512];
	return field_text(s->head, "x-site", text)[0];
}

static void site_closes(struct gate_world *w, char site)
{
	struct gate_site *dead = &w->sites[site == 'a' ? 0 : 1];
	gate_site_close(dead);
	for (size_t i = 0; i < dead->peer_count; i++)
		gate_peer_abort(dead->peers[i]);
	gate_passes(w);
}

/* covers: R425 */
static void the_first_response_sets_it_and_the_client_stays(void **state)
{
	(void)state;
	char set[512], cookie[512], all[600];
	struct gate_world *w = world(FLEET("affinity-cookie = srv\n"));
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = get(w, c, "/0", NULL);
	char site = site_of(s);
	field_text(s->head, "set-cookie", set);
	cookie_of(s, cookie);
	assert_int_equal(strspn(cookie + 4, "0123456789abcdef"), 16);
	assert_string_equal(set + 20, "; Path=/; HttpOnly; SameSite=Lax");
	field_is(s->head, "cache-control", "private", "first");
	snprintf(all, sizeof all, "a=1; %s; b=2", cookie);
	for (int i = 0; i < 30; i++) {
		s = get(w, c, "/1", i % 2 ? cookie : all);
		assert_int_equal(site_of(s), site);
		field_is(s->head, "set-cookie", "", "later");
		field_is(s->head, "cache-control", "", "later");
		field_is(s->head, "x-cookies", i % 2 ? "none" : "a=1; b=2", "later");
	}
	gate_world_free(w);
}

/* covers: R425 */
static void what_is_no_key_of_a_server_is_replaced(void **state)
{
	(void)state;
	static const char *const cookies[] = {"srv=", "srv=0123456789abcdef", "srv=0123456789abcde",
	    "srv=0123456789ABCDEF", "srv=0000000000000000", "srv=0123456789abcdefg", "srv=\"\""};
	char cookie[512];
	struct gate_world *w = world(FLEET("affinity-cookie = srv\n"));
	struct gate_peer *c = gate_client(w, NULL);
	for (size_t i = 0; i < sizeof cookies / sizeof *cookies; i++) {
		struct gate_stream *s = get(w, c, "/", cookies[i]);
		assert_int_equal(strlen(cookie_of(s, cookie)), 20);
		field_is(s->head, "x-cookies", "none", cookies[i]);
	}
	gate_world_free(w);
}

/* covers: R425 */
static void the_server_that_answers_instead_sets_its_own(void **state)
{
	(void)state;
	char cookie[512], other[512];
	struct gate_world *w = world(FLEET("affinity-cookie = srv\n"));
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = get(w, c, "/", NULL);
	char site = site_of(s);
	cookie_of(s, cookie);
	site_closes(w, site);
	s = get(w, c, "/", cookie);
	assert_int_not_equal(site_of(s), site);
	assert_string_not_equal(cookie_of(s, other), cookie);
	assert_int_equal(strlen(other), 20);
	s = get(w, c, "/", other);
	field_is(s->head, "set-cookie", "", "other");
	gate_world_free(w);
}

/* The server of the fleet at this site. */
static struct server *server_at(struct gate_world *w, char site)
{
	uint16_t port = w->sites[site == 'a' ? 0 : 1].port;
	list_for_each(&w->gateway->upstream.destinations[2].servers, s, struct server, link)
	{
		if (net_address_port(s->at.address) == port)
			return s;
	}
	fail_msg("no server at %c", site);
	return NULL;
}

/* A connect that takes longer than 250 ms makes others go elsewhere. This client waits. */
/* covers: R425 */
static void a_late_connect_does_not_move_the_client(void **state)
{
	(void)state;
	char cookie[512];
	struct gate_world *w = world(FLEET("affinity-cookie = srv\n"));
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = get(w, c, "/", NULL);
	char site = site_of(s);
	struct gate_site *late = &w->sites[site == 'a' ? 0 : 1];
	cookie_of(s, cookie);
	late->options.is_silent = true;
	for (size_t i = 0; i < late->peer_count; i++)
		gate_peer_abort(late->peers[i]);
	gate_passes(w);
	s = gate_request(c, "GET", "a.test", "/stays", true, "cookie", cookie, NULL);
	UNTIL(w, server_at(w, site)->at.is_slow);
	gate_passes(w);
	assert_int_not_equal(site_of(get(w, c, "/", NULL)), site);
	assert_false(s->is_over);
	assert_null(gate_find(w, "/stays"));
	/* Lost while it connects: now it may move. */
	gate_site_close(late);
	for (size_t i = 0; i < late->peer_count; i++)
		gate_peer_abort(late->peers[i]);
	UNTIL(w, s->is_over);
	assert_int_equal(s->status, 200);
	assert_int_not_equal(site_of(s), site);
	gate_world_free(w);
}

static void no_cache_keeps_what_sets_it(void **state)
{
	(void)state;
	static const char *const rows[][2] = {{"max-age=60", "max-age=60 | private"},
	    {"public, s-maxage=60", "public, s-maxage=60 | private"}, {"no-store", "no-store"}};
	struct gate_world *w = world(FLEET("affinity-cookie = srv\n"));
	struct gate_peer *c = gate_client(w, NULL);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		response_cache_control = rows[i][0];
		field_is(get(w, c, "/", NULL)->head, "cache-control", rows[i][1], rows[i][0]);
	}
	gate_world_free(w);
}

static void pushes_never_have_it(void **state)
{
	(void)state;
	char text[512];
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, FLEET("affinity-cookie = srv\n")
	    "[push all]\naction = forward\n");
	struct gate_peer *c = gate_client(w, NULL);
	struct gate_stream *s = gate_get(c, "/");
	UNTIL(w, gate_find(w, "/"));
	struct gate_stream *at = gate_find(w, "/"), *promised = gate_promise(at, "http", "example.com", "/a.css");
	gate_answer(at, 200, 4, true);
	gate_answer(promised, 200, 4, true);
	UNTIL(w, s->is_over);
	assert_int_equal(strlen(cookie_of(s, text)), 20);
	struct gate_stream *push = NULL;
	for (size_t i = 0; i < c->stream_count; i++)
		if (strcmp(c->streams[i]->path, "/a.css") == 0)
			push = c->streams[i];
	assert_non_null(push);
	UNTIL(w, push->is_over);
	assert_int_equal(push->status, 200);
	field_is(push->head, "set-cookie", "", "push");
	gate_world_free(w);
}

/* They are offered before their page has a server. */
/* covers: R425 */
static void offers_of_our_own_go_to_the_clients_server(void **state)
{
	(void)state;
	char cookie[512], seen[512];
	struct gate_world *w = world(FLEET("affinity-cookie = srv\n")
	    "[push all]\naction = forward\n[preload p]\nadd = /a.css as=style\n");
	struct gate_stream *s = get(w, gate_client(w, &(struct gate_peer_options){.no_push = true}), "/", NULL);
	const struct gate_site *site = &w->sites[site_of(s) == 'a' ? 0 : 1];
	cookie_of(s, cookie);
	for (size_t i = 1; i <= 10; i++) {
		get(w, gate_client(w, NULL), "/", cookie);
		UNTIL(w, gate_seen(&w->sites[0], "/a.css") + gate_seen(&w->sites[1], "/a.css") == i);
		assert_int_equal(gate_seen(site, "/a.css"), i);
		field_text(gate_find(w, "/a.css")->head, "cookie", seen);
		assert_null(strstr(seen, "srv="));
	}
	gate_world_free(w);
}

static void without_the_option_cookies_are_the_origins(void **state)
{
	(void)state;
	struct gate_world *w = world(FLEET(""));
	struct gate_stream *s = get(w, gate_client(w, NULL), "/", "srv=0123456789abcdef");
	field_is(s->head, "set-cookie", "", "none");
	field_is(s->head, "x-cookies", "srv=0123456789abcdef", "none");
	gate_world_free(w);
}

/* covers: R423 */
static void requests_with_one_key_go_to_one_server(void **state)
{
	(void)state;
	char path[32], sites[20];
	struct gate_world *w = world(FLEET("hash = path\n"));
	unsigned at_a = 0;
	for (int round = 0; round < 3; round++) {
		struct gate_peer *c = gate_client(w, NULL);
		for (int i = 0; i < 20; i++) {
			snprintf(path, sizeof path, "/%d?round=%d", i, round);
			char site = site_of(get(w, c, path, NULL));
			at_a += site == 'a';
			if (round > 0)
				assert_int_equal(site, sites[i]);
			sites[i] = site;
		}
	}
	assert_in_range(at_a, 3 * 2, 3 * 18);
	gate_world_free(w);
}

/* covers: R421 */
static void servers_take_turns(void **state)
{
	(void)state;
	unsigned at_a = 0;
	struct gate_world *w = world("[origin fleet]\nserver = %A weight=3\nserver = %B\nbalance = round-robin\n"
				     "[route r]\norigin = fleet\n");
	struct gate_peer *c = gate_client(w, NULL);
	for (int i = 0; i < 40; i++)
		at_a += site_of(get(w, c, "/", NULL)) == 'a';
	assert_int_equal(at_a, 30);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_first_response_sets_it_and_the_client_stays),
	    cmocka_unit_test(what_is_no_key_of_a_server_is_replaced),
	    cmocka_unit_test(the_server_that_answers_instead_sets_its_own),
	    cmocka_unit_test(a_late_connect_does_not_move_the_client),
	    cmocka_unit_test(no_cache_keeps_what_sets_it),
	    cmocka_unit_test(pushes_never_have_it),
	    cmocka_unit_test(offers_of_our_own_go_to_the_clients_server),
	    cmocka_unit_test(without_the_option_cookies_are_the_origins),
	    cmocka_unit_test(requests_with_one_key_go_to_one_server),
	    cmocka_unit_test(servers_take_turns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
