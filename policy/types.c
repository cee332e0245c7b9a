/* SPDX-License-Identifier: MIT */
/*
 * Names of the policy's enums, and the type of a resource: by `as`, by the path's extension. Rules and
 * priorities depend on the type, which is a guess; nothing about the correctness of HTTP does.
 */
#include "policy/rules.h"
#include "proxy/base/ensure.h"

static const char *const source_names[POLICY_SOURCE_COUNT] = {
    [POLICY_RELAYED] = "relayed",
    [POLICY_LINK] = "link",
    [POLICY_CONFIG] = "config",
    [POLICY_MANIFEST] = "manifest",
    [POLICY_REMEMBERED] = "remembered",
};

static const char *const action_names[POLICY_ACTION_COUNT] = {
    [POLICY_FORWARD] = "forward",
    [POLICY_DROP] = "drop",
    [POLICY_HOLD] = "hold",
    [POLICY_HINT] = "hint",
    [POLICY_HINT_HOLD] = "hint+hold",
};

struct type_row {
	struct slice text;
	enum policy_type type;
};

static const struct type_row extensions[] = {
    {SLICE_INIT("html"), POLICY_TYPE_DOCUMENT},
    {SLICE_INIT("htm"), POLICY_TYPE_DOCUMENT},
    {SLICE_INIT("xhtml"), POLICY_TYPE_DOCUMENT},
    {SLICE_INIT("css"), POLICY_TYPE_STYLE},
    {SLICE_INIT("js"), POLICY_TYPE_SCRIPT},
    {SLICE_INIT("mjs"), POLICY_TYPE_SCRIPT},
    {SLICE_INIT("png"), POLICY_TYPE_IMAGE},
    {SLICE_INIT("jpg"), POLICY_TYPE_IMAGE},
    {SLICE_INIT("jpeg"), POLICY_TYPE_IMAGE},
    {SLICE_INIT("gif"), POLICY_TYPE_IMAGE},
    {SLICE_INIT("webp"), POLICY_TYPE_IMAGE},
    {SLICE_INIT("avif"), POLICY_TYPE_IMAGE},
    {SLICE_INIT("svg"), POLICY_TYPE_IMAGE},
    {SLICE_INIT("ico"), POLICY_TYPE_IMAGE},
    {SLICE_INIT("woff2"), POLICY_TYPE_FONT},
    {SLICE_INIT("woff"), POLICY_TYPE_FONT},
    {SLICE_INIT("ttf"), POLICY_TYPE_FONT},
    {SLICE_INIT("otf"), POLICY_TYPE_FONT},
    {SLICE_INIT("eot"), POLICY_TYPE_FONT},
    {SLICE_INIT("json"), POLICY_TYPE_JSON},
    {SLICE_INIT("mp4"), POLICY_TYPE_MEDIA},
    {SLICE_INIT("webm"), POLICY_TYPE_MEDIA},
    {SLICE_INIT("mp3"), POLICY_TYPE_MEDIA},
    {SLICE_INIT("ogg"), POLICY_TYPE_MEDIA},
    {SLICE_INIT("m4a"), POLICY_TYPE_MEDIA},
    {SLICE_INIT("wav"), POLICY_TYPE_MEDIA},
    {SLICE_INIT("vtt"), POLICY_TYPE_MEDIA},
};

/* The `as` destinations that preload knows (the Fetch standard's words). */
static const struct type_row destinations[] = {
    {SLICE_INIT("document"), POLICY_TYPE_DOCUMENT},
    {SLICE_INIT("style"), POLICY_TYPE_STYLE},
    {SLICE_INIT("script"), POLICY_TYPE_SCRIPT},
    {SLICE_INIT("worker"), POLICY_TYPE_SCRIPT},
    {SLICE_INIT("image"), POLICY_TYPE_IMAGE},
    {SLICE_INIT("font"), POLICY_TYPE_FONT},
    {SLICE_INIT("json"), POLICY_TYPE_JSON},
    {SLICE_INIT("audio"), POLICY_TYPE_MEDIA},
    {SLICE_INIT("video"), POLICY_TYPE_MEDIA},
    {SLICE_INIT("track"), POLICY_TYPE_MEDIA},
};

const char *policy_source_name(enum policy_source source)
{
	ensure((unsigned)source < POLICY_SOURCE_COUNT);
	return source_names[source];
}

const char *policy_action_name(enum policy_action action)
{
	ensure((unsigned)action < POLICY_ACTION_COUNT);
	return action_names[action];
}

const char *policy_type_as(enum policy_type type)
{
	static const char *const words[POLICY_TYPE_COUNT] = {
	    [POLICY_TYPE_DOCUMENT] = "document",
	    [POLICY_TYPE_STYLE] = "style",
	    [POLICY_TYPE_SCRIPT] = "script",
	    [POLICY_TYPE_IMAGE] = "image",
	    [POLICY_TYPE_FONT] = "font",
	    [POLICY_TYPE_JSON] = "fetch",
	};
	ensure((unsigned)type < POLICY_TYPE_COUNT);
	return words[type] ? words[type] : "";
}

static enum policy_type type_lookup(const struct type_row *rows, size_t count, struct slice text)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].text.len == text.len && slice_equal_nocase(rows[i].text, text))
			return rows[i].type;
	return POLICY_TYPE_UNKNOWN;
}

struct slice policy_path_without_query(struct slice path)
{
	return slice_sub(path, 0, slice_find(path, '?'));
}

enum policy_type policy_type_of_path(struct slice path)
{
	path = policy_path_without_query(path);
	size_t dot = path.len;
	while (dot > 0 && path.ptr[dot - 1] != '.' && path.ptr[dot - 1] != '/')
		dot--;
	if (path.len > 0 && path.ptr[path.len - 1] == '/')
		return POLICY_TYPE_DOCUMENT;
	if (dot == 0 || path.ptr[dot - 1] == '/')
		return POLICY_TYPE_UNKNOWN;
	return type_lookup(
	    extensions, sizeof extensions / sizeof *extensions, slice_from(path, dot));
}

enum policy_type policy_type_of_offer(struct slice as, struct slice promised_path)
{
	enum policy_type type =
	    type_lookup(destinations, sizeof destinations / sizeof *destinations, as);
	return type != POLICY_TYPE_UNKNOWN ? type : policy_type_of_path(promised_path);
}
