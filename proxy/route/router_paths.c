/* SPDX-License-Identifier: MIT */
/* The prefixes of a router, sorted, with a binary search for the longest one; see router_paths.h. */
#include "proxy/route/router_paths.h"

#include "proxy/base/memory.h"

/* One prefix with its routes: those with conditions in the order of the file, then the first one without. */
struct entry {
	struct slice prefix;
	uint32_t first, count; /* among the takers */
	uint32_t above; /* position + 1 of the longest entry that this one begins with; 0: none */
	bool has_conditions; /* the first taker has some */
};

struct router_paths {
	const struct conf_route **routes; /* that it was made of */
	size_t route_count;
	struct entry *entries; /* by their bytes */
	const struct conf_route **takers;
	size_t entry_count;
};

/* ---- the table ---- */

/* A path of a route, before equal prefixes are joined. */
struct row {
	struct slice prefix;
	const struct conf_route *route;
};

/* Routes lie in one array, in the order of the file. */
static int by_prefix(const void *left, const void *right)
{
	const struct row *a = left, *b = right;
	int order = slice_compare(a->prefix, b->prefix);
	if (order == 0)
		order = conf_route_has_conditions(b->route) - conf_route_has_conditions(a->route);
	return order ? order : (a->route > b->route) - (a->route < b->route);
}

static size_t count_rows(const struct conf_route *const *routes, size_t count)
{
	size_t rows = 0;
	for (size_t i = 0; i < count; i++)
		rows += routes[i]->path_count ? routes[i]->path_count : 1;
	return rows;
}

static void fill_rows(struct row *rows, const struct conf_route *const *routes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (routes[i]->path_count == 0)
			*rows++ = (struct row){SLICE("/"), routes[i]};
		for (size_t j = 0; j < routes[i]->path_count; j++)
			*rows++ = (struct row){routes[i]->paths[j], routes[i]};
	}
}

/* Of entries in order, the candidates are the one before and those that it begins with. */
static uint32_t find_above(const struct router_paths *p, size_t at)
{
	uint32_t above = (uint32_t)at;
	while (above > 0 && !slice_starts_with(p->entries[at].prefix, p->entries[above - 1].prefix))
		above = p->entries[above - 1].above;
	return above;
}

static bool has_prefix(const struct router_paths *p, struct slice prefix)
{
	return p->entry_count > 0 && slice_equal(p->entries[p->entry_count - 1].prefix, prefix);
}

static void add_row(struct router_paths *p, const struct row *row, uint32_t takers)
{
	if (!has_prefix(p, row->prefix)) {
		struct entry *e = &p->entries[p->entry_count];
		*e = (struct entry){.prefix = row->prefix,
		    .first = takers,
		    .has_conditions = conf_route_has_conditions(row->route)};
		e->above = find_above(p, p->entry_count++);
	}
	p->takers[takers] = row->route;
	p->entries[p->entry_count - 1].count++;
}

struct router_paths *router_paths_new(const struct conf_route *const *routes, size_t count)
{
	struct router_paths *p = memory_new(struct router_paths);
	size_t rows = count_rows(routes, count);
	struct row *row = memory_zalloc(rows * sizeof(*row));
	fill_rows(row, routes, count);
	qsort(row, rows, sizeof(*row), by_prefix);
	p->routes = memory_zalloc(count * sizeof(*p->routes));
	memcpy(p->routes, routes, count * sizeof(*p->routes));
	p->route_count = count;
	p->entries = memory_zalloc(rows * sizeof(*p->entries));
	p->takers = memory_zalloc(rows * sizeof(*p->takers));
	for (size_t i = 0; i < rows; i++)
		add_row(p, &row[i], (uint32_t)i);
	free(row);
	return p;
}

void router_paths_free(struct router_paths *p)
{
	if (!p)
		return;
	free(p->routes);
	free(p->entries);
	free(p->takers);
	free(p);
}

bool router_paths_are_of(
    const struct router_paths *p, const struct conf_route *const *routes, size_t count)
{
	return p->route_count == count &&
	       memcmp(p->routes, routes, count * sizeof(*p->routes)) == 0;
}

/* ---- lookups ---- */

static bool has_value(
    const struct conf_field_test *test, const struct http_head *request, struct effort *effort)
{
	for (uint32_t i = 0; i < request->count; i++) {
		const struct http_field *f = &request->fields[i];
		bool is_it =
		    test->token ? f->token == test->token : slice_equal(f->name, test->name);
		if (is_it && policy_patterns_take(&test->values, f->value, false, effort))
			return true;
	}
	return false;
}

static bool takes(
    const struct conf_route *route, const struct http_head *request, struct effort *effort)
{
	bool is_method = route->method_count == 0 ||
			 slice_is_among(request->method, route->methods, route->method_count);
	for (size_t i = 0; i < route->field_test_count && is_method; i++)
		if (has_value(&route->field_tests[i], request, effort) ==
		    route->field_tests[i].is_absent)
			return false;
	return is_method;
}

/* Position + 1 of the last entry that is not behind the path; 0: all are. */
static size_t last_not_behind(const struct router_paths *p, struct slice path)
{
	size_t low = 0, high = p->entry_count;
	if (high == 1) /* the prefix is compared anyway */
		return 1;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (slice_compare(p->entries[middle].prefix, path) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* A prefix ends at the end of a segment: "/api" matches "/api" and "/api/x", but not "/apix". */
static bool path_has_prefix(struct slice path, struct slice prefix)
{
	if (!slice_starts_with(path, prefix))
		return false;
	return path.len == prefix.len || prefix.ptr[prefix.len - 1] == '/' ||
	       path.ptr[prefix.len] == '/';
}

static const struct conf_route *find_taker(const struct router_paths *p, const struct entry *e,
    const struct http_head *request, struct effort *effort)
{
	if (!e->has_conditions)
		return p->takers[e->first];
	for (uint32_t i = e->first; i < e->first + e->count; i++)
		if (!conf_route_has_conditions(p->takers[i]) ||
		    takes(p->takers[i], request, effort))
			return p->takers[i];
	return NULL;
}

/*
 * Every prefix of the path lies at or before the last entry that is not behind the path, and all between the two
 * begin with it: so it is that entry, or what it begins with.
 */
const struct conf_route *router_paths_find(const struct router_paths *p, struct slice path,
    const struct http_head *request, struct slice *prefix, struct effort *effort)
{
	for (size_t at = last_not_behind(p, path); at > 0; at = p->entries[at - 1].above) {
		const struct entry *e = &p->entries[at - 1];
		if (!path_has_prefix(path, e->prefix))
			continue;
		const struct conf_route *route = find_taker(p, e, request, effort);
		if (!route)
			continue;
		*prefix = e->prefix;
		return route;
	}
	return NULL;
}
