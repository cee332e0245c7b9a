/* SPDX-License-Identifier: MIT */
/* The rules of an [access NAME] section. Included by conf.h. */
#ifndef PUSHGATE_CONF_ACCESS_RULES_H
#define PUSHGATE_CONF_ACCESS_RULES_H

#include "policy/policy.h"
#include "proxy/base/cidr.h"
#include "proxy/http/host_set.h"

enum conf_access_action { CONF_ACCESS_ALLOW, CONF_ACCESS_DENY, CONF_ACCESS_ASK };

/* Addresses of clients or destinations; no words and no blocks: the condition is not given. */
enum conf_block_word {
	CONF_BLOCKS_ANY = 1,
	CONF_BLOCKS_PRIVATE = 2, /* private networks, loopback and unix sockets */
	CONF_BLOCKS_GLOBAL = 4,  /* base/global_address.h */
	CONF_BLOCKS_UNIX = 8,    /* unix sockets */
};
struct conf_blocks {
	struct cidr *blocks;
	size_t count;
	uint32_t words; /* enum conf_block_word */
};

struct conf_port_range {
	uint16_t first, last;
};

/* The minutes of a week since Monday 0:00, as bits. */
#define CONF_WEEK_MINUTES (7u * 24 * 60)
#define CONF_WEEK_WORDS ((CONF_WEEK_MINUTES + 63) / 64)

/* One line allow, deny or ask. A condition whose list is empty is not given: it takes every request, or in forward
 * mode those that are usual (docs/FORWARD.md). */
struct conf_access_rule {
	enum conf_access_action action;
	const char *text; /* as written, with its action */
	const char *file;
	uint32_t line;
	struct conf_blocks clients, addresses;
	struct slice *users;
	size_t user_count;
	bool any_user;       /* user=* */
	struct slice *certs; /* base/client_certificate.h */
	size_t cert_count;
	struct slice *methods;
	size_t method_count;
	struct slice *paths; /* globs */
	size_t path_count;
	const uint64_t *minutes; /* NULL: at any time */
	struct http_host_set hosts;
	struct conf_port_range *ports;
	size_t port_count;
};

/* The facts that the rules need. */
enum conf_access_need {
	CONF_ACCESS_USER = 1,
	CONF_ACCESS_PATH = 2,
	CONF_ACCESS_TIME = 4,
	CONF_ACCESS_DESTINATION = 8, /* address or port */
	CONF_ACCESS_HOST = 16,
};

struct conf_access {
	const char *name; /* NULL: built in */
	struct conf_access_rule
	    *rules; /* in the order of the file; the first that takes a request decides */
	size_t rule_count;
	const char *users; /* path of an htpasswd file; NULL: nobody has a password */
	const char *realm;
	uint32_t index;
	uint32_t needs;     /* enum conf_access_need */
	uint64_t host_seed; /* of the host sets of all rules */
};

/* The access of forward listeners without `access`: one rule, "allow = all". Not of the snapshot's accesses. */
extern const struct conf_access conf_access_built_in;

static inline bool conf_blocks_are_given(const struct conf_blocks *b)
{
	return b->count > 0 || b->words != 0;
}

#endif
