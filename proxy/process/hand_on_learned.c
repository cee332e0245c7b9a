/* SPDX-License-Identifier: MIT */
/*
 * The learned tables at a reload. Each worker that drains soon writes its own into a memory file. The master seals the
 * file, reads none of it, and gives it to workers of the coming generation before these accept.
 */
#include "proxy/base/descriptor.h"
#include "proxy/process/master.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* A large table takes a worker some loop passes. */
#define PATIENCE_USEC (2 * USEC_PER_SEC)

static void say_lost(const struct generation *g, uint32_t index, const char *why)
{
	observe_log(&g->master->observe, OBSERVE_WARN,
	    "reload: what worker %u of generation %u has learned is not handed on: %s", index,
	    g->number, why);
}

static void ask(struct generation *g, uint32_t index)
{
	const struct message message = {.kind = MESSAGE_HAND_LEARNED, .worker = index};
	struct worker_slot *slot = &g->workers[index];
	struct control *control = &slot->child.control;
	if (!control->is_ready || control->hands_learned)
		return;
	slot->learned = sealed_begin();
	if (slot->learned < 0)
		say_lost(g, index, strerror(errno));
	else if (generation_tell_worker(g, index, &message, slot->learned))
		control->hands_learned = true;
	else
		generation_forget_learned(g, index);
}

void master_ask_for_learned(struct master *m)
{
	struct generation *g = m->running;
	m->learned_until = m->now + PATIENCE_USEC;
	if (!conf_learns(g->outfit.conf) || !conf_learns(m->coming->outfit.conf))
		return;
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		ask(g, i);
}

bool master_has_learned(struct master *m)
{
	struct generation *g = m->running;
	for (uint32_t i = 0; i < g->outfit.workers; i++) {
		if (g->workers[i].learned < 0)
			continue;
		if (m->now < m->learned_until)
			return false;
		say_lost(g, i, "it has not told in time");
		generation_forget_learned(g, i);
	}
	return true;
}

/* Each worker that comes gets a table at least, and each table comes to a worker. */
static void give(const struct generation *to, const struct generation *from, uint32_t index)
{
	uint32_t old = from->outfit.workers, fresh = to->outfit.workers;
	for (uint32_t i = index; i < old || i < fresh; i += old) {
		const struct message message = {.kind = MESSAGE_TAKE_LEARNED, .worker = index};
		if (!generation_tell_worker(to, i % fresh, &message, from->workers[index].learned))
			say_lost(from, index, "a worker does not read its messages");
	}
}

void generation_hand_on_learned(struct generation *g, uint32_t index)
{
	const struct master *m = g->master;
	int fd = g->workers[index].learned;
	struct stat st;
	/* Else it was late, or the reload was given up. */
	if (fd >= 0 && m->coming && g == m->running) {
		if (fstat(fd, &st) != 0 || !sealed_end(fd))
			say_lost(g, index, strerror(errno));
		else if (st.st_size > 0)
			give(m->coming, g, index);
	}
	generation_forget_learned(g, index);
}

void generation_forget_learned(struct generation *g, uint32_t index)
{
	descriptor_close(&g->workers[index].learned);
}
