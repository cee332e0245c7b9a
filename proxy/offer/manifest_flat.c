/* SPDX-License-Identifier: MIT */
/*
 * A manifest as one block of bytes, which another process can use as it is:
 *
 *     header | pages, by path | resources, in the order of the pages | text
 *
 * Pages and resources name their texts by position. All numbers are those of this machine and program:
 * the form is never stored.
 */
#include "proxy/offer/manifest_flat.h"
#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

enum { FLAT_MARK = 0x314d4750, TYPE_BYTES = 32 }; /* "PGM1" */

struct flat_text {
	uint32_t at, length;
};

struct flat_header {
	uint32_t mark, is_single, page_count, resource_count, text_bytes;
};

struct flat_page {
	struct flat_text path;
	uint32_t first, count; /* of its resources */
};

struct flat_resource {
	struct flat_text target, as, crossorigin;
};

struct offer_manifest {
	void *bytes;
	size_t length;
	void (*release)(void *bytes, size_t length);
	bool is_single;
	size_t page_count;
	struct manifest_page *pages; /* by path; their texts are in `bytes` */
	struct offer_manifest_resource *resources;
};

struct slice manifest_canonical_page(struct slice path)
{
	const struct slice name = SLICE_INIT("/index.html");
	path.len = slice_find(path, '?');
	if (path.len >= name.len && slice_equal(slice_from(path, path.len - name.len), name))
		path.len -= name.len - 1;
	return path;
}

bool manifest_is_type_word(struct slice word)
{
	for (size_t i = 0; i < word.len; i++)
		if (word.ptr[i] != '-' && (word.ptr[i] < 'a' || word.ptr[i] > 'z'))
			return false;
	return word.len <= TYPE_BYTES;
}

/* ---- writing ---- */

struct writer {
	struct flat_header *header;
	struct flat_page *pages;
	struct flat_resource *resources;
	char *text;
};

static size_t resource_bytes(const struct offer_manifest_resource *r)
{
	return sizeof(struct flat_resource) + r->target.len + r->as.len + r->crossorigin.len;
}

static size_t page_bytes(const struct manifest_page *p)
{
	size_t bytes = sizeof(struct flat_page) + p->path.len;
	for (size_t i = 0; i < p->resources.count; i++)
		bytes += resource_bytes(&p->resources.list[i]);
	return bytes;
}

static struct flat_text put_text(struct writer *w, struct slice text)
{
	struct flat_text out = {w->header->text_bytes, (uint32_t)text.len};
	if (text.len > 0)
		memcpy(w->text + out.at, text.ptr, text.len);
	w->header->text_bytes += out.length;
	return out;
}

static void put_page(struct writer *w, struct flat_page *out, const struct manifest_page *p)
{
	*out = (struct flat_page){.path = put_text(w, p->path),
	    .first = w->header->resource_count,
	    .count = (uint32_t)p->resources.count};
	for (size_t i = 0; i < p->resources.count; i++) {
		const struct offer_manifest_resource *r = &p->resources.list[i];
		w->resources[w->header->resource_count++] =
		    (struct flat_resource){.target = put_text(w, r->target),
			.as = put_text(w, r->as),
			.crossorigin = put_text(w, r->crossorigin)};
	}
}

static int by_path(const void *a, const void *b)
{
	return slice_compare(
	    ((const struct manifest_page *)a)->path, ((const struct manifest_page *)b)->path);
}

static void release_heap(void *bytes, size_t length)
{
	(void)length;
	free(bytes);
}

struct offer_manifest *manifest_make(struct manifest_page *pages, size_t count, bool is_single)
{
	size_t bytes = sizeof(struct flat_header), resources = 0;
	for (size_t i = 0; i < count; i++) {
		bytes += page_bytes(&pages[i]);
		resources += pages[i].resources.count;
	}
	if (bytes > OFFER_MANIFEST_FLAT_BYTES)
		return NULL;
	if (count > 0)
		qsort(pages, count, sizeof(*pages), by_path);
	struct writer w = {.header = memory_zalloc(bytes)};
	w.pages = (struct flat_page *)(w.header + 1);
	w.resources = (struct flat_resource *)(w.pages + count);
	w.text = (char *)(w.resources + resources);
	*w.header = (struct flat_header){
	    .mark = FLAT_MARK, .is_single = is_single, .page_count = (uint32_t)count};
	for (size_t i = 0; i < count; i++)
		put_page(&w, &w.pages[i], &pages[i]);
	struct offer_manifest *m = offer_manifest_of_flat(w.header, bytes, release_heap);
	ensure(m != NULL);
	return m;
}

/* ---- reading: everything is checked ---- */

struct flat {
	struct flat_header header;
	const struct flat_page *pages;
	const struct flat_resource *resources;
	struct slice text;
};

static bool find_parts(struct flat *f, const void *bytes, size_t length)
{
	if (length < sizeof(f->header) || length > OFFER_MANIFEST_FLAT_BYTES)
		return false;
	memcpy(&f->header, bytes, sizeof(f->header));
	const struct flat_header *h = &f->header;
	if (h->mark != FLAT_MARK || h->is_single > 1 || h->page_count > OFFER_MANIFEST_PAGES ||
	    (h->is_single && h->page_count != 1) || h->resource_count > length ||
	    h->text_bytes > length)
		return false;
	f->pages = (const struct flat_page *)((const struct flat_header *)bytes + 1);
	f->resources = (const struct flat_resource *)(f->pages + h->page_count);
	f->text = slice_of(f->resources + h->resource_count, h->text_bytes);
	return length == sizeof(*h) + h->page_count * sizeof(*f->pages) +
			     h->resource_count * sizeof(*f->resources) + h->text_bytes &&
	       ascii_is_visible(f->text);
}

static bool get_text(const struct flat *f, struct flat_text t, struct slice *out)
{
	if (t.at > f->text.len || t.length > f->text.len - t.at)
		return false;
	*out = slice_of(f->text.ptr + t.at, t.length);
	return true;
}

/* A path, or a URI with an authority. */
static bool is_target(struct slice target)
{
	return slice_starts_with(target, SLICE("/")) ||
	       slice_starts_with(target, SLICE("https://")) ||
	       slice_starts_with(target, SLICE("http://"));
}

static bool get_resource(
    const struct flat *f, const struct flat_resource *in, struct offer_manifest_resource *out)
{
	return get_text(f, in->target, &out->target) && is_target(out->target) &&
	       get_text(f, in->as, &out->as) && manifest_is_type_word(out->as) &&
	       get_text(f, in->crossorigin, &out->crossorigin) &&
	       (out->crossorigin.len == 0 || slice_equal(out->crossorigin, SLICE("anonymous")) ||
		   slice_equal(out->crossorigin, SLICE("use-credentials")));
}

static bool get_page(struct offer_manifest *m, const struct flat *f, uint32_t i)
{
	const struct flat_page *in = &f->pages[i];
	struct manifest_page *out = &m->pages[i];
	if (in->count > OFFER_MANIFEST_RESOURCES || in->first > f->header.resource_count ||
	    in->count > f->header.resource_count - in->first || !get_text(f, in->path, &out->path))
		return false;
	out->resources = (struct offer_manifest_resources){m->resources + in->first, in->count};
	return i == 0 || slice_compare(m->pages[i - 1].path, out->path) < 0;
}

static bool get_all(struct offer_manifest *m, const struct flat *f)
{
	bool is_good = true;
	for (uint32_t i = 0; is_good && i < f->header.resource_count; i++)
		is_good = get_resource(f, &f->resources[i], &m->resources[i]);
	for (uint32_t i = 0; is_good && i < f->header.page_count; i++)
		is_good = get_page(m, f, i);
	return is_good;
}

struct offer_manifest *offer_manifest_of_flat(
    void *bytes, size_t length, void (*release)(void *bytes, size_t length))
{
	struct flat f;
	if (!find_parts(&f, bytes, length)) {
		release(bytes, length);
		return NULL;
	}
	struct offer_manifest *m = memory_new(struct offer_manifest);
	*m = (struct offer_manifest){.bytes = bytes,
	    .length = length,
	    .release = release,
	    .is_single = f.header.is_single,
	    .page_count = f.header.page_count,
	    .pages = memory_resize(NULL, f.header.page_count + 1, sizeof(*m->pages)),
	    .resources = memory_resize(NULL, f.header.resource_count + 1, sizeof(*m->resources))};
	if (get_all(m, &f))
		return m;
	offer_manifest_free(m);
	return NULL;
}

void offer_manifest_free(struct offer_manifest *m)
{
	if (!m)
		return;
	free(m->pages);
	free(m->resources);
	m->release(m->bytes, m->length);
	free(m);
}

struct slice offer_manifest_flat(const struct offer_manifest *m)
{
	return slice_of(m->bytes, m->length);
}

struct offer_manifest_resources offer_manifest_find(
    const struct offer_manifest *m, struct slice path)
{
	if (m->is_single)
		return m->pages[0].resources;
	struct slice wanted = manifest_canonical_page(path);
	size_t low = 0, high = m->page_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (slice_compare(m->pages[middle].path, wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < m->page_count && slice_equal(m->pages[low].path, wanted))
		return m->pages[low].resources;
	return (struct offer_manifest_resources){0};
}
