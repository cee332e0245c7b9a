/* SPDX-License-Identifier: MIT */
/*
 * Patterns; see pattern.h. PCRE2's memory for backtracking is grown to its bound when the set is
 * made, so that no match allocates. PCRE2's own match limit starts again at each possible beginning
 * of a match; therefore callouts before each item of an expression count the steps of the whole
 * match.
 */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "policy/pattern.h"
#include "proxy/base/ensure.h"
#include "proxy/base/glob.h"
#include "proxy/base/memory.h"
#include <pcre2.h>
#include <stdio.h>

struct policy_regex {
	struct policy_regex *next;
	struct policy_regexes *all;
	pcre2_code *code;
};

struct policy_regexes {
	struct policy_regex *first;
	pcre2_match_context *limits;
	pcre2_match_data *scratch; /* a match writes here; its result is not read */
};

/* The steps that one match may still make. */
struct step_budget {
	uint64_t steps;
	size_t at; /* in the subject, at the last step */
};

/* The callout before each item of an expression. Returns not 0 when the steps are used up. */
static int count_step(pcre2_callout_block *block, void *context)
{
	struct step_budget *left = context;
	size_t at = block->current_position;
	size_t passed = at > left->at ? at - left->at : left->at - at;
	uint64_t steps = 1 + passed / POLICY_REGEX_BYTES_PER_STEP;

	left->at = at;
	if (steps > left->steps)
		return PCRE2_ERROR_CALLOUT;
	left->steps -= steps;
	return 0;
}

/*
 * Runs a match that needs all the backtracking memory allowed: PCRE2 allocates it on demand and
 * keeps it in the match data.
 */
static void scratch_fill(struct policy_regexes *all)
{
	enum { SUBJECT = POLICY_REGEX_DEPTH * 16 };
	int error;
	PCRE2_SIZE at;
	pcre2_code *greedy = pcre2_compile((PCRE2_SPTR) "^(?:a|b)*$", 10, 0, &error, &at, NULL);
	char *subject = memory_alloc(SUBJECT);

	ensure(greedy);
	memset(subject, 'a', SUBJECT);
	pcre2_set_depth_limit(all->limits, SUBJECT);
	pcre2_match(
	    greedy, (PCRE2_SPTR)subject, SUBJECT, 0, PCRE2_NO_JIT, all->scratch, all->limits);
	pcre2_set_depth_limit(all->limits, POLICY_REGEX_DEPTH);
	free(subject);
	pcre2_code_free(greedy);
}

struct policy_regexes *policy_regexes_new(void)
{
	struct policy_regexes *all = memory_new(struct policy_regexes);

	all->limits = pcre2_match_context_create(NULL);
	all->scratch = pcre2_match_data_create(1, NULL);
	ensure(all->limits && all->scratch);
	pcre2_set_match_limit(all->limits, POLICY_REGEX_STEPS);
	pcre2_set_heap_limit(all->limits, POLICY_REGEX_HEAP_KIB);
	scratch_fill(all);
	return all;
}

void policy_regexes_free(struct policy_regexes *all)
{
	if (!all)
		return;
	while (all->first) {
		struct policy_regex *regex = all->first;
		all->first = regex->next;
		pcre2_code_free(regex->code);
		free(regex);
	}
	pcre2_match_data_free(all->scratch);
	pcre2_match_context_free(all->limits);
	free(all);
}

const struct policy_regex *policy_regex_compile(struct policy_regexes *all, struct slice text,
    bool nocase, size_t *at, char *what, size_t what_size)
{
	uint32_t options = PCRE2_NEVER_UTF | PCRE2_NEVER_UCP | PCRE2_NEVER_BACKSLASH_C |
			   PCRE2_DOLLAR_ENDONLY | PCRE2_AUTO_CALLOUT |
			   (nocase ? PCRE2_CASELESS : 0);
	int error;
	PCRE2_SIZE offset = 0;

	ensure(policy_pattern_is_regex(text));
	struct slice expression = slice_from(text, 1);
	*at = 1;
	if (expression.len == 0 || expression.len > POLICY_REGEX_BYTES) {
		snprintf(what, what_size,
		    expression.len ? "it is longer than %d bytes" : "it is empty",
		    POLICY_REGEX_BYTES);
		return NULL;
	}
	pcre2_code *code = pcre2_compile(
	    (PCRE2_SPTR)expression.ptr, expression.len, options, &error, &offset, NULL);
	if (!code) {
		*at = 1 + (size_t)offset;
		if (pcre2_get_error_message(error, (PCRE2_UCHAR *)what, what_size) < 0)
			snprintf(what, what_size, "it cannot be compiled");
		return NULL;
	}
	struct policy_regex *regex = memory_new(struct policy_regex);
	*regex = (struct policy_regex){all->first, all, code};
	all->first = regex;
	return regex;
}

bool policy_regex_match(const struct policy_regex *regex, struct slice text, struct effort *e)
{
	const char *subject = text.len ? text.ptr : "";
	const uint64_t own = POLICY_REGEX_STEPS + (uint64_t)text.len * POLICY_REGEX_STEPS_PER_BYTE;

	if (!effort_spend(e, POLICY_REGEX_EFFORT))
		return false;
	const uint64_t allowed = e->left / POLICY_REGEX_STEP_EFFORT;
	const uint64_t most = own < allowed ? own : allowed;
	struct step_budget left = {.steps = most};
	pcre2_set_callout(regex->all->limits, count_step, &left);
	/*
	 * 0 means a match with more groups than the match data has room for. A reached bound is
	 * negative.
	 */
	int result = pcre2_match(regex->code, (PCRE2_SPTR)subject, text.len, 0, PCRE2_NO_JIT,
	    regex->all->scratch, regex->all->limits);
	bool is_cut = result == PCRE2_ERROR_CALLOUT && most == allowed;
	effort_spend(e, is_cut ? e->left + 1 : (most - left.steps) * POLICY_REGEX_STEP_EFFORT);
	return result >= 0;
}

static bool is_plain(char c)
{
	return c != '*' && c != '?' && c != '\\';
}

/*
 * A quick check: most patterns already fail at their first or last character. It ignores case, so
 * both comparisons can use it.
 */
static bool ends_fit(struct slice glob, struct slice text)
{
	if (glob.len == 0 || text.len == 0)
		return true;
	char first = glob.ptr[0], last = glob.ptr[glob.len - 1];
	return (!is_plain(first) || ((first ^ text.ptr[0]) & ~0x20) == 0) &&
	       (!is_plain(last) || ((last ^ text.ptr[text.len - 1]) & ~0x20) == 0);
}

bool policy_patterns_take(
    const struct policy_patterns *p, struct slice text, bool nocase, struct effort *e)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->regexes && p->regexes[i]) {
			if (policy_regex_match(p->regexes[i], text, e))
				return true;
		} else if (ends_fit(p->globs[i], text) &&
			   glob_match_within(p->globs[i], text, nocase, e)) {
			return true;
		}
	}
	return p->count == 0;
}

/* A colon inside the brackets of an IPv6 address begins no port. */
bool policy_destination_of(struct slice text, struct policy_destination *out)
{
	size_t colon = text.len;
	uint64_t port;

	while (colon > 0 && text.ptr[colon - 1] != ':' && text.ptr[colon - 1] != ']')
		colon--;
	*out = (struct policy_destination){.host = text};
	if (colon == 0 || text.ptr[colon - 1] == ']')
		return text.len > 0;
	out->host = slice_sub(text, 0, colon - 1);
	if (!slice_to_number(slice_from(text, colon), UINT16_MAX, &port))
		return false;
	out->port = (uint16_t)port;
	return port > 0 && out->host.len > 0;
}
