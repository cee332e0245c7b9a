/* SPDX-License-Identifier: MIT */
/* Reads and writes the files that may change while pushgate runs. Waits for the disk. */
#include "proxy/process/files.h"
#include "proxy/base/descriptor.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/offer/offer.h"
#include <stdlib.h>

bool files_are_needed(const struct conf *conf)
{
	return manifests_configured(conf) > 0 || conf_has_names(conf) || conf_remembers(conf);
}

size_t files_memory_object(const struct conf *conf)
{
	return manifests_configured(conf) + files_texts_configured(conf);
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
}

struct slice files_content(const struct files *f, size_t object)
{
	return object < f->manifest_count
		   ? offer_manifest_flat(offer_manifest_file_content(f->manifests[object]))
		   : files_text(f, object - f->manifest_count);
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
