/* SPDX-License-Identifier: MIT */
/*
 * Pages of the learned table as bytes, so that a worker can hand them to the process that writes its file, and
 * take them from there: a header, the name of the page, and for each resource its numbers and its path. All
 * numbers are those of this machine and program: the form is never stored.
 */
#include "proxy/offer/learned_table.h"

struct flat_page {
	uint32_t bytes; /* with this header */
	uint32_t resource_count, authority_length, path_length;
};

struct flat_resource {
	struct offer_learned_numbers numbers;
	uint32_t path_length, zero;
};

_Static_assert(
    sizeof(struct flat_page) + OFFER_LEARNED_AUTHORITY_BYTES + OFFER_LEARNED_PATH_BYTES +
	    OFFER_LEARNED_RESOURCES * (sizeof(struct flat_resource) + OFFER_LEARNED_PATH_BYTES) <=
	OFFER_LEARNED_PAGE_BYTES,
    "the largest page has room");

bool learned_resource_is_kept(
    const struct offer_learned *t, const struct learned_resource *r, double fade, usec now)
{
	return learned_resource_has_hits(t, r, fade) &&
	       learned_resource_clients(t, r, now) >= t->options.support;
}

/* ---- writing ---- */

static uint8_t *put(uint8_t *at, const void *from, size_t length)
{
	memcpy(at, from, length);
	return at + length;
}

static uint8_t *put_resource(uint8_t *at, const struct offer_learned *t,
    const struct learned_resource *r, double fade, usec now)
{
	const struct flat_resource flat = {
	    .numbers = learned_numbers_of(t, r, fade, now),
	    .path_length = (uint32_t)r->path_len,
	};
	return put(put(at, &flat, sizeof(flat)), r->path, r->path_len);
}

/* 0: no resource of the page is worth to be kept. */
static size_t put_page(
    uint8_t *buffer, const struct offer_learned *t, const struct learned_page *p, usec now)
{
	struct flat_page flat = {
	    .authority_length = (uint32_t)p->authority_len, .path_length = (uint32_t)p->path_len};
	double fade = learned_page_fade(t, p, now);
	uint8_t *at = put(buffer + sizeof(flat), p->name, p->authority_len + p->path_len);
	for (int i = 0; i < OFFER_LEARNED_RESOURCES; i++) {
		const struct learned_resource *r = p->resources[i];
		if (!r || !learned_resource_is_kept(t, r, fade, now))
			continue;
		at = put_resource(at, t, r, fade, now);
		flat.resource_count++;
	}
	flat.bytes = (uint32_t)(at - buffer);
	memcpy(buffer, &flat, sizeof(flat));
	return flat.resource_count > 0 ? flat.bytes : 0;
}

/* The least recently used page first, so that an import restores the order of use. */
size_t offer_learned_export(
    struct offer_learned *t, uint32_t round, uint8_t buffer[OFFER_LEARNED_PAGE_BYTES], usec now)
{
	const struct list *lists[] = {&t->candidates, &t->established};
	for (size_t i = 0; i < 2; i++)
		list_for_each(lists[i], p, struct learned_page, by_use)
		{
			if (p->exported == round)
				continue;
			p->exported = round;
			size_t length = put_page(buffer, t, p, now);
			if (length > 0)
				return length;
		}
	return 0;
}

/* ---- reading: everything is checked ---- */

static bool has_room(const struct offer_learned *t)
{
	size_t page =
	    sizeof(struct learned_page) + OFFER_LEARNED_AUTHORITY_BYTES + OFFER_LEARNED_PATH_BYTES;
	size_t known = sizeof(struct learned_resource) + OFFER_LEARNED_PATH_BYTES;
	return t->pages.count < t->options.pages - (t->options.pages + 7) / 8 &&
	       budget_room(&t->budget) >= page + OFFER_LEARNED_RESOURCES * known;
}

const char *learned_page_add(struct offer_learned *t, struct slice authority, struct slice path,
    struct learned_page **page, usec now)
{
	struct learned_name name;
	*page = NULL;
	if (!learned_name_set(&name, authority, path, true))
		return "\"authority\" and \"path\" name no page";
	if (learned_page_find(t, &name))
		return "the page is there twice";
	if (!has_room(t))
		return NULL;
	*page = learned_page_get(t, &name, now);
	if (*page)
		learned_page_establish(t, *page);
	return NULL;
}

static bool is_weight(double value)
{
	return value >= 0 && value <= WEIGHT_MOST;
}

const char *learned_numbers_add(struct offer_learned *t, struct learned_page *p, struct slice path,
    struct offer_learned_numbers numbers, usec now)
{
	struct learned_name name;
	if (!learned_name_set(&name, page_authority(p), path, false))
		return "\"path\" is no path";
	if (!is_weight(numbers.views) || !is_weight(numbers.hits) ||
	    numbers.hits > numbers.views + 1e-6)
		return "\"hits\" and \"views\" are no numbers that views can give";
	if (numbers.came_true > numbers.proposed)
		return "\"came_true\" is more than \"proposed\"";
	if (learned_resource_find(p, name.path) >= 0)
		return "\"path\" is there twice";
	if (numbers.clients < t->options.support || !learned_is_asset(name.path))
		return NULL;
	int i = learned_resource_add(t, p, name.path, now);
	if (i < 0)
		return NULL;
	struct learned_resource *r = p->resources[i];
	if (numbers.clients > OFFER_LEARNED_SUPPORTERS)
		numbers.clients = OFFER_LEARNED_SUPPORTERS;
	if (numbers.hits > numbers.views)
		numbers.hits = numbers.views;
	r->numbers = numbers;
	r->stands = numbers.proposed > 0;
	r->stands = learned_resource_is_proposed(t, r, 1, now);
	return NULL;
}

/* Cuts `length` bytes off. False: there are not as many. */
static bool cut(struct slice *bytes, size_t length, struct slice *out)
{
	if (length > bytes->len)
		return false;
	*out = slice_of(bytes->ptr, length);
	*bytes = slice_from(*bytes, length);
	return true;
}

static const char *import_resources(
    struct offer_learned *t, struct learned_page *p, uint32_t count, struct slice rest, usec now)
{
	const char *mistake = NULL;
	for (uint32_t i = 0; i < count && !mistake; i++) {
		struct flat_resource flat;
		struct slice bytes, path;
		if (!cut(&rest, sizeof(flat), &bytes))
			return "a resource is cut off";
		memcpy(&flat, bytes.ptr, sizeof(flat));
		if (!cut(&rest, flat.path_length, &path))
			return "a path is cut off";
		mistake = learned_numbers_add(t, p, path, flat.numbers, now);
	}
	return !mistake && rest.len > 0 ? "there are more bytes than resources" : mistake;
}

/* Cuts one page off and adds it. */
static const char *import_page(struct offer_learned *t, struct slice *bytes, usec now)
{
	struct flat_page flat;
	struct slice head, page, authority, path;
	if (bytes->len < sizeof(flat))
		return "a page is cut off";
	memcpy(&flat, bytes->ptr, sizeof(flat));
	if (flat.bytes > OFFER_LEARNED_PAGE_BYTES || !cut(bytes, flat.bytes, &page) ||
	    !cut(&page, sizeof(flat), &head) || !cut(&page, flat.authority_length, &authority) ||
	    !cut(&page, flat.path_length, &path) || flat.resource_count > OFFER_LEARNED_RESOURCES)
		return "a page's lengths are wrong";
	struct learned_name name;
	/* The table forgot the page and learned it again while it was copied. */
	if (learned_name_set(&name, authority, path, true) && learned_page_find(t, &name))
		return NULL;
	struct learned_page *p;
	const char *mistake = learned_page_add(t, authority, path, &p, now);
	if (mistake || !p)
		return mistake;
	mistake = import_resources(t, p, flat.resource_count, page, now);
	if (!p->used)
		learned_page_free(t, p);
	return mistake;
}

const char *offer_learned_import(struct offer_learned *t, struct slice bytes, usec now)
{
	const char *mistake = NULL;
	while (bytes.len > 0 && !mistake)
		mistake = import_page(t, &bytes, now);
	return mistake;
}
