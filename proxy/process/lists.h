/* SPDX-License-Identifier: MIT */
/*
 * Lists, bodies and passwords of a configuration as a sealed memory file (base/sealed.h), in the form in which requests
 * need them: the tables of the routers, and what conf_visit_lists visits. The master has read and checked the files. A
 * worker maps the memory file, and exchanges positions alone, however long the lists are.
 */
#ifndef PUSHGATE_PROCESS_LISTS_H
#define PUSHGATE_PROCESS_LISTS_H

#include "proxy/conf/conf.h"
#include "proxy/route/route.h"

/* The memory file; -1 with errno. */
int lists_seal(const struct conf *c, const struct router_tables *tables);

/* Such a file, mapped. */
struct lists {
	void *bytes; /* NULL: none */
	size_t length;
};

/* Maps the file, which another load of the text of c has been put into; does not close fd. False: it is none of these. */
bool lists_map(struct lists *l, int fd, const struct conf *c);
/* Puts the lists into the places of those that c has, and sets the tables. They lie in the file, which must stay mapped
 * until c has others. */
void lists_use(const struct lists *l, const struct conf *c, struct router_tables *tables);
void lists_unmap(struct lists *l); /* idempotent */

#endif
