/* SPDX-License-Identifier: MIT */
/* Prints the verdict of the listener's [access NAME] on the request. */
#include "proxy/tool/explain.h"
#include <inttypes.h>

static const char *const answer_texts[] = {
    [ACCESS_ALLOW] = "allowed",
    [ACCESS_DENY] = "denied",
    [ACCESS_ASK] = "needs a user (--user NAME)",
};

static void print(FILE *out, const struct exchange *x, const struct access_verdict *v)
{
	const struct conf_access *a = x->facts.listener->access;
	fprintf(out, "access %s: %s", a->name ? a->name : "(built in)", answer_texts[v->answer]);
	if (v->rule)
		fprintf(
		    out, " by %s at %s:%" PRIu32 "\n", v->rule->text, v->rule->file, v->rule->line);
	else if (v->answer == ACCESS_DENY)
		fprintf(out, ": no line takes the request (%s)\n", v->reason);
	else
		fputs(" by the usual rule of forward mode\n", out);
}

const struct relay_cause *explain_access(FILE *out, struct exchange *x, const char **detail)
{
	const struct conf_listen *l = x->facts.listener;
	if (!l || !l->access)
		return NULL;
	const struct access_verdict verdict = access_may_ask(&x->facts, exchange_effort(x));
	*detail = verdict.reason;
	print(out, x, &verdict);
	return access_cause(l, &verdict);
}

struct slice explain_connect(const char *text)
{
	struct slice request = slice_of_string(text);
	if (!slice_starts_with(request, SLICE("CONNECT ")))
		return SLICE("");
	return slice_trim(slice_from(request, strlen("CONNECT ")));
}

void explain_tunnel(FILE *out, struct exchange *x)
{
	fprintf(out, "listen %s, route %s, origin %s\n", x->facts.listener->name,
	    x->place.route->name, x->place.origin->name);
	explain_upstream_proxy(out, x);
	for (size_t i = 0; i < x->place.route->request_limit_count; i++)
		fprintf(out, "counted by limit-requests = %s\n",
		    x->place.route->request_limits[i].text);
	if (x->place.route->matches_sni)
		fputs("tunnel-sni = match: it ends unless it begins with a ClientHello for this "
		      "host\n",
		    out);
	fputs("a tunnel is opened: what is in it, pushes too, the gateway does not see\n", out);
}

void explain_upstream_proxy(FILE *out, struct exchange *x)
{
	struct request_target target;
	const struct conf_origin *o = x->place.origin;
	if (o->kind != CONF_ORIGIN_FORWARD || !route_read_target(x->request, &target))
		return;
	const struct conf_upstream_proxy *p = conf_upstream_proxy_for(
	    o, slice_of_string(target.host), target.is_address ? &target.address : NULL);
	if (!p)
		return;
	fprintf(out, "through upstream-proxy %s", p->text);
	if (target.is_address) {
		fputs("\n", out);
		return;
	}
	const struct access_verdict v = access_may_reach(&x->facts, NULL, exchange_effort(x));
	fputs(", which looks the host up: no range of addresses holds", out);
	if (v.answer == ACCESS_ALLOW)
		fputs("\n", out);
	else
		fprintf(out, ", and so no line takes the request (%s)\n", v.reason);
}
