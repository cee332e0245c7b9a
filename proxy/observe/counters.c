/* SPDX-License-Identifier: MIT */
/* Adds up the workers' counters; names of outcomes. */
#include "proxy/base/ensure.h"
#include "proxy/observe/observe.h"
#include <string.h>

_Static_assert(
    sizeof(struct observe_counters) % sizeof(uint64_t) == 0, "the struct holds only counters");

/* ---- what is being learned ---- */

void observe_learned_write(struct observe_learned *l, const char *text)
{
	if (strncmp(l->text, text, sizeof(l->text)) == 0)
		return;
	atomic_fetch_add(&l->version, 1);
	memset(l->text, 0, sizeof(l->text));
	memcpy(l->text, text, strnlen(text, sizeof(l->text) - 1));
	atomic_fetch_add(&l->version, 1);
}

bool observe_learned_read(const struct observe_learned *l, char text[OBSERVE_LEARNED_TEXT])
{
	uint32_t before = atomic_load(&l->version);
	memcpy(text, l->text, OBSERVE_LEARNED_TEXT);
	text[OBSERVE_LEARNED_TEXT - 1] = '\0';
	for (char *p = text; *p; p++)
		*p = *p >= ' ' && *p <= '~' ? *p : '?';
	return before % 2 == 0 && atomic_load(&l->version) == before && *text;
}

/* ---- sums ---- */

static void add_rule(struct observe_rule *a, const struct observe_rule *b)
{
	for (size_t event = 0; event < POLICY_EVENT_COUNT; event++)
		a->events[event] += b->events[event];
	a->used_bytes += b->used_bytes;
	a->wasted_bytes += b->wasted_bytes;
	a->reset_usec += b->reset_usec;
}

void observe_counters_add(struct observe_counters *a, const struct observe_counters *b)
{
#define ADD(name, text) a->name += b->name;
	OBSERVE_COUNTERS(ADD)
	OBSERVE_GAUGES(ADD)
#undef ADD
	for (size_t source = 0; source < POLICY_SOURCE_COUNT; source++)
		for (size_t action = 0; action < POLICY_ACTION_COUNT; action++)
			for (size_t reason = 0; reason < POLICY_REASON_COUNT; reason++)
				a->push[source][action][reason] += b->push[source][action][reason];
	for (size_t i = 0; i <= OBSERVE_RULES; i++)
		add_rule(&a->rules[i], &b->rules[i]);
	for (size_t i = 0; i < OBSERVE_FAULTS; i++) {
		a->faults[OBSERVE_CLIENT][i] += b->faults[OBSERVE_CLIENT][i];
		a->faults[OBSERVE_ORIGIN][i] += b->faults[OBSERVE_ORIGIN][i];
	}
	for (size_t i = 0; i < OBSERVE_CAUSES; i++)
		a->causes[i] += b->causes[i];
	for (size_t i = 0; i < OBSERVE_MISSES; i++)
		a->misses[i] += b->misses[i];
	for (size_t i = 0; i < OBSERVE_DENIALS; i++)
		a->denials[i] += b->denials[i];
	for (size_t i = 0; i < OBSERVE_PLACES; i++) {
		a->route_limited[i][0] += b->route_limited[i][0];
		a->route_limited[i][1] += b->route_limited[i][1];
		if (a->push_off_until[i] < b->push_off_until[i])
			a->push_off_until[i] = b->push_off_until[i];
		a->push_off_connections_open[i] += b->push_off_connections_open[i];
	}
}

const char *observe_outcome_name(enum observe_outcome o)
{
	switch (o) {
	case OBSERVE_COMPLETE:
		return "complete";
	case OBSERVE_CLIENT_RESET:
		return "client-reset";
	case OBSERVE_CLIENT_LOST:
		return "client-lost";
	case OBSERVE_ORIGIN_RESET:
		return "origin-reset";
	case OBSERVE_ORIGIN_LOST:
		return "origin-lost";
	case OBSERVE_TIMEOUT:
		return "timeout";
	case OBSERVE_MALFORMED:
		return "malformed";
	case OBSERVE_REFUSED:
		return "refused";
	case OBSERVE_OUTCOME_COUNT:
		break;
	}
	ensure(o < OBSERVE_OUTCOME_COUNT);
	return "";
}
