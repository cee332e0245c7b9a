/* SPDX-License-Identifier: MIT */
/* Servers and proxies that are this pushgate itself: what is sent to them would come back, and be refused as a loop. */
#include "proxy/conf/load.h"

static bool is_any(const struct address *ip)
{
	static const uint8_t zero[sizeof ip->bytes];
	return memcmp(ip->bytes, zero, sizeof zero) == 0;
}

bool conf_is_listener(const struct conf_listen *listen, const struct conf_origin_server *s)
{
	struct address at, to;
	if (listen->address.length == 0)
		return false;
	if (!s->host) /* a unix socket, or the demo site */
		return s->address.length > 0 && net_address_equal(&listen->address, &s->address);
	if (s->port == 0 || net_address_port(&listen->address) != s->port)
		return false;
	net_address_ip(&listen->address, &at);
	net_address_ip(&s->address, &to);
	bool is_local =
	    conf_is_localhost(slice_of_string(s->host), s->address.length > 0 ? &to : NULL);
	if (is_any(&at) && at.family != 0)
		return is_local;
	if (s->address.length == 0)
		return is_local && conf_is_localhost(SLICE(""), &at);
	return net_address_equal(&listen->address, &s->address);
}

/* The line of the nth option `server`. */
static uint32_t server_line(const struct conf_section *s, size_t n)
{
	for (const struct conf_option_place *p = s->first_option; p; p = p->next)
		if (strcmp(p->key, "server") == 0 && n-- == 0)
			return p->at.line;
	return s->line;
}

void conf_check_own_servers(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_origin *o = s->object;
	for (size_t i = 0; i < o->server_count; i++)
		for (size_t k = 0; k < l->conf->listen_count; k++) {
			const struct conf_listen *listen = &l->conf->listens[k];
			if (!conf_is_listener(listen, &o->servers[i]))
				continue;
			conf_warning(l, s->file, server_line(s, i),
			    "server %s is the address of [listen %s], so that its requests would "
			    "come back; name the server of the application",
			    o->servers[i].text, listen->name);
			break;
		}
}
