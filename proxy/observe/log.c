/* SPDX-License-Identifier: MIT */
/*
 * The error log: lines for people. Rare by design (what may happen once a request belongs to the
 * access log), so each is formatted and written at once.
 */
#include "proxy/observe/line.h"
#include <errno.h>
#include <stdarg.h>
#include <unistd.h>

#define TEXT_BYTES 1000u

static const char *const level_names[] = {
    [OBSERVE_DEBUG] = "debug",
    [OBSERVE_INFO] = "info",
    [OBSERVE_WARN] = "warn",
    [OBSERVE_ERROR] = "error",
};

void observe_log(struct observe *o, enum observe_level level, const char *format, ...)
{
	if (o->error_fd < 0 || level < o->level)
		return;
	/* One octet more than is shown tells that there was more. */
	char text[TEXT_BYTES + 1];
	va_list args;
	va_start(args, format);
	int length = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (length < 0)
		return;
	size_t text_len = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;

	char buffer[TEXT_BYTES + 100];
	struct line l = {.at = buffer};
	line_time(&l, o, clock_wall());
	LINE_LITERAL(&l, " ");
	line_text(&l, slice_of_string(level_names[level]));
	if (o->worker == OBSERVE_MASTER) {
		LINE_LITERAL(&l, " [master] ");
	} else {
		LINE_LITERAL(&l, " [w");
		line_number(&l, o->worker);
		LINE_LITERAL(&l, "] ");
	}
	line_plain(&l, slice_of(text, text_len), TEXT_BYTES);
	LINE_LITERAL(&l, "\n");

	ssize_t n;
	do
		n = write(o->error_fd, buffer, (size_t)(l.at - buffer));
	while (n < 0 && errno == EINTR);
	if (n < 0)
		o->counters->log_dropped++;
}
