/* SPDX-License-Identifier: MIT */
/*
 * What a client has, as far as its connection tells: each has a diary (policy/diary.h) that learns
 * from pushes, hints and the client's own requests, and is asked before anything is offered; where
 * configured, a cookie carries it to the client's next connection (policy/cookie.h, RFC 6265). No
 * response is kept here.
 *
 * A connection on which nothing was ever offered remembers nothing, unless the configuration has
 * sources, holds or hints of its own: then the first request counts already. Connections that carry
 * several users, and requests that came through another proxy, are not remembered at all.
 */
#include "proxy/client/private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/http/cache.h"
#include "proxy/http/cache_control.h"
#include "proxy/http/cookie.h"

/* ---- life ---- */

static void sign(void *context, unsigned key, struct slice text, uint8_t out[POLICY_COOKIE_MAC])
{
	const struct conf_server *server = context;
	_Static_assert((int)POLICY_COOKIE_MAC == NET_HMAC_BYTES, "HMAC-SHA256");
	net_hmac(server->diary_keys[key], text, out);
}

static bool is_made_here(enum policy_action action)
{
	return action != POLICY_FORWARD && action != POLICY_DROP;
}

/* May there be more than to forward what origins promise? */
static bool has_own_offers(const struct conf *conf)
{
	bool has = conf->preload_count > 0 || is_made_here(conf->policy.fallback);
	for (size_t i = 0; i < conf->policy.count; i++)
		has = has || is_made_here(conf->policy.rules[i].action);
	return has;
}

void client_diaries_open(struct clients *clients)
{
	const struct conf_server *server = &clients->env->conf->server;
	clients->starts_diaries_late = !has_own_offers(clients->env->conf);
	if (!server->diary_cookie || server->diary_entries == 0)
		return;
	clients->starts_diaries_late = false;
	clients->cookie_keys = (struct policy_cookie_keys){
	    .count = server->diary_key_count,
	    .mac = sign,
	    .context = (void *)(uintptr_t)server, /* read alone */
	};
}

void client_diary_init(struct client_conn *c)
{
	const struct conf_server *server = &c->clients->env->conf->server;
	bool may_note = !c->listener->conf->clients_shared;
	policy_diary_init(&c->diary.resources, may_note ? server->diary_entries : 0);
	c->diary.is_awake = !c->clients->starts_diaries_late;
}

void client_diary_fini(struct client_conn *c)
{
	struct client_diary *diary = &c->diary;
	budget_give(&c->budget, policy_diary_bytes(&diary->resources));
	policy_diary_fini(&diary->resources);
	if (diary->cookie) {
		budget_give(&c->budget, sizeof(*diary->cookie));
		free(diary->cookie);
	}
}

static struct client_conn *conn_of(struct client_diary *diary)
{
	return container_of(diary, struct client_conn, diary);
}

/* ---- noting ---- */

static uint64_t key_of(struct slice method, const struct exchange *x)
{
	return policy_diary_key(method, x->authority, x->request->path);
}

/* As far as the connection's memory allows; a diary without the newest entry is a diary still. */
static void note(struct client_diary *diary, enum policy_note what, uint64_t key, uint32_t etag)
{
	struct client_conn *c = conn_of(diary);
	ensure(what != POLICY_NOTE_GONE &&
	       what != POLICY_NOTE_CHANGED); /* they never grow it: forget() */
	size_t had = policy_diary_bytes(&diary->resources),
	       growth = policy_diary_growth(&diary->resources);
	if (growth > 0 && !budget_take(&c->budget, growth)) {
		WORKER_COUNT(c->clients->env, memory_refused, 1);
		return;
	}
	policy_note(&diary->resources, what, key, etag);
	budget_give(&c->budget, had + growth - policy_diary_bytes(&diary->resources));
}

/* The cookie knows no ETag and cannot be told of changes: out of the set. */
static void forget(struct client_diary *diary, uint64_t key)
{
	policy_note(&diary->resources, POLICY_NOTE_GONE, key, 0);
	if (diary->cookie)
		policy_cookie_remove(diary->cookie, key);
}

/* The diary knows the resource, but not in the version that has this ETag. */
static bool is_another(const struct client_diary *diary, uint64_t key, uint32_t etag)
{
	return etag != 0 && policy_diary_knows(&diary->resources, key, 0) == POLICY_KNOWN_ETAG &&
	       policy_diary_knows(&diary->resources, key, etag) == POLICY_NOT_KNOWN;
}

/* ---- the cookie ---- */

/* The one that came last counts; a connection's hosts seldom are several. */
static void take_cookie(struct client_diary *diary, struct slice value)
{
	struct client_conn *c = conn_of(diary);
	const struct clients *clients = c->clients;
	uint64_t text = policy_diary_key(value, (struct slice){0}, (struct slice){0});
	struct policy_cookie_set came;
	if (text == diary->cookie_text) /* as with every request before */
		return;
	diary->cookie_text = text;
	uint64_t most = clients->env->conf->server.diary_cookie_age / USEC_PER_SEC;
	if (!policy_cookie_read(
		&came, &clients->cookie_keys, value, clock_wall() / USEC_PER_SEC, most))
		return;
	if (!diary->cookie && !budget_take(&c->budget, sizeof(*diary->cookie)))
		return;
	if (!diary->cookie)
		diary->cookie = memory_new(struct policy_cookie_set);
	*diary->cookie = came;
}

static bool set_equal(const struct policy_cookie_set *a, const struct policy_cookie_set *b)
{
	return a->count == b->count &&
	       memcmp(a->hashes, b->hashes, a->count * sizeof(a->hashes[0])) == 0;
}

/* On a navigation's response, when the client's set is not what it has any more. */
static void offer_cookie(
    struct client_diary *diary, const struct exchange *x, struct http_head *head)
{
	static const struct policy_cookie_set nothing;
	struct client_conn *c = conn_of(diary);
	const struct conf_server *server = &c->clients->env->conf->server;
	const struct policy_cookie_set *had = diary->cookie ? diary->cookie : &nothing;
	struct policy_cookie_set now = *had;
	char text[POLICY_COOKIE_TEXT];
	if (policy_navigation_of(x->request) != POLICY_NAVIGATION_YES)
		return;
	policy_cookie_merge(&now, &diary->resources);
	uint64_t age = server->diary_cookie_age / USEC_PER_SEC;
	size_t n = policy_cookie_write(
	    &now, &c->clients->cookie_keys, clock_wall() / USEC_PER_SEC + age, text);
	if (now.count == 0 || set_equal(&now, had))
		return;
	if (!diary->cookie && !budget_take(&c->budget, sizeof(*diary->cookie)))
		return;
	if (!diary->cookie)
		diary->cookie = memory_new(struct policy_cookie_set);
	*diary->cookie = now;
	bool is_secure = slice_equal(x->scheme, SLICE("https"));
	http_head_add_token(head, HTTP_TOKEN_SET_COOKIE,
	    arena_printf(&head->arena, "%s=%.*s; Path=/; Max-Age=%llu; HttpOnly; SameSite=Lax%s",
		server->diary_cookie, (int)n, text, (unsigned long long)age,
		is_secure ? "; Secure" : ""));
}

/* ---- offers ---- */

enum policy_known client_diary_knows(
    const struct exchange *parent, const struct http_head *promised)
{
	struct client_conn *c = client_conn_of(parent);
	if (!c || c->diary.resources.most == 0 || parent->context.came_through)
		return POLICY_NOT_KNOWN;
	struct client_diary *diary = &c->diary;
	diary->is_awake = true;
	if (diary->resources.count == 0 && !diary->cookie)
		return POLICY_NOT_KNOWN;
	uint64_t key = policy_diary_key(promised->method, promised->authority, promised->path);
	uint32_t former = latest_etags_former(&c->clients->etags, key, promised, parent->request);
	if (former != 0 &&
	    policy_diary_knows(&diary->resources, key, former) == POLICY_KNOWN_ETAG) {
		forget(diary, key);
		return POLICY_NOT_KNOWN;
	}
	enum policy_known known = policy_diary_knows(&diary->resources, key, 0);
	bool is_carried =
	    known == POLICY_NOT_KNOWN && diary->cookie && policy_cookie_has(diary->cookie, key);
	return is_carried ? POLICY_KNOWN : known;
}

void client_diary_promised(struct exchange *push)
{
	const struct exchange *parent = push->pushed.parent;
	struct client_conn *c = push->down.carrier;
	if (c->diary.resources.most == 0 || parent->context.came_through ||
	    push->method != HTTP_METHOD_GET)
		return;
	/* From now on it is not promised again on this connection; what goes wrong takes it back.
	 * */
	push->context.diary = &c->diary;
	note(push->context.diary, POLICY_NOTE_PUSHED, key_of(push->request->method, push), 0);
}

void client_diary_hinted(const struct exchange *parent, const struct http_head *promised)
{
	struct client_conn *c = client_conn_of(parent);
	if (c && c->diary.resources.most > 0 && !parent->context.came_through)
		note(&c->diary, POLICY_NOTE_HINTED,
		    policy_diary_key(promised->method, promised->authority, promised->path), 0);
}

void client_diary_ended(struct exchange *push, enum observe_outcome outcome)
{
	struct client_diary *diary = push->context.diary;
	if (!diary)
		return;
	uint64_t key = key_of(push->request->method, push);
	if (outcome == OBSERVE_CLIENT_RESET)
		note(diary, POLICY_NOTE_RESET, key, 0);
	else if (outcome != OBSERVE_COMPLETE)
		forget(diary, key);
}

/* ---- requests and responses ---- */

void client_diary_request(struct client_conn *c, struct exchange *x)
{
	const struct conf_server *server = &c->clients->env->conf->server;
	if (c->clients->cookie_keys.count > 0) {
		/* Ours is for us alone: an origin that saw it would see a new Cookie field, and
		 * caches another client, each time. */
		struct slice ours =
		    http_cookie_cut(x->request, slice_of_string(server->diary_cookie));
		if (ours.len > 0 && c->diary.resources.most > 0 && !x->context.came_through)
			take_cookie(&c->diary, ours);
	}
	if (c->diary.resources.most > 0 && !x->context.came_through)
		x->context.diary = &c->diary;
}

/* Will the client still have it when it next wants it? */
static bool is_kept(const struct exchange *x, const struct http_head *response, uint32_t etag)
{
	if (!http_may_store(x->request, response))
		return false;
	if (x->context.was_forwarded || etag != 0)
		return true;
	const struct http_cache_control control = http_cache_control(response);
	if (control.has_max_age)
		return control.max_age_sec > 0 && !control.no_cache;
	return http_freshness_sec(response, false, clock_wall() / USEC_PER_SEC) > 0;
}

static void note_get(
    struct client_diary *diary, const struct exchange *x, const struct http_head *response)
{
	uint64_t key = key_of(SLICE("GET"), x);
	uint32_t etag = latest_etag_of(response);
	uint16_t status = response->status;
	if (status == 200 || status == 304)
		latest_etags_learn(
		    &conn_of(diary)->clients->etags, key, etag, x->request, response);
	if (status == 304 || (status == 200 && is_kept(x, response, etag)))
		note(diary, x->context.was_forwarded ? POLICY_NOTE_PUSHED : POLICY_NOTE_REQUESTED,
		    key, etag);
	else if (x->context.was_forwarded || status == 200 || status == 404 || status == 410)
		forget(diary, key);
}

void client_diary_response(struct exchange *x, struct http_head *head)
{
	struct client_diary *diary = x->context.diary;
	if (x->method == HTTP_METHOD_GET) {
		note_get(diary, x, head);
	} else if (x->method == HTTP_METHOD_HEAD && head->status == 200) {
		uint64_t key = key_of(SLICE("GET"), x);
		uint32_t etag = latest_etag_of(head);
		latest_etags_learn(&conn_of(diary)->clients->etags, key, etag, x->request, head);
		if (is_another(diary, key, etag))
			forget(diary, key);
	} else if (!http_method_is_safe(x->method) && head->status / 100 <= 3) {
		forget(diary, key_of(SLICE("GET"), x));
	}
	if (conn_of(diary)->clients->cookie_keys.count > 0 && !x->context.was_forwarded)
		offer_cookie(diary, x, head);
}
