/* SPDX-License-Identifier: MIT */
/*
 * The manifests of all [preload] sections, in the order in which the configuration names them. Their files are
 * read by process/files.c. Included by offer.h.
 */
#ifndef PUSHGATE_OFFER_MANIFESTS_H
#define PUSHGATE_OFFER_MANIFESTS_H

#include "proxy/conf/conf.h"
#include "proxy/offer/manifest.h"

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
