/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the answer of a resolver, and as a hosts file and resolv.conf.
 *
 * Input: one byte for the kind (A, AAAA, SRV, hosts), then the message or the text. The id of a message is the id that
 * was asked with, and the name that was asked for is "a.test", so that answers are read beyond their question. What is
 * read is in order, each item once and within its bounds, or nothing is read and there is an error.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/names/hosts.h"
#include "proxy/names/dns_message.h"

static void check_items(const struct dns_answer *a, enum dns_type type)
{
	for (size_t i = 0; type != DNS_SRV && i < a->count; i++) {
		ensure(a->addresses[i].family == (type == DNS_A ? 4 : 6));
		ensure(i == 0 || memcmp(&a->addresses[i - 1], &a->addresses[i], sizeof(a->addresses[i])) < 0);
	}
	for (size_t i = 0; type == DNS_SRV && i < a->count; i++) {
		char again[DNS_NAME_BYTES];
		const struct dns_target *t = &a->targets[i];
		ensure(t->port > 0 && dns_name_copy(slice_of_string(t->host), again));
		ensure(strcmp(again, t->host) == 0);
		ensure(i == 0 || a->targets[i - 1].priority <= t->priority);
	}
}

static void check_answer(struct slice message, enum dns_type type)
{
	struct dns_answer a;
	const uint8_t *bytes = (const uint8_t *)message.ptr;
	struct dns_question q = {"a.test", type, 0};
	if (message.len >= 2)
		q.id = (uint16_t)(bytes[0] << 8 | bytes[1]);
	dns_read_answer(message, &q, &a);
	ensure((a.outcome == DNS_ANSWERED) == (a.count > 0));
	ensure(a.outcome == DNS_FAILED || a.outcome == DNS_NEGATIVE ? a.error != NULL : !a.error);
	ensure(a.count <= (type == DNS_SRV ? LIMIT_SRV_TARGETS : LIMIT_NAME_ADDRESSES));
	ensure(a.outcome != DNS_ANSWERED || a.ttl <= INT32_MAX);
	check_items(&a, type);
	q.id ^= 1;
	dns_read_answer(message, &q, &a);
	ensure(a.outcome == DNS_FOREIGN);
}

static void check_texts(struct slice text)
{
	struct address found[4];
	struct net_address resolvers[LIMIT_RESOLVERS];
	struct hosts *h = hosts_new(text);
	ensure(hosts_find(h, "a.test", found, 4) <= 4);
	/* Whatever the text says, localhost has an address, and each of them is loopback. */
	size_t count = hosts_find(h, "x.localhost", found, 4);
	ensure(count >= 1 && count <= 4);
	for (size_t i = 0; i < count; i++)
		ensure(found[i].family == 4 ? found[i].bytes[0] == 127 : found[i].bytes[15] == 1);
	hosts_free(h);
	count = resolv_conf_read(text, resolvers, LIMIT_RESOLVERS);
	ensure(count >= 1 && count <= LIMIT_RESOLVERS);
	for (size_t i = 0; i < count; i++)
		ensure(net_address_port(&resolvers[i]) == 53);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum dns_type types[] = {DNS_A, DNS_AAAA, DNS_SRV};
	if (size == 0)
		return 0;
	struct slice rest = slice_of(data + 1, size - 1);
	if (data[0] % 4 == 3)
		check_texts(rest);
	else
		check_answer(rest, types[data[0] % 4]);
	return 0;
}
