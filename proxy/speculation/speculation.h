/* SPDX-License-Identifier: MIT */
/*
 * Speculation rules (HTML, "Speculative loading"): the texts of them, and what requests say of them. Bytes alone: which
 * pages are the most likely next ones is known by the memory of pages, and these functions open nothing and read no
 * clock.
 *
 * A response to a page load names a URI of pushgate's own in the field Speculation-Rules; a browser fetches the rules
 * from there and loads the pages that they name before their links are followed:
 *
 *   Speculation-Rules: "/.well-known/pushgate/speculation?page=/shop/"
 *   {"tag":"pushgate","prefetch":[{"source":"list","urls":["/shop/shoes"],"eagerness":"moderate"}]}
 */
#ifndef PUSHGATE_SPECULATION_SPECULATION_H
#define PUSHGATE_SPECULATION_SPECULATION_H

#include "proxy/http/head.h"

enum {
	SPECULATION_PAGES = 4, /* that rules name at most: a browser may load each of them */
	SPECULATION_PATH_BYTES =
	    1024, /* longer paths, with their queries, have no rules and are in none */
};

#define SPECULATION_MEDIA_TYPE "application/speculationrules+json"

enum speculation_kind { SPECULATION_OFF, SPECULATION_PREFETCH, SPECULATION_PRERENDER };
enum speculation_eagerness {
	SPECULATION_CONSERVATIVE,
	SPECULATION_MODERATE,
	SPECULATION_EAGER,
	SPECULATION_IMMEDIATE,
};

/* ---- where the rules of a page are (target.c) ---- */

/* The path of the rules for a page (its path, with query), in the arena. Empty: it is too long. */
struct slice speculation_rules_path(struct slice page, struct arena *a);
/* The page whose rules are asked for by this path, in the arena. Empty: it asks for none. */
struct slice speculation_page_of(struct slice path, struct arena *a);

/* ---- the rules (rules.c) ---- */

/* Whether the path looks like that of a page that only shows something: it has no query and no unusual bytes, and no
 * word in it says that it does something, such as "logout", "add-to-cart" or "admin". */
bool speculation_may_name(struct slice path);
/* The text of the rules, in the arena. Paths are those that speculation_may_name has taken. */
struct slice speculation_rules(enum speculation_kind kind, enum speculation_eagerness eagerness,
    const struct slice *paths, size_t count, struct arena *a);

/* ---- requests (request.c) ---- */

/* The value of Sec-Speculation-Tags: the tags of the rules that have caused the request. Empty: there is none. */
struct slice speculation_tags(const struct http_head *request);
/* Whether a browser shows the response as a document of its own. Browsers that follow rules say so (Sec-Fetch-Dest). */
bool speculation_is_page(const struct http_head *request, const struct http_head *response);
/* Whether the response names rules. */
bool speculation_has_rules(const struct http_head *response);

#endif
