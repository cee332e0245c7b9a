/* SPDX-License-Identifier: MIT */
/* Setters for what pushgate answers by itself: redirects to https, HSTS, and files for error statuses and
 * fixed answers. */
#include "proxy/base/ascii.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/limits.h"
#include <inttypes.h>

#define DAY_SEC UINT64_C(86400)
/* Ten years: longer is a mistake in the unit. */
#define HSTS_MOST_SEC (3650 * DAY_SEC)

/* ---- [listen] ---- */

bool conf_read_redirect(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_listen *listen = object;
	uint64_t port = 443;
	int word = value_choice(value, "no yes");

	(void)l;
	if (word < 0 && (!slice_to_number(value, 65535, &port) || port == 0))
		return false;
	listen->redirect_to_https = word != 0;
	listen->redirect_port = (uint16_t)port;
	return true;
}

bool conf_read_client_address(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_client_address *from = at;
	from->field = SLICE("");
	if (value_choice(value, "peer") == 0)
		return true;
	if (!ascii_is_token(value))
		return false;
	char *copy = conf_copy(l, value);
	ascii_lower_copy(copy, value);
	from->field = slice_of(copy, value.len);
	from->token = http_token_find(from->field);
	return true;
}

/* "365d", or a time in another unit of whole seconds. */
static bool seconds_of(struct slice text, uint64_t *seconds)
{
	usec span;

	if (text.len > 1 && text.ptr[text.len - 1] == 'd' &&
	    slice_to_number(slice_sub(text, 0, text.len - 1), HSTS_MOST_SEC / DAY_SEC, seconds)) {
		*seconds *= DAY_SEC;
		return true;
	}
	if (!value_time(text, &span) || span % USEC_PER_SEC != 0)
		return false;
	*seconds = (uint64_t)(span / USEC_PER_SEC);
	return *seconds <= HSTS_MOST_SEC;
}

enum { WITH_SUBDOMAINS = 1, WITH_PRELOAD = 2 };

/* "include-subdomains" and "preload", each at most once. */
static bool read_marks(struct slice rest, unsigned *marks)
{
	struct slice word;

	*marks = 0;
	while (value_next_word(&rest, &word) == VALUE_WORD) {
		int mark = value_choice(word, "include-subdomains preload");
		if (mark < 0 || (*marks >> mark & 1) != 0)
			return false;
		*marks |= 1u << mark;
	}
	return true;
}

bool conf_set_hsts(struct conf_loader *l, void *at, struct slice value)
{
	struct slice rest = value, word;
	uint64_t seconds;
	unsigned marks;

	if (slice_equal_nocase(value, SLICE("off")))
		return true;
	if (value_next_word(&rest, &word) != VALUE_WORD || !seconds_of(word, &seconds) ||
	    !read_marks(rest, &marks))
		return conf_bad_value(l, value, NULL, NULL);
	if ((marks & WITH_PRELOAD) && (!(marks & WITH_SUBDOMAINS) || seconds < 365 * DAY_SEC))
		return conf_bad_value(l, value,
		    "preload needs include-subdomains and at least 365d, else no list takes the "
		    "host",
		    "add them or leave preload out");
	*(const char **)at = arena_printf(&l->conf->arena, "max-age=%" PRIu64 "%s%s", seconds,
	    marks & WITH_SUBDOMAINS ? "; includeSubDomains" : "",
	    marks & WITH_PRELOAD ? "; preload" : "")
				 .ptr;
	return true;
}

/* ---- [errors] ---- */

static const char *type_of_path(struct slice path)
{
	static const struct type {
		struct slice ending;
		const char *type;
	} types[] = {
	    {SLICE_INIT(".html"), "text/html; charset=utf-8"},
	    {SLICE_INIT(".htm"), "text/html; charset=utf-8"},
	    {SLICE_INIT(".txt"), "text/plain; charset=utf-8"},
	    {SLICE_INIT(".json"), "application/json"},
	};

	const struct type *found = conf_first(t, types, sizeof types / sizeof *types,
	    path.len > t->ending.len &&
		slice_equal_nocase(slice_from(path, path.len - t->ending.len), t->ending));
	return found ? found->type : NULL;
}

/* Reports a file that cannot be sent, and returns false. */
static bool read_body(struct conf_loader *l, const char *what, const char *path, struct slice *body)
{
	if (!conf_read_plain_file(l, what, l->option->key, path, LIMIT_ERROR_BODY_BYTES, body))
		return false;
	if (body->len == 0)
		conf_mistake_here(l,
		    "the %s file '%s' is empty; write the text into it or remove the line", what,
		    path);
	else if (body->len > LIMIT_ERROR_BODY_BYTES)
		conf_mistake_here(l, "the %s file '%s' is larger than %u bytes; make it smaller",
		    what, path, LIMIT_ERROR_BODY_BYTES);
	return body->len > 0 && body->len <= LIMIT_ERROR_BODY_BYTES;
}

bool conf_set_error_body(struct conf_loader *l, void *object, struct slice value)
{
	struct conf *c = object;
	struct conf_error_body e = {.content_type = type_of_path(value)};
	uint64_t status = 0;

	if (!e.content_type)
		return conf_bad_value(l, value, NULL, NULL);
	slice_to_number(slice_of_string(l->option->key), 599, &status); /* "default": 0 */
	e.status = (uint16_t)status;
	if (l->opens_files && !read_body(l, "error", conf_path(l, value), &e.body))
		return false;
	conf_append(l, c->error_bodies, c->error_body_count, e);
	return true;
}

/* ---- [route] ---- */

bool conf_set_route_answer(struct conf_loader *l, void *at, struct slice value)
{
	struct slice rest = value, number = slice_cut(&rest, ' '), file = slice_trim(rest);
	struct conf_answer a = {.content_type = file.len > 0 ? type_of_path(file) : NULL};
	uint64_t status = 0;

	/* 206 and 304 answer ranges and conditions, which a fixed answer ignores. */
	if (!slice_to_number(number, 599, &status) || status < 200 || status / 100 == 3 ||
	    status == 206)
		return conf_bad_value(l, value, NULL,
		    "write a status from 200 to 299 (but not 206) or 400 to 599, with or without a "
		    "file");
	if (file.len > 0 && (status == 204 || status == 205))
		return conf_bad_value(
		    l, value, "this status has no content", "leave the file out or write 200");
	if (file.len > 0 && !a.content_type)
		return conf_bad_value(
		    l, value, NULL, "write a file whose name ends with .html, .txt or .json");
	a.status = (uint16_t)status;
	if (file.len > 0 && l->opens_files && !read_body(l, "answer", conf_path(l, file), &a.body))
		return false;
	*(struct conf_answer *)at = a;
	return true;
}
