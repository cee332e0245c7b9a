/* SPDX-License-Identifier: MIT */
/* Socket addresses and their text form. Names are looked up for commands alone, see net_resolve. */
#include "proxy/base/ensure.h"
#include "proxy/net/net.h"
#include "proxy/net/sys.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/un.h>

void net_address_set_ip(struct net_address *a, const struct address *ip, uint16_t port)
{
	*a = (struct net_address){0};
	if (ip->family == 4) {
		a->in.sin_family = AF_INET;
		a->in.sin_port = htons(port);
		memcpy(&a->in.sin_addr, ip->bytes, 4);
		a->length = sizeof(a->in);
	} else {
		a->in6.sin6_family = AF_INET6;
		a->in6.sin6_port = htons(port);
		memcpy(&a->in6.sin6_addr, ip->bytes, 16);
		a->length = sizeof(a->in6);
	}
}

static const char *parse_unix(struct slice path, struct net_address *a)
{
	if (path.len == 0 || path.ptr[0] != '/')
		return "a unix socket needs an absolute path";
	if (path.len >= sizeof(a->un.sun_path))
		return "the path of the unix socket is too long";
	if (memchr(path.ptr, '\0', path.len))
		return "the path of the unix socket has a NUL in it";
	*a = (struct net_address){0};
	a->un.sun_family = AF_UNIX;
	memcpy(a->un.sun_path, path.ptr, path.len);
	a->length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.len + 1);
	return NULL;
}

const char *net_address_parse(struct slice text, struct net_address *a)
{
	if (slice_starts_with(text, SLICE("unix:")))
		return parse_unix(slice_from(text, 5), a);
	size_t colon = text.len;
	while (colon > 0 && text.ptr[colon - 1] != ':')
		colon--;
	if (colon == 0)
		return "a port is missing: ADDRESS:PORT";
	struct slice host = slice_sub(text, 0, colon - 1);
	uint64_t port;
	if (!slice_to_number(slice_from(text, colon), 65535, &port))
		return "the port is not a number up to 65535";
	struct address ip = {.family = 6}; /* for "*": ::, which listens for IPv4 as well */
	if (slice_equal(host, SLICE("*"))) {
		net_address_set_ip(a, &ip, (uint16_t)port);
		return NULL;
	}
	bool has_brackets = host.len >= 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']';
	if (has_brackets)
		host = slice_sub(host, 1, host.len - 2);
	else if (slice_find(host, ':') < host.len)
		return "an IPv6 address needs brackets: [ADDRESS]:PORT";
	if (!address_parse(host, &ip))
		return "not an IP address";
	if (has_brackets && slice_find(host, ':') == host.len)
		return "brackets are for IPv6 addresses";
	net_address_set_ip(a, &ip, (uint16_t)port);
	return NULL;
}

size_t net_resolve(
    const char *host, uint16_t port, struct net_address *out, size_t most, const char **error)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	char service[8];
	snprintf(service, sizeof(service), "%u", (unsigned)port);
	int r = getaddrinfo(host, service, &hints, &found);
	if (r != 0) {
		*error = r == EAI_AGAIN ? "the resolver does not answer" : gai_strerror(r);
		return 0;
	}
	size_t n = 0;
	for (const struct addrinfo *f = found; f && n < most; f = f->ai_next) {
		if (f->ai_family != AF_INET && f->ai_family != AF_INET6)
			continue;
		out[n] = (struct net_address){.length = f->ai_addrlen};
		memcpy(out[n++].bytes, f->ai_addr, f->ai_addrlen);
	}
	freeaddrinfo(found);
	if (n == 0)
		*error = "no address";
	return n;
}

char *net_address_format(const struct net_address *a, char *buffer, size_t size)
{
	char ip[INET6_ADDRSTRLEN];
	size_t path_at = offsetof(struct sockaddr_un, sun_path);
	if (a->length >= sizeof(a->in) && a->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->in.sin_addr, ip, sizeof(ip));
		snprintf(buffer, size, "%s:%u", ip, (unsigned)ntohs(a->in.sin_port));
	} else if (a->length >= sizeof(a->in6) && a->any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a->in6.sin6_addr, ip, sizeof(ip));
		snprintf(buffer, size, "[%s]:%u", ip, (unsigned)ntohs(a->in6.sin6_port));
	} else if (a->length > path_at && a->any.sa_family == AF_UNIX && a->un.sun_path[0]) {
		snprintf(buffer, size, "unix:%.*s",
		    (int)strnlen(a->un.sun_path, (size_t)a->length - path_at), a->un.sun_path);
	} else {
		snprintf(buffer, size, "unix:");
	}
	return buffer;
}

void net_address_ip(const struct net_address *a, struct address *ip)
{
	*ip = (struct address){0};
	if (a->length >= sizeof(a->in) && a->any.sa_family == AF_INET)
		address_of_bytes(ip, &a->in.sin_addr, 4);
	else if (a->length >= sizeof(a->in6) && a->any.sa_family == AF_INET6)
		address_of_bytes(ip, &a->in6.sin6_addr, 16);
}

uint16_t net_address_port(const struct net_address *a)
{
	if (a->any.sa_family == AF_INET)
		return ntohs(a->in.sin_port);
	if (a->any.sa_family == AF_INET6)
		return ntohs(a->in6.sin6_port);
	return 0;
}

bool net_address_equal(const struct net_address *a, const struct net_address *b)
{
	struct address left, right;
	if (a->any.sa_family != b->any.sa_family)
		return false;
	if (a->any.sa_family == AF_UNIX)
		return strcmp(a->un.sun_path, b->un.sun_path) == 0;
	net_address_ip(a, &left);
	net_address_ip(b, &right);
	return memcmp(&left, &right, sizeof(left)) == 0 &&
	       net_address_port(a) == net_address_port(b);
}

bool net_address_is_any(const struct net_address *a)
{
	if (a->any.sa_family == AF_INET)
		return a->in.sin_addr.s_addr == INADDR_ANY;
	return a->any.sa_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&a->in6.sin6_addr);
}

/* Whether a listens on the port of each address that has the family of b. */
static bool covers(const struct net_address *a, const struct net_address *b)
{
	return net_address_is_any(a) &&
	       (a->any.sa_family == AF_INET6 || a->any.sa_family == b->any.sa_family);
}

bool net_address_overlaps(const struct net_address *a, const struct net_address *b)
{
	return net_address_port(a) == net_address_port(b) &&
	       (covers(a, b) || covers(b, a) || net_address_equal(a, b));
}

bool net_peer_of(int fd, struct net_address *peer)
{
	*peer = (struct net_address){.length = NET_ADDRESS_BYTES};
	if (net_sys_getpeername(fd, &peer->any, &peer->length) == 0)
		return true;
	peer->length = 0;
	return false;
}

bool net_source_is_given(const struct net_source *s)
{
	return s->ipv4.length > 0 || s->ipv6.length > 0;
}

bool net_source_reaches(const struct net_source *s, const struct net_address *to)
{
	if (!net_source_is_given(s))
		return true;
	if (to->any.sa_family == AF_INET)
		return s->ipv4.length > 0;
	return to->any.sa_family != AF_INET6 || s->ipv6.length > 0;
}
