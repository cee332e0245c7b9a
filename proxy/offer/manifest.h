/* SPDX-License-Identifier: MIT */
/*
 * Push manifests: JSON files that an operator's build writes, in the format of the npm package
 * http2-push-manifest. They say which resources belong to which page; rules say whether a resource is
 * offered, and to which client. Included by offer.h.
 *
 * A file for one page:
 *   {"/css/app.css": {"type": "style", "weight": 1}, …}
 * Its resources belong to each request for which a [preload] section names the file.
 *
 * A file for several pages:
 *   {"index.html": {"/css/app.css": {…}, …}, "page.html": {…}}
 * The key of a page is a URI reference from the root. "index.html" at the end of a page's path stands
 * for its directory, and queries do not matter. The key of a resource is a reference from its page
 * (in a file for one page: from the root), resolved as in RFC 3986 5.2. Unknown properties are ignored;
 * "weight" is checked and ignored.
 */
#ifndef PUSHGATE_OFFER_MANIFEST_H
#define PUSHGATE_OFFER_MANIFEST_H

#include "proxy/base/watched_file.h"
#include "proxy/conf/conf.h"
#include <stdio.h>

enum {
	OFFER_MANIFEST_BYTES = 1 << 20, /* of a file: far more than any page's resources need */
	/* Of the flat form: four times the file, since targets are resolved there. */
	OFFER_MANIFEST_FLAT_BYTES = 4 << 20,
	OFFER_MANIFEST_PAGES = 10000,    /* in one file */
	OFFER_MANIFEST_RESOURCES = 1000, /* of one page */
};

struct offer_manifest_resource {
	/* "/path?query", or "https://authority/path" for another authority */
	struct slice target;
	/* "style", …: the property "type", else from the extension of the path; may be empty */
	struct slice as;
	/* "anonymous" or "use-credentials"; empty = the file has no such property */
	struct slice crossorigin;
};

/* In the order of the file. */
struct offer_manifest_resources {
	const struct offer_manifest_resource *list;
	size_t count;
};

struct offer_manifest;

/*
 * NULL: the text is no manifest, and each mistake is one line of `errors`: "NAME:line:column: what is
 * wrong; what would be right". Columns count bytes. For a manifest nothing is written.
 */
struct offer_manifest *offer_manifest_parse(struct slice text, const char *name, FILE *errors);
void offer_manifest_free(struct offer_manifest *m); /* accepts NULL */

/* ---- the flat form: a manifest that was parsed, to be handed to another process ---- */

/* Lent until the manifest is freed. At most OFFER_MANIFEST_FLAT_BYTES. */
struct slice offer_manifest_flat(const struct offer_manifest *m);
/*
 * A manifest whose flat form is `bytes`: takes them, and calls release(bytes, length) when the manifest is
 * freed. Trusts nothing: NULL (and releases them) unless each index and each text in them is in order.
 * Costs one walk through them and parses nothing.
 */
struct offer_manifest *offer_manifest_of_flat(
    void *bytes, size_t length, void (*release)(void *bytes, size_t length));

/* The resources of the page with this path (of a request, with its query); count 0 if the manifest has
 * no such page. Lent until the manifest is freed. */
struct offer_manifest_resources offer_manifest_find(
    const struct offer_manifest *m, struct slice path);

/* ---- a manifest's file ---- */

/* Reads a file once. NULL: it cannot be read or is no manifest; `errors` says why. */
struct offer_manifest *offer_manifest_read(const char *path, FILE *errors);

struct offer_manifest_file; /* borrows the path */

/* Without *is_good the file cannot be read or is no manifest, and `errors` says why: the content is empty
 * until a check finds a good one. */
struct offer_manifest_file *offer_manifest_file_open(const char *path, bool *is_good, FILE *errors);
void offer_manifest_file_close(struct offer_manifest_file *f); /* accepts NULL */
/* Never NULL. Lent until offer_manifest_file_check returns WATCHED_READ. */
const struct offer_manifest *offer_manifest_file_content(const struct offer_manifest_file *f);

/* The manifest that was read from this path earlier, maybe by another process: the first check reads the
 * file again. Takes `last`; NULL: none was read, and the content is empty. */
struct offer_manifest_file *offer_manifest_file_resume(
    const char *path, struct offer_manifest *last);

/* Reads the file again if it has changed, and frees the manifest that was lent; costs one stat(2) while it
 * has not. Unusable: `errors` says why. For a timer of a second or more. */
enum watched_change offer_manifest_file_check(struct offer_manifest_file *f, FILE *errors);

/* ---- the manifests of all [preload] sections, in the order in which the configuration names them ---- */

struct manifests;

/* How many a configuration names, in all sections. */
size_t manifests_configured(const struct conf *conf);
/* The file of the at-th of them. */
const char *manifests_path(const struct conf *conf, size_t at);

struct manifests *manifests_new(const struct conf *conf); /* all without content; borrows conf */
/* Reads all files. NULL: a file cannot be read; `error` says which and why. */
struct manifests *manifests_open(const struct conf *conf, char *error, size_t error_size);
void manifests_close(struct manifests *m); /* accepts NULL */
/* Replaces the content of the at-th; takes it. */
void manifests_set(struct manifests *m, size_t at, struct offer_manifest *content);
/* The resources of the page in the index-th file of a section. Lent until its content is replaced. */
struct offer_manifest_resources manifests_find(
    const struct manifests *m, const struct conf_preload *preload, size_t index, struct slice path);

#endif
