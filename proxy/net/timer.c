/* SPDX-License-Identifier: MIT */
/*
 * Timers, watched descriptors, signals. When a deadline moves later, libev's timer stays as it is: it
 * fires early, compares the deadline and is set again. Most deadlines (idle, stall) only move later.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/net/loop.h"

static void timer_arm(struct net_timer *t)
{
	ev_timer *w = t->watcher;
	usec now = t->loop->now;
	double delay = t->deadline > now ? (double)(t->deadline - now) / 1e6 : 0.;
	ev_timer_stop(t->loop->ev, w);
	ev_timer_set(w, delay, 0.);
	ev_timer_start(t->loop->ev, w);
	t->armed = t->deadline;
}

static void on_timer(struct ev_loop *ev, ev_timer *w, int events)
{
	(void)ev, (void)events;
	struct net_timer *t = w->data;
	t->armed = USEC_NEVER;
	if (t->deadline == USEC_NEVER)
		return;
	if (t->deadline > t->loop->now) {
		timer_arm(t);
		return;
	}
	t->deadline = USEC_NEVER;
	t->expired(t->context);
}

void net_timer_init(
    struct net_timer *t, struct net_loop *l, void (*expired)(void *context), void *context)
{
	*t = (struct net_timer){l, expired, context, USEC_NEVER, USEC_NEVER, NULL};
}

void net_timer_set(struct net_timer *t, usec deadline)
{
	t->deadline = deadline;
	if (deadline >= t->armed)
		return;
	if (!t->watcher) {
		ev_timer *w = memory_new(ev_timer);
		ev_init(w, on_timer);
		w->data = t;
		t->watcher = w;
	}
	timer_arm(t);
}

void net_timer_fini(struct net_timer *t)
{
	if (t->watcher) {
		ev_timer_stop(t->loop->ev, t->watcher);
		free(t->watcher);
		t->watcher = NULL;
	}
	t->deadline = t->armed = USEC_NEVER;
}

/* Of the two watchers one is used; to stop the other does nothing. */
struct net_watch {
	ev_io io;
	ev_signal signal;
	struct net_loop *loop;
	void (*came)(void *context);
	void *context;
};

static void on_readable(struct ev_loop *ev, ev_io *io, int events)
{
	(void)ev, (void)events;
	struct net_watch *w = io->data;
	w->came(w->context);
}

static void on_signal(struct ev_loop *ev, ev_signal *signal, int events)
{
	(void)ev, (void)events;
	struct net_watch *w = signal->data;
	w->came(w->context);
}

static struct net_watch *watch_new(struct net_loop *l, void (*came)(void *context), void *context)
{
	struct net_watch *w = memory_new(struct net_watch);
	w->loop = l;
	w->came = came;
	w->context = context;
	ev_init(&w->io, on_readable);
	ev_init(&w->signal, on_signal);
	w->io.data = w->signal.data = w;
	return w;
}

struct net_watch *net_watch_new(
    struct net_loop *l, int fd, void (*readable)(void *context), void *context)
{
	struct net_watch *w = watch_new(l, readable, context);
	ev_io_set(&w->io, fd, EV_READ);
	ev_io_start(l->ev, &w->io);
	return w;
}

struct net_watch *net_watch_signal(
    struct net_loop *l, int signal, void (*came)(void *context), void *context)
{
	struct net_watch *w = watch_new(l, came, context);
	ev_signal_set(&w->signal, signal);
	ev_signal_start(l->ev, &w->signal);
	return w;
}

void net_watch_free(struct net_watch *w)
{
	if (!w)
		return;
	ev_io_stop(w->loop->ev, &w->io);
	ev_signal_stop(w->loop->ev, &w->signal);
	free(w);
}
