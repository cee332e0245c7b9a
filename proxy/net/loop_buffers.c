/* SPDX-License-Identifier: MIT */
/* The loop lends these to one connection at a time: buffers, the chunk to read into. */
#include "proxy/base/memory.h"
#include "proxy/net/loop.h"

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

void net_loop_run_again(struct net_loop *l)
{
	ev_idle_start(l->ev, &l->idle);
}
