/* SPDX-License-Identifier: MIT */
/* Counters and access log of a gateway world as text; see accounts.h. */
#include "tests/support/accounts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct text {
	char bytes[16384];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	int n = vsnprintf(t->bytes + t->length, sizeof(t->bytes) - t->length, format, arguments);
	va_end(arguments);
	assert_in_range(n, 0, sizeof(t->bytes) - t->length - 1);
	t->length += (size_t)n;
}

void accounts_begin(struct gate_world *w)
{
	w->observe.access_fd = memfd_create("access", 0);
	w->observe.error_fd = memfd_create("errors", 0);
	w->observe.level = OBSERVE_DEBUG;
	assert_true(w->observe.access_fd >= 0 && w->observe.error_fd >= 0);
}

/* ---- counters ---- */

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

static void add_number(struct text *t, const char *group, const char *name, uint64_t value)
{
	if (value != 0)
		add(t, "%s%s %llu\n", group, name, (unsigned long long)value);
}

static void add_pushes(struct text *t, const struct observe_counters *c)
{
	for (size_t s = 0; s < POLICY_SOURCE_COUNT; s++)
		for (size_t a = 0; a < POLICY_ACTION_COUNT; a++)
			for (size_t r = 0; r < POLICY_REASON_COUNT; r++) {
				char name[128];
				snprintf(name, sizeof(name), "%s %s %s",
				    policy_source_name((enum policy_source)s),
				    policy_action_name((enum policy_action)a),
				    policy_reason_table[r]->code);
				add_number(t, "offer ", name, c->push[s][a][r]);
			}
}

static void add_rules(struct text *t, const struct observe_counters *c)
{
	for (size_t i = 0; i <= OBSERVE_RULES; i++) {
		char group[32];
		snprintf(group, sizeof(group), "rule %zu ", i);
		for (unsigned e = 0; e < POLICY_EVENT_COUNT; e++)
			add_number(t, group, policy_event_name((enum policy_event)e), c->rules[i].events[e]);
		add_number(t, group, "used_bytes", c->rules[i].used_bytes);
		add_number(t, group, "wasted_bytes", c->rules[i].wasted_bytes);
		add_number(t, group, "has reset_usec", c->rules[i].reset_usec > 0);
	}
}

/* Depends on the machine, or on how much one read found. */
static bool differs(const char *name)
{
	static const char *const names[] = {
	    "loop_passes_over_5ms", "up_in_bytes", "memory_used_bytes", NULL};
	return is_one_of(name, names);
}

static void add_counters(struct text *t, const struct observe_counters *c)
{
#define ADD(member, name, meaning) add_number(t, "", #member, differs(#member) ? 0 : c->member);
	OBSERVE_COUNTERS(ADD)
	OBSERVE_GAUGES(ADD)
#undef ADD
	add_pushes(t, c);
	add_rules(t, c);
	for (size_t i = 0; i < RELAY_CAUSE_COUNT; i++)
		add_number(t, "cause ", relay_cause_table[i]->name, c->causes[i]);
	for (size_t i = 0; i < HOLD_MISS_COUNT; i++)
		add_number(t, "miss ", hold_miss_name((enum hold_miss)i), c->misses[i]);
	for (size_t i = 0; i < OBSERVE_DENIALS; i++)
		add_number(t, "denial", "", c->denials[i]);
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; protocols_fault_name(i); i++)
			add_number(t,
			    side == OBSERVE_CLIENT ? "fault of client " : "fault of origin ",
			    protocols_fault_name(i), c->faults[side][i]);
	for (size_t i = 0; i < OBSERVE_PLACES; i++) {
		add_number(t, "limited ", i ? "1" : "0", c->route_limited[i][0]);
		add_number(t, "limited in shadow ", i ? "1" : "0", c->route_limited[i][1]);
		add_number(t, "pages with arm off ", i ? "1" : "0", c->arm_pages[i][0]);
		add_number(t, "pages with arm on ", i ? "1" : "0", c->arm_pages[i][1]);
	}
}

/* ---- lines ---- */

static void add_value(struct text *t, const char *key, const char *value)
{
	static const char *const times[] = {"origin_duration_us", "origin_first_byte_us", NULL};
	int address = 0;
	sscanf(value, "127.0.0.1:%*d%n", &address);
	add(t, " %s=%s%s", key, address > 0 || is_one_of(key, times) ? "*" : "",
	    is_one_of(key, times) ? "" : value + address);
}

static const char *const usual[][2] = {{"connection", "1"}, {"client", "127.0.0.1"},
    {"listen", "l"}, {"protocol", "h2"}, {"method", "GET"}, {"scheme", "http"},
    {"authority", "example.com"}, {"request_bytes", "0"}};
#define USUAL (sizeof(usual) / sizeof(usual[0]))

/* Its place in the table, or USUAL. */
static size_t usual_of(const char *key)
{
	size_t i = 0;
	while (i < USUAL && strcmp(key, usual[i][0]) != 0)
		i++;
	return i;
}

/* One flat JSON object, without escapes that matter. Returns what follows it. */
static const char *add_line(struct text *t, const char *at)
{
	static const char *const unsaid[] = {
	    "id", "time", "worker", "duration_us", "first_byte_us", "queue_us", "connect_us", NULL};
	bool has[USUAL + 1] = {false};
	assert_int_equal(*at, '{');
	while (*at++ != '}') {
		char key[64], value[512] = "";
		int taken = 0;
		assert_int_equal(sscanf(at, "\"%63[^\"]\":%n", key, &taken), 1);
		at += taken;
		assert_int_equal(
		    sscanf(at, *at == '"' ? "\"%511[^\"]\"%n" : "%511[^,}]%n", value, &taken), 1);
		at += taken;
		size_t i = usual_of(key);
		has[i] = true;
		if (strcmp(key, "id") == 0)
			add(t, "%s:", value);
		if (!is_one_of(key, unsaid) && (i == USUAL || strcmp(value, usual[i][1]) != 0))
			add_value(t, key, value);
	}
	assert_int_equal(*at, '\n');
	for (size_t i = 0; i < USUAL; i++)
		if (!has[i])
			add(t, " no-%s", usual[i][0]);
	add(t, "\n");
	return at + 1;
}

/* The text of a log, which ends with it. */
static const char *log_of(int *fd)
{
	static char log[65536];
	ssize_t n = pread(*fd, log, sizeof(log) - 1, 0);
	assert_in_range(n, 0, sizeof(log) - 2);
	log[n] = '\0';
	close(*fd);
	*fd = -1;
	return log;
}

static void add_lines(struct text *t, struct gate_world *w)
{
	observe_flush(&w->observe);
	for (const char *at = log_of(&w->observe.access_fd); *at;)
		at = add_line(t, at);
}

/* "TIME LEVEL [w0] text" becomes "LEVEL text". Returns what follows the line. */
static const char *add_message(struct text *t, const char *at)
{
	char level[8];
	int taken = 0, address;
	assert_int_equal(sscanf(at, "%*s %7s [w0] %n", level, &taken), 1);
	assert_true(taken > 0);
	at += taken;
	if (strncmp(at, "a loop pass took ", 17) == 0) /* a busy machine's */
		return strchr(at, '\n') + 1;
	add(t, "%s ", level);
	for (; *at != '\n'; at += address > 0 ? address : 1) {
		address = 0;
		sscanf(at, "127.0.0.1:%*d%n", &address);
		add(t, "%c", address > 0 ? '*' : *at);
	}
	add(t, "\n");
	return at + 1;
}

static void add_messages(struct text *t, struct gate_world *w)
{
	for (const char *at = log_of(&w->observe.error_fd); *at;)
		at = add_message(t, at);
}

/* False, and told, unless it is the text that it should be. */
static bool is_text(const char *kind, const char *found, const char *wanted)
{
	if (strcmp(found, wanted) == 0)
		return true;
	size_t same = 0;
	while (found[same] && found[same] == wanted[same])
		same++;
	while (same > 0 && found[same - 1] != '\n')
		same--;
	fprintf(stderr, "---- the %s:\n%s---- of them this was expected otherwise:\n%s----\n", kind,
	    found, wanted + same);
	return false;
}

void accounts_are(struct gate_world *w, const char *counters, const char *lines)
{
	struct text log = {.length = 0}, counted = {.length = 0};
	UNTIL(w, w->counters.requests_open == 0);
	gate_passes(w);
	add_lines(&log, w);
	add_counters(&counted, &w->counters);
	bool is_counted = is_text("counters", counted.bytes, counters);
	assert_true((!lines || is_text("lines of the log", log.bytes, lines)) && is_counted);
	if (w->observe.error_fd >= 0)
		(void)log_of(&w->observe.error_fd);
}

void accounts_said(struct gate_world *w, const char *messages)
{
	struct text said = {.length = 0};
	add_messages(&said, w);
	assert_true(is_text("messages", said.bytes, messages));
}
