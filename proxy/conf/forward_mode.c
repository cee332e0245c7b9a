/* SPDX-License-Identifier: MIT */
/*
 * Forward mode: the route and the origin of a listener with mode = forward. They are sections like others, so that
 * all options of routes and origins apply. This file adds those that the configuration does not have. It also refuses options
 * that are for gateways alone.
 */
#include "proxy/conf/load.h"
#include "proxy/conf/value.h"
#include <inttypes.h>

/* ---- sections before the whole is checked ---- */

static const struct conf_section *find_forward_listener(const struct conf_loader *l)
{
	return conf_first_section(l, s, CONF_SECTION_LISTEN, conf_listen_is_forward(s->object));
}

/* A route that takes whatever no other route of forward mode takes. */
static bool takes_everything(const struct conf_loader *l, const struct conf_route *r)
{
	return conf_is_forward_route(l, r) && conf_route_has_host(r, SLICE("*")) &&
	       conf_route_has_path(r, SLICE("/")) && !conf_route_has_conditions(r);
}

/* Whether no section of the file has the name "forward". If one has it, reports a mistake: `wrong` says what that
 * section lacks. */
static bool is_free(struct conf_loader *l, enum conf_kind kind, const char *wrong)
{
	const struct conf_section *listen = find_forward_listener(l);
	const struct conf_section *s = conf_find_section(l, kind, SLICE("forward"));

	if (!s)
		return true;
	if (!s->is_broken)
		conf_mistake(l, s->file, s->line,
		    "mode = forward at %s:%" PRIu32 " makes a section %s, but this one %s; give it "
		    "another name",
		    listen->file, conf_option_line(listen, "mode"), conf_section_title(l, s),
		    wrong);
	return false;
}

/* ---- the built-in sections ---- */

bool conf_has_forward_listener(const struct conf_loader *l)
{
	return find_forward_listener(l) != NULL;
}

void conf_add_forward_sections(struct conf_loader *l)
{
	static const char origin_text[] = "[origin forward]\nserver = forward:\n";
	static const char route_text[] =
	    "[route forward]\norigin = %s\nupgrade = websocket\nmax-tunnels-per-client = 1000\n";

	if (!conf_has_forward_listener(l))
		return;
	if (!conf_find_forward_origin(l, NULL) &&
	    is_free(l, CONF_SECTION_ORIGIN, "has not server = forward:"))
		conf_read_text(l, "forward mode", slice_of_string(origin_text));
	const struct conf_section *origin = conf_find_forward_origin(l, NULL);
	if (!origin ||
	    conf_first_section(l, s, CONF_SECTION_ROUTE, takes_everything(l, s->object)) ||
	    !is_free(l, CONF_SECTION_ROUTE, "does not take every request of forward mode"))
		return;
	conf_read_text(l, "forward mode", arena_printf(&l->conf->arena, route_text, origin->name));
}

/* ---- options that forward mode, or an admin listener, does not have ---- */

/* Reports each of the options, separated by spaces, that the section has with another value than the default. */
static void forbid(
    struct conf_loader *l, const struct conf_section *s, const char *keys, const char *why)
{
	struct slice rest = slice_of_string(keys), word;

	while (value_next_word(&rest, &word) == VALUE_WORD) {
		const char *key = conf_copy(l, word);
		if (conf_changed_line(s, key))
			conf_mistake(
			    l, s->file, conf_option_line(s, key), "%s is %s; remove it", key, why);
	}
}

void conf_check_forward(struct conf_loader *l, const struct conf_section *s)
{
	/* A proxy must not speak of https in the name of sites that are not its own. */
	if (s->kind == CONF_SECTION_LISTEN && conf_listen_is_forward(s->object))
		forbid(l, s, "hsts redirect-to-https",
		    "about the hosts of a gateway, and mode = forward is for every host");
	if (s->kind == CONF_SECTION_LISTEN &&
	    ((const struct conf_listen *)s->object)->mode == CONF_MODE_ADMIN)
		forbid(l, s, "hsts redirect-to-https",
		    "about the hosts of a gateway, and mode = admin serves none");
	if (s->kind == CONF_SECTION_ROUTE && conf_is_forward_route(l, s->object))
		forbid(l, s, "server-timing speculation",
		    "about the responses of a gateway's origins, and mode = forward is for every "
		    "host");
	/* An option that is about one origin cannot hold for all hosts. */
	if (s->kind == CONF_SECTION_ORIGIN &&
	    ((const struct conf_origin *)s->object)->kind == CONF_ORIGIN_FORWARD)
		forbid(l, s, "tls-name client-certificate host affinity-cookie health-check",
		    "for the servers of one origin, and server = forward: stands for every host");
}
