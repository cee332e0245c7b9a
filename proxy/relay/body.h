/* SPDX-License-Identifier: MIT */
/*
 * A body: bytes of one direction of one exchange that came and have not left. A queue of pieces:
 * large ones by reference to the chunk that they were read into, small ones copied, so that a tiny
 * frame never pins a chunk. What it pins is charged to a budget, a chunk once for all its
 * neighbouring pieces; how much that can become is bounded by the receive window that the stream
 * has been given. Which budget it is the caller knows: always the same one, or body_move_charge.
 */
#ifndef PUSHGATE_RELAY_BODY_H
#define PUSHGATE_RELAY_BODY_H

#include "proxy/base/budget.h"
#include "proxy/base/chunk.h"

#define BODY_INLINE_PIECES 2u

struct body_piece {
	struct piece piece;
	uint32_t charge; /* bytes of the budget that go back with it */
};

struct body {
	struct body_piece few[BODY_INLINE_PIECES];
	struct body_piece *many;     /* a larger ring from the heap, NULL while `few` suffices */
	uint32_t head, count, slots; /* of the ring in use; slots is a power of two, 0 = `few` */
	size_t bytes;                /* bytes in it */
};

/* A body of zeroes is an empty one. */

/* Appends; holds the chunk or copies into one of `small`. The budget is charged even above its
 * limit (the bytes are here): the caller looks at its room before it lets more come. */
void body_append(
    struct body *b, struct piece piece, struct chunk_pool *small, struct budget *budget);
/* Appends a copy whatever its size; returns how much of it, less only when `small` has no chunk. */
size_t body_append_copy(
    struct body *b, struct slice bytes, struct chunk_pool *small, struct budget *budget);
/* The piece at the front, cut to `most` bytes; length 0 when empty. Borrowed until the next take.
 * */
struct piece body_front(const struct body *b, size_t most);
/*
 * A place in a body that is read and not taken, as by several readers. Appending leaves it good,
 * taking does not. All zero: the front.
 */
struct body_mark {
	uint32_t index, offset;
};
/* The run behind the mark, cut to `most` bytes, and the mark moves behind it; length 0 at the end.
 * */
struct piece body_next(const struct body *b, struct body_mark *mark, size_t most);
/* The place behind the first n bytes. */
struct body_mark body_seek(const struct body *b, size_t n);
/* Drops n bytes from the front. */
void body_take(struct body *b, size_t n, struct budget *budget);
/* Another budget pays for what is in it from now on, even above its limit. */
void body_move_charge(struct body *b, struct budget *from, struct budget *to);
/* Drops everything. */
void body_clear(struct body *b, struct budget *budget);

#endif
