/* SPDX-License-Identifier: MIT */
/* The tokenizer's states for attributes (HTML standard 13.2.5.32 to 13.2.5.40), and the attributes that are kept. */
#include "proxy/markup/tokenizer.h"

#define LONGEST_NAME 13u

static const struct slice kept_names[MARKUP_ATTRIBUTES] = {
    [MARKUP_ATTRIBUTE_AS] = SLICE_INIT("as"),
    [MARKUP_ATTRIBUTE_REL] = SLICE_INIT("rel"),
    [MARKUP_ATTRIBUTE_SRC] = SLICE_INIT("src"),
    [MARKUP_ATTRIBUTE_HREF] = SLICE_INIT("href"),
    [MARKUP_ATTRIBUTE_TYPE] = SLICE_INIT("type"),
    [MARKUP_ATTRIBUTE_MEDIA] = SLICE_INIT("media"),
    [MARKUP_ATTRIBUTE_ASYNC] = SLICE_INIT("async"),
    [MARKUP_ATTRIBUTE_DEFER] = SLICE_INIT("defer"),
    [MARKUP_ATTRIBUTE_NONCE] = SLICE_INIT("nonce"),
    [MARKUP_ATTRIBUTE_DISABLED] = SLICE_INIT("disabled"),
    [MARKUP_ATTRIBUTE_LANGUAGE] = SLICE_INIT("language"),
    [MARKUP_ATTRIBUTE_NOMODULE] = SLICE_INIT("nomodule"),
    [MARKUP_ATTRIBUTE_INTEGRITY] = SLICE_INIT("integrity"),
    [MARKUP_ATTRIBUTE_IMAGESIZES] = SLICE_INIT("imagesizes"),
    [MARKUP_ATTRIBUTE_CROSSORIGIN] = SLICE_INIT("crossorigin"),
    [MARKUP_ATTRIBUTE_IMAGESRCSET] = SLICE_INIT("imagesrcset"),
    [MARKUP_ATTRIBUTE_FETCHPRIORITY] = SLICE_INIT("fetchpriority"),
};

/* The first attribute with a name of this length. */
static const uint8_t first_of_length[LONGEST_NAME + 1] = {
    [2] = MARKUP_ATTRIBUTE_AS,
    [3] = MARKUP_ATTRIBUTE_REL,
    [4] = MARKUP_ATTRIBUTE_HREF,
    [5] = MARKUP_ATTRIBUTE_MEDIA,
    [8] = MARKUP_ATTRIBUTE_DISABLED,
    [9] = MARKUP_ATTRIBUTE_INTEGRITY,
    [10] = MARKUP_ATTRIBUTE_IMAGESIZES,
    [11] = MARKUP_ATTRIBUTE_CROSSORIGIN,
    [13] = MARKUP_ATTRIBUTE_FETCHPRIORITY,
};

bool markup_tag_keeps(const struct markup_tag *tag)
{
	struct slice name = markup_name_text(&tag->name);
	return !tag->is_end &&
	       (slice_equal(name, SLICE("link")) || slice_equal(name, SLICE("script")) ||
		   slice_equal(name, SLICE("base")));
}

static bool is_name_of(unsigned attribute, struct slice name)
{
	struct slice kept = kept_names[attribute];
	return kept.len == name.len && kept.ptr[0] == (name.ptr[0] | 0x20) &&
	       (slice_equal(kept, name) || slice_equal_nocase(kept, name));
}

/* Of several attributes with one name the first one counts. */
uint8_t markup_attribute_begin(struct markup_tag *tag, struct slice name)
{
	if (name.len > LONGEST_NAME)
		return MARKUP_ATTRIBUTE_OTHER;
	unsigned a = first_of_length[name.len];
	while (a < MARKUP_ATTRIBUTES && kept_names[a].len == name.len && !is_name_of(a, name))
		a++;
	if (a == MARKUP_ATTRIBUTES || kept_names[a].len != name.len || (tag->present >> a & 1) != 0)
		return MARKUP_ATTRIBUTE_OTHER;
	tag->present |= 1u << a;
	tag->values[a] = slice_of(tag->bytes + tag->used, 0);
	return (uint8_t)a;
}

static void append(struct markup_tokenizer *t, char c)
{
	if (t->keeps == MARKUP_ATTRIBUTE_OTHER)
		return;
	if (t->tag.used == sizeof(t->tag.bytes)) {
		t->tag.is_unclear = true;
		return;
	}
	t->tag.bytes[t->tag.used++] = c;
	t->tag.values[t->keeps].len++;
}

static void append_text(struct markup_tokenizer *t, struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		append(t, text.ptr[i]);
}

/* CR and CR LF are LF (13.2.3.5); NUL is U+FFFD. */
static void append_byte(struct markup_tokenizer *t, unsigned char c)
{
	bool is_second = c == '\n' && t->after_cr;
	t->after_cr = c == '\r';
	if (c == '\0')
		append_text(t, SLICE("\xef\xbf\xbd"));
	else if (!is_second)
		append(t, c == '\r' ? '\n' : (char)c);
}

static bool step_value(struct markup_tokenizer *t, unsigned char c)
{
	bool is_unquoted = t->state == MARKUP_IN_UNQUOTED;
	if (is_unquoted && markup_is_space(c)) {
		t->state = MARKUP_IN_BEFORE_NAME;
	} else if (is_unquoted && c == '>') {
		markup_tag_end(t);
	} else if (!is_unquoted && c == (t->state == MARKUP_IN_DOUBLE_QUOTED ? '"' : '\'')) {
		t->state = MARKUP_IN_AFTER_QUOTED;
	} else if (c == '&') {
		t->quote = t->state;
		t->after_cr = false;
		t->state = MARKUP_IN_VALUE_REFERENCE;
		markup_char_reference_begin(&t->reference);
	} else {
		append_byte(t, c);
	}
	return true;
}

static bool step_value_reference(struct markup_tokenizer *t, unsigned char c)
{
	enum markup_char_result result = markup_char_reference_read(&t->reference, c);
	if (result == MARKUP_CHAR_MORE)
		return true;
	t->state = t->quote;
	if (t->reference.is_unclear && t->keeps != MARKUP_ATTRIBUTE_OTHER)
		t->tag.is_unclear = true;
	append_text(t, markup_char_reference_text(&t->reference));
	return result == MARKUP_CHAR_OVER;
}

static bool step_name(struct markup_tokenizer *t, unsigned char c)
{
	if (markup_is_space(c) || c == '/' || c == '>' || c == '=') {
		t->keeps = markup_tag_keeps(&t->tag)
			       ? markup_attribute_begin(&t->tag, markup_name_text(&t->word))
			       : MARKUP_ATTRIBUTE_OTHER;
		t->state = c == '=' ? MARKUP_IN_BEFORE_VALUE : MARKUP_IN_AFTER_NAME;
		return c == '=';
	}
	markup_name_append(&t->word, c);
	return true;
}

/* Before a name and behind one: but behind one "=" begins its value. */
static bool step_between(struct markup_tokenizer *t, unsigned char c)
{
	if (markup_is_space(c))
		return true;
	if (c == '/') {
		t->state = MARKUP_IN_SELF_CLOSING;
	} else if (c == '>') {
		markup_tag_end(t);
	} else if (c == '=' && t->state == MARKUP_IN_AFTER_NAME) {
		t->state = MARKUP_IN_BEFORE_VALUE;
	} else {
		t->word.length = 0;
		markup_name_append(&t->word, c);
		t->state = MARKUP_IN_NAME;
	}
	return true;
}

static bool step_before_value(struct markup_tokenizer *t, unsigned char c)
{
	t->after_cr = false;
	if (markup_is_space(c))
		return true;
	if (c == '>')
		markup_tag_end(t);
	else if (c == '"')
		t->state = MARKUP_IN_DOUBLE_QUOTED;
	else if (c == '\'')
		t->state = MARKUP_IN_SINGLE_QUOTED;
	else
		t->state = MARKUP_IN_UNQUOTED;
	return t->state != MARKUP_IN_UNQUOTED;
}

bool markup_step_attribute(struct markup_tokenizer *t, unsigned char c)
{
	switch (t->state) {
	case MARKUP_IN_BEFORE_NAME:
	case MARKUP_IN_AFTER_NAME:
		return step_between(t, c);
	case MARKUP_IN_NAME:
		return step_name(t, c);
	case MARKUP_IN_BEFORE_VALUE:
		return step_before_value(t, c);
	case MARKUP_IN_VALUE_REFERENCE:
		return step_value_reference(t, c);
	case MARKUP_IN_AFTER_QUOTED:
	case MARKUP_IN_SELF_CLOSING:
		if (c == '>') {
			markup_tag_end(t);
			return true;
		}
		t->state = MARKUP_IN_BEFORE_NAME;
		return false;
	default:
		return step_value(t, c);
	}
}
