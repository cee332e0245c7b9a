/* SPDX-License-Identifier: MIT */
/* The prefixes of a router, sorted, with a binary search for the longest one; see router_paths.h. */
#include "proxy/route/router_paths.h"

#include "proxy/base/memory.h"

/* One prefix with its routes: those with conditions in the order of the file, then the first one without. */
struct entry {
	uint64_t prefix, prefix_bytes; /* where it is, from the beginning of the paths */
	uint32_t first, count;         /* among the takers */
	uint32_t above; /* position + 1 of the longest entry that this one begins with; 0: none */
	bool has_conditions; /* the first taker has some */
};

/* Followed by the prefixes' bytes. */
struct router_paths {
	uint64_t bytes; /* of all */
	uint64_t entry_count;
	uint64_t takers;        /* where they are: positions of routes */
	struct entry entries[]; /* by their bytes */
};

static struct slice prefix_of(const struct router_paths *p, const struct entry *e)
{
	return slice_of((const char *)p + e->prefix, e->prefix_bytes);
}

static uint32_t *takers_of(const struct router_paths *p)
{
	return (void *)((char *)(uintptr_t)p + p->takers);
}

size_t router_paths_bytes(const struct router_paths *p)
{
	return p->bytes;
}

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
	while (above > 0 && !slice_starts_with(prefix_of(p, &p->entries[at]),
				prefix_of(p, &p->entries[above - 1])))
		above = p->entries[above - 1].above;
	return above;
}

static bool has_prefix(const struct router_paths *p, struct slice prefix)
{
	return p->entry_count > 0 &&
	       slice_equal(prefix_of(p, &p->entries[p->entry_count - 1]), prefix);
}

static void add_prefix(struct router_paths *p, const struct row *row, uint32_t takers)
{
	struct entry *e = &p->entries[p->entry_count];
	*e = (struct entry){.prefix = p->bytes,
	    .prefix_bytes = row->prefix.len,
	    .first = takers,
	    .has_conditions = conf_route_has_conditions(row->route)};
	memcpy((char *)p + p->bytes, row->prefix.ptr, row->prefix.len);
	p->bytes += row->prefix.len;
	e->above = find_above(p, p->entry_count++);
}

/* With room for all rows, though equal prefixes become one entry. */
static struct router_paths *new_of_rows(
    const struct row *rows, size_t count, const struct conf_route *first)
{
	size_t takers = sizeof(struct router_paths) + count * sizeof(struct entry), text = 0;
	for (size_t i = 0; i < count; i++)
		text += rows[i].prefix.len;
	struct router_paths *p = memory_zalloc(takers + count * sizeof(uint32_t) + text);
	p->takers = takers;
	p->bytes = takers + count * sizeof(uint32_t);
	for (size_t i = 0; i < count; i++) {
		if (!has_prefix(p, rows[i].prefix))
			add_prefix(p, &rows[i], (uint32_t)i);
		takers_of(p)[i] = (uint32_t)(rows[i].route - first);
		p->entries[p->entry_count - 1].count++;
	}
	return p;
}

struct router_paths *router_paths_new(
    const struct conf_route *const *routes, size_t count, const struct conf_route *first)
{
	size_t rows = count_rows(routes, count);
	struct row *row = memory_zalloc(rows * sizeof(*row));
	fill_rows(row, routes, count);
	qsort(row, rows, sizeof(*row), by_prefix);
	struct router_paths *p = new_of_rows(row, rows, first);
	free(row);
	return p;
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
    const struct conf_route *route, const struct request_facts *request, struct effort *effort)
{
	bool is_method = route->method_count == 0 ||
			 slice_is_among(request->head->method, route->methods, route->method_count);
	if (route->cert_count > 0 &&
	    !client_certificate_is_among(request->certificate, route->certs, route->cert_count))
		return false;
	for (size_t i = 0; i < route->field_test_count && is_method; i++)
		if (has_value(&route->field_tests[i], request->head, effort) ==
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
		if (slice_compare(prefix_of(p, &p->entries[middle]), path) <= 0)
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

static bool find_taker(const struct router_paths *p, const struct conf_route *routes,
    const struct entry *e, const struct request_facts *request, struct effort *effort,
    const struct conf_route **taker)
{
	const uint32_t *takers = takers_of(p) + e->first;
	*taker = &routes[takers[0]];
	if (!e->has_conditions)
		return true;
	for (uint32_t i = 0; i < e->count; i++) {
		*taker = &routes[takers[i]];
		if (!conf_route_has_conditions(*taker) || takes(*taker, request, effort))
			return true;
	}
	return false;
}

/*
 * Every prefix of the path lies at or before the last entry that is not behind the path, and all between the two
 * begin with it: so it is that entry, or what it begins with.
 */
const struct conf_route *router_paths_find(const struct router_paths *p,
    const struct conf_route *routes, struct slice path, const struct request_facts *request,
    struct slice *prefix, struct effort *effort)
{
	for (size_t at = last_not_behind(p, path); at > 0; at = p->entries[at - 1].above) {
		const struct entry *e = &p->entries[at - 1];
		struct slice found = prefix_of(p, e);
		if (!path_has_prefix(path, found))
			continue;
		const struct conf_route *route;
		if (!find_taker(p, routes, e, request, effort, &route))
			continue;
		*prefix = found;
		return route;
	}
	return NULL;
}
