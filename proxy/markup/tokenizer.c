/* SPDX-License-Identifier: MIT */
/* The tokenizer's loop, its states for data, tags' names and comments. The standard's names of states are kept. */
#include "proxy/markup/tokenizer.h"

#include "proxy/base/ascii.h"

void markup_tokenizer_init(struct markup_tokenizer *t)
{
	memset(t, 0, sizeof(*t) - sizeof(t->tag.bytes));
}

void markup_tokenizer_expect(struct markup_tokenizer *t, enum markup_content content)
{
	static const uint8_t states[] = {MARKUP_IN_DATA, MARKUP_IN_TEXT, MARKUP_IN_SCRIPT};
	t->state = t->back = states[content];
}

void markup_tag_begin(struct markup_tokenizer *t, bool is_end)
{
	t->tag.is_end = is_end;
	t->tag.is_unclear = false;
	t->tag.name.length = 0;
	t->tag.used = 0;
	t->tag.present = 0;
}

void markup_tag_end(struct markup_tokenizer *t)
{
	t->state = t->back = MARKUP_IN_DATA;
	if (!t->tag.is_end)
		t->opened = t->tag.name;
	t->token = MARKUP_TOKEN_TAG;
}

static bool step_data(struct markup_tokenizer *t, unsigned char c)
{
	if (c == '<') {
		t->state = MARKUP_IN_TAG_OPEN;
	} else if (t->ignores_text || markup_is_space(c)) {
		return true;
	} else if (c == '&') {
		t->state = MARKUP_IN_DATA_REFERENCE;
		markup_char_reference_begin(&t->reference);
	} else {
		t->token = MARKUP_TOKEN_TEXT;
	}
	return true;
}

static bool step_data_reference(struct markup_tokenizer *t, unsigned char c)
{
	enum markup_char_result result = markup_char_reference_read(&t->reference, c);
	if (result == MARKUP_CHAR_MORE)
		return true;
	t->state = MARKUP_IN_DATA;
	struct slice text = markup_char_reference_text(&t->reference);
	/* Parsers differ about a CR that is written so. */
	if (text.len != 1 || text.ptr[0] == '\r' || !markup_is_space((unsigned char)text.ptr[0]))
		t->token = MARKUP_TOKEN_TEXT;
	return result == MARKUP_CHAR_OVER;
}

static bool step_tag_open(struct markup_tokenizer *t, unsigned char c)
{
	if (c == '!') {
		t->state = MARKUP_IN_DECLARATION;
		t->matched = 0;
		return true;
	}
	if (c == '/') {
		t->state = MARKUP_IN_END_TAG_OPEN;
		return true;
	}
	if (markup_is_letter(c)) {
		markup_tag_begin(t, false);
		t->state = MARKUP_IN_TAG_NAME;
	} else if (c == '?') {
		t->state = MARKUP_IN_BOGUS_COMMENT;
	} else {
		t->state = MARKUP_IN_DATA;
		if (!t->ignores_text)
			t->token = MARKUP_TOKEN_TEXT;
	}
	return false;
}

static bool step_end_tag_open(struct markup_tokenizer *t, unsigned char c)
{
	if (markup_is_letter(c)) {
		markup_tag_begin(t, true);
		t->state = MARKUP_IN_TAG_NAME;
		return false;
	}
	t->state = c == '>' ? MARKUP_IN_DATA : MARKUP_IN_BOGUS_COMMENT;
	return c == '>';
}

static bool step_tag_name(struct markup_tokenizer *t, unsigned char c)
{
	if (!markup_tag_name_ends(t, c))
		markup_name_append(&t->tag.name, c);
	return true;
}

/* Behind "<!". What was read of "--" or "DOCTYPE" has no ">", so that it needs no second reading. */
static bool step_declaration(struct markup_tokenizer *t, unsigned char c)
{
	if (t->matched == 0 && c == '-') {
		t->matched = 1;
		return true;
	}
	bool is_comment = t->matched == 1 && c == '-';
	t->state = is_comment ? MARKUP_IN_COMMENT_START : MARKUP_IN_BOGUS_COMMENT;
	return is_comment;
}

static bool step_comment_start(struct markup_tokenizer *t, unsigned char c)
{
	if (c == '>') {
		t->state = MARKUP_IN_DATA;
	} else if (c == '-') {
		t->state = t->state == MARKUP_IN_COMMENT_START ? MARKUP_IN_COMMENT_START_DASH
							       : MARKUP_IN_COMMENT_END;
	} else {
		t->state = MARKUP_IN_COMMENT;
		return false;
	}
	return true;
}

/* The states for "<" in a comment differ from that of the comment in parse errors alone. */
static bool step_comment(struct markup_tokenizer *t, unsigned char c)
{
	switch (t->state) {
	case MARKUP_IN_COMMENT:
		if (c == '-')
			t->state = MARKUP_IN_COMMENT_END_DASH;
		return true;
	case MARKUP_IN_COMMENT_END_DASH:
		t->state = c == '-' ? MARKUP_IN_COMMENT_END : MARKUP_IN_COMMENT;
		return c == '-';
	case MARKUP_IN_COMMENT_END:
		if (c == '>')
			t->state = MARKUP_IN_DATA;
		else if (c == '!')
			t->state = MARKUP_IN_COMMENT_END_BANG;
		else if (c != '-')
			t->state = MARKUP_IN_COMMENT;
		return c == '>' || c == '!' || c == '-';
	default: /* MARKUP_IN_COMMENT_END_BANG */
		if (c == '>')
			t->state = MARKUP_IN_DATA;
		else
			t->state = c == '-' ? MARKUP_IN_COMMENT_END_DASH : MARKUP_IN_COMMENT;
		return c == '>' || c == '-';
	}
}

static bool step(struct markup_tokenizer *t, unsigned char c)
{
	switch ((enum markup_tokenizer_state)t->state) {
	case MARKUP_IN_DATA:
		return step_data(t, c);
	case MARKUP_IN_DATA_REFERENCE:
		return step_data_reference(t, c);
	case MARKUP_IN_TAG_OPEN:
		return step_tag_open(t, c);
	case MARKUP_IN_END_TAG_OPEN:
		return step_end_tag_open(t, c);
	case MARKUP_IN_TAG_NAME:
		return step_tag_name(t, c);
	case MARKUP_IN_DECLARATION:
		return step_declaration(t, c);
	case MARKUP_IN_BOGUS_COMMENT:
		if (c == '>')
			t->state = MARKUP_IN_DATA;
		return true;
	case MARKUP_IN_COMMENT_START:
	case MARKUP_IN_COMMENT_START_DASH:
		return step_comment_start(t, c);
	case MARKUP_IN_COMMENT:
	case MARKUP_IN_COMMENT_END_DASH:
	case MARKUP_IN_COMMENT_END:
	case MARKUP_IN_COMMENT_END_BANG:
		return step_comment(t, c);
	default:
		if (t->state < MARKUP_IN_DECLARATION)
			return markup_step_attribute(t, c);
		return t->state < MARKUP_IN_SCRIPT ? markup_step_text(t, c)
						   : markup_step_script(t, c);
	}
}

/* Skips what is before the next pair of these two bytes, but for a first byte at the end. */
static void skip_to_pair(struct slice *rest, char first, char second)
{
	for (;;) {
		slice_skip(rest, slice_find(*rest, first));
		if (rest->len < 2 || rest->ptr[1] == second)
			return;
		slice_skip(rest, 1);
	}
}

/* As that, to "</", or in a script "<!". */
static void skip_text(const struct markup_tokenizer *t, struct slice *rest)
{
	for (;;) {
		slice_skip(rest, slice_find(*rest, '<'));
		if (rest->len < 2 || rest->ptr[1] == '/' ||
		    (rest->ptr[1] == '!' && t->state == MARKUP_IN_SCRIPT))
			return;
		slice_skip(rest, 1);
	}
}

/* "</" and the name of the element whose text this is. */
static bool is_own_end(const struct markup_tokenizer *t, struct slice rest)
{
	struct slice name = markup_name_text(&t->opened);
	unsigned char c = rest.len > name.len + 2 ? (unsigned char)rest.ptr[name.len + 2] : 'a';
	return (c == '>' || c == '/' || markup_is_space(c)) && rest.ptr[1] == '/' &&
	       slice_equal_nocase(slice_sub(rest, 2, name.len), name);
}

static void skip_data(const struct markup_tokenizer *t, struct slice *rest)
{
	size_t n = 0;
	if (t->ignores_text)
		n = slice_find(*rest, '<');
	else
		while (n < rest->len && markup_is_space((unsigned char)rest->ptr[n]))
			n++;
	slice_skip(rest, n);
}

/* What a state reads of a piece at once: bytes that change nothing, a whole tag. */
static void read_quickly(struct markup_tokenizer *t, struct slice *rest)
{
	switch (t->state) {
	case MARKUP_IN_DATA:
		skip_data(t, rest);
		if (rest->len > 2 && rest->ptr[0] == '<') {
			bool is_end = rest->ptr[1] == '/';
			if (markup_is_letter((unsigned char)rest->ptr[1 + is_end]))
				markup_quick_tag(t, rest, is_end);
		}
		return;
	case MARKUP_IN_TEXT:
	case MARKUP_IN_SCRIPT:
		skip_text(t, rest);
		if (is_own_end(t, *rest))
			markup_quick_tag(t, rest, true);
		return;
	case MARKUP_IN_COMMENT:
		skip_to_pair(rest, '-', '-');
		return;
	case MARKUP_IN_BOGUS_COMMENT:
		slice_skip(rest, slice_find(*rest, '>'));
		return;
	case MARKUP_IN_DOUBLE_QUOTED:
	case MARKUP_IN_SINGLE_QUOTED:
		if (t->keeps == MARKUP_ATTRIBUTE_OTHER)
			slice_skip(rest,
			    slice_find(*rest, t->state == MARKUP_IN_DOUBLE_QUOTED ? '"' : '\''));
		return;
	default:
		return;
	}
}

enum markup_token markup_tokenizer_next(struct markup_tokenizer *t, struct slice *rest)
{
	t->token = MARKUP_TOKEN_NONE;
	while (rest->len > 0 && t->token == MARKUP_TOKEN_NONE) {
		read_quickly(t, rest);
		if (rest->len > 0 && t->token == MARKUP_TOKEN_NONE &&
		    step(t, (unsigned char)rest->ptr[0]))
			slice_skip(rest, 1);
	}
	return t->token;
}
