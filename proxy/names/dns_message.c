/* SPDX-License-Identifier: MIT */
/* Makes queries and reads answers; see dns_message.h. Every length is checked before its bytes are read. */
#include "proxy/names/dns_message.h"
#include "proxy/base/ascii.h"
#include "proxy/base/memory.h"
#include <ares.h>
#include <stdio.h>

enum {
	HEADER_BYTES = 12,
	RECORD_BYTES = 10, /* of a record behind its name, before its data */
	CLASS_IN = 1,
	FLAG_RESPONSE = 0x8000,
	FLAG_TRUNCATED = 0x0200,
	MASK_OPCODE = 0x7800,
	MASK_CODE = 0x000f,
	CODE_NO_NAME = 3,
};

struct record {
	char *name; /* as c-ares gives it; freed by free_records */
	uint16_t type;
	uint32_t ttl;
	size_t data, length; /* where its data is in the message */
};

struct reading {
	const uint8_t *bytes;
	size_t size, at;
	struct record records[LIMIT_DNS_RECORDS];
	size_t count, answers; /* the first ones are answers, the others about the authority */
};

static uint16_t number16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static uint32_t number32(const uint8_t *p)
{
	return (uint32_t)number16(p) << 16 | number16(p + 2);
}

bool dns_name_copy(struct slice name, char out[DNS_NAME_BYTES])
{
	if (name.len > 0 && name.ptr[name.len - 1] == '.')
		name.len--;
	if (name.len == 0 || name.len >= DNS_NAME_BYTES - 2)
		return false;
	size_t label = 0;
	for (size_t i = 0; i <= name.len; i++, label++) {
		if (i < name.len && name.ptr[i] != '.') {
			if (!ascii_is(name.ptr[i], ASCII_ALNUM) && name.ptr[i] != '-' &&
			    name.ptr[i] != '_')
				return false;
			continue;
		}
		if (label == 0 || label > 63)
			return false;
		label = (size_t)-1;
	}
	ascii_lower_copy(out, name);
	out[name.len] = '\0';
	return true;
}

size_t dns_write_query(const struct dns_question *q, uint8_t out[DNS_UDP_BYTES])
{
	unsigned char *made = NULL;
	int length = 0;
	if (ares_create_query(q->host, CLASS_IN, (int)q->type, q->id, 1, &made, &length, 0) !=
	    ARES_SUCCESS)
		return 0;
	bool fits = length > 0 && length <= DNS_UDP_BYTES;
	if (fits)
		memcpy(out, made, (size_t)length);
	ares_free_string(made);
	return fits ? (size_t)length : 0;
}

/* The name at `at`; *length: its bytes there. NULL: it is none. ares_free_string frees it. */
static char *expand(const struct reading *r, size_t at, size_t *length)
{
	char *name = NULL;
	long encoded = 0;
	if (at >= r->size || ares_expand_name(r->bytes + at, r->bytes, (int)r->size, &name,
				 &encoded) != ARES_SUCCESS)
		return NULL;
	*length = (size_t)encoded;
	return name;
}

static bool name_is(const char *name, const char *host)
{
	return slice_equal_nocase(slice_of_string(name), slice_of_string(host));
}

/* ---- the header and the question ---- */

/* False: this is no answer to the question. r->at is behind the question then. */
static bool is_for(struct reading *r, const struct dns_question *q)
{
	if (r->size < HEADER_BYTES || number16(r->bytes) != q->id)
		return false;
	uint16_t flags = number16(r->bytes + 2);
	if (!(flags & FLAG_RESPONSE) || (flags & MASK_OPCODE) || number16(r->bytes + 4) != 1)
		return false;
	size_t length;
	char *name = expand(r, HEADER_BYTES, &length);
	bool is_name = name && name_is(name, q->host);
	ares_free_string(name);
	r->at = HEADER_BYTES + (is_name ? length : 0);
	if (!is_name || r->size - r->at < 4)
		return false;
	bool is_same =
	    number16(r->bytes + r->at) == q->type && number16(r->bytes + r->at + 2) == CLASS_IN;
	r->at += 4;
	return is_same;
}

static const char *failure_of(unsigned code)
{
	switch (code) {
	case 1:
		return "the resolver does not understand the query";
	case 2:
		return "the resolver has failed (SERVFAIL)";
	case 4:
		return "the resolver does not answer such queries";
	case 5:
		return "the resolver refuses to answer";
	}
	return "the resolver answers with an unknown code";
}

/* ---- records ---- */

static bool read_record(struct reading *r)
{
	struct record *record = &r->records[r->count];
	size_t length;
	record->name = expand(r, r->at, &length);
	if (!record->name)
		return false;
	r->count++; /* from here on free_records frees the name */
	r->at += length;
	if (r->at > r->size || r->size - r->at < RECORD_BYTES)
		return false;
	const uint8_t *p = r->bytes + r->at;
	record->type = number16(p + 2) == CLASS_IN ? number16(p) : 0;
	record->ttl = number32(p + 4);
	if (record->ttl > INT32_MAX) /* RFC 2181 8 */
		record->ttl = 0;
	record->data = r->at + RECORD_BYTES;
	record->length = number16(p + 8);
	r->at = record->data + record->length;
	return r->at <= r->size;
}

/* Reads answers and authority as far as there is room. False: the message is malformed. */
static bool read_records(struct reading *r)
{
	size_t answers = number16(r->bytes + 6);
	size_t all = answers + number16(r->bytes + 8);
	while (r->count < all && r->count < LIMIT_DNS_RECORDS)
		if (!read_record(r))
			return false;
	r->answers = answers < r->count ? answers : r->count;
	return true;
}

static void free_records(struct reading *r)
{
	for (size_t i = 0; i < r->count; i++)
		ares_free_string(r->records[i].name);
}

static void lower_ttl(struct dns_answer *a, uint32_t ttl)
{
	if (ttl < a->ttl)
		a->ttl = ttl;
}

/* Inserts in ascending order, each item once; the greatest falls out when there are too many. */
static void insert(void *items, size_t *count, size_t most, size_t size, const void *item,
    int (*compare)(const void *, const void *))
{
	char *base = items;
	size_t at = *count;
	while (at > 0 && compare(base + (at - 1) * size, item) > 0)
		at--;
	if (at == most || (at > 0 && compare(base + (at - 1) * size, item) == 0))
		return;
	if (*count < most)
		(*count)++;
	memmove(base + (at + 1) * size, base + at * size, (*count - at - 1) * size);
	memcpy(base + at * size, item, size);
}

static int compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

static int compare_targets(const void *a, const void *b)
{
	const struct dns_target *one = a, *other = b;
	if (one->priority != other->priority)
		return one->priority < other->priority ? -1 : 1;
	int order = strcmp(one->host, other->host);
	if (order != 0)
		return order;
	return one->port < other->port ? -1 : one->port > other->port;
}

static void take_address(const struct reading *r, const struct record *record, struct dns_answer *a)
{
	struct address address = {.family = record->length == 4 ? 4 : 6};
	memcpy(address.bytes, r->bytes + record->data, record->length);
	insert(a->addresses, &a->count, LIMIT_NAME_ADDRESSES, sizeof(address), &address,
	    compare_addresses);
}

/* A target "." says that there is no such service (RFC 2782), and is no name. */
static void take_target(const struct reading *r, const struct record *record, struct dns_answer *a)
{
	struct dns_target target = {0};
	size_t length;
	const uint8_t *p = r->bytes + record->data;
	char *name = expand(r, record->data + 6, &length);
	bool is_good = name && length == record->length - 6u &&
		       dns_name_copy(slice_of_string(name), target.host);
	ares_free_string(name);
	target.priority = number16(p);
	target.weight = number16(p + 2);
	target.port = number16(p + 4);
	if (is_good && target.port > 0)
		insert(a->targets, &a->count, LIMIT_SRV_TARGETS, sizeof(target), &target,
		    compare_targets);
}

/* Takes the records of the asked type that the name has. True: it has one. */
static bool take_records(
    const struct reading *r, const char *name, enum dns_type type, struct dns_answer *a)
{
	bool has_one = false;
	for (size_t i = 0; i < r->answers; i++) {
		const struct record *record = &r->records[i];
		if (record->type != type || !name_is(record->name, name))
			continue;
		if (type == DNS_SRV && record->length > 6)
			take_target(r, record, a);
		else if (record->length == (type == DNS_A ? 4 : 16) && type != DNS_SRV)
			take_address(r, record, a);
		else
			continue;
		has_one = true;
		lower_ttl(a, record->ttl);
	}
	return has_one;
}

static const struct record *find_alias(const struct reading *r, const char *name)
{
	for (size_t i = 0; i < r->answers; i++)
		if (r->records[i].type == DNS_CNAME && name_is(r->records[i].name, name))
			return &r->records[i];
	return NULL;
}

/* RFC 2308 5: the TTL of the SOA or its last number, whichever is less. */
static void take_negative_ttl(const struct reading *r, struct dns_answer *a)
{
	a->ttl = UINT32_MAX;
	for (size_t i = r->answers; i < r->count; i++) {
		const struct record *record = &r->records[i];
		if (record->type != DNS_SOA || record->length < 22)
			continue;
		lower_ttl(a, record->ttl);
		lower_ttl(a, number32(r->bytes + record->data + record->length - 4));
	}
}

static void fail(struct dns_answer *a, const char *error)
{
	a->outcome = DNS_FAILED;
	a->error = error;
}

static void lack(const struct reading *r, struct dns_answer *a, const char *what)
{
	a->outcome = DNS_NEGATIVE;
	a->error = what;
	take_negative_ttl(r, a);
}

static const char *what_lacks(const struct dns_question *q)
{
	return q->type == DNS_SRV ? "the name has no SRV record" : "the name has no address";
}

/* Follows the aliases from the host of the question to the name that has the records. */
static void follow(const struct reading *r, const struct dns_question *q, struct dns_answer *a)
{
	char name[DNS_NAME_BYTES];
	snprintf(name, sizeof(name), "%s", q->host);
	for (unsigned step = 0; step < LIMIT_CNAME_CHAIN; step++) {
		if (take_records(r, name, q->type, a) && a->count > 0) {
			a->outcome = DNS_ANSWERED;
			return;
		}
		const struct record *alias = find_alias(r, name);
		if (!alias) {
			lack(r, a, what_lacks(q));
			return;
		}
		lower_ttl(a, alias->ttl);
		size_t length;
		char *to = expand(r, alias->data, &length);
		bool is_good = to && dns_name_copy(slice_of_string(to), name);
		ares_free_string(to);
		if (!is_good) {
			fail(a, "an alias leads to something that is no name");
			return;
		}
	}
	fail(a, "the chain of aliases is too long, or loops");
}

void dns_read_answer(struct slice message, const struct dns_question *q, struct dns_answer *a)
{
	struct reading *r = memory_new(struct reading);
	*a = (struct dns_answer){.outcome = DNS_FOREIGN, .ttl = UINT32_MAX};
	*r = (struct reading){.bytes = (const uint8_t *)message.ptr, .size = message.len};
	if (message.len <= UINT16_MAX && is_for(r, q)) {
		uint16_t flags = number16(r->bytes + 2);
		unsigned code = flags & MASK_CODE;
		if (flags & FLAG_TRUNCATED)
			a->outcome = DNS_TRUNCATED;
		else if (code != 0 && code != CODE_NO_NAME)
			fail(a, failure_of(code));
		else if (!read_records(r))
			fail(a, "the answer of the resolver is malformed");
		else if (
		    code ==
		    CODE_NO_NAME) /* nor does the name exist that its aliases lead to: RFC 6604 3 */
			lack(r, a, "there is no such name");
		else
			follow(r, q, a);
	}
	free_records(r);
	free(r);
}
