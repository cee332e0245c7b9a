/* SPDX-License-Identifier: MIT */
/*
 * Orders for single servers (`pushgate server`): the master gives them to the workers of all generations, and answers
 * the command when those of the running one have obeyed.
 */
#include "proxy/base/descriptor.h"
#include "proxy/process/answer.h"
#include "proxy/process/master.h"
#include <stdlib.h>

/* A worker looks four times a second. A command waits so long for one that is slow. */
#define PATIENCE_USEC (2 * USEC_PER_SEC)
#define AGAIN_USEC (20 * USEC_PER_MSEC)

void master_orders_init(struct master *m)
{
	for (size_t i = 0; i < ORDER_ASKERS; i++)
		m->order_askers[i].socket = -1;
}

static void answer(struct order_asker *a)
{
	static const char late[] = "a worker has not obeyed within 2 s; it will when it can\n";
	size_t length = strlen(a->text);
	if (a->is_late)
		a->status = PROCESS_FAILED;
	if (a->is_late && length + sizeof(late) <= sizeof(a->text))
		memcpy(a->text + length, late, sizeof(late));
	answer_send(a->socket, a->text, strlen(a->text), a->status);
	descriptor_close(&a->socket);
}

static struct order_asker *find_place(struct master *m)
{
	for (size_t i = 0; i < ORDER_ASKERS; i++) {
		struct order_asker *a = &m->order_askers[i];
		if (a->socket >= 0 && answer_is_unwanted(a->socket))
			descriptor_close(&a->socket);
		if (a->socket < 0)
			return a;
	}
	return NULL;
}

static void give_all(struct master *m)
{
	for (uint32_t i = 0; i < m->generation_count; i++) {
		const struct generation *g = m->generations[i];
		const struct outfit *o = &g->outfit;
		server_orders_list_give(&m->start->orders, o->conf,
		    g->is_superseded ? m->running->outfit.conf : o->conf, o->orders);
	}
}

static void log_answer(struct master *m, const char *text)
{
	struct slice rest = slice_of_string(text);
	while (rest.len > 0) {
		struct slice line = slice_cut(&rest, '\n');
		observe_log(&m->observe, OBSERVE_INFO, "by command: %.*s", SLICE_ARG(line));
	}
}

/* Else the line behind it would be no line. */
static void end_cut_line(char *text, size_t size)
{
	static const char more[] = "...\n";
	size_t length = strlen(text);
	if (length > 0 && text[length - 1] != '\n')
		memcpy(text + (length + sizeof(more) <= size ? length : size - sizeof(more)), more,
		    sizeof(more));
}

/* Writes the answer into text. */
static enum process_status change(struct master *m, struct slice name, char *text, size_t size)
{
	const struct outfit *o = &m->running->outfit;
	FILE *out = fmemopen(text, size, "w");
	if (!out || !o->orders) {
		if (out)
			fclose(out);
		snprintf(text, size, "there is no memory for orders\n");
		return PROCESS_FAILED;
	}
	setbuf(out, NULL);
	enum process_status status =
	    server_orders_list_change(&m->start->orders, o->conf, name, out);
	fclose(out);
	text[size - 1] = '\0';
	end_cut_line(text, size);
	return status;
}

void master_order_server(void *context, struct slice name, int socket)
{
	struct master *m = context;
	struct order_asker *a = find_place(m);
	/* Another program that comes up has the orders that there were. */
	bool is_late = m->upgrade.phase != UPGRADE_NONE;
	if (!a || is_late) {
		const char *why = is_late ? "another program takes over; ask again\n"
					  : "too many commands wait\n";
		answer_send(socket, why, strlen(why), PROCESS_FAILED);
		descriptor_close(&socket);
		return;
	}
	*a = (struct order_asker){.socket = socket, .until = m->now + PATIENCE_USEC};
	a->status = change(m, name, a->text, sizeof(a->text));
	if (a->status != PROCESS_DONE) {
		answer(a);
		return;
	}
	log_answer(m, a->text);
	give_all(m);
}

usec master_run_orders(struct master *m)
{
	usec next = USEC_NEVER;
	const struct server_orders *o = m->running->outfit.orders;
	bool have_obeyed = !o || server_orders_are_obeyed(o);
	for (size_t i = 0; i < ORDER_ASKERS; i++) {
		struct order_asker *a = &m->order_askers[i];
		if (a->socket < 0)
			continue;
		a->is_late = !have_obeyed && m->now >= a->until;
		if (have_obeyed || a->is_late)
			answer(a);
		else
			next = m->now + AGAIN_USEC;
	}
	return next;
}

static void say_gone(void *context, const struct server_orders_kept *k)
{
	struct master *m = context;
	observe_log(&m->observe, OBSERVE_WARN,
	    "%s: origin %s: server %s is gone, and what was ordered for it is forgotten",
	    m->running->number > 1 ? "reload" : "upgrade", k->origin, k->url);
}

void master_prune_orders(struct master *m)
{
	server_orders_list_prune(&m->start->orders, m->running->outfit.conf, say_gone, m);
}

void master_take_orders(struct master *m)
{
	master_prune_orders(m);
	give_all(m);
}

uint32_t master_list_other_orders(struct master *m)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < m->generation_count; i++) {
		const struct outfit *o = &m->generations[i]->outfit;
		if (m->generations[i] != m->running && o->orders)
			m->other_orders[count++] = (struct status_orders){o->conf, o->orders};
	}
	return count;
}

void master_close_orders(struct master *m)
{
	for (size_t i = 0; i < ORDER_ASKERS; i++)
		descriptor_close(&m->order_askers[i].socket);
	server_orders_list_free(&m->start->orders);
}
