/* SPDX-License-Identifier: MIT */
/*
 * Checks [routes], and a [route NAME]: what it does with its requests, the origins that it names, and whether an
 * earlier route takes all of them.
 */
#include "proxy/conf/load.h"
#include "proxy/http/path.h"
#include <inttypes.h>

/* ---- what it does ---- */

static void find_origins(struct conf_loader *l, const struct conf_section *s)
{
	struct conf_route *route = s->object;

	for (size_t i = 0; i < route->side_count; i++) {
		struct conf_side *side = &route->sides[i];
		const struct conf_section *origin =
		    conf_find_section(l, CONF_SECTION_ORIGIN, slice_of_string(side->name));
		if (origin)
			side->origin = origin->object;
		/* An origin that is missing in [routes] is told there. */
		else if (conf_option_line(s, "origin"))
			conf_no_section(l, s, CONF_SECTION_ORIGIN, side->name);
	}
	if (route->side_count > 0)
		route->origin = route->sides[0].origin;
	if (!route->origin_text)
		route->origin_text = "-";
}

/* origin, redirect, answer and files exclude each other; that one of them is there has been checked. */
static void check_one_action(struct conf_loader *l, const struct conf_section *s)
{
	static const char *const actions[] = {"origin", "redirect", "answer", "files"};
	const char *first = NULL;
	uint32_t first_line = 0;

	for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
		uint32_t line = conf_option_line(s, actions[i]);
		if (line == 0)
			continue;
		if (first) {
			conf_mistake(l, s->file, line > first_line ? line : first_line,
			    "%s has %s and %s; keep one of them", conf_section_title(l, s), first,
			    actions[i]);
			return;
		}
		first = actions[i];
		first_line = line;
	}
}

/* Whether some request of the route is for the prefix or below it. */
static bool may_have(const struct conf_route *route, struct slice prefix)
{
	for (size_t i = 0; i < route->path_count; i++) {
		struct slice path = route->paths[i];
		struct slice bare = path;
		if (bare.ptr[bare.len - 1] == '/')
			bare.len--;
		if (http_path_is_below(path, prefix) || prefix.len == 0 ||
		    http_path_is_below(prefix, bare))
			return true;
	}
	return route->path_count == 0;
}

static void check_rewrite(struct conf_loader *l, const struct conf_section *s)
{
	struct conf_route *route = s->object;

	if (!route->rewrite.is_given || may_have(route, route->rewrite.from))
		return;
	if (conf_option_line(s, "rewrite") == 0) {
		route->rewrite = (struct conf_rewrite){0};
		return;
	}
	conf_mistake(l, s->file, conf_option_line(s, "rewrite"),
	    "no path of %s begins with %.*s, so that nothing is rewritten; write one of its paths",
	    conf_section_title(l, s), SLICE_ARG(route->rewrite.from));
}

/* ---- the order of routes ---- */

bool conf_route_has_host(const struct conf_route *r, struct slice host)
{
	bool is_any = slice_equal(host, SLICE("*"));

	return conf_any(h, r->hosts, r->host_count, slice_equal_nocase(*h, host)) ||
	       (r->host_count == 0 && is_any);
}

bool conf_route_has_path(const struct conf_route *r, struct slice path)
{
	return slice_is_among(path, r->paths, r->path_count) ||
	       (r->path_count == 0 && slice_equal(path, SLICE("/")));
}

/* Whether a request that meets the conditions of `later` always meets those of `earlier`, which is tried first. */
static bool conditions_hide(const struct conf_route *earlier, const struct conf_route *later)
{
	if (!conf_route_has_conditions(later))
		return !conf_route_has_conditions(earlier);
	if (earlier->field_test_count + earlier->cert_count > 0 || earlier->method_count == 0 ||
	    later->method_count == 0)
		return false;
	return !conf_any(m, later->methods, later->method_count,
	    !slice_is_among(*m, earlier->methods, earlier->method_count));
}

/* Comparisons of two routes; lists from files are not compared. */
#define COMPARED_MOST 100000u

/* True if `earlier` has all hosts and paths of `later`. Of equal routes the first one matches. */
static bool route_hides(const struct conf_route *earlier, const struct conf_route *later)
{
	if (!conditions_hide(earlier, later) ||
	    later->host_count * earlier->host_count > COMPARED_MOST ||
	    later->path_count * earlier->path_count > COMPARED_MOST)
		return false;
	if (later->host_count == 0 && !conf_route_has_host(earlier, SLICE("*")))
		return false;
	if (later->path_count == 0 && !conf_route_has_path(earlier, SLICE("/")))
		return false;
	return !conf_any(h, later->hosts, later->host_count, !conf_route_has_host(earlier, *h)) &&
	       !conf_any(p, later->paths, later->path_count, !conf_route_has_path(earlier, *p));
}

static void check_order(struct conf_loader *l, const struct conf_section *s)
{
	conf_for_each_section (l, earlier, CONF_SECTION_ROUTE) {
		if (earlier == s)
			return;
		const struct conf_route *other = earlier->object, *route = s->object;
		if (earlier->is_broken || s->is_broken || other->is_forward != route->is_forward ||
		    !route_hides(other, route))
			continue;
		conf_warning(l, s->file, s->line,
		    "%s never matches, because [route %s] at %s:%" PRIu32
		    " has its hosts and paths; remove one of them",
		    conf_section_title(l, s), earlier->name, earlier->file, earlier->line);
		return;
	}
}

static void check_forward_route(struct conf_loader *l, const struct conf_section *s)
{
	struct conf_route *route = s->object;
	route->is_forward = conf_any(side, route->sides, route->side_count,
	    side->origin && side->origin->kind == CONF_ORIGIN_FORWARD);
	/* [routes] has no such origin: that has been told. */
	if (!route->is_forward || conf_option_line(s, "origin") == 0)
		return;
	if (route->side_count > 1)
		conf_mistake(l, s->file, conf_option_line(s, "origin"),
		    "an origin with server = forward: shares no route with others; name it alone");
	else if (route->rewrite.is_given)
		conf_mistake(l, s->file, conf_option_line(s, "rewrite"),
		    "rewrite is for gateways, and the route has an origin with server = forward:; "
		    "remove it");
	else if (!conf_has_forward_listener(l))
		conf_warning(l, s->file, s->line,
		    "%s never matches, because no [listen NAME] has mode = forward; add that to "
		    "one",
		    conf_section_title(l, s));
}

/* Routes of forward mode take no defaults. */
static void check_forward_default(struct conf_loader *l, const struct conf_section *s)
{
	if (conf_is_forward_route(l, s->object))
		conf_mistake(l, s->file, conf_option_line(s, "origin"),
		    "an origin with server = forward: is no default, because it is for listeners "
		    "with mode = forward alone; name it in a [route NAME]");
}

void conf_check_routes(struct conf_loader *l, struct conf_section *s)
{
	find_origins(l, s);
	check_one_action(l, s);
	check_forward_default(l, s);
}

void conf_check_route(struct conf_loader *l, struct conf_section *s)
{
	find_origins(l, s);
	check_forward_route(l, s);
	conf_check_forward(l, s);
	check_one_action(l, s);
	check_rewrite(l, s);
	conf_read_folder(l, s);
	check_order(l, s);
}
