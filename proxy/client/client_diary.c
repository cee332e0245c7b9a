/* SPDX-License-Identifier: MIT */
/*
 * The diary of a client connection (policy/diary.h): which resources the client has. It learns from
 * pushes, hints and the client's own requests, and the policy asks it before each offer. If
 * configured, a cookie carries it to the client's next connection (policy/known_cookie.h, RFC 6265).
 * Responses themselves are not stored.
 *
 * A response counts for as long as the client's own cache can use it (RFC 9111): while it is fresh
 * by its fields, or while its validator is the latest known one. A response that says no-store,
 * no-cache or max-age=0, or that has neither, is for one use: an origin that pushes it twice means
 * it twice.
 *
 * The diary records from the first promise on; if the configuration makes offers of its own
 * ([preload] sections, rules that hold or hint), from the first request on. Nothing is recorded on
 * connections that carry several users, or for requests that came through another proxy. In forward mode a client's
 * diary is its own unless `shares` says otherwise: there is no cookie, and nothing is learned for other clients.
 */
#include "proxy/client/client_private.h"

#include "proxy/base/memory.h"
#include "proxy/http/cache.h"

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

static uint32_t sec_of(usec now)
{
	return (uint32_t)(now / USEC_PER_SEC);
}

/* ---- entries ---- */

/* A hint, or the client's reset of a push whose response had not begun, says that the client has the
 * resource, but not for how long: it counts for one page, which is loaded within this time. */
#define TOLD_SEC 10u

/* The key of a resource in the diary. The name of the user is a part of it: requests of several users may come on one
 * connection, and one of them does not have what another one got. */
static uint64_t key_for(
    const struct exchange *x, struct slice method, struct slice authority, struct slice path)
{
	const struct exchange_user *user = x->facts.user;
	uint64_t key = policy_diary_key(method, authority, path);
	if (!user)
		return key;
	return key ^ policy_diary_key(slice_of(user->name, user->length), SLICE("user"), SLICE(""));
}

static uint64_t key_of(struct slice method, const struct exchange *x)
{
	return key_for(x, method, x->request->authority, x->request->path);
}

/* Adds or changes an entry. Leaves it out when the connection's budget is used up: the only harm is
 * a needless push. */
static void record(struct client_diary *diary, uint64_t key, const struct policy_diary_note *note)
{
	struct client_conn *c = conn_of(diary);
	size_t had = policy_diary_bytes(&diary->resources),
	       growth = policy_diary_growth(&diary->resources);
	if (growth > 0 && !budget_take(&c->budget, growth)) {
		WORKER_COUNT(c->clients->env, memory_refused, 1);
		return;
	}
	policy_diary_put(&diary->resources, key, note);
	budget_give(&c->budget, had + growth - policy_diary_bytes(&diary->resources));
}

/* The codings that a push was promised for are noted with it: its parent may be over by now. */
static bool coding_of(const struct exchange *x, uint64_t key, uint32_t *coding)
{
	struct policy_diary_note note;
	if (!x->pushed.was_promised) {
		*coding = latest_validators_coding(x->request, NULL);
		return true;
	}
	if (!policy_diary_find(&client_part(x)->diary->resources, key, &note) ||
	    (note.state != POLICY_DIARY_PUSHED_UNANSWERED &&
		note.state != POLICY_DIARY_PUSHED_AGAIN))
		return false;
	*coding = note.coding;
	return true;
}

/* Routes that give the origin other fields may get other responses of one URL: validators that came by one of them
 * say nothing of what comes by the other. The diary itself has one entry for both, as the client's cache has. route
 * NULL: a request that none takes. x: a request of the client. */
static uint64_t validator_key(
    uint64_t key, const struct conf_route *route, const struct exchange *x)
{
	return route ? key ^ route_fields_key(&route->request_fields, &x->facts) : key;
}

/* The latest known validator of the resource; 0: none is known. */
static uint32_t latest_before(const struct exchange *x, uint64_t key)
{
	const struct clients *clients = conn_of(client_part(x)->diary)->clients;
	uint32_t coding, validator = 0;
	if (route_shares(&x->facts) && coding_of(x, key, &coding))
		latest_validators_find(&clients->validators, validator_key(key, x->place.route, x),
		    coding, &validator);
	return validator;
}

/* Takes the resource out of the set of the client's cookie, in all versions that may be in it. */
static void forget_in_cookie(const struct exchange *x, uint64_t key, uint32_t latest)
{
	struct client_diary *diary = client_part(x)->diary;
	struct policy_diary_note note;
	if (!diary->cookie)
		return;
	policy_cookie_remove(diary->cookie, key, 0);
	policy_cookie_remove(diary->cookie, key, latest);
	if (policy_diary_find(&diary->resources, key, &note) && note.state == POLICY_DIARY_HAD)
		policy_cookie_remove(diary->cookie, key, note.validator);
}

static void forget(const struct exchange *x, uint64_t key)
{
	forget_in_cookie(x, key, latest_before(x, key));
	policy_diary_forget(&client_part(x)->diary->resources, key);
}

/* ---- offers ---- */

enum policy_known client_diary_knows(const struct exchange *parent,
    const struct http_head *promised, enum policy_source source, const struct conf_route *route)
{
	struct client_conn *c = client_conn_of(parent);
	if (!c || c->diary.resources.most == 0 || parent->facts.came_through)
		return POLICY_NOT_KNOWN;
	struct client_diary *diary = &c->diary;
	diary->is_recording = true;
	if (diary->resources.count == 0 && !diary->cookie)
		return POLICY_NOT_KNOWN;
	uint64_t key = key_for(parent, promised->method, promised->authority, promised->path);
	uint32_t latest = 0;
	bool is_heard_of =
	    route_shares(&parent->facts) &&
	    latest_validators_find(&c->clients->validators, validator_key(key, route, parent),
		latest_validators_coding(promised, parent->request), &latest);
	struct policy_diary_note note;
	if (!policy_diary_find(&diary->resources, key, &note))
		return diary_cookie_has(diary, key, is_heard_of, latest) ? POLICY_KNOWN
									 : POLICY_NOT_KNOWN;
	if (note.state == POLICY_DIARY_HAD && note.validator != 0 && is_heard_of &&
	    note.validator != latest)
		return POLICY_NOT_KNOWN;
	return policy_diary_answer(
	    &note, source != POLICY_RELAYED, (uint32_t)parent->id, sec_of(parent->relay->now));
}

void client_diary_promised(struct exchange *push)
{
	const struct exchange *parent = push->pushed.parent;
	struct client_conn *c = push->down.carrier;
	if (c->diary.resources.most == 0 || parent->facts.came_through ||
	    push->method != HTTP_METHOD_GET)
		return;
	client_part(push)->diary = &c->diary;
	uint64_t key = key_of(push->request->method, push);
	struct policy_diary_note note, had;
	bool is_again =
	    policy_diary_find(&c->diary.resources, key, &had) &&
	    (had.state == POLICY_DIARY_PUSHED_ONCE || had.state == POLICY_DIARY_PUSHED_AGAIN);
	note = (struct policy_diary_note){
	    .state = is_again ? POLICY_DIARY_PUSHED_AGAIN : POLICY_DIARY_PUSHED_UNANSWERED,
	    .coding = latest_validators_coding(push->request, parent->request),
	};
	record(&c->diary, key, &note);
}

void client_diary_hinted(const struct exchange *parent, const struct http_head *promised)
{
	struct client_conn *c = client_conn_of(parent);
	if (!c || c->diary.resources.most == 0 || parent->facts.came_through)
		return;
	const struct policy_diary_note note = {
	    .state = POLICY_DIARY_HAD,
	    .fresh_until_sec = sec_of(parent->relay->now) + TOLD_SEC,
	};
	record(&c->diary, key_for(parent, promised->method, promised->authority, promised->path),
	    &note);
}

static void record_once(const struct exchange *push, uint64_t key)
{
	const struct policy_diary_note note = {
	    .state = POLICY_DIARY_PUSHED_ONCE,
	    .page = (uint32_t)push->pushed.parent_id,
	};
	record(client_part(push)->diary, key, &note);
}

/* The client reset a push: it has the resource. If the response had begun, its head has said for
 * how long. Otherwise the client is taken to have the latest known version. */
static void record_reset(struct exchange *push, uint64_t key)
{
	struct client_diary *diary = client_part(push)->diary;
	struct policy_diary_note note;
	if (push->response.status != 0)
		return;
	if (policy_diary_find(&diary->resources, key, &note) &&
	    note.state == POLICY_DIARY_PUSHED_AGAIN) {
		record_once(push, key);
		return;
	}
	uint32_t validator = latest_before(push, key);
	note = (struct policy_diary_note){
	    .state = POLICY_DIARY_HAD,
	    .validator = validator,
	    .fresh_until_sec = sec_of(push->relay->now) + TOLD_SEC,
	    .is_common = validator != 0,
	};
	record(diary, key, &note);
}

void client_diary_ended(struct exchange *x, enum observe_outcome outcome)
{
	/* FLOW_DONE: the client has the whole response, and may have gone with its diary. */
	if (x->method != HTTP_METHOD_GET || outcome == OBSERVE_COMPLETE ||
	    x->download.state == FLOW_DONE)
		return;
	uint64_t key = key_of(SLICE("GET"), x);
	if (x->pushed.was_promised && outcome == OBSERVE_CLIENT_RESET)
		record_reset(x, key);
	else if (x->pushed.was_promised || x->response.status == 200)
		forget(x, key);
}

/* The cookie leaves with the head of the page, before the client has claimed any held resource. So each of them is noted in the
 * latest version that is known. Otherwise the same resources would be fetched again, for nothing, when the client comes back over
 * another connection. */
void client_diary_expect(const struct exchange *page, struct policy_cookie_set *set)
{
	const struct clients *clients = conn_of(client_part(page)->diary)->clients;
	list_for_each(&page->pushes.list, push, struct exchange, pushed.sibling)
	{
		enum policy_action action = push->pushed.verdict.action;
		if (push->method != HTTP_METHOD_GET ||
		    (action != POLICY_HOLD && action != POLICY_HINT_HOLD))
			continue;
		uint64_t key =
		    key_for(page, SLICE("GET"), push->request->authority, push->request->path);
		uint32_t coding = latest_validators_coding(push->request, page->request), validator;
		if (latest_validators_find(&clients->validators,
			validator_key(key, push->place.route, page), coding, &validator) &&
		    validator != 0)
			policy_cookie_add(set, key, validator);
	}
}

/* ---- requests and responses ---- */

void client_diary_request(struct client_conn *c, struct exchange *x)
{
	if (c->diary.is_recording && c->diary.resources.most > 0 && !x->facts.came_through)
		client_part(x)->diary = &c->diary;
}

/* How long, and by which validator, the client can use its copy. False: it is for one use. A 304 need not repeat the
 * validator, but has the other fields that a 200 would have (RFC 9110 15.4.5). */
static bool read_response(const struct exchange *x, uint64_t key, const struct http_head *response,
    struct policy_diary_note *note)
{
	struct policy_diary_note had;
	*note = (struct policy_diary_note){.state = POLICY_DIARY_HAD};
	uint32_t fresh_sec;
	if (!http_may_reuse(x->request, response, clock_wall() / USEC_PER_SEC, &fresh_sec))
		return false;
	note->fresh_until_sec = sec_of(x->relay->now) + fresh_sec;
	note->validator = latest_validator_of(response);
	if (response->status == 304 && note->validator == 0 &&
	    policy_diary_find(&client_part(x)->diary->resources, key, &had) &&
	    had.state == POLICY_DIARY_HAD)
		note->validator = had.validator;
	return note->validator != 0 || fresh_sec > 0;
}

/* A 200 or 304 to GET or HEAD. */
static bool learn(
    const struct exchange *x, uint64_t key, uint32_t validator, const struct http_head *response)
{
	uint32_t coding;
	return route_shares(&x->facts) && coding_of(x, key, &coding) &&
	       latest_validators_learn(&conn_of(client_part(x)->diary)->clients->validators,
		   validator_key(key, x->place.route, x), coding, validator, x->request, response);
}

static void record_ok(const struct exchange *x, const struct http_head *response)
{
	struct client_diary *diary = client_part(x)->diary;
	uint64_t key = key_of(SLICE("GET"), x);
	struct policy_diary_note note;
	uint32_t former = latest_before(x, key);
	bool is_had = read_response(x, key, response, &note);
	note.is_common = learn(x, key, is_had ? note.validator : 0, response);
	forget_in_cookie(x, key, former);
	if (is_had) {
		record(diary, key, &note);
		return;
	}
	policy_diary_forget(&diary->resources, key);
	if (x->pushed.was_promised)
		record_once(x, key);
}

static void record_get(const struct exchange *x, const struct http_head *response)
{
	uint16_t status = response->status;
	if (status == 200 || status == 304)
		record_ok(x, response);
	else if (x->pushed.was_promised || status == 404 || status == 410)
		forget(x, key_of(SLICE("GET"), x));
}

/* Nothing is recorded: the client has no body. But an older version that it has is not the latest. */
static void learn_from_head(const struct exchange *x, const struct http_head *response)
{
	struct policy_diary *resources = &client_part(x)->diary->resources;
	uint64_t key = key_of(SLICE("GET"), x);
	struct policy_diary_note had, note;
	bool is_had = read_response(x, key, response, &note);
	uint32_t validator = is_had ? note.validator : 0;
	if (policy_diary_find(resources, key, &had) && had.state == POLICY_DIARY_HAD &&
	    had.validator != validator)
		forget(x, key);
	learn(x, key, validator, response);
}

void client_diary_response(struct exchange *x, struct http_head *head)
{
	struct client_diary *diary = client_part(x)->diary;
	if (x->method == HTTP_METHOD_GET)
		record_get(x, head);
	else if (x->method == HTTP_METHOD_HEAD && head->status == 200)
		learn_from_head(x, head);
	else if (exchange_may_change(x) && head->status / 100 <= 3)
		forget(x, key_of(SLICE("GET"), x));
	if (conn_of(diary)->clients->cookie_keys.count > 0 && !x->pushed.was_promised &&
	    route_shares(&x->facts))
		diary_cookie_add(conn_of(diary), x, head);
}
