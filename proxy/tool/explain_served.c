/* SPDX-License-Identifier: MIT */
/* Explains a request in a worker, for the pages of its admin listeners: with the tables and manifests that it serves with. */
#include "proxy/tool/explain.h"
#include "proxy/tool/tool.h"

static const char *read_client(struct explain_options *o, const struct tool_question *q)
{
	const char *wrong = *q->client ? explain_set_client(o, q->client) : NULL;
	if (!wrong && *q->address)
		wrong = explain_set_client(o, q->address);
	if (!o->has_address)
		address_parse(EXPLAIN_ADDRESS, &o->address);
	return wrong;
}

const char *tool_explain_question(const struct tool_question *q, const struct conf *conf,
    const struct router_tables *tables, const struct manifests *manifests, FILE *out)
{
	const struct explain_served served = {
	    .tables = tables, .manifests = manifests, .remembered = q->remembered};
	struct explain_options o = {.served = &served, .url = q->url, .status = 200};
	const char *wrong = read_client(&o, q);
	if (wrong)
		return wrong;
	if (explain_connect(q->url).len > 0)
		return "write a URL";
	if (*q->cert && !explain_is_cert_name(q->cert))
		return "write a name of the certificate, such as subject:CN=alice";
	if (*q->cert)
		o.certs[o.cert_count++] = q->cert;
	if (*q->promise)
		o.promises[o.promise_count++] = q->promise;
	explain_url(&o, conf, out, out);
	return NULL;
}
