/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a manifest: either a table comes out whose every entry can be offered, or at least
 * one mistake is named, each with line and column. The same bytes as a flat manifest: it is refused,
 * or can be searched.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/offer/offer.h"
#include <stdlib.h>

/* "NAME:line:column: text", and no byte that a terminal would obey. */
static size_t check_errors(const char *text)
{
	size_t lines = 0;
	for (; *text; text += strcspn(text, "\n") + 1, lines++) {
		struct slice rest = slice_of(text, strcspn(text, "\n"));
		ensure(text[rest.len] == '\n');
		for (size_t i = 0; i < rest.len; i++)
			ensure(
			    (unsigned char)rest.ptr[i] >= ' ' && (unsigned char)rest.ptr[i] < 0x7f);
		ensure(slice_starts_with(rest, SLICE("f.json:")));
		rest = slice_from(rest, 7);
		for (int i = 0; i < 2; i++) {
			uint64_t number;
			size_t digits = slice_find(rest, ':');
			ensure(slice_to_number(slice_sub(rest, 0, digits), UINT32_MAX, &number) &&
			       number > 0);
			rest = slice_from(rest, digits + 1);
		}
		ensure(rest.len > 1 && rest.ptr[0] == ' ');
	}
	return lines;
}

static void check_page(const struct offer_manifest *m, struct slice path)
{
	struct offer_manifest_resources r = offer_manifest_find(m, path);
	ensure(r.count <= OFFER_MANIFEST_RESOURCES);
	for (size_t i = 0; i < r.count; i++) {
		struct slice target = r.list[i].target;
		ensure(target.len > 0);
		ensure(target.ptr[0] == '/' || slice_starts_with(target, SLICE("http")));
		for (size_t k = 0; k < target.len; k++)
			ensure(target.ptr[k] > ' ' && target.ptr[k] < 0x7f);
	}
}

static void release(void *bytes, size_t length)
{
	(void)length;
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = NULL;
	size_t length = 0;
	FILE *errors = open_memstream(&text, &length);
	ensure(errors);
	struct offer_manifest *m = offer_manifest_parse(slice_of(data, size), "f.json", errors);
	fclose(errors);
	ensure((m == NULL) == (check_errors(text) > 0));
	if (m) {
		check_page(m, SLICE("/"));
		check_page(m, SLICE("/page.html?x"));
		check_page(m, slice_of(data, size));
	}
	/* And any bytes as its flat form, in a block of its own. */
	struct offer_manifest *flat =
	    offer_manifest_of_flat(memcpy(memory_alloc(size + 1), data, size), size, release);
	if (flat)
		check_page(flat, SLICE("/"));
	offer_manifest_free(flat);
	offer_manifest_free(m);
	free(text);
	return 0;
}
