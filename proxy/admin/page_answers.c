/* SPDX-License-Identifier: MIT */
/*
 * /api/pages, /api/pages/ID, /api/pages/ID.har and /api/har: page records of all workers. A list is made a few records at
 * a time, so that no loop pass is long.
 */
#include "proxy/admin/admin_private.h"
#include "proxy/admin/page_json.h"
#include "proxy/admin/page_walk.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"

/* Records that one step looks at: each is up to 26 KiB of memory that is copied. */
#define STEP_RECORDS 32u

/* ---- lists ---- */

enum list_part { LIST_PAGES, LIST_ENTRIES };

struct list_answer {
	const struct conf *conf;
	struct page_walk walk;
	struct json json;
	struct page_record record; /* that is looked at */
	bool is_har, has_begun;
	enum list_part part; /* of a HAR, which has all pages before all entries */
};

static void begin(struct list_answer *l)
{
	if (l->is_har)
		fputs(
		    "{\"log\":{\"version\":\"1.2\",\"creator\":{\"name\":\"pushgate\",\"version\":"
		    "\"" PUSHGATE_VERSION "\"},\"pages\":[",
		    l->json.out);
	else
		fprintf(l->json.out, "{\"workers\":%u,\"records\":%u,\"pages\":[",
		    l->walk.records->workers, l->walk.records->records);
	l->has_begun = true;
}

/* False: all is written. */
static bool next_part(struct list_answer *l)
{
	if (!l->is_har || l->part == LIST_ENTRIES) {
		fputs(l->is_har ? "]}}\n" : "]}\n", l->json.out);
		return false;
	}
	fputs("],\"entries\":[", l->json.out);
	page_walk_again(&l->walk);
	l->json.needs_comma = false;
	l->part = LIST_ENTRIES;
	return true;
}

static void write_record(struct list_answer *l, uint32_t worker)
{
	if (!l->is_har)
		page_json_line(&l->json, &l->record, worker, l->conf);
	else if (l->part == LIST_PAGES)
		page_json_har_page(&l->json, &l->record, worker, l->conf);
	else
		page_json_har_entries(&l->json, &l->record, worker);
}

static enum admin_step produce_list(void *context, struct admin_output *output, FILE *out)
{
	struct list_answer *l = context;
	uint32_t worker;
	(void)output;
	l->json.out = out;
	if (!l->has_begun)
		begin(l);
	for (unsigned i = 0; i < STEP_RECORDS && ftell(out) < (long)ADMIN_STEP_BYTES; i++) {
		switch (page_walk_next(&l->walk, &l->record, &worker)) {
		case PAGE_WALK_FOUND:
			write_record(l, worker);
			break;
		case PAGE_WALK_PASSED_BY:
			break;
		case PAGE_WALK_ENDS:
			if (!next_part(l))
				return ADMIN_ENDS;
			break;
		}
	}
	return ADMIN_GOES_ON;
}

static void free_list(void *context)
{
	struct list_answer *l = context;
	page_walk_fini(&l->walk);
	free(l);
}

static void answer_list(struct admin_request *r, bool is_har)
{
	static const struct admin_producer producer = {.produce = produce_list, .free = free_list};
	const struct admin_env *env = &r->admin->env;
	struct page_filter filter;
	const char *mistake = page_filter_read(&filter, r->query);
	if (mistake) {
		r->answer->status = 400;
		r->answer->details = mistake;
		return;
	}
	admin_json_type(r);
	if (!env->pages) {
		r->answer->body =
		    is_har
			? SLICE("{\"log\":{\"version\":\"1.2\",\"creator\":{\"name\":\"pushgate\","
				"\"version\":\"" PUSHGATE_VERSION
				"\"},\"pages\":[],\"entries\":[]}}\n")
			: SLICE("{\"workers\":0,\"records\":0,\"pages\":[]}\n");
		return;
	}
	struct list_answer *l = memory_new(struct list_answer);
	l->conf = env->worker->conf;
	l->is_har = is_har;
	l->walk.filter = filter;
	page_walk_init(&l->walk, env->pages);
	admin_answer_with(r, &producer, l);
}

void admin_page_list(struct admin_request *r)
{
	answer_list(r, false);
}

void admin_page_har(struct admin_request *r)
{
	answer_list(r, true);
}

/* ---- one page ---- */

struct whole_answer {
	const struct conf *conf;
	uint32_t worker;
	bool is_har;
	struct page_record record;
};

static enum admin_step produce_whole(void *context, struct admin_output *output, FILE *out)
{
	const struct whole_answer *w = context;
	struct json j = {.out = out};
	(void)output;
	if (!w->is_har) {
		page_json_whole(&j, &w->record, w->worker, w->conf);
		putc('\n', out);
		return ADMIN_ENDS;
	}
	fputs("{\"log\":{\"version\":\"1.2\",\"creator\":{\"name\":\"pushgate\",\"version\":"
	      "\"" PUSHGATE_VERSION "\"},\"pages\":[",
	    out);
	page_json_har_page(&j, &w->record, w->worker, w->conf);
	fputs("],\"entries\":[", out);
	j.needs_comma = false;
	page_json_har_entries(&j, &w->record, w->worker);
	fputs("]}}\n", out);
	return ADMIN_ENDS;
}

/* A record that is being written is whole some microseconds later. */
#define READ_TRIES 1000u

static bool read_record(
    const struct waterfall *w, uint32_t worker, uint64_t number, struct page_record *record)
{
	uint32_t at;
	for (unsigned i = 0; w && i < READ_TRIES; i++)
		if (waterfall_find(w, worker, number, &at) &&
		    waterfall_read(w, worker, at, record) && record->number == number)
			return true;
	return false;
}

void admin_page_whole(struct admin_request *r)
{
	static const struct admin_producer producer = {.produce = produce_whole, .free = free};
	const struct admin_env *env = &r->admin->env;
	struct slice id = r->below;
	uint64_t number;
	struct whole_answer *w = memory_new(struct whole_answer);
	w->conf = env->worker->conf;
	w->is_har = id.len > 4 && slice_equal(slice_from(id, id.len - 4), SLICE(".har"));
	if (w->is_har)
		id = slice_sub(id, 0, id.len - 4);
	if (!page_json_read_id(id, &w->worker, &number) ||
	    !read_record(env->pages, w->worker, number, &w->record)) {
		free(w);
		r->answer->status = 404;
		r->answer->details = "no such page is remembered";
		return;
	}
	admin_json_type(r);
	admin_answer_with(r, &producer, w);
}
