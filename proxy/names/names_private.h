/* SPDX-License-Identifier: MIT */
/*
 * Private to names/: shared by its files.
 *
 *     names ─┬─ watches ── links ──→ questions     one for each name and type, for all watches
 *            ├─ questions ── query ── socket       a query while it is asked: of one resolver after the other
 *            └─ hosts, resolvers
 *
 * A question is kept up to date as long as a watch is linked to it. A watch puts the answers of its questions together.
 */
#ifndef PUSHGATE_NAMES_NAMES_PRIVATE_H
#define PUSHGATE_NAMES_NAMES_PRIVATE_H

#include "proxy/base/list.h"
#include "proxy/base/map.h"
#include "proxy/limits.h"
#include "proxy/names/dns_message.h"
#include "proxy/names/hosts.h"
#include "proxy/names/names.h"

struct names {
	struct net_loop *loop;
	usec min_ttl, asked_min_ttl, max_ttl, negative_ttl, timeout;
	struct net_address resolvers[LIMIT_RESOLVERS];
	size_t resolver_count;
	bool has_own_resolvers; /* of the configuration: resolv.conf says nothing */
	size_t best_resolver;   /* that answered last */
	struct hosts *hosts;
	struct map questions;
	uint64_t seed;
	size_t query_count;   /* under way */
	struct list retrying; /* queries under way that are to ask the next resolver */
	struct list waiting;  /* queries that wait for a place */
	/* How many queries under way each client has; as many as there are queries at most. */
	struct {
		uint64_t client_key;
		uint32_t count;
	} clients[LIMIT_DNS_QUERIES];
	size_t client_count;
	struct net_timer ask; /* a few queries in each loop pass */
	struct list watches;
	struct list due;       /* watches that must look at their questions again */
	struct net_timer look; /* so that no callback comes within a call of the owner's */
};

/* ---- a query: one question put to the resolvers in turn, until one answers (query.c) ---- */

struct name_query {
	struct names *names;
	struct list link;             /* in names.waiting or names.retrying, or in none */
	bool is_active;               /* counted in names.query_count */
	uint64_t client_key;          /* names_set_client_key; 0: the configuration named it */
	struct dns_question question; /* its host is borrowed */
	void (*done)(void *context, const struct dns_answer *answer);
	void *context;
	const char *error; /* of the last try */
	unsigned tries;
	size_t first, resolver; /* indices of resolvers: where it began, and which is asked now */
	struct net_timer timer;
	struct net_datagram *socket; /* over UDP */
	unsigned strangers;          /* datagrams that were no answer */
	struct net_conn *conn;       /* over TCP */
	bool is_sent;
	uint8_t *input; /* of TCP: the length, then as much */
	size_t received, capacity;
};

/* `done` is called once from the loop, never within this call, and the query is over then; it may end or start
 * queries. */
void name_query_start(struct name_query *q, struct names *n, const char *host, enum dns_type type,
    void (*done)(void *context, const struct dns_answer *answer), void *context);
/* Ends it without an answer. Does nothing when it is over. */
void name_query_stop(struct name_query *q);
void name_query_ask_some(void *names); /* when names.ask fires */

/* ---- a question: a name and a type, kept up to date (question.c) ---- */

struct name_question {
	struct map_node node; /* in names.questions */
	struct names *names;
	char *host;
	enum dns_type type;
	uint64_t client_key;    /* of the client that named it first; 0: the configuration did */
	struct list links;      /* of the watches that use it */
	bool is_settled;        /* it was answered, or has failed, at least once */
	bool is_asking;         /* the query is under way */
	bool is_of_hosts;       /* its addresses are from the hosts file, and never old */
	const char *error;      /* of the last query; NULL: it was answered */
	bool is_negative;       /* the error is an answer: there is nothing */
	usec backoff;           /* until the next query after a failure */
	struct net_timer timer; /* the next query */
	struct name_query query;
	size_t count;
	union {
		struct address *addresses;
		struct dns_target *targets;
	};
};

/* Finds or makes the question. Without links it must be dropped. */
struct name_question *name_question_get(struct names *n, const char *host, enum dns_type type);
void name_question_drop(struct name_question *q);
/* The hosts file has changed: its addresses count, and those of the old one do not. */
void name_question_reread(struct name_question *q);
/* The resolvers have changed: one that failed is asked again. */
void name_question_retry(struct name_question *q);

/* ---- a watch (watch.c) ---- */

/* The question has another answer or another error. */
void name_watch_due(struct name_question *q);
void name_watch_look_at_some(void *names);

#endif
