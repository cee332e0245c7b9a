/* SPDX-License-Identifier: MIT */
/* The options of the [server] section. Included by conf.h. */
#ifndef PUSHGATE_CONF_SERVER_H
#define PUSHGATE_CONF_SERVER_H

#include "policy/known_cookie.h"
#include "proxy/base/cidr.h"
#include "proxy/base/clock.h"
#include "proxy/base/rate.h"
#include "proxy/log_fields.h"
#include "proxy/net/net.h"

// clang-format off
enum conf_sandbox { CONF_SANDBOX_ON, CONF_SANDBOX_OFF, CONF_SANDBOX_LOG };
enum conf_ready_when { CONF_READY_START, CONF_READY_SERVERS };
enum conf_tracing_parent { CONF_TRACING_TRUSTED, CONF_TRACING_FOLLOW, CONF_TRACING_IGNORE };

struct conf_origin_server;

/* Spans for a collector (tracing/tracing.h). */
struct conf_tracing {
	const struct conf_origin_server *collector; /* NULL = off */
	const char *path;             /* of the requests to it */
	uint32_t ratio;               /* of 10000 requests so many are recorded: 100 */
	enum conf_tracing_parent parent; /* whose traceparent is followed */
};

/* How an authority sees whose a host is; auto: over HTTP if a listener has no certificate, else over TLS. */
enum conf_acme_challenge { CONF_ACME_AUTO, CONF_ACME_HTTP, CONF_ACME_TLS };

/* Certificates from an authority (acme/acme.h), for listeners with the option acme. */
struct conf_acme {
	const char *directory;        /* its URL; NULL: no listener has the option */
	const struct conf_origin_server *server; /* of that URL */
	const char *email;            /* of the account; NULL = none */
	const char *dir;              /* the folder of keys and certificates; NULL: no listener has the option */
	enum conf_acme_challenge challenge;
	const char *ca_file;          /* verifies the authority's own certificate; NULL: the system's */
};

/* The memory of pages (remembered/remembered.h), for [preload] sections with the option remembered. */
struct conf_remembered {
	const char *file;             /* keeps it over restarts; NULL = none */
	uint32_t clients;             /* that must have got a guarded page's resource alike: 3 */
	struct slice *ignored;        /* members of queries that matter on no page: names, or beginnings with "*" behind */
	size_t ignored_count;
};

struct conf_server {
	uint32_t workers;             /* 0 = auto: one per CPU */
	const char *user;             /* NULL = the user that started pushgate; for root: pushgate or nobody */
	enum conf_sandbox sandbox;    /* filter of system calls */
	const char *access_log;       /* path, "-" = standard output, NULL = off */
	struct log_field_set log_left_out; /* fields that its lines do not have (log_fields.h) */
	uint32_t log_sample;          /* one of so many pages has its lines there: 1 = all */
	const char *error_log;        /* path, "-" = standard error */
	struct cidr *traced;          /* frames of these clients go to the error log */
	size_t traced_count;
	const char *status_socket;    /* path of the master's unix socket, NULL = none */
	struct conf_remembered remembered;
	const char *pseudonym;        /* in Via and Proxy-Status: "pushgate" by default */
	/* Names of servers (names/names.h). */
	struct net_address *resolvers; /* none: those of resolv_conf */
	size_t resolver_count;
	usec dns_min_ttl;             /* 0 = not given: conf_dns_min_ttl */
	usec dns_max_ttl;             /* 1 h */
	usec dns_negative_ttl;        /* 5 s */
	usec dns_timeout;             /* of one query: 2 s */
	const char *hosts_file, *resolv_conf; /* paths in /etc */
	uint64_t memory_bytes;        /* budget of one worker: 256 MiB */
	uint64_t connection_memory_bytes; /* budget of one connection: 16 MiB */
	enum conf_ready_when ready_when; /* start */
	uint32_t page_records;        /* of each worker: 256 (conf_page_records) */
	usec drain_delay;             /* from SIGTERM to the drain: 0 */
	usec drain_timeout;           /* 30 s */
	usec tunnel_drain_timeout;    /* of tunnels, in a drain: 10 s */
	uint32_t max_generations;     /* that serve at a time, after reloads: 8 */
	bool access_recheck;          /* this configuration's access rules judge the tunnels of older generations */
	bool watch_files;             /* what a changed file needs happens by itself */
	/* Push allowances; the rest of the caps is in policy_rules. */
	uint32_t promise_refusals;    /* refusals a minute on one origin connection before it turns push off: 1000 */
	uint32_t promise_rate;        /* promises per second accepted from one origin connection: 100000 */
	uint32_t reset_rate;          /* refused promises per second on one origin connection before its routes use the pool without push: 100 */
	usec push_start_timeout;      /* longest wait of a promise for its response to begin: 10 s */
	/* The diary of what a client has (policy/diary.h, known_cookie.h). */
	uint32_t diary_entries;       /* of one client connection: 256; 0 = no diary */
	const char *diary_cookie;     /* the cookie's name, NULL = none */
	const char *ticket_file;      /* NULL: the master makes the keys of tickets */
	const char *keylog_file;      /* for the secrets of TLS sessions; NULL = off */
	usec diary_cookie_age;        /* 7 days */
	struct slice diary_keys[POLICY_COOKIE_KEYS]; /* secrets: the first signs. Empty when files are not opened */
	uint32_t diary_key_count;
	/* Held responses of one client connection. */
	uint32_t hold_max_count;      /* 32 */
	uint64_t hold_max_bytes;      /* 2 MiB */
	usec hold_max_age;            /* 30 s */
	bool hold_shared;             /* responses that a shared cache may store are served to all clients of the worker */
	usec hint_wait;               /* how long a 103 gathers hints: 0 = one loop pass */
	uint32_t limit_table_keys;    /* that each line of limit-requests can tell apart: 65536 */
	uint32_t max_series;          /* histograms with labels of their own: 500 */
	uint32_t user_failures;       /* wrong passwords of a client address in a minute; 0 = no limit: 10 */
	struct conf_tracing tracing;
	struct conf_acme acme;
	usec users_cache_time;        /* a right password is known so long after its last use: 5 min */
};
// clang-format on

/* is_asked: of a host that a request has named, in forward mode. */
static inline usec conf_dns_min_ttl(const struct conf_server *s, bool is_asked)
{
	if (s->dns_min_ttl > 0)
		return s->dns_min_ttl;
	return is_asked ? USEC_PER_SEC : 5 * USEC_PER_SEC;
}

#endif
