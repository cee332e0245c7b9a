/* SPDX-License-Identifier: MIT */
/*
 * Returns memory to the system after a peak: spares that were not used since, and free pages that
 * malloc keeps between those in use. So the memory of a worker goes down again after an attack.
 *
 * malloc_trim(3) does that in one call, which takes half a millisecond for each MiB (200 ms after a
 * peak of 400 MiB), and every connection waits. Here it is done in steps, one in a loop pass:
 *
 *   TAKING   allocates pieces as long as malloc has them without asking the system for more: these
 *            are its holes. Gives the pages of each piece back (madvise) and keeps the piece, so that
 *            the next one is another. The largest size first; of a hole the first page stays.
 *   GIVING   frees the pieces; malloc joins them to the holes that they were.
 *
 * A step has a bound in bytes and in pieces. It begins some time after the peak, and only if much can
 * be returned in comparison with the memory in use.
 */
#include "proxy/gateway/gateway_private.h"
#include <limits.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define WORTHWHILE_BYTES ((size_t)4 << 20)
/* The delay after a peak: if another one comes sooner, the memory is still there. */
#define TRIM_DELAY_USEC (10 * USEC_PER_SEC)
/* One step returns so much, in so many pieces: half a millisecond. */
#define STEP_BYTES ((size_t)1 << 20)
#define STEP_PIECES 32u
#define STEP_DELAY_USEC (4 * USEC_PER_MSEC)

/* The largest is below the size from which malloc asks the system for each piece (M_MMAP_THRESHOLD). */
static const size_t piece_sizes[] = {120 << 10, 32 << 10, 16 << 10, 8 << 10};
enum { PIECE_SIZES = sizeof(piece_sizes) / sizeof(piece_sizes[0]) };

/* In the first page of each piece that is taken, which therefore stays. */
struct memory_piece {
	struct memory_piece *next;
};

static bool is_worthwhile(const struct gateway *g)
{
	const struct budget *b = &g->env.budget;
	size_t unused = g->trim.freed_bytes + b->peak_bytes - b->used_bytes;
	return unused >= WORTHWHILE_BYTES && unused >= b->used_bytes / 2;
}

static void free_spares(struct gateway *g)
{
	g->trim.freed_bytes += chunk_pool_trim(g->env.chunks) + chunk_pool_trim(g->small_chunks) +
			       http_head_pool_trim(g->env.heads);
}

/* Whether malloc had the piece already: neither did the heap grow, nor is the piece outside of it. */
static bool is_hole(const void *piece, const void *heap_end)
{
	return sbrk(0) == heap_end && (uintptr_t)piece < (uintptr_t)heap_end;
}

static void return_pages(void *piece, size_t bytes)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t first = ((uintptr_t)piece + sizeof(struct memory_piece) + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)piece + bytes) & ~(page - 1);
	if (end > first)
		(void)madvise((void *)first, end - first, MADV_DONTNEED);
}

/* False: there is no hole of this size any more. */
static bool take_piece(struct memory_trim *t, size_t bytes)
{
	const void *heap_end = sbrk(0);
	struct memory_piece *piece = malloc(bytes);
	if (!piece || !is_hole(piece, heap_end)) {
		free(piece);
		return false;
	}
	return_pages(piece, bytes);
	piece->next = t->taken;
	t->taken = piece;
	return true;
}

static void take_some(struct memory_trim *t)
{
	size_t left = STEP_BYTES;
	for (unsigned i = 0; i < STEP_PIECES && t->size < PIECE_SIZES; i++) {
		size_t bytes = piece_sizes[t->size];
		if (bytes > left)
			return;
		left -= bytes;
		if (!take_piece(t, bytes)) {
			t->size++;
			return;
		}
	}
}

static void give_some(struct memory_trim *t, unsigned most)
{
	while (t->taken && most-- > 0) {
		struct memory_piece *piece = t->taken;
		t->taken = piece->next;
		free(piece);
	}
}

static bool begin(struct gateway *g)
{
	free_spares(g);
	if (!is_worthwhile(g))
		return false;
	g->trim.size = 0;
	g->trim.is_under_way = true;
	return true;
}

static void end(struct gateway *g)
{
	g->trim.is_under_way = false;
	g->trim.freed_bytes = 0;
	budget_forget_peak(&g->env.budget);
	WORKER_COUNT(&g->env, memory_trims, 1);
}

static void trim(struct wheel_node *timer, usec now)
{
	struct gateway *g = container_of(timer, struct gateway, trim.timer);
	struct memory_trim *t = &g->trim;
	if (!t->is_under_way && !begin(g))
		return;
	net_note(g->env.loop, "returned memory to the system");
	if (t->size < PIECE_SIZES)
		take_some(t);
	else
		give_some(t, STEP_PIECES);
	if (t->size < PIECE_SIZES || t->taken)
		wheel_set(&g->relay.wheel, timer, now + STEP_DELAY_USEC);
	else
		end(g);
}

void memory_trim_pass(struct gateway *g)
{
	if (g->trim.timer.deadline != USEC_NEVER || !is_worthwhile(g))
		return;
	/* Frees the spares of the peak now; `trim` then frees those that were not used in between. */
	free_spares(g);
	wheel_set(&g->relay.wheel, &g->trim.timer, g->relay.now + TRIM_DELAY_USEC);
}

void memory_trim_open(struct gateway *g)
{
	wheel_node_init(&g->trim.timer, trim);
}

void memory_trim_close(struct gateway *g)
{
	wheel_forget(&g->relay.wheel, &g->trim.timer);
	give_some(&g->trim, UINT_MAX);
}
