/* SPDX-License-Identifier: MIT */
/*
 * See log_lines.h. A push names its parent by worker and id; after a restart a worker uses the same
 * ids again.
 */
#include "proxy/tool/log_lines.h"

#include "proxy/base/memory.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define LINES_MAX 4000000u

/* The fields that matter if there are several listeners; that every log has which has any lines; any lines
 * of pushes; any that a rule decided. */
enum { OF_LISTENERS = 0, OF_ALL = 1, OF_PUSHES = 8, OF_RULES = 13 };
static const char *const needed[] = {"listen", "worker", "id", "client", "method", "scheme",
    "authority", "path", "push", "parent", "source", "verdict", "reason", "rule"};
#define NEEDED (sizeof(needed) / sizeof(needed[0]))
#define A_RULE_DECIDED (1u << NEEDED)

static void note_fields(struct log_lines *l, const json_t *json)
{
	for (size_t i = 0; i < NEEDED; i++)
		if (json_object_get(json, needed[i]))
			l->fields_seen |= 1u << i;
	const char *reason = json_string_value(json_object_get(json, "reason"));
	if (reason && strcmp(reason, "rule") == 0)
		l->fields_seen |= A_RULE_DECIDED;
}

const char *log_lines_lack(const struct log_lines *l, bool has_listeners)
{
	unsigned pushes = l->fields_seen >> OF_PUSHES & ((1u << (OF_RULES - OF_PUSHES)) - 1);
	size_t end = l->fields_seen & A_RULE_DECIDED ? NEEDED : pushes ? OF_RULES : OF_PUSHES;
	if (l->count == 0)
		return NULL;
	for (size_t i = has_listeners ? OF_LISTENERS : OF_ALL; i < end; i++)
		if (!(l->fields_seen & 1u << i))
			return needed[i];
	return NULL;
}

static int64_t number_of(const json_t *json, const char *key)
{
	return (int64_t)json_integer_value(json_object_get(json, key));
}

static void add_line(
    struct log_lines *l, const char *text, size_t len, size_t number, int64_t offset)
{
	json_error_t error;
	json_t *json = json_loadb(text, len, 0, &error);
	if (!json_is_object(json) || l->count == LINES_MAX) {
		json_decref(json);
		l->unread++;
		return;
	}
	if (l->count == l->room) {
		l->room = l->room ? l->room * 2 : 256;
		l->lines = memory_resize(l->lines, l->room, sizeof(*l->lines));
	}
	bool is_push = json_is_true(json_object_get(json, "push"));
	int64_t sample = number_of(json, "sample");
	note_fields(l, json);
	l->lines[l->count++] = (struct log_line){
	    .offset = offset,
	    .number = number,
	    .worker = number_of(json, "worker"),
	    .id = number_of(json, is_push ? "parent" : "id"),
	    .weight = sample > 1 && sample <= 1000000 ? (uint32_t)sample : 1,
	    .is_push = is_push,
	};
	json_decref(json);
}

static int compare_ids(const struct log_line *a, const struct log_line *b)
{
	if (a->worker != b->worker)
		return a->worker < b->worker ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static int compare_ids_and_lines(const void *left, const void *right)
{
	const struct log_line *a = left, *b = right;
	int d = compare_ids(a, b);
	return d ? d : (a->number > b->number) - (a->number < b->number);
}

static size_t lines_between(const struct log_line *a, const struct log_line *b)
{
	return a->number > b->number ? a->number - b->number : b->number - a->number;
}

/*
 * Makes the request the line's parent, if that is a push with the same id and the request is nearer than the present
 * parent. Returns the last request: the line itself, or the one before.
 */
static const struct log_line *choose_nearer_parent(
    struct log_line *line, const struct log_line *request)
{
	if (!line->is_push)
		return line;
	if (request && compare_ids(request, line) == 0 &&
	    (!line->parent || lines_between(line, request) < lines_between(line, line->parent)))
		line->parent = request;
	return request;
}

/*
 * A restarted worker counts its ids from the beginning. Of several requests with one id, the
 * nearest line is the parent. In sorted order that is the last one before the push or the first one
 * after it.
 */
static void find_parents(struct log_lines *l)
{
	const struct log_line *request = NULL;
	for (size_t i = 0; i < l->count; i++)
		request = choose_nearer_parent(&l->lines[i], request);
	request = NULL;
	for (size_t i = l->count; i-- > 0;)
		request = choose_nearer_parent(&l->lines[i], request);
}

void log_lines_read(struct log_lines *l, FILE *log)
{
	char *text = NULL;
	size_t size = 0, number = 0;
	off_t offset = ftello(log);
	l->copy = offset < 0 ? tmpfile() : NULL; /* a pipe */
	l->file = l->copy ? l->copy : log;
	if (offset < 0)
		offset = 0;
	for (ssize_t n; (n = getline(&text, &size, log)) > 0; offset += n) {
		add_line(l, text, (size_t)n, ++number, offset);
		if (l->copy)
			fwrite(text, 1, (size_t)n, l->copy);
	}
	free(text);
	if (l->count > 0)
		qsort(l->lines, l->count, sizeof(*l->lines), compare_ids_and_lines);
	find_parents(l);
}

size_t log_lines_group(const struct log_lines *l, size_t first)
{
	size_t end = first + 1;
	while (end < l->count && compare_ids(&l->lines[first], &l->lines[end]) == 0)
		end++;
	return end;
}

void log_lines_load(struct log_lines *l, size_t first, size_t end)
{
	char *text = NULL;
	size_t size = 0;
	for (size_t i = first; i < end; i++) {
		json_error_t error;
		ssize_t n = fseeko(l->file, l->lines[i].offset, SEEK_SET) == 0
				? getline(&text, &size, l->file)
				: -1;
		/* A line that the file no longer has counts as unread later. */
		l->lines[i].json = n > 0 ? json_loadb(text, (size_t)n, 0, &error) : NULL;
	}
	free(text);
}

void log_lines_unload(struct log_lines *l, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		json_decref(l->lines[i].json);
		l->lines[i].json = NULL;
	}
}

const char *log_line_text(const struct log_line *line, const char *key)
{
	const char *text = json_string_value(json_object_get(line->json, key));
	return text ? text : "";
}

void log_lines_free(struct log_lines *l)
{
	free(l->lines);
	if (l->copy)
		fclose(l->copy);
}
