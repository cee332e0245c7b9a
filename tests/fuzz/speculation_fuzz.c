/* SPDX-License-Identifier: MIT */
/*
 * Any path of a request: if it asks for the rules of a page, that page's rules are found by a path that asks for the
 * same; and rules that name a path are JSON with that path.
 *
 * Input: the path.
 */
#include "tests/fuzz/input.h"

#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/speculation/speculation.h"
#include <jansson.h>

static void check_page(struct slice path, struct arena *a)
{
	struct slice page = speculation_page_of(path, a);
	if (page.len == 0)
		return;
	ensure(page.ptr[0] == '/' && page.len <= SPECULATION_PATH_BYTES && ascii_is_visible(page));
	struct slice again = speculation_rules_path(page, a);
	ensure(again.len > 0 && ascii_is_visible(again) && slice_find(again, '"') == again.len);
	ensure(slice_equal(speculation_page_of(again, a), page));
}

static void check_rules(struct slice path, struct arena *a)
{
	const char *url = NULL;
	size_t length = 0;
	if (!speculation_may_name(path))
		return;
	struct slice text =
	    speculation_rules(SPECULATION_PREFETCH, SPECULATION_EAGER, &path, 1, a);
	json_t *json = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES, NULL);
	ensure(json && json_unpack(json, "{s:[{s:[s%]}]}", "prefetch", "urls", &url, &length) == 0);
	ensure(slice_equal(slice_of(url, length), path));
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a;
	arena_init(&a, NULL, 0);
	struct slice path = slice_of(data, size);
	check_page(path, &a);
	check_rules(path, &a);
	arena_fini(&a);
	return 0;
}
