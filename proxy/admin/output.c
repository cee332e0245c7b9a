/* SPDX-License-Identifier: MIT */
/*
 * Answers whose bytes are made while they are sent. An output is the upstream leg of its exchange:
 *
 *   producer ─ produce ─► output ─ leg up ─ exchange ─ leg down ─► client
 *
 * admin_run asks the producer for bytes when those before have gone to the exchange, and gives the exchange no more than
 * WINDOW_BYTES that its client has not taken. So a client that does not read costs no further bytes, and the deadlines of
 * the exchange end it.
 *
 *   ready ── nothing to say ──► asleep ── wake, or a time ──► ready
 *     │ ▲                                                       │
 *     │ └── the client has taken bytes ── full ◄────────────────┘
 *     └── the end, or the client has left ──► freed
 */
#include "proxy/admin/admin_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"

#include <stdio_ext.h>

/* Of one answer, on their way to the client: enough for a loopback connection to be busy. */
#define WINDOW_BYTES 65536u
/* Producers are asked for so long in one loop pass; the others wait for the next one. */
#define PASS_USEC USEC_PER_MSEC
/* The charge for one, without its text. */
#define OUTPUT_BYTES (sizeof(struct admin_output) + LIMIT_ADMIN_CONTEXT_BYTES)
/* While there is no chunk. */
#define CHUNK_RETRY_USEC (10 * USEC_PER_MSEC)

struct admin_output {
	struct admin *admin;
	struct exchange *exchange;
	const struct admin_producer *producer;
	void *context; /* of the producer; owned */
	struct list link, ready;
	struct wheel_node timer;
	char *text;         /* owned: as produced */
	size_t size, given; /* of it, and of that what the exchange has been given */
	size_t outstanding; /* of what it was given: not taken yet */
	size_t charge;
	enum admin_step step;
	bool is_woken;
};

static struct worker_env *env_of(const struct admin_output *o)
{
	return o->admin->env.worker;
}

static bool is_full(const struct admin_output *o)
{
	return o->outstanding + LIMIT_CHUNK_BYTES > WINDOW_BYTES;
}

static bool may_go_on(const struct admin_output *o)
{
	return !is_full(o) && (o->given < o->size || o->step != ADMIN_SLEEPS || o->is_woken);
}

/* Another loop pass is to run it. */
static void make_ready(struct admin_output *o)
{
	if (list_is_linked(&o->ready) || !may_go_on(o))
		return;
	list_append(&o->admin->ready, &o->ready);
	net_timer_set(&env_of(o)->timer, net_now(env_of(o)->loop));
}

static void output_free(struct admin_output *o)
{
	list_remove(&o->link);
	list_remove(&o->ready);
	wheel_forget(worker_wheel(env_of(o)), &o->timer);
	o->admin->output_count--;
	o->admin->endless_count -= o->producer->is_endless;
	budget_give(&env_of(o)->budget, o->charge);
	o->producer->free(o->context);
	free(o->text);
	free(o);
}

/* ---- the upstream leg ---- */

static struct admin_output *output_of(struct leg *leg)
{
	return leg->carrier;
}

static void leg_send_body(struct leg *leg, const struct flow *flow)
{
	(void)flow;
	ensure(!leg); /* the rest of a request that we answer is dropped */
}

static void leg_send_trailers(struct leg *leg, const struct http_head *trailers)
{
	(void)trailers;
	ensure(!leg);
}

static void leg_reset(struct leg *leg, uint32_t code)
{
	(void)code;
	output_free(output_of(leg));
}

static void leg_credit(struct leg *leg, size_t n)
{
	struct admin_output *o = output_of(leg);
	ensure(n <= o->outstanding);
	o->outstanding -= n;
	make_ready(o);
}

static void leg_detach(struct leg *leg)
{
	output_free(output_of(leg));
}

static const struct leg_ops output_leg_ops = {
    .send_head = leg_sends_no_head,
    .send_body = leg_send_body,
    .send_trailers = leg_send_trailers,
    .promise = leg_promises_nothing,
    .reset = leg_reset,
    .credit = leg_credit,
    .detach = leg_detach,
};

/* ---- a turn ---- */

static enum admin_step ask_producer(struct admin_output *o, FILE *out)
{
	if (o->admin->is_draining && o->producer->is_endless)
		return ADMIN_ENDS;
	return o->producer->produce(o->context, o, out);
}

static void produce(struct admin_output *o)
{
	free(o->text);
	o->text = NULL;
	o->size = o->given = 0;
	o->is_woken = false;
	FILE *out = open_memstream(&o->text, &o->size);
	if (!out) {
		o->step = ADMIN_FAILS;
		return;
	}
	__fsetlocking(out, FSETLOCKING_BYCALLER); /* no other thread writes to it */
	o->step = ask_producer(o, out);
	bool is_whole = !ferror(out);
	if (fclose(out) != 0 || !is_whole)
		o->step = ADMIN_FAILS;
	budget_adjust(&env_of(o)->budget, &o->charge, OUTPUT_BYTES + o->size);
}

/* The exchange has the whole answer, and the output is freed. */
static void end(struct exchange *x, struct admin_output *o)
{
	exchange_on_leg_closed(&x->up);
	output_free(o);
}

/* Gives the exchange up to a chunk. False: the output is gone, or waits for memory. */
static bool give(struct admin_output *o)
{
	struct exchange *x = o->exchange;
	size_t n = o->size - o->given;
	n = n < LIMIT_CHUNK_BYTES ? n : LIMIT_CHUNK_BYTES;
	bool is_end = o->step == ADMIN_ENDS && o->given + n == o->size;
	struct piece piece = {.length = (uint32_t)n};
	if (n > 0) {
		piece.chunk = chunk_acquire(env_of(o)->chunks);
		if (!piece.chunk) {
			admin_output_wake_at(o, net_now(env_of(o)->loop) + CHUNK_RETRY_USEC);
			return false;
		}
		memcpy(piece.chunk->data, o->text + o->given, n);
	}
	o->given += n;
	o->outstanding += n;
	if (n > 0 || is_end)
		exchange_on_download(x, piece, is_end);
	if (n > 0)
		chunk_release(piece.chunk);
	if (exchange_is_over(x)) /* it keeps too much: its leg was reset */
		return false;
	if (is_end)
		end(x, o);
	return !is_end;
}

static void run(struct admin_output *o)
{
	if (o->given == o->size)
		produce(o);
	if (o->step == ADMIN_FAILS)
		exchange_abort(o->exchange, &relay_cause_MEMORY_SHORT, NULL);
	else if (give(o))
		make_ready(o);
}

void admin_run(struct admin *a)
{
	struct admin_output *o;
	struct list turn;
	if (list_is_empty(&a->ready))
		return;
	list_init(&turn);
	list_splice(&turn, &a->ready);
	usec until = clock_monotonic() + PASS_USEC;
	net_note(a->env.worker->loop, "wrote a page of an admin listener");
	do {
		o = list_first(&turn, struct admin_output, ready);
		list_remove(&o->ready);
		run(o);
	} while (!list_is_empty(&turn) && clock_monotonic() < until);
	/* The others come first in the next pass. */
	list_splice(&turn, &a->ready);
	list_splice(&a->ready, &turn);
}

/* ---- life ---- */

static void expired(struct wheel_node *node, usec now)
{
	(void)now;
	admin_output_wake(container_of(node, struct admin_output, timer));
}

void admin_output_wake(struct admin_output *o)
{
	o->is_woken = true;
	make_ready(o);
}

void admin_output_wake_at(struct admin_output *o, usec at)
{
	wheel_set(worker_wheel(env_of(o)), &o->timer, at);
}

void admin_outputs_end(struct admin *a)
{
	list_for_each(&a->outputs, o, struct admin_output, link)
	{
		if (o->producer->is_endless)
			admin_output_wake(o);
	}
}

static bool has_room(const struct admin *a, const struct admin_producer *producer)
{
	return a->output_count < LIMIT_ADMIN_OUTPUTS &&
	       (!producer->is_endless || a->endless_count < LIMIT_ADMIN_ENDLESS_OUTPUTS);
}

bool admin_answer_with(
    struct admin_request *r, const struct admin_producer *producer, void *context)
{
	struct admin *a = r->admin;
	struct exchange *x = r->exchange;
	if (x->method == HTTP_METHOD_HEAD) {
		producer->free(context);
		r->answer->is_streamed = true;
		return true;
	}
	bool is_full = !has_room(a, producer);
	if (is_full || !budget_take(&a->env.worker->budget, OUTPUT_BYTES)) {
		producer->free(context);
		admin_put_off(r, is_full ? "too many answers are being made" : "memory is short");
		return false;
	}
	struct admin_output *o = memory_new(struct admin_output);
	o->admin = a;
	o->exchange = x;
	o->producer = producer;
	o->context = context;
	o->charge = OUTPUT_BYTES;
	list_append(&a->outputs, &o->link);
	list_init(&o->ready);
	wheel_node_init(&o->timer, expired);
	a->output_count++;
	a->endless_count += producer->is_endless;
	r->answer->is_streamed = true;
	exchange_answer_from(x, &(struct leg){.ops = &output_leg_ops, .carrier = o});
	make_ready(o);
	return true;
}
