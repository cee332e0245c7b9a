/* SPDX-License-Identifier: MIT */
/* The servers of a destination that come from names: each address is a server as long as the name has it. */
#include "proxy/upstream/destination.h"

#include "proxy/base/memory.h"

/* It may be leaving. */
static struct server *find_server(
    const struct destination_name *name, const struct net_address *address)
{
	list_for_each(&name->destination->servers, s, struct server, link)
	{
		if (s->at.conf == name->conf && !server_is_gone(s) &&
		    net_address_equal(s->at.address, address))
			return s;
	}
	return NULL;
}

/* Connections to it can begin at source-address. */
static bool is_reached(const struct destination_name *name, const struct net_address *address)
{
	return net_source_reaches(&name->destination->origin.conf->source, address);
}

static size_t count_reached(const struct destination_name *name, const struct name_answer *answer)
{
	size_t count = 0;
	for (size_t i = 0; i < answer->count; i++)
		count += is_reached(name, &answer->addresses[i].address);
	return count;
}

static bool has_address(const struct name_answer *answer, const struct net_address *address)
{
	for (size_t i = 0; i < answer->count; i++)
		if (net_address_equal(&answer->addresses[i].address, address))
			return true;
	return false;
}

/* RFC 2782: only servers of the lowest priority that can be reached are used, by their weights; 0 is the least. */
static uint32_t weight_of(const struct destination_name *name, const struct name_address *a)
{
	if (!name->conf->is_srv)
		return name->conf->weight;
	uint32_t weight = a->weight > LIMIT_SERVER_WEIGHT ? LIMIT_SERVER_WEIGHT : a->weight;
	return weight ? weight : 1;
}

static uint16_t first_priority(
    const struct destination_name *name, const struct name_answer *answer)
{
	uint16_t first = UINT16_MAX;
	for (size_t i = 0; i < answer->count; i++)
		if (answer->addresses[i].priority < first &&
		    is_reached(name, &answer->addresses[i].address))
			first = answer->addresses[i].priority;
	return first;
}

/* The server of the address, made if it must be. NULL: there are too many. */
static struct server *get_server(struct destination_name *name, const struct net_address *address)
{
	struct destination *d = name->destination;
	struct server *s = find_server(name, address);
	if (s && !s->at.is_leaving)
		return s;
	/* Those that leave are bounded by what they still have to do. */
	if (d->server_count - d->leaving_count >= LIMIT_SERVERS)
		return NULL;
	if (s)
		server_return(s);
	else
		s = server_new(d, name->conf, address, 1);
	/* No slow start for the first servers: no other one could take their share meanwhile. */
	s->member.joined = name->is_known ? d->upstream->env->relay->now : 0;
	return s;
}

static void take_address(
    struct destination_name *name, const struct name_address *a, uint16_t first)
{
	struct server *s = is_reached(name, &a->address) ? get_server(name, &a->address) : NULL;
	if (!s)
		return;
	s->weight = weight_of(name, a);
	s->member.is_backup = name->conf->is_backup || a->priority > first;
}

/* NULL: all is well. */
static const char *what_is_wrong(
    const struct destination_name *name, const struct name_answer *answer)
{
	if (answer->error)
		return answer->error;
	if (answer->count == 0)
		return "no address";
	return count_reached(name, answer) == 0 ? "no address of a family that source-address has"
						: NULL;
}

static void log_change(const struct destination_name *name, const struct name_answer *answer)
{
	const struct worker_env *env = name->destination->upstream->env;
	const char *origin = name->destination->origin.conf->name;
	bool is_theirs = origin_is_of_a_client(&name->destination->origin);
	if (answer->error)
		observe_log_fault(env->observe, is_theirs ? OBSERVE_INFO : OBSERVE_WARN,
		    is_theirs ? "names of clients" : "names", env->relay->now,
		    "origin %s: the name %s cannot be looked up: %s%s", origin, name->conf->host,
		    answer->error,
		    answer->count > 0 ? "; its last addresses stay" : "; it has no address");
	else if (answer->count > 0 && count_reached(name, answer) == 0)
		observe_log_fault(env->observe, is_theirs ? OBSERVE_INFO : OBSERVE_WARN,
		    is_theirs ? "names of clients" : "names", env->relay->now,
		    "origin %s: the name %s has no address of a family that source-address has",
		    origin, name->conf->host);
}

static void name_changed(void *context, const struct name_answer *answer)
{
	struct destination_name *name = context;
	struct destination *d = name->destination;
	uint16_t first = first_priority(name, answer);
	worker_now(d->upstream->env);
	list_for_each(&d->servers, s, struct server, link)
	{
		if (s->at.conf == name->conf && !s->at.is_leaving &&
		    !has_address(answer, s->at.address))
			server_leave(s);
	}
	for (size_t i = 0; i < answer->count; i++)
		take_address(name, &answer->addresses[i], first);
	orders_obey(d);
	health_resume(d);
	name->is_known = true;
	name->error = what_is_wrong(name, answer);
	log_change(name, answer);
	destination_changed(d);
}

void destination_watch_names(struct destination *d)
{
	size_t n = 0;
	d->names = memory_zalloc((d->name_count + 1) * sizeof(*d->names));
	for (size_t i = 0; i < d->line_count; i++) {
		const struct conf_origin_server *conf = &d->lines[i];
		struct destination_name *name = &d->names[n];
		if (!conf_server_is_name(conf))
			continue;
		n++;
		*name = (struct destination_name){.destination = d, .conf = conf};
		name->is_known = !d->upstream->names || conf->is_down;
		if (name->is_known)
			continue;
		name->watch = names_watch(
		    d->upstream->names, conf->host, conf->port, conf->is_srv, name_changed, name);
		if (d->client_key)
			names_set_client_key(name->watch, d->client_key);
	}
}

void destination_unwatch_names(struct destination *d)
{
	for (size_t i = 0; i < d->name_count; i++) {
		if (d->names[i].watch)
			names_unwatch(d->names[i].watch);
		d->names[i].watch = NULL;
	}
}

bool destination_is_nameless(const struct destination *d)
{
	bool waits = false;
	for (size_t i = 0; i < d->name_count; i++)
		waits = waits || !d->names[i].is_known;
	return waits;
}

const char *destination_name_error(const struct destination *d)
{
	for (size_t i = 0; i < d->name_count; i++)
		if (d->names[i].error)
			return d->names[i].error;
	return NULL;
}
