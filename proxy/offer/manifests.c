/* SPDX-License-Identifier: MIT */
/* The contents of all configured manifests, in the order of the sections that name them. */
#include "proxy/offer/manifest.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdlib.h>

struct manifests {
	const struct conf *conf;
	size_t count;
	struct offer_manifest *contents[]; /* of all sections in turn; NULL: nothing is known */
};

size_t manifests_configured(const struct conf *conf)
{
	size_t count = 0;
	for (size_t i = 0; i < conf->preload_count; i++)
		count += conf->preloads[i].manifest_count;
	return count;
}

const char *manifests_path(const struct conf *conf, size_t at)
{
	const struct conf_preload *p = conf->preloads;
	for (; at >= p->manifest_count; p++)
		at -= p->manifest_count;
	return p->manifests[at];
}

static size_t position(const struct manifests *m, const struct conf_preload *preload, size_t index)
{
	size_t at = index;
	for (const struct conf_preload *p = m->conf->preloads; p != preload; p++)
		at += p->manifest_count;
	ensure(at < m->count);
	return at;
}

struct manifests *manifests_new(const struct conf *conf)
{
	size_t count = manifests_configured(conf);
	struct manifests *m = memory_zalloc(sizeof(*m) + count * sizeof(m->contents[0]));
	m->conf = conf;
	m->count = count;
	return m;
}

/* Copies the first line of the messages about a file, without its newline. */
static void first_line(const char *text, char *line, size_t size)
{
	snprintf(line, size, "%.*s", (int)strcspn(text, "\n"), text);
}

struct manifests *manifests_open(const struct conf *conf, char *error, size_t error_size)
{
	struct manifests *m = manifests_new(conf);
	char *said = NULL;
	size_t length = 0;
	FILE *errors = open_memstream(&said, &length);
	ensure(errors != NULL);
	bool is_good = true;
	for (size_t i = 0; is_good && i < m->count; i++)
		is_good = (m->contents[i] = offer_manifest_read(manifests_path(conf, i), errors));
	fclose(errors);
	if (!is_good) {
		first_line(said, error, error_size);
		manifests_close(m);
		m = NULL;
	}
	free(said);
	return m;
}

void manifests_close(struct manifests *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->count; i++)
		offer_manifest_free(m->contents[i]);
	free(m);
}

void manifests_set(struct manifests *m, size_t at, struct offer_manifest *content)
{
	ensure(at < m->count);
	offer_manifest_free(m->contents[at]);
	m->contents[at] = content;
}

struct offer_manifest_resources manifests_find(
    const struct manifests *m, const struct conf_preload *preload, size_t index, struct slice path)
{
	const struct offer_manifest *content = m->contents[position(m, preload, index)];
	return content ? offer_manifest_find(content, path) : (struct offer_manifest_resources){0};
}
