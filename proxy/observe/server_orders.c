/* SPDX-License-Identifier: MIT */
/* See server_orders.h. A row's order and weight are one word, so that no worker reads half of a change. */
#include "proxy/observe/server_orders.h"

#include "proxy/base/memory.h"

#define WEIGHT_BITS 16
#define WEIGHT_MASK ((1u << WEIGHT_BITS) - 1)
/* In the place of a version that a worker has seen. */
#define IS_DOWN UINT32_MAX

const char *server_order_text(enum server_order order)
{
	static const char *const texts[] = {
	    [SERVER_READY] = "ready", [SERVER_DRAIN] = "drain", [SERVER_TAKEN_DOWN] = "down"};
	return order < sizeof(texts) / sizeof(texts[0]) ? texts[order] : "";
}

static size_t word_count(size_t rows, uint32_t workers)
{
	return 1 + rows + workers + rows * workers;
}

size_t server_orders_bytes(size_t rows, uint32_t workers)
{
	return word_count(rows, workers) * sizeof(_Atomic uint32_t);
}

struct server_orders *server_orders_new(void *memory, size_t rows, uint32_t workers)
{
	struct server_orders *s = memory_new(struct server_orders);
	s->rows = rows;
	s->workers = workers;
	s->version = memory;
	s->words = s->version + 1;
	s->seen = s->words + rows;
	s->open = s->seen + workers;
	return s;
}

void server_orders_give(struct server_orders *s, size_t row, struct server_orders_row order)
{
	if (row < s->rows)
		atomic_store(&s->words[row],
		    (uint32_t)order.order << WEIGHT_BITS | (order.weight & WEIGHT_MASK));
}

void server_orders_publish(struct server_orders *s)
{
	atomic_fetch_add(s->version, 1);
}

struct server_orders_row server_orders_get(const struct server_orders *s, size_t row)
{
	uint32_t word = row < s->rows ? atomic_load(&s->words[row]) : 0;
	return (struct server_orders_row){
	    (enum server_order)(word >> WEIGHT_BITS), word & WEIGHT_MASK};
}

void server_orders_obeyed(struct server_orders *s, uint32_t worker, uint32_t version)
{
	if (worker < s->workers)
		atomic_store(&s->seen[worker], version);
}

bool server_orders_are_obeyed(const struct server_orders *s)
{
	uint32_t version = atomic_load(s->version);
	for (uint32_t w = 0; w < s->workers; w++) {
		uint32_t seen = atomic_load(&s->seen[w]);
		if (seen != version && seen != IS_DOWN)
			return false;
	}
	return true;
}

void server_orders_forget(struct server_orders *s, uint32_t worker)
{
	atomic_store(&s->seen[worker], IS_DOWN);
	for (size_t row = 0; row < s->rows; row++)
		atomic_store(&s->open[worker * s->rows + row], 0);
}

void server_orders_tell_open(
    struct server_orders *s, uint32_t worker, size_t row, uint32_t requests)
{
	if (worker < s->workers && row < s->rows)
		atomic_store(&s->open[worker * s->rows + row], requests);
}

uint32_t server_orders_open(const struct server_orders *s, size_t row)
{
	uint32_t sum = 0;
	for (uint32_t w = 0; w < s->workers; w++)
		sum += atomic_load(&s->open[w * s->rows + row]);
	return sum;
}
