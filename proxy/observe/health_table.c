/* SPDX-License-Identifier: MIT */
/* The health table in shared memory: entries, leases, results of checks. */
#include "proxy/observe/health_table.h"
#include "proxy/base/memory.h"
#include <stdio.h>
#include <string.h>

/* The lower bits of an entry's key count its users. */
#define USERS_BITS 16
#define USERS_MASK ((UINT64_C(1) << USERS_BITS) - 1)
/* An entry is within so many of its key's place: then a search ends although entries are given back. */
#define PROBES 128u
#define LEASE_BITS 16
#define LEASE_MASK ((UINT64_C(1) << LEASE_BITS) - 1)
#define SPARE_ENTRIES 1024u

/* ---- texts ---- */

const char *server_verdict_text(enum server_verdict v)
{
	static const char *const texts[] = {
	    [SERVER_STAYS] = "works",
	    [SERVER_FAILED_IN_A_ROW] = "too many failures in a row",
	    [SERVER_FAILED_CONNECTS] = "failed connects in a row",
	    [SERVER_FAILED_OFTEN] = "too many of its requests failed",
	    [SERVER_FAILED_AGAIN] = "failed again after its return",
	};
	return v < sizeof(texts) / sizeof(texts[0]) ? texts[v] : "";
}

const char *server_check_text(unsigned result, char buffer[SERVER_CHECK_TEXT])
{
	static const char *const texts[SERVER_CHECK_STATUS] = {
	    [SERVER_CHECK_CONNECTED] = "connected",
	    [SERVER_CHECK_REFUSED] = "cannot connect",
	    [SERVER_CHECK_TLS] = "TLS failed",
	    [SERVER_CHECK_LATE] = "no answer in time",
	    [SERVER_CHECK_LOST] = "connection lost",
	};
	if (result < SERVER_CHECK_STATUS)
		snprintf(buffer, SERVER_CHECK_TEXT, "%s", texts[result]);
	else
		snprintf(buffer, SERVER_CHECK_TEXT, "status %u", result);
	return buffer;
}

/* ---- memory ---- */

static uint32_t capacity_for(size_t servers, size_t from_names)
{
	/* Half of the entries stay free: then each key finds one within PROBES of its place. */
	size_t wanted = 2 * servers + (from_names > 0 ? 4 * from_names + SPARE_ENTRIES : 0);
	return wanted < 16 ? 16 : (uint32_t)wanted;
}

/* The shared part. */
struct health_table_memory {
	_Atomic uint32_t version;
	struct server_entry entries[];
};

size_t health_table_bytes(size_t servers, size_t from_names)
{
	return sizeof(struct health_table_memory) +
	       capacity_for(servers, from_names) * sizeof(struct server_entry);
}

struct health_table *health_table_new(void *memory, size_t servers, size_t from_names)
{
	struct health_table_memory *shared = memory;
	struct health_table *b = memory_new(struct health_table);
	b->capacity = capacity_for(servers, from_names);
	b->version = &shared->version;
	b->entries = shared->entries;
	return b;
}

/* ---- bits of workers ---- */

/* Whether it was set. */
static bool set_bit(_Atomic uint64_t *words, uint32_t worker)
{
	uint64_t bit = UINT64_C(1) << worker % 64;
	return atomic_fetch_or(&words[worker / 64], bit) & bit;
}

/* Whether it was set. */
static bool clear_bit(_Atomic uint64_t *words, uint32_t worker)
{
	uint64_t bit = UINT64_C(1) << worker % 64;
	return atomic_fetch_and(&words[worker / 64], ~bit) & bit;
}

/* ---- entries ---- */

/* The last user: no worker has the entry once its key is 0, and the next one finds it clean. */
static void wipe(struct server_entry *e)
{
	atomic_store(&e->origin, 0);
	atomic_store(&e->lease, 0);
	atomic_store(&e->check, 0);
	atomic_store(&e->ejected_until, 0);
	atomic_store(&e->kept_until, 0);
	atomic_store(&e->ejected_msec, 0);
	atomic_store(&e->verdict, SERVER_STAYS);
	for (size_t i = 0; i < SERVER_ENTRY_WORKERS / 64; i++)
		atomic_store(&e->ejected_in[i], 0);
}

static void leave(struct server_entry *e)
{
	uint64_t key = atomic_load(&e->key);
	while ((key & USERS_MASK) > 1)
		if (atomic_compare_exchange_weak(&e->key, &key, key - 1))
			return;
	/* A worker that joins now finds an empty entry. */
	wipe(e);
	while ((key & USERS_MASK) > 0) {
		uint64_t rest = (key & USERS_MASK) > 1 ? key - 1 : 0;
		if (atomic_compare_exchange_weak(&e->key, &key, rest))
			return;
	}
}

/* Joins the users of an entry that has this key. It has none yet if it was made at a reload. */
static bool join(struct server_entry *e, uint64_t key)
{
	uint64_t seen = atomic_load(&e->key);
	while ((seen & ~USERS_MASK) == key && (seen & USERS_MASK) < USERS_MASK)
		if (atomic_compare_exchange_weak(&e->key, &seen, seen + 1))
			return true;
	return false;
}

static struct server_entry *entry_near(struct health_table *b, uint64_t key, uint32_t i)
{
	return &b->entries[((key >> USERS_BITS) + i) % b->capacity];
}

static struct server_entry *find(struct health_table *b, uint64_t key)
{
	uint32_t probes = b->capacity < PROBES ? b->capacity : PROBES;
	for (uint32_t i = 0; i < probes; i++) {
		struct server_entry *e = entry_near(b, key, i);
		if (join(e, key))
			return e;
	}
	for (uint32_t i = 0; i < probes; i++) {
		struct server_entry *e = entry_near(b, key, i);
		uint64_t free = 0;
		if (atomic_compare_exchange_strong(&e->key, &free, key | 1) || join(e, key))
			return e;
	}
	return NULL;
}

struct server_entry *health_table_join(
    struct health_table *b, uint32_t worker, uint64_t key, uint32_t origin, const char *text)
{
	key = key << USERS_BITS ? key & ~USERS_MASK : UINT64_C(1) << USERS_BITS;
	struct server_entry *e = worker < SERVER_ENTRY_WORKERS ? find(b, key) : NULL;
	if (!e)
		return NULL;
	if (set_bit(e->used_by, worker)) /* a worker counts once */
		atomic_fetch_sub(&e->key, 1);
	/* All workers write the same. */
	if (atomic_load(&e->origin) == 0) {
		size_t length = strnlen(text, sizeof(e->text) - 1);
		memcpy(e->text, text, length);
		e->text[length] = '\0';
		atomic_store(&e->origin, (uint16_t)(origin + 1));
	}
	return e;
}

void server_entry_leave(struct server_entry *e, uint32_t worker)
{
	server_entry_unlease(e, worker);
	clear_bit(e->ejected_in, worker);
	if (clear_bit(e->used_by, worker))
		leave(e);
}

void health_table_forget(struct health_table *b, uint32_t worker)
{
	for (uint32_t i = 0; i < b->capacity; i++)
		if (atomic_load(&b->entries[i].key) != 0)
			server_entry_leave(&b->entries[i], worker);
}

/* ---- leases ---- */

bool server_entry_lease(struct server_entry *e, uint32_t worker, usec now, usec until)
{
	uint64_t wanted = until / USEC_PER_MSEC << LEASE_BITS | (worker + 1);
	uint64_t seen = atomic_load(&e->lease);
	while ((seen & LEASE_MASK) == worker + 1 || seen >> LEASE_BITS <= now / USEC_PER_MSEC)
		if (atomic_compare_exchange_weak(&e->lease, &seen, wanted))
			return true;
	return false;
}

void server_entry_unlease(struct server_entry *e, uint32_t worker)
{
	uint64_t seen = atomic_load(&e->lease);
	while ((seen & LEASE_MASK) == worker + 1)
		if (atomic_compare_exchange_weak(&e->lease, &seen, 0))
			return;
}

/* ---- checks and ejections ---- */

void server_entry_publish(struct health_table *b, struct server_entry *e, struct server_check check)
{
	uint64_t since = check.since / USEC_PER_MSEC;
	atomic_store(&e->check, since << 24 | (uint64_t)check.result << 8 | check.state);
	atomic_fetch_add(b->version, 1);
}

struct server_check server_entry_check(const struct server_entry *e)
{
	uint64_t word = atomic_load(&e->check);
	return (struct server_check){
	    .state = (enum server_check_state)(word & 0xff),
	    .result = (unsigned)(word >> 8 & 0xffff),
	    .since = (word >> 24) * USEC_PER_MSEC,
	};
}

void server_entry_eject(
    struct server_entry *e, uint32_t worker, usec until, enum server_verdict verdict)
{
	uint64_t seen = atomic_load(&e->ejected_until);
	while (seen < until && !atomic_compare_exchange_weak(&e->ejected_until, &seen, until))
		;
	atomic_store(&e->verdict, verdict);
	set_bit(e->ejected_in, worker);
}

void server_entry_return(struct server_entry *e, uint32_t worker)
{
	clear_bit(e->ejected_in, worker);
}

void server_entry_note_length(struct server_entry *e, usec length)
{
	atomic_store(&e->ejected_msec, (uint32_t)(length / USEC_PER_MSEC));
}

usec server_entry_kept(const struct server_entry *e, usec *length)
{
	*length = atomic_load(&e->ejected_msec) * USEC_PER_MSEC;
	return atomic_load(&e->kept_until);
}

uint32_t server_entry_ejected(const struct server_entry *e, usec now)
{
	uint32_t count = 0;
	if (atomic_load(&e->ejected_until) <= now)
		return 0;
	for (size_t i = 0; i < SERVER_ENTRY_WORKERS / 64; i++)
		count += (uint32_t)__builtin_popcountll(atomic_load(&e->ejected_in[i]));
	return count;
}

/* ---- a reload ---- */

/* The entry of this key, made if there is none and *room is not used up. NULL: there is no room. */
static struct server_entry *get(struct health_table *b, uint64_t key, size_t *room)
{
	uint32_t probes = b->capacity < PROBES ? b->capacity : PROBES;
	for (uint32_t i = 0; i < probes; i++)
		if ((atomic_load(&entry_near(b, key, i)->key) & ~USERS_MASK) == key)
			return entry_near(b, key, i);
	for (uint32_t i = 0; i<probes && * room> 0; i++) {
		struct server_entry *e = entry_near(b, key, i);
		uint64_t seen = 0;
		/* A worker may make it at the same time. */
		if (!atomic_compare_exchange_strong(&e->key, &seen, key) &&
		    (seen & ~USERS_MASK) != key)
			continue;
		--*room;
		return e;
	}
	return NULL;
}

bool health_table_state(
    const struct health_table *b, size_t i, usec now, struct health_state *state)
{
	size_t origin;
	const struct server_entry *e = health_table_entry(b, i, &origin);
	uint64_t key = e ? atomic_load(&e->key) & ~USERS_MASK : 0;
	if (key == 0)
		return false;
	*state = (struct health_state){.key = key,
	    .origin = origin,
	    .check = server_entry_check(e),
	    .ejected_until = atomic_load(&e->ejected_until),
	    .ejected_length = atomic_load(&e->ejected_msec) * USEC_PER_MSEC,
	    .verdict = (enum server_verdict)atomic_load(&e->verdict)};
	/* An ejection from which all workers have returned counts for the length of the next one, if it is over. */
	if (state->ejected_until > now && server_entry_ejected(e, now) == 0)
		state->ejected_until = 0;
	return true;
}

size_t health_table_room(const struct health_table *b)
{
	size_t room = b->capacity / 4;
	for (uint32_t i = 0; i < b->capacity; i++)
		room -= room > 0 && atomic_load(&b->entries[i].origin) == 0 &&
			atomic_load(&b->entries[i].key) != 0;
	return room;
}

static void put_check(
    struct health_table *b, struct server_entry *e, struct server_check check, usec now)
{
	bool is_known = check.state == SERVER_CHECK_PASSES || check.state == SERVER_CHECK_FAILS;
	if (is_known && check.since <= now && check.since > server_entry_check(e).since)
		server_entry_publish(b, e, check);
}

static void put_ejection(
    struct server_entry *e, const struct health_state *state, usec most, usec now)
{
	usec until = state->ejected_until, length = state->ejected_length;
	atomic_store(&e->verdict, state->verdict);
	server_entry_note_length(e, length < most ? length : most);
	atomic_store(&e->kept_until, until < now + most ? until : now + most);
}

bool health_table_put(struct health_table *b, const struct health_state *state,
    struct health_kept kept, usec now, size_t *room)
{
	if (!kept.check && kept.ejection_most == 0)
		return true;
	struct server_entry *e = get(b, state->key & ~USERS_MASK, room);
	if (e && kept.check)
		put_check(b, e, state->check, now);
	if (e && kept.ejection_most > 0 && state->ejected_until > 0)
		put_ejection(e, state, kept.ejection_most, now);
	return e != NULL;
}

/* ---- status ---- */

const struct server_entry *health_table_entry(
    const struct health_table *b, size_t i, size_t *origin)
{
	if (i >= b->capacity || atomic_load(&b->entries[i].key) == 0)
		return NULL;
	uint16_t number = atomic_load(&b->entries[i].origin);
	*origin = number - 1u;
	return number > 0 ? &b->entries[i] : NULL;
}

const char *server_entry_text(const struct server_entry *e, char buffer[SERVER_ENTRY_TEXT])
{
	size_t length = strnlen(e->text, SERVER_ENTRY_TEXT - 1);
	for (size_t i = 0; i < length; i++) {
		char c = e->text[i];
		buffer[i] = c;
		if (c <= ' ' || c > '~')
			buffer[i] = '?';
	}
	buffer[length] = '\0';
	return buffer;
}
