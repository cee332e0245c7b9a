/* SPDX-License-Identifier: MIT */
/*
 * Who may ask an admin listener. A web page that someone looks at must not reach the pages by way of the browser: whatever
 * name that page's host has in the DNS (DNS rebinding), its Host is not one of ours; and a browser says which site a
 * request comes from (Sec-Fetch-Site, Origin).
 */
#include "proxy/admin/admin_private.h"

#include "proxy/http/authority.h"

/* A name that a line allow of the listener's access has. */
static bool is_allowed_name(const struct conf_access *a, struct slice host)
{
	if (!a)
		return false;
	struct http_host_keys keys;
	http_host_keys_init(&keys, host, a->host_seed);
	for (size_t i = 0; i < a->rule_count; i++) {
		const struct conf_access_rule *r = &a->rules[i];
		if (r->action == CONF_ACCESS_ALLOW && http_host_set_has(&r->hosts, &keys) &&
		    !http_host_set_has_any(&r->hosts))
			return true;
	}
	return false;
}

static bool names_us(const struct admin *a, const struct exchange *x)
{
	struct http_authority authority;
	struct address address;
	char name[HTTP_HOST_TEXT];
	const struct http_head *request = x->request;
	if (request->authority.len == 0) /* HTTP/1.0: no browser leaves Host out */
		return true;
	if (!http_authority_parse(request->authority, request->scheme, &authority))
		return false;
	switch (http_host_read(authority.host, name, &address)) {
	case HTTP_HOST_ADDRESS:
		return true;
	case HTTP_HOST_STRANGE:
		return false;
	case HTTP_HOST_NAME:
		break;
	}
	struct slice host = slice_of_string(name);
	return conf_is_localhost(host, NULL) || is_allowed_name(x->facts.listener->access, host) ||
	       a->env.has_host(a->env.context, x, host);
}

/* "null", which a browser sends in place of an origin that it does not tell, has no scheme. */
static bool is_own_origin(const struct http_head *request, struct slice origin)
{
	struct http_authority theirs, ours;
	size_t colon = slice_find(origin, ':');
	struct slice scheme = slice_sub(origin, 0, colon), rest = slice_from(origin, colon);
	return slice_starts_with(rest, SLICE("://")) &&
	       http_authority_parse(slice_from(rest, 3), scheme, &theirs) &&
	       http_authority_parse(request->authority, request->scheme, &ours) &&
	       http_authority_equal(&theirs, &ours);
}

static bool is_cross_site(const struct http_head *request)
{
	uint32_t sites, origins;
	const struct http_field *site =
	    http_head_find_last(request, HTTP_TOKEN_SEC_FETCH_SITE, &sites);
	const struct http_field *origin = http_head_find_last(request, HTTP_TOKEN_ORIGIN, &origins);
	if (sites > 1 || origins > 1) /* a browser sends one */
		return true;
	/* none: the user has typed the address, or opened a bookmark. same-site: another host, or another port, may be
	 * somebody else's. */
	if (site && !slice_equal(site->value, SLICE("same-origin")) &&
	    !slice_equal(site->value, SLICE("none")))
		return true;
	return origin && !is_own_origin(request, origin->value);
}

/* Without access the listener has an address of this machine alone: the configuration has been checked. A kernel that is
 * told to route such addresses brings others all the same. */
static bool is_local(const struct address *client)
{
	static const struct address ipv6_loopback = {{[15] = 1}, 6};
	return client->family == 0 || (client->family == 4 && client->bytes[0] == 127) ||
	       memcmp(client, &ipv6_loopback, sizeof(*client)) == 0;
}

const char *admin_refuses(const struct admin *a, const struct exchange *x)
{
	if (!x->facts.listener->access && !is_local(&x->facts.client))
		return "the client is on another machine, and the listener has no access";
	if (!names_us(a, x))
		return "the host is no address, and no name of the configuration";
	return is_cross_site(x->request) ? "cross-site request" : NULL;
}
