/* SPDX-License-Identifier: MIT */
/* The command `pushgate trace`: asks for a trace and prints its lines until the time is over. */
#include "proxy/base/hash.h"
#include "proxy/process/process.h"
#include "proxy/process/status.h"
#include "proxy/process/trace.h"
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Longer lines are printed in parts. */
#define LINE_BYTES 1024
/* The server ends the trace. This is for a server that does not. */
#define GRACE_SECONDS 3

static int fail(const char *socket_path, const char *why)
{
	fprintf(stderr, "pushgate trace: %s: %s\n", socket_path, why);
	return 1;
}

static void print_line(char *line, FILE *out)
{
	/* A worker that was taken over must not control the terminal. */
	for (char *p = line; *p; p++)
		if (((unsigned char)*p < 0x20 && *p != '\n') || *p == 0x7f)
			*p = '?';
	fputs(line, out);
	fflush(out);
}

/* NULL, or why there is no trace. */
static const char *read_answer(FILE *in, char line[LINE_BYTES])
{
	if (!fgets(line, LINE_BYTES, in))
		return "no answer";
	if (strncmp(line, TRACE_ACCEPTED, strlen(TRACE_ACCEPTED)) == 0)
		return NULL;
	if (strncmp(line, TRACE_REFUSED, strlen(TRACE_REFUSED)) != 0)
		return "the running pushgate is of a version that knows no trace";
	line[strcspn(line, "\n")] = '\0';
	return line;
}

static int print_lines(FILE *in, const char *socket_path, uint32_t seconds)
{
	char line[LINE_BYTES];
	usec end = clock_monotonic() + seconds * USEC_PER_SEC;
	const char *wrong = read_answer(in, line);
	if (wrong)
		return fail(socket_path, wrong);
	fprintf(stderr, "pushgate trace: %s", line);
	const struct timeval patience = {.tv_sec = (time_t)seconds + GRACE_SECONDS};
	setsockopt(fileno(in), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	while (!ferror(stdout) && fgets(line, sizeof(line), in))
		print_line(line, stdout);
	if (ferror(stdout))
		return 1;
	if (clock_monotonic() + USEC_PER_SEC < end)
		return fail(socket_path, "pushgate ended before the time was over");
	return 0;
}

int process_trace(const char *socket_path, const struct cidr *from, uint32_t seconds)
{
	const struct trace_request request = {*from, seconds};
	char name[TRACE_NAME_BYTES];
	size_t length = trace_request_write(&request, hash_random_seed(), name);
	const char *error;
	int fd = status_connect(socket_path, slice_of(name, length), &error);
	if (fd < 0)
		return fail(socket_path, error);
	FILE *in = fdopen(fd, "r");
	if (!in) {
		close(fd);
		return fail(socket_path, strerror(errno));
	}
	int result = print_lines(in, socket_path, seconds);
	fclose(in);
	return result;
}
