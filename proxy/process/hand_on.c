/* SPDX-License-Identifier: MIT */
/* See hand_on.h. */
#include "proxy/process/hand_on.h"
#include "proxy/base/hash.h"

#include <inttypes.h>
#include <string.h>

/* ---- the health of servers ---- */

static uint64_t add_text(uint64_t digest, const char *text)
{
	return text ? hash_bytes(digest + 1, text, strlen(text)) : hash_bytes(digest, "", 0);
}

/* A server that works for an origin works for another one that is spoken to alike. */
static uint64_t digest_way(const struct conf_origin *o)
{
	const uint32_t numbers[] = {o->kind, o->protocols, o->tls_verify};
	const struct net_certificate *own = o->client_certificate;
	uint64_t digest = add_text(hash_bytes(0, numbers, sizeof(numbers)), o->tls_ca);
	return add_text(add_text(digest, o->tls_name), own ? own->chain_file : NULL);
}

static uint64_t digest_check(const struct conf_check *c)
{
	const uint32_t kind = c->kind;
	uint64_t digest = add_text(add_text(hash_bytes(0, &kind, sizeof(kind)), c->path), c->host);
	return hash_bytes(
	    digest, c->statuses.ranges, c->statuses.count * sizeof(c->statuses.ranges[0]));
}

/* The state of a server, and its origin by name. */
struct known {
	struct slice origin;
	uint64_t way, check;
	struct health_state state;
};

/* The rooms that `room` counts are used up if it returns false. */
static bool put(struct outfit *to, const struct known *k, usec now, size_t *room)
{
	const struct conf_origin *o = NULL;
	for (size_t i = 0; i < to->conf->origin_count && !o; i++)
		if (slice_equal(k->origin, slice_of_string(to->conf->origins[i].name)))
			o = &to->conf->origins[i];
	if (!o || digest_way(o) != k->way)
		return true;
	usec most = o->eject.time_max > o->eject.time ? o->eject.time_max : o->eject.time;
	const struct health_kept kept = {
	    .check = o->check.kind != CONF_CHECK_OFF && digest_check(&o->check) == k->check,
	    .ejection_most = conf_origin_may_eject(o) ? most : 0,
	};
	return health_table_put(to->health_table, &k->state, kept, now, room);
}

/* Of entry i. False: it has none. A worker has written the number of its origin. */
static bool know(const struct outfit *from, size_t i, usec now, struct known *k)
{
	if (!health_table_state(from->health_table, i, now, &k->state) ||
	    k->state.origin >= from->conf->origin_count)
		return false;
	const struct conf_origin *o = &from->conf->origins[k->state.origin];
	k->origin = slice_of_string(o->name);
	k->way = digest_way(o);
	k->check = digest_check(&o->check);
	return true;
}

size_t hand_on_health(struct outfit *to, const struct outfit *from, usec now)
{
	struct known k;
	size_t lost = 0;
	if (!to->health_table || !from->health_table)
		return 0;
	size_t room = health_table_room(to->health_table);
	for (size_t i = 0; i < from->health_table->capacity; i++)
		lost += know(from, i, now, &k) && !put(to, &k, now, &room);
	return lost;
}

void hand_on_health_write(const struct outfit *from, usec now, FILE *out)
{
	struct known k;
	for (size_t i = 0; from->health_table && i < from->health_table->capacity; i++)
		if (know(from, i, now, &k))
			fprintf(out,
			    "%.*s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%u\t%u\t%" PRIu64
			    "\t%" PRIu64 "\t%" PRIu64 "\t%u\n",
			    SLICE_ARG(k.origin), k.way, k.check, k.state.key, k.state.check.state,
			    k.state.check.result, k.state.check.since, k.state.ejected_until,
			    k.state.ejected_length, k.state.verdict);
}

static uint64_t cut_number(struct slice *line, uint64_t most)
{
	uint64_t number = 0;
	(void)slice_to_number(slice_cut(line, '\t'), most, &number);
	return number;
}

size_t hand_on_health_read(struct outfit *to, struct slice text, usec now)
{
	size_t lost = 0, room = to->health_table ? health_table_room(to->health_table) : 0;
	while (to->health_table && text.len > 0) {
		struct slice line = slice_cut(&text, '\n');
		struct known k = {.origin = slice_cut(&line, '\t')};
		k.way = cut_number(&line, UINT64_MAX);
		k.check = cut_number(&line, UINT64_MAX);
		k.state.key = cut_number(&line, UINT64_MAX);
		k.state.check.state = (enum server_check_state)cut_number(&line, UINT8_MAX);
		k.state.check.result = (unsigned)cut_number(&line, UINT16_MAX);
		k.state.check.since = cut_number(&line, now);
		k.state.ejected_until = cut_number(&line, UINT64_MAX);
		k.state.ejected_length = cut_number(&line, UINT64_MAX);
		k.state.verdict = (enum server_verdict)cut_number(&line, UINT8_MAX);
		lost += k.state.key != 0 && !put(to, &k, now, &room);
	}
	return lost;
}

/* ---- the tables of limits ---- */

bool hand_on_limits(struct outfit *to, const struct outfit *from)
{
	bool is_whole = limit_memories_open(&to->limits, to->conf, to->workers);
	limit_memories_take(&to->limits, &from->limits);
	return is_whole;
}
