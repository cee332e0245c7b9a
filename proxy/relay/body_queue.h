/* SPDX-License-Identifier: MIT */
/*
 * A body: the bytes of one direction of one exchange that came and have not been sent on. It is a queue
 * of pieces. A large piece refers to the chunk that it was read into; a small one is copied, so that a
 * tiny frame never keeps a whole chunk. The chunks are charged to a budget, each once for all its
 * neighbouring pieces; the stream's receive window bounds how much that can become. The caller passes
 * the budget: always the same one, until body_move_charge.
 */
#ifndef PUSHGATE_RELAY_BODY_QUEUE_H
#define PUSHGATE_RELAY_BODY_QUEUE_H

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

/* Appends a piece: keeps a reference to its chunk, or copies it into a chunk of `small`. Charges the
 * budget even above its limit, as the bytes are here already: the caller gives credit for more only
 * when there is room. */
void body_append(
    struct body *b, struct piece piece, struct chunk_pool *small, struct budget *budget);
/* Appends a copy, whatever its size. Returns the bytes copied: fewer than given only when `small` has no
 * chunk. */
size_t body_append_copy(
    struct body *b, struct slice bytes, struct chunk_pool *small, struct budget *budget);
/* The piece at the front, cut to `most` bytes; length 0: empty. Borrowed until the next take. */
struct piece body_front(const struct body *b, size_t most);
/*
 * A place in a body, for readers that do not take what they read. It stays valid when bytes are
 * appended, not when they are taken. All zero: the front.
 */
struct body_mark {
	uint32_t index, offset;
};
/* The piece behind the mark, cut to `most` bytes; moves the mark behind it. Length 0: the end. */
struct piece body_next(const struct body *b, struct body_mark *mark, size_t most);
/* The place behind the first n bytes. */
struct body_mark body_seek(const struct body *b, size_t n);
/* Drops n bytes from the front. */
void body_take(struct body *b, size_t n, struct budget *budget);
/* Charges its bytes to another budget from now on, even above its limit. */
void body_move_charge(struct body *b, struct budget *from, struct budget *to);
/* Drops everything. */
void body_clear(struct body *b, struct budget *budget);

#endif
