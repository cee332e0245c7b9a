/* SPDX-License-Identifier: MIT */
/* Judges requests by the rules of an [access NAME] section; see access.h. */
#include "proxy/route/route.h"

#include "proxy/base/memory.h"
#include "proxy/http/authority.h"
#include "proxy/http/path.h"
#include <stdlib.h>

/* Longer paths are decoded on the heap. */
#define PATH_BYTES 1024u

/* A request is judged for each address of its destination: what that needs is not left in the request's arena. */
struct judged {
	struct access_facts facts;
	struct request_target target;
	char path[PATH_BYTES];
	char *long_path; /* owned */
};

/* A proxy judges a request once for each address of its destination, and its path only the first time. */
static void read_path(struct judged *j, const struct request_facts *f)
{
	struct slice path = slice_sub(f->head->path, 0, slice_find(f->head->path, '?'));
	if (path.len > sizeof j->path)
		j->long_path = memory_alloc(path.len);
	j->facts.path = path;
	j->facts.plain_path = http_path_plain(path, j->long_path ? j->long_path : j->path);
	j->facts.path_is_ambiguous = http_path_is_ambiguous(path);
	j->facts.path_answers = f->target ? f->target->path_answers : NULL;
}

/* A gateway's hosts need not have a port that is known. */
static void read_host(struct judged *j, const struct http_head *head)
{
	struct http_authority authority;
	j->facts.host_is_ambiguous =
	    !http_authority_parse(head->authority, head->scheme, &authority) ||
	    http_host_read(authority.host, j->target.host, &j->target.address) == HTTP_HOST_STRANGE;
	if (!j->facts.host_is_ambiguous)
		j->facts.host = slice_of_string(j->target.host);
}

/* It was read when the request was admitted; what a page's own requests would be is judged without that. */
static void read_target(struct judged *j, const struct request_facts *f)
{
	const struct request_target *target = f->target;
	if (!target && route_read_target(f->head, &j->target))
		target = &j->target;
	j->facts.host_is_ambiguous = !target;
	if (!target)
		return;
	j->facts.host = slice_of_string(target->host);
	j->facts.port = target->port;
	if (target->is_address)
		j->facts.to = &target->address;
}

static void read_facts(struct judged *j, const struct request_facts *f, struct effort *effort)
{
	const struct http_head *head = f->head;
	const struct conf_listen *l = f->listener;
	bool is_connect = head->method_token == HTTP_METHOD_CONNECT;
	bool is_for_protocol = is_connect && head->protocol.len > 0;
	j->long_path = NULL;
	j->facts = (struct access_facts){
	    .is_forward = conf_listen_is_forward(l),
	    .is_connect = is_connect && !is_for_protocol,
	    .client = f->client,
	    .user = f->user ? slice_of(f->user->name, f->user->length) : SLICE(""),
	    .certificate = f->certificate,
	    /* RFC 8441 5: what a GET with Upgrade is in HTTP/1.1. */
	    .method = is_for_protocol ? SLICE("GET") : head->method,
	    .effort = effort,
	};
	if (l->access->needs & CONF_ACCESS_PATH)
		read_path(j, f);
	if (l->access->needs & CONF_ACCESS_TIME)
		j->facts.minute = clock_week_minute();
	if (j->facts.is_forward)
		read_target(j, f);
	else
		read_host(j, head);
}

static struct access_verdict judge(const struct conf_listen *l, struct judged *j)
{
	const struct access_verdict verdict = access_judge(l->access, &j->facts);
	free(j->long_path);
	return verdict;
}

struct access_verdict access_may_ask(const struct request_facts *f, struct effort *effort)
{
	struct judged j;
	if (!f->listener->access)
		return (struct access_verdict){.answer = ACCESS_ALLOW};
	read_facts(&j, f, effort);
	return judge(f->listener, &j);
}

struct access_verdict access_may_reach(
    const struct request_facts *f, const struct net_address *to, struct effort *effort)
{
	struct judged j;
	struct address ip;
	if (!f->listener->access)
		return (struct access_verdict){.answer = ACCESS_ALLOW};
	read_facts(&j, f, effort);
	if (!to) { /* of a literal host it is known all the same */
		j.facts.is_looked_up_elsewhere = true;
		return judge(f->listener, &j);
	}
	net_address_ip(to, &ip);
	j.facts.to = &ip;
	j.facts.to_is_mapped = ip.family == 4 && to->any.sa_family == AF_INET6;
	return judge(f->listener, &j);
}

/* RFC 9209 2.3.5: the destination's address has an error type of its own. */
const struct relay_cause *access_cause(const struct conf_listen *l, const struct access_verdict *v)
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
