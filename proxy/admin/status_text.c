/* SPDX-License-Identifier: MIT */
/* The text of `pushgate status`: notes for a reader, and samples for Prometheus (observe/metrics.c). */
#include "proxy/admin/status.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/offer/offer.h"
#include "proxy/protocols/protocols.h"
#include <time.h>
#include <unistd.h>

#define NO_LABELS ((const struct observe_label[]){{0}})

static void print_process(const struct status_process *w, FILE *out)
{
	if (w->pid)
		fprintf(out, "process %d, up %llu s", (int)w->pid,
		    (unsigned long long)(w->up / USEC_PER_SEC));
	else
		fprintf(out, "down");
	fprintf(out, ", started %u time%s\n", w->starts, w->starts == 1 ? "" : "s");
}

struct totals *status_sum(const struct status *s)
{
	struct totals *t = totals_new();
	if (s->others)
		totals_add_totals(t, s->others);
	totals_add(t, s->conf, s->slots, s->worker_count, true);
	totals_add_series(t, s->conf, s->series);
	if (s->own_slot)
		observe_counters_add(&t->whole, s->own_slot);
	return t;
}

/* ---- about the whole ---- */

static void print_time(struct observe_family *f, const struct observe_label *labels, usec wall)
{
	observe_sample(f, labels, "%llu.%03llu", (unsigned long long)(wall / USEC_PER_SEC),
	    (unsigned long long)(wall / USEC_PER_MSEC % 1000));
}

static void print_last_reload(const struct status *s, FILE *out)
{
	const struct status_reload *r = s->last_reload;
	struct observe_family at = {.out = out, .id = OBSERVE_FAMILY_LAST_RELOAD};
	struct observe_family successful = {
	    .out = out, .id = OBSERVE_FAMILY_LAST_RELOAD_SUCCESSFUL};
	if (!r || !r->at)
		return;
	print_time(&at, NO_LABELS, r->at);
	observe_sample(&successful, NO_LABELS, "%d", strcmp(r->result, STATUS_RELOAD_REFUSED) != 0);
}

static void note_last_reload(const struct status *s, FILE *out)
{
	const struct status_reload *r = s->last_reload;
	char when[32];
	if (!r || !r->at)
		return;
	time_t at = (time_t)(r->at / USEC_PER_SEC);
	strftime(when, sizeof(when), "%FT%TZ", gmtime(&at));
	fprintf(out, "# last reload: %s at %s, generation %u serves%s%s\n", r->result, when,
	    r->generation, r->cause[0] ? ": " : "", r->cause);
}

static void print_certificates(const struct conf *conf, FILE *out)
{
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_CERTIFICATE};
	for (size_t i = 0; i < conf->listen_count; i++)
		for (size_t k = 0; k < conf->listens[i].shown_count; k++) {
			const struct conf_listen *l = &conf->listens[i];
			if (l->shown[k].ends > 0)
				observe_sample(&f,
				    OBSERVE_LABELS({"listen", l->name}, {"file", l->shown[k].file}),
				    "%lld", (long long)l->shown[k].ends);
		}
}

static void print_whole(const struct status *s, FILE *out)
{
	struct observe_family build = {.out = out, .id = OBSERVE_FAMILY_BUILD};
	observe_sample(&build,
	    OBSERVE_LABELS({"version", PUSHGATE_VERSION}, {"tls_library", net_tls_library()}), "1");
	struct observe_family started = {.out = out, .id = OBSERVE_FAMILY_START_TIME};
	if (s->started_wall)
		print_time(&started, NO_LABELS, s->started_wall);
	print_last_reload(s, out);
	status_processes_print(s, out);
	if (!s->conf)
		return;
	struct observe_family memory = {.out = out, .id = OBSERVE_FAMILY_MEMORY_LIMIT};
	observe_sample(&memory, NO_LABELS, "%llu",
	    (unsigned long long)s->conf->server.memory_bytes * s->worker_count);
	print_certificates(s->conf, out);
	if (s->certificates)
		status_certificates_print(s, out);
}

/* ---- where push is off ---- */

/* As notes for a reader, or as samples. */
static void print_push_off(
    const struct status *s, const struct observe_counters *sum, bool is_note, FILE *out)
{
	const struct conf *conf = s->conf;
	struct observe_family routes = {.out = out, .id = OBSERVE_FAMILY_ROUTE_PUSH_OFF};
	struct observe_family origins = {.out = out, .id = OBSERVE_FAMILY_ORIGIN_PUSH_OFF};
	usec now = clock_monotonic();
	for (size_t i = 0; i < conf->route_count && i < OBSERVE_PLACES; i++) {
		const struct conf_route *r = &conf->routes[i];
		if (sum->push_off_until[i] <= now)
			continue;
		unsigned long long left = (sum->push_off_until[i] - now) / USEC_PER_SEC + 1;
		if (is_note)
			fprintf(out,
			    "# route %s: push from origin %s is off for %llu s more (%s)\n",
			    r->name, r->origin_text, left, policy_reason_RESET_BUDGET.code);
		else
			observe_sample(&routes,
			    OBSERVE_LABELS({"route", r->name}, {"origin", r->origin_text}), "%llu",
			    left);
	}
	for (size_t i = 0; i < conf->origin_count && i < OBSERVE_PLACES; i++) {
		const char *name = conf->origins[i].name;
		unsigned long long n = sum->push_off_connections_open[i];
		if (n > 0 && is_note)
			fprintf(out,
			    "# origin %s: push is off on %llu connection%s until they end "
			    "(promise-refusals)\n",
			    name, n, n == 1 ? "" : "s");
		else
			observe_count(&origins, OBSERVE_LABELS({"origin", name}), n);
	}
}

/* ---- limits on requests, arms of comparisons ---- */

static void print_limited(const struct totals *t, FILE *out)
{
	static const char *const verdicts[] = {"refused", "shadow"};
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_ROUTE_LIMITED};
	for (size_t i = 0; i < t->limited.count; i++)
		for (size_t v = 0; v < 2; v++)
			observe_count(&f,
			    OBSERVE_LABELS(
				{"route", t->limited.list[i].name}, {"verdict", verdicts[v]}),
			    t->limited.list[i].n[v]);
}

static void print_arms(const struct totals *t, FILE *out)
{
	static const char *const words[] = {"off", "on"};
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_ARM_PAGES};
	for (size_t i = 0; i < t->arms.count; i++)
		for (size_t arm = 0; arm < 2; arm++)
			observe_count(&f,
			    OBSERVE_LABELS({"preload", t->arms.list[i].name}, {"arm", words[arm]}),
			    t->arms.list[i].n[arm]);
}

/* ---- the samples, in parts ---- */

static size_t part_whole(const struct status *s, struct totals *t, size_t at, FILE *out)
{
	(void)t, (void)at;
	print_whole(s, out);
	return 0;
}

static size_t part_servers(const struct status *s, struct totals *t, size_t at, FILE *out)
{
	(void)t, (void)at;
	if (s->conf && s->health_table)
		status_servers_print(s, out);
	if (s->conf && s->orders)
		status_orders_print(s, out);
	return 0;
}

static size_t part_counters(const struct status *s, struct totals *t, size_t at, FILE *out)
{
	(void)s, (void)at;
	observe_counters_print(&t->whole, out);
	return 0;
}

static size_t part_rows(const struct status *s, struct totals *t, size_t at, FILE *out)
{
	const struct observe_counters *sum = &t->whole;
	(void)s, (void)at;
	observe_faults_print(sum, protocols_fault_name, out);
	observe_rows_print(
	    OBSERVE_FAMILY_END, "cause", sum->causes, OBSERVE_CAUSES, totals_cause_name, out);
	observe_rows_print(OBSERVE_FAMILY_DENIED, "reason", sum->denials, OBSERVE_DENIALS,
	    totals_denial_name, out);
	observe_rows_print(OBSERVE_FAMILY_HOLD_MISSED, "cause", sum->misses, OBSERVE_MISSES,
	    totals_miss_name, out);
	return 0;
}

/* A family at a time: there may be hundreds of rules. */
static size_t part_rules(const struct status *s, struct totals *t, size_t at, FILE *out)
{
	if (!s->conf)
		return 0;
	observe_rules_print(at, t->rules, t->rule_count, &t->whole.rules[OBSERVE_RULES], out);
	return at + 1 < OBSERVE_RULE_FAMILIES ? at + 1 : 0;
}

static size_t part_routes(const struct status *s, struct totals *t, size_t at, FILE *out)
{
	(void)at;
	if (!s->conf)
		return 0;
	print_push_off(s, &t->whole, false, out);
	print_limited(t, out);
	print_arms(t, out);
	return 0;
}

/* So many histograms at a time. */
#define SERIES_AT_ONCE 100u

static size_t part_series(const struct status *s, struct totals *t, size_t at, FILE *out)
{
	struct observe_family used = {.out = out, .id = OBSERVE_FAMILY_SERIES};
	struct observe_family left_out = {.out = out, .id = OBSERVE_FAMILY_SERIES_LEFT_OUT};
	if (!s->series)
		return 0;
	if (at == 0) {
		observe_sample(&used, NO_LABELS, "%u", series_used(s->series));
		observe_sample(&left_out, NO_LABELS, "%u", series_left_out(s->series));
	}
	return totals_series_print(t, at, SERIES_AT_ONCE, out);
}

/* Each prints its families, or a part of them: then it returns where it is to go on, else 0. */
static size_t (*const parts[])(const struct status *s, struct totals *t, size_t at, FILE *out) = {
    part_whole, part_servers, part_counters, part_rows, part_rules, part_routes, part_series};
#define PARTS (sizeof(parts) / sizeof(parts[0]))
/* Those of processes and servers come first: the log of the end leaves them out. */
#define FIRST_COUNTERS 2u

bool status_print_some(
    const struct status *s, struct totals *sum, struct status_mark *mark, FILE *out)
{
	mark->at = parts[mark->part](s, sum, mark->at, out);
	if (mark->at == 0)
		mark->part++;
	return mark->part < PARTS;
}

/* ---- notes, and the whole ---- */

static void print_remembered(const struct status *s, FILE *out)
{
	char text[OBSERVE_REMEMBERED_TEXT];
	for (size_t row = 0; s->remembered && row < OBSERVE_REMEMBERED_PAGES; row++)
		if (observe_remembered_read(&s->remembered[row], text))
			fprintf(out, "# remembered: %s\n", text);
}

void status_print(const struct status *s, FILE *out)
{
	fprintf(out, "# pushgate %s, process %d, up %llu s, %u worker%s\n", PUSHGATE_VERSION,
	    (int)getpid(), (unsigned long long)(s->up / USEC_PER_SEC), s->worker_count,
	    s->worker_count == 1 ? "" : "s");
	if (s->drains_in > 0)
		fprintf(out, "# draining in %llu s (drain-delay)\n",
		    (unsigned long long)((s->drains_in + USEC_PER_SEC - 1) / USEC_PER_SEC));
	for (uint32_t i = 0; i < s->process_count; i++) {
		const struct status_process *p = &s->processes[i];
		if (!p->name)
			fprintf(out, "# worker %u: ", i);
		else if (p->note)
			fprintf(out, "# %s: ", p->note);
		if (!p->name || p->note)
			print_process(p, out);
	}
	note_last_reload(s, out);
	struct totals *sum = status_sum(s);
	if (s->conf)
		print_push_off(s, &sum->whole, true, out);
	if (s->conf && s->health_table)
		status_server_notes(s, out);
	if (s->conf && s->orders)
		status_order_notes(s, out);
	if (s->conf && s->certificates)
		status_certificate_notes(s, out);
	print_remembered(s, out);
	struct status_mark mark = {0};
	while (status_print_some(s, sum, &mark, out))
		;
	totals_free(sum);
	fputs(STATUS_END, out);
}

/* Whether a reader of the log learns something by it: a sample that is not 0, and no bucket of a histogram. */
static bool is_worth_a_line(const char *line)
{
	static const char bucket[] = "_bucket";
	const size_t length = strlen(line), name = strcspn(line, "{ ");
	if (length < 3 || line[0] == '#' || strcmp(line + length - 2, " 0") == 0)
		return false;
	return name < strlen(bucket) ||
	       strncmp(line + name - strlen(bucket), bucket, strlen(bucket)) != 0;
}

void status_log(const struct status *s, struct observe *o)
{
	char *text = NULL, *line;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return;
	struct totals *sum = status_sum(s);
	struct status_mark mark = {.part = FIRST_COUNTERS};
	while (status_print_some(s, sum, &mark, out))
		;
	totals_free(sum);
	fclose(out);
	for (char *rest = text; (line = strsep(&rest, "\n"));)
		if (is_worth_a_line(line))
			observe_log(o, OBSERVE_INFO, "counter %s", line);
	free(text);
}
