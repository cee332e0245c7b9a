/* SPDX-License-Identifier: MIT */
/*
 * The lines of an access log, in memory: each push beside the request that it came with. Private to
 * tool/.
 */
#ifndef PUSHGATE_TOOL_LOG_LINES_H
#define PUSHGATE_TOOL_LOG_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_t;

struct log_line {
	struct json_t *json; /* an object, owned */
	size_t number;       /* of the line, from 1 */
	int64_t worker, id;  /* of the push's parent, for a push */
	bool is_push;
	const struct log_line *parent; /* of a push; NULL: not in the log */
};

/* All zero is empty. */
struct log_lines {
	struct log_line *lines; /* owned; a parent and its pushes stand together */
	size_t count, room;
	size_t unread; /* lines that are none of a log's, or too many */
};

/* Into an empty one; reads to the end of the file. */
void log_lines_read(struct log_lines *l, FILE *log);
void log_lines_free(struct log_lines *l);
/* A member that is a string; "" when there is none. Lent as long as the lines. */
const char *log_line_text(const struct log_line *line, const char *key);

#endif
