/* SPDX-License-Identifier: MIT */
/*
 * Reads the files that options name, together with the configuration, as included files are read. host-file and
 * path-file of [route] and host-file of [access] have a host or path on each line.
 */
#include "proxy/conf/setters.h"
#include "proxy/limits.h"
#include <sys/stat.h>

static struct slice next_line(struct slice *rest)
{
	size_t end = slice_find(*rest, '\n');
	struct slice line = slice_sub(*rest, 0, end);

	*rest = slice_from(*rest, end + 1);
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
			    SLICE_ARG(slice_sub(line, 0, 80)), right);
		conf_append(l, *list->items, *list->count, line);
	}
	if (*list->count > before)
		return true;
	/* A route or rule without hosts is for all of them. */
	return conf_mistake_here(l,
	    "the %s file '%s' names none; write a %s on each line, or remove %s", list->key, path,
	    list->what, list->key);
}

bool conf_read_bytes(
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
	return is_read;
}

/* A pipe would make the load wait for its other end. */
bool conf_read_plain_file(struct conf_loader *l, const char *what, const char *key,
    const char *path, size_t most, struct slice *bytes)
{
	struct stat info;
	bool is_there = stat(path, &info) == 0;

	if (is_there && !S_ISREG(info.st_mode))
		return conf_mistake_here(l, "'%s' for %s is not a file; name a file", path, key);
	/* No bytes before it is read: it may have some all the same (proc(5)). */
	if (is_there && info.st_size > 0 && (uint64_t)info.st_size < most)
		most = (size_t)info.st_size;
	return conf_read_bytes(l, what, path, most, bytes);
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
	if (text.len <= LIMIT_LIST_BYTES)
		return read_lines(l, list, path, text);
	return conf_mistake_here(l,
	    "the %s file '%s' is larger than %u bytes; divide it among several %s", list->key, path,
	    LIMIT_LIST_BYTES, list->owners);
}
