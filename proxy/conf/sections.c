/* SPDX-License-Identifier: MIT */
/* The kinds of sections, the sections that have been read, and the lines of their options. */
#include "proxy/conf/load.h"
#include "proxy/conf/value.h"

const struct conf_section_type conf_section_types[CONF_SECTION_COUNT] = {
    [CONF_SECTION_SERVER] = {"server", false, false, "", 0,
	"The whole process: user, logs, memory, and limits for pushes. At most one section."},
    [CONF_SECTION_LISTEN] = {"listen", true, false, "front", sizeof(struct conf_listen),
	"An address that clients connect to, with the settings and limits of these connections."},
    [CONF_SECTION_ACCESS] = {"access", true, true, "home", sizeof(struct conf_access),
	"Rules that say which requests the listeners that name the section take. The lines allow, "
	"deny and ask are tried in the order of the file, whatever their keys; the first whose "
	"conditions all hold decides. A request that no line takes is denied (403). Conditions: "
	"client=ADDRESS[/BITS], any, private (private networks, loopback, unix sockets) or unix. "
	"user=NAME; * is any user. path=PATTERN with * and ?, without query; it is held against "
	"the path as sent and as a server may decode it: allow needs both, deny and ask one of "
	"them. method=METHOD. time=DAYS/HOURS in local time: mon-fri/08:00-18:00, sat, "
	"22:00-06:00. host=NAME, *.NAME or an address: the host that is asked for; host-file=FILE "
	"has one on each line. In forward mode alone address=ADDRESS[/BITS], any or global: what "
	"is connected to; and port=N or N-M. Values are separated by commas; all stands for no "
	"condition."},
    [CONF_SECTION_ORIGIN] = {"origin", true, false, "app", sizeof(struct conf_origin),
	"A server that requests are sent to, with the settings and limits of these connections."},
    [CONF_SECTION_ROUTE] = {"route", true, false, "everything", sizeof(struct conf_route),
	"Sends requests to an origin, or answers them. The most specific route wins: an exact host "
	"before a wildcard, then the longest path, then one with conditions (method, field)."},
    [CONF_SECTION_ROUTES] = {"routes", false, true, "", sizeof(struct conf_route),
	"Defaults for the routes: each option of [route NAME] may stand here, wherever the section "
	"is in the file. An option that a route gives replaces the default, also that of a list; "
	"one without a value (upgrade =) takes it away. host and host-file replace each other, and "
	"so do path and path-file; and origin, redirect, answer and files. Changes of fields are "
	"made "
	"before those of the route. limit-requests counts for each route by itself. Routes whose "
	"origin has server = forward: take no defaults. At most one section."},
    [CONF_SECTION_PUSH] = {"push", true, true, "example", sizeof(struct policy_rule),
	"A rule that decides about pushes. Rules are tried in the order of the file; the first "
	"whose conditions all match decides. A condition that is not given always matches; one "
	"with several values matches if one of them does."},
    [CONF_SECTION_PRELOAD] = {"preload", true, true, "example", sizeof(struct conf_preload),
	"Pushes that pushgate itself offers: for which requests, and from which sources. All "
	"sections whose conditions match are used; the [push] rules decide on each offered push."},
    [CONF_SECTION_ERRORS] = {"errors", false, true, "", 0,
	"What pushgate's own answers with an error status say in place of a short text: a file for "
	"each status, of at most 64 KiB, read by the start and by a reload. Its ending tells its "
	"type: .html, "
	".txt or .json. Responses of origins stay as they are. At most one section."},
};

const char *conf_section_title(struct conf_loader *l, const struct conf_section *s)
{
	const char *word = conf_section_types[s->kind].word;
	const char *space = s->name[0] ? " " : "";
	return arena_printf(&l->conf->arena, "[%s%s%s]", word, space, s->name).ptr;
}

/* The last line of the first of the options that the section has; NULL: it has none. */
static const struct conf_option_place *place_of(const struct conf_section *s, const char *keys)
{
	const struct conf_option_place *found = NULL;
	struct slice rest = slice_of_string(keys), word;

	while (!found && value_next_word(&rest, &word) == VALUE_WORD)
		for (size_t i = 0; i < s->option_count; i++)
			if (slice_equal(word, slice_of_string(s->options[i].key)))
				found = &s->options[i];
	return found;
}

const struct conf_option_place *conf_nth_option(
    const struct conf_section *s, const char *key, size_t nth)
{
	return conf_first(
	    place, s->options, s->option_count, strcmp(place->key, key) == 0 && nth-- == 0);
}

uint32_t conf_option_line(const struct conf_section *s, const char *keys)
{
	const struct conf_option_place *p = place_of(s, keys);
	return p ? p->line : 0;
}

uint32_t conf_line_of(const struct conf_section *s, const char *keys)
{
	uint32_t line = conf_option_line(s, keys);
	return line ? line : s->line;
}

uint32_t conf_changed_line(const struct conf_section *s, const char *key)
{
	const struct conf_option_place *p = place_of(s, key);
	return p && !p->is_preset ? p->line : 0;
}

const struct conf_section *conf_find_section(
    const struct conf_loader *l, enum conf_kind kind, struct slice name)
{
	return conf_first_section(l, s, kind, slice_equal(name, slice_of_string(s->name)));
}

const struct conf_section *conf_find_forward_origin(const struct conf_loader *l, const char *name)
{
	return conf_first_section(l, s, CONF_SECTION_ORIGIN,
	    ((const struct conf_origin *)s->object)->kind == CONF_ORIGIN_FORWARD &&
		(!name || strcmp(s->name, name) == 0));
}

bool conf_is_forward_route(const struct conf_loader *l, const struct conf_route *r)
{
	return r->side_count > 0 && conf_find_forward_origin(l, r->sides[0].name);
}
