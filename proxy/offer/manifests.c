/* SPDX-License-Identifier: MIT */
/* The open manifest files, in the order of the sections that name them. */
#include "proxy/offer/manifests.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdlib.h>

struct manifests {
	const struct conf *conf;
	struct offer_manifest_file **files; /* of all sections in turn */
	size_t count;
};

static size_t position(const struct manifests *m, const struct conf_preload *preload, size_t index)
{
	size_t at = index;
	for (const struct conf_preload *p = m->conf->preloads; p != preload; p++)
		at += p->manifest_count;
	ensure(at < m->count);
	return at;
}

/* Copies the first line of the messages about a file, without its newline. */
static void first_line(const char *text, char *line, size_t size)
{
	size_t n = strcspn(text, "\n");
	if (n >= size)
		n = size - 1;
	memcpy(line, text, n);
	line[n] = '\0';
}

static struct offer_manifest_file *open_file(const char *path, char *error, size_t error_size)
{
	char *said = NULL;
	size_t length = 0;
	FILE *errors = open_memstream(&said, &length);
	ensure(errors != NULL);
	struct offer_manifest_file *file = offer_manifest_file_open(path, errors);
	fclose(errors);
	if (!file)
		first_line(said, error, error_size);
	free(said);
	return file;
}

struct manifests *manifests_open(const struct conf *conf, char *error, size_t error_size)
{
	struct manifests *m = memory_new(struct manifests);
	m->conf = conf;
	for (size_t i = 0; i < conf->preload_count; i++)
		for (size_t j = 0; j < conf->preloads[i].manifest_count; j++) {
			m->files = memory_resize(m->files, m->count + 1, sizeof(*m->files));
			struct offer_manifest_file *file =
			    open_file(conf->preloads[i].manifests[j], error, error_size);
			if (!file) {
				manifests_close(m);
				return NULL;
			}
			m->files[m->count++] = file;
		}
	return m;
}

void manifests_close(struct manifests *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++)
		offer_manifest_file_close(m->files[i]);
	free(m->files);
	free(m);
}

size_t manifests_count(const struct manifests *m)
{
	return m->count;
}

static const char *path_of(const struct manifests *m, size_t at)
{
	const struct conf_preload *p = m->conf->preloads;
	for (; at >= p->manifest_count; p++)
		at -= p->manifest_count;
	return p->manifests[at];
}

static void check_file(
    struct manifests *m, size_t at, void (*say)(void *context, const char *line), void *context)
{
	char line[512];
	char *said = NULL;
	size_t length = 0;
	FILE *errors = open_memstream(&said, &length);
	ensure(errors != NULL);
	enum offer_manifest_check answer = offer_manifest_file_check(m->files[at], errors);
	fclose(errors);
	if (answer == OFFER_MANIFEST_RELOADED) {
		snprintf(line, sizeof(line), "%s: read again", path_of(m, at));
		say(context, line);
	} else if (answer == OFFER_MANIFEST_KEPT) {
		first_line(said, line, sizeof(line));
		say(context, line);
	}
	free(said);
}

void manifests_check(
    struct manifests *m, void (*say)(void *context, const char *line), void *context)
{
	for (size_t i = 0; i < m->count; i++)
		check_file(m, i, say, context);
}

struct offer_manifest_resources manifests_find(
    const struct manifests *m, const struct conf_preload *preload, size_t index, struct slice path)
{
	return offer_manifest_find(
	    offer_manifest_file_content(m->files[position(m, preload, index)]), path);
}
