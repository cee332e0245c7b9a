/* SPDX-License-Identifier: MIT */
/* The hosts file and resolv.conf: read again when they change, and handed on as they are. */
#include "proxy/limits.h"
#include "proxy/process/files.h"
#include "proxy/process/helper.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool files_need_names(const struct conf *conf)
{
	return conf_has_names(conf);
}

size_t files_texts_configured(const struct conf *conf)
{
	return files_need_names(conf) ? FILES_TEXTS : 0;
}

void files_texts_open(struct files *f)
{
	const struct conf_server *s = &f->conf->server;
	if (!files_need_names(f->conf))
		return;
	f->texts[FILES_HOSTS].path = s->hosts_file;
	/* The resolvers of the configuration stand in its place. */
	f->texts[FILES_RESOLV_CONF].path = s->resolver_count > 0 ? NULL : s->resolv_conf;
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

enum files_text_change files_check_text(struct files_text *t, char *line, size_t size)
{
	struct stat now = {0};
	size_t length = 0;
	if (!t->path)
		return FILES_TEXT_SAME;
	bool is_there = stat(t->path, &now) == 0;
	int error = errno;
	if (!is_there)
		now = (struct stat){0};
	if (t->is_known && helper_is_same_file(&t->seen, &now))
		return FILES_TEXT_SAME;
	bool is_first = !t->is_known;
	t->is_known = true;
	t->seen = now;
	char *bytes = is_there ? helper_read_file(t->path, LIMIT_NAMES_FILE_BYTES, &length) : NULL;
	if (!bytes) {
		snprintf(line, size, "%s cannot be read: %s; %s", t->path,
		    strerror(is_there ? errno : error),
		    is_first ? "it counts as empty" : "what was read before stays in use");
		return FILES_TEXT_UNUSABLE;
	}
	bool is_same = length == t->length && (length == 0 || memcmp(bytes, t->bytes, length) == 0);
	replace(t, bytes, length);
	if (length > LIMIT_NAMES_FILE_BYTES)
		snprintf(line, size, "%s: what is behind its first %u bytes is left out", t->path,
		    LIMIT_NAMES_FILE_BYTES);
	else if (!is_first)
		snprintf(line, size, "%s: read again", t->path);
	else
		line[0] = '\0';
	return is_same && !is_first ? FILES_TEXT_SAME : FILES_TEXT_READ;
}

/* A memory file without a byte cannot be mapped. */
struct slice files_text(const struct files *f, size_t text)
{
	const struct files_text *t = &f->texts[text];
	size_t most = LIMIT_NAMES_FILE_BYTES + 1;
	return t->length > 0 ? slice_of(t->bytes, t->length < most ? t->length : most)
			     : SLICE("\n");
}
