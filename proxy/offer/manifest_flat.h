/* SPDX-License-Identifier: MIT */
/* Private to offer/: how manifest.c makes a flat manifest (manifest_flat.c) of what it has parsed. */
#ifndef PUSHGATE_OFFER_MANIFEST_FLAT_H
#define PUSHGATE_OFFER_MANIFEST_FLAT_H

#include "proxy/offer/manifest.h"

/* A page as it was parsed. */
struct manifest_page {
	struct slice path; /* without query, and without "index.html" at the end */
	struct offer_manifest_resources resources;
};

/* The keys of http2-push-manifest are file names, and most servers send index.html for its directory. */
struct slice manifest_canonical_page(struct slice path);
/* A word that stands in as=. */
bool manifest_is_type_word(struct slice word);
/*
 * Copies all into a manifest. is_single: the only page stands for every page. Orders the pages, which all
 * differ, by their paths. NULL: the flat form would be larger than OFFER_MANIFEST_FLAT_BYTES.
 */
struct offer_manifest *manifest_make(struct manifest_page *pages, size_t count, bool is_single);

#endif
