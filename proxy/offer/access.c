/* SPDX-License-Identifier: MIT */
/* Judges requests by the rules of an [access NAME] section; see access.h. */
#include "proxy/offer/offer.h"

#include "proxy/base/memory.h"
#include "proxy/http/authority.h"
#include "proxy/http/path.h"
#include <stdlib.h>

/* Longer paths are decoded on the heap. */
#define PATH_BYTES 1024u

/* A request is judged for each address of its destination: what that needs is not left in the request's arena. */
struct judged {
	struct access_facts facts;
	struct offer_target target;
	char path[PATH_BYTES];
	char *long_path; /* owned */
};

/* A proxy judges a request once for each address of its destination, and its path only the first time. */
static uint8_t *path_answers(struct exchange *x)
{
	const struct conf_listen *l = x->context.listen;
	if (conf_listen_is_forward(l) && !x->context.path_answers) {
		x->context.path_answers = arena_alloc(exchange_arena(x), l->access->rule_count);
		memset(x->context.path_answers, ACCESS_PATH_UNKNOWN, l->access->rule_count);
	}
	return x->context.path_answers;
}

static void read_path(struct judged *j, struct exchange *x)
{
	struct slice path = slice_sub(x->request->path, 0, slice_find(x->request->path, '?'));
	if (path.len > sizeof j->path)
		j->long_path = memory_alloc(path.len);
	j->facts.path = path;
	j->facts.plain_path = http_path_plain(path, j->long_path ? j->long_path : j->path);
	j->facts.path_is_ambiguous = http_path_is_ambiguous(path);
	j->facts.path_answers = path_answers(x);
}

/* A gateway's hosts need not have a port that is known. */
static void read_host(struct judged *j, const struct exchange *x)
{
	struct http_authority authority;
	const struct http_head *head = x->request;
	j->facts.host_is_ambiguous =
	    !http_authority_parse(head->authority, head->scheme, &authority) ||
	    http_host_read(authority.host, j->target.host, &j->target.address) == HTTP_HOST_STRANGE;
	if (!j->facts.host_is_ambiguous)
		j->facts.host = slice_of_string(j->target.host);
}

/* It was read when the request was admitted; what a page's own requests would be is judged without that. */
static void read_target(struct judged *j, const struct exchange *x)
{
	const struct offer_target *target = offer_known_target(x);
	if (!target && offer_read_target(x->request, &j->target))
		target = &j->target;
	j->facts.host_is_ambiguous = !target;
	if (!target)
		return;
	j->facts.host = slice_of_string(target->host);
	j->facts.port = target->port;
	if (target->is_address)
		j->facts.to = &target->address;
}

/* Judging changes no fact about the exchange: it spends effort, and keeps what it has found out of the path. */
static void read_facts(struct judged *j, const struct exchange *asked)
{
	struct exchange *x = (struct exchange *)(uintptr_t)asked;
	const struct http_head *head = x->request;
	const struct conf_listen *l = x->context.listen;
	const struct exchange_user *user = x->context.user;
	bool is_connect = head->method_token == HTTP_METHOD_CONNECT;
	bool is_for_protocol = is_connect && head->protocol.len > 0;
	j->long_path = NULL;
	j->facts = (struct access_facts){
	    .is_forward = conf_listen_is_forward(l),
	    .is_connect = is_connect && !is_for_protocol,
	    .client = x->context.client,
	    .user = user ? slice_of(user->name, user->length) : SLICE(""),
	    /* RFC 8441 5: what a GET with Upgrade is in HTTP/1.1. */
	    .method = is_for_protocol ? SLICE("GET") : head->method,
	    .effort = exchange_effort(x),
	};
	if (l->access->needs & CONF_ACCESS_PATH)
		read_path(j, x);
	if ((l->access->needs & CONF_ACCESS_TIME) && x->relay->ops->week_minute)
		j->facts.minute = x->relay->ops->week_minute(x->relay->context);
	if (j->facts.is_forward)
		read_target(j, x);
	else
		read_host(j, x);
}

static struct access_verdict judge(const struct exchange *x, struct judged *j)
{
	const struct access_verdict verdict = access_judge(x->context.listen->access, &j->facts);
	free(j->long_path);
	return verdict;
}

struct access_verdict offer_may_ask(const struct exchange *x)
{
	struct judged j;
	if (!x->context.listen->access)
		return (struct access_verdict){.answer = ACCESS_ALLOW};
	read_facts(&j, x);
	return judge(x, &j);
}

struct access_verdict offer_may_reach(const struct exchange *x, const struct net_address *to)
{
	struct judged j;
	struct address ip;
	if (!x->context.listen->access)
		return (struct access_verdict){.answer = ACCESS_ALLOW};
	read_facts(&j, x);
	if (!to) { /* of a literal host it is known all the same */
		j.facts.is_looked_up_elsewhere = true;
		return judge(x, &j);
	}
	net_address_ip(to, &ip);
	j.facts.to = &ip;
	j.facts.to_is_mapped = ip.family == 4 && to->storage.ss_family == AF_INET6;
	return judge(x, &j);
}

bool offer_asks_for_users(const struct conf_listen *l)
{
	return l->access && (l->access->needs & CONF_ACCESS_USER) != 0;
}

/* RFC 9209 2.3.5: the destination's address has an error type of its own. */
const struct relay_cause *offer_access_cause(
    const struct conf_listen *l, const struct access_verdict *v)
{
	switch (v->answer) {
	case ACCESS_ALLOW:
		return NULL;
	case ACCESS_ASK:
		return conf_listen_is_forward(l) ? &relay_cause_PROXY_USER_UNKNOWN
						 : &relay_cause_USER_UNKNOWN;
	case ACCESS_DENY:
		break;
	}
	return v->why >= ACCESS_REASON_ADDRESS ? &relay_cause_ADDRESS_DENIED
					       : &relay_cause_ACCESS_DENIED;
}
