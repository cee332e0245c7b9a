/* SPDX-License-Identifier: MIT */
/*
 * A manifest's file, read again when it changes. A file that is half written, bad or gone does not replace
 * the manifest in use; the mistake is reported once for each change of the file.
 */
#include "proxy/base/memory.h"
#include "proxy/base/watched_file.h"
#include "proxy/offer/json.h"
#include "proxy/offer/manifest_flat.h"

struct offer_manifest_file {
	struct watched_file file;
	struct offer_manifest *manifest;
};

struct offer_manifest *offer_manifest_read(const char *path, FILE *errors)
{
	char *text;
	size_t length;
	if (!offer_json_read(path, OFFER_MANIFEST_BYTES, &text, &length, errors))
		return NULL;
	struct offer_manifest *m = offer_manifest_parse(slice_of(text, length), path, errors);
	free(text);
	return m;
}

struct offer_manifest_file *offer_manifest_file_resume(
    const char *path, struct offer_manifest *last)
{
	struct offer_manifest_file *f = memory_new(struct offer_manifest_file);
	f->file.path = path;
	f->manifest = last ? last : manifest_make(NULL, 0, false);
	return f;
}

struct offer_manifest_file *offer_manifest_file_open(const char *path, bool *is_good, FILE *errors)
{
	/* Before the file is read: a version that comes meanwhile is read at the next check. */
	struct watched_file file = {.path = path};
	watched_file_has_changed(&file);
	struct offer_manifest *m = offer_manifest_read(path, errors);
	struct offer_manifest_file *f = offer_manifest_file_resume(path, m);
	f->file = file;
	*is_good = m != NULL;
	return f;
}

void offer_manifest_file_close(struct offer_manifest_file *f)
{
	if (!f)
		return;
	offer_manifest_free(f->manifest);
	free(f);
}

const struct offer_manifest *offer_manifest_file_content(const struct offer_manifest_file *f)
{
	return f->manifest;
}

enum watched_change offer_manifest_file_check(struct offer_manifest_file *f, FILE *errors)
{
	if (!watched_file_has_changed(&f->file))
		return WATCHED_SAME;
	struct offer_manifest *m = offer_manifest_read(f->file.path, errors);
	if (!m) {
		fprintf(errors, "%s: what was read before stays in use\n", f->file.path);
		return WATCHED_UNUSABLE;
	}
	offer_manifest_free(f->manifest);
	f->manifest = m;
	return WATCHED_READ;
}
