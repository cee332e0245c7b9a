/* SPDX-License-Identifier: MIT */
/* See lists.h. The file: where the bytes of each visit are, in the order of the visits, and then those bytes. */
#include "proxy/process/lists.h"

#include "proxy/base/memory.h"
#include "proxy/base/sealed.h"
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct extent {
	uint64_t at, length;
};

/* The state of one visit. */
struct visit {
	char *bytes; /* of the file; NULL: it is not there yet */
	size_t length;
	size_t count; /* of what was visited */
};

static void visit_all(const struct conf *c, struct router_tables *tables,
    void (*visit)(void *context, struct slice *bytes), struct visit *v)
{
	v->count = 0;
	visit(v, &tables->gateway);
	visit(v, &tables->forward);
	conf_visit_lists(c, visit, v);
}

/* ---- writing ---- */

static size_t align(size_t bytes)
{
	const size_t most = alignof(max_align_t);
	return (bytes + most - 1) / most * most;
}

static void measure(void *context, struct slice *bytes)
{
	struct visit *v = context;
	v->count++;
	v->length += sizeof(struct extent) + align(bytes->len);
}

/* v->length: what the bytes before need, and where all are. */
static void put(void *context, struct slice *bytes)
{
	struct visit *v = context;
	struct extent *extents = (void *)v->bytes;
	extents[v->count++] = (struct extent){v->length, bytes->len};
	if (bytes->len > 0)
		memcpy(v->bytes + v->length, bytes->ptr, bytes->len);
	v->length += align(bytes->len);
}

int lists_seal(const struct conf *c, const struct router_tables *tables)
{
	struct router_tables all = *tables;
	struct visit v = {0};
	visit_all(c, &all, measure, &v);
	size_t length = v.length;
	v.bytes = memory_zalloc(length);
	v.length = v.count * sizeof(struct extent);
	visit_all(c, &all, put, &v);
	int fd = sealed_make(slice_of(v.bytes, length));
	explicit_bzero(v.bytes, length); /* passwords are among them */
	free(v.bytes);
	return fd;
}

/* ---- reading ---- */

static void count(void *context, struct slice *bytes)
{
	struct visit *v = context;
	(void)bytes;
	v->count++;
}

/* So many extents, with the bytes behind them, and each in the file. */
static bool is_good(const struct lists *l, size_t count)
{
	const struct extent *p = l->bytes;
	bool is_whole = count <= l->length / sizeof(*p) && p[0].at == count * sizeof(*p);
	for (size_t i = 0; is_whole && i < count; i++)
		is_whole = p[i].at <= l->length && p[i].length <= l->length - p[i].at;
	return is_whole;
}

bool lists_map(struct lists *l, int fd, const struct conf *c)
{
	struct router_tables none = {0};
	struct visit v = {0};
	l->bytes = fd >= 0 ? sealed_map(fd, SIZE_MAX, &l->length) : NULL;
	visit_all(c, &none, count, &v);
	if (l->bytes && is_good(l, v.count))
		return true;
	lists_unmap(l);
	return false;
}

static void exchange(void *context, struct slice *bytes)
{
	struct visit *v = context;
	const struct extent *extents = (const void *)v->bytes;
	const struct extent *p = &extents[v->count++];
	*bytes = slice_of(v->bytes + p->at, p->length);
}

void lists_use(const struct lists *l, const struct conf *c, struct router_tables *tables)
{
	struct visit v = {.bytes = l->bytes};
	visit_all(c, tables, exchange, &v);
}

void lists_unmap(struct lists *l)
{
	if (l->bytes)
		sealed_unmap(l->bytes, l->length);
	*l = (struct lists){0};
}
