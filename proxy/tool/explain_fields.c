/* SPDX-License-Identifier: MIT */
/*
 * Prints the fields that a route writes into a request and into its response, with the placeholders filled in. Their
 * values may be keys for an origin, which the pages of an admin listener do not show: the command alone prints them.
 */
#include "proxy/tool/explain.h"

/* What a live connection has is an example here. */
static struct request_facts facts_of(const struct exchange *x)
{
	struct request_facts facts = x->facts;
	const struct conf_listen *l = facts.listener;
	if (l && l->certificate_count > 0)
		facts.tls = "TLSv1.3";
	if (l && l->request_id != CONF_REQUEST_ID_OFF)
		facts.request_id = SLICE("0123456789abcdef0123456789abcdef");
	return facts;
}

static void print_rule(FILE *out, const char *who, const struct conf_field *rule,
    const struct request_facts *facts, struct arena *arena)
{
	struct slice value = rule->value;
	if (rule->change == CONF_FIELD_REMOVE) {
		fprintf(out, "%s gets no %.*s\n", who, SLICE_ARG(rule->name));
	} else if (rule->parts.count > 0 &&
		   !route_write_value(&rule->parts, facts, arena, &value)) {
		fprintf(out, "%s gets no %.*s: all that its value stands for is unknown\n", who,
		    SLICE_ARG(rule->name));
	} else {
		fprintf(out, "%s gets %.*s: ", who, SLICE_ARG(rule->name));
		explain_print(out, value);
		fputc('\n', out);
	}
}

static void print_rules(FILE *out, const char *who, const struct conf_fields *rules,
    const struct request_facts *facts, struct arena *arena)
{
	for (size_t i = 0; i < rules->count; i++)
		print_rule(out, who, &rules->fields[i], facts, arena);
}

void explain_fields(FILE *out, struct exchange *x)
{
	const struct request_facts facts = facts_of(x);
	const struct conf_route *route = x->place.route;
	struct arena *arena = exchange_arena(x);
	print_rules(out, "the origin", &route->request_fields, &facts, arena);
	print_rules(out, "the client", &route->response_fields, &facts, arena);
}
