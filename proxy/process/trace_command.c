/* SPDX-License-Identifier: MIT */
/* The command `pushgate trace`: asks for a trace and prints its lines until the time is over. */
#include "proxy/base/hash.h"
#include "proxy/process/process.h"
#include "proxy/process/status.h"
#include "proxy/process/trace_request.h"
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* The socket's buffer holds some hundred lines: read many of them at a time. */
#define READ_BYTES 16384
/* The server ends the trace. This is for a server that does not. */
#define GRACE_SECONDS 3

static int fail(const char *socket_path, const char *why)
{
	fprintf(stderr, "pushgate trace: %s: %s\n", socket_path, why);
	return 1;
}

static ssize_t receive(int fd, char *buffer, size_t size)
{
	ssize_t n;
	do
		n = read(fd, buffer, size);
	while (n < 0 && errno == EINTR);
	return n;
}

static bool print(char *text, size_t length)
{
	/* A worker that was taken over must not control the terminal. */
	for (size_t i = 0; i < length; i++)
		if (((unsigned char)text[i] < 0x20 && text[i] != '\n') || text[i] == 0x7f)
			text[i] = '?';
	return fwrite(text, 1, length, stdout) == length && fflush(stdout) == 0;
}

/* Prints the answer, and the lines that came with it. NULL, or why there is no trace. */
static const char *read_answer(int fd, char *buffer)
{
	ssize_t n = receive(fd, buffer, READ_BYTES - 1);
	if (n <= 0)
		return "no answer";
	buffer[n] = '\0';
	size_t answer = strcspn(buffer, "\n");
	if (strncmp(buffer, TRACE_REFUSED, strlen(TRACE_REFUSED)) == 0) {
		buffer[answer] = '\0';
		return buffer;
	}
	if (strncmp(buffer, TRACE_ACCEPTED, strlen(TRACE_ACCEPTED)) != 0 || buffer[answer] == '\0')
		return "the running pushgate is of a version that knows no trace";
	fprintf(stderr, "pushgate trace: %.*s\n", (int)answer, buffer);
	return print(buffer + answer + 1, (size_t)n - answer - 1) ? NULL : "cannot print";
}

static int print_lines(int fd, const char *socket_path, uint32_t seconds)
{
	char buffer[READ_BYTES];
	usec end = clock_monotonic() + seconds * USEC_PER_SEC;
	const char *wrong = read_answer(fd, buffer);
	if (wrong)
		return fail(socket_path, wrong);
	const struct timeval patience = {.tv_sec = (time_t)seconds + GRACE_SECONDS};
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	for (ssize_t n; (n = receive(fd, buffer, sizeof(buffer))) > 0;)
		if (!print(buffer, (size_t)n))
			return fail(socket_path, "cannot print");
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
	int result = print_lines(fd, socket_path, seconds);
	close(fd);
	return result;
}
