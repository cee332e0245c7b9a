/* SPDX-License-Identifier: MIT */
/*
 * /metrics: the samples of `pushgate status`, for Prometheus. All counters are added up when the answer begins, so that
 * its samples fit together and none goes back from one answer to the next, whichever worker makes it; then they are printed.
 * Both is done a part at a time.
 */
#include "proxy/admin/admin_private.h"

#include "proxy/admin/openmetrics.h"
#include "proxy/admin/sums.h"
#include "proxy/base/memory.h"
#include "proxy/http/accept.h"

/* Prometheus 3 takes these types and no others. */
#define TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"
#define TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* The memory that one answer takes, without the sums of counters that are made for it. */
#define METRICS_BYTES 262144u

struct metrics {
	struct admin *admin;
	bool is_openmetrics, has_begun, is_added_up;
	unsigned tries;
	size_t charge;
	struct sums sums;
	struct status_mark mark;
};

/* False: the ledger cannot be read now. */
static bool add_up(struct metrics *m)
{
	if (m->has_begun) {
		m->is_added_up = !sums_add_up(&m->sums);
		return true;
	}
	m->has_begun = sums_begin(&m->sums, &m->admin->env, true);
	return m->has_begun;
}

static bool print_some(struct metrics *m, FILE *out)
{
	return status_print_some(sums_status(&m->sums), m->sums.all, &m->mark, out);
}

static enum admin_step print_openmetrics(struct metrics *m, FILE *out)
{
	char *text = NULL;
	size_t size = 0;
	FILE *plain = open_memstream(&text, &size);
	if (!plain)
		return ADMIN_FAILS;
	bool goes_on = print_some(m, plain);
	bool is_whole = !ferror(plain);
	is_whole = fclose(plain) == 0 && is_whole;
	if (is_whole)
		openmetrics_write(slice_of(text, size), out);
	if (!goes_on)
		fputs("# EOF\n", out);
	free(text);
	if (!is_whole)
		return ADMIN_FAILS;
	return goes_on ? ADMIN_GOES_ON : ADMIN_ENDS;
}

static enum admin_step produce(void *context, struct admin_output *output, FILE *out)
{
	struct metrics *m = context;
	if (!m->is_added_up) {
		if (add_up(m))
			return ADMIN_GOES_ON;
		admin_output_wake_at(output, net_now(m->admin->env.worker->loop) + SUMS_BUSY_USEC);
		return ++m->tries < SUMS_BUSY_TRIES ? ADMIN_SLEEPS : ADMIN_FAILS;
	}
	if (m->is_openmetrics)
		return print_openmetrics(m, out);
	return print_some(m, out) ? ADMIN_GOES_ON : ADMIN_ENDS;
}

static void metrics_free(void *context)
{
	struct metrics *m = context;
	budget_give(&m->admin->env.worker->budget, m->charge);
	sums_fini(&m->sums);
	free(m);
}

static const struct admin_producer producer = {.produce = produce, .free = metrics_free};

void admin_answer_metrics(struct admin_request *r)
{
	struct admin *a = r->admin;
	bool is_openmetrics = http_accept_takes(
	    r->exchange->request, SLICE("application/openmetrics-text"), SLICE("text/plain"));
	/* It does not see what the workers of the next generation have counted. */
	const struct ledger_view *view = a->env.view;
	if (a->is_draining || (view && !ledger_view_is_complete(view))) {
		admin_put_off(r, "this worker drains");
		return;
	}
	size_t charge = METRICS_BYTES + (view ? ledger_view_bytes(view) : 0);
	if (!budget_take(&a->env.worker->budget, charge)) {
		admin_put_off(r, "memory is short");
		return;
	}
	struct metrics *m = memory_new(struct metrics);
	m->admin = a;
	m->charge = charge;
	m->is_openmetrics = is_openmetrics;
	WORKER_COUNT(a->env.worker, scrapes, 1);
	r->answer->content_type = is_openmetrics ? TYPE_OPENMETRICS : TYPE_TEXT;
	admin_answer_with(r, &producer, m);
}
