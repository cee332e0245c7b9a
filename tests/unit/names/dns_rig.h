/* SPDX-License-Identifier: MIT */
/* Shared by the tests of names/: messages of the DNS, and resolvers that a test plays over loopback sockets. */
#ifndef PUSHGATE_TESTS_NAMES_DNS_RIG_H
#define PUSHGATE_TESTS_NAMES_DNS_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka requires that the four headers above come first. */
#include <cmocka.h>

#include "proxy/base/memory.h"
#include "proxy/names/dns_message.h"
#include "proxy/names/names.h"
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <unistd.h>

#define RIG static __attribute__((unused))

/* ---- messages ---- */

struct wire {
	uint8_t bytes[65535];
	size_t length;
};

RIG void put16(struct wire *m, unsigned n)
{
	m->bytes[m->length++] = (uint8_t)(n >> 8);
	m->bytes[m->length++] = (uint8_t)n;
}

RIG void put32(struct wire *m, uint32_t n)
{
	put16(m, n >> 16);
	put16(m, n & 0xffff);
}

RIG void put_name(struct wire *m, const char *name)
{
	while (*name) {
		size_t label = strcspn(name, ".");
		m->bytes[m->length++] = (uint8_t)label;
		memcpy(m->bytes + m->length, name, label);
		m->length += label;
		name += label + (name[label] == '.');
	}
	m->bytes[m->length++] = 0;
}

/* A header and a question; the counts of records are put in as they come. */
RIG void put_question(struct wire *m, unsigned id, unsigned flags, const char *name, unsigned type)
{
	*m = (struct wire){.length = 0};
	put16(m, id);
	put16(m, flags);
	put16(m, 1);
	put32(m, 0);
	put16(m, 0);
	put_name(m, name);
	put16(m, type);
	put16(m, 1);
}

RIG void count_record(struct wire *m, size_t at)
{
	unsigned n = (unsigned)(m->bytes[at] << 8 | m->bytes[at + 1]) + 1;
	m->bytes[at] = (uint8_t)(n >> 8);
	m->bytes[at + 1] = (uint8_t)n;
}

RIG void put_record(struct wire *m, const char *name, unsigned type, uint32_t ttl, size_t length)
{
	put_name(m, name);
	put16(m, type);
	put16(m, 1);
	put32(m, ttl);
	put16(m, (unsigned)length);
}

RIG void put_address(struct wire *m, const char *name, uint32_t ttl, const char *text)
{
	struct address a;
	assert_true(address_parse(slice_of_string(text), &a));
	size_t length = a.family == 4 ? 4 : 16;
	count_record(m, 6);
	put_record(m, name, a.family == 4 ? DNS_A : DNS_AAAA, ttl, length);
	memcpy(m->bytes + m->length, a.bytes, length);
	m->length += length;
}

RIG void put_alias(struct wire *m, const char *name, uint32_t ttl, const char *to)
{
	count_record(m, 6);
	put_record(m, name, DNS_CNAME, ttl, strlen(to) + 2);
	put_name(m, to);
}

RIG void put_service(struct wire *m, const char *name, uint32_t ttl, unsigned priority,
    unsigned weight, unsigned port, const char *target)
{
	count_record(m, 6);
	put_record(m, name, DNS_SRV, ttl, 6 + (*target ? strlen(target) + 2 : 1));
	put16(m, priority);
	put16(m, weight);
	put16(m, port);
	put_name(m, target);
}

RIG void put_soa(struct wire *m, uint32_t ttl, uint32_t minimum)
{
	count_record(m, 8);
	put_record(m, "test", DNS_SOA, ttl, 6 + 6 + 20);
	put_name(m, "ns.t");
	put_name(m, "ad.t");
	for (unsigned i = 0; i < 4; i++)
		put32(m, 1);
	put32(m, minimum);
}

RIG const char *show_address(const struct address *a)
{
	static char text[4][64];
	static unsigned next;
	return address_format(a, text[next = (next + 1) % 4], sizeof(text[0]));
}

#endif
