/* SPDX-License-Identifier: MIT */
/*
 * The loop: libev with one prepare and one check watcher. A loop pass begins in the check watcher
 * (reads the clock, rechecks the connections that asked for it), goes on with the events of the
 * poll, and ends in the prepare watcher: the owner's work, the dirty list, freeing closed
 * connections.
 */
#include "proxy/net/loop.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/net/net_conn.h"
#include <errno.h>

/* Looks at the connections that asked for it before this loop pass. When the pass is used up, the rest stays ahead of
 * connections that are put off in this pass. */
static void recheck(struct net_loop *l)
{
	struct list asked;
	list_init(&asked);
	list_splice(&asked, &l->recheck);
	struct net_conn *c;
	while (!net_turns_are_over(l) && (c = list_first(&asked, struct net_conn, recheck))) {
		list_remove(&c->recheck);
		net_conn_recheck(c);
	}
	list_splice(&asked, &l->recheck);
	list_splice(&l->recheck, &asked);
}

static void pass_begins(struct net_loop *l)
{
	l->now = clock_monotonic();
	l->pass++;
	l->in_pass = true;
	l->note = NULL;
	l->worked_bytes = 0;
	if (!list_is_empty(&l->recheck))
		recheck(l);
}

static void measure_pass(struct net_loop *l)
{
	if (!l->in_pass)
		return;
	l->in_pass = false;
	usec took = clock_monotonic() - l->now;
	if (took > NET_LONG_PASS_USEC && l->report_long_pass)
		l->report_long_pass(l->report_context, took, l->note);
}

/* Flushes each dirty connection once. One that is dirty again waits for the next loop pass. */
static void pass_ends(struct net_loop *l)
{
	if (l->work)
		l->work(l->work_context);
	struct list later;
	list_init(&later);
	struct net_conn *c;
	while ((c = list_first(&l->dirty, struct net_conn, dirty))) {
		list_remove(&c->dirty);
		if (c->pass == l->pass) {
			list_append(&later, &c->dirty);
			continue;
		}
		c->pass = l->pass;
		net_conn_flush(c);
	}
	list_splice(&l->dirty, &later);
	net_conn_reap(l);
	if (list_is_empty(&l->dirty) && list_is_empty(&l->recheck))
		ev_idle_stop(l->ev, &l->idle);
	else
		net_loop_run_again(l);
	measure_pass(l);
}

static void on_prepare(struct ev_loop *ev, ev_prepare *w, int events)
{
	(void)ev, (void)events;
	pass_ends(w->data);
}

static void on_check(struct ev_loop *ev, ev_check *w, int events)
{
	(void)ev, (void)events;
	pass_begins(w->data);
}

static void on_idle(struct ev_loop *ev, ev_idle *w, int events)
{
	(void)ev, (void)w, (void)events;
}

/* Without memory libev ends the program; memory_resize has a reserve. */
static void *resize_for_ev(void *old, long bytes)
{
	if (bytes > 0)
		return memory_resize(old, (size_t)bytes, 1);
	free(old);
	return NULL;
}

struct net_loop *net_loop_new(struct chunk_pool *chunks)
{
	struct net_loop *l = memory_new(struct net_loop);
	ev_set_allocator(resize_for_ev);
	l->ev = ev_loop_new(EVFLAG_AUTO | EVFLAG_NOENV);
	ensure(l->ev != NULL);
	l->chunks = chunks;
	l->read_chunk = chunk_acquire(chunks);
	ensure(l->read_chunk != NULL);
	l->now = clock_monotonic();
	l->pass = 1;
	list_init(&l->dirty);
	list_init(&l->recheck);
	list_init(&l->waiting_for_chunk);
	list_init(&l->live);
	list_init(&l->draining);
	list_init(&l->lingering);
	list_init(&l->dead);
	l->output = (struct net_buffer){memory_alloc(NET_OUTPUT_BYTES), 0, NET_OUTPUT_BYTES};
	l->record = memory_alloc(NET_RECORD_BYTES);
	l->input.bytes = memory_alloc(NET_INPUT_BYTES);
	l->bio_method = net_bio_method_new();
	l->tunnel_bio_method = net_tunnel_bio_method_new();
	net_timer_init(&l->closing, l, net_closing_expired, l);
	net_timer_init(&l->chunk_retry, l, net_chunk_retry_expired, l);
	budget_init(&l->closing_budget, NULL, SIZE_MAX);
	ev_prepare_init(&l->prepare, on_prepare);
	ev_check_init(&l->check, on_check);
	ev_idle_init(&l->idle, on_idle);
	ev_set_priority(&l->check, EV_MAXPRI);
	l->prepare.data = l->check.data = l;
	ev_prepare_start(l->ev, &l->prepare);
	ev_check_start(l->ev, &l->check);
	return l;
}

void net_loop_free(struct net_loop *l)
{
	ensure(list_is_empty(&l->live));
	struct net_conn *c;
	while ((c = list_first(&l->draining, struct net_conn, owner_link)))
		net_conn_die(c);
	while ((c = list_first(&l->lingering, struct net_conn, owner_link)))
		net_conn_die(c);
	net_conn_reap(l);
	budget_fini(&l->closing_budget);
	net_timer_fini(&l->closing);
	net_timer_fini(&l->chunk_retry);
	ev_prepare_stop(l->ev, &l->prepare);
	ev_check_stop(l->ev, &l->check);
	ev_idle_stop(l->ev, &l->idle);
	ev_loop_destroy(l->ev);
	chunk_release(l->read_chunk);
	BIO_meth_free(l->bio_method);
	BIO_meth_free(l->tunnel_bio_method);
	free(l->output.data);
	free(l->record);
	free(l->input.bytes);
	free(l);
}

usec net_now(const struct net_loop *l)
{
	return l->now;
}

void net_run(struct net_loop *l)
{
	ev_run(l->ev, 0);
	pass_ends(l); /* sends the output of the last callbacks */
}

void net_stop(struct net_loop *l)
{
	ev_break(l->ev, EVBREAK_ALL);
}

static void on_most(struct ev_loop *ev, ev_timer *w, int events)
{
	(void)ev, (void)w, (void)events;
}

void net_run_once(struct net_loop *l, usec most)
{
	if (most == 0) {
		ev_run(l->ev, EVRUN_NOWAIT);
	} else {
		ev_timer limit;
		ev_now_update(l->ev);
		ev_timer_init(&limit, on_most, (double)most / 1e6, 0.);
		ev_timer_start(l->ev, &limit);
		ev_run(l->ev, EVRUN_ONCE);
		ev_timer_stop(l->ev, &limit);
	}
	pass_ends(l);
}

void net_on_pass(struct net_loop *l, void (*work)(void *context), void *context)
{
	l->work = work;
	l->work_context = context;
}

void net_on_long_pass(
    struct net_loop *l, void (*report)(void *context, usec took, const char *note), void *context)
{
	l->report_long_pass = report;
	l->report_context = context;
}

void net_note(struct net_loop *l, const char *note)
{
	l->note = note;
}

void net_set_closing_budget(struct net_loop *l, struct budget *budget)
{
	budget_set_parent(&l->closing_budget, budget);
}

void net_loop_run_again(struct net_loop *l)
{
	ev_idle_start(l->ev, &l->idle);
}

/* ---- lent to one connection at a time: the buffers, the chunk to read into ---- */

void net_buffer_append(struct net_buffer *b, const void *ptr, size_t len)
{
	if (len > b->capacity - b->size) {
		size_t capacity = b->capacity * 2;
		while (capacity - b->size < len)
			capacity *= 2;
		b->data = memory_resize(b->data, capacity, 1);
		b->capacity = capacity;
	}
	memcpy(b->data + b->size, ptr, len);
	b->size += len;
}

void net_buffer_reset(struct net_buffer *b, size_t capacity)
{
	b->size = 0;
	if (b->capacity > capacity) {
		free(b->data);
		b->data = memory_alloc(capacity);
		b->capacity = capacity;
	}
}

struct chunk *net_loop_read_chunk(struct net_loop *l)
{
	if (chunk_is_shared(l->read_chunk)) {
		struct chunk *fresh = chunk_acquire(l->chunks);
		if (!fresh)
			return NULL;
		chunk_release(l->read_chunk);
		l->read_chunk = fresh;
	}
	return l->read_chunk;
}
