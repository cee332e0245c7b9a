/* SPDX-License-Identifier: MIT */
/* See files_memory.h. Waits for the disk. */
#include "proxy/process/files_memory.h"

#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/base/sealed.h"
#include "proxy/base/watched_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(
    REMEMBERED_LINES == OBSERVE_REMEMBERED_PAGES && REMEMBERED_LINE <= OBSERVE_REMEMBERED_TEXT,
    "each line has a row");

struct remembered_options files_memory_options(const struct conf *conf)
{
	const struct conf_remembered *c = &conf->server.remembered;
	return (struct remembered_options){
	    .clients = c->clients, .ignored = c->ignored, .ignored_count = c->ignored_count};
}

/* ---- reading ---- */

static uint64_t wall_sec(void)
{
	return clock_wall() / USEC_PER_SEC;
}

static bool read_text(struct remembered *m, struct slice text, const char *name, usec now,
    char *error, size_t error_size)
{
	uint32_t line;
	const char *mistake = remembered_read(m, text, wall_sec(), now, &line);
	if (mistake)
		snprintf(
		    error, error_size, "%s:%u: %s; the memory begins empty", name, line, mistake);
	return !mistake;
}

bool files_memory_read(
    struct remembered *m, const char *path, usec now, char *error, size_t error_size)
{
	const struct watched_file file = {.path = path};
	struct stat st = {0};
	size_t length;
	(void)stat(path, &st);
	size_t most =
	    st.st_size < REMEMBERED_FILE_BYTES ? (size_t)st.st_size : REMEMBERED_FILE_BYTES;
	char *bytes = watched_file_read(&file, most, &length);
	if (!bytes && errno == ENOENT)
		return true;
	if (!bytes || length > most) {
		snprintf(error, error_size, "%s: cannot be read: %s; the memory begins empty", path,
		    bytes ? "it is too long" : strerror(errno));
		free(bytes);
		return false;
	}
	bool is_good = read_text(m, slice_of(bytes, length), path, now, error, error_size);
	free(bytes);
	return is_good;
}

bool files_memory_map(struct remembered *m, int fd, usec now, char *error, size_t error_size)
{
	size_t length;
	void *bytes = sealed_map(fd, REMEMBERED_FILE_BYTES, &length);
	if (!bytes) {
		snprintf(error, error_size, "the copy is no sealed memory file");
		return false;
	}
	bool is_good = read_text(m, slice_of(bytes, length), "copy", now, error, error_size);
	sealed_unmap(bytes, length);
	return is_good;
}

/* ---- writing ---- */

static bool write_all(struct remembered *m, uint32_t round, int fd, usec now)
{
	char *line = memory_alloc(REMEMBERED_PAGE_BYTES);
	size_t length = remembered_write_begin(line, REMEMBERED_PAGE_BYTES, wall_sec());
	bool is_good = true;
	for (; is_good && length > 0; length = remembered_write_page(m, round, line, now))
		is_good = descriptor_write_all(fd, slice_of(line, length));
	free(line);
	return is_good;
}

int files_memory_copy(struct remembered *m, uint32_t round, usec now)
{
	int fd = sealed_begin();
	if (fd >= 0 && (!write_all(m, round, fd, now) || !sealed_end(fd)))
		descriptor_close(&fd);
	return fd;
}

/* A file in the same folder, which rename(2) needs. What a process that was killed has left there is replaced: one
 * process saves at a time. */
static bool replace(const char *path, const char *aside, struct slice bytes)
{
	unlink(aside);
	int fd = open(aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return false;
	bool is_written = descriptor_write_all(fd, bytes) && fsync(fd) == 0;
	int error = errno;
	close(fd);
	if (is_written && rename(aside, path) == 0)
		return true;
	if (is_written)
		error = errno;
	unlink(aside);
	errno = error;
	return false;
}

bool files_memory_save(const char *path, int copy, char *error, size_t error_size)
{
	size_t length;
	void *bytes = sealed_map(copy, REMEMBERED_FILE_BYTES, &length);
	char *aside = memory_alloc(strlen(path) + sizeof(".new"));
	sprintf(aside, "%s.new", path);
	bool is_saved = bytes && replace(path, aside, slice_of(bytes, length));
	if (!is_saved)
		snprintf(error, error_size, "%s: cannot be written: %s", path, strerror(errno));
	if (bytes)
		sealed_unmap(bytes, length);
	free(aside);
	return is_saved;
}

/* ---- copies ---- */

int files_memory_changes(struct remembered *m, uint64_t *since, usec now)
{
	char *lines = memory_alloc(FILES_CHANGES_BYTES + REMEMBERED_PAGE_BYTES);
	size_t length = 0, more;
	do {
		more = remembered_write_since(m, since, lines + length, now);
		length += more;
	} while (more > 0 && length < FILES_CHANGES_BYTES);
	errno = 0;
	int fd = length > 0 ? sealed_make(slice_of(lines, length)) : -1;
	free(lines);
	return fd;
}

bool files_memory_follow(struct remembered *copy, int fd, usec now)
{
	size_t length;
	void *bytes = sealed_map(fd, FILES_CHANGES_BYTES + REMEMBERED_PAGE_BYTES, &length);
	struct slice text = slice_of(bytes, bytes ? length : 0);
	bool is_good = bytes != NULL;
	while (is_good && text.len > 0)
		is_good = !remembered_replace_page(copy, slice_cut(&text, '\n'), 0, now);
	if (bytes)
		sealed_unmap(bytes, length);
	return is_good;
}

void files_memory_show(const struct remembered *m, struct observe_remembered *rows, usec now)
{
	char lines[REMEMBERED_LINES][REMEMBERED_LINE];
	size_t count = remembered_lines(m, lines, now);
	for (size_t i = 0; i < REMEMBERED_LINES; i++)
		observe_remembered_write(&rows[i], i < count ? lines[i] : "");
}
