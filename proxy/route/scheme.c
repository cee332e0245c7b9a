/* SPDX-License-Identifier: MIT */
/*
 * The scheme of a request (RFC 9110 7.4): that of the connection that it came on, unless the peer is
 * in the listener's `trusted`. A PROXY header may say that the client's connection was over TLS. A trusted
 * peer may say another scheme: in the target, or, when that has none, in X-Forwarded-Proto or Forwarded
 * (RFC 7239).
 */
#include "proxy/route/route.h"

#include "proxy/base/rare.h"
#include "proxy/http/authority.h"
#include "proxy/relay/relay.h"

static struct slice scheme_of(const struct request_facts *f)
{
	bool is_https = f->listener->certificate_count > 0 || (f->ends && f->ends->is_https);
	return is_https ? SLICE("https") : SLICE("http");
}

bool route_may_use_scheme(const struct request_facts *f, struct slice scheme)
{
	const struct conf_listen *l = f->listener;
	return !l || slice_equal_nocase(scheme, scheme_of(f)) || conf_listen_trusts(l, &f->peer);
}

static RARE const struct relay_cause *check_other_scheme(
    const struct request_facts *f, const char **detail)
{
	struct slice scheme = f->head->scheme;
	if (!http_scheme_is_http(scheme))
		return *detail = "no scheme that is served here", &relay_cause_MISDIRECTED;
	if (route_may_use_scheme(f, scheme))
		return NULL;
	*detail = slice_equal(scheme_of(f), SLICE("https"))
		      ? "http over TLS, and the peer is not in trusted"
		      : "https in cleartext, and the peer is not in trusted";
	return &relay_cause_UNTRUSTED_SCHEME;
}

const struct relay_cause *route_check_scheme(const struct request_facts *f, const char **detail)
{
	if (f->listener && slice_equal(f->head->scheme, scheme_of(f)))
		return NULL;
	return check_other_scheme(f, detail);
}

/* ---- what a proxy before us says ---- */

/* `proto` of the last element, which the nearest proxy has added; empty: it has none, or several. */
static struct slice forwarded_proto(struct slice value)
{
	struct slice last;
	if (!peer_last_member(&value, &last, true))
		return SLICE("");
	return peer_unquoted(peer_forwarded_value(last, SLICE("proto=")));
}

void route_adopt_scheme(
    const struct conf_listen *l, const struct address *peer, struct http_head *head)
{
	uint32_t lines, ignored;
	if (!head->scheme_from_connection || !conf_listen_trusts(l, peer))
		return;
	const struct http_field *x =
	    http_head_find_last(head, HTTP_TOKEN_X_FORWARDED_PROTO, &lines);
	const struct http_field *f = http_head_find_last(head, HTTP_TOKEN_FORWARDED, &ignored);
	struct slice proto = f ? forwarded_proto(f->value) : SLICE("");
	/* A proxy sets one of them, and may pass on the other as its client has sent it: both must say
	 * the same. */
	if (x) {
		struct slice said = lines == 1 ? http_scheme_known(x->value) : SLICE("");
		if (said.len > 0 && (proto.len == 0 || slice_equal_nocase(said, proto)))
			head->scheme = said;
	} else if (http_scheme_known(proto).len > 0) {
		head->scheme = http_scheme_known(proto);
	}
}
