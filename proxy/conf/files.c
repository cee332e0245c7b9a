/* SPDX-License-Identifier: MIT */
/*
 * Reads the files that options name, together with the configuration, as included files are read; a message about one
 * that is not there names the one that was probably meant. host-file and path-file of [route] and host-file of
 * [access] have a host or path on each line.
 */
#include "proxy/base/suggest.h"
#include "proxy/conf/setters.h"
#include "proxy/limits.h"
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- files that are not there ---- */

/* A folder may have any number of files: only so many are compared. */
enum { FILES_COMPARED = 2000 };

/* Equal but for the ending: "app.crt" and "app.pem". */
static bool is_kin(struct slice a, struct slice b)
{
	size_t dot = slice_find(a, '.');

	return dot > 1 && dot < a.len && dot == slice_find(b, '.') &&
	       slice_equal(slice_sub(a, 0, dot), slice_sub(b, 0, dot));
}

/* Copies the name in the folder that resembles `name` to `best`. False: there is none. */
static bool nearest_file(DIR *folder, struct slice name, char best[SUGGEST_NAME_BYTES + 1])
{
	struct suggestion s = suggest_for(name);
	const struct dirent *entry = NULL;

	best[0] = '\0';
	for (int i = 0; i < FILES_COMPARED && (entry = readdir(folder)); i++) {
		struct slice other = slice_of_string(entry->d_name);
		if (other.ptr[0] == '.' || other.len > SUGGEST_NAME_BYTES)
			continue;
		/* One of the same stem is better than none. */
		if (suggest_compare(&s, other, best) || (!best[0] && is_kin(name, other)))
			memcpy(best, entry->d_name, other.len + 1);
	}
	return best[0] != '\0';
}

/* The folder that the path's file is in, with its '/' at the end. */
static const char *folder_of(struct conf_loader *l, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? conf_copy(l, slice_of(path, (size_t)(slash - path) + 1)) : "./";
}

const char *conf_suggest_file(struct conf_loader *l, const char *path)
{
	char near[SUGGEST_NAME_BYTES + 1];
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	DIR *d = opendir(folder_of(l, path));
	bool is_found = d && nearest_file(d, slice_of_string(name), near);

	if (d)
		closedir(d);
	if (!is_found)
		return NULL;
	return arena_printf(&l->conf->arena, "%.*s%s", (int)(name - path), path, near).ptr;
}

bool conf_no_file(struct conf_loader *l, const char *what, const char *path, const char *right)
{
	int error = errno;
	const char *folder = folder_of(l, path);
	const char *near = error == ENOENT ? conf_suggest_file(l, path) : NULL;

	if (near)
		conf_mistake_here(l, "the %s file '%s' cannot be read: %s; did you mean '%s'?",
		    what, path, strerror(error), near);
	else if (error == ENOENT && access(folder, F_OK) != 0)
		conf_mistake_here(l,
		    "the %s file '%s' cannot be read: there is no folder '%s'; correct the path",
		    what, path, folder);
	else
		conf_mistake_here(l, "the %s file '%s' cannot be read: %s; %s", what, path,
		    strerror(error), right);
	return false;
}

/* ---- lists ---- */

static struct slice next_line(struct slice *rest)
{
	struct slice line = slice_cut(rest, '\n');

	if (line.len > 0 && line.ptr[line.len - 1] == '\r')
		line.len--;
	return slice_trim(slice_sub(line, 0, slice_find(line, '#')));
}

/* One mistake is reported: a list of another kind would be wrong in each line. */
static bool read_lines(
    struct conf_loader *l, const struct conf_list *list, const char *path, struct slice text)
{
	uint32_t number = 0;
	size_t before = *list->count;
	struct slice mark = SLICE("\xef\xbb\xbf"); /* of UTF-8, as some editors write it */

	if (slice_starts_with(text, mark))
		text = slice_from(text, mark.len);

	while (text.len > 0) {
		struct slice line = next_line(&text);
		if (++number > LIMIT_LIST_LINES)
			return conf_mistake(l, path, number,
			    "the file has more than %u lines; divide it among several %s",
			    LIMIT_LIST_LINES, list->owners);
		if (line.len == 0)
			continue;
		const char *right = list->check(line);
		if (right)
			return conf_mistake(l, path, number, "bad %s '%.*s'; %s", list->what,
			    CONF_SHOWN(line), right);
		conf_append(l, *list->items, *list->count, line);
	}
	if (*list->count > before)
		return true;
	/* A route or rule without hosts is for all of them. */
	return conf_mistake_here(l,
	    "the %s file '%s' names none; write a %s on each line, or remove %s", list->key, path,
	    list->what, list->key);
}

static bool read_bytes(
    struct conf_loader *l, const char *what, const char *path, size_t most, struct slice *bytes)
{
	FILE *in = fopen(path, "re");
	char *room = in ? arena_bytes(&l->conf->arena, most + 1) : NULL;
	size_t n = in ? fread(room, 1, most + 1, in) : 0;
	bool is_read = in && !ferror(in);

	if (!is_read)
		conf_no_file(l, what, path, "name a readable file");
	if (in)
		fclose(in);
	*bytes = slice_of(room, n);
	if (is_read)
		conf_digest(&l->conf->lists_digest, path, *bytes);
	return is_read;
}

bool conf_read_bytes(
    struct conf_loader *l, const char *what, const char *path, size_t most, struct slice *bytes)
{
	conf_note_named_file(l, path);
	return read_bytes(l, what, path, most, bytes);
}

/* A pipe would make the load wait for its other end. */
bool conf_read_plain_file(struct conf_loader *l, const char *what, const char *key,
    const char *path, size_t most, struct slice *bytes)
{
	struct stat info;
	conf_note_named_file(l, path);
	bool is_there = stat(path, &info) == 0;

	if (is_there && !S_ISREG(info.st_mode))
		return conf_mistake_here(l, "'%s' for %s is not a file; name a file", path, key);
	/* No bytes before it is read: it may have some all the same (proc(5)). */
	if (is_there && info.st_size > 0 && (uint64_t)info.st_size < most)
		most = (size_t)info.st_size;
	return read_bytes(l, what, path, most, bytes);
}

/* The text stays in the snapshot: the lines are slices of it. */
bool conf_read_list(struct conf_loader *l, const struct conf_list *list, struct slice value)
{
	const char *path = conf_path(l, value);
	struct slice text = {0};

	if (!l->follows_includes)
		return true;
	if (!conf_read_plain_file(l, list->key, list->key, path, LIMIT_LIST_BYTES, &text))
		return false;
	if (list->digest)
		conf_digest(list->digest, path, text);
	if (text.len <= LIMIT_LIST_BYTES)
		return read_lines(l, list, path, text);
	return conf_mistake_here(l,
	    "the %s file '%s' is larger than %u bytes; divide it among several %s", list->key, path,
	    LIMIT_LIST_BYTES, list->owners);
}
