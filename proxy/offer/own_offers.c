/* SPDX-License-Identifier: MIT */
/*
 * Pushgate's own offers when a request arrives: from `add` lists, manifests and the memory of pages. The policy decides
 * about each offer. links.c has those that come with a response.
 */
#include "proxy/offer/offer.h"

#include "proxy/base/memory.h"
#include "proxy/http/link.h"
#include "proxy/route/route.h"

enum relay_offer_flags offer_place(const struct exchange *x, const struct http_target *target)
{
	bool is_foreign = !slice_equal(target->scheme, x->request->scheme) ||
			  !slice_equal(target->authority, x->request->authority);
	return is_foreign ? RELAY_OFFER_CROSS_ORIGIN : RELAY_OFFER_PLAIN;
}

/* ---- add lists ---- */

static void offer_adds(
    const struct offer_env *env, struct exchange *x, const struct conf_preload *preload)
{
	(void)env;
	for (size_t i = 0; i < preload->add_count && !exchange_is_over(x); i++) {
		const struct conf_add *add = &preload->adds[i];
		struct http_resource resource = {
		    .as = add->as,
		    .type = add->type,
		    .crossorigin = add->crossorigin,
		    .has_crossorigin = add->crossorigin.len > 0,
		    .fetchpriority = add->fetchpriority,
		    .media = add->media,
		};
		if (http_target_resolve(exchange_arena(x), x->request, add->path, &resource.target))
			exchange_offer(
			    x, POLICY_CONFIG, &resource, offer_place(x, &resource.target));
	}
}

/* ---- manifests ---- */

static void offer_manifests(
    const struct offer_env *env, struct exchange *x, const struct conf_preload *preload)
{
	for (size_t i = 0; env->manifests && i < preload->manifest_count; i++) {
		struct offer_manifest_resources found =
		    manifests_find(env->manifests, preload, i, x->request->path);
		for (size_t j = 0; j < found.count && !exchange_is_over(x); j++) {
			const struct offer_manifest_resource *of = &found.list[j];
			struct http_resource resource = {
			    .as = of->as,
			    .crossorigin = of->crossorigin,
			    .has_crossorigin = of->crossorigin.len > 0,
			};
			if (http_target_resolve(
				exchange_arena(x), x->request, of->target, &resource.target))
				exchange_offer(x, POLICY_MANIFEST, &resource,
				    offer_place(x, &resource.target));
		}
	}
}

/* ---- what is remembered ---- */

static enum relay_offer_flags flags_of_told(
    const struct exchange *x, const struct http_target *target, const struct conf_preload *preload)
{
	bool is_own = target->authority.ptr == x->request->authority.ptr;
	return (is_own ? RELAY_OFFER_PLAIN : offer_place(x, target)) |
	       (preload->remembered == CONF_REMEMBERED_APPLY ? 0 : RELAY_OFFER_PROPOSAL);
}

/* Copied, as an offer may change the memory, which lends the item. False: the target is no URI. */
static bool resource_of(
    struct exchange *x, const struct remembered_told *told, struct http_resource *resource)
{
	struct arena *a = exchange_arena(x);
	*resource = remembered_resource(&told->item);
	resource->as = arena_copy(a, resource->as);
	resource->link = arena_copy(a, told->link);
	resource->link_key = told->link_key;
	if (resource->link.len == 0)
		resource->parameters = arena_copy(a, resource->parameters);
	if (resource->target.path.len == 0)
		return http_target_resolve(
		    a, x->request, arena_copy(a, told->item.target), &resource->target);
	resource->target.scheme = x->request->scheme;
	resource->target.authority = x->request->authority;
	resource->target.path = arena_copy(a, resource->target.path);
	return true;
}

static size_t resources_told(const struct offer_env *env, struct exchange *x,
    struct http_resource list[REMEMBERED_RESOURCES], struct remembered_fields *fields)
{
	struct remembered_told told[REMEMBERED_RESOURCES];
	size_t found = remembered_find(env->remembered, x->request, told, fields, x->relay->now);
	size_t count = 0;
	for (size_t i = 0; i < found; i++)
		count += resource_of(x, &told[i], &list[count]);
	fields->csp = arena_copy(exchange_arena(x), fields->csp);
	fields->referrer_policy = arena_copy(exchange_arena(x), fields->referrer_policy);
	return count;
}

static void offer_remembered(
    const struct offer_env *env, struct exchange *x, const struct conf_preload *preload)
{
	struct offer_part *part = offer_part(x);
	bool is_first = part->level == CONF_REMEMBERED_OFF;
	if (!env->remembered || preload->remembered <= (enum conf_remembers)part->level ||
	    !route_shares(&x->facts) || !offer_is_page_load(x))
		return;
	part->level = (uint8_t)preload->remembered;
	part->takes_all_scripts |= preload->scripts == CONF_SCRIPTS_ALL;
	if (is_first && env->lessons)
		offer_lesson_draw(env->lessons, x);
	struct http_resource list[REMEMBERED_RESOURCES];
	struct relay_offer_run run = {0};
	struct remembered_fields fields;
	size_t count = resources_told(env, x, list, &fields);
	for (size_t i = 0; i < count && !exchange_is_over(x); i++)
		exchange_offer_next(x, POLICY_REMEMBERED, &list[i],
		    flags_of_told(x, &list[i].target, preload), &run);
	/* A browser uses the first 103 alone: ours has the policies that the origin's had before. */
	if (count > 0 && preload->remembered == CONF_REMEMBERED_APPLY)
		exchange_hint_under(x, fields.csp, fields.referrer_policy);
}

static void look_for_links(
    const struct offer_env *env, struct exchange *x, const struct conf_preload *preload)
{
	(void)env;
	x->pushes.takes_links = x->pushes.takes_links || preload->link;
}

/* The sources of a [preload] section that matches the request, in the order of their offers. */
static void (*const uses[])(
    const struct offer_env *env, struct exchange *x, const struct conf_preload *preload) = {
    look_for_links, offer_adds, offer_manifests, offer_remembered};

/* More sections than these take memory for each request. */
#define PRELOADS_FEW 64u

void offer_on_request(
    const struct offer_env *env, const struct client_facts *client, struct exchange *x)
{
	const struct conf *conf = env->conf;
	struct policy_offer facts = {
	    .parent = x->request, .now = x->relay->now, .effort = exchange_effort(x)};
	/* Without a host the resource has no URI that the client could ask for. */
	if (conf->preload_count == 0 || x->method != HTTP_METHOD_GET || exchange_is_push(x) ||
	    x->request->authority.len == 0)
		return;
	offer_request_context(env, client, x, &facts);
	bool few[PRELOADS_FEW];
	bool *takes = conf->preload_count <= PRELOADS_FEW
			  ? few
			  : memory_alloc(conf->preload_count * sizeof(*takes));
	for (size_t i = 0; i < conf->preload_count; i++)
		takes[i] = policy_rule_takes(&conf->preloads[i].when, &facts);
	if (conf->has_arms)
		offer_choose_arm(conf, x, facts.navigation != POLICY_NAVIGATION_NO, takes);
	for (size_t use = 0; use < sizeof(uses) / sizeof(uses[0]); use++)
		for (size_t i = 0; i < conf->preload_count && !exchange_is_over(x); i++)
			if (takes[i])
				uses[use](env, x, &conf->preloads[i]);
	if (takes != few)
		free(takes);
}
