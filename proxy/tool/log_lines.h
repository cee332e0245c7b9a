/* SPDX-License-Identifier: MIT */
/*
 * An index of an access log, sorted so that each push stands beside its parent request. The log is
 * read line by line; of each line the index keeps where it is and whose it is. What the lines say is
 * read again for one group of lines at a time. Private to tool/.
 */
#ifndef PUSHGATE_TOOL_LOG_LINES_H
#define PUSHGATE_TOOL_LOG_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_t;

struct log_line {
	struct json_t *json; /* an object, owned; NULL: not loaded */
	int64_t offset;      /* of the line in the file */
	size_t number;       /* line number, from 1 */
	int64_t worker, id;  /* of the push's parent, for a push */
	uint32_t weight;     /* it stands for so many (log-sample) */
	bool is_push;
	const struct log_line *parent; /* of a push; NULL: not in the log */
};

/* Initialize with zeroes. */
struct log_lines {
	FILE *file; /* borrowed; or `copy` of a log that cannot be read twice, owned */
	FILE *copy;
	struct log_line *lines; /* owned; a parent and its pushes are adjacent */
	size_t count, room;
	size_t unread;        /* lines that are not JSON objects, or beyond the maximum */
	unsigned fields_seen; /* private */
};

/* l must be empty. Reads to the end of the file, which must stay open. */
void log_lines_read(struct log_lines *l, FILE *log);
/* The end of the group that begins with a line: the requests of one worker and id, and their pushes. */
size_t log_lines_group(const struct log_lines *l, size_t first);
/* Reads the lines from first on, before end; they stay in memory until they are unloaded. */
void log_lines_load(struct log_lines *l, size_t first, size_t end);
void log_lines_unload(struct log_lines *l, size_t first, size_t end);
void log_lines_free(struct log_lines *l);
/* The name of a field without which pushes cannot be decided again, and which no line has because
 * log-fields left it out; NULL: there is none. has_listeners: there are several, so that it matters which
 * one a request came to. */
const char *log_lines_lack(const struct log_lines *l, bool has_listeners);
/* The value of a string member of a loaded line; "" if there is none. Lent until it is unloaded. */
const char *log_line_text(const struct log_line *line, const char *key);

#endif
