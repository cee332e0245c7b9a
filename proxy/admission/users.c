/* SPDX-License-Identifier: MIT */
/*
 * The user of a request; see admission.h.
 *
 *     credentials ──known?──→ a result: right or wrong
 *          │
 *          └── a question, which all requests with these credentials wait for ──→ password process ──→ a result
 *
 * A question is asked in its turn: the k-th question of one client address has its turn when each other address has had
 * k, and one address has one question on the way at a time. So a client that guesses passwords delays the others by
 * little, and after `user-failures` wrong ones in a minute not at all.
 *
 * The address pays for a question when it is made, and gets that back unless the password is wrong.
 */
#include "proxy/admission/admission_private.h"
#include "proxy/admission/limit_table.h"
#include "proxy/admission/user_results.h"
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/base/rare.h"
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
	uint64_t client; /* the subscriber key of the address that has made it */
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
	struct admission *admission;
	uint8_t key[USER_MAC_BYTES];
	struct user_results results;
	struct list questions; /* as they came */
	size_t question_count, asked_count;
	struct list waits; /* the first that came is first */
	struct wheel_node timer;
	uint64_t next_id;
	uint64_t turn;                /* of the question that was asked last */
	struct limit_table *failures; /* owned: wrong passwords of each client address */
};

/* ---- questions ---- */

static usec now_of(const struct users *u)
{
	return u->admission->env->relay->now;
}

static void set_timer(struct users *u)
{
	struct user_wait *w = list_first(&u->waits, struct user_wait, order);
	if (w) /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
		wheel_set(worker_wheel(u->admission->env), &u->timer, w->since + WAIT_USEC);
	else
		wheel_forget(worker_wheel(u->admission->env), &u->timer);
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

static void leave(struct users *u, struct user_wait *w)
{
	struct user_question *q = w->question;
	list_remove(&w->link);
	list_remove(&w->order);
	admission_part(w->exchange)->wait = NULL;
	free(w);
	if (!q->is_over && !q->is_asked && list_is_empty(&q->waits)) {
		limit_table_give(u->failures, q->client);
		end_question(u, q);
		free_question(q);
	}
	set_timer(u);
}

static void tell(
    struct users *u, struct user_wait *w, enum user_answer answer, struct exchange_user *user)
{
	struct exchange *x = w->exchange;
	leave(u, w);
	x->facts.user = exchange_user_hold(user);
	u->admission->identified(u->admission->context, x, answer);
}

/* All that wait for the question, which is over, get this answer. */
static void tell_all(
    struct users *u, struct user_question *q, enum user_answer answer, struct exchange_user *user)
{
	for (struct user_wait *w; (w = list_first(&q->waits, struct user_wait, link)) != NULL;)
		tell(u, w, answer, user); /* NOLINT(clang-analyzer-unix.Malloc): see list_remove */
	free_question(q);
}

/* The question gets no answer, which is no failure of its client. */
static void give_up(struct users *u, struct user_question *q)
{
	limit_table_give(u->failures, q->client);
	end_question(u, q);
	tell_all(u, q, USER_BUSY, NULL);
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

static void ask(struct users *u)
{
	struct admission *a = u->admission;
	while (u->asked_count < LIMIT_PASSWORDS_ASKED) {
		struct user_question *q = next_question(u);
		if (!q)
			return;
		const struct password_question question = {.id = q->id,
		    .access = q->access,
		    .name = slice_of(q->text, q->name_bytes),
		    .password = slice_of(q->text + q->name_bytes, q->password_bytes)};
		if (!a->ask_password(a->ask_context, &question))
			return;
		q->is_asked = true;
		u->asked_count++;
		u->turn = q->turn;
		WORKER_COUNT(a->env, password_hashes, 1);
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
static bool make_room(struct users *u, uint64_t turn)
{
	struct user_question *last = NULL;
	if (u->question_count < LIMIT_PASSWORDS_WAITING)
		return true;
	list_for_each(&u->questions, q, struct user_question,
	    link) if (!q->is_asked && (!last || q->turn >= last->turn)) last = q;
	if (!last || last->turn <= turn)
		return false;
	give_up(u, last);
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

static void wait_for(struct users *u, struct user_question *q, struct exchange *x)
{
	struct user_wait *w = memory_new(struct user_wait);
	w->exchange = x;
	w->question = q;
	w->since = now_of(u);
	list_append(&q->waits, &w->link);
	list_append(&u->waits, &w->order);
	admission_part(x)->wait = w;
	set_timer(u);
}

/* ---- a request ---- */

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

static bool may_fail(struct users *u, struct exchange *x, uint64_t client)
{
	static const char what[] = "user failures";
	char text[ADMISSION_CLIENT_TEXT];
	usec wait;
	if (limit_table_ask(u->failures, client, now_of(u), &wait) == LIMIT_PASSES)
		return true;
	admission_part(x)->retry_after = admission_seconds(wait);
	observe_log_fault(u->admission->env->observe, OBSERVE_WARN, what, now_of(u),
	    "%s: client %s: too many wrong passwords (user-failures), answered 429",
	    x->facts.listener->name, admission_client_text(x, text));
	return false;
}

static enum user_answer look_up(
    struct users *u, struct exchange *x, uint32_t access, struct credentials_text *c)
{
	make_mac(u, access, c);
	struct exchange_user *user;
	if (user_results_find(&u->results, c->mac, now_of(u), &user)) {
		x->facts.user = exchange_user_hold(user);
		return user ? USER_KNOWN : USER_WRONG;
	}
	struct user_question *q = find_question(u, c->mac);
	if (q) {
		wait_for(u, q, x);
		return USER_WAITS;
	}
	uint64_t client = subscriber_key_of_client(u->admission->seed, &x->facts.client);
	if (!may_fail(u, x, client))
		return USER_LIMITED;
	uint64_t turn = turn_of(u, client);
	if (!make_room(u, turn) || exchange_is_over(x))
		return USER_BUSY;
	bool was_full;
	(void)limit_table_take(u->failures, client, now_of(u), &was_full);
	wait_for(u, new_question(u, access, client, turn, c), x);
	ask(u);
	return USER_WAITS;
}

RARE enum user_answer users_identify(struct admission *a, struct exchange *x)
{
	const struct conf_access *access = x->facts.listener->access;
	struct credentials_text c;
	enum http_token token = x->facts.listener->mode == CONF_MODE_FORWARD
				    ? HTTP_TOKEN_PROXY_AUTHORIZATION
				    : HTTP_TOKEN_AUTHORIZATION;
	uint32_t count;
	const struct http_field *field = http_head_find_last(x->request, token, &count);
	if (!field)
		return USER_NONE;
	if (!a->users || !access || !access->users || count > 1 ||
	    !http_basic_parse(field->value, c.buffer, &c.name, &c.password) || c.name.len == 0 ||
	    c.name.len > LIMIT_USER_BYTES || c.password.len == 0 ||
	    c.password.len > LIMIT_USER_BYTES)
		return USER_WRONG;
	enum user_answer answer = look_up(a->users, x, access->index, &c);
	explicit_bzero(&c, sizeof(c));
	return answer;
}

void users_exchange_ended(struct users *u, struct exchange *x)
{
	leave(u, admission_part(x)->wait);
}

/* ---- answers ---- */

bool users_password_answer(struct users *u, uint64_t id, bool is_right)
{
	struct user_question *q = NULL;
	list_for_each(&u->questions, one, struct user_question,
	    link) if (one->is_asked && one->id == id) q = one;
	if (!q)
		return false;
	usec now = worker_now(u->admission->env);
	struct exchange_user *user =
	    is_right ? exchange_user_new(slice_of(q->text, q->name_bytes)) : NULL;
	WORKER_COUNT(u->admission->env, passwords_wrong, !is_right);
	if (is_right)
		limit_table_give(u->failures, q->client);
	end_question(u, q);
	user_results_add(&u->results, q->mac, q->access, user, now);
	ask(u);
	tell_all(u, q, is_right ? USER_KNOWN : USER_WRONG, user);
	exchange_user_release(user);
	return true;
}

void users_passwords_open(struct users *u)
{
	worker_now(u->admission->env);
	user_results_forget(&u->results, UINT32_MAX);
	ask(u);
}

static struct user_question *first_asked(struct users *u)
{
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	list_for_each(&u->questions, q, struct user_question, link) if (q->is_asked) return q;
	return NULL;
}

void users_passwords_lost(struct users *u)
{
	worker_now(u->admission->env);
	for (struct user_question *q; (q = first_asked(u)) != NULL;)
		give_up(u, q);
}

bool users_passwords_changed(struct users *u, uint32_t access)
{
	if (access >= u->admission->env->conf->access_count)
		return false;
	user_results_forget(&u->results, access);
	return true;
}

/* ---- life ---- */

static void on_timer(struct wheel_node *timer, usec now)
{
	struct users *u = container_of(timer, struct users, timer);
	struct user_wait *w;
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): as above */
	while ((w = list_first(&u->waits, struct user_wait, order)) && w->since + WAIT_USEC <= now)
		tell(u, w, USER_BUSY, NULL);
	set_timer(u);
}

static bool some_has_users(const struct conf *c)
{
	for (size_t i = 0; i < c->access_count; i++)
		if (c->accesses[i].users)
			return true;
	return false;
}

/* 0: any number may fail. */
static struct limit_table *open_failures(const struct admission *a)
{
	uint32_t per_minute = a->env->conf->server.user_failures;
	struct limit_terms terms = {.burst = per_minute};
	if (per_minute > 0)
		terms.interval_nsec = 60 * NSEC_PER_SEC / per_minute;
	return limit_table_in(admission_memory(a, a->env->conf->request_limit_count), &terms,
	    admission_failure_keys(a->env->conf));
}

void users_open(struct admission *a)
{
	const struct conf *c = a->env->conf;
	if (!a->ask_password || !some_has_users(c))
		return;
	struct users *u = a->users = memory_new(struct users);
	u->admission = a;
	hash_random(u->key, sizeof(u->key));
	user_results_init(&u->results, c->server.users_cache_time);
	list_init(&u->questions);
	list_init(&u->waits);
	wheel_node_init(&u->timer, on_timer);
	u->failures = open_failures(a);
}

void users_close(struct admission *a)
{
	struct users *u = a->users;
	if (!u)
		return;
	user_results_fini(&u->results);
	/* No request waits any more: the questions that are left were asked for requests that are over. */
	struct user_question *q;
	while ((q = list_first(&u->questions, struct user_question, link)) != NULL) {
		end_question(u, q); /* NOLINT(clang-analyzer-unix.Malloc): as above */
		free_question(q);
	}
	wheel_forget(worker_wheel(a->env), &u->timer);
	limit_table_free(u->failures);
	explicit_bzero(u->key, sizeof(u->key));
	free(u);
}
