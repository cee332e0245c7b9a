/* SPDX-License-Identifier: MIT */
/* The hosts file and resolv.conf: read again when they change, and handed on as they are. */
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/process/files.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

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

static bool is_seen(const struct files_text *t, const struct stat *s)
{
	return t->is_known && t->seen.st_dev == s->st_dev && t->seen.st_ino == s->st_ino &&
	       t->seen.st_size == s->st_size && t->seen.st_mtim.tv_sec == s->st_mtim.tv_sec &&
	       t->seen.st_mtim.tv_nsec == s->st_mtim.tv_nsec;
}

/* One byte more than is used says that there is more. NULL with errno. */
static char *read_text(const char *path, size_t *length)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	char *bytes = memory_alloc(LIMIT_NAMES_FILE_BYTES + 1);
	ssize_t n = 1;
	for (*length = 0; n > 0 && *length <= LIMIT_NAMES_FILE_BYTES; *length += (size_t)n) {
		n = read(fd, bytes + *length, LIMIT_NAMES_FILE_BYTES + 1 - *length);
		if (n < 0)
			break;
	}
	int error = errno;
	close(fd);
	errno = error;
	if (n >= 0)
		return bytes;
	free(bytes);
	return NULL;
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
	if (is_seen(t, &now))
		return FILES_TEXT_SAME;
	bool is_first = !t->is_known;
	t->is_known = true;
	t->seen = now;
	char *bytes = is_there ? read_text(t->path, &length) : NULL;
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
