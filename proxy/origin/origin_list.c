/* SPDX-License-Identifier: MIT */
/* The newest connections to origins, as rows for people (observe/connection_table.h). */
#include "proxy/origin/origin_private.h"

static void fill(struct connection_row *row, const struct origin_conn *c)
{
	*row =
	    (struct connection_row){.id = c->hop.connection, .opened = c->opened, .is_origin = 1};
	list_for_each(&c->legs, leg, struct leg, link) row->open++;
	if (c->session)
		session_settings(c->session, &row->ours, &row->theirs);
	connection_text(row->peer, sizeof(row->peer), c->hop.address);
	connection_text(row->name, sizeof(row->name), c->pool->conf->name);
	connection_text(row->protocol, sizeof(row->protocol), c->hop.protocol);
}

size_t origins_list(const struct origins *all, struct connection_row *rows, size_t most)
{
	size_t n = 0;
	const struct list *link = all->conns.prev;
	for (; link != &all->conns && n < most; link = link->prev)
		fill(&rows[n++], container_of(link, struct origin_conn, all));
	return n;
}
