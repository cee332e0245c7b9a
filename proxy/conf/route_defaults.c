/* SPDX-License-Identifier: MIT */
/*
 * [routes]: defaults for each option of a route. Its lines are read into a route that takes no
 * requests, so that each mistake is told once and where it stands. When the whole file is known,
 * the lines are read again into each route that does not give the option itself.
 *
 * Routes of forward mode take none of them: a credential that is meant for an origin must not go to
 * every host that somebody asks for.
 */
#include "proxy/conf/load.h"
#include "proxy/conf/value.h"
#include <inttypes.h>

/* Options of which one, given in a route, replaces the defaults of all. */
static const char *const groups[] = {"host host-file", "path path-file", CONF_ROUTE_ACTIONS};

bool conf_has_default(const struct conf_loader *l, const char *keys)
{
	return conf_first_section(l, s, CONF_SECTION_ROUTES, conf_option_line(s, keys) != 0);
}

/* ---- while the file is read ---- */

void conf_note_default(struct conf_loader *l, struct conf_section *emptied,
    const struct conf_option *o, struct slice value)
{
	const struct conf_default line = {
	    emptied, o, conf_copy_slice(l, value), {l->file, l->line}};

	conf_append(l, l->defaults, l->default_count, line);
}

bool conf_is_route_action(const struct conf_option *o)
{
	return value_choice(slice_of_string(o->key), CONF_ROUTE_ACTIONS) >= 0;
}

/* ---- when it has been read ---- */

/* Whether the route gives the option, or one that stands in its place. */
static bool gives(const struct conf_section *s, const char *key)
{
	for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
		if (value_choice(slice_of_string(key), groups[i]) >= 0)
			return conf_option_line(s, groups[i]) != 0;
	return conf_option_line(s, key) != 0;
}

static bool takes(const struct conf_loader *l, const struct conf_section *s, const char *key)
{
	return !gives(s, key) && !conf_is_forward_route(l, s->object);
}

/* All changes are made in this order. */
static void put_behind(struct conf_loader *l, struct conf_fields *f, struct conf_fields own)
{
	for (size_t i = 0; i < own.count; i++)
		conf_append(l, f->fields, f->count, own.fields[i]);
}

static void apply_to(struct conf_loader *l, struct conf_section *s)
{
	struct conf_route *route = s->object;
	const struct conf_fields request = route->request_fields;
	const struct conf_fields response = route->response_fields;
	const bool is_forward = conf_is_forward_route(l, route);

	route->request_fields = route->response_fields = (struct conf_fields){0};
	for (size_t i = 0; i < l->default_count && !is_forward; i++) {
		const struct conf_default *d = &l->defaults[i];
		if (d->emptied || gives(s, d->option->key))
			continue;
		l->file = d->at.file;
		l->line = d->at.line;
		if (!conf_set_option(l, d->option, route, d->value))
			s->is_broken = true;
	}
	put_behind(l, &route->request_fields, request);
	put_behind(l, &route->response_fields, response);
}

/* A line without a value is a mistake where there is no default that it could take away. */
static void check_emptied(struct conf_loader *l)
{
	for (size_t i = 0; i < l->default_count; i++) {
		const struct conf_default *e = &l->defaults[i];
		if (!e->emptied || conf_has_default(l, e->option->key))
			continue;
		l->file = e->at.file;
		l->line = e->at.line;
		conf_no_value(l, e->option);
		e->emptied->is_broken = true;
	}
}

void conf_apply_route_defaults(struct conf_loader *l)
{
	const char *file = l->file;
	uint32_t line = l->line;

	check_emptied(l);
	conf_for_each_section (l, s, CONF_SECTION_ROUTE) {
		if (l->default_count > 0)
			apply_to(l, s);
	}
	l->file = file;
	l->line = line;
}

/* ---- defaults that change nothing ---- */

/* Why the default is of no use to a route that takes it, or NULL. */
static const char *why_unused(const struct conf *c, const struct conf_route *route, const char *key)
{
	if (strcmp(key, "rewrite") == 0 && !route->rewrite.is_given)
		return "none of its paths begins with what rewrite replaces";
	return conf_why_unused(c, CONF_SECTION_ROUTE, key, route);
}

static void check_effect(
    struct conf_loader *l, const struct conf_section *defaults, const char *key, uint32_t line)
{
	const char *why = NULL, *title = NULL;

	conf_for_each_section (l, s, CONF_SECTION_ROUTE) {
		if (!takes(l, s, key))
			continue;
		why = why_unused(l->conf, s->object, key);
		if (!why)
			return;
		title = conf_section_title(l, s);
	}
	if (why)
		conf_warning(l, defaults->file, line,
		    "%s has no effect in any route (in %s, because %s); remove it", key, title,
		    why);
	else
		conf_warning(l, defaults->file, line,
		    "no route takes this %s: each has its own or is for mode = forward; remove it",
		    key);
}

void conf_check_unused_defaults(struct conf_loader *l, const struct conf_section *s)
{
	conf_for_each_option (o, CONF_SECTION_ROUTE) {
		uint32_t line = conf_changed_line(s, o->key);
		if (line)
			check_effect(l, s, o->key, line);
	}
}
