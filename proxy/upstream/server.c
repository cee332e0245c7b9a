/* SPDX-License-Identifier: MIT */
/* One server of a destination: an address, and its end. */
#include "proxy/upstream/destination.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

/* An address that is not the line's own, and the text, lie behind the server: there may be thousands. */
static struct server *server_alloc(
    const struct conf_origin_server *conf, const struct net_address *address, const char *text)
{
	size_t copied = address == &conf->address ? 0 : sizeof(*address);
	size_t text_size = strlen(text) + 1;
	struct server *s = memory_zalloc(sizeof(*s) + copied + text_size);
	char *behind = (char *)(s + 1);
	s->at.conf = conf;
	s->at.address = address;
	if (copied > 0)
		s->at.address = memcpy(behind, address, copied);
	s->at.text = memcpy(behind + copied, text, text_size);
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
	s->at.origin = &d->origin;
	s->member = (struct balance_member){
	    .key = balance_member_key(
		d->origin.conf, slice_of_string(address->length > 0 ? text : conf->text)),
	    .id = ++d->upstream->last_server_id,
	    .weight = weight,
	    .is_backup = conf->is_backup,
	    .is_usable = true,
	};
	list_init(&s->deferred.link);
	list_append(&d->servers, &s->link);
	d->server_count++;
	d->down_count += conf->is_down;
	origin_server_init(&s->at);
	health_init(s);
	return s;
}

void server_free(struct server *s)
{
	ensure(s->at.connections == 0);
	health_fini(s);
	origin_server_free_pools(&s->at);
	list_remove(&s->link);
	s->destination->server_count--;
	s->destination->leaving_count -= s->at.is_leaving;
	free(s);
}

/* ---- a server that leaves ---- */

static void free_later(struct deferred_free *deferred)
{
	server_free(container_of(deferred, struct server, deferred));
}

void server_check_gone(struct server *s)
{
	if (!s->at.is_leaving || s->at.connections > 0 || s->member.outstanding > 0 ||
	    list_is_linked(&s->deferred.link))
		return;
	s->deferred.free = free_later;
	worker_free_later(s->destination->upstream->env, &s->deferred);
}

void server_leave(struct server *s)
{
	s->at.is_leaving = true;
	s->destination->leaving_count++;
	health_fini(s);
	origin_server_retire(&s->at);
	destination_changed(s->destination);
	server_check_gone(s);
}

bool server_is_gone(const struct server *s)
{
	return list_is_linked(&s->deferred.link);
}

void server_return(struct server *s)
{
	s->at.is_leaving = false;
	s->destination->leaving_count--;
	health_init(s);
}
