/* SPDX-License-Identifier: MIT */
/* Character references as a state machine, and the names that are known. */
#include "proxy/markup/char_reference.h"

#include "proxy/base/ascii.h"

/* The longest name of the standard has so many characters: a longer one is none. */
#define NAME_MOST 32u
#define CODE_END 0x110000u
#define REPLACEMENT 0xfffdu

enum state { AT_START, IN_NAME, AT_NUMBER, AT_HEX, IN_HEX, IN_DECIMAL };

struct name {
	struct slice name;
	uint16_t code;
};

/* Known with and without a semicolon. */
static const struct name bare_names[] = {
#define NAME(name, code)                                                                           \
	{                                                                                          \
		SLICE_INIT(name), code                                                             \
	}
    NAME("amp", '&'), NAME("quot", '"'), NAME("lt", '<'), NAME("gt", '>'), NAME("AMP", '&'),
    NAME("QUOT", '"'), NAME("LT", '<'), NAME("GT", '>'), NAME("nbsp", 160), NAME("iexcl", 161),
    NAME("cent", 162), NAME("pound", 163), NAME("curren", 164), NAME("yen", 165),
    NAME("brvbar", 166), NAME("sect", 167), NAME("uml", 168), NAME("copy", 169), NAME("COPY", 169),
    NAME("ordf", 170), NAME("laquo", 171), NAME("not", 172), NAME("shy", 173), NAME("reg", 174),
    NAME("REG", 174), NAME("macr", 175), NAME("deg", 176), NAME("plusmn", 177), NAME("sup2", 178),
    NAME("sup3", 179), NAME("acute", 180), NAME("micro", 181), NAME("para", 182),
    NAME("middot", 183), NAME("cedil", 184), NAME("sup1", 185), NAME("ordm", 186),
    NAME("raquo", 187), NAME("frac14", 188), NAME("frac12", 189), NAME("frac34", 190),
    NAME("iquest", 191), NAME("Agrave", 192), NAME("Aacute", 193), NAME("Acirc", 194),
    NAME("Atilde", 195), NAME("Auml", 196), NAME("Aring", 197), NAME("AElig", 198),
    NAME("Ccedil", 199), NAME("Egrave", 200), NAME("Eacute", 201), NAME("Ecirc", 202),
    NAME("Euml", 203), NAME("Igrave", 204), NAME("Iacute", 205), NAME("Icirc", 206),
    NAME("Iuml", 207), NAME("ETH", 208), NAME("Ntilde", 209), NAME("Ograve", 210),
    NAME("Oacute", 211), NAME("Ocirc", 212), NAME("Otilde", 213), NAME("Ouml", 214),
    NAME("times", 215), NAME("Oslash", 216), NAME("Ugrave", 217), NAME("Uacute", 218),
    NAME("Ucirc", 219), NAME("Uuml", 220), NAME("Yacute", 221), NAME("THORN", 222),
    NAME("szlig", 223), NAME("agrave", 224), NAME("aacute", 225), NAME("acirc", 226),
    NAME("atilde", 227), NAME("auml", 228), NAME("aring", 229), NAME("aelig", 230),
    NAME("ccedil", 231), NAME("egrave", 232), NAME("eacute", 233), NAME("ecirc", 234),
    NAME("euml", 235), NAME("igrave", 236), NAME("iacute", 237), NAME("icirc", 238),
    NAME("iuml", 239), NAME("eth", 240), NAME("ntilde", 241), NAME("ograve", 242),
    NAME("oacute", 243), NAME("ocirc", 244), NAME("otilde", 245), NAME("ouml", 246),
    NAME("divide", 247), NAME("oslash", 248), NAME("ugrave", 249), NAME("uacute", 250),
    NAME("ucirc", 251), NAME("uuml", 252), NAME("yacute", 253), NAME("thorn", 254),
    NAME("yuml", 255)};

/* Known with a semicolon alone: all of ASCII. */
static const struct name closed_names[] = {NAME("apos", '\''), NAME("Tab", '\t'),
    NAME("NewLine", '\n'), NAME("excl", '!'), NAME("num", '#'), NAME("dollar", '$'),
    NAME("percnt", '%'), NAME("lpar", '('), NAME("rpar", ')'), NAME("ast", '*'),
    NAME("midast", '*'), NAME("plus", '+'), NAME("comma", ','), NAME("period", '.'),
    NAME("sol", '/'), NAME("colon", ':'), NAME("semi", ';'), NAME("equals", '='),
    NAME("quest", '?'), NAME("commat", '@'), NAME("lsqb", '['), NAME("lbrack", '['),
    NAME("bsol", '\\'), NAME("rsqb", ']'), NAME("rbrack", ']'), NAME("Hat", '^'),
    NAME("lowbar", '_'), NAME("UnderBar", '_'), NAME("grave", '`'), NAME("DiacriticalGrave", '`'),
    NAME("lcub", '{'), NAME("lbrace", '{'), NAME("verbar", '|'), NAME("vert", '|'),
    NAME("VerticalLine", '|'), NAME("rcub", '}'), NAME("rbrace", '}')};
#undef NAME

/* 13.2.5.80: what 0x80 to 0x9f stand for; 0: themselves. */
static const uint16_t c1_codes[32] = {0x20ac, 0, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021,
    0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017d, 0, 0, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022,
    0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0, 0x017e, 0x0178};

void markup_char_reference_begin(struct markup_char_reference *r)
{
	*r = (struct markup_char_reference){.state = AT_START, .length = 1, .text = "&"};
}

size_t markup_utf8_write(char *to, uint32_t code)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	for (size_t i = length - 1; i > 0; i--) {
		to[i] = (char)(0x80 | (code & 0x3f));
		code >>= 6;
	}
	to[0] = (char)(0xf00 >> length | code);
	return length;
}

static void become(struct markup_char_reference *r, uint32_t code)
{
	r->length = (uint8_t)markup_utf8_write(r->text, code);
}

static void become_number(struct markup_char_reference *r)
{
	uint32_t code = r->code;
	if (code == 0 || code >= CODE_END || (code >= 0xd800 && code < 0xe000))
		code = REPLACEMENT;
	else if (code >= 0x80 && code < 0xa0 && c1_codes[code - 0x80] != 0)
		code = c1_codes[code - 0x80];
	become(r, code);
}

static bool become_named(struct markup_char_reference *r, const struct name *names, size_t count)
{
	struct slice name = slice_of(r->text + 1, r->length - 1u);
	for (size_t i = 0; i < count; i++) {
		if (!slice_equal(names[i].name, name))
			continue;
		become(r, names[i].code);
		return true;
	}
	return false;
}

static bool become_bare(struct markup_char_reference *r)
{
	return become_named(r, bare_names, sizeof(bare_names) / sizeof(bare_names[0]));
}

static void keep(struct markup_char_reference *r, unsigned char c, enum state state)
{
	r->text[r->length++] = (char)c;
	r->state = (uint8_t)state;
}

/* In an attribute a name without a semicolon is none when "=", a letter or a digit follows. */
static enum markup_char_result read_name(struct markup_char_reference *r, unsigned char c)
{
	if (ascii_is((char)c, ASCII_ALNUM)) {
		if (r->length > NAME_MOST)
			return MARKUP_CHAR_AGAIN;
		keep(r, c, IN_NAME);
		return MARKUP_CHAR_MORE;
	}
	if (c != ';') {
		if (c != '=')
			become_bare(r);
		return MARKUP_CHAR_AGAIN;
	}
	if (become_bare(r) ||
	    become_named(r, closed_names, sizeof(closed_names) / sizeof(closed_names[0])))
		return MARKUP_CHAR_OVER;
	r->is_unclear = true;
	return MARKUP_CHAR_AGAIN;
}

static enum markup_char_result read_digit(
    struct markup_char_reference *r, unsigned char c, unsigned base)
{
	int digit = ascii_hex_value((char)c);
	if (digit >= 0 && (unsigned)digit < base) {
		if (r->code < CODE_END)
			r->code = r->code * base + (unsigned)digit;
		return MARKUP_CHAR_MORE;
	}
	become_number(r);
	return c == ';' ? MARKUP_CHAR_OVER : MARKUP_CHAR_AGAIN;
}

enum markup_char_result markup_char_reference_read(struct markup_char_reference *r, unsigned char c)
{
	bool is_digit = ascii_is((char)c, ASCII_DIGIT);
	switch ((enum state)r->state) {
	case AT_START:
		if (!ascii_is((char)c, ASCII_ALNUM) && c != '#')
			return MARKUP_CHAR_AGAIN;
		keep(r, c, c == '#' ? AT_NUMBER : IN_NAME);
		return MARKUP_CHAR_MORE;
	case IN_NAME:
		return read_name(r, c);
	case AT_NUMBER:
		if ((c | 0x20) == 'x') {
			keep(r, c, AT_HEX);
			return MARKUP_CHAR_MORE;
		}
		if (!is_digit)
			return MARKUP_CHAR_AGAIN;
		r->state = IN_DECIMAL;
		return read_digit(r, c, 10);
	case AT_HEX:
		if (ascii_hex_value((char)c) < 0)
			return MARKUP_CHAR_AGAIN;
		r->state = IN_HEX;
		return read_digit(r, c, 16);
	case IN_HEX:
		return read_digit(r, c, 16);
	case IN_DECIMAL:
		return read_digit(r, c, 10);
	}
	return MARKUP_CHAR_AGAIN;
}
