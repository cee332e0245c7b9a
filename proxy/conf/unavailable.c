/* SPDX-License-Identifier: MIT */
/*
 * What the option table has and the program does not do yet; see option.h. Deleting a row makes the thing available:
 * to the parser, the messages and the help. etc/pushgate.ini then wants its lines.
 */
#include "proxy/conf/option.h"
#include "proxy/conf/value.h"

// clang-format off
static const struct conf_unavailable rows[] = {
    {CONF_SECTION_SERVER, "default-action", "hold", "use forward or drop"},
    {CONF_SECTION_SERVER, "default-action", "hint", "use forward or drop"},
    {CONF_SECTION_SERVER, "default-action", "hint+hold", "use forward or drop"},
    {CONF_SECTION_SERVER, "diary-entries", NULL, NULL},
    {CONF_SECTION_SERVER, "diary-cookie", NULL, NULL},
    {CONF_SECTION_SERVER, "diary-cookie-key", NULL, NULL},
    {CONF_SECTION_SERVER, "diary-cookie-age", NULL, NULL},
    {CONF_SECTION_SERVER, "hold-max-count", NULL, NULL},
    {CONF_SECTION_SERVER, "hold-max-bytes", NULL, NULL},
    {CONF_SECTION_SERVER, "hold-max-age", NULL, NULL},
    {CONF_SECTION_SERVER, "hold-shared", NULL, NULL},
    {CONF_SECTION_SERVER, "hint-wait", NULL, NULL},
    {CONF_SECTION_LISTEN, "mode", "forward", "use gateway"},
    {CONF_SECTION_ORIGIN, "server", "https://*", "use h2://HOST:PORT"},
    {CONF_SECTION_ORIGIN, "server", "http://*", "use h2c://HOST:PORT"},
    {CONF_SECTION_ROUTE, "request-set", NULL, NULL},
    {CONF_SECTION_ROUTE, "request-add", NULL, NULL},
    {CONF_SECTION_ROUTE, "request-remove", NULL, NULL},
    {CONF_SECTION_ROUTE, "response-set", NULL, NULL},
    {CONF_SECTION_ROUTE, "response-add", NULL, NULL},
    {CONF_SECTION_ROUTE, "response-remove", NULL, NULL},
    {CONF_SECTION_PUSH, "source", "link", "use relayed"},
    {CONF_SECTION_PUSH, "source", "config", "use relayed"},
    {CONF_SECTION_PUSH, "source", "manifest", "use relayed"},
    {CONF_SECTION_PUSH, "source", "learned", "use relayed"},
    {CONF_SECTION_PUSH, "save-data", NULL, NULL},
    {CONF_SECTION_PUSH, "rtt", NULL, NULL},
    {CONF_SECTION_PUSH, "navigation", NULL, NULL},
    {CONF_SECTION_PUSH, "share", NULL, NULL},
    {CONF_SECTION_PUSH, "action", "hold", "use forward or drop"},
    {CONF_SECTION_PUSH, "action", "hint", "use forward or drop"},
    {CONF_SECTION_PUSH, "action", "hint+hold", "use forward or drop"},
    {CONF_SECTION_PUSH, "shadow", NULL, NULL},
    {CONF_SECTION_PUSH, "cross-origin", NULL, NULL},
    {CONF_SECTION_PUSH, "on-revalidation", NULL, NULL},
    {CONF_SECTION_PUSH, "hint-clients", NULL, NULL},
    {CONF_SECTION_PUSH, "min-used", NULL, NULL},
    {CONF_SECTION_PUSH, "min-sample", NULL, NULL},
    {CONF_SECTION_PUSH, "urgency", "after", "use auto or a number"},
    {CONF_SECTION_PUSH, "urgency", "before", "use auto or a number"},
    {CONF_SECTION_PUSH, "urgency", "interleaved", "use auto or a number"},
    {CONF_SECTION_PRELOAD, NULL, NULL, NULL},
};
// clang-format on

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
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct conf_unavailable *row = &rows[i];
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
