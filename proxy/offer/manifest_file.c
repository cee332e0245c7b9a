/* SPDX-License-Identifier: MIT */
/*
 * A manifest's file, read again when it changes. A file that is half written, bad or gone does not replace
 * the manifest in use; the mistake is reported once for each change of the file.
 */
#include "proxy/base/memory.h"
#include "proxy/offer/json.h"
#include "proxy/offer/manifest_flat.h"

/* Differs between two versions of the file; all zeros = there is no file. */
struct identity {
	dev_t device;
	ino_t inode;
	off_t bytes;
	struct timespec modified;
};

struct offer_manifest_file {
	char *path;
	struct offer_manifest *manifest;
	struct identity seen; /* the version that was read last, good or bad */
};

static struct identity identity_of(const struct stat *s)
{
	return (struct identity){s->st_dev, s->st_ino, s->st_size, s->st_mtim};
}

static bool is_same(struct identity a, struct identity b)
{
	return a.device == b.device && a.inode == b.inode && a.bytes == b.bytes &&
	       a.modified.tv_sec == b.modified.tv_sec && a.modified.tv_nsec == b.modified.tv_nsec;
}

static struct offer_manifest *read_manifest(
    const char *path, struct identity *identity, FILE *errors)
{
	char *text;
	size_t length;
	struct stat status;
	struct offer_manifest *m = NULL;
	bool is_read = offer_json_read(path, OFFER_MANIFEST_BYTES, &text, &length, &status, errors);
	*identity = identity_of(&status);
	if (is_read) {
		m = offer_manifest_parse(slice_of(text, length), path, errors);
		free(text);
	}
	return m;
}

struct offer_manifest *offer_manifest_read(const char *path, FILE *errors)
{
	struct identity identity;
	return read_manifest(path, &identity, errors);
}

struct offer_manifest_file *offer_manifest_file_open(const char *path, bool *is_good, FILE *errors)
{
	struct offer_manifest_file *f = memory_new(struct offer_manifest_file);
	f->path = memory_strdup(path);
	f->manifest = read_manifest(f->path, &f->seen, errors);
	*is_good = f->manifest != NULL;
	if (!f->manifest)
		f->manifest = manifest_make(NULL, 0, false);
	return f;
}

struct offer_manifest_file *offer_manifest_file_resume(
    const char *path, struct offer_manifest *last)
{
	struct offer_manifest_file *f = memory_new(struct offer_manifest_file);
	f->path = memory_strdup(path);
	f->manifest = last ? last : manifest_make(NULL, 0, false);
	/* No file has this size: the first check reads it, or says that there is none. */
	f->seen = (struct identity){.bytes = -1};
	return f;
}

void offer_manifest_file_close(struct offer_manifest_file *f)
{
	if (!f)
		return;
	offer_manifest_free(f->manifest);
	free(f->path);
	free(f);
}

const struct offer_manifest *offer_manifest_file_content(const struct offer_manifest_file *f)
{
	return f->manifest;
}

enum offer_manifest_check offer_manifest_file_check(struct offer_manifest_file *f, FILE *errors)
{
	struct stat status;
	if (stat(f->path, &status) != 0)
		status = (struct stat){0};
	if (is_same(identity_of(&status), f->seen))
		return OFFER_MANIFEST_UNCHANGED;
	struct offer_manifest *m = read_manifest(f->path, &f->seen, errors);
	if (!m) {
		fprintf(errors, "%s: what was read before stays in use\n", f->path);
		return OFFER_MANIFEST_KEPT;
	}
	offer_manifest_free(f->manifest);
	f->manifest = m;
	return OFFER_MANIFEST_RELOADED;
}
