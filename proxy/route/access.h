/* SPDX-License-Identifier: MIT */
/*
 * Who may ask for what, and which addresses may be reached for it: the rules of the listener's [access NAME]
 * section. Included by route.h.
 *
 * A request is judged twice. First when it has come, before a name is looked up: the rules that name no address
 * decide. In forward mode it is judged again by each address that its destination has, before it is given to a
 * connection to one of them. That holds for connections that are open already too.
 */
#ifndef PUSHGATE_ROUTE_ACCESS_H
#define PUSHGATE_ROUTE_ACCESS_H

#include "proxy/base/effort.h"
#include "proxy/conf/conf.h"
#include "proxy/relay/relay.h"

enum access_answer { ACCESS_ALLOW, ACCESS_DENY, ACCESS_ASK };

/* Why a request was denied: X(symbol, "code", "what it says"). The first two are no conditions; the others name the
 * condition that did not hold, of the line allow that came nearest to taking the request. docs/COUNTERS.md prints
 * them. */
#define ACCESS_REASONS(X)                                                                          \
	X(RULE, "rule", "a line deny took the request")                                            \
	X(NO_RULE, "no-rule", "the section has no line allow")                                     \
	X(CLIENT, "client", "the client's address")                                                \
	X(USER, "user", "the user, or that there is none")                                         \
	X(CERT, "cert", "the client's certificate, or that there is none")                         \
	X(METHOD, "method", "the method")                                                          \
	X(TIME, "time", "the time")                                                                \
	X(HOST, "host", "the host that was asked for")                                             \
	X(PATH, "path", "the path")                                                                \
	X(PORT, "port", "the destination's port")                                                  \
	X(ADDRESS, "address", "the destination's address, which no line names")                    \
	X(ADDRESS_NOT_GLOBAL, "address-not-global", "the same: it is not globally reachable")      \
	X(ADDRESS_EMBEDDED, "address-embedded",                                                    \
	    "the same: an IPv4 address that is not globally reachable, or is written as IPv6")

/* In the order in which the conditions of a rule are looked at. */
enum access_reason {
#define ACCESS_REASON_SYMBOL(symbol, code, what) ACCESS_REASON_##symbol,
	ACCESS_REASONS(ACCESS_REASON_SYMBOL)
#undef ACCESS_REASON_SYMBOL
	    ACCESS_REASON_COUNT
};
const char *access_reason_name(enum access_reason reason);

struct access_verdict {
	enum access_answer answer;
	/* Why not: a constant code for the log and for Proxy-Status, such as "address-not-global". */
	const char *reason;
	/* The rule that has decided; NULL: none has, or it was built in. */
	const struct conf_access_rule *rule;
	enum access_reason why; /* of ACCESS_DENY */
};

/* The cause with which a request is refused; NULL: it is allowed. */
const struct relay_cause *access_cause(const struct conf_listen *l, const struct access_verdict *v);

/* The facts that the rules need. */
struct access_facts {
	bool is_forward;
	bool is_connect; /* a tunnel to any port, and not one of RFC 8441 */
	struct address client;
	struct slice user;                            /* empty: nobody */
	const struct client_certificate *certificate; /* NULL: the client has shown none */
	struct slice method;
	struct slice path, plain_path; /* as sent; http_path_plain; without query */
	bool path_is_ambiguous;        /* http_path_is_ambiguous */
	struct slice host;             /* http_host_read; empty: it is ambiguous */
	bool host_is_ambiguous; /* other programs may read another host in it, or it is not known */
	uint16_t port;          /* in forward mode */
	uint32_t minute;        /* of the week, in local time */
	const struct address *to; /* NULL: not known yet */
	bool to_is_mapped;        /* it was an IPv4-mapped IPv6 address */
	/* It will not be: the host is a name, and an upstream proxy looks it up. */
	bool is_looked_up_elsewhere;
	/* For patterns of paths; NULL: as much as one request has. Once it is used up, the path counts as ambiguous. */
	struct effort *effort;
	/* NULL, or of each rule what came of its paths: a path is the same for each address. */
	uint8_t *path_answers; /* enum access_path_answer */
};
enum access_path_answer { ACCESS_PATH_UNKNOWN, ACCESS_PATH_TAKEN, ACCESS_PATH_OTHER };

struct access_verdict access_judge(const struct conf_access *a, const struct access_facts *f);

/* Forward mode: whether a client at this address might be allowed anything, as some user. */
bool access_takes_client(const struct conf_access *a, const struct address *client);

/* The first judgement. ACCESS_ALLOW: it may go on, if in forward mode its address may be reached.
 * effort: that is left to the request; may be NULL, as in access_facts. */
struct access_verdict access_may_ask(const struct request_facts *f, struct effort *effort);
/* The second: whether it may go to this address. NULL: that is not known, since an upstream proxy looks the name up. */
struct access_verdict access_may_reach(
    const struct request_facts *f, const struct net_address *to, struct effort *effort);
/* Whether some rule needs to know the user: else credentials are not looked at. */
static inline bool access_asks_for_users(const struct conf_listen *l)
{
	return l->access && (l->access->needs & CONF_ACCESS_USER) != 0;
}
/* Whether Basic credentials in Authorization are for pushgate, and not for the origin. l may be NULL. */
static inline bool access_takes_authorization(const struct conf_listen *l)
{
	return l && access_asks_for_users(l) && l->access->users && !conf_listen_is_forward(l);
}

#endif
