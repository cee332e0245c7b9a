/* SPDX-License-Identifier: MIT */
/*
 * Prints one offer: its resource, the guards and rules that were asked, the verdict, and what the
 * client gets.
 */
#include "proxy/base/list.h"
#include "proxy/tool/explain.h"

void explain_print(FILE *out, struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		fputc(c < ' ' || c >= 0x7f ? '?' : c, out);
	}
}

void explain_print_string(FILE *out, const char *text)
{
	explain_print(out, slice_of_string(text));
}

/* ---- steps ---- */

struct steps {
	struct policy_watch watch;
	FILE *out;
	struct policy_verdict verdict;
	/* Guards that passed since the last line was printed. */
	unsigned passed;
	const char *first, *last;
};

static void end_line(struct steps *s)
{
	if (s->passed > 1)
		fprintf(
		    s->out, "   guards   %s ... %s: all %u pass\n", s->first, s->last, s->passed);
	else if (s->passed > 0)
		fprintf(s->out, "   guard    %s passes\n", s->first);
	s->passed = 0;
}

static struct steps *steps_of(const struct policy_watch *watch)
{
	return container_of((uintptr_t)watch, struct steps, watch);
}

static void show_guard(
    const struct policy_watch *watch, const struct policy_reason *guard, bool holds_up)
{
	struct steps *s = steps_of(watch);
	if (!guard)
		return;
	if (!holds_up) {
		if (s->passed++ == 0)
			s->first = guard->code;
		s->last = guard->code;
		return;
	}
	end_line(s);
	bool is_end = s->verdict.action == POLICY_DROP && s->verdict.reason == guard;
	fprintf(s->out, "   guard    %s %s\n", guard->code,
	    is_end ? "refuses" : "allows only half of hint+hold");
}

static void show_rule(
    const struct policy_watch *watch, const struct policy_rule *rule, const char *condition)
{
	struct steps *s = steps_of(watch);
	end_line(s);
	fputs("   rule     ", s->out);
	explain_print_string(s->out, rule->name);
	if (rule->file) {
		fputs(" (", s->out);
		explain_print_string(s->out, rule->file);
		fprintf(s->out, ":%u)", rule->line);
	}
	if (condition)
		fprintf(s->out, ": %s does not hold\n", condition);
	else
		fputs(rule->shadow ? ": matches, as a shadow rule\n" : ": matches\n", s->out);
}

/* ---- what the client gets ---- */

static void print_uri(FILE *out, const struct http_head *head)
{
	explain_print(out, head->scheme);
	fputs("://", out);
	explain_print(out, head->authority);
	explain_print(out, head->path);
}

/* The effect of a drop on the origin's stream or 103. */
static const char *rest_of_drop(const struct explain_offer *e)
{
	const struct policy_reason *hint_refusal = e->offer->hint_refusal;
	if (e->offer->source == POLICY_RELAYED)
		return e->absence ? "" : "; the origin's promised stream is reset";
	if (!e->offer->in_early_hints || hint_refusal == &policy_reason_NO_INTERIM ||
	    hint_refusal == &policy_reason_HINT_MISHANDLED)
		return "";
	if (e->verdict.reason == &policy_reason_RULE ||
	    hint_refusal == &policy_reason_LINK_PUSH_ONLY)
		return "; the link is taken out of the 103";
	return "; the link stays in the 103";
}

static void show_effect(FILE *out, const struct explain_offer *e)
{
	fputs("   client   ", out);
	switch (e->verdict.action) {
	case POLICY_FORWARD:
		fputs("PUSH_PROMISE ", out);
		explain_print(out, e->offer->promised->method);
		fputc(' ', out);
		print_uri(out, e->offer->promised);
		break;
	case POLICY_DROP:
		fputs(e->offer->in_early_hints ? "no push" : "nothing", out);
		fputs(rest_of_drop(e), out);
		break;
	case POLICY_HOLD:
		fputs("nothing yet: held for its own request", out);
		break;
	case POLICY_HINT:
	case POLICY_HINT_HOLD:
		if (e->offer->in_early_hints)
			fputs("the link in the 103 of the origin", out);
		else
			fputs("103 with Link: ", out);
		explain_print(out, e->hint);
		if (e->verdict.action == POLICY_HINT_HOLD)
			fputs("; held for its own request", out);
		break;
	case POLICY_ACTION_COUNT:
		break;
	}
	fputc('\n', out);
}

void explain_show(
    FILE *out, unsigned number, const struct policy_rules *rules, const struct explain_offer *e)
{
	const struct policy_verdict v = e->verdict;
	const struct http_head *promised = e->offer->promised;
	fprintf(out, "\n%u. %s ", number, policy_source_name(e->offer->source));
	explain_print(out, promised->method);
	fputc(' ', out);
	if (e->was_decided)
		print_uri(out, promised);
	else
		explain_print(out, promised->path); /* the unresolved reference */
	if (e->offer->as.len > 0) {
		fputs(" as=", out);
		explain_print(out, e->offer->as);
	}
	fprintf(out, "%s%s\n", e->absence ? ": " : "", e->absence ? e->absence : "");
	struct steps s = {.watch = {show_guard, show_rule}, .out = out, .verdict = v};
	struct policy_verdict decided = v;
	if (e->was_decided)
		decided = policy_decide_with(rules, NULL, e->offer, NULL, &s.watch);
	end_line(&s);
	if (decided.action != v.action)
		fprintf(out, "   then     %s was decided, but was not possible\n",
		    policy_action_name(decided.action));
	fprintf(out, "   verdict  %s", policy_action_name(v.action));
	if (v.rule) {
		fputs(", rule ", out);
		explain_print_string(out, v.rule->name);
	}
	fprintf(out, "\n   reason   %s: %s\n   advice   %s\n", v.reason->code, v.reason->sentence,
	    v.reason->advice);
	if (v.lost_half)
		fprintf(out, "   but      %s: %s\n", v.lost_half->code, v.lost_half->sentence);
	show_effect(out, e);
}
