/* SPDX-License-Identifier: MIT */
/* The lanes of page records in shared memory: how a worker writes its own, and how all are read. */
#include "proxy/waterfall/waterfall.h"

#include "proxy/base/memory.h"

/* The shared part of a lane. */
struct shared_lane {
	_Atomic uint64_t number; /* of the last record */
	_Atomic uint64_t change; /* the last one */
	struct page_record records[];
};

struct waterfall_lane {
	struct shared_lane *shared;
	uint32_t count, last; /* where the last record is */
	uint64_t exchanges[]; /* the page's of each record; 0: none of this worker's */
};

static size_t lane_bytes(uint32_t records)
{
	return sizeof(struct shared_lane) + records * sizeof(struct page_record);
}

size_t waterfall_bytes(uint32_t workers, uint32_t records)
{
	return workers * lane_bytes(records);
}

static struct shared_lane *lane_of(const struct waterfall *w, uint32_t worker)
{
	return (struct shared_lane *)((char *)w->memory + worker * lane_bytes(w->records));
}

void waterfall_begin_numbers(const struct waterfall *w, uint64_t first)
{
	for (uint32_t i = 0; i < w->workers; i++)
		atomic_store(&lane_of(w, i)->number, first);
}

/* ---- writing ---- */

struct waterfall_lane *waterfall_lane_new(const struct waterfall *w, uint32_t worker)
{
	struct waterfall_lane *lane =
	    memory_zalloc(sizeof(*lane) + w->records * sizeof(lane->exchanges[0]));
	lane->shared = lane_of(w, worker);
	lane->count = w->records;
	/* The worker before it may have died: its records stay until they are the oldest. */
	lane->last = (uint32_t)(atomic_load(&lane->shared->number) % lane->count);
	return lane;
}

void waterfall_lane_free(struct waterfall_lane *lane)
{
	free(lane);
}

/* Odd, also if a worker has died while it wrote. Nothing that is written afterwards is seen with the version before. */
static void open_record(struct page_record *r)
{
	uint32_t version = atomic_load_explicit(&r->version, memory_order_relaxed);
	atomic_store_explicit(&r->version, version | 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

#define BEHIND_VERSION (offsetof(struct page_record, version) + sizeof(_Atomic uint32_t))

struct page_record *waterfall_begin(
    struct waterfall_lane *lane, uint64_t exchange, usec started, usec started_wall)
{
	lane->last = (lane->last + 1) % lane->count;
	lane->exchanges[lane->last] = exchange;
	struct page_record *r = &lane->shared->records[lane->last];
	open_record(r);
	memset(
	    (char *)r + BEHIND_VERSION, 0, offsetof(struct page_record, pushes) - BEHIND_VERSION);
	r->number = atomic_load(&lane->shared->number) + 1;
	atomic_store(&lane->shared->number, r->number);
	r->exchange = exchange;
	r->started = started;
	r->started_wall = started_wall;
	for (unsigned i = 0; i < PAGE_TIME_COUNT; i++)
		r->result.at[i] = USEC_NEVER;
	return r;
}

struct page_record *waterfall_change(struct waterfall_lane *lane, uint64_t exchange)
{
	/* From the newest one on: most pushes end soon after their page. 0 is no page's, but stands for records that this
	 * worker has not written. */
	for (uint32_t i = 0; exchange > 0 && i < lane->count; i++) {
		uint32_t at = (lane->last + lane->count - i) % lane->count;
		if (lane->exchanges[at] != exchange)
			continue;
		open_record(&lane->shared->records[at]);
		return &lane->shared->records[at];
	}
	return NULL;
}

void waterfall_done(struct waterfall_lane *lane, struct page_record *r, bool is_news)
{
	if (is_news) {
		r->change = atomic_load(&lane->shared->change) + 1;
		atomic_store(&lane->shared->change, r->change);
	}
	uint32_t version = atomic_load_explicit(&r->version, memory_order_relaxed);
	atomic_store_explicit(&r->version, version + 1, memory_order_release);
}

struct page_push *waterfall_add_push(struct page_record *r)
{
	r->offers++;
	if (r->push_count == WATERFALL_PUSHES)
		return NULL;
	struct page_push *p = &r->pushes[r->push_count++];
	memset(p, 0, sizeof(*p));
	for (unsigned i = 0; i < PAGE_PUSH_TIME_COUNT; i++)
		p->at[i] = USEC_NEVER;
	return p;
}

struct page_push *waterfall_find_push(struct page_record *r, uint64_t exchange)
{
	for (uint32_t i = 0; i < r->push_count; i++)
		if (r->pushes[i].exchange == exchange)
			return &r->pushes[i];
	return NULL;
}

/* ---- texts ---- */

#define CUT "…"
#define CUT_BYTES (sizeof(CUT) - 1)

/* A text that is being written, of which the last byte is NUL. */
struct text {
	char *at;
	size_t left; /* without the last byte */
	bool is_cut;
};

static void put(struct text *t, struct slice s)
{
	size_t n = s.len < t->left ? s.len : t->left;
	if (n > 0)
		memcpy(t->at, s.ptr, n);
	t->at += n;
	t->left -= n;
	t->is_cut |= n < s.len;
}

/* The mark takes the place of the last bytes, and of no part of a character in UTF-8. */
static void finish(struct page_record *r, struct text *t, const char *begin)
{
	if (t->is_cut) {
		t->at -= CUT_BYTES;
		while (t->at > begin && ((unsigned char)*t->at & 0xc0) == 0x80)
			t->at--;
		memcpy(t->at, CUT, CUT_BYTES);
		t->at += CUT_BYTES;
		r->is_cut = true;
	}
	*t->at = '\0';
}

void waterfall_text(struct page_record *r, char *to, size_t size, struct slice text)
{
	struct text t = {.at = to, .left = size - 1};
	put(&t, text);
	finish(r, &t, to);
}

void waterfall_path(struct page_record *r, char *to, size_t size, struct slice path)
{
	struct text t = {.at = to, .left = size - 1};
	size_t end = slice_find(path, '?');
	put(&t, slice_sub(path, 0, end));
	struct slice query = slice_from(path, end);
	while (query.len > 0) {
		put(&t, slice_sub(query, 0, 1)); /* "?" or "&" */
		slice_skip(&query, 1);
		struct slice member = slice_sub(query, 0, slice_find(query, '&'));
		struct slice name = slice_sub(member, 0, slice_find(member, '='));
		/* Without "=" it may be a value, such as a token. */
		if (name.len < member.len) {
			put(&t, name);
			put(&t, SLICE("="));
		}
		if (member.len > 0)
			put(&t, SLICE(CUT));
		slice_skip(&query, member.len);
		if (t.is_cut)
			break;
	}
	finish(r, &t, to);
}

/* ---- reading ---- */

static const struct page_record *record_of(const struct waterfall *w, uint32_t worker, uint32_t at)
{
	return &lane_of(w, worker)->records[at];
}

/* Whether what was read since the version was `before` is whole. */
static bool is_unchanged(const struct page_record *r, uint32_t before)
{
	atomic_thread_fence(memory_order_seq_cst);
	return before % 2 == 0 && atomic_load_explicit(&r->version, memory_order_relaxed) == before;
}

bool waterfall_glance(
    const struct waterfall *w, uint32_t worker, uint32_t at, struct page_glance *glance)
{
	const struct page_record *r = record_of(w, worker, at);
	uint32_t before = atomic_load_explicit(&r->version, memory_order_acquire);
	glance->number = r->number;
	glance->change = r->change;
	glance->started_wall = r->started_wall;
	return is_unchanged(r, before) && glance->number > 0;
}

uint64_t waterfall_last_change(const struct waterfall *w, uint32_t worker)
{
	return atomic_load(&lane_of(w, worker)->change);
}

uint64_t waterfall_last_number(const struct waterfall *w, uint32_t worker)
{
	return atomic_load(&lane_of(w, worker)->number);
}

#define END_TEXT(text) ((text)[sizeof(text) - 1] = '\0')

/* A worker that is not itself any more may have written anything. */
static void end_texts(struct page_record *r)
{
	struct page_request *q = &r->request;
	END_TEXT(q->method), END_TEXT(q->scheme), END_TEXT(q->authority), END_TEXT(q->path);
	END_TEXT(q->user_agent), END_TEXT(q->protocol);
	END_TEXT(r->place.listen), END_TEXT(r->place.route), END_TEXT(r->place.origin);
	END_TEXT(r->place.server), END_TEXT(r->result.detail);
	for (uint32_t i = 0; i < r->push_count; i++) {
		struct page_push *p = &r->pushes[i];
		END_TEXT(p->path), END_TEXT(p->authority), END_TEXT(p->missed);
	}
}

bool waterfall_read(
    const struct waterfall *w, uint32_t worker, uint32_t at, struct page_record *copy)
{
	const struct page_record *r = record_of(w, worker, at);
	uint32_t before = atomic_load_explicit(&r->version, memory_order_acquire);
	memcpy(copy, r, offsetof(struct page_record, pushes));
	if (copy->push_count > WATERFALL_PUSHES)
		copy->push_count = WATERFALL_PUSHES;
	memcpy(copy->pushes, r->pushes, copy->push_count * sizeof(copy->pushes[0]));
	if (!is_unchanged(r, before) || copy->number == 0)
		return false;
	end_texts(copy);
	return true;
}

bool waterfall_find(const struct waterfall *w, uint32_t worker, uint64_t number, uint32_t *at)
{
	struct page_glance g;
	if (worker >= w->workers)
		return false;
	*at = (uint32_t)(number % w->records);
	return waterfall_glance(w, worker, *at, &g) && g.number == number;
}
