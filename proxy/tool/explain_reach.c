/* SPDX-License-Identifier: MIT */
/*
 * Forward mode: whether the gateway would refuse an address of the destination. It judges each address before it
 * connects (upstream/destination_reach.c), and none of its own listeners is a destination. Here an address is known
 * that is written in the URL, or that the hosts file has; no resolver is asked.
 */
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/names/names.h"
#include "proxy/tool/explain.h"
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES_MOST 16u

/* Whether this machine has the address. */
static bool is_of_machine(const struct address *ip)
{
	struct net_address at;
	net_address_set_ip(&at, ip, 0);
	int fd = socket(at.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_bound = fd >= 0 && bind(fd, &at.any, at.length) == 0;
	if (fd >= 0)
		close(fd);
	return is_bound;
}

/* A connection to 0.0.0.0 or :: is one to loopback. */
static struct address where_it_leads(const struct address *ip)
{
	static const struct address any4 = {.family = 4}, any6 = {.family = 6};
	if (memcmp(ip, &any4, sizeof any4) == 0)
		return (struct address){{127, 0, 0, 1}, 4};
	if (memcmp(ip, &any6, sizeof any6) == 0)
		return (struct address){{[15] = 1}, 6};
	return *ip;
}

static bool is_own(const struct conf *conf, const struct address *ip, uint16_t port)
{
	struct net_address to;
	const struct address there = where_it_leads(ip);
	net_address_set_ip(&to, &there, port);
	return conf_is_own_address(conf, &to) ||
	       (conf_listens_everywhere(conf, port) && is_of_machine(&there));
}

static size_t look_up(const struct conf *conf, const char *name, struct address *out)
{
	size_t count, length = 0;
	char *text = memory_alloc(LIMIT_NAMES_FILE_BYTES);
	FILE *file = fopen(conf->server.hosts_file, "re");
	if (file) {
		length = fread(text, 1, LIMIT_NAMES_FILE_BYTES, file);
		fclose(file);
	}
	count = names_find_in_hosts(slice_of(text, length), name, out, ADDRESSES_MOST);
	free(text);
	return count;
}

/* NULL: it may be reached. */
static const struct relay_cause *judge(FILE *out, const struct conf *conf, struct exchange *x,
    const struct request_target *target, const struct address *ip, const char **detail)
{
	struct net_address to;
	char text[NET_ADDRESS_TEXT];
	net_address_set_ip(&to, ip, target->port);
	net_address_format(&to, text, sizeof text);
	if (is_own(conf, ip, target->port)) {
		fprintf(out, "%s is a listener of this gateway, which is no destination\n", text);
		*detail = "own-listener";
		return &relay_cause_OWN_ADDRESS;
	}
	const struct access_verdict v = access_may_reach(&x->facts, &to, exchange_effort(x));
	const struct relay_cause *refusal = access_cause(x->facts.listener, &v);
	if (refusal) {
		fprintf(out, "%s has the address %s, which is refused (%s)\n", target->host, text,
		    v.reason);
		*detail = v.reason;
	}
	return refusal;
}

const struct relay_cause *explain_reach(
    FILE *out, const struct conf *conf, struct exchange *x, const char **detail)
{
	struct address found[ADDRESSES_MOST];
	struct request_target target;
	const struct conf_origin *o = x->place.origin;
	if (!o || o->kind != CONF_ORIGIN_FORWARD || !route_read_target(x->request, &target))
		return NULL;
	if (target.is_address)
		return judge(out, conf, x, &target, &target.address, detail);
	if (conf_upstream_proxy_for(o, slice_of_string(target.host), NULL))
		return NULL;
	size_t count = look_up(conf, target.host, found);
	for (size_t i = 0; i < count; i++) {
		const struct relay_cause *refusal = judge(out, conf, x, &target, &found[i], detail);
		if (refusal)
			return refusal;
	}
	if (count == 0)
		fputs("the host is not looked up here: the gateway judges each of its addresses, "
		      "and may refuse one\n",
		    out);
	return NULL;
}
