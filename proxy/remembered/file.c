/* SPDX-License-Identifier: MIT */
/*
 * The memory as lines of JSON. The first line has the version and the time; each other line is a page with what is told
 * of it. One line at a time is in memory, and everything that is read is checked.
 *
 * A resource that is not told is not written: else one client could count several times, once in each life of the
 * process. Votes are not written at all: what was told stands until enough clients have voted again.
 */
#include "proxy/remembered/remembered_private.h"

#include "proxy/base/ascii.h"
#include <jansson.h>
#include <stdio.h>

enum { FILE_VERSION = 1 };

/* Longer ages say no more. */
#define AGE_MOST_SEC ((json_int_t)366 * 86400)
#define COUNT_MOST UINT32_MAX

static const char *const rel_names[REMEMBERED_RELS] = {
    "preload", "modulepreload", "preconnect", "next", "content-security-policy", "referrer-policy"};
static const char *const crossorigin_names[] = {"", "anonymous", "use-credentials"};
static const char *const source_names[REMEMBERED_SOURCES] = {
    "link", "head", "style", "asked", "followed"};

/* ---- writing ---- */

size_t remembered_write_begin(char *buffer, size_t size, uint64_t wall_sec)
{
	int n = snprintf(buffer, size, "{\"pushgate-pages\":%d,\"written\":%llu}\n", FILE_VERSION,
	    (unsigned long long)wall_sec);
	return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

static json_t *text_of(struct slice s)
{
	return json_stringn(s.ptr ? s.ptr : "", s.len);
}

static json_int_t age_of(usec at, usec now)
{
	json_int_t age = (json_int_t)((now - at) / USEC_PER_SEC);
	return age < AGE_MOST_SEC ? age : AGE_MOST_SEC;
}

static json_t *sources_of(uint8_t sources)
{
	json_t *list = json_array();
	for (int s = 0; s < REMEMBERED_SOURCES; s++)
		if (sources >> s & 1)
			json_array_append_new(list, json_string(source_names[s]));
	return list;
}

static json_t *resource_to_json(const struct remembered_page *p, int i, usec now)
{
	const struct remembered_resource *r = p->resources[i];
	return json_pack("{s:o, s:s, s:o, s:s, s:o, s:o, s:I, s:I, s:I, s:I, s:I}", "target",
	    text_of(resource_target(r)), "rel", rel_names[r->rel], "as", text_of(resource_as(r)),
	    "crossorigin", crossorigin_names[r->crossorigin], "attributes",
	    text_of(resource_attributes(r)), "sources", sources_of(resource_sources(p, i)), "known",
	    age_of(r->since, now), "named", age_of(r->seen, now), "offered", (json_int_t)r->offered,
	    "used", (json_int_t)r->used, "failed", (json_int_t)r->failed);
}

static json_t *page_to_json(const struct remembered_page *p, uint64_t told, usec now)
{
	const struct remembered_place *l = p->place;
	json_t *resources = json_array();
	for (uint64_t left = told; left != 0; left &= left - 1)
		json_array_append_new(resources, resource_to_json(p, __builtin_ctzll(left), now));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:I, s:o}", "scheme",
	    text_of(place_scheme(l)), "authority", text_of(place_authority(l)), "path",
	    text_of(place_path(l)), "vary", text_of(slice_of(l->vary, l->vary_len)), "rule",
	    text_of(slice_of(l->rule, l->rule_len)), "query", text_of(page_query(p)), "variant",
	    text_of(page_variant(p)), "known", age_of(p->since, now), "viewed",
	    age_of(p->viewed, now), "views", (json_int_t)p->views, "resources", resources);
}

size_t page_put(
    const struct remembered_page *p, uint64_t told, char buffer[REMEMBERED_PAGE_BYTES], usec now)
{
	json_t *page = page_to_json(p, told, now);
	size_t length = json_dumpb(page, buffer, REMEMBERED_PAGE_BYTES - 1, JSON_COMPACT);
	json_decref(page);
	if (length == 0 || length >= REMEMBERED_PAGE_BYTES - 1)
		return 0;
	buffer[length++] = '\n';
	return length;
}

/* The page viewed longest ago first, so that reading restores the order of use. */
size_t remembered_write_page(
    struct remembered *m, uint32_t round, char buffer[REMEMBERED_PAGE_BYTES], usec now)
{
	const struct list *lists[] = {&m->candidates, &m->established};
	for (size_t i = 0; i < 2; i++)
		list_for_each(lists[i], p, struct remembered_page, by_use)
		{
			if (p->written == round)
				continue;
			p->written = round;
			uint64_t told = page_told(m, p, now + EPOCH);
			size_t length = told ? page_put(p, told, buffer, now + EPOCH) : 0;
			if (length > 0)
				return length;
		}
	return 0;
}

/* ---- reading ---- */

static struct slice read_text(const json_t *object, const char *key, bool *is_good)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_string(value)) {
		*is_good = false;
		return SLICE("");
	}
	return slice_of(json_string_value(value), json_string_length(value));
}

static json_int_t read_number(const json_t *object, const char *key, json_int_t most, bool *is_good)
{
	const json_t *value = json_object_get(object, key);
	json_int_t number = json_integer_value(value);
	if (json_is_integer(value) && number >= 0 && number <= most)
		return number;
	*is_good = false;
	return 0;
}

/* The place of the name in a list of names; -1: none. */
static int name_at(struct slice name, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (slice_equal(name, slice_of_string(names[i])))
			return i;
	return -1;
}

static uint8_t read_sources(const json_t *object, bool *is_good)
{
	const json_t *list = json_object_get(object, "sources");
	unsigned sources = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *value = json_array_get(list, i);
		int s = json_is_string(value)
			    ? name_at(slice_of(json_string_value(value), json_string_length(value)),
				  source_names, REMEMBERED_SOURCES)
			    : -1;
		if (s < 0 || sources >> s & 1) {
			*is_good = false;
			return 0;
		}
		sources |= 1u << s;
	}
	*is_good = *is_good && sources != 0;
	return (uint8_t)sources;
}

static usec time_of(json_int_t age, usec away, usec now)
{
	usec span = (usec)age * USEC_PER_SEC + away;
	return span < now ? now - span : 1;
}

/* Whether each of the sources may name the item. */
static bool is_good_of_all(struct remembered_item *item, uint8_t sources)
{
	for (int s = 0; s < REMEMBERED_SOURCES; s++) {
		item->source = (enum remembered_source)s;
		if (sources >> s & 1 && !item_is_good(item, false))
			return false;
	}
	return true;
}

static const char *read_resource(
    struct remembered *m, struct remembered_page *p, const json_t *object, usec away, usec now)
{
	bool is_good = json_is_object(object) && json_object_size(object) == 11;
	struct remembered_item item = {.target = read_text(object, "target", &is_good),
	    .as = read_text(object, "as", &is_good),
	    .attributes = read_text(object, "attributes", &is_good)};
	int rel = name_at(read_text(object, "rel", &is_good), rel_names, REMEMBERED_RELS);
	int crossorigin = name_at(read_text(object, "crossorigin", &is_good), crossorigin_names, 3);
	uint8_t sources = read_sources(object, &is_good);
	json_int_t known = read_number(object, "known", AGE_MOST_SEC, &is_good);
	json_int_t seen = read_number(object, "named", known, &is_good);
	json_int_t offered = read_number(object, "offered", COUNT_MOST, &is_good);
	json_int_t used = read_number(object, "used", COUNT_MOST, &is_good);
	json_int_t failed = read_number(object, "failed", COUNT_MOST, &is_good);
	if (!is_good || rel < 0 || crossorigin < 0)
		return "a resource's members are not those of this version";
	item.rel = (enum remembered_rel)rel;
	item.crossorigin = (enum remembered_crossorigin)crossorigin;
	if (!is_good_of_all(&item, sources))
		return "a resource's target, as or attributes are none that is remembered";
	if (resource_find(p, &item) >= 0)
		return "a resource is there twice";
	int i = resource_add(m, p, &item, now);
	if (i < 0)
		return NULL;
	struct remembered_resource *r = p->resources[i];
	r->sources = sources;
	r->since = time_of(known, away, now);
	r->seen = time_of(seen, away, now);
	r->offered = (uint32_t)offered;
	r->used = (uint32_t)used;
	r->failed = (uint32_t)failed;
	p->standing |= UINT64_C(1) << i;
	return NULL;
}

struct page_texts {
	struct slice scheme, authority, path, vary, rule, query, variant;
};

bool text_is_storable(struct slice s)
{
	for (size_t i = 0; i < s.len; i++)
		if ((s.ptr[i] < ' ' || s.ptr[i] > '~') && s.ptr[i] != '\t')
			return false;
	return s.len <= REMEMBERED_TEXT_BYTES;
}

static bool read_texts(const json_t *object, struct page_texts *t)
{
	bool is_good = json_is_object(object) && json_object_size(object) == 11;
	t->scheme = read_text(object, "scheme", &is_good);
	t->authority = read_text(object, "authority", &is_good);
	t->path = read_text(object, "path", &is_good);
	t->vary = read_text(object, "vary", &is_good);
	t->rule = read_text(object, "rule", &is_good);
	t->query = read_text(object, "query", &is_good);
	t->variant = read_text(object, "variant", &is_good);
	return is_good && vary_is_good(t->vary) && query_rule_is_good(t->rule) &&
	       text_is_storable(t->query) && ascii_is_visible(t->query) &&
	       text_is_storable(t->variant) && slice_find(t->path, '?') == t->path.len;
}

/* A page that the memory has was taught meanwhile, and one without room is left out: *out is NULL. */
static const char *make_page(struct remembered *m, const struct page_texts *t, bool replaces,
    struct remembered_page **out, usec now)
{
	struct place_name name;
	*out = NULL;
	if (!place_name_set(&name, t->scheme, t->authority, t->path))
		return "\"scheme\", \"authority\" and \"path\" name no page";
	struct remembered_place *l = place_find(m, &name);
	if (l && (!place_has_rules(l, t->vary, t->rule) || page_find(l, t->query, t->variant) ||
		     l->page_count >= REMEMBERED_VARIANTS))
		return NULL;
	/* What was read before from a file, and is no less worth, stays. */
	if (!replaces && m->established_count >= m->options.pages - (m->options.pages + 7) / 8)
		return NULL;
	l = place_get(m, &name, t->vary, t->rule);
	*out = l ? page_new(m, l, t->query, t->variant, now) : NULL;
	return NULL;
}

/* The page of this name; or all pages of the place, if its rules have changed. */
static void remove_page(struct remembered *m, const struct page_texts *t)
{
	struct place_name name;
	struct remembered_place *l =
	    place_name_set(&name, t->scheme, t->authority, t->path) ? place_find(m, &name) : NULL;
	if (!l)
		return;
	if (!place_has_rules(l, t->vary, t->rule)) {
		place_free(m, l);
		return;
	}
	struct remembered_page *p = page_find(l, t->query, t->variant);
	if (p)
		page_free(m, p);
}

static const char *read_page(
    struct remembered *m, const json_t *object, bool replaces, usec away, usec now)
{
	struct page_texts texts;
	struct remembered_page *p;
	bool is_good = true;
	const json_t *list = json_object_get(object, "resources");
	json_int_t known = read_number(object, "known", AGE_MOST_SEC, &is_good);
	json_int_t viewed = read_number(object, "viewed", known, &is_good);
	json_int_t views = read_number(object, "views", COUNT_MOST, &is_good);
	if (!read_texts(object, &texts) || !is_good || !json_is_array(list) ||
	    json_array_size(list) < (replaces ? 0 : 1) ||
	    json_array_size(list) > REMEMBERED_RESOURCES)
		return "a page's members are not those of this version";
	if (replaces)
		remove_page(m, &texts);
	if (json_array_size(list) == 0)
		return NULL;
	const char *mistake = make_page(m, &texts, replaces, &p, now);
	if (!p)
		return mistake;
	p->since = time_of(known, away, now);
	p->viewed = time_of(viewed, away, now);
	p->views = (uint32_t)views;
	for (size_t i = 0; i < json_array_size(list) && !mistake; i++)
		mistake = read_resource(m, p, json_array_get(list, i), away, now);
	if (mistake || p->standing == 0)
		page_free(m, p);
	else
		page_establish(m, p);
	return mistake;
}

static json_t *parse(struct slice line)
{
	if (line.len == 0 || line.len >= REMEMBERED_PAGE_BYTES)
		return NULL;
	return json_loadb(line.ptr, line.len, JSON_REJECT_DUPLICATES, NULL);
}

static const char *read_line(
    struct remembered *m, struct slice line, bool replaces, usec away, usec now)
{
	json_t *object = parse(line);
	if (!object)
		return "the line is no JSON object";
	const usec most = (usec)AGE_MOST_SEC * USEC_PER_SEC;
	const char *mistake =
	    read_page(m, object, replaces, away < most ? away : most, now + EPOCH);
	json_decref(object);
	return mistake;
}

const char *remembered_read_page(struct remembered *m, struct slice line, usec away, usec now)
{
	return read_line(m, line, false, away, now);
}

const char *remembered_replace_page(struct remembered *m, struct slice line, usec away, usec now)
{
	pages_expire(m, now + EPOCH);
	return read_line(m, line, true, away, now);
}

static const char *read_begin(struct slice line, uint64_t wall_sec, usec *away)
{
	json_t *object = parse(line);
	bool is_good = json_is_object(object);
	json_int_t version = read_number(object, "pushgate-pages", INT32_MAX, &is_good);
	json_int_t written = read_number(object, "written", (json_int_t)1 << 40, &is_good);
	json_decref(object);
	if (!is_good)
		return "the first line is not that of a memory of pages";
	if (version != FILE_VERSION)
		return "it has another version than this program writes";
	/* A clock that was set back has no past. */
	uint64_t sec = wall_sec > (uint64_t)written ? wall_sec - (uint64_t)written : 0;
	*away = (sec < (uint64_t)AGE_MOST_SEC ? sec : (uint64_t)AGE_MOST_SEC) * USEC_PER_SEC;
	return NULL;
}

const char *remembered_read(
    struct remembered *m, struct slice text, uint64_t wall_sec, usec now, uint32_t *line)
{
	usec away = 0;
	*line = 1;
	const char *mistake = read_begin(slice_cut(&text, '\n'), wall_sec, &away);
	while (!mistake && text.len > 0) {
		++*line;
		/* What a write that was cut off has left is no page. */
		bool is_whole = slice_find(text, '\n') < text.len;
		mistake = is_whole ? remembered_read_page(m, slice_cut(&text, '\n'), away, now)
				   : "the line is not whole";
	}
	if (mistake)
		remembered_clear(m);
	return mistake;
}
