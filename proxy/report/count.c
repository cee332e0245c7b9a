/* SPDX-License-Identifier: MIT */
/* What one line of an access log adds to the report. */
#include "proxy/report/report_private.h"

#include "policy/policy.h"
#include "proxy/base/hash.h"
#include "proxy/log_fields.h"
#include <jansson.h>
#include <string.h>

/* A field that the log does not have is a mistake of the compiler's concern. */
#define FIELD(name) ((void)LOG_FIELD_##name, #name)

/* Keys beyond these are counted together. Resources are chosen by origins; all others by the configuration. */
#define RESOURCES_MOST 20000u
#define OTHERS_MOST 1000u
/* As in tool/log_lines.c; a line without the field stands for itself. */
#define WEIGHT_MOST 1000000

void report_init(struct report *r)
{
	*r = (struct report){.families = report_families_new(), .arms = report_arms_new()};
	for (unsigned by = 0; by < REPORT_BY_COUNT; by++)
		report_groups_init(
		    &r->groups[by], by == REPORT_BY_RESOURCE ? RESOURCES_MOST : OTHERS_MOST);
}

void report_fini(struct report *r)
{
	for (unsigned by = 0; by < REPORT_BY_COUNT; by++)
		report_groups_fini(&r->groups[by]);
	report_families_free(r->families);
	report_arms_free(r->arms);
}

void report_end(struct report *r)
{
	report_families_end(r);
	report_arms_end(r);
}

/* ---- fields ---- */

static const char *text_of(const json_t *line, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(line, name));
	return text ? text : otherwise;
}

static int64_t number_of(const json_t *line, const char *name)
{
	return (int64_t)json_integer_value(json_object_get(line, name));
}

static uint64_t bytes_of(const json_t *line, const char *name)
{
	int64_t n = number_of(line, name);
	return n > 0 ? (uint64_t)n : 0;
}

static uint64_t weight_of(const json_t *line)
{
	int64_t sample = number_of(line, FIELD(sample));
	return sample > 1 && sample <= WEIGHT_MOST ? (uint64_t)sample : 1;
}

static bool is(const char *text, const char *word)
{
	return strcmp(text, word) == 0;
}

static bool has_reason(const char *code, const struct policy_reason *const *reasons)
{
	for (; *reasons; reasons++)
		if (is(code, (*reasons)->code))
			return true;
	return false;
}

/* ---- a push ---- */

/* It ended for a reason that says nothing about whether it would have been used. */
static bool has_failed(const char *end_reason)
{
	static const struct policy_reason *const failures[] = {
	    &policy_reason_ORIGIN_RESET,
	    &policy_reason_ORIGIN_LOST,
	    &policy_reason_START_TIMEOUT,
	    &policy_reason_RESPONSE_MALFORMED,
	    &policy_reason_DRAIN,
	    &policy_reason_BUDGET,
	    &policy_reason_PUSH_SHED,
	    &policy_reason_HOLD_SHED,
	    NULL,
	};
	return has_reason(end_reason, failures);
}

static bool is_refused_by_client(const char *reason)
{
	static const struct policy_reason *const refusals[] = {
	    &policy_reason_PUSH_DISABLED, &policy_reason_NO_STREAMS, NULL};
	return has_reason(reason, refusals);
}

static void count_forwarded(struct report_figures *f, const json_t *line, uint64_t weight)
{
	const char *outcome = text_of(line, FIELD(outcome), "");
	uint64_t bytes = bytes_of(line, FIELD(response_bytes)) * weight;
	bool is_taken = is(outcome, "complete"), is_reset = is(outcome, "client-reset");
	f->n[REPORT_FORWARDED] = weight;
	f->n[REPORT_TAKEN] = f->n[REPORT_USED] = is_taken ? weight : 0;
	f->n[REPORT_RESET] = f->n[REPORT_UNUSED] = is_reset ? weight : 0;
	f->n[REPORT_USED_BYTES] = is_taken ? bytes : 0;
	f->n[REPORT_WASTED_BYTES] = is_reset ? bytes : 0;
}

static void count_held(struct report_figures *f, const json_t *line, uint64_t weight)
{
	const char *end = text_of(line, FIELD(end_reason), "");
	uint64_t came = bytes_of(line, FIELD(origin_response_bytes));
	uint64_t wasted = bytes_of(line, FIELD(wasted_bytes));
	bool is_claimed = is(end, policy_reason_CLAIMED.code);
	bool is_unclaimed = !is_claimed && !has_failed(end);
	f->n[REPORT_HELD] = weight;
	f->n[REPORT_CLAIMED] = f->n[REPORT_USED] = is_claimed ? weight : 0;
	f->n[REPORT_UNCLAIMED] = f->n[REPORT_UNUSED] = is_unclaimed ? weight : 0;
	f->n[REPORT_USED_BYTES] = is_claimed && came > wasted ? (came - wasted) * weight : 0;
}

static struct report_figures figures_of_push(const json_t *line, uint64_t weight)
{
	struct report_figures f = {.n = {[REPORT_OFFERED] = weight}};
	const char *verdict = text_of(line, FIELD(verdict), "");
	bool is_hint_and_hold = is(verdict, policy_action_name(POLICY_HINT_HOLD));
	if (is(verdict, policy_action_name(POLICY_FORWARD)))
		count_forwarded(&f, line, weight);
	if (is(verdict, policy_action_name(POLICY_HOLD)) || is_hint_and_hold)
		count_held(&f, line, weight);
	if (is(verdict, policy_action_name(POLICY_HINT)) || is_hint_and_hold)
		f.n[REPORT_HINTED] = weight;
	if (is(verdict, policy_action_name(POLICY_DROP))) {
		f.n[REPORT_DROPPED] = weight;
		f.n[REPORT_REFUSED] =
		    is_refused_by_client(text_of(line, FIELD(reason), "")) ? weight : 0;
	}
	f.n[REPORT_WASTED_BYTES] += bytes_of(line, FIELD(wasted_bytes)) * weight;
	return f;
}

/* A rule of this name, or the stage that decided without one. */
static const char *rule_of(const json_t *line)
{
	const char *otherwise =
	    is(text_of(line, FIELD(reason), ""), "default") ? "(default-action)" : "(no rule)";
	return text_of(line, FIELD(rule), otherwise);
}

static void add_pair(
    struct report_groups *g, const char *a, const char *b, const struct report_figures *figures)
{
	char key[256];
	snprintf(key, sizeof(key), "%s %s", a, b);
	if (strlen(a) + strlen(b) + 2 <= sizeof(key)) /* else it might end within a character */
		report_groups_add(g, key, figures);
	else
		report_groups_add(g, "(too long)", figures);
}

/* A query may have values that are nobody's business, and would make each request a resource of its own. */
static void add_resource(struct report *r, const json_t *line, const struct report_figures *f)
{
	char key[2048];
	const char *authority = text_of(line, FIELD(authority), "");
	const char *path = text_of(line, FIELD(path), "-");
	size_t host = strlen(authority), length = strcspn(path, "?");
	if (host + length >= sizeof(key)) {
		report_groups_add(&r->groups[REPORT_BY_RESOURCE], "(too long)", f);
		return;
	}
	memcpy(key, authority, host);
	memcpy(key + host, path, length);
	key[host + length] = '\0';
	report_groups_add(&r->groups[REPORT_BY_RESOURCE], key, f);
}

/* What the lines of a page and of its pushes have in common. Ids and connections are counted anew after each reload and
 * each start, hence the client beside them. 0: there is no page. */
static uint64_t page_of(const json_t *line, int64_t id)
{
	const int64_t numbers[] = {
	    number_of(line, FIELD(worker)), id, number_of(line, FIELD(connection))};
	const char *client = text_of(line, FIELD(client), "");
	uint64_t key = hash_bytes(0, numbers, sizeof(numbers));
	return id != 0 ? hash_bytes(key, client, strlen(client)) : 0;
}

static void count_push(struct report *r, const json_t *line, uint64_t weight)
{
	struct report_groups *groups = r->groups;
	const struct report_figures f = figures_of_push(line, weight);
	const char *source = text_of(line, FIELD(source), "-");
	const char *arm = text_of(line, FIELD(arm), NULL);
	report_add(&r->all, &f);
	report_families_push(r, page_of(line, number_of(line, FIELD(parent))), &f);
	add_pair(&groups[REPORT_BY_LISTENER], text_of(line, FIELD(listen), "-"),
	    text_of(line, FIELD(protocol), "-"), &f);
	report_groups_add(&groups[REPORT_BY_ROUTE], text_of(line, FIELD(route), "-"), &f);
	report_groups_add(&groups[REPORT_BY_SOURCE], source, &f);
	report_groups_add(&groups[REPORT_BY_RULE], rule_of(line), &f);
	add_resource(r, line, &f);
	if (arm)
		report_groups_add(&groups[REPORT_BY_ARM], arm, &f);
	if (f.n[REPORT_DROPPED] > 0)
		add_pair(&groups[REPORT_BY_REASON], text_of(line, FIELD(reason), "-"), source, &f);
	if (f.n[REPORT_HELD] > 0)
		report_groups_add(
		    &groups[REPORT_BY_END], text_of(line, FIELD(end_reason), "-"), &f);
}

/* ---- a request ---- */

/* An answer that failed says nothing about how soon pages come. */
static void count_load(
    struct report *r, const json_t *line, const char *arm, const struct report_figures *f)
{
	json_t *first_byte = json_object_get(line, FIELD(first_byte_us));
	report_groups_add(&r->groups[REPORT_BY_ARM], arm, f);
	if (first_byte && number_of(line, FIELD(status)) < 400)
		report_arms_load(r->arms, arm, bytes_of(line, FIELD(first_byte_us)));
}

static void count_request(struct report *r, const json_t *line, uint64_t weight)
{
	const struct report_figures f = {.n = {[REPORT_REQUESTS] = weight}};
	const char *missed = text_of(line, FIELD(missed), NULL);
	const char *arm = text_of(line, FIELD(arm), NULL);
	report_add(&r->all, &f);
	report_families_request(r, page_of(line, number_of(line, FIELD(id))),
	    report_family(text_of(line, FIELD(user_agent), NULL)), &f);
	add_pair(&r->groups[REPORT_BY_LISTENER], text_of(line, FIELD(listen), "-"),
	    text_of(line, FIELD(protocol), "-"), &f);
	if (arm)
		count_load(r, line, arm, &f);
	if (json_object_get(line, FIELD(held)))
		report_groups_add(&r->groups[REPORT_BY_ANSWER],
		    json_is_true(json_object_get(line, FIELD(joined))) ? "joined" : "claimed", &f);
	else if (missed)
		add_pair(&r->groups[REPORT_BY_ANSWER], "missed:", missed, &f);
}

/* Times of the log are of one length and sort as texts. */
static void note_time(struct report *r, const char *time)
{
	size_t length = strlen(time);
	if (length == 0 || length >= REPORT_TIME_BYTES)
		return;
	if (!r->first[0] || strcmp(time, r->first) < 0)
		memcpy(r->first, time, length + 1);
	if (strcmp(time, r->last) > 0)
		memcpy(r->last, time, length + 1);
}

const char *report_line(struct report *r, const char *text, size_t length)
{
	json_error_t error;
	json_t *line = json_loadb(text, length, 0, &error);
	if (!json_is_object(line)) {
		const char *why = line ? "it is no JSON object" : "it is no JSON";
		json_decref(line);
		return why;
	}
	uint64_t weight = weight_of(line);
	r->lines++;
	note_time(r, text_of(line, FIELD(time), ""));
	if (json_is_true(json_object_get(line, FIELD(push))))
		count_push(r, line, weight);
	else if (!is(text_of(line, FIELD(detail), ""), "admin-page"))
		count_request(r, line, weight);
	json_decref(line);
	return NULL;
}
