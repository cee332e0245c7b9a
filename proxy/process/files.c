/* SPDX-License-Identifier: MIT */
/* Reads and writes the files that may change while pushgate runs. Waits for the disk. */
#include "proxy/process/files.h"
#include "proxy/base/descriptor.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/offer/offer.h"
#include <stdlib.h>

/* A learned table that has room for all of a worker's. */
static const struct offer_learned_options whole_table = {
    .pages = 1200, .bytes = 2 * (size_t)FILES_LEARNED_BYTES};

bool files_are_needed(const struct conf *conf)
{
	return conf->server.learned_file || manifests_configured(conf) > 0 ||
	       conf_has_names(conf) || conf_remembers(conf);
}

size_t files_memory_object(const struct conf *conf)
{
	return manifests_configured(conf) + 1 + files_texts_configured(conf);
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

/* ---- manifests ---- */

static void begin(struct files *f, const struct conf *conf)
{
	*f = (struct files){.conf = conf, .manifest_count = manifests_configured(conf)};
	f->manifests = memory_zalloc((f->manifest_count + 1) * sizeof(*f->manifests));
	files_texts_open(f);
}

/* Copies the error of a manifest that has no earlier content. */
static void close_first(struct errors *e, char *line, size_t size)
{
	char what[512];
	errors_close(e, what, sizeof(what));
	snprintf(line, size, "%s; it is empty until the file is good", what);
}

bool files_try_manifest(const struct conf *conf, size_t at, char *line, size_t size)
{
	struct errors e;
	errors_open(&e);
	struct offer_manifest *m = offer_manifest_read(manifests_path(conf, at), e.stream);
	close_first(&e, line, size);
	offer_manifest_free(m);
	return m != NULL;
}

static void report_manifest(
    files_report *report, void *context, size_t at, bool is_changed, const char *what)
{
	char line[700];
	snprintf(line, sizeof(line), "manifest %s", what);
	report(context, at, is_changed, line);
}

void files_open(struct files *f, const struct conf *conf, files_report *report, void *context)
{
	begin(f, conf);
	for (size_t i = 0; i < f->manifest_count; i++) {
		char line[600];
		bool is_good;
		struct errors e;
		errors_open(&e);
		f->manifests[i] =
		    offer_manifest_file_open(manifests_path(conf, i), &is_good, e.stream);
		close_first(&e, line, sizeof(line));
		if (!is_good)
			report_manifest(report, context, i, false, line);
	}
	files_check_texts(f, report, context);
}

struct offer_manifest *files_map_manifest(int fd)
{
	size_t length;
	void *bytes = fd < 0 ? NULL : sealed_map(fd, OFFER_MANIFEST_FLAT_BYTES, &length);
	return bytes ? offer_manifest_of_flat(bytes, length, sealed_unmap) : NULL;
}

void files_resume(struct files *f, const struct conf *conf, const struct files_contents *contents)
{
	begin(f, conf);
	for (size_t i = 0; i < f->manifest_count; i++)
		f->manifests[i] = offer_manifest_file_resume(
		    manifests_path(conf, i), files_map_manifest(contents ? contents->fds[i] : -1));
}

void files_close(struct files *f)
{
	for (size_t i = 0; i < f->manifest_count; i++)
		offer_manifest_file_close(f->manifests[i]);
	files_texts_close(f);
	free(f->manifests);
	free(f->pages);
}

struct slice files_content(const struct files *f, size_t object)
{
	return object < f->manifest_count
		   ? offer_manifest_flat(offer_manifest_file_content(f->manifests[object]))
		   : files_text(f, object - f->manifest_count - 1);
}

void files_check(struct files *f, files_report *report, void *context)
{
	for (size_t i = 0; i < f->manifest_count; i++) {
		char line[512];
		struct errors e;
		errors_open(&e);
		enum watched_change answer = offer_manifest_file_check(f->manifests[i], e.stream);
		errors_close(&e, line, sizeof(line));
		if (answer == WATCHED_READ)
			snprintf(line, sizeof(line), "%s: read again", manifests_path(f->conf, i));
		if (answer != WATCHED_SAME)
			report_manifest(report, context, i, answer == WATCHED_READ, line);
	}
	files_check_texts(f, report, context);
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
	char what[512];
	errors_close(&e, what, sizeof(what));
	snprintf(error, error_size, "%s; the table begins empty and replaces the file", what);
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

/* ---- contents ---- */

void files_contents_init(struct files_contents *c, const struct conf *conf)
{
	c->count = files_memory_object(conf) + 1;
	c->fds = memory_alloc(c->count * sizeof(*c->fds));
	for (size_t i = 0; i < c->count; i++)
		c->fds[i] = -1;
}

void files_contents_set(struct files_contents *c, size_t object, int fd)
{
	if (object >= c->count) {
		descriptor_close(&fd);
		return;
	}
	descriptor_close(&c->fds[object]);
	c->fds[object] = fd;
}

void files_contents_fini(struct files_contents *c)
{
	for (size_t i = 0; i < c->count; i++)
		descriptor_close(&c->fds[i]);
	free(c->fds);
	*c = (struct files_contents){0};
}
