/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a configuration: either a snapshot comes out, or at least one mistake is named,
 * each with its line. Files and names are not touched. What comes out can be decided with.
 */
#include "tests/support/patterns.h"
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/conf/conf.h"
#include <stdlib.h>

/* Every line begins "fuzz.ini:NUMBER: " and has no byte that a terminal would obey. */
static size_t check_errors(const char *text)
{
	size_t mistakes = 0;

	while (*text) {
		struct slice line = slice_of(text, strcspn(text, "\n"));
		ensure(slice_starts_with(line, SLICE("fuzz.ini:")));
		struct slice rest = slice_from(line, 9);
		uint64_t number;
		size_t digits = slice_find(rest, ':');
		ensure(
		    slice_to_number(slice_sub(rest, 0, digits), UINT32_MAX, &number) && number > 0);
		ensure(slice_starts_with(slice_from(rest, digits), SLICE(": ")));
		for (size_t i = 0; i < line.len; i++)
			ensure((unsigned char)line.ptr[i] >= ' ' && line.ptr[i] != 0x7f);
		if (!slice_starts_with(slice_from(rest, digits), SLICE(": warning: ")))
			mistakes++;
		ensure(text[line.len] == '\n');
		text += line.len + 1;
	}
	return mistakes;
}

static void check_snapshot(const struct conf *c)
{
	struct policy_offer facts = {.client_push_enabled = true, .client_accepts_streams = true};

	ensure(c->listen_count > 0 && c->route_count > 0 && c->origin_count > 0);
	for (size_t i = 0; i < c->route_count; i++)
		ensure(c->routes[i].origin >= c->origins &&
		       c->routes[i].origin < c->origins + c->origin_count);
	for (size_t i = 0; i < c->origin_count; i++)
		ensure(c->origins[i].index == i && c->origins[i].server_text);
	for (size_t i = 0; i < c->policy.count; i++) {
		const struct policy_rule *rule = &c->policy.rules[i];
		ensure(rule->index == i && (unsigned)rule->action < POLICY_ACTION_COUNT);
		patterns_take(&rule->paths, SLICE("/some/path.css"), false);
	}
	policy_wants_pushes(&c->policy, &facts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = NULL;
	size_t length = 0;
	FILE *errors = open_memstream(&text, &length);

	ensure(errors);
	struct conf *c = conf_load_text(slice_of(data, size), "fuzz.ini", false, errors);
	fclose(errors);
	ensure((c == NULL) == (check_errors(text) > 0));
	if (c)
		check_snapshot(c);
	conf_free(c);
	free(text);
	return 0;
}
