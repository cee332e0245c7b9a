/* SPDX-License-Identifier: MIT */
/* What explain says of a request that gets no pushes, or no answer of an origin, at all. */
#include "proxy/tool/explain.h"

void explain_http1(FILE *out, const struct conf_listen *listen)
{
	static const char answer[] =
	    "\"505 HTTP Version Not Supported\" and the end of the connection";
	if (listen)
		fprintf(out, "listen %s\n", listen->name);
	fprintf(out, "\nPushgate speaks only HTTP/2 with clients. ");
	if (listen && listen->certificate_count > 0)
		fprintf(out,
		    "A client that offers only http/1.1 by ALPN fails in the\n"
		    "TLS handshake, with the alert no_application_protocol. One without ALPN gets\n"
		    "%s.\n",
		    answer);
	else
		fprintf(out, "A client with HTTP/1.1 gets\n%s.\n", answer);
	fputs("Nothing is sent to an origin.\n", out);
}

void explain_no_pushes(FILE *out, const struct conf_origin *origin, bool has_promises)
{
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
	const struct conf_listen *listen = x->context.listen;
	if (cause == &relay_cause_UNTRUSTED_SCHEME && listen->certificate_count > 0)
		return "This listener speaks TLS: a client with http cannot use it. `trusted` is "
		       "for "
		       "proxies that\nhave ended their clients' connections.";
	if (cause == &relay_cause_UNTRUSTED_SCHEME)
		return "This listener has no certificate: a client with https cannot use it. If "
		       "TLS "
		       "ends in a\nproxy before pushgate, name that proxy's address in `trusted`.";
	if (cause == &relay_cause_MISDIRECTED)
		return "A [route] section with this host, or one without host, would take it.";
	if (cause == &relay_cause_NO_ROUTE)
		return "The [route] sections for this host have other paths; one without path "
		       "would "
		       "take it.";
	return NULL;
}

void explain_refusal(
    FILE *out, const struct exchange *x, const struct relay_cause *cause, const char *detail)
{
	const char *advice = advice_for(x, cause);
	if (x->context.listen)
		fprintf(out, "listen %s\n", x->context.listen->name);
	fprintf(out, "answered %u by the gateway itself: %s\n", cause->status,
	    detail ? detail : cause->name);
	if (advice)
		fprintf(out, "\n%s\n", advice);
}
