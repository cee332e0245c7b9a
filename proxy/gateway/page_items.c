/* SPDX-License-Identifier: MIT */
/*
 * From what a page or a stylesheet names to what is remembered of it. In doubt nothing: a resource that a client fetches under
 * a condition, with a nonce, or for another media than screens is left out.
 */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/ascii.h"
#include "proxy/markup/markup.h"

#define LONGEST_AS 16u

static bool is_for_screens(struct slice media)
{
	if (media.len == 0)
		return true;
	media = slice_trim(media);
	return media.len == 0 || slice_equal_nocase(media, SLICE("all")) ||
	       slice_equal_nocase(media, SLICE("screen"));
}

/* With the scheme and authority of the page a path, else a URI. */
static struct slice target_of(
    struct arena *a, const struct http_target *page, const struct http_target *t, bool *is_own)
{
	*is_own =
	    slice_equal(t->scheme, page->scheme) && slice_equal(t->authority, page->authority);
	return *is_own ? t->path
		       : arena_printf(a, "%.*s://%.*s%.*s", SLICE_ARG(t->scheme),
			     SLICE_ARG(t->authority), SLICE_ARG(t->path));
}

/* False: it would not be one value in a Link field, or is too long. Appends nothing if there is no value. */
static bool append(struct arena *a, struct slice *to, const char *name, struct slice value)
{
	if (value.len == 0)
		return true;
	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] < ' ' || value.ptr[i] > '~' || value.ptr[i] == '"' ||
		    value.ptr[i] == '\\')
			return false;
	if (to->len + value.len > REMEMBERED_TEXT_BYTES)
		return false;
	*to = arena_printf(a, "%.*s%s%s=\"%.*s\"", SLICE_ARG(*to), to->len > 0 ? "; " : "", name,
	    SLICE_ARG(value));
	return to->len <= REMEMBERED_TEXT_BYTES;
}

/* The parameters of a Link beside rel, as and crossorigin. False: it cannot be remembered with them, nor without them. */
static bool attributes_of(struct arena *a, const struct markup_resource *r, struct slice *out)
{
	bool is_preload = (r->uses & (MARKUP_PRELOAD | MARKUP_FONT)) != 0;
	struct slice none = {0};
	return append(a, out, "fetchpriority", r->fetchpriority) &&
	       append(a, out, "imagesizes", r->imagesizes) &&
	       append(a, out, "imagesrcset", r->imagesrcset) &&
	       append(a, out, "integrity", r->integrity) &&
	       append(a, out, "media", is_preload && !is_for_screens(r->media) ? r->media : none) &&
	       append(a, out, "type", is_preload ? r->type : none);
}

static enum remembered_crossorigin crossorigin_of(const struct markup_resource *r)
{
	if ((r->marks & MARKUP_HAS_CROSSORIGIN) == 0)
		return REMEMBERED_NO_CORS;
	return slice_equal_nocase(slice_trim(r->crossorigin), SLICE("use-credentials"))
		   ? REMEMBERED_CREDENTIALS
		   : REMEMBERED_ANONYMOUS;
}

/* What a client fetches early, whatever it is. */
static bool is_needed(const struct markup_resource *r, enum conf_scripts scripts)
{
	if (r->marks & (MARKUP_HAS_NONCE | MARKUP_PARTIAL))
		return false;
	if ((r->uses & MARKUP_SCRIPT) &&
	    scripts == CONF_SCRIPTS_BLOCKING) /* modules are deferred by themselves */
		return (r->marks & MARKUP_ASYNC) == 0 &&
		       ((r->marks & MARKUP_DEFER) == 0 || (r->marks & MARKUP_MODULE) != 0);
	return true;
}

size_t page_items_of(struct arena *a, const struct http_target *page,
    const struct markup_resource *r, enum conf_scripts scripts,
    struct remembered_item items[PAGE_ITEMS_MOST])
{
	const bool is_module = (r->uses & MARKUP_MODULEPRELOAD) ||
			       ((r->uses & MARKUP_SCRIPT) && (r->marks & MARKUP_MODULE));
	unsigned preloads = r->uses & (MARKUP_PRELOAD | MARKUP_SCRIPT | MARKUP_FONT);
	if (is_for_screens(r->media))
		preloads |= r->uses & (MARKUP_STYLESHEET | MARKUP_IMPORT);
	bool is_later = (r->uses & (MARKUP_IMPORT | MARKUP_FONT)) != 0, is_own;
	struct remembered_item item = {.source = is_later ? REMEMBERED_STYLE : REMEMBERED_HEAD,
	    .crossorigin = crossorigin_of(r)};
	size_t count = 0;
	if (!is_needed(r, scripts) || r->as.len > LONGEST_AS)
		return 0;
	item.target = target_of(a, page, &r->target, &is_own);
	if ((r->uses & MARKUP_PRECONNECT) && !is_own) {
		items[count] = item;
		items[count++].rel = REMEMBERED_PRECONNECT;
	}
	if ((preloads == 0 && !is_module) || !attributes_of(a, r, &item.attributes))
		return count;
	char *as = arena_bytes(a, r->as.len);
	ascii_lower_copy(as, r->as);
	item.as = slice_of(as, r->as.len);
	item.rel = is_module ? REMEMBERED_MODULEPRELOAD : REMEMBERED_PRELOAD;
	items[count++] = item;
	return count;
}
