/* SPDX-License-Identifier: MIT */
/*
 * Parses a push manifest (format: manifest.h) and hands what it says to manifest_flat.c. manifest_file.c reads the file.
 */
#include "proxy/offer/manifest.h"
#include "policy/policy.h"
#include "proxy/base/arena.h"
#include "proxy/base/hash.h"
#include "proxy/base/map.h"
#include "proxy/base/memory.h"
#include "proxy/http/link.h"
#include "proxy/limits.h"
#include "proxy/offer/json.h"
#include "proxy/offer/manifest_flat.h"

enum { WEIGHT_MOST = 256 };

/* Stands for the authority of the page, which is not known yet. RFC 6761 6.4: .invalid never exists. */
#define OWN_AUTHORITY SLICE("manifest.invalid")

struct page {
	struct map_node node;
	struct manifest_page content;
};

struct reader {
	struct offer_json json;
	size_t index[3]; /* of the member that is being read, at each level */
	size_t depth;
	struct arena scratch;
	/* What was read, until it is made a manifest. */
	struct arena arena;
	struct map pages; /* struct page, by the hash of the path */
	bool is_single;
	struct manifest_page single;
};

#define mistake(r, ...) offer_json_mistake(&(r)->json, (r)->index, (r)->depth, __VA_ARGS__)

static struct page *find_page(const struct reader *r, struct slice path)
{
	uint64_t hash = hash_bytes(0, path.ptr, path.len);
	for (struct map_node *n = map_find(&r->pages, hash); n; n = map_next(n)) {
		struct page *page = container_of(n, struct page, node);
		if (slice_equal(page->content.path, path))
			return page;
	}
	return NULL;
}

static bool resolve(
    struct reader *r, struct slice base, const char *reference, struct http_target *out)
{
	const struct http_head head = {.kind = HTTP_REQUEST,
	    .scheme = SLICE("https"),
	    .authority = OWN_AUTHORITY,
	    .path = base};
	return http_target_resolve(&r->scratch, &head, slice_of_string(reference), out);
}

static bool read_target(
    struct reader *r, struct slice page, const char *reference, struct slice *out)
{
	struct arena *arena = &r->arena;
	struct http_target target;
	if (!reference[0] || reference[0] == '#' || !resolve(r, page, reference, &target)) {
		mistake(r,
		    "\"%s\" is no URI reference to a resource; write a path, percent-encoded, of "
		    "at most %u bytes",
		    offer_json_word(reference).text, LIMIT_REFERENCE_BYTES);
		return false;
	}
	if (slice_equal(target.authority, OWN_AUTHORITY))
		*out = arena_copy(arena, target.path);
	else
		*out = arena_printf(arena, "%.*s://%.*s%.*s", SLICE_ARG(target.scheme),
		    SLICE_ARG(target.authority), SLICE_ARG(target.path));
	return true;
}

static void read_type(
    struct reader *r, const json_t *value, struct offer_manifest_resource *resource)
{
	const char *word = json_string_value(value);
	if (!word || !manifest_is_type_word(slice_of_string(word)))
		mistake(r,
		    "\"type\" must be what stands in as=, like \"style\", \"script\" or \"font\"");
	else
		resource->as = arena_copy(&r->arena, slice_of_string(word));
}

/* Checked and ignored: rules set the urgency of a push. */
static void check_weight(struct reader *r, const json_t *value)
{
	json_int_t weight = json_integer_value(value);
	if (!json_is_integer(value) || weight < 0 || weight > WEIGHT_MOST)
		mistake(r, "\"weight\" must be a whole number from 0 to %d", WEIGHT_MOST);
}

static void read_crossorigin(
    struct reader *r, const json_t *value, struct offer_manifest_resource *resource)
{
	const char *word = json_string_value(value);
	if (word && (!word[0] || !strcmp(word, "anonymous")))
		resource->crossorigin = SLICE("anonymous");
	else if (word && !strcmp(word, "use-credentials"))
		resource->crossorigin = SLICE("use-credentials");
	else
		mistake(r, "\"crossorigin\" must be \"anonymous\" or \"use-credentials\"");
}

/* The properties of one resource; r->depth is that of its key. */
static void read_properties(
    struct reader *r, json_t *object, struct offer_manifest_resource *resource)
{
	const char *key;
	json_t *value;
	size_t *at = &r->index[r->depth++];
	*at = 0;
	json_object_foreach(object, key, value)
	{
		if (!strcmp(key, "type"))
			read_type(r, value, resource);
		else if (!strcmp(key, "weight"))
			check_weight(r, value);
		else if (!strcmp(key, "crossorigin"))
			read_crossorigin(r, value, resource);
		++*at;
	}
	r->depth--;
	if (resource->as.len == 0)
		resource->as =
		    slice_of_string(policy_type_as(policy_type_of_path(resource->target)));
}

static bool is_in_list(
    const struct offer_manifest_resource *list, size_t count, struct slice target)
{
	for (size_t i = 0; i < count; i++)
		if (slice_equal(list[i].target, target))
			return true;
	return false;
}

/* The members of a page, or of the root of the form for one page; r->depth is the depth of `object` itself. */
static struct offer_manifest_resources read_resources(
    struct reader *r, struct slice page, json_t *object)
{
	const char *key;
	json_t *value;
	size_t count = 0, most = json_object_size(object);
	if (most > OFFER_MANIFEST_RESOURCES) {
		mistake(r, "a page has %zu resources, and %d are the most", most,
		    OFFER_MANIFEST_RESOURCES);
		return (struct offer_manifest_resources){0};
	}
	struct offer_manifest_resource *list = arena_alloc(&r->arena, most * sizeof(*list) + 1);
	size_t *at = &r->index[r->depth++];
	*at = 0;
	json_object_foreach(object, key, value)
	{
		struct offer_manifest_resource *resource = &list[count];
		*resource = (struct offer_manifest_resource){0};
		if (!json_is_object(value))
			mistake(r,
			    "\"%s\" must be an object like {\"type\": \"style\", \"weight\": 1}",
			    offer_json_word(key).text);
		else if (read_target(r, page, key, &resource->target)) {
			read_properties(r, value, resource);
			if (is_in_list(list, count, resource->target))
				mistake(r, "\"%s\" names a resource that this page has already",
				    offer_json_word(key).text);
			else
				count++;
		}
		arena_reset(&r->scratch);
		++*at;
	}
	r->depth--;
	return (struct offer_manifest_resources){list, count};
}

static void read_page(struct reader *r, const char *key, json_t *object)
{
	struct http_target target;
	if (!resolve(r, SLICE("/"), key, &target) ||
	    !slice_equal(target.authority, OWN_AUTHORITY)) {
		mistake(r,
		    "\"%s\" is no page; write its path, percent-encoded, like \"/shop/index.html\"",
		    offer_json_word(key).text);
		return;
	}
	struct slice path = arena_copy(&r->arena, manifest_canonical_page(target.path));
	if (find_page(r, path)) {
		mistake(r, "\"%s\" names a page that is there already", offer_json_word(key).text);
		return;
	}
	struct page *page = arena_alloc(&r->arena, sizeof(*page));
	*page = (struct page){.content.path = path};
	map_insert(&r->pages, &page->node, hash_bytes(0, path.ptr, path.len));
	page->content.resources = read_resources(r, path, object);
}

static bool has_object_member(json_t *object)
{
	const char *key;
	json_t *value;
	json_object_foreach(object, key, value) if (json_is_object(value)) return true;
	return false;
}

/* A member of the root that has an object in it is a page; one with any other member is a resource. */
static bool is_single_form(json_t *root)
{
	const char *key;
	json_t *value;
	bool has_properties = false;
	json_object_foreach(root, key, value)
	{
		if (has_object_member(value))
			return false;
		has_properties |= !json_is_object(value) || json_object_size(value) > 0;
	}
	return has_properties || json_object_size(root) == 0;
}

static void read_pages(struct reader *r, json_t *root)
{
	const char *key;
	json_t *value;
	if (json_object_size(root) > OFFER_MANIFEST_PAGES) {
		mistake(r, "there are %zu pages, and %d are the most", json_object_size(root),
		    OFFER_MANIFEST_PAGES);
		return;
	}
	r->depth = 1;
	json_object_foreach(root, key, value)
	{
		if (!json_is_object(value) ||
		    (json_object_size(value) > 0 && !has_object_member(value)))
			mistake(r,
			    "\"%s\" must be a page, an object of resources, as others in this file "
			    "are",
			    offer_json_word(key).text);
		else
			read_page(r, key, value);
		arena_reset(&r->scratch);
		r->index[0]++;
	}
}

static void read_root(struct reader *r, json_t *root)
{
	if (!json_is_object(root)) {
		mistake(r, "a manifest is an object, {\"/css/app.css\": {\"type\": \"style\"}}");
		return;
	}
	r->is_single = is_single_form(root);
	if (r->is_single)
		r->single = (struct manifest_page){SLICE("/"), read_resources(r, SLICE("/"), root)};
	else
		read_pages(r, root);
}

static struct offer_manifest *make(struct reader *r)
{
	size_t count = 0;
	struct manifest_page *pages = arena_alloc(&r->arena, (r->pages.count + 1) * sizeof(*pages));
	if (r->is_single)
		pages[count++] = r->single;
	map_for_each(&r->pages, page, struct page, node) pages[count++] = page->content;
	struct offer_manifest *m = manifest_make(pages, count, r->is_single);
	r->depth = 0;
	if (!m)
		mistake(r,
		    "the paths of its resources have more than %d bytes when they are resolved",
		    OFFER_MANIFEST_FLAT_BYTES);
	return m;
}

struct offer_manifest *offer_manifest_parse(struct slice text, const char *name, FILE *errors)
{
	struct reader r = {.json = {.text = text, .name = name, .errors = errors}};
	if (text.len > OFFER_MANIFEST_BYTES) {
		fprintf(errors, "%s:1:1: is larger than %d bytes\n", name, OFFER_MANIFEST_BYTES);
		return NULL;
	}
	json_t *root = offer_json_parse(&r.json);
	if (!root)
		return NULL;
	arena_init(&r.arena, NULL, 0);
	arena_init(&r.scratch, NULL, 0);
	map_init(&r.pages);
	read_root(&r, root);
	json_decref(root);
	struct offer_manifest *m = r.json.mistakes == 0 ? make(&r) : NULL;
	map_fini(&r.pages);
	arena_fini(&r.arena);
	arena_fini(&r.scratch);
	return m;
}
