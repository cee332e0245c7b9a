/* SPDX-License-Identifier: MIT */
/* The queue of pieces behind a flow; see body_queue.h for what it bounds and why it copies. */
#include "proxy/relay/body_queue.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"

static struct body_piece *ring(struct body *b)
{
	return b->many ? b->many : b->few;
}

static uint32_t ring_slots(const struct body *b)
{
	return b->many ? b->slots : BODY_INLINE_PIECES;
}

static struct body_piece *at(struct body *b, uint32_t i)
{
	return &ring(b)[(b->head + i) & (ring_slots(b) - 1)];
}

static void grow(struct body *b)
{
	uint32_t slots = ring_slots(b) * 4;
	struct body_piece *many = memory_resize(NULL, slots, sizeof(*many));
	for (uint32_t i = 0; i < b->count; i++)
		many[i] = *at(b, i);
	free(b->many);
	b->many = many;
	b->slots = slots;
	b->head = 0;
}

static struct body_piece *push_piece(struct body *b)
{
	if (b->count == ring_slots(b))
		grow(b);
	return at(b, b->count++);
}

/* How many bytes still fit into the chunk of the last piece: 0 unless it is a small chunk that only
 * this body holds. */
static uint32_t tail_room(struct body *b, const struct chunk_pool *small)
{
	if (b->count == 0)
		return 0;
	const struct piece *last = &at(b, b->count - 1)->piece;
	if (last->chunk->pool != small || chunk_is_shared(last->chunk))
		return 0;
	return last->chunk->capacity - last->offset - last->length;
}

size_t body_append_copy(
    struct body *b, struct slice bytes, struct chunk_pool *small, struct budget *budget)
{
	size_t all = bytes.len;
	while (bytes.len > 0) {
		uint32_t room = tail_room(b, small);
		if (room == 0) {
			struct chunk *c = chunk_acquire(small);
			if (!c)
				break;
			budget_force(budget, c->capacity);
			*push_piece(b) = (struct body_piece){{c, 0, 0}, c->capacity};
			room = c->capacity;
		}
		struct piece *last = &at(b, b->count - 1)->piece;
		uint32_t n = bytes.len < room ? (uint32_t)bytes.len : room;
		memcpy(last->chunk->data + last->offset + last->length, bytes.ptr, n);
		last->length += n;
		b->bytes += n;
		bytes = slice_from(bytes, n);
	}
	return all - bytes.len;
}

void body_append(
    struct body *b, struct piece piece, struct chunk_pool *small, struct budget *budget)
{
	if (piece.length < LIMIT_COPY_BELOW_BYTES) {
		size_t copied = body_append_copy(b, piece_slice(piece), small, budget);
		if (copied == piece.length)
			return;
		/* There is no chunk for a copy: keep the chunk that the bytes came in. */
		piece.offset += (uint32_t)copied;
		piece.length -= (uint32_t)copied;
	}
	uint32_t charge = piece.chunk->capacity;
	if (b->count > 0) {
		struct piece *last = &at(b, b->count - 1)->piece;
		if (last->chunk == piece.chunk) {
			charge = 0; /* the piece before it has paid for this chunk */
			if (last->offset + last->length == piece.offset) {
				last->length += piece.length;
				b->bytes += piece.length;
				return;
			}
		}
	}
	if (charge > 0)
		budget_force(budget, charge);
	chunk_hold(piece.chunk);
	*push_piece(b) = (struct body_piece){piece, charge};
	b->bytes += piece.length;
}

struct piece body_front(const struct body *b, size_t most)
{
	if (b->count == 0)
		return (struct piece){0};
	const struct body_piece *ringed = b->many ? b->many : b->few;
	struct piece front = ringed[b->head].piece;
	if (front.length > most)
		front.length = (uint32_t)most;
	return front;
}

struct piece body_next(const struct body *b, struct body_mark *mark, size_t most)
{
	const struct body_piece *ringed = b->many ? b->many : b->few;
	for (; mark->index < b->count; mark->index++, mark->offset = 0) {
		struct piece p = ringed[(b->head + mark->index) & (ring_slots(b) - 1)].piece;
		p.offset += mark->offset;
		p.length -= mark->offset;
		if (p.length > 0) {
			if (p.length > most)
				p.length = (uint32_t)most;
			mark->offset += p.length;
			return p;
		}
		if (mark->index + 1 == b->count)
			break; /* the last piece may still grow: the mark stays in it */
	}
	return (struct piece){0};
}

struct body_mark body_seek(const struct body *b, size_t n)
{
	struct body_mark mark = {0};
	ensure(n <= b->bytes);
	while (n > 0)
		n -= body_next(b, &mark, n).length;
	return mark;
}

/* Drops the empty piece at the front. The charge for a chunk is given back with the last piece in
 * it. */
static void drop_front(struct body *b, struct budget *budget)
{
	struct body_piece *front = at(b, 0);
	struct body_piece *next = b->count > 1 ? at(b, 1) : NULL;
	if (next && next->piece.chunk == front->piece.chunk)
		next->charge += front->charge;
	else
		budget_give(budget, front->charge);
	chunk_release(front->piece.chunk);
	b->head = (b->head + 1) & (ring_slots(b) - 1);
	b->count--;
}

void body_take(struct body *b, size_t n, struct budget *budget)
{
	ensure(n <= b->bytes);
	b->bytes -= n;
	while (n > 0) {
		struct body_piece *front = at(b, 0);
		if (n < front->piece.length) {
			front->piece.offset += (uint32_t)n;
			front->piece.length -= (uint32_t)n;
			return;
		}
		n -= front->piece.length;
		drop_front(b, budget);
	}
	if (b->count == 0 && b->many) {
		free(b->many);
		b->many = NULL;
		b->head = 0;
	}
}

void body_move_charge(struct body *b, struct budget *from, struct budget *to)
{
	size_t charge = 0;
	for (uint32_t i = 0; i < b->count; i++)
		charge += at(b, i)->charge;
	budget_give(from, charge);
	budget_force(to, charge);
}

void body_clear(struct body *b, struct budget *budget)
{
	if (b->bytes > 0)
		body_take(b, b->bytes, budget);
}
