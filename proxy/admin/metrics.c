/* SPDX-License-Identifier: MIT */
/*
 * /metrics: the samples of `pushgate status`, for Prometheus. All counters are added up when the answer begins, so that
 * its samples fit together and none goes back from one answer to the next, whichever worker makes it; then they are printed.
 * Both is done a part at a time.
 */
#include "proxy/admin/admin_private.h"

#include "proxy/admin/openmetrics.h"
#include "proxy/base/memory.h"
#include "proxy/http/accept.h"

/* Prometheus 3 takes these types and no others. */
#define TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"
#define TYPE_OPENMETRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* The charge for one answer, beside what the ledger has of generations that have ended. */
#define METRICS_BYTES 262144u

/* The master writes the ledger for a fraction of a millisecond. If it was stopped meanwhile, the answer fails. */
#define BUSY_USEC USEC_PER_MSEC
#define BUSY_TRIES 1000u

struct metrics {
	struct admin *admin;
	bool is_openmetrics, is_added_up;
	unsigned tries;
	size_t charge;
	struct ledger_status *status; /* NULL: there is no ledger, or it was not read yet */
	struct status alone;          /* without a ledger */
	struct totals *sum;           /* of that; owned */
	struct status_mark mark;
};

static const struct status *status_of(const struct metrics *m)
{
	return m->status ? ledger_status_of(m->status) : &m->alone;
}

/* Of a worker that knows of no other. */
static void count_alone(struct metrics *m)
{
	const struct worker_env *worker = m->admin->env.worker;
	m->alone = (struct status){.slots = worker->observe->counters,
	    .worker_count = 1,
	    .health_table = worker->health_table,
	    .conf = worker->conf};
	m->sum = status_sum(&m->alone);
	m->is_added_up = true;
}

/* False: the ledger cannot be read now. */
static bool add_up(struct metrics *m)
{
	const struct admin_env *env = &m->admin->env;
	struct worker_env *worker = env->worker;
	if (!env->view) {
		count_alone(m);
		return true;
	}
	if (m->status) {
		m->is_added_up = !ledger_status_add_up(m->status);
		return true;
	}
	m->status = ledger_status_new(env->view, worker->health_table, net_now(worker->loop));
	if (m->status)
		budget_adjust(
		    &worker->budget, &m->charge, METRICS_BYTES + ledger_status_bytes(m->status));
	return m->status != NULL;
}

static bool print_some(struct metrics *m, FILE *out)
{
	struct totals *sum = m->status ? ledger_status_sum(m->status) : m->sum;
	return status_print_some(status_of(m), sum, &m->mark, out);
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
	budget_give(&m->admin->env.worker->budget, m->charge);
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
	m->charge = METRICS_BYTES;
	m->is_openmetrics = is_openmetrics;
	r->answer->content_type = is_openmetrics ? TYPE_OPENMETRICS : TYPE_TEXT;
	admin_answer_with(r, &producer, m);
}
