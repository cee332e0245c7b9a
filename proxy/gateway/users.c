/* SPDX-License-Identifier: MIT */
/*
 * Who the user of a request is; see users.h.
 *
 *     credentials ──known?──→ a result: right or wrong
 *          │
 *          └── a question, which all requests with these credentials wait for ──→ password process ──→ a result
 *
 * A question is asked in its turn: the k-th question of one client address has its turn when each other address has had
 * k, and one address has one question on the way at a time. So who guesses passwords delays the others by little, and
 * after `user-failures` wrong ones in a minute not at all.
 *
 * The address pays for a question when it is made, and gets that back unless the password is wrong.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
#include "proxy/gateway/user_failures.h"
#include "proxy/gateway/user_results.h"
#include "proxy/gateway/users.h"
#include "proxy/http/basic.h"
#include "proxy/limits.h"

/* How long a request waits for its answer. */
#define WAIT_USEC (10 * USEC_PER_SEC)

struct user_question {
	struct list link;  /* in users->questions, unless it is over */
	struct list waits; /* struct user_wait */
	uint8_t mac[USER_MAC_BYTES];
	uint64_t id;
	uint64_t turn;
	uint64_t client; /* a hash of the address that has made it */
	uint32_t access;
	bool is_asked, is_over;
	uint8_t name_bytes, password_bytes;
	char text[]; /* the name and the password */
};

/* A request that waits for an answer. */
struct user_wait {
	struct list link;  /* in the question's list */
	struct list order; /* in users->waits */
	struct exchange *exchange;
	struct user_question *question;
	usec since;
};

struct users {
	struct gateway *gateway;
	uint8_t key[USER_MAC_BYTES];
	struct user_results results;
	struct list questions; /* as they came */
	size_t question_count, asked_count;
	struct list waits; /* the first that came is first */
	struct wheel_node timer;
	uint64_t next_id;
	uint64_t turn; /* of the question that was asked last */
	struct user_failures failures;
};

/* ---- questions ---- */

static void set_timer(struct gateway *g)
{
	struct user_wait *first = list_first(&g->users->waits, struct user_wait, order);
	if (first)
		wheel_set(&g->relay.wheel, &g->users->timer, first->since + WAIT_USEC);
	else
		wheel_forget(&g->relay.wheel, &g->users->timer);
}

/* Takes it out of the list; it is freed by its caller. */
static void end_question(struct users *u, struct user_question *q)
{
	q->is_over = true;
	list_remove(&q->link);
	u->question_count--;
	u->asked_count -= q->is_asked;
}

static void free_question(struct user_question *q)
{
	ensure(q->is_over && list_is_empty(&q->waits));
	explicit_bzero(q->text, (size_t)q->name_bytes + q->password_bytes);
	free(q);
}

static void leave(struct gateway *g, struct user_wait *w)
{
	struct user_question *q = w->question;
	list_remove(&w->link);
	list_remove(&w->order);
	w->exchange->context.user_wait = NULL;
	free(w);
	if (!q->is_over && !q->is_asked && list_is_empty(&q->waits)) {
		user_failures_give(&g->users->failures, q->client);
		end_question(g->users, q);
		free_question(q);
	}
	set_timer(g);
}

static void tell(
    struct gateway *g, struct user_wait *w, enum user_answer answer, struct exchange_user *user)
{
	struct exchange *x = w->exchange;
	leave(g, w);
	x->facts.user = exchange_user_hold(user);
	gateway_identified(g, x, answer);
}

/* All that wait for the question, which is over, get this answer. */
static void tell_all(
    struct gateway *g, struct user_question *q, enum user_answer answer, struct exchange_user *user)
{
	for (struct user_wait *w; (w = list_first(&q->waits, struct user_wait, link)) != NULL;)
		tell(g, w, answer, user); /* NOLINT(clang-analyzer-unix.Malloc): see list_remove */
	free_question(q);
}

static bool is_on_the_way(const struct users *u, uint64_t client)
{
	list_for_each(&u->questions, q, struct user_question,
	    link) if (q->is_asked && q->client == client) return true;
	return false;
}

static struct user_question *next_question(struct users *u)
{
	struct user_question *best = NULL;
	list_for_each(&u->questions, q, struct user_question, link)
	{
		bool is_earlier = !best || q->turn < best->turn;
		if (!q->is_asked && is_earlier && !is_on_the_way(u, q->client))
			best = q;
	}
	return best;
}

static void ask(struct gateway *g)
{
	struct users *u = g->users;
	while (u->asked_count < LIMIT_PASSWORDS_ASKED) {
		struct user_question *q = next_question(u);
		if (!q)
			return;
		const struct gateway_question question = {.id = q->id,
		    .access = q->access,
		    .name = slice_of(q->text, q->name_bytes),
		    .password = slice_of(q->text + q->name_bytes, q->password_bytes)};
		if (!g->ask_password(g->ask_context, &question))
			return;
		q->is_asked = true;
		u->asked_count++;
		u->turn = q->turn;
		WORKER_COUNT(&g->env, password_hashes, 1);
	}
}

/* When a new question of this address has its turn. */
static uint64_t turn_of(const struct users *u, uint64_t client)
{
	uint64_t turn = u->turn;
	list_for_each(&u->questions, q, struct user_question,
	    link) if (q->client == client && q->turn >= turn) turn = q->turn + 1;
	return turn;
}

/* Room for a question with this turn: another one, which would be asked later, gives way. */
static bool make_room(struct gateway *g, uint64_t turn)
{
	struct users *u = g->users;
	struct user_question *last = NULL;
	if (u->question_count < LIMIT_PASSWORDS_WAITING)
		return true;
	list_for_each(&u->questions, q, struct user_question,
	    link) if (!q->is_asked && (!last || q->turn >= last->turn)) last = q;
	if (!last || last->turn <= turn)
		return false;
	user_failures_give(&u->failures, last->client);
	end_question(u, last);
	tell_all(g, last, USER_BUSY, NULL);
	return true;
}

static struct user_question *find_question(struct users *u, const uint8_t mac[USER_MAC_BYTES])
{
	list_for_each(&u->questions, q, struct user_question,
	    link) if (memcmp(q->mac, mac, USER_MAC_BYTES) == 0) return q;
	return NULL;
}

struct credentials_text {
	char buffer[HTTP_BASIC_BYTES];
	struct slice name, password;
	uint8_t mac[USER_MAC_BYTES];
};

static struct user_question *new_question(struct users *u, uint32_t access, uint64_t client,
    uint64_t turn, const struct credentials_text *c)
{
	struct user_question *q = memory_zalloc(sizeof(*q) + c->name.len + c->password.len);
	list_init(&q->waits);
	memcpy(q->mac, c->mac, USER_MAC_BYTES);
	q->id = ++u->next_id;
	q->turn = turn;
	q->client = client;
	q->access = access;
	q->name_bytes = (uint8_t)c->name.len;
	q->password_bytes = (uint8_t)c->password.len;
	memcpy(q->text, c->name.ptr, c->name.len);
	memcpy(q->text + c->name.len, c->password.ptr, c->password.len);
	list_append(&u->questions, &q->link);
	u->question_count++;
	return q;
}

static void wait_for(struct gateway *g, struct user_question *q, struct exchange *x)
{
	struct user_wait *w = memory_new(struct user_wait);
	w->exchange = x;
	w->question = q;
	w->since = g->relay.now;
	list_append(&q->waits, &w->link);
	list_append(&g->users->waits, &w->order);
	x->context.user_wait = w;
	set_timer(g);
}

/* ---- a request ---- */

/* The field with credentials for us; NULL: there is none. *is_one: it is the only one. */
static const struct http_field *find_field(const struct exchange *x, bool *is_one)
{
	enum http_token token = x->facts.listener->mode == CONF_MODE_FORWARD
				    ? HTTP_TOKEN_PROXY_AUTHORIZATION
				    : HTTP_TOKEN_AUTHORIZATION;
	const struct http_field *found = NULL;
	*is_one = true;
	for (uint32_t i = 0; i < x->request->count; i++)
		if (x->request->fields[i].token == token) {
			*is_one = !found;
			found = &x->request->fields[i];
		}
	return found;
}

/* A name has no colon, so that no two pairs have the same text. */
static void make_mac(const struct users *u, uint32_t access, struct credentials_text *c)
{
	char text[sizeof(access) + HTTP_BASIC_BYTES];
	size_t length = c->name.len + 1 + c->password.len;
	memcpy(text, &access, sizeof(access));
	memcpy(text + sizeof(access), c->buffer, length);
	net_hmac(slice_of((const char *)u->key, USER_MAC_BYTES),
	    slice_of(text, sizeof(access) + length), c->mac);
	explicit_bzero(text, sizeof(text));
}

/* Clients on a unix socket count as one. */
static uint64_t client_key(const struct gateway *g, const struct exchange *x)
{
	struct address a = address_subscriber(x->facts.client);
	return hash_bytes(g->env.seed ^ a.family, a.bytes, sizeof(a.bytes));
}

static bool may_fail(struct gateway *g, struct exchange *x, uint64_t client)
{
	static const char what[] = "user failures";
	char text[64];
	x->context.retry_after = user_failures_wait(&g->users->failures, client, g->relay.now);
	if (x->context.retry_after == 0)
		return true;
	observe_log_fault(g->env.observe, OBSERVE_WARN, what, g->relay.now,
	    "%s: client %s: too many wrong passwords (user-failures), answered 429",
	    x->facts.listener->name,
	    x->facts.client.family == 0 ? "unix"
					: address_format(&x->facts.client, text, sizeof(text)));
	return false;
}

static enum user_answer look_up(
    struct gateway *g, struct exchange *x, uint32_t access, struct credentials_text *c)
{
	struct users *u = g->users;
	make_mac(u, access, c);
	struct exchange_user *user;
	if (user_results_find(&u->results, c->mac, g->relay.now, &user)) {
		x->facts.user = exchange_user_hold(user);
		return user ? USER_KNOWN : USER_WRONG;
	}
	struct user_question *q = find_question(u, c->mac);
	if (q) {
		wait_for(g, q, x);
		return USER_WAITS;
	}
	uint64_t client = client_key(g, x);
	if (!may_fail(g, x, client))
		return USER_LIMITED;
	uint64_t turn = turn_of(u, client);
	if (!make_room(g, turn) || exchange_is_over(x))
		return USER_BUSY;
	user_failures_take(&u->failures, client, g->relay.now);
	wait_for(g, new_question(u, access, client, turn, c), x);
	ask(g);
	return USER_WAITS;
}

RARE enum user_answer users_identify(struct gateway *g, struct exchange *x)
{
	const struct conf_access *access = x->facts.listener->access;
	struct credentials_text c;
	bool is_one;
	const struct http_field *field = find_field(x, &is_one);
	if (!field)
		return USER_NONE;
	if (!g->users || !access || !access->users || !is_one ||
	    !http_basic_parse(field->value, c.buffer, &c.name, &c.password) || c.name.len == 0 ||
	    c.name.len > LIMIT_USER_BYTES || c.password.len == 0 ||
	    c.password.len > LIMIT_USER_BYTES)
		return USER_WRONG;
	enum user_answer answer = look_up(g, x, access->index, &c);
	explicit_bzero(&c, sizeof(c));
	return answer;
}

RARE void users_exchange_ended(struct gateway *g, struct exchange *x)
{
	if (x->context.user_wait)
		leave(g, x->context.user_wait);
}

/* ---- answers ---- */

bool gateway_password_answer(struct gateway *g, uint64_t id, bool is_right)
{
	struct users *u = g->users;
	struct user_question *q = list_first(&u->questions, struct user_question, link);
	while (q && (!q->is_asked || q->id != id))
		q = q->link.next == &u->questions
			? NULL
			: container_of(q->link.next, struct user_question, link);
	if (!q)
		return false;
	worker_now(&g->env);
	struct exchange_user *user = is_right ? user_new(slice_of(q->text, q->name_bytes)) : NULL;
	WORKER_COUNT(&g->env, passwords_wrong, !is_right);
	if (is_right)
		user_failures_give(&u->failures, q->client);
	end_question(u, q);
	user_results_add(&u->results, q->mac, q->access, user, g->relay.now);
	ask(g);
	tell_all(g, q, is_right ? USER_KNOWN : USER_WRONG, user);
	exchange_user_release(user);
	return true;
}

void gateway_passwords_open(struct gateway *g)
{
	worker_now(&g->env);
	user_results_forget(&g->users->results, UINT32_MAX);
	ask(g);
}

static struct user_question *first_asked(struct users *u)
{
	list_for_each(&u->questions, q, struct user_question, link) if (q->is_asked) return q;
	return NULL;
}

void gateway_passwords_lost(struct gateway *g)
{
	worker_now(&g->env);
	for (struct user_question *q; (q = first_asked(g->users)) != NULL;) {
		user_failures_give(&g->users->failures, q->client);
		end_question(g->users, q);
		tell_all(g, q, USER_BUSY, NULL);
	}
}

bool gateway_passwords_changed(struct gateway *g, uint32_t access)
{
	if (access >= g->env.conf->access_count)
		return false;
	user_results_forget(&g->users->results, access);
	return true;
}

/* ---- life ---- */

static void on_timer(struct wheel_node *timer, usec now)
{
	struct users *u = container_of(timer, struct users, timer);
	struct gateway *g = u->gateway;
	struct user_wait *w;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as above */
	while ((w = list_first(&u->waits, struct user_wait, order)) && w->since + WAIT_USEC <= now)
		tell(g, w, USER_BUSY, NULL);
	set_timer(g);
}

static bool some_has_users(const struct conf *c)
{
	for (size_t i = 0; i < c->access_count; i++)
		if (c->accesses[i].users)
			return true;
	return false;
}

void users_open(struct gateway *g, const struct gateway_env *env)
{
	if (!env->ask_password || !some_has_users(g->env.conf))
		return;
	struct users *u = g->users = memory_new(struct users);
	u->gateway = g;
	g->ask_password = env->ask_password;
	g->ask_context = env->ask_context;
	hash_random(u->key, sizeof(u->key));
	user_results_init(&u->results, g->env.conf->server.users_cache_time);
	list_init(&u->questions);
	list_init(&u->waits);
	wheel_node_init(&u->timer, on_timer);
	user_failures_init(&u->failures, g->env.conf->server.user_failures);
}

void users_close(struct gateway *g)
{
	struct users *u = g->users;
	if (!u)
		return;
	user_results_fini(&u->results);
	/* Nobody waits any more: what is left was asked for requests that are over. */
	struct user_question *q;
	while ((q = list_first(&u->questions, struct user_question, link)) != NULL) {
		end_question(u, q); /* NOLINT(clang-analyzer-unix.Malloc): as above */
		free_question(q);
	}
	wheel_forget(&g->relay.wheel, &u->timer);
	user_failures_fini(&u->failures);
	explicit_bzero(u->key, sizeof(u->key));
	free(u);
	g->users = NULL;
}
