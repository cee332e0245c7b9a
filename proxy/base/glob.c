/* SPDX-License-Identifier: MIT */
/*
 * A pattern is cut at its stars. The piece before the first star must begin the text, the piece behind the last one
 * must end it, and each piece between is searched for behind the one before: its first place is as good as any later
 * one, because the star behind it can absorb the rest. So no byte of the text is searched twice.
 *
 * The search is Shift-And (Baeza-Yates and Gonnet): bit i of a word says that the first i + 1 items of the piece match
 * the bytes up to here. memmem is no help: glibc's compares the bytes of short needles anew at each place that looks
 * like one, which takes six times as long on a text made for it.
 */
#include "proxy/base/glob.h"

#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"

/* Below so many comparisons the simplest search is the fastest. */
#define FEW_COMPARISONS 512u
#define WORD_ITEMS 64u

/* One item of a pattern: a byte, or any byte. Returns its length in the pattern. */
static inline size_t item_at(struct slice pattern, size_t p, char *byte, bool *is_any)
{
	*byte = pattern.ptr[p];
	*is_any = *byte == '?';
	if (*byte != '\\' || p + 1 == pattern.len)
		return 1;
	*byte = pattern.ptr[p + 1];
	return 2;
}

static inline bool is_same(char a, char b, bool nocase)
{
	return a == b || (nocase && ascii_lower(a) == ascii_lower(b));
}

/* A piece of a pattern between stars. */
struct piece {
	struct slice pattern;
	size_t items;    /* bytes of the text that it matches */
	bool is_literal; /* each byte stands for itself */
};

/* Cuts the next piece off; the star behind it stays. */
static struct piece next_piece(struct slice *rest)
{
	struct piece piece = {.pattern = *rest, .is_literal = true};
	size_t p = 0;
	char byte;
	bool is_any;

	while (p < rest->len && rest->ptr[p] != '*') {
		size_t width = item_at(*rest, p, &byte, &is_any);
		piece.is_literal = piece.is_literal && !is_any && width == 1;
		piece.items++;
		p += width;
	}
	piece.pattern.len = p;
	*rest = slice_from(*rest, p);
	return piece;
}

/* Whether the piece matches the beginning of a text that is long enough. */
static bool fits(const struct piece *piece, const char *text, bool nocase)
{
	char byte;
	bool is_any;

	if (piece->is_literal && !nocase)
		return piece->items == 0 || memcmp(piece->pattern.ptr, text, piece->items) == 0;
	for (size_t p = 0, t = 0; p < piece->pattern.len; t++) {
		p += item_at(piece->pattern, p, &byte, &is_any);
		if (!is_any && !is_same(byte, text[t], nocase))
			return false;
	}
	return true;
}

/* ---- searches: each returns the position, or the text's length if the piece is nowhere ---- */

static size_t search_simply(const struct piece *piece, struct slice text, bool nocase)
{
	for (size_t at = 0; at + piece->items <= text.len; at++)
		if (fits(piece, text.ptr + at, nocase))
			return at;
	return text.len;
}

/* Of each byte, which of the piece's first 64 items match it. Returns how many items these are. */
static size_t read_items(struct slice pattern, bool nocase, uint64_t items_of[static 256])
{
	uint64_t any = 0;
	size_t count = 0;
	char byte;
	bool is_any;

	memset(items_of, 0, 256 * sizeof *items_of);
	for (size_t p = 0; p < pattern.len && count < WORD_ITEMS; count++) {
		uint64_t bit = (uint64_t)1 << count;
		p += item_at(pattern, p, &byte, &is_any);
		if (is_any) {
			any |= bit;
			continue;
		}
		items_of[(uint8_t)byte] |= bit;
		if (nocase && ascii_is(byte, ASCII_ALPHA))
			items_of[(uint8_t)byte ^ 0x20] |= bit;
	}
	for (unsigned c = 0; any != 0 && c < 256; c++)
		items_of[c] |= any;
	return count;
}

/* Items behind the 64th are compared at each place where these fit, which counts as work. */
static size_t search_items(
    const struct piece *piece, struct slice text, bool nocase, struct effort *e)
{
	uint64_t items_of[256], fitting = 0;
	size_t count = read_items(piece->pattern, nocase, items_of);
	ensure(count > 0);
	const uint64_t last = (uint64_t)1 << (count - 1);

	for (size_t i = 0; i + piece->items < text.len + count; i++) {
		fitting = (fitting << 1 | 1) & items_of[(uint8_t)text.ptr[i]];
		if ((fitting & last) == 0)
			continue;
		size_t at = i + 1 - count;
		if (piece->items == count)
			return at;
		if (!effort_spend(e, piece->items))
			break;
		if (fits(piece, text.ptr + at, nocase))
			return at;
	}
	return text.len;
}

/* False: the piece is nowhere in the text, or the effort is used up. Else *text is the text behind it. */
static bool find_piece(const struct piece *piece, struct slice *text, bool nocase, struct effort *e)
{
	struct slice within = *text;
	size_t at;

	if (piece->items == 0)
		return true;
	if (within.len < piece->items)
		return false;
	bool is_cut = within.len > e->left;
	if (is_cut)
		within.len = (size_t)e->left;
	if (within.len * piece->items <= FEW_COMPARISONS)
		at = search_simply(piece, within, nocase);
	else
		at = search_items(piece, within, nocase, e);
	bool is_found = at < within.len;
	effort_spend(e, is_found ? at + piece->items : within.len + is_cut);
	*text = slice_from(*text, is_found ? at + piece->items : text->len);
	return is_found;
}

/* ---- the whole pattern ---- */

/* Cuts the piece behind the last star off, and the stars before it. */
static struct piece last_piece(struct slice *rest)
{
	struct slice left = *rest, tail;
	size_t star = 0;
	struct piece piece = {0};

	while (
	    left.len > 0) { /* the pieces are read from the left, since an escaped star is none */
		star = rest->len - left.len;
		left = slice_from(left, 1);
		piece = next_piece(&left);
	}
	tail = *rest;
	*rest = slice_sub(tail, 0, star);
	return piece;
}

bool glob_match_within(struct slice pattern, struct slice text, bool nocase, struct effort *e)
{
	struct slice rest = pattern;
	struct piece head = next_piece(&rest);

	if (text.len < head.items || !fits(&head, text.ptr, nocase))
		return false;
	text = slice_from(text, head.items);
	if (rest.len == 0)
		return text.len == 0;
	struct piece tail = last_piece(&rest);
	if (text.len < tail.items ||
	    !fits(&tail, slice_from(text, text.len - tail.items).ptr, nocase))
		return false;
	text.len -= tail.items;
	while (rest.len > 0) {
		rest = slice_from(rest, 1);
		struct piece piece = next_piece(&rest);
		if (!find_piece(&piece, &text, nocase, e))
			return false;
	}
	return true;
}

bool glob_match(struct slice pattern, struct slice text)
{
	struct effort e = effort_of(UINT64_MAX);

	return glob_match_within(pattern, text, false, &e);
}

bool glob_match_nocase(struct slice pattern, struct slice text)
{
	struct effort e = effort_of(UINT64_MAX);

	return glob_match_within(pattern, text, true, &e);
}
