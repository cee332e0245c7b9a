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
#include "proxy/hop/private.h"

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

static bool is_hop_own(enum policy_action action)
{
	return action != POLICY_FORWARD && action != POLICY_DROP;
}

/* May there be more than to forward what origins promise? */
static bool has_own_offers(const struct conf *conf)
{
	bool has = conf->preload_count > 0 || is_hop_own(conf->policy.fallback);
	for (size_t i = 0; i < conf->policy.count; i++)
		has = has || is_hop_own(conf->policy.rules[i].action);
	return has;
}

void memory_setup(struct hop *hop)
{
	const struct conf_server *server = &hop->env.conf->server;
	hop->is_forgetful = !has_own_offers(hop->env.conf);
	if (!server->diary_cookie || server->diary_entries == 0)
		return;
	hop->is_forgetful = false;
	hop->cookie_keys = (struct policy_cookie_keys){
	    .count = server->diary_key_count,
	    .mac = sign,
	    .context = (void *)(uintptr_t)server, /* read alone */
	};
}

void memory_init(struct down *d)
{
	const struct conf_server *server = &d->hop->env.conf->server;
	bool may_note = !d->listener->conf->clients_shared;
	policy_diary_init(&d->memory.diary, may_note ? server->diary_entries : 0);
	d->memory.is_awake = !d->hop->is_forgetful;
}

void memory_fini(struct down *d)
{
	struct memory *m = &d->memory;
	budget_give(&d->budget, policy_diary_bytes(&m->diary));
	policy_diary_fini(&m->diary);
	if (m->cookie) {
		budget_give(&d->budget, sizeof(*m->cookie));
		free(m->cookie);
	}
}

static struct down *down_of(struct memory *m)
{
	return container_of(m, struct down, memory);
}

/* ---- noting ---- */

static uint64_t key_of(struct slice method, const struct exchange *x)
{
	return policy_diary_key(method, x->authority, x->request->path);
}

/* As far as the connection's memory allows; a diary without the newest entry is a diary still. */
static void note(struct memory *m, enum policy_note what, uint64_t key, uint32_t etag)
{
	struct down *d = down_of(m);
	ensure(what != POLICY_NOTE_GONE &&
	       what != POLICY_NOTE_CHANGED); /* they never grow it: forget() */
	size_t had = policy_diary_bytes(&m->diary), growth = policy_diary_growth(&m->diary);
	if (growth > 0 && !budget_take(&d->budget, growth)) {
		HOP_COUNT(d->hop, memory_refused, 1);
		return;
	}
	policy_note(&m->diary, what, key, etag);
	budget_give(&d->budget, had + growth - policy_diary_bytes(&m->diary));
}

/* The cookie knows no ETag and cannot be told of changes: out of the set. */
static void forget(struct memory *m, uint64_t key)
{
	policy_note(&m->diary, POLICY_NOTE_GONE, key, 0);
	if (m->cookie)
		policy_cookie_remove(m->cookie, key);
}

/* The diary knows the resource, but not in the version that has this ETag. */
static bool is_another(const struct memory *m, uint64_t key, uint32_t etag)
{
	return etag != 0 && policy_diary_knows(&m->diary, key, 0) == POLICY_KNOWN_ETAG &&
	       policy_diary_knows(&m->diary, key, etag) == POLICY_NOT_KNOWN;
}

/* ---- the cookie ---- */

/* The one that came last counts; a connection's hosts seldom are several. */
static void take_cookie(struct memory *m, struct slice value)
{
	struct down *d = down_of(m);
	const struct hop *hop = d->hop;
	uint64_t text = policy_diary_key(value, (struct slice){0}, (struct slice){0});
	struct policy_cookie_set came;
	if (text == m->cookie_text) /* as with every request before */
		return;
	m->cookie_text = text;
	uint64_t most = hop->env.conf->server.diary_cookie_age / USEC_PER_SEC;
	if (!policy_cookie_read(&came, &hop->cookie_keys, value, clock_wall() / USEC_PER_SEC, most))
		return;
	if (!m->cookie && !budget_take(&d->budget, sizeof(*m->cookie)))
		return;
	if (!m->cookie)
		m->cookie = memory_new(struct policy_cookie_set);
	*m->cookie = came;
}

static bool set_equal(const struct policy_cookie_set *a, const struct policy_cookie_set *b)
{
	return a->count == b->count &&
	       memcmp(a->hashes, b->hashes, a->count * sizeof(a->hashes[0])) == 0;
}

/* On a navigation's response, when the client's set is not what it has any more. */
static void offer_cookie(struct memory *m, const struct exchange *x, struct http_head *head)
{
	static const struct policy_cookie_set nothing;
	struct down *d = down_of(m);
	const struct conf_server *server = &d->hop->env.conf->server;
	const struct policy_cookie_set *had = m->cookie ? m->cookie : &nothing;
	struct policy_cookie_set now = *had;
	char text[POLICY_COOKIE_TEXT];
	if (policy_navigation_of(x->request) != POLICY_NAVIGATION_YES)
		return;
	policy_cookie_merge(&now, &m->diary);
	uint64_t age = server->diary_cookie_age / USEC_PER_SEC;
	size_t n = policy_cookie_write(
	    &now, &d->hop->cookie_keys, clock_wall() / USEC_PER_SEC + age, text);
	if (now.count == 0 || set_equal(&now, had))
		return;
	if (!m->cookie && !budget_take(&d->budget, sizeof(*m->cookie)))
		return;
	if (!m->cookie)
		m->cookie = memory_new(struct policy_cookie_set);
	*m->cookie = now;
	bool is_secure = slice_equal(x->scheme, SLICE("https"));
	http_head_add_token(head, HTTP_TOKEN_SET_COOKIE,
	    arena_printf(&head->arena, "%s=%.*s; Path=/; Max-Age=%llu; HttpOnly; SameSite=Lax%s",
		server->diary_cookie, (int)n, text, (unsigned long long)age,
		is_secure ? "; Secure" : ""));
}

/* ---- offers ---- */

enum policy_known memory_knows(const struct exchange *parent, const struct http_head *promised)
{
	struct down *d = parent->down.ops == &down_leg_ops ? parent->down.carrier : NULL;
	if (!d || d->memory.diary.most == 0 || parent->context.came_through)
		return POLICY_NOT_KNOWN;
	struct memory *m = &d->memory;
	m->is_awake = true;
	if (m->diary.count == 0 && !m->cookie)
		return POLICY_NOT_KNOWN;
	uint64_t key = policy_diary_key(promised->method, promised->authority, promised->path);
	uint32_t former = etags_former(&d->hop->etags, key, promised, parent->request);
	if (former != 0 && policy_diary_knows(&m->diary, key, former) == POLICY_KNOWN_ETAG) {
		forget(m, key);
		return POLICY_NOT_KNOWN;
	}
	enum policy_known known = policy_diary_knows(&m->diary, key, 0);
	bool is_carried =
	    known == POLICY_NOT_KNOWN && m->cookie && policy_cookie_has(m->cookie, key);
	return is_carried ? POLICY_KNOWN : known;
}

void memory_promised(struct exchange *push)
{
	const struct exchange *parent = push->pushed.parent;
	struct down *d = push->down.carrier;
	if (d->memory.diary.most == 0 || parent->context.came_through ||
	    push->method != HTTP_METHOD_GET)
		return;
	/* From now on it is not promised again on this connection; what goes wrong takes it back.
	 * */
	push->context.diary = &d->memory;
	note(push->context.diary, POLICY_NOTE_PUSHED, key_of(push->request->method, push), 0);
}

void memory_hinted(const struct exchange *parent, const struct http_head *promised)
{
	struct down *d = parent->down.ops == &down_leg_ops ? parent->down.carrier : NULL;
	if (d && d->memory.diary.most > 0 && !parent->context.came_through)
		note(&d->memory, POLICY_NOTE_HINTED,
		    policy_diary_key(promised->method, promised->authority, promised->path), 0);
}

void memory_ended(struct exchange *push, enum observe_outcome outcome)
{
	struct memory *m = push->context.diary;
	if (!m)
		return;
	uint64_t key = key_of(push->request->method, push);
	if (outcome == OBSERVE_CLIENT_RESET)
		note(m, POLICY_NOTE_RESET, key, 0);
	else if (outcome != OBSERVE_COMPLETE)
		forget(m, key);
}

/* ---- requests and responses ---- */

void memory_request(struct down *d, struct exchange *x)
{
	const struct conf_server *server = &d->hop->env.conf->server;
	if (d->hop->cookie_keys.count > 0) {
		/* Ours is for us alone: an origin that saw it would see a new Cookie field, and
		 * caches another client, each time. */
		struct slice ours =
		    http_cookie_cut(x->request, slice_of_string(server->diary_cookie));
		if (ours.len > 0 && d->memory.diary.most > 0 && !x->context.came_through)
			take_cookie(&d->memory, ours);
	}
	if (d->memory.diary.most > 0 && !x->context.came_through)
		x->context.diary = &d->memory;
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

static void note_get(struct memory *m, const struct exchange *x, const struct http_head *response)
{
	uint64_t key = key_of(SLICE("GET"), x);
	uint32_t etag = etags_of(response);
	uint16_t status = response->status;
	if (status == 200 || status == 304)
		etags_learn(&down_of(m)->hop->etags, key, etag, x->request, response);
	if (status == 304 || (status == 200 && is_kept(x, response, etag)))
		note(m, x->context.was_forwarded ? POLICY_NOTE_PUSHED : POLICY_NOTE_REQUESTED, key,
		    etag);
	else if (x->context.was_forwarded || status == 200 || status == 404 || status == 410)
		forget(m, key);
}

void memory_response(struct exchange *x, struct http_head *head)
{
	struct memory *m = x->context.diary;
	if (x->method == HTTP_METHOD_GET) {
		note_get(m, x, head);
	} else if (x->method == HTTP_METHOD_HEAD && head->status == 200) {
		uint64_t key = key_of(SLICE("GET"), x);
		uint32_t etag = etags_of(head);
		etags_learn(&down_of(m)->hop->etags, key, etag, x->request, head);
		if (is_another(m, key, etag))
			forget(m, key);
	} else if (!http_method_is_safe(x->method) && head->status / 100 <= 3) {
		forget(m, key_of(SLICE("GET"), x));
	}
	if (down_of(m)->hop->cookie_keys.count > 0 && !x->context.was_forwarded)
		offer_cookie(m, x, head);
}
