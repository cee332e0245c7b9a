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

static char *put(char *to, struct slice s)
{
	memcpy(to, s.ptr, s.len);
	return to + s.len;
}

/* With the scheme and authority of the page a path, else a URI. */
static struct slice target_of(
    struct arena *a, const struct http_target *page, const struct http_target *t, bool *is_own)
{
	const struct slice parts[] = {t->scheme, SLICE("://"), t->authority, t->path};
	*is_own =
	    slice_equal(t->authority, page->authority) && slice_equal(t->scheme, page->scheme);
	if (*is_own)
		return t->path;
	char *text = arena_bytes(a, t->scheme.len + 3 + t->authority.len + t->path.len), *at = text;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		at = put(at, parts[i]);
	return slice_of(text, (size_t)(at - text));
}

/* False: it would not be one value in a Link field, or is too long. Appends nothing if there is no value. */
static bool append(struct arena *a, struct slice *to, struct slice name, struct slice value)
{
	if (value.len == 0)
		return true;
	for (size_t i = 0; i < value.len; i++)
		if (value.ptr[i] < ' ' || value.ptr[i] > '~' || value.ptr[i] == '"' ||
		    value.ptr[i] == '\\')
			return false;
	struct slice separator = to->len > 0 ? SLICE("; ") : SLICE("");
	size_t bytes = to->len + separator.len + name.len + value.len + strlen("=\"\"");
	if (bytes > REMEMBERED_TEXT_BYTES)
		return false;
	char *text = arena_bytes(a, bytes);
	char *at = to->len > 0 ? put(text, *to) : text;
	at = put(put(put(put(at, separator), name), SLICE("=\"")), value);
	*at = '"';
	*to = slice_of(text, bytes);
	return true;
}

/* The parameters of a Link beside rel, as and crossorigin. False: it cannot be remembered with them, nor without them. */
static bool attributes_of(struct arena *a, const struct markup_resource *r, struct slice *out)
{
	bool is_preload = (r->uses & (MARKUP_PRELOAD | MARKUP_FONT)) != 0;
	struct slice none = {0};
	return append(a, out, SLICE("fetchpriority"), r->fetchpriority) &&
	       append(a, out, SLICE("imagesizes"), r->imagesizes) &&
	       append(a, out, SLICE("imagesrcset"), r->imagesrcset) &&
	       append(a, out, SLICE("integrity"), r->integrity) &&
	       append(a, out, SLICE("media"),
		   is_preload && !is_for_screens(r->media) ? r->media : none) &&
	       append(a, out, SLICE("type"), is_preload ? r->type : none);
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
