/* SPDX-License-Identifier: MIT */
/*
 * Patterns of rules: globs (base/glob.h), and regular expressions after a `~` (PCRE2, on bytes, not
 * UTF-8). Expressions are compiled when the configuration is read. A match allocates nothing and is
 * bounded in steps, depth and memory; a match that reaches a bound counts as no match. Steps are
 * counted over all possible beginnings of a match together: each may be cheap, but their sum may be
 * the square of the text's length.
 */
#ifndef PUSHGATE_POLICY_PATTERN_H
#define PUSHGATE_POLICY_PATTERN_H

#include "proxy/base/effort.h"
#include "proxy/base/slice.h"

struct policy_regex;
/* Shared by the expressions of one configuration: limits, and memory for one match at a time. */
struct policy_regexes;

/*
 * A list of patterns. The caller passes hosts without port and trailing dot, and paths without
 * query. Without patterns every text matches.
 */
struct policy_patterns {
	struct slice *globs;                 /* as written, the `~` of an expression included */
	const struct policy_regex **regexes; /* NULL, or for each glob its expression or NULL */
	size_t count;
};

enum {
	POLICY_REGEX_BYTES = 1024,        /* longest expression */
	POLICY_REGEX_STEPS = 50000,       /* steps of one match, plus */
	POLICY_REGEX_STEPS_PER_BYTE = 4,  /* as many for each byte of the text */
	POLICY_REGEX_BYTES_PER_STEP = 64, /* bytes that one item, as [a-z]+, may pass in one step */
	POLICY_REGEX_DEPTH = 2000,
	POLICY_REGEX_HEAP_KIB = 256,
	POLICY_REGEX_STEP_EFFORT =
	    25, /* units of effort: a step takes as long as so many bytes of a glob */
	POLICY_REGEX_EFFORT = 100, /* of a match, beside its steps */
};

struct policy_regexes *policy_regexes_new(void);
void policy_regexes_free(struct policy_regexes *all); /* accepts NULL; frees the expressions too */

static inline bool policy_pattern_is_regex(struct slice text)
{
	return text.len > 0 && text.ptr[0] == '~';
}

/*
 * text begins with `~`. NULL: `what` tells the error and *at its byte offset in text. The
 * expression lives as long as `all`.
 */
const struct policy_regex *policy_regex_compile(struct policy_regexes *all, struct slice text,
    bool nocase, size_t *at, char *what, size_t what_size);
/* With e->is_used_up the result is unknown, and false. */
bool policy_regex_match(const struct policy_regex *regex, struct slice text, struct effort *e);

/*
 * True if any pattern matches. nocase is for globs; an expression was compiled with its own
 * setting. With e->is_used_up the result is unknown, and false.
 */
bool policy_patterns_take(
    const struct policy_patterns *p, struct slice text, bool nocase, struct effort *e);

/* Where a request goes, as a condition: a glob for the host, and a port. */
struct policy_destination {
	struct slice host; /* borrows */
	uint16_t port;     /* 0 = any */
};
/* False: the port is no number from 1 to 65535, or there is no host. */
bool policy_destination_of(struct slice text, struct policy_destination *out);

#endif
