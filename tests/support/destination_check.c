/* SPDX-License-Identifier: MIT */
/* The invariants of destinations; see destination_check.h. */
#include "tests/support/destination_check.h"

#include "proxy/base/ensure.h"

static uint32_t length_of(const struct list *l)
{
	uint32_t n = 0;
	for (const struct list *at = l->next; at != l; at = at->next)
		n++;
	return n;
}

/* Those for which connections are opened, slow uploads or others. */
static uint32_t owners_waiting(const struct pool *p, bool is_slow)
{
	uint32_t n = 0;
	list_for_each(&p->conns, c, struct origin_conn, link)
	{
		ensure((c->owner != NULL) == p->conf->is_private);
		if (!c->owner)
			continue;
		ensure(c->owner->conn == c && length_of(&c->owner->waiting) <= (!c->is_ready && !c->is_closing));
		list_for_each(&c->owner->waiting, x, struct exchange, waiting)
		{
			ensure(origin_attempt_of(x)->pool == p && origin_attempt_of(x)->server == p->server);
			n += (x->upload_wait == UPLOAD_IS_SLOW) == is_slow;
		}
	}
	return n;
}

static void check_pool(const struct pool *p)
{
	uint32_t count = 0, connecting = 0, usable = 0;
	list_for_each(&p->conns, c, struct origin_conn, link)
	{
		ensure(c->pool == p && !c->is_gone);
		count += !c->is_closing;
		connecting += !c->is_closing && !c->is_ready;
	}
	list_for_each(&p->usable, c, struct origin_conn, usable)
	{
		ensure(c->is_ready && !c->is_closing);
		usable++;
	}
	ensure(p->count == count && p->connecting == connecting && p->usable_count == usable);
	ensure(p->leaving == length_of(&p->conns) - count);
	uint32_t shared = length_of(&p->shared.requests) + length_of(&p->shared.pushes);
	ensure(length_of(&p->bound.requests) + length_of(&p->bound.pushes) + shared + owners_waiting(p, false) == p->queued);
	ensure(!p->conf->is_private || (shared == 0 && p->owners.count == p->count && p->count <= pool_most_connections(p)));
	ensure(list_is_linked(&p->waiting) == (shared > 0));
	const struct list *lists[] = {&p->bound.requests, &p->bound.pushes, &p->shared.requests, &p->shared.pushes};
	for (unsigned i = 0; i < 4; i++)
		list_for_each(lists[i], x, struct exchange, waiting)
		{
			ensure(origin_attempt_of(x)->pool == p && origin_attempt_of(x)->server == p->server);
			ensure(origin_attempt_of(x)->is_bound == (i < 2));
			ensure(x->upload_wait == UPLOAD_WAITS_NOT);
		}
	uint32_t open = 0;
	list_for_each(&p->conns, c, struct origin_conn, link) open += c->carries_slow;
	ensure(p->slow.open == open && p->slow.queued == length_of(&p->slow.waiting) + owners_waiting(p, true));
	list_for_each(&p->slow.waiting, x, struct exchange, waiting)
	{
		ensure(origin_attempt_of(x)->pool == p && origin_attempt_of(x)->server == p->server);
		ensure(x->upload_wait == UPLOAD_IS_SLOW && !x->upload.source_ended);
	}
}

static void check_server(const struct server *s)
{
	const struct relay *r = s->destination->upstream->env->relay;
	const struct origin_fetches none = {.waiting = {.next = NULL}};
	const struct origin_fetches *f = s->at.fetches ? s->at.fetches : &none;
	uint32_t queued = f->queued;
	uint32_t connections = 0, retired = 0, connecting = 0, outstanding = 0, tunnels = 0;
	uint32_t fetches_open = 0, fetches_kept = 0;
	ensure(!s->at.fetches || f->queued == length_of(&f->waiting));
	for (unsigned kind = 0; kind < POOL_KINDS; kind++) {
		const struct pool *p = s->at.pools[kind];
		if (!p)
			continue;
		check_pool(p);
		queued += p->queued + p->slow.queued;
		connecting += p->connecting;
		connections += length_of(&p->conns);
		retired += length_of(&p->conns) - p->count;
	}
	list_for_each(&r->live, x, struct exchange, link)
	{
		outstanding += given_server(x) == s;
		tunnels += given_server(x) == s && x->tunnel.is_counted;
		if (given_server(x) != s)
			continue;
		fetches_open += origin_attempt_of(x)->fetch.state == ORIGIN_FETCH_OPEN;
		fetches_kept += origin_attempt_of(x)->fetch.state == ORIGIN_FETCH_KEPT;
	}
	ensure(f->open == fetches_open && f->kept == fetches_kept);
	ensure(!s->at.is_leaving || retired == connections);
	ensure(s->at.queued == queued && s->at.connections == connections);
	ensure(s->member.outstanding == outstanding && s->at.queued <= outstanding);
	ensure(s->at.requests == outstanding);
	ensure(s->at.known.tunnels == tunnels);
	ensure(!s->at.is_slow || connecting > 0);
	/* One that leaves is freed with its last exchange and connection, or will be in this loop pass. */
	ensure(!s->at.is_leaving || outstanding > 0 || connections > 0 || list_is_linked(&s->deferred.link));
}

static void check_waiting_pools(const struct destination *d, enum pool_kind kind)
{
	uint32_t pools = 0;
	list_for_each(&d->servers, s, struct server, link)
		pools += s->at.pools[kind] && list_is_linked(&s->at.pools[kind]->waiting);
	ensure(length_of(&d->origin.waiting_pools[kind]) == pools);
	list_for_each(&d->origin.waiting_pools[kind], p, struct pool, waiting)
		ensure(p->kind == kind && p->server->origin == &d->origin);
}

static void check_destination(const struct destination *d)
{
	uint32_t queued = length_of(&d->nameless), slow = 0;
	size_t servers = 0, leaving = 0, down = 0, ejected = 0;
	list_for_each(&d->servers, s, struct server, link)
	{
		leaving += s->at.is_leaving;
		down += s->at.conf->is_down;
		ejected += s->health.ejection.until > 0;
		check_server(s);
		queued += s->at.queued - (s->at.fetches ? s->at.fetches->queued : 0);
		for (unsigned kind = 0; kind < POOL_KINDS; kind++)
			slow += s->at.pools[kind] ? s->at.pools[kind]->slow.queued : 0;
		servers++;
	}
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		check_waiting_pools(d, (enum pool_kind)kind);
	ensure(d->origin.queued == queued && d->server_count == servers);
	ensure(d->leaving_count == leaving && d->down_count == down && d->ejected_count == ejected);
	/* Fetches take no place from requests. */
	ensure(d->origin.queued >= d->origin.fetches_queued && d->origin.slow_queued == slow);
	ensure(d->origin.queued - d->origin.fetches_queued <= d->origin.conf->max_queue);
}

static size_t count_of(const struct upstream *u)
{
	return u->destinations ? u->env->conf->origin_count : 0;
}

void destinations_check(const struct upstream *u)
{
	for (size_t i = 0; i < count_of(u); i++)
		check_destination(&u->destinations[i]);
}

void destinations_check_idle(const struct upstream *u)
{
	destinations_check(u);
	for (size_t i = 0; i < count_of(u); i++) {
		const struct destination *d = &u->destinations[i];
		ensure(d->origin.queued == 0);
		list_for_each(&d->servers, s, struct server, link)
			ensure(s->member.outstanding == 0 && !s->at.is_slow && s->at.known.tunnels == 0);
	}
}
