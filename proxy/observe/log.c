/* SPDX-License-Identifier: MIT */
/*
 * The error log: lines for people. They are rare: events of single requests go to the access log,
 * and lines that peers can cause are rate-limited. So each line is formatted and written at once.
 */
#include "proxy/observe/line.h"
#include <errno.h>
#include <stdarg.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct {
	const char *name,
	    *mark; /* the level of syslog(3), as the journal reads it (sd-daemon(3)) */
} levels[] = {
    [OBSERVE_DEBUG] = {"debug", "<7>"},
    [OBSERVE_INFO] = {"info", "<6>"},
    [OBSERVE_WARN] = {"warn", "<4>"},
    [OBSERVE_ERROR] = {"error", "<3>"},
};

/* The processes that are no workers, from OBSERVE_MASTER down. */
static const char *const others[] = {
    [OBSERVE_MASTER - OBSERVE_MASTER] = "[master] ",
    [OBSERVE_MASTER - OBSERVE_FILES] = "[files] ",
    [OBSERVE_MASTER - OBSERVE_LOGGER] = "[logger] ",
    [OBSERVE_MASTER - OBSERVE_PASSWORDS] = "[passwords] ",
    [OBSERVE_MASTER - OBSERVE_TRACER] = "[tracer] ",
    [OBSERVE_MASTER - OBSERVE_ACME] = "[acme] ",
};

static void put_prefix(struct line *l, struct observe *o, enum observe_level level, bool is_journal)
{
	if (is_journal) {
		line_text(l, slice_of_string(levels[level].mark));
	} else {
		line_time(l, o, clock_wall());
		LINE_LITERAL(l, " ");
		line_text(l, slice_of_string(levels[level].name));
		LINE_LITERAL(l, " ");
	}
	uint32_t other = OBSERVE_MASTER - o->worker;
	if (other < sizeof(others) / sizeof(others[0])) {
		line_text(l, slice_of_string(others[other]));
	} else {
		LINE_LITERAL(l, "[w");
		line_number(l, o->worker);
		LINE_LITERAL(l, "] ");
	}
}

size_t observe_format(char buffer[OBSERVE_LINE_BYTES], struct observe *o, enum observe_level level,
    bool is_journal, const char *format, va_list args)
{
	/* One byte more than is printed: it shows that the text must be cut. */
	char text[OBSERVE_LINE_TEXT_BYTES + 1];
	int length = vsnprintf(text, sizeof(text), format, args);
	if (length < 0)
		length = 0;
	size_t text_len = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
	struct line l = {.at = buffer};
	put_prefix(&l, o, level, is_journal);
	line_plain(&l, slice_of(text, text_len), OBSERVE_LINE_TEXT_BYTES);
	LINE_LITERAL(&l, "\n");
	return (size_t)(l.at - buffer);
}

static void put_line(struct observe *o, enum observe_level level, const char *format, va_list args)
{
	char buffer[OBSERVE_LINE_BYTES];
	size_t length = observe_format(buffer, o, level, o->is_journal, format, args);
	if (o->error_file) {
		observe_file_write(o, o->error_file, buffer, length);
		return;
	}
	ssize_t n;
	do
		n = write(o->error_fd, buffer, length);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		o->counters->error_lines_dropped++;
}

void observe_log(struct observe *o, enum observe_level level, const char *format, ...)
{
	if (o->error_fd < 0 || level < o->level)
		return;
	va_list args;
	va_start(args, format);
	put_line(o, level, format, args);
	va_end(args);
}

bool observe_send(struct observe *o, int socket, const char *format, ...)
{
	char buffer[OBSERVE_LINE_BYTES];
	va_list args;
	va_start(args, format);
	size_t length = observe_format(buffer, o, OBSERVE_INFO, false, format, args);
	va_end(args);
	return send(socket, buffer, length, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length;
}

/* ---- lines that peers can cause ---- */

/* Finds or makes the kind's slot, hashed by the address of its name. */
static struct observe_kind *find_kind(struct observe *o, const char *name)
{
	size_t at = (size_t)((uintptr_t)name >> 3);
	struct observe_kind *k = NULL;
	for (size_t i = 0; i < OBSERVE_KINDS; i++) {
		k = &o->kinds[(at + i) % OBSERVE_KINDS];
		if (k->name == name || !k->name)
			break;
	}
	if (!k->name)
		k->name = name;
	return k;
}

static bool second_is_over(const struct observe_kind *k, usec now)
{
	return now - k->since >= USEC_PER_SEC;
}

/* Begins a new second for this kind; reports the lines left out in the last one. */
static void begin_second(struct observe *o, struct observe_kind *k, usec now)
{
	if (k->left_out > 0)
		observe_log(o, OBSERVE_INFO, "%s: %u more lines like this were left out", k->name,
		    k->left_out);
	k->since = now;
	k->lines = k->left_out = 0;
}

void observe_log_fault(struct observe *o, enum observe_level level, const char *kind, usec now,
    const char *format, ...)
{
	if (o->error_fd < 0 || level < o->level)
		return;
	struct observe_kind *k = find_kind(o, kind);
	if (second_is_over(k, now))
		begin_second(o, k, now);
	if (k->lines >= OBSERVE_LINES_A_SECOND) {
		k->left_out++;
		o->counters->log_left_out++;
		if (o->left_out_since == 0)
			o->left_out_since = now;
		return;
	}
	k->lines++;
	va_list args;
	va_start(args, format);
	put_line(o, level, format, args);
	va_end(args);
}

void observe_log_left_out(struct observe *o, usec now)
{
	if (o->left_out_since == 0 || now - o->left_out_since < USEC_PER_SEC)
		return;
	o->left_out_since = 0;
	for (size_t i = 0; i < OBSERVE_KINDS; i++) {
		struct observe_kind *k = &o->kinds[i];
		if (k->left_out > 0 && second_is_over(k, now))
			begin_second(o, k, now);
		else if (k->left_out > 0)
			o->left_out_since = k->since;
	}
}
