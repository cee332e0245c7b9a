/* SPDX-License-Identifier: MIT */
/*
 * Page records: the last pages that were asked for, each with the pushes that were offered with it, for the pages of
 * admin listeners. They are in memory that all workers share. Each worker has a lane, a ring of records that it alone
 * writes; the worker that answers a request for such a page reads all lanes.
 *
 *   lane 0   [record][record][record] …   begun ──► (offers, ends of pushes) ──► over ──► begun anew for a later page
 *   lane 1   …
 *
 * A record has a version, which is odd while it is being written: a reader that sees it change has read nothing. All
 * sizes are fixed, and a text that is too long ends with "…". A worker begins no more records than would make the last ones
 * too short-lived to be looked at: so pages that come by the thousand cost next to nothing. Values of queries are never stored, nor are any fields
 * but User-Agent. What is stored is what peers have sent: whoever shows it escapes it.
 *
 * It knows no exchange and no policy: names of verdicts and reasons are their owners'.
 */
#ifndef PUSHGATE_WATERFALL_WATERFALL_H
#define PUSHGATE_WATERFALL_WATERFALL_H

#include "proxy/base/cidr.h"
#include "proxy/base/clock.h"
#include "proxy/base/slice.h"
#include <stdatomic.h>
#include <string.h>

/* Offers that a record has; further ones of the page are counted. A page of a browser has fewer resources in its head. */
#define WATERFALL_PUSHES 64u

enum page_time {
	PAGE_SENT,     /* the request was sent to the origin */
	PAGE_ANSWERED, /* the origin's final head came */
	PAGE_HEAD,     /* the final head was sent to the client */
	PAGE_END,
	PAGE_TIME_COUNT
};

enum page_push_time {
	PAGE_PUSH_DECIDED,
	PAGE_PUSH_PROMISE, /* to the client */
	PAGE_PUSH_HOLD,
	PAGE_PUSH_HINT,
	PAGE_PUSH_HEAD,     /* the origin's final head came */
	PAGE_PUSH_SENT,     /* the final head was sent to the client */
	PAGE_PUSH_COMPLETE, /* the end of the origin's response came */
	PAGE_PUSH_CLAIM,    /* the first request that it answered came */
	PAGE_PUSH_END,
	PAGE_PUSH_TIME_COUNT
};

/* Whether a push was of use to the client. */
enum page_use { PAGE_USE_UNKNOWN, PAGE_USED, PAGE_WASTED };

/* Times are those of the worker's clock while it writes, and 0 if a thing has not happened. waterfall_read makes them µs
 * since the page's start, and USEC_NEVER. */
struct page_push {
	uint64_t exchange; /* 0: it became no push */
	usec at[PAGE_PUSH_TIME_COUNT];
	uint64_t bytes, wasted_bytes;
	uint16_t rule;               /* its index + 1; 0: none decided */
	uint16_t reason, end_reason; /* their positions + 1; 0: none */
	uint16_t status;
	uint8_t source, verdict, outcome;
	uint8_t use; /* enum page_use */
	char path[160];
	char authority[72]; /* "": the page's */
	char missed
	    [40]; /* why a held response did not answer the first request for it; "": none missed it */
};

struct page_request {
	char method[16], scheme[8], authority[128], path[384], user_agent[192];
	uint8_t version; /* enum http_version */
	struct address client;
};

/* Where it came in and went: numbers of the configuration, whose names the reader knows; 0: none. */
struct page_place {
	uint32_t listen, route, origin;
	char server[64];
};

struct page_result {
	usec at[PAGE_TIME_COUNT];
	uint64_t bytes; /* of the body, to the client */
	uint16_t status;
	uint8_t outcome;
	bool is_over;
	char detail[96];
};

struct page_record {
	_Atomic uint32_t version;
	bool is_cut;                /* a text was too long */
	uint64_t number;            /* unique in its lane; 0: no page was recorded here */
	uint64_t change;            /* of the lane: the last one that concerns it */
	uint64_t exchange;          /* the page's id in the access log */
	uint64_t connection;        /* the client's */
	usec started, started_wall; /* of all workers' records by one clock; since 1970 */
	struct page_request request;
	struct page_place place;
	struct page_result result;
	uint32_t offers, push_count;
	struct page_push pushes[WATERFALL_PUSHES]; /* the first push_count */
};

/* The lanes of all workers. */
struct waterfall {
	void *memory; /* borrows: waterfall_bytes, zeroed, shared */
	uint32_t workers;
	uint32_t records; /* of each lane */
};

size_t waterfall_bytes(uint32_t workers, uint32_t records);
/* Once, before any lane is opened. first: records are numbered from here on, so that those of an earlier start have other
 * numbers. */
void waterfall_begin_numbers(const struct waterfall *w, uint64_t first);

/* ---- a worker, which writes ---- */

struct waterfall_lane;
struct waterfall_lane *waterfall_lane_new(const struct waterfall *w, uint32_t worker);
void waterfall_lane_free(struct waterfall_lane *lane); /* accepts NULL */

/* The next record, in place of the oldest one: without pushes and without a result. The caller fills in its request, its
 * place and its connection. is_over: it will not be changed. NULL: the lane has no room for it now, and will have none
 * for this page later; the caller counts it (waterfall_leave_out) when it is over. */
struct page_record *waterfall_begin(
    struct waterfall_lane *lane, uint64_t exchange, usec started, usec now, bool is_over);
void waterfall_leave_out(struct waterfall_lane *lane);
/* That of a page, to be changed. NULL: it has none, or another page has it by now. */
struct page_record *waterfall_change(struct waterfall_lane *lane, uint64_t exchange);
/* Ends what one of the two has begun. is_news: readers that wait for changes are to look at it. */
void waterfall_done(struct waterfall_lane *lane, struct page_record *r, bool is_news);

/* Room for another offer, empty but for its path and its authority. NULL: the record is full; the offer is counted. */
struct page_push *waterfall_add_push(struct page_record *r);
struct page_push *waterfall_find_push(struct page_record *r, uint64_t exchange);
void waterfall_cut_text(struct page_record *r, char *to, size_t size, struct slice text);
/* Copies the text to one of a record's texts. */
static inline void waterfall_text(struct page_record *r, char *to, size_t size, struct slice text)
{
	if (text.len >= size) {
		waterfall_cut_text(r, to, size, text);
		return;
	}
	if (text.len > 0)
		memcpy(to, text.ptr, text.len);
	to[text.len] = '\0';
}
void waterfall_path_with_query(struct page_record *r, char *to, size_t size, struct slice path);
/* The same with a path: of its query the names stay, "/a?x=…&y=…". */
static inline void waterfall_path(struct page_record *r, char *to, size_t size, struct slice path)
{
	if (path.len > 0 && memchr(path.ptr, '?', path.len))
		waterfall_path_with_query(r, to, size, path);
	else
		waterfall_text(r, to, size, path);
}

/* ---- any process, which reads ---- */

/* What a reader sees of a record without copying it. */
struct page_glance {
	uint64_t number, change;
	usec started;
};
/* False: no page was recorded there. at: below w->records. */
bool waterfall_glance(
    const struct waterfall *w, uint32_t worker, uint32_t at, struct page_glance *glance);
/* The lane's last change: none of its records has a later one. */
uint64_t waterfall_last_change(const struct waterfall *w, uint32_t worker);
/* Pages that have no record because there were too many. */
uint64_t waterfall_left_out(const struct waterfall *w, uint32_t worker);
/* The number of the lane's last record. */
uint64_t waterfall_last_number(const struct waterfall *w, uint32_t worker);
/* Copies it; all texts end. False: there is none, or it is being written. */
bool waterfall_read(
    const struct waterfall *w, uint32_t worker, uint32_t at, struct page_record *copy);
/* Where the lane has the record of this number. False: it has it no more. */
bool waterfall_find(const struct waterfall *w, uint32_t worker, uint64_t number, uint32_t *at);

#endif
