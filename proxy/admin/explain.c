/* SPDX-License-Identifier: MIT */
/* /api/explain: what `pushgate explain` prints for a request, and for what an origin promises with it. */
#include "proxy/admin/admin_private.h"
#include "proxy/admin/json.h"
#include "proxy/admin/query.h"
#include "proxy/base/memory.h"

struct explanation {
	struct budget *budget;
	char *text; /* owned */
	size_t length, charge;
};

static enum admin_step produce(void *context, struct admin_output *output, FILE *out)
{
	const struct explanation *e = context;
	struct json j = {.out = out};
	(void)output;
	put_open(&j, NULL, '{');
	put_slice(&j, "text", slice_of(e->text, e->length));
	put_close(&j, '}');
	putc('\n', out);
	return ADMIN_ENDS;
}

static void free_explanation(void *context)
{
	struct explanation *e = context;
	budget_give(e->budget, e->charge);
	free(e->text);
	free(e);
}

static const char *explain(const struct admin_env *env, struct slice query, FILE *out)
{
	char url[2048], promise[2048], client[16], address[64], cert[512];
	const struct admin_question q = {
	    .url = url, .promise = promise, .client = client, .address = address, .cert = cert};
	query_value(query, "url", url, sizeof(url));
	query_value(query, "promise", promise, sizeof(promise));
	query_value(query, "client", client, sizeof(client));
	query_value(query, "address", address, sizeof(address));
	query_value(query, "cert", cert, sizeof(cert));
	if (!env->explain)
		return "nothing explains here";
	return *url ? env->explain(env->context, &q, out) : "url is missing";
}

void admin_explain(struct admin_request *r)
{
	static const struct admin_producer producer = {
	    .produce = produce, .free = free_explanation};
	struct explanation *e = memory_new(struct explanation);
	e->budget = &r->admin->env.worker->budget;
	FILE *out = open_memstream(&e->text, &e->length);
	const char *wrong = out ? explain(&r->admin->env, r->query, out) : "memory is short";
	if (out)
		fclose(out);
	if (wrong) {
		free_explanation(e);
		r->answer->status = 400;
		r->answer->details = wrong;
		return;
	}
	budget_adjust(e->budget, &e->charge, e->length);
	admin_json_type(r);
	admin_answer_with(r, &producer, e);
}
