/* SPDX-License-Identifier: MIT */
/*
 * /metrics: the samples of `pushgate status`, for Prometheus. All counters are added up at once when the answer begins, so
 * that its samples fit together and none goes back from one answer to the next, whichever worker makes it; they are printed a
 * part at a time.
 */
#include "proxy/admin/admin_private.h"

#include "proxy/admin/openmetrics.h"
#include "proxy/base/memory.h"
#include "proxy/http/accept.h"

/* Prometheus 3 takes these types and no others. */
#define TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"
#define TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* The charge for one answer: what is added up has bounds of its own (admin/totals.h). */
#define METRICS_BYTES 262144u

/* The master writes the ledger for a fraction of a millisecond. If it was stopped meanwhile, the answer fails. */
#define BUSY_USEC USEC_PER_MSEC
#define BUSY_TRIES 1000u

struct metrics {
	struct admin *admin;
	bool is_openmetrics;
	unsigned tries;
	struct ledger_status *status; /* NULL: there is no ledger, or it was not read yet */
	struct status alone;          /* without a ledger */
	struct totals *sum;           /* NULL: nothing is added up yet */
	struct status_mark mark;
};

static const struct status *status_of(const struct metrics *m)
{
	return m->status ? ledger_status_of(m->status) : &m->alone;
}

/* False: the ledger cannot be read now. */
static bool begin(struct metrics *m)
{
	const struct admin_env *env = &m->admin->env;
	const struct worker_env *worker = env->worker;
	if (env->view)
		m->status =
		    ledger_status_new(env->view, worker->health_table, net_now(worker->loop));
	else
		m->alone = (struct status){.slots = worker->observe->counters,
		    .worker_count = 1,
		    .health_table = worker->health_table,
		    .conf = worker->conf};
	if (env->view && !m->status)
		return false;
	m->sum = status_sum(status_of(m));
	return true;
}

static bool print_some(struct metrics *m, FILE *out)
{
	return status_print_some(status_of(m), m->sum, &m->mark, out);
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
	if (!m->sum && !begin(m)) {
		admin_output_wake_at(output, net_now(m->admin->env.worker->loop) + BUSY_USEC);
		return ++m->tries < BUSY_TRIES ? ADMIN_SLEEPS : ADMIN_FAILS;
	}
	if (m->is_openmetrics)
		return print_openmetrics(m, out);
	return print_some(m, out) ? ADMIN_GOES_ON : ADMIN_ENDS;
}

static void metrics_free(void *context)
{
	struct metrics *m = context;
	budget_give(&m->admin->env.worker->budget, METRICS_BYTES);
	totals_free(m->sum);
	ledger_status_free(m->status);
	free(m);
}

static const struct admin_producer producer = {.produce = produce, .free = metrics_free};

void admin_answer_metrics(struct admin_request *r)
{
	struct admin *a = r->admin;
	bool is_openmetrics = http_accept_takes(
	    r->exchange->request, SLICE("application/openmetrics-text"), SLICE("text/plain"));
	/* It does not see what the workers of the next generation have counted. */
	if (a->is_draining) {
		admin_put_off(r, "this worker drains");
		return;
	}
	if (!budget_take(&a->env.worker->budget, METRICS_BYTES)) {
		admin_put_off(r, "memory is short");
		return;
	}
	struct metrics *m = memory_new(struct metrics);
	m->admin = a;
	m->is_openmetrics = is_openmetrics;
	r->answer->content_type = is_openmetrics ? TYPE_OPENMETRICS : TYPE_TEXT;
	admin_answer_with(r, &producer, m);
}
