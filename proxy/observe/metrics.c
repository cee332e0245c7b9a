/* SPDX-License-Identifier: MIT */
/*
 * Prints counters in Prometheus' text format, version 0.0.4: for each family of samples its HELP,
 * its TYPE and then all its samples.
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 */
#include "proxy/base/utf8.h"
#include "proxy/observe/observe.h"
#include <stdarg.h>
#include <string.h>

static const struct {
	const char *name, *type, *text;
} families[] = {
#define ROW(symbol, name_, type_, labels, text_)                                                   \
	[OBSERVE_FAMILY_##symbol] = {.name = (name_), .type = (type_), .text = (text_)},
    OBSERVE_FAMILIES(ROW)
#undef ROW
};

/* U+FFFD: stands for a byte that is no UTF-8, which paths of files may have. Prometheus would refuse all samples. */
#define REPLACEMENT "\xef\xbf\xbd"

static void print_label(FILE *out, const struct observe_label *label)
{
	size_t left = strlen(label->value), length;
	fprintf(out, "%s=\"", label->name);
	for (const char *p = label->value; left > 0; p += length, left -= length) {
		length = (unsigned char)*p < 0x80 ? 1 : utf8_length((const uint8_t *)p, left);
		if (*p == '\n')
			fputs("\\n", out);
		else if (*p == '\\' || *p == '"')
			fprintf(out, "\\%c", *p);
		else if (length > 0)
			fwrite(p, 1, length, out);
		else
			fputs(REPLACEMENT, out);
		length += length == 0;
	}
	fputc('"', out);
}

bool observe_labels_write(const struct observe_label *labels, char *text, size_t size)
{
	FILE *out = fmemopen(text, size, "w");
	if (!out)
		return false;
	for (size_t i = 0; labels[i].name; i++) {
		if (i > 0)
			fputc(',', out);
		print_label(out, &labels[i]);
	}
	bool is_whole = fflush(out) == 0 && (size_t)ftell(out) < size;
	return fclose(out) == 0 && is_whole;
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

void observe_count(struct observe_family *f, const struct observe_label *labels, uint64_t n)
{
	if (n > 0)
		observe_sample(f, labels, "%llu", (unsigned long long)n);
}

static void print_pushes(const struct observe_counters *c, FILE *out)
{
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_PUSH};
	for (enum policy_source source = 0; source < POLICY_SOURCE_COUNT; source++)
		for (enum policy_action action = 0; action < POLICY_ACTION_COUNT; action++)
			for (size_t reason = 0; reason < POLICY_REASON_COUNT; reason++)
				observe_count(&f,
				    OBSERVE_LABELS({"source", policy_source_name(source)},
					{"verdict", policy_action_name(action)},
					{"reason", policy_reason_table[reason]->code}),
				    c->push[source][action][reason]);
}

/* The labels of a row, "side=client,code=2xx}", as Prometheus reads them. */
static void print_row_labels(FILE *out, const char *labels)
{
	fputc('{', out);
	for (const char *p = labels; *p; p++) {
		if (*p == ',' || *p == '}')
			fputc('"', out);
		fputc(*p, out);
		if (*p == '=')
			fputc('"', out);
	}
}

struct row {
	const char *name, *text;
	size_t at;
};

/* before: the row above; its family may be the same. */
static void print_row(const struct row *row, const struct row *before, const char *type,
    const struct observe_counters *c, FILE *out)
{
	const char *suffix = type[0] == 'c' ? "_total" : "";
	int length = (int)strcspn(row->name, "{");
	if (!before || strncmp(row->name, before->name, (size_t)length + 1) != 0)
		fprintf(out, "# HELP pushgate_%.*s%s %s\n# TYPE pushgate_%.*s%s %s\n", length,
		    row->name, suffix, row->text, length, row->name, suffix, type);
	fprintf(out, "pushgate_%.*s%s", length, row->name, suffix);
	if (row->name[length])
		print_row_labels(out, row->name + length + 1);
	const uint64_t *n = (const uint64_t *)((const char *)c + row->at);
	fprintf(out, " %llu\n", (unsigned long long)*n);
}

void observe_counters_print(const struct observe_counters *c, FILE *out)
{
#define ROW(member, name_, text_)                                                                  \
	{.name = (name_), .text = (text_), .at = offsetof(struct observe_counters, member)},
	static const struct row counters[] = {OBSERVE_COUNTERS(ROW)},
				gauges[] = {OBSERVE_GAUGES(ROW)};
#undef ROW
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
		print_row(&counters[i], i > 0 ? &counters[i - 1] : NULL, "counter", c, out);
	for (size_t i = 0; i < sizeof(gauges) / sizeof(gauges[0]); i++)
		print_row(&gauges[i], i > 0 ? &gauges[i - 1] : NULL, "gauge", c, out);
	print_pushes(c, out);
}

/* ---- rules ---- */

static void print_events(
    struct observe_family *f, const char *name, const struct observe_rule *rule)
{
	for (enum policy_event event = 0; event < POLICY_EVENT_COUNT; event++)
		observe_count(f,
		    OBSERVE_LABELS({"rule", name}, {"event", policy_event_name(event)}),
		    rule->events[event]);
}

static void print_bytes(struct observe_family *f, const char *name, const struct observe_rule *rule)
{
	observe_count(f, OBSERVE_LABELS({"rule", name}, {"outcome", "used"}), rule->used_bytes);
	observe_count(f, OBSERVE_LABELS({"rule", name}, {"outcome", "wasted"}), rule->wasted_bytes);
}

static void print_resets(
    struct observe_family *f, const char *name, const struct observe_rule *rule)
{
	if (rule->reset_usec > 0)
		observe_sample(f, OBSERVE_LABELS({"rule", name}), "%llu.%06llu",
		    (unsigned long long)(rule->reset_usec / USEC_PER_SEC),
		    (unsigned long long)(rule->reset_usec % USEC_PER_SEC));
}

static void print_ratio(struct observe_family *f, const char *name, const struct observe_rule *rule)
{
	struct policy_tally tally = {0};
	uint64_t ended = 0;
	for (enum policy_event event = 0; event < POLICY_EVENT_COUNT; event++) {
		tally.events[event] = rule->events[event];
		if (event >= POLICY_EVENT_USED)
			ended += rule->events[event];
	}
	if (ended > 0)
		observe_sample(f, OBSERVE_LABELS({"rule", name}), "%.4f",
		    policy_feedback_used_rate(&tally) / 10000.0);
}

/* A family has all rules in it: the rules are gone through once for each family. */
static const struct {
	enum observe_family_id id;
	void (*print)(struct observe_family *f, const char *name, const struct observe_rule *rule);
} rule_families[] = {
    {OBSERVE_FAMILY_RULE, print_events},
    {OBSERVE_FAMILY_RULE_BYTES, print_bytes},
    {OBSERVE_FAMILY_RULE_RESET, print_resets},
    {OBSERVE_FAMILY_RULE_USED, print_ratio},
};

void observe_rules_print(size_t family, const struct observe_named_rule *rules, size_t count,
    const struct observe_rule *others, FILE *out)
{
	_Static_assert(sizeof(rule_families) / sizeof(rule_families[0]) == OBSERVE_RULE_FAMILIES,
	    "all of them");
	struct observe_family f = {.out = out, .id = rule_families[family].id};
	for (size_t i = 0; i < count; i++)
		rule_families[family].print(&f, rules[i].name, &rules[i].counts);
	/* No section has this name, so that no sample comes twice. */
	rule_families[family].print(&f, "(other)", others);
}

/* ---- rows ---- */

void observe_faults_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out)
{
	static const char *const sides[] = {
	    [OBSERVE_CLIENT] = "client", [OBSERVE_ORIGIN] = "origin"};
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_FAULT};
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < OBSERVE_FAULTS && name(i); i++)
			observe_count(&f, OBSERVE_LABELS({"side", sides[side]}, {"fault", name(i)}),
			    c->faults[side][i]);
}

void observe_rows_print(enum observe_family_id id, const char *label, const uint64_t *counts,
    size_t most, const char *(*name)(size_t index), FILE *out)
{
	struct observe_family f = {.out = out, .id = id};
	for (size_t i = 0; i < most && name(i); i++)
		observe_count(&f, OBSERVE_LABELS({label, name(i)}), counts[i]);
}
