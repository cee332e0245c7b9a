/* SPDX-License-Identifier: MIT */
/*
 * The configuration: INI files (inih), read by one option table into one const snapshot. Mistakes
 * are reported as "file:line: what is wrong; what to write". One run reports all mistakes of a
 * file, and then returns no snapshot.
 *
 * The snapshot is one tree that conf_free frees; all users borrow from it. Only lists change while it is used
 * (lists.h). Names give the units of numbers. A time of 0 means "no limit" unless the option says otherwise.
 */
#ifndef PUSHGATE_CONF_CONF_H
#define PUSHGATE_CONF_CONF_H

#include "policy/known_cookie.h"
#include "policy/policy.h"
#include "proxy/base/arena.h"
#include "proxy/base/rate.h"
#include "proxy/base/watched_file.h"
#include "proxy/conf/access_rules.h"
#include "proxy/conf/client_auth.h"
#include "proxy/conf/findings.h"
#include "proxy/conf/lists.h"
#include "proxy/conf/route.h"
#include "proxy/conf/server.h"
#include "proxy/conf/upstream_proxies.h"
#include "proxy/net/net.h"
#include "proxy/peer/peer.h"
#include <stdio.h>

// clang-format off
enum conf_push_mode { CONF_PUSH_AUTO, CONF_PUSH_ACCEPT, CONF_PUSH_REFUSE };
enum conf_scheme_mode { CONF_SCHEME_KEEP, CONF_SCHEME_HOP };
enum conf_origin_kind {
	CONF_ORIGIN_TLS,      /* https://host:port, h2://host:port */
	CONF_ORIGIN_PLAIN,    /* http://host:port, h2c://host:port, h1+unix:/path, h2c+unix:/path */
	CONF_ORIGIN_DEMO,     /* demo: */
	CONF_ORIGIN_FORWARD,  /* forward: each request goes where it says itself */
};
enum conf_listen_mode { CONF_MODE_GATEWAY, CONF_MODE_FORWARD, CONF_MODE_ADMIN };
enum conf_recording { CONF_RECORD_AUTO, CONF_RECORD_YES, CONF_RECORD_NO };
/* The protocols that may be spoken on a connection: bits. */
enum conf_protocol { CONF_HTTP2 = 1, CONF_HTTP1 = 2 };

/* Limits for the peer of one connection (docs/LIMITS.md). */
struct conf_limits {
	struct rate faults, pings, settings, priorities, empty_frames, window_updates, field_blocks;
	uint32_t field_block_bytes;   /* on the wire: 128 KiB */
	uint32_t continuations;       /* of one field block: 32 */
	uint32_t control_bytes;       /* queued replies (acknowledgements, resets): 256 KiB */
	uint32_t min_rate;            /* least bytes a second that the peer must send or read: 100; 0 = any */
	struct rate resets;           /* this and the next one: clients */
	struct rate expansion;        /* KiB of fields beyond their blocks */
	struct rate promises;         /* this and the next two: origins */
	uint32_t reserved_pushes;     /* promises without a response: 4096 */
	uint32_t interim_responses;   /* to one request: 32 */
};

/* What balancers say of the connections that they pass on. */
struct conf_proxy_protocol {
	bool is_required;             /* each connection begins with a PROXY header, and comes from `trusted` */
	usec timeout;                 /* for the header: 10 s; 0 = no limit */
	uint32_t https_port;          /* connections to this one are https; 0 = none by its port */
};

/* Which field of a trusted peer's request names its client. */
struct conf_client_address {
	struct slice field;           /* in lower case; empty: the peer is the client */
	enum http_token token;        /* of the field */
	uint32_t hops;                /* proxies in front, each of which adds an address: 1 */
};

/* keep: what a peer in `trusted` says stays. */
enum conf_request_id { CONF_REQUEST_ID_OFF, CONF_REQUEST_ID_MAKE, CONF_REQUEST_ID_KEEP };

struct conf_certificate {
	const char *file;
	int64_t ends; /* when it or one that signed it expires, in seconds since 1970; 0: not known */
};

/* The certificate of a listener that an authority makes. */
struct conf_acme_listen {
	const char *file;             /* the key, and the certificate with its chain */
	const char **names;           /* in lower case, at least one */
	size_t count;
};

struct conf_listen {
	const char *name, *file;
	uint32_t line;
	struct net_address address;
	const char *address_text;
	uint32_t backlog;             /* connections that wait to be accepted, in each worker: 4096 */
	bool may_come_later;          /* its address may be none of this machine's yet (IP_FREEBIND) */
	enum conf_listen_mode mode;
	enum conf_recording recording; /* auto: conf_listen_records */
	bool shares;                  /* forward mode: conf_listen_shares */
	const char *access_name;      /* as written; NULL: not given */
	const struct conf_access *access; /* NULL: every request is allowed; never in forward mode */
	/* Where certificates come from: of a folder one bundle, whose path is the folder's. */
	struct net_certificate *certificates;
	size_t certificate_count;     /* 0 = plain h2c */
	const struct conf_client_auth *client_auth; /* NULL: no client is asked for a certificate */
	/* Those that the load has found there, for people. */
	struct conf_certificate *shown;
	size_t shown_count;
	struct net_tls_parameters tls;
	struct conf_acme_listen *acme; /* the one that there is; NULL: files of the operator's */
	uint32_t protocols;           /* enum conf_protocol: both */
	bool takes_tunnels;           /* a route has `upgrade`: HTTP/2 clients are told so (RFC 8441 3) */
	bool redirect_to_https;       /* cleartext: every request is answered 308 to https */
	uint16_t redirect_port;       /* of that https: 443 */
	const char *hsts;             /* TLS: the value of Strict-Transport-Security, NULL = none */
	bool serves_pac;              /* forward mode: GET /proxy.pac */
	enum conf_request_id request_id;
	bool clients_shared;          /* clients = shared: one connection may carry many users */
	/* Peers whose :scheme need not be that of the connection; family 0: unix sockets. */
	struct cidr *trusted;
	size_t trusted_count;
	struct conf_proxy_protocol proxy_protocol;
	struct conf_client_address client_address;
	uint32_t max_connections;     /* accepted at a time, per worker: 10000 */
	uint32_t max_connections_per_client; /* of these: 1000; 0 = no limit */
	/* Settings sent to the client. */
	uint32_t max_concurrent_streams; /* 100 */
	uint32_t stream_window_bytes;    /* 64 KiB … receive, for uploads: 256 KiB */
	uint32_t connection_window_bytes;/* 1 MiB */
	uint32_t header_table_bytes;     /* 4096 */
	uint32_t max_header_list_bytes;  /* 64 KiB */
	usec tls_timeout, preface_timeout, settings_timeout, header_timeout, idle_timeout, keepalive, write_timeout, body_timeout;
	uint64_t max_request_body_bytes; /* 0 = no limit; else 413 */
	struct conf_limits limits;
};

static inline bool conf_listen_names_clients(const struct conf_listen *l)
{
	return l->client_address.field.len > 0;
}

static inline bool conf_listen_is_forward(const struct conf_listen *l)
{
	return l && l->mode == CONF_MODE_FORWARD;
}

/* Whether what pushgate remembers of the requests of one client, or holds for it, may be used for other clients. */
static inline bool conf_listen_shares(const struct conf_listen *l)
{
	return !l || l->mode == CONF_MODE_GATEWAY || l->shares;
}

/* Whether pages that its clients ask for are recorded. Forward mode: its clients are people, whose ways are their own. */
static inline bool conf_listen_records(const struct conf_listen *l)
{
	return l->recording == CONF_RECORD_YES ||
	       (l->recording == CONF_RECORD_AUTO && l->mode == CONF_MODE_GATEWAY);
}

/* One line `server` of an [origin]. All lines of an origin have the same kind and protocols. */
struct conf_origin_server {
	const char *text;             /* its URL as written, without the words behind it */
	const char *host;             /* name, or literal without brackets; NULL for unix and demo */
	const char *tls_name;         /* SNI and verified name, unless the origin has one; NULL for unix and demo */
	struct net_address address;   /* of a literal or a unix socket; length 0: a name, or demo */
	uint16_t port;                /* 0 for unix, demo and srv: */
	bool is_srv;                  /* host is the name of SRV records */
	bool is_backup;               /* used while no other server is */
	bool is_down;                 /* gets no request */
	uint32_t weight;              /* 1 … 256: 1 */
	usec demo_think, demo_rtt;    /* demo:?think=…&rtt=…: 0 */
};
/* Its addresses are looked up while pushgate runs. */
static inline bool conf_server_is_name(const struct conf_origin_server *s)
{
	return s->host && s->address.length == 0;
}
/* No unix socket, and not the demo site. */
static inline bool conf_server_has_ip(const struct conf_origin_server *s)
{
	return s->host != NULL;
}

/* How requests are shared among the servers of an origin. */
enum conf_balance_kind { CONF_BALANCE_LEAST, CONF_BALANCE_ROUND_ROBIN };
enum conf_hash { CONF_HASH_OFF, CONF_HASH_CLIENT, CONF_HASH_PATH, CONF_HASH_COOKIE, CONF_HASH_HEADER };
struct conf_balance {
	enum conf_balance_kind kind;  /* without a hash */
	enum conf_hash hash;          /* off */
	struct slice hash_name;       /* of the cookie; or of the field, in lower case */
	enum http_token hash_token;   /* of the field */
	usec slow_start;              /* 0 = a server that joins gets its whole share at once */
	const char *affinity_cookie;  /* the cookie's name, NULL = none */
};

/* Statuses of responses: "200-399 404". */
#define CONF_STATUS_RANGES 16u
struct conf_statuses {
	struct { uint16_t first, last; } ranges[CONF_STATUS_RANGES];
	uint32_t count;
};
static inline bool conf_statuses_have(const struct conf_statuses *s, unsigned status)
{
	for (uint32_t i = 0; i < s->count; i++)
		if (status >= s->ranges[i].first && status <= s->ranges[i].last)
			return true;
	return false;
}

/* When a server gets no requests for a time because earlier ones failed. */
struct conf_eject {
	uint32_t failures;            /* in a row: 5; 0 = off */
	uint32_t percent;             /* of the requests of some seconds: 50; 0 = off */
	uint32_t most;                /* percent of the servers that may be ejected at a time: 50 */
	usec time, time_max;          /* 10 s, and doubled up to 5 min */
	struct conf_statuses failure_status; /* 502 503 504 */
};

/* Requests, or connects, that pushgate makes by itself to see whether a server works. */
enum conf_check_kind { CONF_CHECK_OFF, CONF_CHECK_CONNECT, CONF_CHECK_GET };
struct conf_check {
	enum conf_check_kind kind;
	const char *path;             /* of CONF_CHECK_GET */
	const char *host;             /* NULL = the server's */
	usec interval, timeout;       /* 5 s, 2 s */
	uint32_t rise, fall;          /* 2, 3 */
	struct conf_statuses statuses; /* that a server which works may answer with: 200-399 */
};

struct conf_origin {
	const char *name;
	enum conf_origin_kind kind;
	uint32_t protocols;           /* enum conf_protocol; of both, ALPN decides */
	const char *server_text;      /* the first one's text */
	struct conf_origin_server *servers;
	size_t server_count;          /* at least 1 */
	struct net_source source;     /* of connections to servers and upstream proxies */
	const char *tls_ca;           /* NULL = the system's */
	bool tls_verify;
	const char *tls_name;         /* SNI and verified name; NULL = the server's */
	const struct net_certificate *client_certificate; /* that pushgate shows; NULL = none */
	struct conf_balance balance;
	enum conf_push_mode push;
	enum conf_scheme_mode scheme;
	bool is_private;              /* each connection carries the requests of one client alone */
	enum peer_version send_proxy; /* each connection begins with a PROXY header; with is_private */
	const char *host_override;    /* :authority for the origin; NULL = keep the client's */
	uint32_t max_concurrent_pushes; /* announced as MAX_CONCURRENT_STREAMS: 1000 */
	uint32_t max_connections;     /* per worker and pool, of those that multiplex: 4 */
	uint32_t max_http1_connections; /* per worker, of HTTP/1.1: 128 */
	uint32_t max_tunnels;         /* per worker: 1000 */
	uint32_t max_subscriptions;   /* per worker, each with a connection of its own: 100 */
	uint32_t spare_connections;   /* opened in advance once in use: 0 */
	uint32_t max_queue;           /* requests waiting for a stream: 10000 */
	uint32_t slow_share;          /* of the connections, in percent: 75 */
	uint32_t fetch_share;         /* of a server's room, in ten-thousandths: 2500 */
	uint32_t speculation_share;   /* likewise; when more is taken, speculative loads are refused: 5000 */
	uint64_t fetch_budget_bytes;  /* a minute, per worker, of fetches that no request claims; 0 = no limit: 64 MiB */
	uint32_t max_destinations;    /* of forward:, per worker: 10000 */
	uint32_t max_requests;        /* outstanding at each server, per worker; 0 = no limit */
	uint32_t retry_budget;        /* of 10000 requests so many may be sent again: 2000 */
	uint32_t stream_window_bytes; /* 256 KiB */
	uint32_t max_stream_window_bytes; /* grows with the bandwidth-delay product up to: 4 MiB */
	uint32_t connection_window_bytes; /* 16 MiB */
	uint32_t max_header_list_bytes;   /* 64 KiB */
	uint32_t max_request_list_bytes;  /* over HTTP/2, where the server announces none: 64 KiB */
	usec connect_timeout, settings_timeout, queue_timeout, response_timeout, idle_timeout, keepalive, write_timeout, body_timeout, upload_linger;
	struct conf_eject eject;
	struct conf_check check;
	struct conf_chain chain;      /* of CONF_ORIGIN_FORWARD */
	const struct conf_upstream_proxy *proxy; /* of destinations that requests name: they go through it */
	struct conf_limits limits;
	uint32_t index;
};

/* More than one server, as far as the configuration says: a name may have several addresses. */
static inline bool conf_origin_is_fleet(const struct conf_origin *o)
{
	return o->server_count > 1 || (o->server_count == 1 && conf_server_is_name(o->servers));
}
static inline bool conf_origin_may_eject(const struct conf_origin *o)
{
	return conf_origin_is_fleet(o) && (o->eject.failures > 0 || o->eject.percent > 0);
}


enum conf_remembers { CONF_REMEMBERED_OFF, CONF_REMEMBERED_PROPOSE, CONF_REMEMBERED_APPLY };

/* blocking: the page waits for them. */
enum conf_scripts { CONF_SCRIPTS_BLOCKING, CONF_SCRIPTS_ALL };

/* A resource that a preload offers with each matching request. Empty slices: not given. */
struct conf_add {
	struct slice path, as, type, crossorigin, fetchpriority, media;
};

/* One side of a comparison: the page loads of clients that get the section's offers, or of those that do not. */
struct conf_arm {
	const char *text;             /* "NAME=on", as the log has it */
	uint32_t preload;             /* the section's index */
	bool is_on;
};

#define CONF_SHARE_OFF UINT32_MAX /* nothing is compared */

/* The sources of pushgate's own offers. */
struct conf_preload {
	struct policy_rule when;      /* conditions and the name only, for policy_rule_takes */
	uint32_t share;               /* of the clients, in hundredths of a percent; or CONF_SHARE_OFF */
	struct conf_arm arms[2];      /* off, on */
	bool link;
	enum conf_remembers remembered;
	enum conf_scripts scripts;    /* that are remembered of a page's <head> */
	const char **manifests;       /* paths of files */
	size_t manifest_count;
	struct conf_add *adds;
	size_t add_count;
};

/* The body of pushgate's own answers with an error status. */
struct conf_error_body {
	uint16_t status;              /* 400 … 599; 0: any other error status */
	struct slice body;            /* the whole file; empty when files are not opened */
	const char *content_type;     /* "text/html; charset=utf-8" */
};

struct conf_section;
struct conf {
	struct arena arena;           /* everything below lives here */
	/* Certificates, keys and authorities as they were checked; NULL: no file was opened. */
	struct sealed *sealed;
	/* Of the bytes of the configuration's own files; of lists, secrets and bodies that it names; of those secrets that
	 * stay as long as it. With their paths: equal means that nothing has changed. */
	uint64_t digest, lists_digest, secrets_digest;
	uint64_t rules_digest; /* of the host files of access rules */
	/* All files that options name and a load reads, each as it was just before. */
	struct watched_file *named_files;
	size_t named_file_count;
	const char *file;
	const struct conf_section *sections; /* for conf_find_place */
	struct conf_server server;
	struct conf_listen *listens;
	size_t listen_count;
	struct conf_origin *origins;
	size_t origin_count;
	struct conf_route *routes;    /* in order of the file; the most specific one matches (route/router.h) */
	size_t route_count;
	size_t request_limit_count;   /* of all routes */
	struct slice condition_fields; /* names that the conditions of all routes look at, as in Vary; empty: none */
	struct conf_access *accesses;
	size_t access_count;
	struct conf_preload *preloads; /* in order of the file; all that match a request are used */
	size_t preload_count;
	bool has_arms;                /* a [preload] section has share */
	struct conf_error_body *error_bodies; /* of [errors]; each status at most once */
	size_t error_body_count;
	struct policy_rules policy;
	struct policy_regexes *regexes; /* of all patterns; NULL when there are none */
};

/* Numbers of objects, from 1 on, for what is counted of them; 0: there is none. */
static inline size_t conf_listen_number(const struct conf *c, const struct conf_listen *l)
{
	return l ? (size_t)(l - c->listens) + 1 : 0;
}
static inline size_t conf_route_number(const struct conf *c, const struct conf_route *r)
{
	return r ? (size_t)(r - c->routes) + 1 : 0;
}
/* 0: line is none of the configuration: it is for a destination that a request has named. */
static inline size_t conf_server_number(
    const struct conf_origin *o, const struct conf_origin_server *line)
{
	uintptr_t at = (uintptr_t)line - (uintptr_t)o->servers;
	return at < o->server_count * sizeof(*line) ? at / sizeof(*line) + 1 : 0;
}
// clang-format on

/*
 * Reads the file and checks it. NULL if anything is wrong; then every mistake is among the findings.
 * Warnings are too. With `opens_files` false (tests, explain, status) files and users that options
 * name are not opened or looked for, and there are no warnings. Included files are read all the
 * same. No name is looked up.
 */
struct conf *conf_load(const char *path, bool opens_files, struct conf_findings *findings);
/* The same for a text in memory; messages call it `name`. Includes are read only with `opens_files`,
 * and warnings are always written. errors: NULL, or what gets a line for each finding. */
struct conf *conf_load_text(struct slice text, const char *name, bool opens_files, FILE *errors);
void conf_free(struct conf *c); /* accepts NULL */

/*
 * Where the nth option `key` of the index-th section of a kind ("listen") stands. If it is not
 * given: where the section begins; without such a section: the first line of the file. Lent until
 * conf_free.
 */
struct conf_place conf_find_place(
    const struct conf *c, const char *section, size_t index, const char *key, size_t nth);

/* A line of the configuration as it was written: an option; or, with key NULL, the beginning of a section. */
struct conf_written {
	const char *word, *name; /* of the section; name "": it has none */
	const char *key, *value; /* the value without secrets */
	struct conf_place at;
};
struct conf_walk { /* zeroes: at the beginning */
	const struct conf_section *section;
	size_t option;
	bool has_begun;
};
/* The next line of the files in their order, with those that they include. False: there is none. Lent until conf_free. */
bool conf_next_written(const struct conf *c, struct conf_walk *walk, struct conf_written *w);

/* Whether a server has a name, whose addresses are looked up while pushgate runs. */
bool conf_has_names(const struct conf *c);
/* Whether a listener has pages about pushgate itself. */
bool conf_has_admin(const struct conf *c);
/* Whether an origin is told of the ends of client connections. */
bool conf_tells_ends(const struct conf *c);
/* Whether the collector of spans has one, which another process looks up. */
bool conf_tracing_has_name(const struct conf *c);
/* The same of the server of the authority of acme. */
bool conf_acme_has_name(const struct conf *c);
bool conf_acme_is_over_tls(const struct conf *c);
/* How many page records each worker keeps (waterfall/waterfall.h). 0: there is no admin listener that could show them, or
 * no listener that makes any. */
uint32_t conf_page_records(const struct conf *c);
/* Whether it has a memory of pages (remembered/remembered.h). */
bool conf_remembers(const struct conf *c);

/* Whether `trusted` names this peer (family 0: of a unix socket): the TCP peer, or the one that its PROXY header claims,
 * never an address of a field. */
bool conf_listen_trusts(const struct conf_listen *l, const struct address *peer);

#define CONF_HELP_EXAMPLE "example"
/*
 * `pushgate help-config`: prints the option table. topic NULL = all; else one of the topics: the
 * name of a section, or CONF_HELP_EXAMPLE: a commented configuration.
 */
void conf_print_help(FILE *out, const char *topic);
const char *conf_help_topic(size_t index); /* NULL after the last one */
/* The same as one JSON object (docs/CHECK.md); topic NULL = all, else the name of a section. */
void conf_print_help_json(FILE *out, const char *topic);

/* Whether an address with its port is that of a listener. */
bool conf_is_own_address(const struct conf *conf, const struct net_address *to);
/* Whether a listener takes connections with this port to all addresses of the machine, whichever these are. */
bool conf_listens_everywhere(const struct conf *conf, uint16_t port);

#endif
