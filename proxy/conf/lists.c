/* SPDX-License-Identifier: MIT */
/*
 * host-file and path-file of [route], host-file of [access]: a host or path on each line. They are read with the
 * configuration, as included files are.
 */
#include "proxy/conf/setters.h"
#include "proxy/limits.h"
#include <inttypes.h>
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
		if (++number > LIMIT_LIST_LINES) {
			conf_mistake(l, path, number,
			    "the file has more than %u lines; divide it among several %s",
			    LIMIT_LIST_LINES, list->owners);
			return false;
		}
		if (line.len == 0)
			continue;
		const char *right = list->check(line);
		if (right) {
			conf_mistake(l, path, number, "bad %s '%.*s'; %s", list->what,
			    SLICE_ARG(slice_sub(line, 0, 80)), right);
			return false;
		}
		conf_append(l, *list->items, *list->count, line);
	}
	if (*list->count > before)
		return true;
	/* A route or rule without hosts is for all of them. */
	conf_mistake_here(l, "the %s file '%s' names none; write a %s on each line, or remove %s",
	    list->key, path, list->what, list->key);
	return false;
}

/* The text stays in the snapshot: the lines are slices of it. */
static bool read_text(
    struct conf_loader *l, const struct conf_list *list, const char *path, struct slice *text)
{
	struct stat info;
	FILE *in = fopen(path, "re");

	if (!in)
		return conf_no_file(l, list->key, path, "name a readable file");
	bool is_file = fstat(fileno(in), &info) == 0 && S_ISREG(info.st_mode);
	size_t most = is_file && info.st_size < LIMIT_LIST_BYTES ? (size_t)info.st_size + 1
								 : LIMIT_LIST_BYTES + 1;
	char *bytes = is_file ? arena_bytes(&l->conf->arena, most) : NULL;
	size_t n = is_file ? fread(bytes, 1, most, in) : 0;
	fclose(in);
	if (!is_file)
		conf_mistake_here(l, "'%s' for %s is not a file; name a file", path, list->key);
	else if (n > LIMIT_LIST_BYTES)
		conf_mistake_here(l,
		    "the %s file '%s' is larger than %u bytes; divide it among several %s",
		    list->key, path, LIMIT_LIST_BYTES, list->owners);
	*text = slice_of(bytes, n);
	return is_file && n <= LIMIT_LIST_BYTES;
}

bool conf_read_list(struct conf_loader *l, const struct conf_list *list, struct slice value)
{
	const char *path = conf_path(l, value);
	struct slice text = {0};

	if (!l->follows_includes)
		return true;
	return read_text(l, list, path, &text) && read_lines(l, list, path, text);
}

bool conf_set_host_file(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_route *route = object;
	const struct conf_list list = {&route->hosts, &route->host_count, conf_check_route_host,
	    "host", "host-file", "routes"};

	return conf_read_list(l, &list, value);
}

bool conf_set_path_file(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_route *route = object;
	const struct conf_list list = {&route->paths, &route->path_count, conf_check_route_path,
	    "path", "path-file", "routes"};

	return conf_read_list(l, &list, value);
}
