/* SPDX-License-Identifier: MIT */
/*
 * The manifest files that [preload] sections name: read at the start, looked at again every few
 * seconds, swapped when they have changed and are good.
 */
#ifndef PUSHGATE_OFFER_MANIFESTS_H
#define PUSHGATE_OFFER_MANIFESTS_H

#include "proxy/conf/conf.h"
#include "proxy/offer/manifest.h"

struct manifests;

/* NULL: one of them cannot be read; `error` says which and why. Without any it is an empty set. */
struct manifests *manifests_open(const struct conf *conf, char *error, size_t error_size);
void manifests_close(struct manifests *m); /* NULL is fine */
size_t manifests_count(const struct manifests *m);
/* Looks at all files; `say` hears of each that was reloaded, or that is bad now and was kept as it
 * was. */
void manifests_check(
    struct manifests *m, void (*say)(void *context, const char *line), void *context);
/* What the index-th file of a section says about the page. Lent until the next check. */
struct offer_manifest_resources manifests_find(
    const struct manifests *m, const struct conf_preload *preload, size_t index, struct slice path);

#endif
