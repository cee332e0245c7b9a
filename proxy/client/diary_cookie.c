/* SPDX-License-Identifier: MIT */
/*
 * The cookie that carries a client's diary to its next connection (policy/known_cookie.h, RFC 6265). In forward mode there
 * is none unless `shares` says otherwise: it would be set in the name of origins that know nothing of it.
 */
#include "proxy/client/client_private.h"

#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/http/cookie.h"

static uint64_t set_hash(const struct policy_cookie_set *set)
{
	size_t bytes = set->count * sizeof(set->hashes[0]);
	return bytes > 0 ? hash_bytes(1, set->hashes, bytes) : 0;
}

/* False: there is no memory for it. */
static bool keep_set(struct client_conn *c, const struct policy_cookie_set *set)
{
	struct client_diary *diary = &c->diary;
	if (!diary->cookie && !budget_take(&c->budget, sizeof(*set)))
		return false;
	if (!diary->cookie)
		diary->cookie = memory_new(struct policy_cookie_set);
	*diary->cookie = *set;
	diary->cookie_hash = set_hash(set);
	return true;
}

/* The newest cookie replaces the one before: a connection seldom carries several hosts. */
static void read_cookie(struct client_conn *c, struct slice value)
{
	struct client_diary *diary = &c->diary;
	const struct clients *clients = c->clients;
	uint64_t text = policy_diary_key(value, (struct slice){0}, (struct slice){0});
	struct policy_cookie_set came;
	if (text == diary->cookie_text) /* the same cookie as in the request before */
		return;
	diary->cookie_text = text;
	uint64_t most = clients->env->conf->server.diary_cookie_age / USEC_PER_SEC;
	if (!policy_cookie_read(
		&came, &clients->cookie_keys, value, clock_wall() / USEC_PER_SEC, most))
		return;
	keep_set(c, &came);
}

bool diary_cookie_has(
    const struct client_diary *diary, uint64_t key, bool is_heard_of, uint32_t validator)
{
	const struct policy_cookie_set *set = diary->cookie;
	if (!set || set->expires_sec <= clock_wall() / USEC_PER_SEC)
		return false;
	return policy_cookie_has(set, key, 0) ||
	       (is_heard_of && validator != 0 && policy_cookie_has(set, key, validator));
}

/* The resources of an older cookie may be fresh until its expiry only. */
static uint64_t cookie_expiry(const struct policy_cookie_set *had, bool remains, uint64_t most)
{
	return remains && had->expires_sec < most ? had->expires_sec : most;
}

void diary_cookie_add(struct client_conn *c, const struct exchange *x, struct http_head *head)
{
	static const struct policy_cookie_set nothing;
	struct client_diary *diary = &c->diary;
	const struct conf_server *server = &c->clients->env->conf->server;
	char text[POLICY_COOKIE_TEXT];
	if (policy_navigation_of(x->request) != POLICY_NAVIGATION_YES)
		return;
	uint64_t wall = clock_wall() / USEC_PER_SEC, age = server->diary_cookie_age / USEC_PER_SEC;
	bool is_live = diary->cookie && diary->cookie->expires_sec > wall;
	const struct policy_cookie_set *had = is_live ? diary->cookie : &nothing;
	struct policy_cookie_set now = *had;
	bool remains = policy_cookie_merge(
	    &now, &diary->resources, (uint32_t)(x->relay->now / USEC_PER_SEC + age));
	client_diary_expect(x, &now);
	uint64_t expires = cookie_expiry(had, remains, wall + age);
	size_t n = policy_cookie_write(&now, &c->clients->cookie_keys, expires, text);
	if (set_hash(&now) == diary->cookie_hash)
		return;
	if (!keep_set(c, &now))
		return;
	bool is_secure = slice_equal(x->request->scheme, SLICE("https"));
	http_head_add_token(head, HTTP_TOKEN_SET_COOKIE,
	    arena_printf(&head->arena, "%s=%.*s; Path=/; Max-Age=%llu; HttpOnly; SameSite=Lax%s",
		server->diary_cookie, (int)n, text, (unsigned long long)(expires - wall),
		is_secure ? "; Secure" : ""));
}

/* Only pushgate may see the diary's cookie. Its value changes often: with it in the Cookie field, a
 * cache or a held response that varies by Cookie would never match. So it is removed before anything
 * else reads the request. */
void client_diary_extract_cookie(
    struct client_conn *c, struct http_head *request, bool came_through)
{
	const struct clients *clients = c->clients;
	if (!c->diary.is_recording || clients->cookie_keys.count == 0 ||
	    !conf_listen_shares(c->listener->conf) || c->certificate)
		return;
	const char *name = clients->env->conf->server.diary_cookie;
	struct slice ours = http_cookie_cut(request, slice_of_string(name));
	if (ours.len > 0 && c->diary.resources.most > 0 && !came_through)
		read_cookie(c, ours);
}
