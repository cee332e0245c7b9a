/* SPDX-License-Identifier: MIT */
/*
 * Names of servers and their addresses, kept up to date on the worker's loop (c-ares, RFC 1035). Nothing here
 * ever blocks, opens a file or asks the C library's resolver.
 *
 * A name is watched: it is looked up at once, and again when the answer's TTL is over, as long as the watch
 * lives. While no resolver answers, the last good answer stays; a negative answer empties the list and is
 * asked again soon.
 */
#ifndef PUSHGATE_NAMES_NAMES_H
#define PUSHGATE_NAMES_NAMES_H

#include "proxy/base/slice.h"
#include "proxy/net/net.h"

struct names;
struct name_watch;

struct names_options {
	/* Resolvers of the configuration; none: those of resolv.conf. Copied. */
	const struct net_address *resolvers;
	size_t resolver_count;
	usec min_ttl, max_ttl; /* bounds of the time that a TTL stands for */
	usec asked_min_ttl;    /* min_ttl of names that have a client key (names_set_client_key) */
	usec negative_ttl;     /* the same for an answer that says that there is none: at most */
	usec timeout;          /* of one query at one resolver */
};

/* One address of a name. */
struct name_address {
	struct net_address address; /* with its port */
	uint16_t priority, weight;  /* of its SRV record (RFC 2782); 0 without one */
};

/* The addresses of a name now. Lent until the callback returns. */
struct name_answer {
	/* IPv6 and IPv4 in the order in which they should be tried (RFC 6724, RFC 8305 4). Each once. Those without a
	 * route are left out while another one has a route. */
	const struct name_address *addresses;
	size_t
	    count; /* 0: the name has no address, or nothing is known yet and no resolver answers */
	/* Why there are none, or why those of the last good answer stay: a constant text. NULL: all is well. */
	const char *error;
};

/* Call before the sandbox closes. Returns NULL and writes a message when the library cannot begin. */
struct names *names_new(
    struct net_loop *loop, const struct names_options *o, char *error, size_t error_size);
void names_free(struct names *n); /* all watches have ended */
/* The text of /etc/hosts and of /etc/resolv.conf; each may come again when the file has changed. Copied. */
void names_set_hosts(struct names *n, struct slice text);
void names_set_resolv_conf(struct names *n, struct slice text);

/* The addresses that a text in the form of hosts(5) gives the host (lower case), as a watch of that name finds them.
 * Writes at most `most` and returns their number. */
size_t names_find_in_hosts(struct slice text, const char *host, struct address *out, size_t most);

/* Whether the error of an answer says that the resolvers were too slow. */
bool names_error_is_late(const char *error);

/*
 * Watches a host name (no literal), or with is_srv the name of SRV records ("_http._tcp.example.com"), whose
 * own ports count then. `changed` is called from the loop, never within names_watch: for the first answer or
 * failure, and whenever addresses or error have changed since. The host is copied.
 */
struct name_watch *names_watch(struct names *n, const char *host, uint16_t port, bool is_srv,
    void (*changed)(void *context, const struct name_answer *answer), void *context);
/* The client whose request has named the host, as a subscriber key (base/subscriber.h): the queries for one client get a
 * part of the places alone. A name that is watched already stays with the client that it had, or with none. Call this at
 * once after names_watch. */
void names_set_client_key(struct name_watch *w, uint64_t client_key);
void names_unwatch(struct name_watch *w); /* no callback follows */

#endif
