/* SPDX-License-Identifier: MIT */
/* Which page answers a request, and what all of their answers have in common. */
#include "proxy/admin/admin_private.h"

/* ---- a request ---- */

void admin_request(struct admin *a, struct exchange *x)
{
	const char *why = admin_refuses(a, x);
	if (why)
		exchange_refuse(x, &relay_cause_ACCESS_DENIED, why);
	else
		exchange_refuse(x, &relay_cause_ADMIN_PAGE, NULL);
}

static const struct admin_page *find_page(const struct admin *a, struct slice path)
{
	for (size_t i = 0; i < a->page_count; i++) {
		const struct admin_page *p = &a->pages[i];
		if (p->is_folder ? slice_starts_with(path, p->path) : slice_equal(path, p->path))
			return p;
	}
	return NULL;
}

static bool takes_method(const struct admin_page *page, struct slice method)
{
	struct slice methods = page->methods, m;
	while (slice_next_member(&methods, &m))
		if (slice_equal(m, method))
			return true;
	return false;
}

void admin_put_off(struct admin_request *r, const char *why)
{
	r->answer->status = 503;
	r->answer->details = why;
	r->answer->retry_after = 1;
}

static void answer_page(struct admin *a, struct exchange *x, struct http_own_answer *answer)
{
	struct slice query = x->request->path, path = slice_cut(&query, '?');
	const struct admin_page *page = find_page(a, path);
	answer->details = NULL;
	answer->content_type = "text/plain";
	if (!page) {
		answer->status = 404;
		answer->details = "no such page";
	} else if (takes_method(page, x->request->method)) {
		page->answer(&(struct admin_request){.admin = a,
		    .exchange = x,
		    .below = slice_from(path, page->path.len),
		    .query = query,
		    .answer = answer});
	} else {
		answer->status = 405;
		answer->allow = page->methods;
	}
	if (answer->details)
		x->ending.detail = exchange_keep_text(x, answer->details); /* for the log */
}

/* A page of another site can neither use an answer as its own resource nor put it into a frame, and the browser does not
 * guess another type. */
static const struct http_own_field seclusion[] = {
    {SLICE_INIT("x-content-type-options"), SLICE_INIT("nosniff")},
    {SLICE_INIT("content-security-policy"),
	SLICE_INIT(
	    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'")},
    {SLICE_INIT("cross-origin-resource-policy"), SLICE_INIT("same-origin")},
    {SLICE_INIT("referrer-policy"), SLICE_INIT("no-referrer")},
};

void admin_own_answer(struct admin *a, struct exchange *x, struct http_own_answer *answer)
{
	answer->is_momentary = true;
	answer->more = seclusion;
	answer->more_count = sizeof(seclusion) / sizeof(seclusion[0]);
	if (x->ending.cause == &relay_cause_ADMIN_PAGE)
		answer_page(a, x, answer);
}

void admin_json_type(struct admin_request *r)
{
	r->answer->content_type = "application/json";
}

/* ---- a loop pass ---- */

usec admin_due(const struct admin *a)
{
	return list_is_empty(&a->ready) ? USEC_NEVER : net_now(a->env.worker->loop);
}

void admin_drain(struct admin *a)
{
	a->is_draining = true;
	admin_outputs_end(a);
}
