/* SPDX-License-Identifier: MIT */
/*
 * The diary of a client connection (policy/diary.h): which resources the client has. It learns from
 * pushes, hints and the client's own requests, and the policy asks it before each offer. If
 * configured, a cookie carries it to the client's next connection (policy/cookie.h, RFC 6265).
 * Responses themselves are not stored.
 *
 * The diary records from the first promise on; if the configuration makes offers of its own
 * ([preload] sections, rules that hold or hint), from the first request on. Nothing is recorded on
 * connections that carry several users, or for requests that came through another proxy.
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

/* Whether the configuration may do more with offers than forward the promises of origins. */
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
	clients->records_from_first_promise = !has_own_offers(clients->env->conf);
	if (!server->diary_cookie || server->diary_entries == 0)
		return;
	clients->records_from_first_promise = false;
	clients->cookie_keys = (struct policy_cookie_keys){
	    .count = server->diary_key_count,
	    .mac = sign,
	    .context = (void *)(uintptr_t)server, /* `sign` only reads it */
	};
}

void client_diary_init(struct client_conn *c)
{
	const struct conf_server *server = &c->clients->env->conf->server;
	bool may_record = !c->listener->conf->clients_shared;
	policy_diary_init(&c->diary.resources, may_record ? server->diary_entries : 0);
	c->diary.is_recording = !c->clients->records_from_first_promise;
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

/* ---- entries ---- */

static uint64_t key_of(struct slice method, const struct exchange *x)
{
	return policy_diary_key(method, x->request->authority, x->request->path);
}

/* Adds or changes an entry. Leaves it out when the connection's budget is used up: the only harm is
 * a needless push. */
static void record(struct client_diary *diary, enum policy_note what, uint64_t key, uint32_t etag)
{
	struct client_conn *c = conn_of(diary);
	/* Removing an entry needs no memory: see forget. */
	ensure(what != POLICY_NOTE_GONE && what != POLICY_NOTE_CHANGED);
	size_t had = policy_diary_bytes(&diary->resources),
	       growth = policy_diary_growth(&diary->resources);
	if (growth > 0 && !budget_take(&c->budget, growth)) {
		WORKER_COUNT(c->clients->env, memory_refused, 1);
		return;
	}
	policy_note(&diary->resources, what, key, etag);
	budget_give(&c->budget, had + growth - policy_diary_bytes(&diary->resources));
}

/* The cookie stores no ETags, so a changed resource must leave its set as well. */
static void forget(struct client_diary *diary, uint64_t key)
{
	policy_note(&diary->resources, POLICY_NOTE_GONE, key, 0);
	if (diary->cookie)
		policy_cookie_remove(diary->cookie, key);
}

/* The diary has the resource with another ETag than this one. */
static bool has_other_version(const struct client_diary *diary, uint64_t key, uint32_t etag)
{
	return etag != 0 && policy_diary_knows(&diary->resources, key, 0) == POLICY_KNOWN_ETAG &&
	       policy_diary_knows(&diary->resources, key, etag) == POLICY_NOT_KNOWN;
}

/* ---- the cookie ---- */

/* The newest cookie replaces the one before: a connection seldom carries several hosts. */
static void read_cookie(struct client_diary *diary, struct slice value)
{
	struct client_conn *c = conn_of(diary);
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

/* Sets the cookie on a navigation's response if the client's set has changed. */
static void add_cookie(struct client_diary *diary, const struct exchange *x, struct http_head *head)
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
	bool is_secure = slice_equal(x->request->scheme, SLICE("https"));
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
	diary->is_recording = true;
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
	/* Recorded at once, so that the resource is not promised twice on this connection;
	 * client_diary_ended removes the entry if the push fails. */
	push->context.diary = &c->diary;
	record(push->context.diary, POLICY_NOTE_PUSHED, key_of(push->request->method, push), 0);
}

void client_diary_hinted(const struct exchange *parent, const struct http_head *promised)
{
	struct client_conn *c = client_conn_of(parent);
	if (c && c->diary.resources.most > 0 && !parent->context.came_through)
		record(&c->diary, POLICY_NOTE_HINTED,
		    policy_diary_key(promised->method, promised->authority, promised->path), 0);
}

void client_diary_ended(struct exchange *push, enum observe_outcome outcome)
{
	struct client_diary *diary = push->context.diary;
	if (!diary)
		return;
	uint64_t key = key_of(push->request->method, push);
	if (outcome == OBSERVE_CLIENT_RESET)
		record(diary, POLICY_NOTE_RESET, key, 0);
	else if (outcome != OBSERVE_COMPLETE)
		forget(diary, key);
}

/* ---- requests and responses ---- */

/* Only pushgate may see the diary's cookie. Its value changes often: with it in the Cookie field, a
 * cache or a held response that varies by Cookie would never match. So it is removed before anything
 * else reads the request. */
void client_diary_extract_cookie(
    struct client_conn *c, struct http_head *request, bool came_through)
{
	const struct clients *clients = c->clients;
	if (!c->diary.is_recording || clients->cookie_keys.count == 0)
		return;
	const char *name = clients->env->conf->server.diary_cookie;
	struct slice ours = http_cookie_cut(request, slice_of_string(name));
	if (ours.len > 0 && c->diary.resources.most > 0 && !came_through)
		read_cookie(&c->diary, ours);
}

void client_diary_request(struct client_conn *c, struct exchange *x)
{
	if (c->diary.is_recording && c->diary.resources.most > 0 && !x->context.came_through)
		x->context.diary = &c->diary;
}

/* Whether the client's cache can use the response for a later request. */
static bool is_cacheable(const struct exchange *x, const struct http_head *response, uint32_t etag)
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

static void record_get(
    struct client_diary *diary, const struct exchange *x, const struct http_head *response)
{
	uint64_t key = key_of(SLICE("GET"), x);
	uint32_t etag = latest_etag_of(response);
	uint16_t status = response->status;
	if (status == 200 || status == 304)
		latest_etags_learn(
		    &conn_of(diary)->clients->etags, key, etag, x->request, response);
	if (status == 304 || (status == 200 && is_cacheable(x, response, etag)))
		record(diary, x->context.was_forwarded ? POLICY_NOTE_PUSHED : POLICY_NOTE_REQUESTED,
		    key, etag);
	else if (x->context.was_forwarded || status == 200 || status == 404 || status == 410)
		forget(diary, key);
}

void client_diary_response(struct exchange *x, struct http_head *head)
{
	struct client_diary *diary = x->context.diary;
	if (x->method == HTTP_METHOD_GET) {
		record_get(diary, x, head);
	} else if (x->method == HTTP_METHOD_HEAD && head->status == 200) {
		uint64_t key = key_of(SLICE("GET"), x);
		uint32_t etag = latest_etag_of(head);
		latest_etags_learn(&conn_of(diary)->clients->etags, key, etag, x->request, head);
		if (has_other_version(diary, key, etag))
			forget(diary, key);
	} else if (!http_method_is_safe(x->method) && head->status / 100 <= 3) {
		forget(diary, key_of(SLICE("GET"), x));
	}
	if (conn_of(diary)->clients->cookie_keys.count > 0 && !x->context.was_forwarded)
		add_cookie(diary, x, head);
}
