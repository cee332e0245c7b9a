/* SPDX-License-Identifier: MIT */
/*
 * Stylesheets (CSS Syntax 3, CSS Cascade 5 2, CSS Fonts 4 4): splits the text into preludes and
 * declarations, and looks into those of @import and @font-face. What stands in @media, @supports or any
 * other block depends on a condition, and is skipped; a block of @layer does not.
 */
#include "proxy/markup/markup.h"

#include "proxy/base/ascii.h"
#include "proxy/base/heap.h"
#include "proxy/limits.h"
#include "proxy/markup/reference.h"

#include <stdlib.h>

enum state {
	IN_TEXT,
	IN_ESCAPE,
	IN_SLASH,
	IN_COMMENT,
	IN_COMMENT_STAR,
	IN_STRING,
	IN_STRING_ESCAPE,
	IN_URL_START,
	IN_URL,
	IN_URL_ESCAPE
};

struct markup_css {
	struct markup_sink sink;
	const struct http_target *sheet; /* borrows */
	enum markup_state result;
	enum state state;
	char quote;
	char before[4];       /* the bytes before: "url" and what stands before it */
	bool is_font;         /* inside @font-face */
	bool is_past_imports; /* a rule has come behind which no @import counts */
	bool is_too_long;     /* the piece: it is skipped */
	uint32_t parens;      /* open ( and [ */
	uint32_t layers;      /* open blocks of @layer */
	uint32_t skipped;     /* open blocks that are skipped */
	uint32_t found, bytes;
	unsigned font_marks;
	size_t length;      /* of `text`, a prelude or a declaration without comments */
	size_t font_length; /* of `font`, the reference of the block's last src */
	char text[LIMIT_MARKUP_TAG_BYTES];
	char font[LIMIT_MARKUP_TAG_BYTES];
};

_Static_assert(sizeof(struct markup_css) <= MARKUP_READER_BYTES, "it is charged as that");

struct markup_css *markup_css_new(const struct http_target *sheet, struct markup_sink sink)
{
	struct markup_css *css = heap_zalloc(sizeof(*css));
	if (!css)
		return NULL;
	css->sink = sink;
	css->sheet = sheet;
	return css;
}

void markup_css_free(struct markup_css *css)
{
	free(css);
}

static void found(struct markup_css *css, struct slice reference, struct markup_resource r)
{
	char first[1024];
	struct arena a;
	arena_init(&a, first, sizeof(first));
	if (markup_reference_resolve(&a, css->sheet, css->sheet, reference, &r.target)) {
		if (css->found++ < LIMIT_MARKUP_RESOURCES)
			css->sink.found(&r, css->sink.context);
		else
			css->result = MARKUP_TOO_MANY;
	}
	arena_fini(&a);
}

static bool starts_with(struct slice s, struct slice word)
{
	return s.len >= word.len && slice_equal_nocase(slice_sub(s, 0, word.len), word);
}

static bool has(struct slice s, struct slice word)
{
	for (; s.len >= word.len; slice_skip(&s, 1)) {
		if (starts_with(s, word))
			return true;
	}
	return false;
}

/* Cuts a quoted string off. False: there is none, or one with an escape. */
static bool cut_string(struct slice *rest, struct slice *out)
{
	char quote = slice_peek(*rest);
	if (quote != '"' && quote != '\'')
		return false;
	struct slice inside = slice_from(*rest, 1);
	*out = slice_sub(inside, 0, slice_find(inside, quote));
	*rest = slice_from(inside, out->len + 1);
	return out->len < inside.len && slice_find(*out, '\\') == out->len &&
	       slice_find(*out, '\n') == out->len;
}

/* Cuts url(…) off. */
static bool cut_url(struct slice *rest, struct slice *out)
{
	if (!starts_with(*rest, SLICE("url(")))
		return false;
	struct slice inside = markup_trim(slice_from(*rest, 4));
	if (slice_peek(inside) == '"' || slice_peek(inside) == '\'') {
		if (!cut_string(&inside, out))
			return false;
		inside = markup_trim(inside);
		*rest = slice_from(inside, 1);
		return slice_peek(inside) == ')';
	}
	size_t end = slice_find(inside, ')');
	*out = markup_trim(slice_sub(inside, 0, end));
	*rest = slice_from(inside, end + 1);
	for (size_t i = 0; i < out->len; i++) {
		if ((unsigned char)out->ptr[i] <= ' ' || strchr("\"'(\\", out->ptr[i]))
			return false;
	}
	return end < inside.len;
}

/* @import [ url | string ] [ layer | layer(…) ] [ supports(…) ] media */
static void on_import(struct markup_css *css, struct slice text)
{
	struct slice reference, rest = markup_trim(slice_from(text, strlen("@import")));
	if (!cut_string(&rest, &reference) && !cut_url(&rest, &reference))
		return;
	rest = markup_trim(rest);
	if (starts_with(rest, SLICE("layer"))) {
		slice_skip(&rest, strlen("layer"));
		if (slice_peek(rest) == '(')
			slice_skip(&rest, slice_find(rest, ')') + 1);
		rest = markup_trim(rest);
	}
	if (has(rest, SLICE("supports(")) || slice_find(rest, '\\') < rest.len)
		return;
	found(css, reference,
	    (struct markup_resource){.uses = MARKUP_IMPORT, .as = SLICE("style"), .media = rest});
}

/* The next source up to a comma outside parentheses and strings. */
static struct slice cut_source(struct slice *rest)
{
	size_t i = 0;
	unsigned parens = 0;
	char quote = '\0';
	for (; i < rest->len; i++) {
		char c = rest->ptr[i];
		if (quote != '\0')
			quote = c == quote ? '\0' : quote;
		else if (c == '"' || c == '\'')
			quote = c;
		else if (c == '(')
			parens++;
		else if (c == ')' && parens > 0)
			parens--;
		else if (c == ',' && parens == 0)
			break;
	}
	struct slice source = markup_trim(slice_sub(*rest, 0, i));
	*rest = slice_from(*rest, i + 1);
	return source;
}

/* A browser takes the first source of a format that it knows. */
static bool is_format_known(struct slice rest)
{
	return !has(rest, SLICE("tech(")) &&
	       (!has(rest, SLICE("format(")) || has(rest, SLICE("woff")) ||
		   has(rest, SLICE("truetype")) ||
		   (has(rest, SLICE("opentype")) && !has(rest, SLICE("embedded-"))));
}

static void on_font_sources(struct markup_css *css, struct slice rest)
{
	struct slice reference;
	css->font_length = 0;
	while (rest.len > 0) {
		struct slice source = cut_source(&rest);
		if (starts_with(source, SLICE("local(")))
			css->font_marks |= MARKUP_PARTIAL;
		if (!cut_url(&source, &reference) || !is_format_known(source))
			continue;
		memcpy(css->font, reference.ptr, reference.len);
		css->font_length = reference.len;
		return;
	}
}

static void on_font_declaration(struct markup_css *css, struct slice text)
{
	size_t colon = slice_find(text, ':');
	struct slice name = markup_trim(slice_sub(text, 0, colon));
	if (slice_equal_nocase(name, SLICE("src"))) {
		if (css->is_too_long)
			css->font_length = 0;
		else
			on_font_sources(css, slice_from(text, colon + 1));
	} else if (slice_equal_nocase(name, SLICE("unicode-range"))) {
		css->font_marks |= MARKUP_PARTIAL;
	}
}

static void on_font_end(struct markup_css *css)
{
	css->is_font = false;
	if (css->font_length > 0)
		found(css, slice_of(css->font, css->font_length),
		    (struct markup_resource){
			.uses = MARKUP_FONT, .marks = css->font_marks, .as = SLICE("font")});
}

static struct slice piece(const struct markup_css *css)
{
	return markup_trim(slice_of(css->text, css->length));
}

static void piece_over(struct markup_css *css)
{
	css->length = 0;
	css->is_too_long = false;
	css->parens = 0;
}

static bool is_rule(struct slice text, struct slice name)
{
	char next = slice_peek(slice_from(text, name.len));
	return starts_with(text, name) && !ascii_is(next, ASCII_ALNUM) && next != '-' &&
	       next != '_' && next != '\\' && (unsigned char)next < 0x80;
}

/* Only a rule that begins with "@" ends at a semicolon. False: it does not. */
static bool on_semicolon(struct markup_css *css)
{
	if (css->is_font && css->skipped == 0) {
		on_font_declaration(css, piece(css));
	} else if (css->skipped == 0) {
		/* Many semicolons may follow: the piece is not trimmed for each. */
		if (slice_peek(slice_of(css->text, css->length)) != '@')
			return false;
		struct slice text = piece(css);
		if (is_rule(text, SLICE("@import"))) {
			if (!css->is_past_imports && !css->is_too_long)
				on_import(css, text);
		} else if (!is_rule(text, SLICE("@charset")) && !is_rule(text, SLICE("@layer"))) {
			css->is_past_imports = true;
		}
	}
	piece_over(css);
	return true;
}

static void on_open(struct markup_css *css)
{
	struct slice text = piece(css);
	css->is_past_imports = true;
	if (css->skipped > 0 || css->is_font) {
		css->skipped++;
	} else if (slice_equal_nocase(text, SLICE("@font-face"))) {
		css->is_font = true;
		css->font_marks = MARKUP_HAS_CROSSORIGIN;
		css->font_length = 0;
	} else if (is_rule(text, SLICE("@layer"))) {
		css->layers++;
	} else {
		css->skipped++;
	}
	piece_over(css);
}

/* False: no block is open, and the brace makes the rule that it is in invalid. */
static bool on_close(struct markup_css *css)
{
	if (css->skipped > 0) {
		css->skipped--;
	} else if (css->is_font) {
		on_font_declaration(css, piece(css));
		on_font_end(css);
	} else if (css->layers > 0) {
		css->layers--;
	} else {
		return false;
	}
	piece_over(css);
	return true;
}

static void keep(struct markup_css *css, char c)
{
	memmove(css->before, css->before + 1, 3);
	css->before[3] = ascii_lower(c);
	bool is_margin = css->length == 0 && (unsigned char)c <= ' ';
	if (is_margin || (css->skipped > 0 && !css->is_font))
		return;
	if (css->length == sizeof(css->text))
		css->is_too_long = true;
	else
		css->text[css->length++] = c;
}

static bool is_url(const struct markup_css *css)
{
	char first = css->before[0];
	return memcmp(css->before + 1, "url", 3) == 0 && !ascii_is(first, ASCII_ALNUM) &&
	       first != '-' && first != '_' && first != '\\' && (unsigned char)first < 0x80;
}

static void on_text(struct markup_css *css, char c)
{
	bool is_flat = css->parens == 0;
	if (c == '/') {
		css->state = IN_SLASH;
		return;
	}
	if (is_flat && c == '{') {
		on_open(css);
		return;
	}
	if (is_flat && c == '}' && on_close(css))
		return;
	if (is_flat && c == ';' && on_semicolon(css))
		return;
	if (c == '\\') {
		css->state = IN_ESCAPE;
	} else if (c == '"' || c == '\'') {
		css->quote = c;
		css->state = IN_STRING;
	} else if (c == '(' && is_url(css)) {
		css->parens++;
		css->state = IN_URL_START;
	} else if (c == '(' || c == '[') {
		css->parens++;
	} else if ((c == ')' || c == ']') && css->parens > 0) {
		css->parens--;
	}
	keep(css, c);
}

/* The states in which a byte means something else than in text. False: it is text. */
static bool on_inside(struct markup_css *css, char c)
{
	switch (css->state) {
	case IN_TEXT:
		return false;
	case IN_SLASH:
		css->state = c == '*' ? IN_COMMENT : IN_TEXT;
		keep(css, c == '*' ? ' ' : '/');
		return c == '*';
	case IN_COMMENT:
	case IN_COMMENT_STAR:
		if (css->state == IN_COMMENT_STAR && c == '/')
			css->state = IN_TEXT;
		else
			css->state = c == '*' ? IN_COMMENT_STAR : IN_COMMENT;
		return true;
	case IN_URL_START:
		if ((unsigned char)c <= ' ')
			break;
		css->state = c == '"' || c == '\'' ? IN_TEXT : IN_URL;
		return css->state == IN_URL ? on_inside(css, c) : false;
	case IN_URL:
		if (c == ')') {
			css->parens--;
			css->state = IN_TEXT;
		} else if (c == '\\') {
			css->state = IN_URL_ESCAPE;
		}
		break;
	case IN_STRING:
		if (c == css->quote || c == '\n')
			css->state = IN_TEXT; /* a line end makes a bad string */
		else if (c == '\\')
			css->state = IN_STRING_ESCAPE;
		break;
	case IN_ESCAPE:
		css->state = IN_TEXT;
		break;
	case IN_STRING_ESCAPE:
		css->state = IN_STRING;
		break;
	case IN_URL_ESCAPE:
		css->state = IN_URL;
		break;
	}
	keep(css, c);
	return true;
}

enum markup_state markup_css_read(struct markup_css *css, struct slice text)
{
	struct slice rest = slice_sub(text, 0, LIMIT_MARKUP_BYTES - css->bytes);
	if (css->result != MARKUP_READS)
		return css->result;
	css->bytes += (uint32_t)rest.len;
	for (size_t i = 0; i < rest.len && css->result == MARKUP_READS; i++) {
		if (!on_inside(css, rest.ptr[i]))
			on_text(css, rest.ptr[i]);
	}
	if (css->result == MARKUP_READS && css->bytes == LIMIT_MARKUP_BYTES)
		css->result = MARKUP_AT_LIMIT;
	return css->result;
}
