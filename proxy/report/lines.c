/* SPDX-License-Identifier: MIT */
/* Reads the lines of a log, as they are or compressed by gzip, in a buffer of fixed size. */
#include "proxy/report/report_private.h"

#include "proxy/base/memory.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

/* A line of the access log is written at once into a pipe: it has at most 4,096 bytes. */
#define LINE_MOST 65536u

struct reader {
	struct report *report;
	const char *file;
	uint64_t number;  /* of the last line */
	size_t length;    /* bytes in the buffer */
	bool is_skipping; /* the rest of a line that was too long */
	char text[LINE_MOST];
};

static void note_bad(struct reader *in, const char *why)
{
	struct report *r = in->report;
	if (r->bad_lines < REPORT_BAD_LINES_NAMED)
		r->bad[r->bad_lines] = (struct report_bad_line){in->file, in->number, why};
	r->bad_lines++;
}

static void take_line(struct reader *in, const char *text, size_t length)
{
	in->number++;
	if (in->is_skipping) {
		in->is_skipping = false;
		note_bad(in, "it is too long");
		return;
	}
	const char *why = report_line(in->report, text, length);
	if (why)
		note_bad(in, why);
}

/* All whole lines of the buffer; the rest moves to its front. */
static void take_lines(struct reader *in)
{
	char *at = in->text, *end = in->text + in->length, *newline;
	while ((newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
		take_line(in, at, (size_t)(newline - at));
		at = newline + 1;
	}
	in->length = (size_t)(end - at);
	if (in->length == LINE_MOST) {
		in->is_skipping = true;
		in->length = 0;
	}
	memmove(in->text, at, in->length);
}

/* Transparent to files that are not compressed. */
static gzFile open_log(const char *file)
{
	if (strcmp(file, "-") != 0)
		return gzopen(file, "rb");
	int fd = dup(STDIN_FILENO);
	gzFile log = fd >= 0 ? gzdopen(fd, "rb") : NULL;
	if (!log && fd >= 0)
		close(fd);
	return log;
}

bool report_read(struct report *r, const char *file, const char **error)
{
	errno = 0;
	gzFile log = open_log(file);
	if (!log) {
		*error = strerror(errno);
		return false;
	}
	struct reader *in = memory_new(struct reader);
	in->report = r;
	in->file = file;
	int n;
	while ((n = gzread(log, in->text + in->length, (unsigned)(LINE_MOST - in->length))) > 0) {
		in->length += (size_t)n;
		take_lines(in);
	}
	if (in->length > 0 || in->is_skipping)
		take_line(in, in->text, in->length);
	int code = Z_OK;
	if (n == 0) /* gzread takes a file that breaks off for its end */
		gzerror(log, &code);
	bool is_whole = n == 0 && code != Z_BUF_ERROR;
	*error = n < 0 && errno ? strerror(errno) : "the compressed file is damaged";
	free(in);
	gzclose_r(log);
	return is_whole;
}
