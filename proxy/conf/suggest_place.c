/* SPDX-License-Identifier: MIT */
/* Suggests what a misspelt reference probably meant: a section by its name, or a file of the same folder. */
#include "proxy/base/suggest.h"
#include "proxy/conf/load.h"
#include <dirent.h>
#include <errno.h>
#include <unistd.h>

/* A folder may have any number of files: only so many are compared. */
enum { FILES_COMPARED = 2000 };

static const char *nearest_section(
    const struct conf_loader *l, enum conf_kind kind, const char *name)
{
	char a[SUGGEST_NAME_BYTES], b[SUGGEST_NAME_BYTES];
	struct suggestion near = suggest_for(suggest_fold(slice_of_string(name), a));

	conf_for_each_section (l, s, kind)
		suggest_compare(&near, suggest_fold(slice_of_string(s->name), b), s->name);
	return near.item;
}

void conf_no_section(
    struct conf_loader *l, const struct conf_section *s, enum conf_kind kind, const char *name)
{
	const char *word = conf_section_types[kind].word;
	const char *near = nearest_section(l, kind, name);

	if (conf_has_misspelt(l, kind))
		return;
	if (near)
		conf_mistake(l, s->file, conf_option_line(s, word),
		    "there is no [%s %s]; did you mean %s = %s?", word, name, word, near);
	else
		conf_mistake(l, s->file, conf_option_line(s, word),
		    "there is no [%s %s]; add the section or name another", word, name);
}

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
