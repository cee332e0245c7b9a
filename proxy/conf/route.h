/* SPDX-License-Identifier: MIT */
/* The options of a [route NAME] section. Included by conf.h. */
#ifndef PUSHGATE_CONF_ROUTE_H
#define PUSHGATE_CONF_ROUTE_H

#include "policy/pattern.h"
#include "proxy/base/clock.h"
#include "proxy/conf/placeholders.h"
#include "proxy/http/token.h"
#include "proxy/speculation/speculation.h"

struct conf_origin;

// clang-format off
/* How a route treats Forwarded and the like; auto: append, and remove in forward mode. */
enum conf_forwarded { CONF_FORWARDED_AUTO, CONF_FORWARDED_KEEP, CONF_FORWARDED_REMOVE, CONF_FORWARDED_APPEND, CONF_FORWARDED_REPLACE };
/* How a route treats fields of requests whose names have "_" or the like; auto: only while the file is read. */
enum conf_underscores { CONF_UNDERSCORES_AUTO, CONF_UNDERSCORES_PASS, CONF_UNDERSCORES_DROP };

/* What the origin gets of a client's certificate. */
enum conf_client_cert { CONF_CLIENT_CERT_YES, CONF_CLIENT_CERT_CHAIN, CONF_CLIENT_CERT_NO };

/* A route's changes to the fields of its requests or responses, in the order of the file. */
enum conf_field_change { CONF_FIELD_SET, CONF_FIELD_ADD, CONF_FIELD_REMOVE };
struct conf_field {
	enum conf_field_change change;
	struct slice name, value;     /* lower case; no value to remove; as written if it has parts */
	struct conf_value_parts parts; /* of a value with placeholders */
	bool is_marked;               /* the name has a mark other than "-" (http/spelling.h) */
	enum http_token token;        /* of the known name that this is, or is another spelling of */
};
struct conf_fields {
	struct conf_field *fields;
	size_t count;
};

/* The key that requests are counted by. */
enum conf_limit_key { CONF_LIMIT_CLIENT, CONF_LIMIT_FIELD, CONF_LIMIT_ALL };

/* One line of limit-requests. */
struct conf_request_limit {
	const char *text;             /* as written */
	uint32_t rate;                /* requests in each period; 0 = any number */
	usec period;                  /* a second, a minute or an hour */
	uint32_t burst;               /* requests at once */
	uint32_t concurrent;          /* open requests; 0 = any number */
	enum conf_limit_key key;
	struct slice field;           /* of CONF_LIMIT_FIELD, in lower case */
	enum http_token field_token;
	bool is_shadow;               /* counts and logs, and refuses nothing */
	size_t index;                 /* among the lines of all routes */
};

/* After which failures a request may be sent again although a server may have processed it. */
struct conf_retry_on {
	bool lost, late;
	bool statuses[100];           /* 500 … 599 */
};

/* One of the origins of a route that splits its clients among several. */
struct conf_side {
	const char *name;
	const struct conf_origin *origin;
	uint32_t weight;              /* 0 … 1000 */
};

/* A condition on a field of the request. */
struct conf_field_test {
	struct slice name;            /* lower case */
	enum http_token token;
	bool is_absent;               /* the request must not have the field */
	struct policy_patterns values; /* some field of this name matches; none: any value does */
};

struct conf_rewrite {
	bool is_given;
	struct slice from, to;        /* without a final '/', so that "/" is empty */
};

/* The answers of pushgate itself, on a route without origin. */
struct conf_redirect {
	uint16_t status;              /* 0: the route has no redirect */
	struct slice target;          /* with {host}, {path}, {query}, {rest} */
};
struct conf_answer {
	uint16_t status;              /* 0: the route has no answer */
	struct slice body;            /* the whole file; empty without one, or when files are not opened */
	const char *content_type;     /* NULL without a file */
};

struct conf_folder {
	const char *path;             /* NULL: the route has none */
	struct slice files;           /* http/file_set.h; empty when files are not opened */
};

/* Which requests to servers in HTTP/1.1 are sent when they are whole. */
struct conf_request_buffer {
	bool is_given;                /* else those with a content-length of at most 64 KiB */
	uint32_t bytes;               /* of the body, whether it is announced or not; 0 = none */
};

/* Loads that browsers make ahead of a navigation. */
struct conf_speculation {
	enum speculation_kind kind;   /* what rules of pushgate's let browsers do with pages of the route */
	enum speculation_eagerness eagerness;
	struct policy_patterns deny;  /* paths that rules never name */
};

/* The largest body of a request; not given: as the listener says. */
struct conf_body_limit {
	bool is_given;
	uint64_t bytes;               /* 0 = no limit */
};

/* Exactly one of origin, redirect, answer and files is given. */
struct conf_route {
	const char *name;
	struct slice *hosts;          /* patterns for http_host_matches; none = any */
	size_t host_count;
	struct slice *paths;          /* prefixes that end at a segment border: "/api" matches "/api", "/api/x", "/api?x" and not "/apix"; none = "/" */
	size_t path_count;
	/* Conditions: a route that has some is tried before those of the same host and path that have none. */
	struct slice *methods;        /* none = any */
	size_t method_count;
	struct slice *certs;          /* base/client_certificate.h; none = any, and no certificate */
	size_t cert_count;
	struct conf_field_test *field_tests; /* all must hold */
	size_t field_test_count;
	const struct conf_origin *origin; /* the first of the sides; NULL: the route has none */
	const char *origin_text;      /* as written; "-" without an origin */
	struct conf_side *sides;
	size_t side_count;
	uint32_t side_weights;        /* their sum; at least 1 */
	uint64_t side_seed;           /* from the sides' names */
	struct conf_rewrite rewrite;
	struct conf_redirect redirect;
	struct conf_answer answer;
	struct conf_folder folder;
	struct conf_retry_on retry_on;
	uint32_t retries;             /* by retry_on, for each request: 2 */
	usec connect_timeout, response_timeout; /* 0 = queue_timeout and response_timeout of the origin */
	usec request_timeout;         /* arrival … end of the response; 0 = no limit */
	struct conf_request_buffer request_buffer;
	struct conf_body_limit max_request_body;
	bool streaming;               /* uploads are streams of messages, as those of gRPC always are */
	usec stream_idle_timeout;     /* of a stream without content-length: 10 min */
	struct slice *upgrades;       /* protocols of tunnels: "websocket"; none = no tunnel is opened */
	size_t upgrade_count;
	usec tunnel_idle_timeout;     /* 1 h */
	usec tunnel_half_closed_timeout; /* one direction has ended: 1 min */
	usec tunnel_age;              /* 0 = no limit */
	uint64_t tunnel_bytes;        /* both directions together; 0 = no limit */
	bool matches_sni;             /* tunnels begin with a ClientHello for the host of their CONNECT */
	uint32_t max_tunnels_per_client, max_tunnels_per_user; /* 0 = no limit */
	uint64_t tunnel_rate;         /* bytes a second of all tunnels of one user or client; 0 = any */
	bool is_forward;              /* its origin is forward: it is for listeners with mode = forward alone */
	bool subscription;            /* its GETs wait for pushes (relay/subscription.c) */
	bool server_timing;           /* responses tell what pushgate did (gateway/server_timing.c) */
	struct conf_speculation speculation;
	bool maps_referer;            /* Referer to the origin has its scheme, host and path */
	enum conf_forwarded forwarded;
	enum conf_underscores underscores;
	enum conf_client_cert client_cert;
	struct conf_fields request_fields, response_fields;
	struct conf_request_limit *request_limits; /* all count */
	size_t request_limit_count;
};
// clang-format on

static inline bool conf_route_counts_tunnels(const struct conf_route *route)
{
	return (route->max_tunnels_per_client | route->max_tunnels_per_user | route->tunnel_rate) !=
	       0;
}

/* Whether the route sends some requests to this origin. */
bool conf_route_uses(const struct conf_route *r, const struct conf_origin *o);
static inline bool conf_route_has_conditions(const struct conf_route *r)
{
	return r->method_count + r->cert_count + r->field_test_count > 0;
}

#endif
