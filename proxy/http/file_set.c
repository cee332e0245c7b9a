/* SPDX-License-Identifier: MIT */
/* See file_set.h. The bytes of a set: its rows in the order of their names, and then all texts and bodies. */
#include "proxy/http/file_set.h"

#include <stdlib.h>
#include <string.h>

struct extent {
	uint64_t at, length;
};

struct row {
	struct extent name, type, body;
	uint64_t modified_sec;
	char tag[HTTP_FILE_TAG_BYTES];
};

static int compare_names(struct slice a, struct slice b)
{
	size_t shared = a.len < b.len ? a.len : b.len;
	int order = shared > 0 ? memcmp(a.ptr, b.ptr, shared) : 0;
	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_files(const void *a, const void *b)
{
	const struct http_file *left = a, *right = b;
	return compare_names(left->name, right->name);
}

static struct extent put(char *bytes, size_t *at, struct slice text)
{
	struct extent e = {*at, text.len};
	if (text.len > 0)
		memcpy(bytes + *at, text.ptr, text.len);
	*at += text.len;
	return e;
}

struct slice http_file_set_make(struct arena *arena, struct http_file *files, size_t count)
{
	size_t at = count * sizeof(struct row), length = at;
	if (count == 0)
		return SLICE("");
	qsort(files, count, sizeof(*files), compare_files);
	for (size_t i = 0; i < count; i++)
		length += files[i].name.len + files[i].type.len + files[i].body.len;
	char *bytes = arena_alloc(arena, length);
	struct row *rows = (void *)bytes;
	for (size_t i = 0; i < count; i++) {
		const struct http_file *f = &files[i];
		rows[i] = (struct row){.modified_sec = f->modified_sec};
		memcpy(rows[i].tag, f->tag, sizeof(f->tag));
		rows[i].name = put(bytes, &at, f->name);
		rows[i].type = put(bytes, &at, f->type);
		rows[i].body = put(bytes, &at, f->body);
	}
	return slice_of(bytes, length);
}

static struct slice text_at(struct slice set, struct extent e)
{
	return slice_of(set.ptr + e.at, e.length);
}

bool http_file_set_find(struct slice set, struct slice name, struct http_file *file)
{
	const struct row *rows = (const void *)set.ptr;
	/* The text of the first name begins behind the rows. */
	size_t first = 0, end = set.len > 0 ? rows[0].name.at / sizeof(*rows) : 0;
	while (first < end) {
		size_t middle = first + (end - first) / 2;
		const struct row *r = &rows[middle];
		int order = compare_names(name, text_at(set, r->name));
		if (order == 0) {
			*file = (struct http_file){.name = text_at(set, r->name),
			    .type = text_at(set, r->type),
			    .body = text_at(set, r->body),
			    .modified_sec = r->modified_sec};
			memcpy(file->tag, r->tag, sizeof(file->tag));
			return true;
		}
		first = order > 0 ? middle + 1 : first;
		end = order > 0 ? end : middle;
	}
	return false;
}

/* ---- types ---- */

#define UTF8 "; charset=utf-8"

/* A longer ending stands before those that it ends with. */
static const struct {
	const char *ending, *type;
} types[] = {
    {".html", "text/html" UTF8},
    {".htm", "text/html" UTF8},
    {".css", "text/css" UTF8},
    {".js", "text/javascript" UTF8},
    {".mjs", "text/javascript" UTF8},
    {".txt", "text/plain" UTF8},
    {".md", "text/markdown" UTF8},
    {".csv", "text/csv" UTF8},
    {".speculationrules.json", "application/speculationrules+json"},
    {".speculationrules", "application/speculationrules+json"},
    {".json", "application/json"},
    {".map", "application/json"},
    {"apple-app-site-association", "application/json"},
    {".jsonld", "application/ld+json"},
    {".webmanifest", "application/manifest+json"},
    {".xml", "application/xml"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".jpg", "image/jpeg"},
    {".jpeg", "image/jpeg"},
    {".gif", "image/gif"},
    {".webp", "image/webp"},
    {".avif", "image/avif"},
    {".ico", "image/vnd.microsoft.icon"},
    {".woff", "font/woff"},
    {".woff2", "font/woff2"},
    {".ttf", "font/ttf"},
    {".pdf", "application/pdf"},
    {".wasm", "application/wasm"},
    {".gz", "application/gzip"},
    {".zip", "application/zip"},
};

const char *http_file_type(struct slice name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct slice ending = slice_of_string(types[i].ending);
		if (name.len >= ending.len &&
		    slice_equal_nocase(slice_from(name, name.len - ending.len), ending))
			return types[i].type;
	}
	return "application/octet-stream";
}
