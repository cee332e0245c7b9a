/* SPDX-License-Identifier: MIT */
/*
 * Parts of the option table that the program does not support yet (option.h). Delete a row to make
 * the part available to parser, messages and help; then run scripts/make-docs.
 */
#include "proxy/conf/option.h"
#include "proxy/conf/value.h"

// clang-format off
const struct conf_unavailable conf_unavailable_rows[] = {
    {CONF_SECTION_COUNT, NULL, NULL, NULL},
};
// clang-format on
const size_t conf_unavailable_count = sizeof conf_unavailable_rows / sizeof *conf_unavailable_rows;

static bool is_word(const char *row, struct slice word)
{
	struct slice text = slice_of_string(row);

	if (text.len > 0 && text.ptr[text.len - 1] == '*')
		return word.len >= text.len - 1 &&
		       slice_equal_nocase(
			   slice_sub(word, 0, text.len - 1), slice_sub(text, 0, text.len - 1));
	return slice_equal_nocase(text, word);
}

const struct conf_unavailable *conf_find_unavailable(
    enum conf_kind section, const char *key, struct slice word)
{
	for (size_t i = 0; i < conf_unavailable_count; i++) {
		const struct conf_unavailable *row = &conf_unavailable_rows[i];
		if (row->section != section)
			continue;
		if (!row->key || !key) {
			if (!row->key && word.len == 0)
				return row;
		} else if (strcmp(row->key, key) == 0 &&
			   (row->value ? is_word(row->value, word) : word.len == 0)) {
			return row;
		}
	}
	return NULL;
}
