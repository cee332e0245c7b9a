/* SPDX-License-Identifier: MIT */
/*
 * Names whose addresses the test tells, in the place of proxy/names: nothing is looked up. Included by one file of a
 * program, whose functions take the place of the library's.
 */
#ifndef PUSHGATE_FUZZ_TOLD_NAMES_H
#define PUSHGATE_FUZZ_TOLD_NAMES_H

#include "proxy/base/list.h"
#include "proxy/base/memory.h"
#include "proxy/names/names.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define TOLD_ADDRESSES 5u

struct names {
	struct list watches;
};

struct name_watch {
	struct list link;
	uint16_t port;
	void (*changed)(void *context, const struct name_answer *answer);
	void *context;
};

struct names *names_new(struct net_loop *loop, const struct names_options *o, char *error, size_t error_size)
{
	struct names *n = memory_new(struct names);
	(void)loop, (void)o, (void)error, (void)error_size;
	list_init(&n->watches);
	return n;
}

void names_free(struct names *n)
{
	free(n);
}

void names_set_hosts(struct names *n, struct slice text)
{
	(void)n, (void)text;
}

void names_set_resolv_conf(struct names *n, struct slice text)
{
	(void)n, (void)text;
}

struct name_watch *names_watch(struct names *n, const char *host, uint16_t port, bool is_srv,
    void (*changed)(void *context, const struct name_answer *answer), void *context)
{
	struct name_watch *w = memory_new(struct name_watch);
	(void)host, (void)is_srv;
	w->port = port;
	w->changed = changed;
	w->context = context;
	list_append(&n->watches, &w->link);
	return w;
}

void names_set_client_key(struct name_watch *w, uint64_t client_key)
{
	(void)w, (void)client_key;
}

void names_unwatch(struct name_watch *w)
{
	list_remove(&w->link);
	free(w);
}

/* From now on all names have 127.0.0.2 … 6, each if its bit is set; bit 5: no resolver answers; bit 6: with
 * priorities and weights. */
static inline void names_tell(struct names *n, uint8_t bits)
{
	list_for_each(&n->watches, w, struct name_watch, link)
	{
		struct name_address list[TOLD_ADDRESSES] = {0};
		struct name_answer answer = {list, 0, bits & 0x20 ? "no resolver answers" : NULL};
		for (unsigned i = 0; i < TOLD_ADDRESSES; i++) {
			struct sockaddr_in in = {.sin_family = AF_INET,
			    .sin_port = htons(w->port),
			    .sin_addr.s_addr = htonl(0x7f000002 + i)};
			if (!(bits >> i & 1))
				continue;
			struct name_address *a = &list[answer.count++];
			a->address.length = sizeof(in);
			a->address.in = in;
			if (bits & 0x40) {
				a->priority = (uint16_t)(i % 2);
				a->weight = (uint16_t)(i * 100);
			}
		}
		w->changed(w->context, &answer);
	}
}

#endif
