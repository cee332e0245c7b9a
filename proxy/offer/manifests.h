/* SPDX-License-Identifier: MIT */
/*
 * The manifest files of all [preload] sections: read at the start, and again when they change. Included by
 * offer.h.
 */
#ifndef PUSHGATE_OFFER_MANIFESTS_H
#define PUSHGATE_OFFER_MANIFESTS_H

#include "proxy/conf/conf.h"
#include "proxy/offer/manifest.h"

struct manifests;

/* NULL: a file cannot be read; `error` says which and why. */
struct manifests *manifests_open(const struct conf *conf, char *error, size_t error_size);
void manifests_close(struct manifests *m); /* accepts NULL */
size_t manifests_count(const struct manifests *m);
/* Checks all files, and calls `say` for each one that was reloaded or has become bad. */
void manifests_check(
    struct manifests *m, void (*say)(void *context, const char *line), void *context);
/* The resources of the page in the index-th file of a section. Lent until the next check. */
struct offer_manifest_resources manifests_find(
    const struct manifests *m, const struct conf_preload *preload, size_t index, struct slice path);

#endif
