/* SPDX-License-Identifier: MIT */
/* Which clients a listener asks for a certificate: its lines client-ca. Included by conf.h. */
#ifndef PUSHGATE_CONF_CLIENT_AUTH_H
#define PUSHGATE_CONF_CLIENT_AUTH_H

#include "proxy/http/host_set.h"
#include "proxy/net/net.h"

struct conf_client_auth {
	struct net_client_auth net;        /* its context is this object */
	struct net_client_ca *authorities; /* net.authorities: a line each */
	struct http_host_set *hosts;       /* of each line; empty: all that no other line has */
	uint64_t host_seed;
	bool has_hosts; /* some line is for some hosts alone */
};

/* The number of the line for the host of an authority (empty: there is none); net.count: of no line. CONF_CLIENT_CA_STRANGE:
 * other programs may read another host in it, so that no line is certain. */
#define CONF_CLIENT_CA_STRANGE UINT32_MAX
uint32_t conf_client_ca_of_host(const struct conf_client_auth *a, struct slice host);
/* The same for the name that a client asks for by SNI, of which the handshake must make something: one that is strange
 * counts as none. */
uint32_t conf_client_ca_of_name(const struct conf_client_auth *a, struct slice name);

#endif
