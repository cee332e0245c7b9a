/* SPDX-License-Identifier: MIT */
/* One server of a destination: an address, its pools, and its end. */
#include "proxy/upstream/upstream_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

/* Without a choice between protocols nothing has to be found out. */
static void know_beforehand(struct server *s)
{
	const struct session_plan *plans = s->destination->plans[0];
	bool is_chosen = s->destination->origin->kind == CONF_ORIGIN_TLS && plans[0].protocol &&
			 plans[1].protocol;
	if (is_chosen || !plans[0].protocol)
		return;
	s->known.protocol = plans[0].protocol;
	s->known.capabilities = plans[0].protocol->origin_capabilities;
}

/* An address that is not the line's own, and the text, lie behind the server: there may be thousands. */
static struct server *server_alloc(
    const struct conf_origin_server *conf, const struct net_address *address, const char *text)
{
	size_t copied = address == &conf->address ? 0 : sizeof(*address);
	size_t text_size = strlen(text) + 1;
	struct server *s = memory_zalloc(sizeof(*s) + copied + text_size);
	char *behind = (char *)(s + 1);
	s->conf = conf;
	s->address = address;
	if (copied > 0)
		s->address = memcpy(behind, address, copied);
	s->text = memcpy(behind + copied, text, text_size);
	return s;
}

struct server *server_new(struct destination *d, const struct conf_origin_server *conf,
    const struct net_address *address, uint32_t weight)
{
	char text[NET_ADDRESS_TEXT] = "demo";
	if (address->length > 0)
		net_address_format(address, text, sizeof(text));
	struct server *s = server_alloc(conf, address, text);
	s->destination = d;
	s->member = (struct balance_member){
	    .key = balance_member_key(
		d->origin, slice_of_string(address->length > 0 ? text : conf->text)),
	    .id = ++d->upstream->last_server_id,
	    .weight = weight,
	    .is_backup = conf->is_backup,
	    .is_usable = true,
	};
	list_init(&s->deferred.link);
	list_append(&d->servers, &s->link);
	d->server_count++;
	d->down_count += conf->is_down;
	know_beforehand(s);
	health_init(s);
	return s;
}

struct pool *server_pool(struct server *s, enum pool_kind kind)
{
	if (!s->pools[kind])
		s->pools[kind] = pool_new(s, kind);
	return s->pools[kind];
}

bool server_may_send_soon(const struct server *s, enum pool_kind kind, const struct exchange *x)
{
	struct pool *p = s->pools[kind];
	if (!server_has_room(s) || (kind == POOL_TUNNELS && !server_may_tunnel(s)))
		return false;
	return !p || pool_may_send_soon(p, x);
}

void server_serve(struct server *s)
{
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		if (s->pools[kind] && pool_is_waiting(s->pools[kind]))
			pool_serve(s->pools[kind]);
}

void server_close(struct server *s)
{
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		if (s->pools[kind])
			pool_close(s->pools[kind]);
}

void server_free(struct server *s)
{
	ensure(s->connections == 0);
	health_fini(s);
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		if (s->pools[kind])
			pool_free(s->pools[kind]);
	list_remove(&s->link);
	s->destination->server_count--;
	s->destination->leaving_count -= s->is_leaving;
	free(s);
}

/* ---- a server that leaves ---- */

static void free_later(struct deferred_free *deferred)
{
	server_free(container_of(deferred, struct server, deferred));
}

void server_check_gone(struct server *s)
{
	if (!s->is_leaving || s->connections > 0 || s->member.outstanding > 0 ||
	    list_is_linked(&s->deferred.link))
		return;
	s->deferred.free = free_later;
	worker_free_later(s->destination->upstream->env, &s->deferred);
}

void server_leave(struct server *s)
{
	s->is_leaving = true;
	s->destination->leaving_count++;
	health_fini(s);
	for (unsigned kind = 0; kind < POOL_KINDS; kind++)
		if (s->pools[kind])
			pool_retire(s->pools[kind]);
	destination_changed(s->destination);
	server_check_gone(s);
}

bool server_is_gone(const struct server *s)
{
	return list_is_linked(&s->deferred.link);
}

void server_return(struct server *s)
{
	s->is_leaving = false;
	s->destination->leaving_count--;
	health_init(s);
}
