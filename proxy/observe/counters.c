/* SPDX-License-Identifier: MIT */
/* Adds up the workers' counters; names of outcomes. */
#include "proxy/base/ensure.h"
#include "proxy/observe/observe.h"
#include <string.h>

_Static_assert(
    sizeof(struct observe_counters) % sizeof(uint64_t) == 0, "the struct holds only counters");

/* ---- lines about pages ---- */

void observe_remembered_write(struct observe_remembered *l, const char *text)
{
	if (strncmp(l->text, text, sizeof(l->text)) == 0)
		return;
	atomic_fetch_add(&l->version, 1);
	memset(l->text, 0, sizeof(l->text));
	memcpy(l->text, text, strnlen(text, sizeof(l->text) - 1));
	atomic_fetch_add(&l->version, 1);
}

bool observe_remembered_read(const struct observe_remembered *l, char text[OBSERVE_REMEMBERED_TEXT])
{
	uint32_t before = atomic_load(&l->version);
	memcpy(text, l->text, OBSERVE_REMEMBERED_TEXT);
	text[OBSERVE_REMEMBERED_TEXT - 1] = '\0';
	for (char *p = text; *p; p++)
		*p = *p >= ' ' && *p <= '~' ? *p : '?';
	return before % 2 == 0 && atomic_load(&l->version) == before && *text;
}

/* ---- sums ---- */

void observe_session_count(
    struct observe_counters *c, enum observe_side side, const char *protocol, int n)
{
	const struct {
		const char *protocol;
		uint64_t *of[2]; /* by side */
	} rows[] = {
	    {"h2", {&c->sessions_client_h2, &c->sessions_origin_h2}},
	    {"http/1.1", {&c->sessions_client_http1, &c->sessions_origin_http1}},
	    {"tcp", {NULL, &c->sessions_origin_tcp}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].of[side] && strcmp(rows[i].protocol, protocol) == 0)
			*rows[i].of[side] += (uint64_t)(int64_t)n;
}

void observe_counters_add(struct observe_counters *a, const struct observe_counters *b)
{
	uint64_t *sums = (uint64_t *)a;
	const uint64_t *more = (const uint64_t *)b;
	for (size_t i = 0; i < offsetof(struct observe_counters, push_off_until) / sizeof(*sums);
	     i++)
		sums[i] += more[i];
	for (size_t i = 0; i < OBSERVE_PLACES; i++)
		if (a->push_off_until[i] < b->push_off_until[i])
			a->push_off_until[i] = b->push_off_until[i];
}

const char *observe_outcome_name(enum observe_outcome o)
{
	static const char *const names[OBSERVE_OUTCOME_COUNT] = {
	    [OBSERVE_COMPLETE] = "complete",
	    [OBSERVE_CLIENT_RESET] = "client-reset",
	    [OBSERVE_CLIENT_LOST] = "client-lost",
	    [OBSERVE_ORIGIN_RESET] = "origin-reset",
	    [OBSERVE_ORIGIN_LOST] = "origin-lost",
	    [OBSERVE_TIMEOUT] = "timeout",
	    [OBSERVE_MALFORMED] = "malformed",
	    [OBSERVE_REFUSED] = "refused",
	};
	ensure(o < OBSERVE_OUTCOME_COUNT);
	return names[o];
}
