/* SPDX-License-Identifier: MIT */
/*
 * The tokenizer's states for the text of title, style, noscript and script (HTML standard 13.2.5.2 to
 * 13.2.5.31): all is text up to the end tag of the same name.
 */
#include "proxy/markup/tokenizer.h"

static bool go(struct markup_tokenizer *t, enum markup_tokenizer_state state, bool is_taken)
{
	t->state = (uint8_t)state;
	return is_taken;
}

bool markup_step_text(struct markup_tokenizer *t, unsigned char c)
{
	switch (t->state) {
	case MARKUP_IN_TEXT:
		return c == '<' ? go(t, MARKUP_IN_TEXT_LESS, true) : true;
	case MARKUP_IN_TEXT_LESS:
		return c == '/' ? go(t, MARKUP_IN_TEXT_END_OPEN, true) : go(t, t->back, false);
	case MARKUP_IN_TEXT_END_OPEN:
		if (!markup_is_letter(c))
			return go(t, t->back, false);
		markup_tag_begin(t, true);
		return go(t, MARKUP_IN_TEXT_END_NAME, false);
	default: /* MARKUP_IN_TEXT_END_NAME */
		if (markup_is_letter(c)) {
			markup_name_append(&t->tag.name, c);
			return true;
		}
		if (!slice_equal(markup_name_text(&t->tag.name), markup_name_text(&t->opened)))
			return go(t, t->back, false);
		return markup_tag_name_ends(t, c) || go(t, t->back, false);
	}
}

/* "<script" begins the double escaped state, "</script" ends it; either is followed by a space, "/" or ">". */
static bool step_double_word(struct markup_tokenizer *t, unsigned char c, bool is_start)
{
	if (markup_is_letter(c)) {
		markup_name_append(&t->word, c);
		return true;
	}
	bool is_end = markup_is_space(c) || c == '/' || c == '>';
	bool is_script = is_end && slice_equal(markup_name_text(&t->word), SLICE("script"));
	return go(t, is_script == is_start ? MARKUP_IN_DOUBLE : MARKUP_IN_ESCAPED, is_end);
}

/* In the (double) escaped states: two dashes and ">" lead back. */
static bool step_dashes(
    struct markup_tokenizer *t, unsigned char c, enum markup_tokenizer_state plain)
{
	enum markup_tokenizer_state state = t->state;
	bool is_double = plain == MARKUP_IN_DOUBLE;
	if (c == '<')
		return go(t, is_double ? MARKUP_IN_DOUBLE_LESS : MARKUP_IN_ESCAPED_LESS, true);
	if (c == '-')
		return go(t, state == plain ? plain + 1 : plain + 2, true);
	return go(t, c == '>' && state == plain + 2 ? MARKUP_IN_SCRIPT : plain, true);
}

static bool step_escaped_less(struct markup_tokenizer *t, unsigned char c)
{
	if (c == '/') {
		t->back = MARKUP_IN_ESCAPED;
		return go(t, MARKUP_IN_TEXT_END_OPEN, true);
	}
	t->word.length = 0;
	return go(t, markup_is_letter(c) ? MARKUP_IN_DOUBLE_START : MARKUP_IN_ESCAPED, false);
}

bool markup_step_script(struct markup_tokenizer *t, unsigned char c)
{
	switch ((enum markup_tokenizer_state)t->state) {
	case MARKUP_IN_SCRIPT:
		return c == '<' ? go(t, MARKUP_IN_SCRIPT_LESS, true) : true;
	case MARKUP_IN_SCRIPT_LESS:
		t->back = MARKUP_IN_SCRIPT;
		if (c == '/')
			return go(t, MARKUP_IN_TEXT_END_OPEN, true);
		return c == '!' ? go(t, MARKUP_IN_ESCAPE_START, true)
				: go(t, MARKUP_IN_SCRIPT, false);
	case MARKUP_IN_ESCAPE_START:
		return c == '-' ? go(t, MARKUP_IN_ESCAPE_START_DASH, true)
				: go(t, MARKUP_IN_SCRIPT, false);
	case MARKUP_IN_ESCAPE_START_DASH:
		return c == '-' ? go(t, MARKUP_IN_ESCAPED_DASHES, true)
				: go(t, MARKUP_IN_SCRIPT, false);
	case MARKUP_IN_ESCAPED_LESS:
		return step_escaped_less(t, c);
	case MARKUP_IN_DOUBLE_START:
		return step_double_word(t, c, true);
	case MARKUP_IN_DOUBLE_END:
		return step_double_word(t, c, false);
	case MARKUP_IN_DOUBLE_LESS:
		t->word.length = 0;
		return c == '/' ? go(t, MARKUP_IN_DOUBLE_END, true)
				: go(t, MARKUP_IN_DOUBLE, false);
	default:
		return step_dashes(
		    t, c, t->state >= MARKUP_IN_DOUBLE ? MARKUP_IN_DOUBLE : MARKUP_IN_ESCAPED);
	}
}
