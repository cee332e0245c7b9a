/* SPDX-License-Identifier: MIT */
/*
 * A log file, written by the one process that holds it: the logger, or the only process with --single.
 * Lost lines are counted; the error log tells when a loss begins and ends. A line is in the file whole or
 * not at all.
 */
#include "proxy/observe/line.h"
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A full disk takes a line now and then: a file works again once it has taken all lines for this time. */
#define STEADY_USEC USEC_PER_SEC

/* The size of a regular file; else OBSERVE_NO_SIZE. */
static uint64_t size_of(const struct observe_file *f)
{
	struct stat st;
	bool has_size = fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode);
	return has_size ? (uint64_t)st.st_size : OBSERVE_NO_SIZE;
}

/* Without a name no process can open the file to read the lines. Standard output's owner may have it open. */
static bool is_removed(const struct observe_file *f)
{
	struct stat st;
	return strcmp(f->path, "-") != 0 && fstat(f->fd, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_nlink == 0;
}

/* Returns how many bytes the file took. If these are not all of them, errno says why. */
static size_t write_most(const struct observe_file *f, const char *p, size_t bytes)
{
	size_t done = 0;
	while (done < bytes) {
		ssize_t n = write(f->fd, p + done, bytes - done);
		if (n > 0) {
			done += (size_t)n;
			if (f->progress)
				f->progress->done = done;
		} else if (n < 0 && errno == EAGAIN && f->may_wait) {
			/* Standard output may be a non-blocking pipe: wait until it accepts more. */
			struct pollfd wait = {.fd = f->fd, .events = POLLOUT};
			poll(&wait, 1, -1);
		} else if (n == 0 || errno != EINTR) {
			break;
		}
	}
	return done;
}

/* The file's last line has no end: gives it one, if that was not possible when it was written. */
static bool end_torn_line(struct observe_file *f)
{
	if (*f->is_torn && (size_of(f) == 0 || write(f->fd, "\n", 1) == 1))
		*f->is_torn = false;
	return !*f->is_torn;
}

/*
 * Cuts the torn line off. A pipe, or a file that may only be appended to, keeps it: the line gets its
 * end before the next one.
 */
static void cut_torn_line(struct observe_file *f, size_t torn)
{
	if (torn == 0)
		return;
	uint64_t size = size_of(f);
	*f->is_torn =
	    size == OBSERVE_NO_SIZE || size < torn || ftruncate(f->fd, (off_t)(size - torn)) != 0;
	/* Standard output may not be open for appending: the next line must not leave a hole. */
	if (!*f->is_torn)
		(void)lseek(f->fd, -(off_t)torn, SEEK_CUR);
}

static size_t whole_lines(const char *p, size_t bytes)
{
	const char *end = bytes > 0 ? memrchr(p, '\n', bytes) : NULL;
	return end ? (size_t)(end - p) + 1 : 0;
}

static uint64_t count_lines(const char *p, size_t bytes)
{
	uint64_t n = 0;
	const char *end = p + bytes;
	while (p < end && (p = memchr(p, '\n', (size_t)(end - p)))) {
		n++;
		p++;
	}
	return n;
}

/* Returns how many bytes the file took in whole lines. If not all: errno says why. */
static size_t append(struct observe_file *f, const char *p, size_t bytes)
{
	if (is_removed(f)) {
		errno = ENOENT;
		return 0;
	}
	if (!end_torn_line(f))
		return 0;
	if (f->progress) {
		f->progress->size = size_of(f);
		f->progress->has_begun = true;
	}
	size_t done = write_most(f, p, bytes);
	if (done == bytes)
		return bytes;
	int why = errno;
	size_t whole = whole_lines(p, done);
	cut_torn_line(f, done - whole);
	errno = why;
	return whole;
}

/* ---- messages about losses ---- */

static const char *explain(int failure)
{
	if (failure == ENOENT)
		return "the file was removed; SIGUSR1 makes a new one";
	if (failure == EPIPE)
		return "no process reads it";
	return strerror(failure);
}

/* A message that cannot be written is not counted: the loss is reported once the log takes lines again. */
__attribute__((format(printf, 3, 4))) static bool tell(
    struct observe *o, enum observe_level level, const char *format, ...)
{
	char buffer[OBSERVE_LINE_BYTES];
	struct observe_file *f = o->error_file;
	if (!f)
		return true;
	va_list args;
	va_start(args, format);
	size_t length = observe_format(buffer, o, level, o->is_journal, format, args);
	va_end(args);
	struct observe_progress *own = f->progress;
	f->progress = NULL;
	bool is_told = append(f, buffer, length) == length;
	f->progress = own;
	return is_told;
}

static void begin_loss(struct observe *o, struct observe_file *f, int why)
{
	bool is_new = f->loss->failure == 0;
	f->loss->takes_lines = false;
	f->loss->failure = why;
	f->loss->failed_at = clock_monotonic();
	if (is_new)
		(void)tell(o, OBSERVE_ERROR,
		    "cannot write to the log %s: %s; its lines are lost until that is possible "
		    "again",
		    f->path, explain(why));
}

void observe_file_settle(struct observe *o, struct observe_file *f, usec now, bool at_once)
{
	if (!f || f->loss->failure == 0 || (!at_once && now - f->loss->failed_at < STEADY_USEC))
		return;
	/* This message itself shows whether the error log takes lines; the access log has its own. */
	if (!f->loss->takes_lines && f != o->error_file)
		return;
	if (tell(o, OBSERVE_WARN, "writing to the log %s works again; %llu line%s lost (%s)",
		f->path, (unsigned long long)f->loss->lost_lines,
		f->loss->lost_lines == 1 ? " was" : "s were", explain(f->loss->failure))) {
		f->loss->failure = 0;
		f->loss->lost_lines = 0;
	} else {
		f->loss->failed_at = now;
	}
}

bool observe_files_work(const struct observe *o)
{
	return (!o->error_file || o->error_file->loss->failure == 0) &&
	       (!o->access_file || o->access_file->loss->failure == 0);
}

void observe_files_settle(struct observe *o, usec now, bool at_once)
{
	observe_file_settle(o, o->error_file, now, at_once);
	observe_file_settle(o, o->access_file, now, at_once);
}

/* ---- lines ---- */

/* In this order, so that a writer that is killed in between leaves either the old notes or the new one. */
static void note_done(struct observe_file *f, size_t bytes)
{
	f->progress->done = bytes;
	f->progress->size = OBSERVE_NO_SIZE;
	f->progress->has_begun = true;
}

void observe_file_write(struct observe *o, struct observe_file *f, const char *lines, size_t bytes)
{
	size_t done = append(f, lines, bytes);
	f->loss->takes_lines = true;
	if (done == bytes)
		return;
	int why = errno;
	uint64_t lost = count_lines(lines + done, bytes - done);
	*f->lost += lost;
	f->loss->lost_lines += lost;
	if (f->progress) { /* all are dealt with: the next writer must not write them again */
		note_done(f, bytes);
	}
	begin_loss(o, f, why);
}

/* A writer that is killed in write(2) notes nothing, but the file has grown. A smaller file is another one. */
static size_t done_before(const struct observe_file *f, size_t bytes)
{
	const struct observe_progress *p = f->progress;
	if (!p->has_begun)
		return 0;
	uint64_t size = size_of(f);
	bool has_grown = p->size != OBSERVE_NO_SIZE && size != OBSERVE_NO_SIZE && size >= p->size;
	uint64_t done = has_grown ? size - p->size : p->done;
	return done < bytes ? (size_t)done : bytes;
}

size_t observe_file_resume(struct observe_file *f, const char *lines, size_t bytes)
{
	size_t done = done_before(f, bytes);
	size_t whole = done == bytes ? bytes : whole_lines(lines, done);
	cut_torn_line(f, done - whole);
	note_done(f, whole);
	return whole;
}
