/* SPDX-License-Identifier: MIT */
/*
 * Reads what a page or a stylesheet makes a browser fetch, from bytes that pass in pieces of any size.
 * It parses after the standards of HTML and CSS Syntax, keeps no document, and changes nothing.
 *
 * In doubt a resource is left out: one that is reported is one that a browser's parser finds too
 * (docs/design/markup.md has what is left out).
 */
#ifndef PUSHGATE_MARKUP_MARKUP_H
#define PUSHGATE_MARKUP_MARKUP_H

#include "proxy/http/link.h"

/* What a resource is to the text that names it; a link may name several. */
enum {
	MARKUP_STYLESHEET = 1,
	MARKUP_PRELOAD = 2,
	MARKUP_MODULEPRELOAD = 4,
	MARKUP_PRECONNECT = 8,
	MARKUP_SCRIPT = 16,
	MARKUP_IMPORT = 32, /* @import */
	MARKUP_FONT = 64    /* @font-face */
};

enum {
	MARKUP_ASYNC = 1,           /* of a script */
	MARKUP_DEFER = 2,           /* of a script */
	MARKUP_MODULE = 4,          /* of a script: type=module */
	MARKUP_HAS_CROSSORIGIN = 8, /* with or without a value; always for a font */
	MARKUP_PARTIAL =
	    16, /* of a font: for some characters alone, or only if no local one is there */
	MARKUP_HAS_NONCE = 32 /* of a link or a script: a Content-Security-Policy may want it */
};

/* A reader of either kind has at most so many bytes. */
enum { MARKUP_READER_BYTES = 10 << 10 };

/* All slices are lent for the call; those of what is not there are empty. */
struct markup_resource {
	struct http_target target; /* resolved against the base and the page; http(s) */
	unsigned uses;             /* MARKUP_STYLESHEET … */
	unsigned marks;            /* MARKUP_ASYNC … */
	/* "style", "script" or "font" where the use alone says so, else as written. Empty: a preconnect. */
	struct slice as;
	/* As written, with character references decoded. Of an import: its media. */
	struct slice rel, type, media, crossorigin, fetchpriority, integrity, imagesrcset,
	    imagesizes;
};

/* Gets each resource, in the order of the text. */
struct markup_sink {
	void (*found)(const struct markup_resource *resource, void *context);
	void *context;
};

enum markup_state {
	MARKUP_READS,    /* gives more bytes to it */
	MARKUP_ENDED,    /* the end of what is read has come: the head, the rules in question */
	MARKUP_AT_LIMIT, /* LIMIT_MARKUP_BYTES have been read */
	MARKUP_TOO_MANY /* there are more than LIMIT_MARKUP_RESOURCES; the first ones were reported */
};

/* The <head> of a page in UTF-8, or in an encoding that has ASCII's bytes for ASCII alone. */
struct markup_head;

/* Borrows the page's target. NULL: no memory. */
struct markup_head *markup_head_new(const struct http_target *page, struct markup_sink sink);
void markup_head_free(struct markup_head *head);
/* The next bytes of the page. Other states than MARKUP_READS are final, and read nothing more. */
enum markup_state markup_head_read(struct markup_head *head, struct slice piece);

/*
 * A stylesheet, whose target is the base of what it names: its imports (`media` is theirs), and of each
 * @font-face that depends on no condition the source that a browser takes.
 */
struct markup_css;

struct markup_css *markup_css_new(const struct http_target *sheet, struct markup_sink sink);
void markup_css_free(struct markup_css *css);
enum markup_state markup_css_read(struct markup_css *css, struct slice piece);

#endif
