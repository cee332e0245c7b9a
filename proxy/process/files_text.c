/* SPDX-License-Identifier: MIT */
/* The hosts file and resolv.conf: read again when they change, and handed on as they are. */
#include "proxy/limits.h"
#include "proxy/process/files.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

size_t files_texts_configured(const struct conf *conf)
{
	return conf_has_names(conf) ? FILES_TEXTS : 0;
}

void files_texts_open(struct files *f)
{
	const struct conf_server *s = &f->conf->server;
	if (!conf_has_names(f->conf))
		return;
	f->texts[FILES_HOSTS].file.path = s->hosts_file;
	/* The resolvers of the configuration stand in its place. */
	f->texts[FILES_RESOLV_CONF].file.path = s->resolver_count > 0 ? NULL : s->resolv_conf;
}

void files_texts_close(struct files *f)
{
	for (size_t i = 0; i < FILES_TEXTS; i++)
		free(f->texts[i].bytes);
}

static void replace(struct files_text *t, char *bytes, size_t length)
{
	free(t->bytes);
	t->bytes = bytes;
	t->length = length;
}

enum watched_change files_check_text(struct files_text *t, char *line, size_t size)
{
	const char *path = t->file.path;
	size_t length = 0;
	bool is_first = !t->file.is_known;
	if (!watched_file_has_changed(&t->file))
		return WATCHED_SAME;
	char *bytes = watched_file_read(&t->file, LIMIT_NAMES_FILE_BYTES, &length);
	if (!bytes) {
		snprintf(line, size, "%s cannot be read: %s; %s", path, strerror(errno),
		    is_first ? "it counts as empty" : "what was read before stays in use");
		return WATCHED_UNUSABLE;
	}
	bool is_same = length == t->length && (length == 0 || memcmp(bytes, t->bytes, length) == 0);
	replace(t, bytes, length);
	if (length > LIMIT_NAMES_FILE_BYTES)
		snprintf(line, size, "%s: what is behind its first %u bytes is left out", path,
		    LIMIT_NAMES_FILE_BYTES);
	else if (!is_first)
		snprintf(line, size, "%s: read again", path);
	else
		line[0] = '\0';
	return is_same && !is_first ? WATCHED_SAME : WATCHED_READ;
}

void files_check_texts(struct files *f, files_report *report, void *context)
{
	for (size_t i = 0; i < files_texts_configured(f->conf); i++) {
		char what[512] = "", line[600];
		enum watched_change change = files_check_text(&f->texts[i], what, sizeof(what));
		snprintf(line, sizeof(line), "names: %s", what);
		if (change != WATCHED_SAME)
			report(context, f->manifest_count + i, change == WATCHED_READ,
			    what[0] ? line : NULL);
	}
}

/* A memory file without a byte cannot be mapped. */
struct slice files_text(const struct files *f, size_t text)
{
	const struct files_text *t = &f->texts[text];
	size_t most = LIMIT_NAMES_FILE_BYTES + 1;
	return t->length > 0 ? slice_of(t->bytes, t->length < most ? t->length : most)
			     : SLICE("\n");
}
