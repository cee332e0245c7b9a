/* SPDX-License-Identifier: MIT */
/*
 * The proxy auto-configuration file of a listener in forward mode: a function in JavaScript that tells a browser, for
 * each URL, whether to ask the proxy. Names in it have been checked (http_host_read) or are written with escapes.
 */
#include "proxy/base/reserve.h"
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/ascii.h"
#include "proxy/http/authority.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- requests that go past the proxy ---- */

static void write_name(FILE *out, struct slice name)
{
	if (slice_starts_with(name, SLICE("*.")))
		name = slice_from(name, 1);
	fputs(", \"", out);
	for (size_t i = 0; i < name.len; i++) {
		char c = ascii_lower(name.ptr[i]);
		if (ascii_is(c, ASCII_ALNUM) || strchr(".-_*", c))
			putc(c, out);
		else
			fprintf(out, "\\x%02x", (unsigned char)c);
	}
	putc('"', out);
}

/* Of IPv4: the first address, and how many there are. */
static void write_range(FILE *out, const struct cidr *c)
{
	const uint8_t *b = c->base.bytes;
	uint32_t first = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
	if (c->base.family == 4)
		fprintf(out, ", [%" PRIu32 ", %" PRIu64 "]", first, UINT64_C(1) << (32 - c->bits));
}

static void write_chain(FILE *out, const struct conf *conf, bool are_names)
{
	for (size_t i = 0; i < conf->origin_count; i++) {
		const struct conf_chain *chain = &conf->origins[i].chain;
		for (size_t k = 0; are_names && k < chain->direct_host_count; k++)
			write_name(out, chain->direct_hosts[k]);
		for (size_t k = 0; !are_names && k < chain->direct_range_count; k++)
			write_range(out, &chain->direct_ranges[k]);
	}
}

/* All but the proxy's own address, which follows. In the JavaScript of 1999, as old clients want it. */
static char *make_text(const struct conf *conf)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	if (!out && reserve_give_way())
		out = open_memstream(&text, &size);
	if (!out)
		reserve_is_used_up();
	fputs("function FindProxyForURL(url, host) {\n"
	      "\tvar names = [\".localhost\"",
	    out);
	write_chain(out, conf, true);
	/* 10.0.0.0/8, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.168.0.0/16 */
	fputs("];\n\tvar ranges = [[167772160, 16777216], [2130706432, 16777216], [2851995648, "
	      "65536], "
	      "[2886729728, 1048576], [3232235520, 65536]",
	    out);
	write_chain(out, conf, false);
	fputs("];\n"
	      "\tvar i, end, ip, m;\n"
	      "\thost = host.toLowerCase().replace(/^\\[|\\]$|\\.$/g, \"\");\n"
	      "\tif (host.indexOf(\":\") < 0 && host.indexOf(\".\") < 0 || "
	      "/^(::1$|f[cd].*:|fe[89ab].*:)/.test(host))\n"
	      "\t\treturn \"DIRECT\";\n"
	      "\tm = /^(\\d+)\\.(\\d+)\\.(\\d+)\\.(\\d+)$/.exec(host);\n"
	      "\tip = m ? ((m[1] * 256 + +m[2]) * 256 + +m[3]) * 256 + +m[4] : -1;\n"
	      "\tfor (i = 0; m && i < ranges.length; i++)\n"
	      "\t\tif (ip >= ranges[i][0] && ip < ranges[i][0] + ranges[i][1])\n"
	      "\t\t\treturn \"DIRECT\";\n"
	      "\tfor (i = 0; i < names.length; i++) {\n"
	      "\t\tend = names[i].charAt(0) == \".\" ? host.substring(host.length - "
	      "names[i].length) : host;\n"
	      "\t\tif (names[i] == \"*\" || end == names[i])\n"
	      "\t\t\treturn \"DIRECT\";\n"
	      "\t}\n",
	    out);
	fclose(out);
	return text;
}

struct slice pac_text(const struct gateway *g, struct exchange *x)
{
	struct request_target target;
	/* uncovered: pac_serves has read it */
	if (!route_read_target(x->request, &target))
		return SLICE("");
	bool is_ipv6 = strchr(target.host, ':') != NULL;
	return arena_printf(exchange_arena(x), "%s\treturn \"%s %s%s%s:%u\";\n}\n", g->pac_text,
	    x->facts.listener->certificate_count > 0 ? "HTTPS" : "PROXY", is_ipv6 ? "[" : "",
	    target.host, is_ipv6 ? "]" : "", (unsigned)target.port);
}

/* ---- requests for it ---- */

/* The whole URI names this listener: by its address, as localhost, or by a name of its certificates. */
static bool names_listener(const struct exchange *x, const struct request_target *target)
{
	const struct conf_listen *l = x->facts.listener;
	struct client_facts facts;
	struct address own;
	if (target->is_tls != (l->certificate_count > 0) ||
	    target->port != net_address_port(&l->address))
		return false;
	net_address_ip(&l->address, &own);
	if (target->is_address)
		return memcmp(&own, &target->address, sizeof own) == 0;
	struct slice host = slice_of_string(target->host);
	const struct client_facts *client = client_facts(x, &facts);
	return conf_is_localhost(host, NULL) ||
	       (target->is_tls && client->covers(client->listener, host));
}

bool pac_serves(struct gateway *g, struct exchange *x)
{
	const struct http_head *head = x->request;
	const struct conf_listen *l = x->facts.listener;
	struct slice path = slice_sub(head->path, 0, slice_find(head->path, '?'));
	struct request_target target;
	if (!slice_equal(path, SLICE("/proxy.pac")) ||
	    (head->method_token != HTTP_METHOD_GET && head->method_token != HTTP_METHOD_HEAD))
		return false;
	bool is_read = route_read_target(head, &target);
	if (!head->scheme_from_connection && !(is_read && names_listener(x, &target)))
		return false;
	if (!access_takes_client(l->access, &x->facts.client)) {
		exchange_refuse(
		    x, &relay_cause_ACCESS_DENIED, access_reason_name(ACCESS_REASON_CLIENT));
		return true;
	}
	if (!is_read) {
		exchange_refuse(
		    x, &relay_cause_NO_TARGET, "Host must have the proxy's name or address");
		return true;
	}
	if (!g->pac_text)
		g->pac_text = make_text(g->env.conf);
	exchange_refuse(x, &relay_cause_PAC_FILE, NULL);
	return true;
}
