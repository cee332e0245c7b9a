/* SPDX-License-Identifier: MIT */
/* Helpers of all steps of a load: reports, copies, paths, arrays. They know no option and no section. */
#include "proxy/base/hash.h"
#include "proxy/conf/load.h"
#include <stdarg.h>

static void vreport(struct conf_loader *l, const char *file, uint32_t line,
    enum conf_severity severity, const char *format, va_list arguments)
{
	char text[1024];
	struct conf_finding finding = {
	    .severity = severity, .at = {file, line}, .message = text, .section = l->current};

	vsnprintf(text, sizeof text, format, arguments);
	if (l->current && l->option)
		finding.option = l->option->key;
	conf_findings_add(l->findings, &finding, l->first);
}

bool conf_mistake(struct conf_loader *l, const char *file, uint32_t line, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vreport(l, file, line, CONF_ERROR, format, arguments);
	va_end(arguments);
	l->mistakes++;
	return false;
}

void conf_warning(struct conf_loader *l, const char *file, uint32_t line, const char *format, ...)
{
	va_list arguments;
	if (l->is_silent)
		return;
	va_start(arguments, format);
	vreport(l, file, line, CONF_WARNING, format, arguments);
	va_end(arguments);
}

struct slice conf_trim(struct slice s)
{
	while (s.len > 0 && conf_is_space(s.ptr[0]))
		s = slice_from(s, 1);
	while (s.len > 0 && conf_is_space(s.ptr[s.len - 1]))
		s.len--;
	return s;
}

void conf_digest(uint64_t *digest, const char *path, struct slice bytes)
{
	uint64_t named = hash_bytes(*digest, path, strlen(path));
	*digest = hash_bytes(named, bytes.ptr, bytes.len);
}

void conf_note_named_file(struct conf_loader *l, const char *path)
{
	struct conf *c = l->conf;
	conf_append(l, c->named_files, c->named_file_count, (struct watched_file){.path = path});
	(void)watched_file_has_changed(&c->named_files[c->named_file_count - 1]);
}

char *conf_copy(struct conf_loader *l, struct slice s)
{
	char *copy = arena_bytes(&l->conf->arena, s.len + 1);
	if (s.len > 0)
		memcpy(copy, s.ptr, s.len);
	copy[s.len] = '\0';
	return copy;
}

struct slice conf_copy_slice(struct conf_loader *l, struct slice s)
{
	return slice_of(conf_copy(l, s), s.len);
}

const char *conf_written_path(struct conf_loader *l, struct slice s)
{
	const char *slash = strrchr(l->file, '/');
	if ((s.len > 0 && s.ptr[0] == '/') || !slash)
		return conf_copy(l, s);
	struct slice folder = slice_of(l->file, (size_t)(slash - l->file) + 1);
	return arena_printf(&l->conf->arena, "%.*s%.*s", SLICE_ARG(folder), SLICE_ARG(s)).ptr;
}

const char *conf_path(struct conf_loader *l, struct slice s)
{
	const char *path = conf_written_path(l, s);
	if (path[0] == '/' || !l->folder)
		return path;
	const char *folder = strcmp(l->folder, "/") == 0 ? "" : l->folder;
	return arena_printf(&l->conf->arena, "%s/%s", folder, path).ptr;
}

void *conf_grow(struct conf_loader *l, void *items, size_t count, size_t item_bytes)
{
	/*
	 * The capacity is always a power of two: a count that is one means that the array is full.
	 */
	if ((count & (count - 1)) != 0)
		return items;
	void *more = arena_alloc(&l->conf->arena, (count ? 2 * count : 1) * item_bytes);
	if (count > 0)
		memcpy(more, items, count * item_bytes);
	return more;
}
