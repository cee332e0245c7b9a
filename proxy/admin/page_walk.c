/* SPDX-License-Identifier: MIT */
/* See page_walk.h. Records that are begun during the walk are not in it, and those that are overwritten are missing. */
#include "proxy/admin/page_walk.h"

#include "policy/policy.h"
#include "proxy/admin/query.h"
#include "proxy/base/memory.h"

/* ---- the filter ---- */

const char *page_filter_read(struct page_filter *f, struct slice query)
{
	char verdict[16];
	query_value(query, "host", f->host, sizeof(f->host));
	query_value(query, "path", f->path, sizeof(f->path));
	query_value(query, "client", f->client, sizeof(f->client));
	query_value(query, "verdict", verdict, sizeof(verdict));
	f->verdict = -1;
	if (!*verdict)
		return NULL;
	for (int i = 0; i < POLICY_ACTION_COUNT; i++)
		if (strcmp(policy_action_name((enum policy_action)i), verdict) == 0)
			f->verdict = i;
	return f->verdict >= 0 ? NULL : "verdict is none of forward, drop, hold, hint, hint+hold";
}

static bool has_verdict(const struct page_record *r, int verdict)
{
	for (uint32_t i = 0; i < r->push_count; i++)
		if (r->pushes[i].verdict == verdict)
			return true;
	return false;
}

bool page_filter_passes(const struct page_filter *f, const struct page_record *r)
{
	char client[48];
	return (!*f->host || strcasestr(r->request.authority, f->host)) &&
	       (!*f->path || strstr(r->request.path, f->path)) &&
	       (f->verdict < 0 || has_verdict(r, f->verdict)) &&
	       (!*f->client || slice_starts_with(slice_of_string(address_format(
						     &r->request.client, client, sizeof(client))),
				   slice_of_string(f->client)));
}

/* ---- the walk ---- */

struct page_head {
	uint64_t last;   /* the number of the lane's last record when the walk began */
	uint64_t number; /* 0: the lane is at its end */
	uint64_t end;    /* the record of this number is older than the lane's memory */
	usec started;
};

/* Goes to the lane's record of this number, or to the newest one before it that is there. */
static void seek(const struct waterfall *w, uint32_t worker, struct page_head *h, uint64_t number)
{
	struct page_glance g;
	for (; number > h->end; number--) {
		uint32_t at = (uint32_t)(number % w->records);
		if (!waterfall_glance(w, worker, at, &g) || g.number != number)
			continue;
		h->number = number;
		h->started = g.started;
		return;
	}
	h->number = 0;
}

void page_walk_init(struct page_walk *w, const struct waterfall *records)
{
	w->records = records;
	w->heads = memory_zalloc(records->workers * sizeof(*w->heads));
	for (uint32_t i = 0; i < records->workers; i++) {
		struct page_head *h = &w->heads[i];
		h->last = waterfall_last_number(records, i);
		h->end = h->last > records->records ? h->last - records->records : 0;
	}
	page_walk_again(w);
}

void page_walk_again(struct page_walk *w)
{
	for (uint32_t i = 0; i < w->records->workers; i++)
		seek(w->records, i, &w->heads[i], w->heads[i].last);
}

void page_walk_fini(struct page_walk *w)
{
	free(w->heads);
}

enum page_walk_step page_walk_next(struct page_walk *w, struct page_record *r, uint32_t *worker)
{
	uint32_t newest = 0;
	for (uint32_t i = 1; i < w->records->workers; i++)
		if (w->heads[i].number > 0 && (w->heads[newest].number == 0 ||
						  w->heads[i].started > w->heads[newest].started))
			newest = i;
	struct page_head *h = &w->heads[newest];
	if (h->number == 0)
		return PAGE_WALK_ENDS;
	uint32_t at = (uint32_t)(h->number % w->records->records);
	bool is_found = waterfall_read(w->records, newest, at, r) && r->number == h->number &&
			page_filter_passes(&w->filter, r);
	*worker = newest;
	seek(w->records, newest, h, h->number - 1);
	return is_found ? PAGE_WALK_FOUND : PAGE_WALK_PASSED_BY;
}
