/* SPDX-License-Identifier: MIT */
/*
 * Fetches: requests of our own for responses that are held (hold/). No client waits for one before a request claims it,
 * so that a fetch takes nothing from clients: fetch-share of a server's room is the most that fetches have, the others
 * wait in a line of the server, and in the queue for connections every request goes first (pool_queue.c). The origin is
 * told that nothing is less urgent (RFC 9218 4.1).
 *
 *   WAITS ── the share has room ──▶ OPEN ── the response has come ──▶ KEPT
 *     └───────── a request claims it ─┴──▶ NONE: a request like any other
 *
 * These functions only count; fetch_send.c sends.
 */
#include "proxy/origin/origin_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

/* An origin may allow thousands on a connection: more than so many are not reckoned with. */
#define STREAMS_COUNTED 100u

#define SHARE_WHOLE 10000u

struct origin_fetches *fetches_of(struct origin_server *s)
{
	if (s->fetches)
		return s->fetches;
	struct origin_fetches *f = memory_new(struct origin_fetches);
	f->server = s;
	list_init(&f->waiting);
	wheel_node_init(&f->timer, s->origin->origins->send_fetches);
	s->fetches = f;
	return f;
}

/* To be read. */
static const struct origin_fetches *counts_of(const struct origin_server *s)
{
	static const struct origin_fetches none;
	return s->fetches ? s->fetches : &none;
}

/* How many requests the server may have at a time; a guess until a connection was ready. */
static uint32_t room_of(const struct origin_server *s)
{
	const struct conf_origin *o = s->origin->conf;
	uint32_t streams = s->known.streams;
	if (streams == 0 || streams > STREAMS_COUNTED)
		streams = STREAMS_COUNTED;
	bool multiplexes = (s->known.capabilities & SESSION_MULTIPLEXES) != 0;
	uint32_t room = multiplexes ? o->max_connections * streams : o->max_http1_connections;
	return o->max_requests > 0 && o->max_requests < room ? o->max_requests : room;
}

/* Tunnels and subscriptions have connections of their own: they take no room from fetches, except from max-requests. */
static uint32_t requests_apart(const struct origin_server *s)
{
	const struct pool *p = s->pools[POOL_SUBSCRIPTIONS];
	return s->known.tunnels + (p ? p->queued + p->leaving : 0);
}

/* How many requests take of that room, or wait for it. own: so many of them are the one that asks. */
static uint32_t requests_in_room(const struct origin_server *s, uint32_t own)
{
	const struct origin_fetches *f = counts_of(s);
	uint32_t all = s->requests - own - f->queued - f->kept;
	uint32_t apart = s->origin->conf->max_requests > 0 ? 0 : requests_apart(s);
	return all > apart ? all - apart : 0;
}

bool fetches_have_room(const struct origin_server *s)
{
	uint32_t share = s->origin->conf->fetch_share;
	bool is_known = s->known.streams > 0; /* else one is enough to open a connection */
	uint64_t most = is_known ? (uint64_t)room_of(s) * share / SHARE_WHOLE : 1;
	return share > 0 && counts_of(s)->open < (most > 0 ? most : 1);
}

static bool is_crowded(const struct origin_server *s, uint32_t own)
{
	const struct origin_fetches *f = counts_of(s);
	uint32_t room = room_of(s);
	return s->origin->conf->fetch_share == 0 || f->open + f->queued >= room ||
	       requests_in_room(s, own) >= room;
}

bool server_spares_room(const struct origin_server *s)
{
	uint64_t most = (uint64_t)room_of(s) * s->origin->conf->speculation_share / SHARE_WHOLE;
	return s->known.streams == 0 || requests_in_room(s, 1) < (most > 0 ? most : 1);
}

bool origin_fetch_is_crowded(const struct origin_server *s)
{
	return is_crowded(s, 0);
}

/* The caller may be in the middle of an event of some connection. */
void fetches_look_soon(struct origin_server *s)
{
	struct worker_env *env = s->origin->origins->env;
	if (counts_of(s)->queued > 0 && !s->origin->origins->is_closed)
		wheel_set(worker_wheel(env), &s->fetches->timer, env->relay->now);
}

/* ---- the line ---- */

static void wait_for_share(struct pool *p, struct exchange *x)
{
	struct origin_server *s = p->server;
	if (is_crowded(s, 1)) {
		exchange_on_up_failed(x, &relay_cause_QUEUE_FULL, 0, NULL);
		return;
	}
	origin_attempt_of(x)->pool = p;
	origin_attempt_of(x)->fetch.state = ORIGIN_FETCH_WAITS;
	list_append(&fetches_of(s)->waiting, &x->waiting);
	s->fetches->queued++;
	s->queued++;
}

void fetch_unqueue(struct exchange *x)
{
	struct origin_server *s = origin_attempt_of(x)->server;
	ensure(counts_of(s)->queued > 0 && s->queued > 0);
	list_remove(&x->waiting);
	origin_attempt_of(x)->fetch.state = ORIGIN_FETCH_NONE;
	s->fetches->queued--;
	s->queued--;
}

void fetch_begins(struct origin_server *s, struct exchange *x)
{
	origin_attempt_of(x)->fetch.state = ORIGIN_FETCH_OPEN;
	fetches_of(s)->open++;
}

void fetch_moves(struct origin_server *from, struct origin_server *to)
{
	from->fetches->open--;
	fetches_of(to)->open++;
	fetches_look_soon(from);
}

/* Offers are made before their page is sent: a fetch that went at once would take the connection that the page needs. */
bool fetch_waits(struct pool *p, struct exchange *x)
{
	if (!origin_is_fetch(x))
		return false;
	wait_for_share(p, x);
	fetches_look_soon(p->server);
	return true;
}

/* ---- life ---- */

void fetches_close(struct origin_server *s)
{
	if (s->fetches)
		wheel_forget(worker_wheel(s->origin->origins->env), &s->fetches->timer);
}

void fetches_free(struct origin_server *s)
{
	fetches_close(s);
	free(s->fetches);
	s->fetches = NULL;
}

void fetches_take_waiting(struct origin_server *s, struct list *waiting)
{
	if (s->fetches)
		list_splice(waiting, &s->fetches->waiting);
}

void fetch_keep(struct exchange *x)
{
	struct origin_attempt *a = origin_attempt_of(x);
	if (x->pushed.state != PUSH_HELD || !a->server || a->fetch.state == ORIGIN_FETCH_KEPT)
		return;
	if (a->fetch.state == ORIGIN_FETCH_OPEN) {
		a->server->fetches->open--;
		fetches_look_soon(a->server);
	}
	a->fetch.state = ORIGIN_FETCH_KEPT;
	fetches_of(a->server)->kept++;
}

void origin_fetch_left(struct exchange *x)
{
	struct origin_attempt *a = origin_attempt_of(x);
	switch ((enum origin_fetch_state)a->fetch.state) {
	case ORIGIN_FETCH_NONE:
	case ORIGIN_FETCH_NAMELESS: /* of no server */
	case ORIGIN_FETCH_WAITS:    /* it has left the line before */
		break;
	case ORIGIN_FETCH_OPEN:
		a->server->fetches->open--;
		fetches_look_soon(a->server);
		break;
	case ORIGIN_FETCH_KEPT:
		a->server->fetches->kept--;
		break;
	}
	a->fetch.state = ORIGIN_FETCH_NONE;
}
