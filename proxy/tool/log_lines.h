/* SPDX-License-Identifier: MIT */
/*
 * The lines of an access log in memory, sorted so that each push stands beside its parent request.
 * Private to tool/.
 */
#ifndef PUSHGATE_TOOL_LOG_LINES_H
#define PUSHGATE_TOOL_LOG_LINES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_t;

struct log_line {
	struct json_t *json; /* an object, owned */
	size_t number;       /* line number, from 1 */
	int64_t worker, id;  /* of the push's parent, for a push */
	uint32_t weight;     /* it stands for so many (log-sample) */
	bool is_push;
	const struct log_line *parent; /* of a push; NULL: not in the log */
};

/* Initialize with zeroes. */
struct log_lines {
	struct log_line *lines; /* owned; a parent and its pushes are adjacent */
	size_t count, room;
	size_t unread;        /* lines that are not JSON objects, or beyond the maximum */
	unsigned fields_seen; /* private */
};

/* l must be empty. Reads to the end of the file. */
void log_lines_read(struct log_lines *l, FILE *log);
void log_lines_free(struct log_lines *l);
/* The name of a field without which pushes cannot be decided again, and which no line has because
 * log-fields left it out; NULL: there is none. has_listeners: there are several, so that it matters which
 * one a request came to. */
const char *log_lines_lack(const struct log_lines *l, bool has_listeners);
/* The value of a string member; "" if there is none. Lent until log_lines_free. */
const char *log_line_text(const struct log_line *line, const char *key);

#endif
