/* SPDX-License-Identifier: MIT */
/*
 * Files that are no configuration of pushgate. One hint on the first line that gives the file away is
 * worth more than a mistake for each line. The first line that is no comment and no include decides.
 */
#include "proxy/conf/load.h"
#include <fnmatch.h>

enum { LINE_BYTES = 127, BINARY_BYTES = 4096 };

/* Beginnings of other formats. The first row that matches counts. */
static const struct {
	const char *what, *pattern;
} formats[] = {
    {"a PEM file", "-----BEGIN *"},
    {"an XML or HTML file", "<[?!]*"},
    {"an XML or HTML file", "<html*"},
    {"JSON", "{*"},
    {"JSON", "[[]"},
    {"JSON", "[[]{*"},
    {"TOML", "[[][[]*"},
    {"YAML", "---*"},
    {"YAML", "- *"},
    {"YAML", "?*:"},
};

/* The format that the line is the beginning of; NULL: a line that a configuration may begin with. */
static const char *format_of(struct slice line)
{
	char text[LINE_BYTES + 1];

	if (line.len > LINE_BYTES)
		return NULL;
	memcpy(text, line.ptr, line.len);
	text[line.len] = '\0';
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (fnmatch(formats[i].pattern, text, FNM_NOESCAPE) == 0)
			return formats[i].what;
	/* The mistakes of these are reported line by line. */
	if (line.ptr[0] == '[' || conf_begins_with_option(line) ||
	    slice_starts_with(line, SLICE("//")))
		return NULL;
	return "a file of another program";
}

/* The first line that is no comment and no include; empty: there is none. */
static struct slice first_line(struct slice text, uint32_t *number)
{
	for (*number = 1; text.len > 0; ++*number) {
		struct slice line = conf_trim(slice_cut(&text, '\n'));
		if (line.len > 0 && line.ptr[0] != ';' && line.ptr[0] != '#' &&
		    !slice_starts_with(line, SLICE("include")))
			return line;
	}
	return SLICE("");
}

/* UTF-16 and UTF-32 begin with a byte order mark, or have NUL bytes among the first letters. */
static bool is_wide(struct slice text)
{
	if (slice_starts_with(text, SLICE("\xff\xfe")) ||
	    slice_starts_with(text, SLICE("\xfe\xff")))
		return true;
	return text.len >= 4 && (text.ptr[0] == '\0') != (text.ptr[1] == '\0') &&
	       (text.ptr[2] == '\0') != (text.ptr[3] == '\0');
}

/* The first bytes of files without lines. */
static const struct {
	const char *what;
	struct slice begin;
} magics[] = {
    {"a program", SLICE_INIT("\x7f"
			     "ELF")},
    {"compressed (gzip)", SLICE_INIT("\x1f\x8b")},
    {"compressed (zstd)", SLICE_INIT("\x28\xb5\x2f\xfd")},
    {"compressed (xz)", SLICE_INIT("\xfd"
				   "7zXZ")},
    {"a zip file", SLICE_INIT("PK\x03\x04")},
    {"a certificate or a key in DER", SLICE_INIT("\x30\x82")},
};

/* Text has no control characters but those of lines. Of random bytes one in ten is one. */
static bool is_binary(struct slice text)
{
	size_t controls = 0;

	text = slice_sub(text, 0, BINARY_BYTES);
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		controls += (c < ' ' && !conf_is_space((char)c) && c != 0x1b) || c == 0x7f;
	}
	return controls > 1 && controls > text.len / 32;
}

static void tell_binary(struct conf_loader *l, struct slice text)
{
	const char *what = "binary";

	for (size_t i = 0; i < sizeof magics / sizeof *magics; i++)
		if (slice_starts_with(text, magics[i].begin))
			what = magics[i].what;
	l->is_foreign = true;
	conf_mistake(l, l->file, 1,
	    "the file is %s, not a text with lines; name a configuration, or begin one: pushgate "
	    "help-config example",
	    what);
}

bool conf_is_foreign(struct conf_loader *l, struct slice text)
{
	if (is_wide(text)) {
		l->is_foreign = true;
		conf_mistake(l, l->file, 1, "the file is UTF-16 or UTF-32; save it as UTF-8");
		return true;
	}
	if (is_binary(text)) {
		tell_binary(l, text);
		return true;
	}
	if (slice_starts_with(text, SLICE("\xef\xbb\xbf")))
		text = slice_from(text, 3);
	uint32_t number;
	struct slice line = first_line(text, &number);
	const char *what = line.len > 0 ? format_of(line) : NULL;
	if (!what)
		return false;
	l->is_foreign = true;
	conf_mistake(l, l->file, number,
	    "this looks like %s ('%.*s'), not like a configuration of pushgate; write [section "
	    "NAME] headers with key = value lines below them: docs/MOVING.md translates, and "
	    "pushgate help-config example prints a whole file",
	    what, SLICE_ARG(slice_sub(line, 0, 60)));
	return true;
}
