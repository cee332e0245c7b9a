/* SPDX-License-Identifier: MIT */
/* The lanes of page records in shared memory: how a worker writes its own, and how all are read. */
#include "proxy/waterfall/waterfall.h"

#include "proxy/base/map.h"
#include "proxy/base/memory.h"
#include "proxy/base/rate.h"

/* The shared part of a lane. */
struct shared_lane {
	_Atomic uint64_t number; /* of the last record */
	_Atomic uint64_t change; /* the last one */
	_Atomic uint64_t left_out;
	struct page_record records[];
};

/* A record stays at least so long once all have been begun: time enough to look at it. */
#define STAY_SEC 4u

/* A record that this worker has begun. */
struct own_page {
	struct map_node node; /* in lane->pages */
	uint64_t exchange;    /* 0: none, or none that will be changed */
};

struct waterfall_lane {
	struct shared_lane *shared;
	uint32_t count, last; /* where the last record is */
	/* The one that was looked for last: events of a page come in groups. */
	uint32_t found;
	struct rate rate; /* of records that are begun */
	struct bucket bucket;
	/* When it was empty last: a page that came before gets no record of its rest. */
	usec refused;
	/* What there is to add to a time of the monotonic clock for that of day, and when it was looked up. */
	usec to_wall, to_wall_since;
	struct map pages;
	struct own_page own[]; /* of each record */
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
	    memory_zalloc(sizeof(*lane) + w->records * sizeof(lane->own[0]));
	lane->shared = lane_of(w, worker);
	lane->count = w->records;
	lane->rate = (struct rate){
	    .per_second = (w->records + STAY_SEC - 1) / STAY_SEC, .burst = w->records};
	map_init(&lane->pages);
	/* The worker before it may have died: its records stay until they are the oldest. */
	lane->last = (uint32_t)(atomic_load(&lane->shared->number) % lane->count);
	return lane;
}

void waterfall_lane_free(struct waterfall_lane *lane)
{
	if (lane)
		map_fini(&lane->pages);
	free(lane);
}

/* Ids are numbered through, often in even steps. */
static uint64_t hash_of(uint64_t exchange)
{
	return exchange * 0x9e3779b97f4a7c15u >> 32;
}

/* NULL: it has none here, or another page has it by now. */
static struct own_page *find_own(struct waterfall_lane *lane, uint64_t exchange)
{
	struct map_node *n = map_find(&lane->pages, hash_of(exchange));
	for (; n; n = map_next(n)) {
		struct own_page *own = container_of(n, struct own_page, node);
		if (own->exchange != exchange)
			continue;
		lane->found = (uint32_t)(own - lane->own);
		return own;
	}
	return NULL;
}

/* The place of the oldest record becomes the exchange's. */
static void take_next(struct waterfall_lane *lane, uint64_t exchange)
{
	lane->last = lane->last + 1 < lane->count ? lane->last + 1 : 0;
	struct own_page *own = &lane->own[lane->last];
	if (own->exchange > 0)
		map_remove(&lane->pages, &own->node);
	own->exchange = exchange;
	if (exchange > 0) {
		map_insert(&lane->pages, &own->node, hash_of(exchange));
		lane->found = lane->last;
	}
}

/* The clocks are read once a second: the time of day may be set. */
static usec wall_of(struct waterfall_lane *lane, usec started)
{
	if (lane->to_wall == 0 || started > lane->to_wall_since + USEC_PER_SEC) {
		lane->to_wall_since = clock_monotonic();
		lane->to_wall = clock_wall() - lane->to_wall_since;
	}
	return started + lane->to_wall;
}

/* Odd, also if a worker has died while it wrote. Nothing that is written afterwards is seen with the version before. */
static void open_record(struct page_record *r)
{
	uint32_t version = atomic_load_explicit(&r->version, memory_order_relaxed);
	atomic_store_explicit(&r->version, version | 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}

/* Of a number that this worker alone changes. */
static uint64_t add_one(_Atomic uint64_t *n)
{
	uint64_t next = atomic_load_explicit(n, memory_order_relaxed) + 1;
	atomic_store_explicit(n, next, memory_order_release);
	return next;
}

struct page_record *waterfall_begin(
    struct waterfall_lane *lane, uint64_t exchange, usec started, usec now, bool is_over)
{
	if (!is_over && started <= lane->refused)
		return NULL;
	if (!bucket_take(&lane->bucket, &lane->rate, 1, now)) {
		lane->refused = now;
		return NULL;
	}
	take_next(lane, is_over ? 0 : exchange);
	struct page_record *r = &lane->shared->records[lane->last];
	open_record(r);
	r->is_cut = false;
	r->number = add_one(&lane->shared->number);
	r->change = 0;
	r->exchange = exchange;
	r->started = started;
	r->started_wall = wall_of(lane, started);
	r->offers = r->push_count = 0;
	r->place.server[0] = r->result.detail[0] = '\0';
	r->result.is_over = is_over;
	if (is_over) /* its result follows */
		return r;
	memset(r->result.at, 0, sizeof(r->result.at));
	r->result.bytes = r->result.status = r->result.outcome = 0;
	return r;
}

void waterfall_leave_out(struct waterfall_lane *lane)
{
	add_one(&lane->shared->left_out);
}

struct page_record *waterfall_change(struct waterfall_lane *lane, uint64_t exchange)
{
	struct own_page *own = &lane->own[lane->found];
	/* 0 is no page's, but stands for records that this worker has not begun. */
	if (own->exchange != exchange || exchange == 0)
		own = find_own(lane, exchange);
	if (!own)
		return NULL;
	struct page_record *r = &lane->shared->records[own - lane->own];
	open_record(r);
	return r;
}

void waterfall_done(struct waterfall_lane *lane, struct page_record *r, bool is_news)
{
	uint64_t change = atomic_load_explicit(&lane->shared->change, memory_order_relaxed) + 1;
	if (is_news)
		r->change = change;
	uint32_t version = atomic_load_explicit(&r->version, memory_order_relaxed);
	atomic_store_explicit(&r->version, version + 1, memory_order_release);
	/* Behind the version: a reader that knows of the change can read the record. */
	if (is_news)
		atomic_store_explicit(&lane->shared->change, change, memory_order_release);
}

struct page_push *waterfall_add_push(struct page_record *r)
{
	r->offers++;
	if (r->push_count == WATERFALL_PUSHES)
		return NULL;
	struct page_push *p = &r->pushes[r->push_count++];
	p->exchange = 0;
	memset(p->at, 0, sizeof(p->at));
	p->bytes = p->wasted_bytes = 0;
	p->rule = p->reason = p->end_reason = p->status = 0;
	p->source = p->verdict = p->outcome = 0;
	p->use = PAGE_USE_UNKNOWN;
	p->missed[0] = '\0';
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

void waterfall_cut_text(struct page_record *r, char *to, size_t size, struct slice text)
{
	struct text t = {.at = to, .left = size - 1};
	put(&t, text);
	finish(r, &t, to);
}

void waterfall_path_with_query(struct page_record *r, char *to, size_t size, struct slice path)
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
	atomic_thread_fence(memory_order_acquire);
	return before % 2 == 0 && atomic_load_explicit(&r->version, memory_order_relaxed) == before;
}

bool waterfall_glance(
    const struct waterfall *w, uint32_t worker, uint32_t at, struct page_glance *glance)
{
	const struct page_record *r = record_of(w, worker, at);
	uint32_t before = atomic_load_explicit(&r->version, memory_order_acquire);
	glance->number = r->number;
	glance->change = r->change;
	glance->started = r->started;
	return is_unchanged(r, before) && glance->number > 0;
}

uint64_t waterfall_last_change(const struct waterfall *w, uint32_t worker)
{
	return atomic_load(&lane_of(w, worker)->change);
}

uint64_t waterfall_left_out(const struct waterfall *w, uint32_t worker)
{
	return atomic_load(&lane_of(w, worker)->left_out);
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
	END_TEXT(q->user_agent);
	END_TEXT(r->place.server), END_TEXT(r->result.detail);
	for (uint32_t i = 0; i < r->push_count; i++) {
		struct page_push *p = &r->pushes[i];
		END_TEXT(p->path), END_TEXT(p->authority), END_TEXT(p->missed);
	}
}

/* µs since the page's start. */
static void count_from(usec started, usec *at, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		at[i] = at[i] > 0 && at[i] >= started ? at[i] - started : USEC_NEVER;
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
	count_from(copy->started, copy->result.at, PAGE_TIME_COUNT);
	for (uint32_t i = 0; i < copy->push_count; i++)
		count_from(copy->started, copy->pushes[i].at, PAGE_PUSH_TIME_COUNT);
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
