/* SPDX-License-Identifier: MIT */
/* Reads and writes the files that may change while pushgate runs. Waits for the disk. */
#include "proxy/process/files.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/offer/offer.h"
#include <errno.h>
#include <libgen.h>
#include <unistd.h>

/* A learned table that has room for all of a worker's. */
static const struct offer_learned_options whole_table = {
    .pages = 1200, .bytes = 2 * (size_t)FILES_LEARNED_BYTES};

bool files_are_needed(const struct conf *conf)
{
	return conf->server.learned_file || manifests_configured(conf) > 0;
}

/* ---- messages about files ---- */

struct errors {
	FILE *stream;
	char *text;
	size_t length;
};

static void errors_open(struct errors *e)
{
	*e = (struct errors){0};
	e->stream = open_memstream(&e->text, &e->length);
	ensure(e->stream != NULL);
}

/* Copies the first line without its newline. */
static void errors_close(struct errors *e, char *line, size_t size)
{
	fclose(e->stream);
	snprintf(line, size, "%.*s", (int)strcspn(e->text, "\n"), e->text);
	free(e->text);
}

/* ---- may this user use them? ---- */

/* Fail at the start rather than at the first change of a manifest. */
static bool can_read_manifests(const struct conf *conf, char *error, size_t error_size)
{
	for (size_t i = 0; i < manifests_configured(conf); i++) {
		const char *file = manifests_path(conf, i);
		if (access(file, R_OK) == 0)
			continue;
		snprintf(error, error_size,
		    "the manifest %s is read again when it changes, but the workers' user cannot "
		    "read it: %s",
		    file, strerror(errno));
		return false;
	}
	return true;
}

bool files_can_use(const struct conf *conf, char *error, size_t error_size)
{
	if (!can_read_manifests(conf, error, error_size))
		return false;
	const char *file = conf->server.learned_file;
	char *copy = file ? memory_strdup(file) : NULL;
	bool can = !file || access(dirname(copy), W_OK | X_OK) == 0;
	if (!can)
		snprintf(error, error_size,
		    "the workers' user cannot write the learned-file %s: its folder is not "
		    "writable: %s",
		    file, strerror(errno));
	free(copy);
	return can;
}

/* ---- manifests ---- */

static void begin(struct files *f, const struct conf *conf)
{
	*f = (struct files){.conf = conf, .manifest_count = manifests_configured(conf)};
	f->manifests = memory_zalloc((f->manifest_count + 1) * sizeof(*f->manifests));
}

bool files_open(struct files *f, const struct conf *conf, char *error, size_t error_size)
{
	struct errors e;
	bool is_good = true;
	begin(f, conf);
	errors_open(&e);
	for (size_t i = 0; is_good && i < f->manifest_count; i++) {
		f->manifests[i] = offer_manifest_file_open(manifests_path(conf, i), e.stream);
		is_good = f->manifests[i] != NULL;
	}
	errors_close(&e, error, error_size);
	return is_good;
}

static struct offer_manifest *map_manifest(int fd)
{
	size_t length;
	void *bytes = fd < 0 ? NULL : files_map(fd, OFFER_MANIFEST_FLAT_BYTES, &length);
	return bytes ? offer_manifest_of_flat(bytes, length, files_unmap) : NULL;
}

void files_resume(struct files *f, const struct conf *conf, const struct files_contents *contents)
{
	begin(f, conf);
	for (size_t i = 0; i < f->manifest_count; i++)
		f->manifests[i] = offer_manifest_file_resume(
		    manifests_path(conf, i), map_manifest(contents->fds[i]));
}

void files_close(struct files *f)
{
	for (size_t i = 0; i < f->manifest_count; i++)
		offer_manifest_file_close(f->manifests[i]);
	free(f->manifests);
	free(f->pages);
}

struct slice files_manifest(const struct files *f, size_t at)
{
	return offer_manifest_flat(offer_manifest_file_content(f->manifests[at]));
}

void files_check(struct files *f, files_report *report, void *context)
{
	for (size_t i = 0; i < f->manifest_count; i++) {
		char line[512];
		struct errors e;
		errors_open(&e);
		enum offer_manifest_check answer =
		    offer_manifest_file_check(f->manifests[i], e.stream);
		errors_close(&e, line, sizeof(line));
		if (answer == OFFER_MANIFEST_RELOADED)
			snprintf(line, sizeof(line), "%s: read again", manifests_path(f->conf, i));
		if (answer != OFFER_MANIFEST_UNCHANGED)
			report(context, i, answer == OFFER_MANIFEST_RELOADED, line);
	}
}

/* ---- the learned table ---- */

void files_forget_pages(struct files *f)
{
	free(f->pages);
	f->pages = NULL;
	f->length = f->capacity = 0;
	f->is_too_long = false;
}

void files_add_page(struct files *f, struct slice page)
{
	if (f->is_too_long || page.len > FILES_LEARNED_BYTES - f->length) {
		f->is_too_long = true;
		return;
	}
	if (page.len > f->capacity - f->length) {
		f->capacity = 2 * f->capacity + OFFER_LEARNED_PAGE_BYTES;
		f->pages = memory_resize(f->pages, f->capacity, 1);
	}
	memcpy(f->pages + f->length, page.ptr, page.len);
	f->length += page.len;
}

bool files_read_learned(struct files *f, usec now, char *error, size_t error_size)
{
	struct errors e;
	uint8_t page[OFFER_LEARNED_PAGE_BYTES];
	files_forget_pages(f);
	errors_open(&e);
	struct offer_learned *t = offer_learned_new(&whole_table, 0, NULL);
	bool is_good = offer_learned_load(t, f->conf->server.learned_file, now, e.stream);
	for (size_t n; is_good && (n = offer_learned_export(t, 1, page, now)) > 0;)
		files_add_page(f, slice_of(page, n));
	offer_learned_free(t);
	errors_close(&e, error, error_size);
	return is_good;
}

static bool save(struct files *f, usec now, FILE *errors)
{
	const char *path = f->conf->server.learned_file;
	if (!path || f->is_too_long) {
		fprintf(errors, "%s: not written: the table has more than %d bytes\n",
		    path ? path : "no learned-file", FILES_LEARNED_BYTES);
		return false;
	}
	/* By way of a table of its own: the pages are checked like those of a file. */
	struct offer_learned *t = offer_learned_new(&whole_table, 0, NULL);
	const char *mistake = offer_learned_import(t, slice_of(f->pages, f->length), now);
	if (mistake)
		fprintf(errors, "%s: not written: %s\n", path, mistake);
	bool is_saved = !mistake && offer_learned_save(t, path, now, errors);
	offer_learned_free(t);
	return is_saved;
}

bool files_save_learned(struct files *f, usec now, char *error, size_t error_size)
{
	struct errors e;
	errors_open(&e);
	bool is_saved = save(f, now, e.stream);
	errors_close(&e, error, error_size);
	if (!is_saved)
		files_forget_pages(f);
	return is_saved;
}
