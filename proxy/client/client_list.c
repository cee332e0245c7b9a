/* SPDX-License-Identifier: MIT */
/* The newest client connections, as rows for people (observe/connection_table.h). */
#include "proxy/client/client_private.h"

static void fill(struct connection_row *row, const struct client_conn *c)
{
	char address[48];
	*row = (struct connection_row){.id = c->hop.connection, .opened = c->opened};
	list_for_each(&c->legs, leg, struct leg, link) row->open++;
	if (c->session)
		session_settings(c->session, &row->ours, &row->theirs);
	connection_text(
	    row->peer, sizeof(row->peer), address_format(&c->address, address, sizeof(address)));
	connection_text(row->name, sizeof(row->name), c->listener->conf->name);
	connection_text(row->protocol, sizeof(row->protocol), c->hop.protocol);
}

size_t clients_list(const struct clients *clients, struct connection_row *rows, size_t most)
{
	size_t n = 0;
	const struct list *link = clients->conns.prev;
	for (; link != &clients->conns && n < most; link = link->prev)
		fill(&rows[n++], container_of(link, struct client_conn, link));
	return n;
}
