/* SPDX-License-Identifier: MIT */
/* /api/overview and /api/rules: counters of all workers, and the tables of the page for readers without scripts. */
#include "proxy/admin/admin_private.h"
#include "proxy/admin/json.h"
#include "proxy/admin/sums.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include <inttypes.h>

/* ---- numbers ---- */

static uint64_t verdicts_of(const struct observe_counters *c, enum policy_action action)
{
	uint64_t n = 0;
	for (int source = 0; source < POLICY_SOURCE_COUNT; source++)
		for (int reason = 0; reason < POLICY_REASON_COUNT; reason++)
			n += c->push[source][action][reason];
	return n;
}

static void write_verdicts(struct json *j, const struct observe_counters *c)
{
	put_open(j, "verdicts", '{');
	for (int i = 0; i < POLICY_ACTION_COUNT; i++)
		put_number(j, policy_action_name((enum policy_action)i),
		    verdicts_of(c, (enum policy_action)i));
	put_close(j, '}');
}

static void write_reason(struct json *j, const struct observe_counters *c, unsigned source,
    unsigned action, unsigned reason)
{
	const struct policy_reason *r = policy_reason_table[reason];
	if (c->push[source][action][reason] == 0)
		return;
	put_open(j, NULL, '{');
	put_string(j, "reason", r->code);
	put_string(j, "sentence", r->sentence);
	put_string(j, "verdict", policy_action_name((enum policy_action)action));
	put_string(j, "source", policy_source_name((enum policy_source)source));
	put_number(j, "count", c->push[source][action][reason]);
	put_close(j, '}');
}

static void write_reasons(struct json *j, const struct observe_counters *c)
{
	put_open(j, "reasons", '[');
	for (unsigned source = 0; source < POLICY_SOURCE_COUNT; source++)
		for (unsigned action = 0; action < POLICY_ACTION_COUNT; action++)
			for (unsigned reason = 0; reason < POLICY_REASON_COUNT; reason++)
				write_reason(j, c, source, action, reason);
	put_close(j, ']');
}

static void write_pushes(struct json *j, const struct observe_counters *c)
{
	put_open(j, "pushes", '{');
	put_number(j, "offered", c->pushes_offered);
	put_number(j, "used", c->pushes_completed + c->holds_claimed);
	put_number(j, "wasted",
	    c->pushes_reset + c->holds_expired + c->holds_evicted + c->holds_invalidated);
	put_number(j, "wasted_bytes", c->hold_wasted_bytes + c->push_reset_bytes);
	put_number(j, "claimed", c->holds_claimed);
	put_number(j, "expired", c->holds_expired);
	put_number(j, "missed", c->holds_missed);
	put_close(j, '}');
}

static void write_responses(struct json *j, const struct observe_counters *c)
{
	put_open(j, "responses", '{');
	put_number(j, "1xx", c->responses_1xx);
	put_number(j, "2xx", c->responses_2xx);
	put_number(j, "3xx", c->responses_3xx);
	put_number(j, "4xx", c->responses_4xx);
	put_number(j, "5xx", c->responses_5xx);
	put_close(j, '}');
}

/* As they are, so that a reader can take the difference of two answers. */
static void write_first_byte(struct json *j, const struct totals *all)
{
	const struct histogram h = totals_family(all, SERIES_FIRST_BYTE);
	put_open(j, "origin_first_byte", '{');
	put_open(j, "bounds_us", '[');
	for (size_t i = 0; i < HISTOGRAM_BOUNDS; i++)
		put_number(j, NULL, histogram_bounds[i]);
	put_close(j, ']');
	put_open(j, "counts", '[');
	for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
		put_number(j, NULL, h.counts[i]);
	put_close(j, ']');
	put_close(j, '}');
}

static void write_overview(struct json *j, const struct admin_env *env, const struct sums *s)
{
	const struct observe_counters *c = &s->all->whole;
	const char *why = admin_why_not_ready(env);
	put_open(j, NULL, '{');
	put_string(j, "version", PUSHGATE_VERSION);
	put_number(j, "uptime_seconds", sums_status(s)->up / USEC_PER_SEC);
	put_number(j, "workers", sums_status(s)->worker_count);
	put_bool(j, "ready", !why);
	put_string(j, "reason", why);
	put_number(j, "requests", c->requests);
	put_number(j, "requests_open", c->requests_open);
	put_number(j, "connections_open", c->connections_open);
	put_number(j, "origin_connections_open", c->upstream_connections_open);
	write_responses(j, c);
	write_first_byte(j, s->all);
	write_verdicts(j, c);
	write_pushes(j, c);
	write_reasons(j, c);
	put_close(j, '}');
}

/* ---- rules ---- */

static void write_rule(
    struct json *j, const struct policy_rule *r, const struct observe_rule *counts)
{
	put_open(j, NULL, '{');
	put_string(j, "name", r->name);
	put_string(j, "action", policy_action_name(r->action));
	put_bool(j, "shadow", r->shadow);
	put_string(j, "file", r->file);
	put_number(j, "line", r->line);
	for (int i = 0; i < POLICY_EVENT_COUNT; i++)
		put_number(j, policy_event_name((enum policy_event)i), counts->events[i]);
	put_number(j, "used_bytes", counts->used_bytes);
	put_number(j, "wasted_bytes", counts->wasted_bytes);
	put_close(j, '}');
}

static void write_rules(struct json *j, const struct admin_env *env, const struct sums *s)
{
	const struct conf *conf = env->worker->conf;
	put_open(j, NULL, '{');
	put_open(j, "rules", '[');
	for (size_t i = 0; i < conf->policy.count; i++) {
		const struct policy_rule *r = &conf->policy.rules[i];
		write_rule(j, r, totals_rule(s->all, r->name));
	}
	put_close(j, ']');
	put_close(j, '}');
}

/* ---- an answer ---- */

struct sums_answer {
	const struct admin_env *env;
	size_t charge;
	void (*write)(struct json *j, const struct admin_env *env, const struct sums *s);
	struct sums sums;
	bool has_series, has_begun;
	unsigned tries;
};

static enum admin_step begin(struct sums_answer *a, struct admin_output *output)
{
	a->has_begun = sums_begin(&a->sums, a->env, a->has_series);
	if (a->has_begun)
		return ADMIN_GOES_ON;
	admin_output_wake_at(output, net_now(a->env->worker->loop) + SUMS_BUSY_USEC);
	return ++a->tries < SUMS_BUSY_TRIES ? ADMIN_SLEEPS : ADMIN_FAILS;
}

static enum admin_step produce(void *context, struct admin_output *output, FILE *out)
{
	struct sums_answer *a = context;
	struct json j = {.out = out};
	if (!a->has_begun)
		return begin(a, output);
	if (sums_add_up(&a->sums))
		return ADMIN_GOES_ON;
	a->write(&j, a->env, &a->sums);
	putc('\n', out);
	return ADMIN_ENDS;
}

static void answer_free(void *context)
{
	struct sums_answer *a = context;
	budget_give(&a->env->worker->budget, a->charge);
	sums_fini(&a->sums);
	free(a);
}

static const struct admin_producer producer = {.produce = produce, .free = answer_free};

static void answer(struct admin_request *r, const struct sums_answer *about)
{
	const struct admin_env *env = &r->admin->env;
	/* The counters alone are in what each answer is charged with. */
	size_t charge = about->has_series && env->view ? ledger_view_bytes(env->view) : 0;
	if (!budget_take(&env->worker->budget, charge)) {
		admin_put_off(r, "memory is short");
		return;
	}
	struct sums_answer *a = memory_new(struct sums_answer);
	*a = *about;
	a->env = env;
	a->charge = charge;
	admin_json_type(r);
	admin_answer_with(r, &producer, a);
}

void admin_overview(struct admin_request *r)
{
	answer(r, &(struct sums_answer){.has_series = true, .write = write_overview});
}

void admin_rules(struct admin_request *r)
{
	answer(r, &(struct sums_answer){.write = write_rules});
}

/* ---- without scripts ---- */

static void html_begin(FILE *out, const char *caption, const char *first, const char *second)
{
	fprintf(out,
	    "<div><table><caption>%s</caption><thead><tr><th scope=\"col\">%s</th><th class=\"n\" "
	    "scope=\"col\">%s</th></tr></thead><tbody>\n",
	    caption, first, second);
}

static void html_row(FILE *out, const char *name, uint64_t n)
{
	fprintf(
	    out, "<tr><th scope=\"row\">%s</th><td class=\"n\">%" PRIu64 "</td></tr>\n", name, n);
}

static void html_end(FILE *out)
{
	fputs("</tbody></table></div>\n", out);
}

void admin_overview_html(struct admin *a, FILE *out)
{
	struct sums s;
	if (sums_take(&s, &a->env)) {
		const struct observe_counters *c = &s.all->whole;
		html_begin(out, "Offers of pushes by verdict", "Verdict", "Offers");
		for (int i = 0; i < POLICY_ACTION_COUNT; i++)
			html_row(out, policy_action_name((enum policy_action)i),
			    verdicts_of(c, (enum policy_action)i));
		html_end(out);
		html_begin(out, "Responses", "Status", "Responses");
		html_row(out, "2xx", c->responses_2xx);
		html_row(out, "3xx", c->responses_3xx);
		html_row(out, "4xx", c->responses_4xx);
		html_row(out, "5xx", c->responses_5xx);
		html_end(out);
		html_begin(out, "This gateway", "What", "Now");
		html_row(out, "Requests", c->requests);
		html_row(out, "Open requests", c->requests_open);
		html_row(out, "Client connections", c->connections_open);
		html_row(out, "Connections to origins", c->upstream_connections_open);
		html_end(out);
	}
	sums_fini(&s);
}
