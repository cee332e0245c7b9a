/* SPDX-License-Identifier: MIT */
/*
 * The worker's environment: the loop, configuration, time, memory and counters that all parts of its
 * data plane share. Each worker has one; its gateway owns it, client/ and upstream/ borrow it.
 */
#ifndef PUSHGATE_WORKER_ENV_H
#define PUSHGATE_WORKER_ENV_H

#include "proxy/base/budget.h"
#include "proxy/conf/conf.h"
#include "proxy/http/date.h"
#include "proxy/net/net.h"
#include "proxy/observe/observe.h"
#include "proxy/relay/relay.h"

struct session_protocol;
struct tracing;

struct worker_env {
	struct net_loop *loop;   /* borrows */
	const struct conf *conf; /* borrows */
	struct observe *observe; /* borrows */
	/* Borrows: what all workers know of the health of servers. NULL: each worker knows its own. */
	struct health_table *health_table;
	/* Borrows: orders for single servers, for all workers. NULL: none is ever given. */
	struct server_orders *server_orders;
	struct tracing *tracing;   /* borrows (tracing/tracing.h); NULL: no request is recorded */
	struct chunk_pool *chunks; /* borrows: the loop reads into its chunks */
	/* Lent until gateway_new returns: shared by all workers; NULL: each listener has its own. */
	const struct net_tickets *tickets;
	/* Borrows: of an authority, for listeners over TLS; NULL: no listener has acme. */
	const struct net_challenge *acme_challenge;
	const struct net_key_log *key_log; /* borrows: of both hops; NULL: off */
	uint64_t seed;                     /* for the worker's hash tables */
	struct http_head_pool *heads;
	/* The HTTP versions that connections may speak (protocols/protocols.h). */
	const struct session_protocol *const *protocols;
	struct relay *relay;  /* borrows: the exchanges, the current time, the wheel of deadlines */
	struct budget budget; /* all memory that peers can make grow */
	struct list dead;     /* struct deferred_free: freed at the end of the loop pass */
	struct net_timer timer;        /* advances the wheel */
	bool is_draining;              /* the worker ends after its last exchange and connection */
	char date_text[HTTP_DATE_LEN]; /* the Date field for date_sec */
	uint64_t date_sec;             /* since the epoch */
	/* Memory is short from this many bytes on; while it is, each read calls `shed`. */
	size_t memory_high_bytes;
	bool memory_is_short;
	void (*shed)(struct worker_env *env);
};

/* Embedded in an object that has ended but that callers on the stack may still use: the object is
 * freed at the end of the loop pass. */
struct deferred_free {
	struct list link;
	void (*free)(struct deferred_free *object);
};

static inline void worker_free_later(struct worker_env *env, struct deferred_free *object,
    void (*free_object)(struct deferred_free *object))
{
	object->free = free_object;
	list_append(&env->dead, &object->link);
}

/* The loop's time; also sets the relay's. */
static inline usec worker_now(struct worker_env *env)
{
	return env->relay->now = net_now(env->loop);
}

/* The current time as the value of a Date field; valid until the next call. */
static inline struct slice worker_date(struct worker_env *env)
{
	uint64_t sec = clock_wall() / USEC_PER_SEC;
	if (sec != env->date_sec) {
		http_date_write(env->date_text, sec);
		env->date_sec = sec;
	}
	return slice_of(env->date_text, sizeof(env->date_text));
}

static inline struct wheel *worker_wheel(struct worker_env *env)
{
	return &env->relay->wheel;
}

/* Call when an exchange or a connection has ended: while the worker drains, the next loop pass checks
 * whether it was the last. */
static inline void worker_schedule_drain_check(struct worker_env *env)
{
	if (env->is_draining)
		net_timer_set(&env->timer, net_now(env->loop));
}

/* Call after each read. */
static inline void worker_check_memory(struct worker_env *env)
{
	if (env->budget.used_bytes >= env->memory_high_bytes || env->memory_is_short)
		env->shed(env);
}

#define WORKER_COUNT(env, name, n) ((env)->observe->counters->name += (uint64_t)(n))

/* A connection whose protocol is known now (n: 1), or that ends (-1). protocol: NULL: it has never been known. */
static inline void worker_count_session(
    struct worker_env *env, enum observe_side side, const char *protocol, int n)
{
	if (protocol)
		observe_session_count(env->observe->counters, side, protocol, n);
}

/* The memory of an idle connection with its session, and what TLS adds: 2,800 bytes of state, and
 * the heap fragmentation that many simultaneous handshakes leave. Charged when the connection
 * begins. */
#define CONNECTION_BYTES 2560u
#define CONNECTION_TLS_BYTES 4608u
static inline size_t connection_bytes(bool has_tls)
{
	return CONNECTION_BYTES + (has_tls ? CONNECTION_TLS_BYTES : 0);
}

/* How often the reading speed of a blocked connection's peer is measured. */
#define BLOCKED_CHECK_USEC USEC_PER_SEC

#endif
