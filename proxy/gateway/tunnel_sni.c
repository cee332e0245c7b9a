/* SPDX-License-Identifier: MIT */
/*
 * tunnel-sni = match: the first bytes of a client's tunnel are a ClientHello that names the host of its CONNECT, or
 * the tunnel ends. Without that a client asks for one host and speaks to another one behind the same addresses.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/http/authority.h"
#include "proxy/http/host.h"

static size_t copy_first(const struct body *body, char bytes[NET_HELLO_BYTES])
{
	struct body_mark mark = {0};
	size_t n = 0;
	while (n < NET_HELLO_BYTES) {
		struct piece p = body_next(body, &mark, NET_HELLO_BYTES - n);
		if (p.length == 0)
			break;
		memcpy(bytes + n, p.chunk->data + p.offset, p.length);
		n += p.length;
	}
	return n;
}

/* NULL: it names the host. A client names no address in a ClientHello (RFC 6066 3). */
static const char *what_is_wrong(struct exchange *x, const char *named)
{
	char host[HTTP_HOST_TEXT], text[NET_HELLO_NAME_BYTES + 64];
	struct http_authority authority;
	struct address address;
	enum http_host_kind kind = HTTP_HOST_STRANGE;
	if (http_authority_parse(x->request->authority, SLICE(""), &authority))
		kind = http_host_read(authority.host, host, &address);
	if (*named ? kind == HTTP_HOST_NAME && strcmp(host, named) == 0 : kind == HTTP_HOST_ADDRESS)
		return NULL;
	if (!*named)
		return "the ClientHello names no host";
	snprintf(text, sizeof(text), "the ClientHello names another host: %s", named);
	return exchange_keep_text(x, text);
}

enum relay_look gateway_tunnel_look(void *context, struct exchange *x, const char **detail)
{
	char bytes[NET_HELLO_BYTES], named[NET_HELLO_NAME_BYTES];
	size_t n = copy_first(&x->upload.body, bytes);
	(void)context;
	switch (net_read_hello(slice_of(bytes, n), named)) {
	case NET_HELLO_MORE:
		*detail = "the ClientHello is too long or not whole";
		return n < NET_HELLO_BYTES ? RELAY_LOOKS_AGAIN : RELAY_REFUSES;
	case NET_HELLO_OTHER:
		*detail = "the tunnel does not begin with a ClientHello";
		return RELAY_REFUSES;
	case NET_HELLO_WHOLE:
		*detail = what_is_wrong(x, named);
		return *detail ? RELAY_REFUSES : RELAY_LETS_PASS;
	}
	return RELAY_REFUSES;
}
