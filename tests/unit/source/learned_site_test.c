/* SPDX-License-Identifier: MIT */
/*
 * What is learned from a whole site: made-up pages whose dependencies are known, clients that open several of
 * them at once, warm caches and noise. Everything follows from a seed. None of the seeds asserted on here was used
 * to choose a figure, of the table or of this test.
 */
/* covers: P-src-learned P-src-learned-private */
#include "proxy/base/memory.h"
#include "proxy/source/source.h"
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum {
	PAGES = 30,
	CLIENTS = 200,
	SHARED = 5,   /* resources that most pages have */
	OWN_MOST = 9, /* resources of one page alone */
	RESOURCES = SHARED + PAGES * OWN_MOST,
	BURSTS = 8, /* a client opens one to four tabs, so many times */
	SPREAD_SEC = 7200,
	EVENTS = 200000,
};

#define START (1000 * USEC_PER_SEC)

/* ---- chance (splitmix64) ---- */

static uint64_t draw(uint64_t *seed)
{
	uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static uint32_t below(uint64_t *seed, uint32_t bound)
{
	return (uint32_t)(draw(seed) % bound);
}

static bool happens(uint64_t *seed, uint32_t percent)
{
	return below(seed, 100) < percent;
}

/* ---- the site ---- */

struct event {
	usec at;
	uint32_t order; /* of equal times */
	uint32_t client;
	bool is_navigation;
	uint16_t status;
	char path[40], referer[60];
};

struct site {
	uint64_t seed;
	char path[RESOURCES][40];
	int parent[RESOURCES]; /* the style sheet that asks for it, -1: the page does */
	bool belongs[PAGES][RESOURCES];
	bool cached[CLIENTS][RESOURCES];
	struct event *events;
	uint32_t count, noise, real;
};

static void make_own(struct site *s, int page)
{
	static const char *const kinds[] = {"css", "js", "png", "woff2", "svg"};
	int first = SHARED + page * OWN_MOST, count = 3 + (int)below(&s->seed, OWN_MOST - 2);
	for (int i = 0; i < count; i++) {
		const char *kind = kinds[i == 0 ? 0 : below(&s->seed, 5)];
		snprintf(s->path[first + i], sizeof(s->path[0]), "/p%d/own-%d.%s", page, i, kind);
		s->parent[first + i] = kind[0] == 'w' ? first : -1;
		s->belongs[page][first + i] = true;
	}
}

static struct site *site_new(uint64_t seed)
{
	struct site *s = memory_new(struct site);
	s->seed = seed;
	s->events = memory_alloc(EVENTS * sizeof(*s->events));
	for (int i = 0; i < SHARED; i++) {
		snprintf(s->path[i], sizeof(s->path[0]), "/all/shared-%d.%s", i,
		    i == 0   ? "css"
		    : i == 1 ? "woff2"
			     : "js");
		s->parent[i] = i == 1 ? 0 : -1;
	}
	for (int page = 0; page < PAGES; page++) {
		make_own(s, page);
		for (int i = 0; i < SHARED; i++)
			s->belongs[page][i] = i < 2 || happens(&s->seed, 70);
	}
	return s;
}

static void site_free(struct site *s)
{
	free(s->events);
	free(s);
}

/* ---- what the clients do ---- */

static struct event *add_event(struct site *s, usec at, uint32_t client, uint16_t status)
{
	assert_true(s->count < EVENTS);
	struct event *e = &s->events[s->count];
	*e = (struct event){.at = at, .order = s->count++, .client = client, .status = status};
	return e;
}

static void refer(struct event *e, const char *path)
{
	snprintf(e->referer, sizeof(e->referer), "https://site.example%s", path);
}

/* One request that has nothing to do with what the page needs. */
static void add_noise(struct site *s, usec at, uint32_t client, int page)
{
	struct event *e = add_event(s, at, client, happens(&s->seed, 15) ? 404 : 200);
	char from[40];
	uint32_t other = below(&s->seed, RESOURCES);
	s->noise++;
	snprintf(from, sizeof(from), "/page-%d", page);
	if (!happens(&s->seed, 15))
		refer(e, from);
	switch (below(&s->seed, 4)) {
	case 0:
		snprintf(e->path, sizeof(e->path), "/api/track?n=%u", s->count);
		break;
	case 1:
		snprintf(e->path, sizeof(e->path), "%s",
		    s->path[other][0] ? s->path[other] : "/all/none.js");
		break;
	default:
		snprintf(e->path, sizeof(e->path), "/pictures/%u.jpg", below(&s->seed, 100));
		break;
	}
}

static void add_resource(struct site *s, usec at, uint32_t client, int page, int i)
{
	bool is_cached = s->cached[client][i];
	char from[40];
	if (is_cached && !happens(&s->seed, 20))
		return;
	usec later = at + (50 + below(&s->seed, 3000)) * USEC_PER_MSEC;
	struct event *e = add_event(s, later, client, is_cached ? 304 : 200);
	snprintf(from, sizeof(from), "/page-%d", page);
	memcpy(e->path, s->path[i], sizeof(e->path));
	if (!happens(&s->seed, 10))
		refer(e, s->parent[i] >= 0 ? s->path[s->parent[i]] : from);
	s->cached[client][i] = true;
	s->real++;
	/* A quarter as much noise as there is sense: a fifth of all. */
	if (happens(&s->seed, 25))
		add_noise(s, later + below(&s->seed, 1000000), client, page);
}

static void visit(struct site *s, usec at, uint32_t client, int page)
{
	struct event *e = add_event(s, at, client, 0);
	e->is_navigation = true;
	snprintf(e->path, sizeof(e->path), "/page-%d", page);
	for (int i = 0; i < RESOURCES; i++)
		if (s->belongs[page][i])
			add_resource(s, at, client, page, i);
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

static void make_events(struct site *s)
{
	for (uint32_t client = 0; client < CLIENTS; client++) {
		for (int i = 0; client % 2 && i < RESOURCES; i++)
			s->cached[client][i] = happens(&s->seed, 50);
		for (int burst = 0; burst < BURSTS; burst++) {
			usec at = START + below(&s->seed, SPREAD_SEC) * USEC_PER_SEC;
			for (int tab = 1 + (int)below(&s->seed, 4); tab > 0; tab--) {
				visit(s, at, client, (int)below(&s->seed, PAGES));
				at += below(&s->seed, 2000) * USEC_PER_MSEC;
			}
		}
	}
	qsort(s->events, s->count, sizeof(*s->events), by_time);
}

static struct slice client_name(uint32_t client, char *room, size_t size)
{
	snprintf(room, size, "192.0.2.%u", client);
	return slice_of_string(room);
}

static usec drive(struct source_learned *t, struct site *s)
{
	usec now = START;
	make_events(s);
	for (uint32_t i = 0; i < s->count; i++) {
		const struct event *e = &s->events[i];
		char client[32];
		const struct source_request r = {
		    .authority = SLICE("site.example"),
		    .path = slice_of_string(e->path),
		    .referer = slice_of_string(e->referer),
		    .client = client_name(e->client, client, sizeof(client)),
		    .is_get = true,
		    .is_navigation = e->is_navigation,
		    .status = e->status,
		};
		now = e->at;
		if (e->is_navigation)
			source_learned_view(t, &r, now);
		else
			source_learned_request(t, &r, now);
	}
	now += 60 * USEC_PER_SEC;
	source_learned_tick(t, now);
	return now;
}

static struct source_learned *table_new(void)
{
	const struct source_learned_options options = {0};
	return source_learned_new(&options, 0x5eed, NULL);
}

/* ---- how well it went ---- */

struct score {
	uint32_t right, wrong, missed;
};

static int resource_named(const struct site *s, struct slice path)
{
	for (int i = 0; i < RESOURCES; i++)
		if (s->path[i][0] && slice_equal(slice_of_string(s->path[i]), path))
			return i;
	return -1;
}

static size_t offers_of(const struct source_learned *t, int page,
    struct source_learned_item items[static SOURCE_LEARNED_RESOURCES], usec now)
{
	char path[40];
	snprintf(path, sizeof(path), "/page-%d", page);
	return source_learned_offers(
	    t, SLICE("site.example"), slice_of_string(path), items, SOURCE_LEARNED_RESOURCES, now);
}

static struct score score_of(const struct site *s, const struct source_learned *t, usec now)
{
	struct source_learned_item items[SOURCE_LEARNED_RESOURCES];
	struct score score = {0};
	for (int page = 0; page < PAGES; page++) {
		uint32_t right = 0, real = 0;
		size_t count = offers_of(t, page, items, now);
		for (size_t i = 0; i < count; i++) {
			int which = resource_named(s, items[i].path);
			right += which >= 0 && s->belongs[page][which];
		}
		for (int i = 0; i < RESOURCES; i++)
			real += s->belongs[page][i];
		score.right += right;
		score.wrong += (uint32_t)count - right;
		score.missed += real - right;
	}
	return score;
}

static void learns_what_belongs_to_pages_from(uint64_t seed)
{
	struct site *s = site_new(seed);
	struct source_learned *t = table_new();
	usec now = drive(t, s);
	struct score score = score_of(s, t, now);
	double right = score.right;
	double precision = right / (score.right + score.wrong);
	double recall = right / (score.right + score.missed);
	print_message("seed %u: %u real requests, %u noise; precision %.3f, recall %.3f\n",
	    (unsigned)seed, s->real, s->noise, precision, recall);
	assert_true(s->noise * 5 > s->real); /* a sixth at the very least */
	assert_true(precision > 0.95);
	assert_true(recall > 0.9);
	source_learned_free(t);
	site_free(s);
}

static void learned_sets_match_real_dependencies(void **state)
{
	(void)state;
	learns_what_belongs_to_pages_from(101);
	learns_what_belongs_to_pages_from(102);
	learns_what_belongs_to_pages_from(103);
}

/* How often what was proposed was then asked for is measured while it goes on. */
static void hit_rate_is_measured(void **state)
{
	(void)state;
	struct source_learned_item items[SOURCE_LEARNED_RESOURCES];
	struct site *s = site_new(102);
	struct source_learned *t = table_new();
	usec now = drive(t, s);
	uint32_t proposed = 0, came_true = 0;
	for (int page = 0; page < PAGES; page++) {
		size_t count = offers_of(t, page, items, now);
		for (size_t i = 0; i < count; i++) {
			assert_true(items[i].came_true <= items[i].proposed);
			proposed += items[i].proposed;
			came_true += items[i].came_true;
		}
	}
	assert_true(proposed > 1000);
	/* Half of the clients have half of it already, unknown to the table. */
	assert_true(came_true * 100 > proposed * 50);
	source_learned_free(t);
	site_free(s);
}

/* ---- one client against all ---- */

struct proposals {
	char *text;
	size_t length;
};

static struct proposals proposals_of(const struct source_learned *t, usec now)
{
	struct source_learned_item items[SOURCE_LEARNED_RESOURCES];
	struct proposals p;
	FILE *out = open_memstream(&p.text, &p.length);
	for (int page = 0; page < PAGES; page++) {
		bool is_there[RESOURCES] = {false};
		size_t count = offers_of(t, page, items, now);
		fprintf(out, "page %d: %zu:", page, count);
		/* In an order that does not depend on figures: a set. */
		for (size_t at = 0; at < count; at++) {
			size_t first = SIZE_MAX;
			for (size_t i = 0; i < count; i++) {
				if (is_there[i])
					continue;
				if (first == SIZE_MAX ||
				    strncmp(items[i].path.ptr, items[first].path.ptr, 20) < 0)
					first = i;
			}
			is_there[first] = true;
			fprintf(out, " %.*s", SLICE_ARG(items[first].path));
		}
		fputc('\n', out);
	}
	fclose(out);
	return p;
}

static usec forge(struct source_learned *t, usec now, uint64_t seed)
{
	char path[40], referer[60];
	for (int i = 0; i < 10000; i++) {
		uint32_t page = below(&seed, PAGES);
		struct source_request r = {.authority = SLICE("site.example"),
		    .client = SLICE("203.0.113.66"),
		    .is_get = true,
		    .status = 200};
		now += USEC_PER_SEC / 4;
		if (i % 4 == 0) {
			snprintf(path, sizeof(path), "/page-%u", page);
			r.is_navigation = true;
			r.path = slice_of_string(path);
			source_learned_view(t, &r, now);
		}
		snprintf(referer, sizeof(referer), "https://site.example/page-%u", page);
		snprintf(path, sizeof(path), "/evil/%u.js", below(&seed, 40));
		r.is_navigation = false;
		r.path = slice_of_string(path);
		r.referer = slice_of_string(referer);
		source_learned_request(t, &r, now);
	}
	now += 60 * USEC_PER_SEC;
	source_learned_tick(t, now);
	return now;
}

static void client_that_forges_referer_ten_thousand_times_changes_nothing(void **state)
{
	(void)state;
	struct site *s = site_new(101);
	struct source_learned *t = table_new();
	usec now = drive(t, s);
	struct proposals before = proposals_of(t, now);
	uint64_t counted = source_learned_stats(t).counted;
	now = forge(t, now, 7);
	struct proposals after = proposals_of(t, now);
	assert_string_equal(before.text, after.text);
	assert_null(strstr(after.text, "/evil/"));
	/* It did count: once for each page, and no more. */
	assert_in_range(source_learned_stats(t).counted - counted, 1, PAGES);
	assert_true(source_learned_stats(t).repeated > 0);
	free(before.text);
	free(after.text);
	source_learned_free(t);
	site_free(s);
}

static void client_alone_on_an_empty_table_gets_nothing_proposed(void **state)
{
	(void)state;
	struct source_learned *t = table_new();
	usec now = forge(t, START, 8);
	struct proposals p = proposals_of(t, now);
	assert_null(strstr(p.text, "/evil/"));
	assert_true(source_learned_stats(t).resources > 0);
	free(p.text);
	source_learned_free(t);
}

/* ---- bounds ---- */

static void random_observation(struct source_learned *t, uint64_t *seed, usec now)
{
	char authority[32], path[64], referer[128], client[32];
	struct source_request r = {.is_get = !happens(seed, 3),
	    .is_navigation = happens(seed, 30),
	    .has_credentials = happens(seed, 5),
	    .status = happens(seed, 90) ? 200 : 304};
	snprintf(authority, sizeof(authority), "h%u.example", below(seed, 4));
	snprintf(path, sizeof(path), r.is_navigation ? "/page/%u" : "/r/%u",
	    happens(seed, 50) ? below(seed, 40) : below(seed, 1000000));
	snprintf(referer, sizeof(referer), "https://%s/page/%u", authority,
	    happens(seed, 50) ? below(seed, 40) : below(seed, 1000000));
	snprintf(client, sizeof(client), "client-%u",
	    happens(seed, 50) ? below(seed, 60) : below(seed, 1000000));
	r.authority = slice_of_string(authority);
	r.path = slice_of_string(path);
	r.client = slice_of_string(client);
	if (happens(seed, 80))
		r.referer = slice_of_string(referer);
	if (r.is_navigation)
		source_learned_view(t, &r, now);
	else
		source_learned_request(t, &r, now);
	if (happens(seed, 2)) {
		r.path = slice_from(slice_of_string(referer), strlen("https://") + r.authority.len);
		source_learned_outcome(
		    t, &r, slice_of_string(path), (enum source_outcome)below(seed, 4), now);
	}
}

static void bounds_hold_under_random_observations(void **state)
{
	(void)state;
	const struct source_learned_options options = {
	    .pages = 100, .clients = 150, .views = 120, .bytes = 256 << 10};
	struct budget parent;
	budget_init(&parent, NULL, 1 << 20);
	struct source_learned *t = source_learned_new(&options, 42, &parent);
	uint64_t seed = 104;
	usec now = START;
	for (int i = 0; i < 300000; i++) {
		now += below(&seed, 20000);
		random_observation(t, &seed, now);
		struct source_learned_stats stats = source_learned_stats(t);
		assert_true(stats.pages <= 100 && stats.clients <= 150 && stats.views <= 120);
		assert_true(stats.resources <= stats.pages * SOURCE_LEARNED_RESOURCES);
		assert_true(
		    stats.bytes <= stats.peak_bytes && stats.peak_bytes <= stats.most_bytes);
		assert_true(parent.used_bytes <= options.bytes);
	}
	assert_true(source_learned_stats(t).counted > 1000);
	assert_true(source_learned_stats(t).refused > 0);
	source_learned_clear(t);
	assert_int_equal(source_learned_stats(t).pages, 0);
	assert_int_equal(parent.used_bytes, 0);
	source_learned_free(t);
	budget_fini(&parent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(learned_sets_match_real_dependencies),
	    cmocka_unit_test(hit_rate_is_measured),
	    cmocka_unit_test(client_that_forges_referer_ten_thousand_times_changes_nothing),
	    cmocka_unit_test(client_alone_on_an_empty_table_gets_nothing_proposed),
	    cmocka_unit_test(bounds_hold_under_random_observations),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
