/* SPDX-License-Identifier: MIT */
/* Prints why a request gets no pushes, or no answer of an origin, at all; and in which arm a page load is. */
#include "proxy/tool/explain.h"

bool explain_unspoken(FILE *out, const struct conf_listen *listen, enum http_version version)
{
	bool is_http2 = version == HTTP_VERSION_2;
	if (!listen || (listen->protocols & (is_http2 ? CONF_HTTP2 : CONF_HTTP1)))
		return false;
	fprintf(out, "listen %s\n\nThe listener has protocols = %s. ", listen->name,
	    is_http2 ? "http/1.1" : "h2");
	if (listen->certificate_count > 0)
		fprintf(out,
		    "A client that offers only %s by ALPN fails in the\n"
		    "TLS handshake, with the alert no_application_protocol.\n",
		    is_http2 ? "h2" : "http/1.1");
	if (!is_http2)
		fprintf(out,
		    "%s gets\n\"505 HTTP Version Not Supported\" and the end of the connection.\n",
		    listen->certificate_count > 0 ? "One without ALPN" : "A client with HTTP/1.1");
	else if (listen->certificate_count == 0)
		fputs("A client with HTTP/2 gets no answer in it.\n", out);
	fputs("Nothing is sent to an origin.\n", out);
	return true;
}

void explain_interim(FILE *out, const struct explain_scene *s, uint16_t status)
{
	const struct policy_reason *refusal =
	    offer_interim_refusal(&s->base, &s->client, s->x, status);
	if (refusal == &policy_reason_NO_INTERIM)
		fputs("\nA rule with interim = no: the client does not get the interim response.\n",
		    out);
	else if (refusal)
		fprintf(out, "\n%s\nThis one gets none, unless a rule has interim = yes.\n",
		    refusal->sentence);
}

void explain_arm(FILE *out, const struct exchange *x)
{
	const struct conf_arm *arm = offer_part(x)->arm;
	if (arm)
		fprintf(out,
		    "\narm %s: by its address this client gets %s [preload] sections with share\n",
		    arm->text, arm->is_on ? "the offers of" : "no offers of");
}

bool explain_is_without_pushes(const struct exchange *x)
{
	const struct conf_origin *origin = x->place.origin;
	bool is_cleartext = slice_equal(x->request->scheme, SLICE("http"));
	return origin->protocols == CONF_HTTP1 ||
	       (origin->kind == CONF_ORIGIN_FORWARD && is_cleartext);
}

void explain_no_pushes(FILE *out, const struct exchange *x, bool has_promises)
{
	const struct conf_origin *origin = x->place.origin;
	if (origin->kind == CONF_ORIGIN_FORWARD && explain_is_without_pushes(x)) {
		fputs("\nIn forward mode origins of http are spoken to in HTTP/1.1, which has no "
		      "pushes: they make no promises.\n",
		    out);
		return;
	}
	if (origin->protocols == CONF_HTTP1) {
		fprintf(out,
		    "\n[origin %s] speaks HTTP/1.1, which has no pushes: it makes no promises.\n",
		    origin->name);
		return;
	}
	fputs("\nThe origin is asked with ENABLE_PUSH=0, ", out);
	if (origin->push == CONF_PUSH_REFUSE)
		fprintf(out, "since [origin %s] has push = refuse", origin->name);
	else
		fputs("since every push for this request would be dropped", out);
	fputs(":\nit makes no promises.", out);
	if (has_promises)
		fputs(" If it made one all the same, pushgate would end that connection to\n"
		      "the origin with PROTOCOL_ERROR.",
		    out);
	fputc('\n', out);
}

static const char *advice_for(const struct exchange *x, const struct relay_cause *cause)
{
	const struct conf_listen *listen = x->facts.listener;
	if (cause == &relay_cause_UNTRUSTED_SCHEME && listen->certificate_count > 0)
		return "This listener speaks TLS: a client with http cannot use it. `trusted` is "
		       "for proxies that\nhave ended their clients' connections.";
	if (cause == &relay_cause_UNTRUSTED_SCHEME)
		return "This listener has no certificate: a client with https cannot use it. If "
		       "TLS "
		       "ends in a\nproxy before pushgate, name that proxy's address in `trusted`.";
	if (cause == &relay_cause_MISDIRECTED)
		return "A [route] section with this host, or one without host, would take it.";
	if (cause == &relay_cause_NO_ROUTE)
		return "The [route] sections for this host have other paths; one without path "
		       "would take it.";
	return NULL;
}

void explain_refusal(
    FILE *out, const struct exchange *x, const struct relay_cause *cause, const char *detail)
{
	const char *advice = advice_for(x, cause);
	if (x->facts.listener)
		fprintf(out, "listen %s\n", x->facts.listener->name);
	fprintf(out, "answered %u by the gateway itself: %s\n", cause->status,
	    detail ? detail : cause->name);
	if (advice)
		fprintf(out, "\n%s\n", advice);
}
