/* SPDX-License-Identifier: MIT */
/*
 * Speculation rules: responses to page loads name them, and pushgate answers requests for them. Which pages they name:
 * those that the memory of pages tells as the next ones, of routes that have speculation too, and by a path that looks as
 * if it only showed something. A response names no rules that would be empty.
 */
#include "proxy/gateway/gateway_private.h"

/* The route that would take a request of this client for another path of the same host. NULL: none, or the client may not
 * ask for it. Other fields of the request are as they came. */
static const struct conf_route *route_of_path(
    const struct gateway *g, struct exchange *x, struct slice path)
{
	struct http_head head = *x->request;
	struct request_facts facts = x->facts;
	struct request_routing routing;
	const char *detail;
	head.path = path;
	facts.head = &head;
	if (facts.listener->access &&
	    access_may_ask(&facts, exchange_effort(x)).answer != ACCESS_ALLOW)
		return NULL;
	return route_find(&g->routes, &facts, exchange_effort(x), &routing, &detail)
		   ? NULL
		   : routing.place.route;
}

static bool may_name(
    const struct gateway *g, struct exchange *x, const struct conf_route *of, struct slice path)
{
	const struct policy_patterns *deny = &of->speculation.deny;
	if (!speculation_may_name(path) ||
	    (deny->count > 0 && policy_patterns_take(deny, path, false, exchange_effort(x))))
		return false;
	const struct conf_route *route = route_of_path(g, x, path);
	/* Patterns that take too long deny. */
	return route && !exchange_effort(x)->is_used_up &&
	       route->speculation.kind >= of->speculation.kind;
}

/* The pages that the rules of a page name. Lent until the memory changes. */
static size_t next_pages(const struct gateway *g, struct exchange *x, const struct conf_route *of,
    struct slice page, struct slice paths[SPECULATION_PAGES])
{
	struct http_head head = *x->request;
	struct remembered_told told[REMEMBERED_RESOURCES];
	size_t count = 0;
	head.path = page;
	head.method_token = HTTP_METHOD_GET; /* HEAD gets the length of the same rules */
	size_t known = remembered_next(g->lessons.memory, &head, told, g->relay.now);
	for (size_t i = 0; i < known && count < SPECULATION_PAGES; i++)
		if (may_name(g, x, of, told[i].item.target))
			paths[count++] = told[i].item.target;
	return count;
}

/* The route of the page whose rules are asked for; NULL: none are. */
static const struct conf_route *asked_for(
    const struct gateway *g, struct exchange *x, struct slice *page)
{
	*page = speculation_page_of(x->request->path, exchange_arena(x));
	const struct conf_route *route = page->len > 0 ? route_of_path(g, x, *page) : NULL;
	return route && route->speculation.kind != SPECULATION_OFF ? route : NULL;
}

bool speculation_serves(const struct gateway *g, struct exchange *x)
{
	struct slice page;
	if ((x->method != HTTP_METHOD_GET && x->method != HTTP_METHOD_HEAD) ||
	    !asked_for(g, x, &page))
		return false;
	exchange_refuse(x, &relay_cause_SPECULATION_RULES, NULL);
	return true;
}

void speculation_answer(const struct gateway *g, struct exchange *x, struct http_own_answer *answer)
{
	/* Where clients go changes slowly. */
	static const struct http_own_field fields[] = {
	    {SLICE_INIT("cache-control"), SLICE_INIT("private, max-age=300")},
	    {SLICE_INIT("x-content-type-options"), SLICE_INIT("nosniff")},
	};
	struct slice page, paths[SPECULATION_PAGES];
	const struct conf_route *route = asked_for(g, x, &page);
	answer->details = NULL;
	answer->body = SLICE("{}");
	answer->content_type = SPECULATION_MEDIA_TYPE;
	answer->more = fields;
	answer->more_count = sizeof(fields) / sizeof(fields[0]);
	/* Those who are logged in may have another page, by the same path; and by another field it might have another route. */
	const struct slice fields_of_routes = g->env.conf->condition_fields;
	answer->vary = arena_printf(exchange_arena(x), "cookie%s%.*s",
	    fields_of_routes.len > 0 ? ", " : "", SLICE_ARG(fields_of_routes));
	if (!route)
		return;
	size_t count = next_pages(g, x, route, page, paths);
	answer->body = speculation_rules(
	    route->speculation.kind, route->speculation.eagerness, paths, count, exchange_arena(x));
}

/* ---- responses ---- */

/*
 * Browsers that are told to load pages when a link is pressed, or pointed at, load what somebody is about to open: that
 * counts, since no other request comes when the link is followed. Loads that nobody has asked for do not: what is told
 * would confirm itself.
 */
static bool may_teach(const struct exchange *x)
{
	return offer_lesson_may_teach(x) &&
	       !(x->terms.is_speculative &&
		   x->place.route->speculation.eagerness > SPECULATION_MODERATE);
}

static void teach(struct gateway *g, const struct exchange *x, const struct http_head *head)
{
	uint8_t message[REMEMBERED_NEXT_BYTES];
	const struct remembered_lesson lesson = {.request = x->request,
	    .response = head,
	    .client = offer_lesson_client(x),
	    .is_page_load = true,
	    .has_user = x->facts.user != NULL};
	size_t length = remembered_next_message(g->lessons.memory, &lesson, message);
	if (length > 0)
		lessons_teach(g, slice_of(message, length));
}

void speculation_response(struct gateway *g, struct exchange *x, struct http_head *head)
{
	struct slice paths[SPECULATION_PAGES];
	if (exchange_is_push(x) || !speculation_is_page(x->request, head))
		return;
	if (may_teach(x))
		teach(g, x, head);
	if (speculation_has_rules(head) ||
	    next_pages(g, x, x->place.route, x->request->path, paths) == 0)
		return;
	struct slice path = speculation_rules_path(x->request->path, &head->arena);
	if (path.len > 0)
		http_head_add(head, SLICE("speculation-rules"),
		    arena_printf(&head->arena, "\"%.*s\"", SLICE_ARG(path)));
}
