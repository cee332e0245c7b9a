/* SPDX-License-Identifier: MIT */
/*
 * What peers do wrong: counted by the fault's row, and said in the error log, where a flood of them
 * becomes no flood of lines.
 */
#include "proxy/hop/private.h"

void complain_of_client(
    struct listener *l, const struct address *client, const char *what, const char *more)
{
	char address[64];
	struct hop *h = l->hop;
	observe_complain(h->env.observe, OBSERVE_INFO, what, h->relay.now, "%s: client %s: %s%s%s",
	    l->conf->name, address_format(client, address, sizeof(address)), what, more ? ": " : "",
	    more ? more : "");
}

void complain_of_down(const struct down *d, const char *what, const char *more)
{
	complain_of_client(d->listener, &d->client, what, more);
}

void complain_of_up(const struct up *u, const char *what, const char *more)
{
	const struct hop *h = u->hop;
	const struct conf_origin *o = u->pool->origin;
	observe_complain(h->env.observe, OBSERVE_WARN, what, h->relay.now, "origin %s (%s): %s%s%s",
	    o->name, o->server_text, what, more ? ": " : "", more ? more : "");
}

static bool ends_the_connection(const struct h2_fault *fault)
{
	return fault->scope == H2_SCOPE_CONNECTION && fault->code == H2_ENHANCE_YOUR_CALM;
}

void complain_count_client(void *hop, const struct h2_fault *fault)
{
	struct observe_counters *c = ((struct hop *)hop)->env.observe->counters;
	c->faults[OBSERVE_CLIENT][h2_fault_index(fault)]++;
	c->guard_down += ends_the_connection(fault);
	c->streams_refused_memory += strcmp(fault->name, "no-memory-for-stream") == 0;
}

void complain_count_origin(void *hop, const struct h2_fault *fault)
{
	struct observe_counters *c = ((struct hop *)hop)->env.observe->counters;
	c->faults[OBSERVE_ORIGIN][h2_fault_index(fault)]++;
	c->guard_up += ends_the_connection(fault);
}
