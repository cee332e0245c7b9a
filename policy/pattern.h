/* SPDX-License-Identifier: MIT */
/*
 * Patterns of rules: globs (base/glob.h), and regular expressions behind a `~` (PCRE2, on bytes,
 * not UTF-8). Expressions are compiled when the configuration is read. A match allocates nothing
 * and is bounded in steps, depth and memory; one that reaches a bound has not matched. The steps
 * are those of all places where a match might begin together: for a text of some length each of
 * them may be cheap, and the sum still be its square.
 */
#ifndef PUSHGATE_POLICY_PATTERN_H
#define PUSHGATE_POLICY_PATTERN_H

#include "proxy/base/slice.h"

struct policy_regex;
/* What the expressions of one configuration share: limits and room for one match at a time. */
struct policy_regexes;

/*
 * Hosts are matched without port and trailing dot, paths without their query, hosts and user-agents
 * without case. No patterns: everything matches.
 */
struct policy_patterns {
	struct slice *globs; /* as written, the `~` of an expression included */
	const struct policy_regex *
	    *regexes; /* NULL, or for each glob its expression or NULL; the same number */
	size_t count;
};

enum {
	POLICY_REGEX_BYTES = 1024,        /* an expression */
	POLICY_REGEX_STEPS = 50000,       /* of one match */
	POLICY_REGEX_STEPS_PER_BYTE = 4,  /* and as many more */
	POLICY_REGEX_BYTES_PER_STEP = 64, /* passed over in a row, as by [a-z]+ */
	POLICY_REGEX_DEPTH = 2000,
	POLICY_REGEX_HEAP_KIB = 256,
};

struct policy_regexes *policy_regexes_new(void);
void policy_regexes_free(struct policy_regexes *all); /* NULL is fine; frees the expressions too */

static inline bool policy_pattern_is_regex(struct slice text)
{
	return text.len > 0 && text.ptr[0] == '~';
}

/* Text begins with `~`. NULL: `what` says what is wrong, *at is the byte of text at which it was
 * found. The expression lives as long as `all`. */
const struct policy_regex *policy_regex_compile(struct policy_regexes *all, struct slice text,
    bool nocase, size_t *at, char *what, size_t what_size);
bool policy_regex_match(const struct policy_regex *regex, struct slice text);

/* With `nocase` the globs compare without case; expressions were compiled the one way or the other.
 * */
bool policy_patterns_take(const struct policy_patterns *p, struct slice text, bool nocase);

#endif
