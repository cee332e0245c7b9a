/* SPDX-License-Identifier: MIT */
/*
 * Prints counters in Prometheus' text format, version 0.0.4: for each family of samples its HELP,
 * its TYPE and then all its samples.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */
#include "proxy/observe/observe.h"
#include <stdarg.h>

static const struct {
	const char *name, *type, *text;
} families[] = {
#define ROW(symbol, name_, type_, labels, text_)                                                   \
	[OBSERVE_FAMILY_##symbol] = {.name = (name_), .type = (type_), .text = (text_)},
    OBSERVE_FAMILIES(ROW)
#undef ROW
};

static void print_label(FILE *out, const struct observe_label *label)
{
	fprintf(out, "%s=\"", label->name);
	for (const char *p = label->value; *p; p++) {
		if (*p == '\n') {
			fputs("\\n", out);
			continue;
		}
		if (*p == '\\' || *p == '"')
			fputc('\\', out);
		fputc(*p, out);
	}
	fputc('"', out);
}

void observe_sample(
    struct observe_family *f, const struct observe_label *labels, const char *format, ...)
{
	const char *name = families[f->id].name;
	if (!f->has_begun)
		fprintf(f->out, "# HELP %s %s\n# TYPE %s %s\n", name, families[f->id].text, name,
		    families[f->id].type);
	f->has_begun = true;
	fputs(name, f->out);
	for (size_t i = 0; labels[i].name; i++) {
		fputc(i == 0 ? '{' : ',', f->out);
		print_label(f->out, &labels[i]);
	}
	fputs(labels[0].name ? "} " : " ", f->out);
	va_list arguments;
	va_start(arguments, format);
	vfprintf(f->out, format, arguments);
	va_end(arguments);
	fputc('\n', f->out);
}

static void sample_count(struct observe_family *f, const struct observe_label *labels, uint64_t n)
{
	if (n > 0)
		observe_sample(f, labels, "%llu", (unsigned long long)n);
}

#define LABELS(...) ((const struct observe_label[]){__VA_ARGS__, {0}})

static void print_pushes(const struct observe_counters *c, FILE *out)
{
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_PUSH};
	for (enum policy_source source = 0; source < POLICY_SOURCE_COUNT; source++)
		for (enum policy_action action = 0; action < POLICY_ACTION_COUNT; action++)
			for (size_t reason = 0; reason < POLICY_REASON_COUNT; reason++)
				sample_count(&f,
				    LABELS({"source", policy_source_name(source)},
					{"verdict", policy_action_name(action)},
					{"reason", policy_reason_table[reason]->code}),
				    c->push[source][action][reason]);
}

void observe_counters_print(const struct observe_counters *c, FILE *out)
{
	static const struct {
		const char *name, *type, *text;
		size_t at;
	} rows[] = {
#define COUNTER(field, text_)                                                                      \
	{"pushgate_" #field "_total", "counter", (text_), offsetof(struct observe_counters, field)},
#define GAUGE(field, text_)                                                                        \
	{"pushgate_" #field, "gauge", (text_), offsetof(struct observe_counters, field)},
	    OBSERVE_COUNTERS(COUNTER) OBSERVE_GAUGES(GAUGE)
#undef GAUGE
#undef COUNTER
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint64_t *n = (const uint64_t *)((const char *)c + rows[i].at);
		fprintf(out, "# HELP %s %s\n# TYPE %s %s\n%s %llu\n", rows[i].name, rows[i].text,
		    rows[i].name, rows[i].type, rows[i].name, (unsigned long long)*n);
	}
	print_pushes(c, out);
}

/* Of rules without counters of their own. No section has this name, so that no sample comes twice. */
static const char other_rules[] = "(other)";

/* A family has all rules in it: the rules are gone through once for each family. */
struct rules {
	const struct observe_counters *counters;
	const struct policy_rules *named;
};

static const struct observe_rule *rule_at(const struct rules *r, size_t i, const char **name)
{
	size_t named = r->named->count < OBSERVE_RULES ? r->named->count : OBSERVE_RULES;
	if (i > named)
		return NULL;
	*name = i < named ? r->named->rules[i].name : other_rules;
	return &r->counters->rules[i < named ? i : OBSERVE_RULES];
}

static void print_events(const struct rules *r, FILE *out)
{
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_RULE};
	const struct observe_rule *rule;
	const char *name;
	for (size_t i = 0; (rule = rule_at(r, i, &name)); i++)
		for (enum policy_event event = 0; event < POLICY_EVENT_COUNT; event++)
			sample_count(&f,
			    LABELS({"rule", name}, {"event", policy_event_name(event)}),
			    rule->events[event]);
}

static void print_bytes(const struct rules *r, FILE *out)
{
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_RULE_BYTES};
	const struct observe_rule *rule;
	const char *name;
	for (size_t i = 0; (rule = rule_at(r, i, &name)); i++) {
		sample_count(&f, LABELS({"rule", name}, {"outcome", "used"}), rule->used_bytes);
		sample_count(&f, LABELS({"rule", name}, {"outcome", "wasted"}), rule->wasted_bytes);
	}
}

static void print_resets(const struct rules *r, FILE *out)
{
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_RULE_RESET};
	const struct observe_rule *rule;
	const char *name;
	for (size_t i = 0; (rule = rule_at(r, i, &name)); i++)
		if (rule->reset_usec > 0)
			observe_sample(&f, LABELS({"rule", name}), "%llu.%06llu",
			    (unsigned long long)(rule->reset_usec / USEC_PER_SEC),
			    (unsigned long long)(rule->reset_usec % USEC_PER_SEC));
}

static void print_ratios(const struct rules *r, FILE *out)
{
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_RULE_USED};
	const struct observe_rule *rule;
	const char *name;
	for (size_t i = 0; (rule = rule_at(r, i, &name)); i++) {
		struct policy_tally tally = {0};
		uint64_t ended = 0;
		for (enum policy_event event = 0; event < POLICY_EVENT_COUNT; event++) {
			tally.events[event] = rule->events[event];
			if (event >= POLICY_EVENT_USED)
				ended += rule->events[event];
		}
		if (ended > 0)
			observe_sample(&f, LABELS({"rule", name}), "%.4f",
			    policy_feedback_used_rate(&tally) / 10000.0);
	}
}

void observe_rules_print(
    const struct observe_counters *c, const struct policy_rules *rules, FILE *out)
{
	const struct rules r = {.counters = c, .named = rules};
	print_events(&r, out);
	print_bytes(&r, out);
	print_resets(&r, out);
	print_ratios(&r, out);
}

void observe_faults_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out)
{
	static const char *const sides[] = {
	    [OBSERVE_CLIENT] = "client", [OBSERVE_ORIGIN] = "origin"};
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_FAULT};
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < OBSERVE_FAULTS && name(i); i++)
			sample_count(&f, LABELS({"side", sides[side]}, {"fault", name(i)}),
			    c->faults[side][i]);
}

void observe_causes_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out)
{
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_END};
	for (size_t i = 0; i < OBSERVE_CAUSES && name(i); i++)
		sample_count(&f, LABELS({"cause", name(i)}), c->causes[i]);
}

void observe_denials_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out)
{
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_DENIED};
	for (size_t i = 0; i < OBSERVE_DENIALS && name(i); i++)
		sample_count(&f, LABELS({"reason", name(i)}), c->denials[i]);
}

void observe_misses_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out)
{
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_HOLD_MISSED};
	for (size_t i = 0; i < OBSERVE_MISSES && name(i); i++)
		sample_count(&f, LABELS({"cause", name(i)}), c->misses[i]);
}
