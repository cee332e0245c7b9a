/* SPDX-License-Identifier: MIT */
/* The lesson of a page: begun with its final head, open while its body passes. See lesson.h. */
#include "proxy/offer/lesson_private.h"

#include "proxy/base/ascii.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/route/route.h"

struct offer_lessons *offer_lessons_new(const struct offer_lessons_env *env)
{
	struct offer_lessons *l = memory_zalloc(sizeof(*l));
	l->env = *env;
	l->message = memory_alloc(REMEMBERED_MESSAGE_BYTES);
	return l;
}

void offer_lessons_free(struct offer_lessons *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < LESSON_VIEWS; i++)
		lesson_view_free(l, l->views[i]);
	free(l->message);
	free(l);
}

/* ---- who teaches ---- */

struct slice offer_lesson_client(const struct exchange *x)
{
	const struct address *client = &x->facts.client;
	return slice_of(client->bytes, client->family == 4 ? 4 : client->family == 6 ? 8 : 0);
}

uint64_t lesson_client_key(const struct offer_lessons *l, const struct exchange *x)
{
	struct slice client = offer_lesson_client(x);
	return hash_bytes(l->env.seed, client.ptr, client.len);
}

/* Behind another proxy, clients count only if a trusted one names them. Clients that show certificates, and those of
 * forward mode, may have resources of their own under the same names. */
bool offer_lesson_may_teach(const struct exchange *x)
{
	return x->method == HTTP_METHOD_GET && !exchange_is_push(x) &&
	       (!x->facts.came_through || x->facts.is_named) && x->request->authority.len > 0 &&
	       route_shares(&x->facts);
}

bool offer_is_page_load(const struct exchange *x)
{
	return policy_navigation_of(x->request) == POLICY_NAVIGATION_YES;
}

void offer_lesson_draw(struct offer_lessons *l, struct exchange *x)
{
	struct offer_part *part = offer_part(x);
	part->is_drawn = offer_lesson_may_teach(x) && lesson_page_draw(l, x);
	if (part->is_drawn)
		lesson_view_open(l, x);
}

void lesson_send(struct offer_lessons *l, size_t length)
{
	if (length > 0)
		l->env.teach(l->env.context, slice_of(l->message, length));
}

/* ---- Link fields ---- */

/* The parameters that a hint may have beside rel, as and crossorigin. */
static const struct slice kept_names[] = {SLICE_INIT("fetchpriority"), SLICE_INIT("imagesizes"),
    SLICE_INIT("imagesrcset"), SLICE_INIT("integrity"), SLICE_INIT("media"),
    SLICE_INIT("referrerpolicy"), SLICE_INIT("type")};

/* Cuts the next parameter off, at a ';' outside quotes. */
static struct slice cut_parameter(struct slice *rest)
{
	bool is_quoted = false;
	size_t at = 0;
	for (; at < rest->len && (is_quoted || rest->ptr[at] != ';'); at++)
		is_quoted ^= rest->ptr[at] == '"';
	struct slice parameter = slice_trim(slice_sub(*rest, 0, at));
	slice_skip(rest, at < rest->len ? at + 1 : at);
	return parameter;
}

/* False: without some parameter the link would be another one, and with it it is too long. */
static bool keep_parameters(const struct http_link *link, char *buffer, size_t size, size_t *length)
{
	struct slice rest = slice_from(link->value, slice_find(link->value, '>'));
	*length = 0;
	cut_parameter(&rest); /* the target */
	while (rest.len > 0) {
		struct slice parameter = cut_parameter(&rest), lower = parameter;
		lower.len = slice_find(parameter, '=');
		lower = slice_trim(lower);
		bool is_kept = false;
		for (size_t i = 0; i < sizeof(kept_names) / sizeof(kept_names[0]); i++)
			is_kept |= slice_equal_nocase(lower, kept_names[i]);
		if (!is_kept)
			continue;
		if (*length + parameter.len + 2 > size)
			return false;
		if (*length > 0) {
			memcpy(buffer + *length, "; ", 2);
			*length += 2;
		}
		memcpy(buffer + *length, parameter.ptr, parameter.len);
		*length += parameter.len;
	}
	return true;
}

static bool has_word(struct slice words, struct slice word)
{
	while (words.len > 0)
		if (slice_equal_nocase(slice_cut(&words, ' '), word))
			return true;
	return false;
}

static enum remembered_crossorigin crossorigin_of(const struct http_link *link)
{
	if (!link->has_crossorigin)
		return REMEMBERED_NO_CORS;
	return slice_equal_nocase(link->crossorigin, SLICE("use-credentials"))
		   ? REMEMBERED_CREDENTIALS
		   : REMEMBERED_ANONYMOUS;
}

/* A link that is for pushgate alone, or that says no to pushes, is remembered for nobody. */
static bool read_item(struct arena *a, const struct exchange *x, const struct http_link *link,
    struct remembered_item *item)
{
	struct http_target target;
	bool is_preconnect = !link->is_preload && has_word(link->rel, SLICE("preconnect"));
	if ((!link->is_preload && !is_preconnect) || link->has_anchor || link->nopush ||
	    link->push_only || link->as.len > 16 ||
	    !http_target_resolve(a, x->request, link->target, &target) ||
	    route_is_outside(x->request, &x->place, &target))
		return false;
	bool is_own = slice_equal(target.scheme, x->request->scheme) &&
		      slice_equal(target.authority, x->request->authority);
	if (is_own && (is_preconnect || slice_equal(target.path, x->request->path)))
		return false;
	*item = (struct remembered_item){.source = REMEMBERED_LINK,
	    .rel = is_preconnect     ? REMEMBERED_PRECONNECT
		   : link->is_module ? REMEMBERED_MODULEPRELOAD
				     : REMEMBERED_PRELOAD,
	    .crossorigin = crossorigin_of(link),
	    .target = is_own ? target.path
			     : arena_printf(a, "%.*s://%.*s%.*s", SLICE_ARG(target.scheme),
				   SLICE_ARG(target.authority), SLICE_ARG(target.path))};
	if (!is_preconnect && link->as.len > 0) {
		char *as = arena_bytes(a, link->as.len);
		ascii_lower_copy(as, link->as);
		item->as = slice_of(as, link->as.len);
	}
	return true;
}

/* False: there are more links than are looked at. Such a page teaches nothing, as if its <head> named them. */
static bool add_links(struct exchange *x, struct arena *a, struct slice value, uint32_t *seen)
{
	struct http_link link;
	while (http_link_next(&value, &link)) {
		struct remembered_item item;
		char kept[REMEMBERED_TEXT_BYTES];
		size_t length;
		if (!read_item(a, x, &link, &item) ||
		    !keep_parameters(&link, kept, sizeof(kept), &length))
			continue;
		if (++*seen > LIMIT_LINKS_PER_RESPONSE)
			return false;
		item.attributes = slice_of(kept, length);
		remembered_draft_add(offer_part(x)->draft, &item);
	}
	return true;
}

/* ---- the lesson ---- */

/* An empty value adds nothing to a list. */
static bool is_of(const struct http_field *f, struct slice name)
{
	return f->value.len > 0 && slice_equal(f->name, name);
}

/* The values of all fields of this name, as one (RFC 9110 5.3). Empty: none, or longer than that. */
static struct slice joined(
    struct arena *a, const struct http_head *head, struct slice name, size_t most)
{
	size_t bytes = 0, length = 0;
	for (uint32_t i = 0; i < head->count; i++)
		if (is_of(&head->fields[i], name))
			bytes += head->fields[i].value.len + 2;
	if (bytes == 0 || bytes - 2 > most)
		return SLICE("");
	char *text = arena_bytes(a, bytes);
	for (uint32_t i = 0; i < head->count; i++) {
		struct slice value = head->fields[i].value;
		if (!is_of(&head->fields[i], name))
			continue;
		memcpy(text + length, value.ptr, value.len);
		memcpy(text + length + value.len, ", ", 2);
		length += value.len + 2;
	}
	return slice_of(text, length - 2);
}

void offer_lesson_early(struct exchange *x, const struct http_head *interim)
{
	struct offer_part *part = offer_part(x);
	struct arena *a = exchange_arena(x);
	if (part->level == 0 || part->early || interim->status != 103 ||
	    !http_head_find(interim, HTTP_TOKEN_LINK))
		return;
	struct offer_early *early = arena_alloc(a, sizeof(*early));
	early->links = joined(a, interim, SLICE("link"), REMEMBERED_MESSAGE_BYTES);
	early->csp = joined(a, interim, SLICE("content-security-policy"), REMEMBERED_FIELD_BYTES);
	early->referrer_policy =
	    joined(a, interim, SLICE("referrer-policy"), REMEMBERED_FIELD_BYTES);
	part->early = early;
}

static void add_field(const struct offer_part *part, enum remembered_rel rel, struct slice value)
{
	const struct remembered_item item = {.rel = rel, .target = value};
	if (value.len > 0)
		remembered_draft_add(part->draft, &item);
}

static void begin(struct offer_lessons *l, struct exchange *x, const struct http_head *response)
{
	struct offer_part *part = offer_part(x);
	const struct remembered_lesson lesson = {.request = x->request,
	    .response = response,
	    .client = offer_lesson_client(x),
	    .is_page_load = true,
	    .has_user = x->facts.user != NULL};
	enum remembered_answer answer;
	if (l->open == LIMIT_LESSONS ||
	    !(part->is_drawn || lesson_page_has_changed(l, x, response)))
		return;
	part->draft = remembered_draft_new(l->env.memory, &lesson, &answer, x->relay->now);
	if (!part->draft)
		return;
	l->open++;
	lesson_page_taught(l, x, response);
	struct arena arena;
	char first[2048];
	arena_init(&arena, first, sizeof(first));
	uint32_t seen = 0;
	bool is_within = true;
	if (part->early) {
		is_within = add_links(x, &arena, part->early->links, &seen);
		add_field(part, REMEMBERED_CSP, part->early->csp);
		add_field(part, REMEMBERED_REFERRER_POLICY, part->early->referrer_policy);
	}
	for (uint32_t i = 0; i < response->count && is_within; i++)
		if (response->fields[i].token == HTTP_TOKEN_LINK)
			is_within = add_links(x, &arena, response->fields[i].value, &seen);
	arena_fini(&arena);
	if (!is_within)
		offer_lesson_drop(l, x);
}

void offer_lesson_answer(
    struct offer_lessons *l, struct exchange *x, const struct http_head *response)
{
	const struct offer_part *part = offer_part(x);
	if (!offer_lesson_may_teach(x))
		return;
	if (part->level == 0) {
		lesson_view_asked(l, x, response);
		return;
	}
	if (!part->draft && response->status == 200)
		begin(l, x, response);
	if (part->is_drawn && !part->draft)
		lesson_view_close(l, x);
}

void offer_lesson_add(struct exchange *x, const struct remembered_item *item)
{
	if (offer_part(x)->draft)
		remembered_draft_add(offer_part(x)->draft, item);
}

static void free_draft(struct offer_lessons *l, struct offer_part *part)
{
	remembered_draft_free(part->draft);
	part->draft = NULL;
	l->open--;
}

void offer_lesson_end(struct offer_lessons *l, struct exchange *x)
{
	struct offer_part *part = offer_part(x);
	if (!part->draft)
		return;
	struct slice message = remembered_draft_end(part->draft, x->request);
	bool is_taught = message.len > 0;
	if (is_taught)
		l->env.teach(l->env.context, message);
	if (is_taught && part->is_drawn)
		lesson_view_taught(l, x);
	free_draft(l, part);
	if (!is_taught && part->is_drawn)
		lesson_view_close(l, x);
}

void offer_lesson_drop(struct offer_lessons *l, struct exchange *x)
{
	struct offer_part *part = offer_part(x);
	if (!part->draft)
		return;
	free_draft(l, part);
	if (part->is_drawn)
		lesson_view_close(l, x);
}
