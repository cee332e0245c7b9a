/* SPDX-License-Identifier: MIT */
/* See limit_memories.h. */
#include "proxy/process/limit_memories.h"

#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/base/sealed.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static struct limit_shared *shared_new(size_t bytes)
{
	/* Most of it is never written: each generation that lives at a time has a lane. */
	void *p = mmap(
	    NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	struct limit_shared *s = memory_new(struct limit_shared);
	*s = (struct limit_shared){.generations = 1, .bytes = bytes, .memory = p};
	return s;
}

static void shared_leave(struct limit_shared *s)
{
	if (!s || --s->generations > 0)
		return;
	if (s->memory)
		munmap(s->memory, s->bytes);
	free(s);
}

static void put(struct limit_memories *l, size_t at, struct limit_shared *s)
{
	l->all[at] = s;
	l->memories[at] = s ? s->memory : NULL;
}

bool limit_memories_open(struct limit_memories *l, const struct conf *conf, uint32_t workers)
{
	bool is_whole = true;
	*l = (struct limit_memories){.workers = workers};
	l->tables = admission_tables(conf, &l->count);
	l->all = memory_zalloc(workers * l->count * sizeof(*l->all));
	l->memories = memory_zalloc(workers * l->count * sizeof(*l->memories));
	for (size_t i = 0; i < workers * l->count; i++) {
		size_t bytes = l->tables[i % l->count].bytes;
		if (bytes == 0)
			continue;
		put(l, i, shared_new(bytes));
		is_whole &= l->all[i] != NULL;
	}
	return is_whole;
}

void limit_memories_close(struct limit_memories *l)
{
	for (size_t i = 0; i < l->workers * l->count; i++)
		shared_leave(l->all[i]);
	free(l->tables);
	free(l->all);
	free(l->memories);
	*l = (struct limit_memories){0};
}

/* The table of this identity; count: there is none. */
static size_t find(const struct limit_memories *l, uint64_t identity)
{
	size_t i = 0;
	while (i < l->count && (l->tables[i].bytes == 0 || l->tables[i].identity != identity))
		i++;
	return i;
}

static void take(struct limit_memories *l, size_t at, const struct limit_memories *from, size_t old)
{
	uint32_t workers = l->workers < from->workers ? l->workers : from->workers;
	for (uint32_t w = 0; w < workers; w++) {
		struct limit_shared *s = from->all[w * from->count + old];
		if (!s)
			continue;
		s->generations++;
		shared_leave(l->all[w * l->count + at]);
		put(l, w * l->count + at, s);
	}
}

void limit_memories_take(struct limit_memories *l, const struct limit_memories *from)
{
	for (size_t i = 0; i < l->count; i++) {
		size_t old =
		    l->tables[i].bytes > 0 ? find(from, l->tables[i].identity) : from->count;
		if (old < from->count)
			take(l, i, from, old);
	}
}

bool limit_memories_at(const struct limit_memories *l, size_t n, struct limit_buckets *buckets)
{
	for (size_t i = 0; i < l->workers * l->count; i++) {
		const struct admission_table *t = &l->tables[i % l->count];
		if (!l->all[i] || n-- > 0)
			continue;
		*buckets = (struct limit_buckets){.worker = (uint32_t)(i / l->count),
		    .identity = t->identity,
		    .bytes = slice_of(l->all[i]->memory, t->bucket_bytes)};
		return true;
	}
	return false;
}

/* The pages that were never written are not looked at: that would make them real. */
static bool write_pages(int fd, struct slice bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t pages = (bytes.len + page - 1) / page;
	unsigned char *is_there = memory_zalloc(pages);
	bool is_good = ftruncate(fd, (off_t)bytes.len) == 0 &&
		       mincore((void *)(uintptr_t)bytes.ptr, bytes.len, is_there) == 0;
	for (size_t i = 0; is_good && i < pages; i++) {
		struct slice part = slice_sub(bytes, i * page, page);
		is_good = !(is_there[i] & 1) ||
			  pwrite(fd, part.ptr, part.len, (off_t)(i * page)) == (ssize_t)part.len;
	}
	free(is_there);
	return is_good;
}

int limit_memories_save(const struct limit_buckets *buckets)
{
	int fd = sealed_begin();
	if (fd >= 0 && !(write_pages(fd, buckets->bytes) && sealed_end(fd)))
		descriptor_close(&fd);
	return fd;
}

void limit_memories_fill(struct limit_memories *l, uint32_t worker, uint64_t identity, int fd)
{
	size_t i = find(l, identity);
	struct limit_shared *s =
	    i < l->count && worker < l->workers ? l->all[worker * l->count + i] : NULL;
	off_t size = s ? (off_t)l->tables[i].bucket_bytes : 0;
	if (fd < 0 || !s || lseek(fd, 0, SEEK_END) != size)
		return;
	for (off_t end, at = lseek(fd, 0, SEEK_DATA); at >= 0; at = lseek(fd, end, SEEK_DATA)) {
		end = lseek(fd, at, SEEK_HOLE);
		if (end <= at || pread(fd, (char *)s->memory + at, (size_t)(end - at), at) < 0)
			return;
	}
}

void *const *limit_memories_of(const struct limit_memories *l, uint32_t worker)
{
	return l->memories ? l->memories + worker * l->count : NULL;
}

void limit_memories_clear(const struct limit_memories *l, uint32_t worker)
{
	for (size_t i = 0; l->all && i < l->count; i++) {
		const struct limit_shared *s = l->all[worker * l->count + i];
		if (s)
			admission_table_clear_lane(&l->tables[i], s->memory, l->lane);
	}
}

void limit_memories_mark(const struct limit_memories *l, uint32_t worker)
{
	for (size_t i = 0; l->all && i < l->count; i++)
		if (l->all[worker * l->count + i])
			l->all[worker * l->count + i]->is_kept = true;
}

void limit_memories_leave(const struct limit_memories *l)
{
	for (size_t i = 0; i < l->workers * l->count; i++) {
		struct limit_shared *s = l->all[i];
		if (!s || s->is_kept || !s->memory)
			continue;
		munmap(s->memory, s->bytes);
		s->memory = NULL;
	}
}
