/* SPDX-License-Identifier: MIT */
/*
 * The tokenizer of HTML (HTML standard 13.2.5), for tags alone: text and comments are skipped. Fed with
 * pieces cut at any byte; of a tag it keeps its name, if an element of concern has one as long, and
 * of <link>, <script> and <base> the attributes of concern.
 */
#ifndef PUSHGATE_MARKUP_TOKENIZER_H
#define PUSHGATE_MARKUP_TOKENIZER_H

#include "proxy/base/ascii.h"
#include "proxy/limits.h"
#include "proxy/markup/char_reference.h"

/* By the lengths of their names. */
enum markup_attribute {
	MARKUP_ATTRIBUTE_AS,
	MARKUP_ATTRIBUTE_REL,
	MARKUP_ATTRIBUTE_SRC,
	MARKUP_ATTRIBUTE_HREF,
	MARKUP_ATTRIBUTE_TYPE,
	MARKUP_ATTRIBUTE_MEDIA,
	MARKUP_ATTRIBUTE_ASYNC,
	MARKUP_ATTRIBUTE_DEFER,
	MARKUP_ATTRIBUTE_NONCE,
	MARKUP_ATTRIBUTE_DISABLED,
	MARKUP_ATTRIBUTE_LANGUAGE,
	MARKUP_ATTRIBUTE_NOMODULE,
	MARKUP_ATTRIBUTE_INTEGRITY,
	MARKUP_ATTRIBUTE_IMAGESIZES,
	MARKUP_ATTRIBUTE_CROSSORIGIN,
	MARKUP_ATTRIBUTE_IMAGESRCSET,
	MARKUP_ATTRIBUTE_FETCHPRIORITY,
	MARKUP_ATTRIBUTES,
	MARKUP_ATTRIBUTE_OTHER = MARKUP_ATTRIBUTES
};

/* A name of a tag or an attribute, in lower case. A longer one is cut: its length is the whole array. */
struct markup_name {
	char bytes[16];
	uint8_t length;
};

struct markup_tag {
	struct markup_name name;
	bool is_end;
	bool
	    is_unclear; /* a value has a character reference that is not known here, or all are too long */
	uint16_t used;                          /* of `bytes`, or as many bytes in the piece */
	uint32_t present;                       /* a bit for each attribute */
	struct slice values[MARKUP_ATTRIBUTES]; /* of those present: in `bytes`, or in the piece */
	char bytes[LIMIT_MARKUP_TAG_BYTES];
};

enum markup_token {
	MARKUP_TOKEN_NONE, /* the piece is used up */
	MARKUP_TOKEN_TAG,  /* in `tag`, until the next call, and while the piece is there */
	MARKUP_TOKEN_TEXT  /* a character that is no white space */
};

/* What stands behind a start tag, up to the end tag of the same name. */
enum markup_content {
	MARKUP_CONTENT_MARKUP,
	MARKUP_CONTENT_TEXT, /* RCDATA or RAWTEXT: they differ in character references alone */
	MARKUP_CONTENT_SCRIPT
};

struct markup_tokenizer {
	uint8_t state;
	uint8_t back;    /* the state to which a tag returns that does not end the text around it */
	uint8_t quote;   /* the state of the value that a character reference is in */
	uint8_t matched; /* bytes of "DOCTYPE" or "--" behind "<!" */
	uint8_t keeps;   /* enum markup_attribute: whose value is being read */
	bool ignores_text; /* set by the owner: no MARKUP_TOKEN_TEXT */
	bool after_cr;
	enum markup_token token;
	struct markup_name word;   /* an attribute's name; in a script "script" */
	struct markup_name opened; /* the last start tag */
	struct markup_char_reference reference;
	struct markup_tag tag;
};

void markup_tokenizer_init(struct markup_tokenizer *t);
/* Cuts off *rest what it has read, up to the next token. */
enum markup_token markup_tokenizer_next(struct markup_tokenizer *t, struct slice *rest);
/* Behind a start tag. */
void markup_tokenizer_expect(struct markup_tokenizer *t, enum markup_content content);

static inline struct slice markup_name_text(const struct markup_name *name)
{
	return slice_of(name->bytes, name->length);
}
static inline void markup_name_append(struct markup_name *name, unsigned char c)
{
	if (name->length < sizeof(name->bytes))
		name->bytes[name->length++] = ascii_lower((char)c);
}

static inline void markup_name_set(struct markup_name *name, struct slice text)
{
	text = slice_sub(text, 0, sizeof(name->bytes));
	ascii_lower_copy(name->bytes, text);
	name->length = (uint8_t)text.len;
}

static inline bool markup_tag_has(const struct markup_tag *tag, enum markup_attribute a)
{
	return (tag->present >> a & 1) != 0;
}
/* Empty: it is not there, or its value is empty. */
static inline struct slice markup_tag_value(const struct markup_tag *tag, enum markup_attribute a)
{
	return markup_tag_has(tag, a) ? tag->values[a] : (struct slice){0};
}

/* Private to the tokenizer's files. */

enum markup_tokenizer_state {
	MARKUP_IN_DATA,
	MARKUP_IN_DATA_REFERENCE,
	MARKUP_IN_TAG_OPEN,
	MARKUP_IN_END_TAG_OPEN,
	MARKUP_IN_TAG_NAME,
	MARKUP_IN_BEFORE_NAME,
	MARKUP_IN_NAME,
	MARKUP_IN_AFTER_NAME,
	MARKUP_IN_BEFORE_VALUE,
	MARKUP_IN_DOUBLE_QUOTED,
	MARKUP_IN_SINGLE_QUOTED,
	MARKUP_IN_UNQUOTED,
	MARKUP_IN_VALUE_REFERENCE,
	MARKUP_IN_AFTER_QUOTED,
	MARKUP_IN_SELF_CLOSING,
	MARKUP_IN_DECLARATION,
	MARKUP_IN_BOGUS_COMMENT, /* and in a DOCTYPE: each ends at the first ">" */
	MARKUP_IN_COMMENT_START,
	MARKUP_IN_COMMENT_START_DASH,
	MARKUP_IN_COMMENT,
	MARKUP_IN_COMMENT_END_DASH,
	MARKUP_IN_COMMENT_END,
	MARKUP_IN_COMMENT_END_BANG,
	MARKUP_IN_TEXT,
	MARKUP_IN_TEXT_LESS,
	MARKUP_IN_TEXT_END_OPEN,
	MARKUP_IN_TEXT_END_NAME,
	MARKUP_IN_SCRIPT,
	MARKUP_IN_SCRIPT_LESS,
	MARKUP_IN_ESCAPE_START,
	MARKUP_IN_ESCAPE_START_DASH,
	MARKUP_IN_ESCAPED,
	MARKUP_IN_ESCAPED_DASH,
	MARKUP_IN_ESCAPED_DASHES,
	MARKUP_IN_ESCAPED_LESS,
	MARKUP_IN_DOUBLE_START,
	MARKUP_IN_DOUBLE,
	MARKUP_IN_DOUBLE_DASH,
	MARKUP_IN_DOUBLE_DASHES,
	MARKUP_IN_DOUBLE_LESS,
	MARKUP_IN_DOUBLE_END
};

/* The standard's white space: of the input and behind character references. */
static inline bool markup_is_space(unsigned char c)
{
	const uint64_t spaces =
	    UINT64_C(1) << ' ' | 1u << '\t' | 1u << '\n' | 1u << '\f' | 1u << '\r';
	return c <= ' ' && (spaces >> c & 1) != 0;
}
static inline bool markup_is_letter(unsigned char c)
{
	return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* Each step takes one byte in the present state; false: the byte is for the next state. */
bool markup_step_attribute(struct markup_tokenizer *t, unsigned char c);
bool markup_step_text(struct markup_tokenizer *t, unsigned char c);
bool markup_step_script(struct markup_tokenizer *t, unsigned char c);

/*
 * *rest begins with "<" and a letter, or as an end tag with "</" and a letter. False: it does not end in the piece, or has to
 * be read byte by byte; nothing was read.
 */
bool markup_quick_tag(struct markup_tokenizer *t, struct slice *rest, bool is_end);

/* Whether the attributes of the tag, whose name is complete, are of concern. */
bool markup_tag_keeps(const struct markup_tag *tag);
/* Returns which attribute's value follows this name, in either case, or MARKUP_ATTRIBUTE_OTHER. */
uint8_t markup_attribute_begin(struct markup_tag *tag, struct slice name);

void markup_tag_begin(struct markup_tokenizer *t, bool is_end);
void markup_tag_end(struct markup_tokenizer *t);
/* Whether c ends the name of the tag; the state is then what follows. */
static inline bool markup_tag_name_ends(struct markup_tokenizer *t, unsigned char c)
{
	if (c == '>')
		markup_tag_end(t);
	else if (c == '/')
		t->state = MARKUP_IN_SELF_CLOSING;
	else if (markup_is_space(c))
		t->state = MARKUP_IN_BEFORE_NAME;
	else
		return false;
	return true;
}

#endif
