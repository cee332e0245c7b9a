/* SPDX-License-Identifier: MIT */
/* See answer.h. */
#include "proxy/process/answer.h"

#include "proxy/process/status.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* ---- the master ---- */

static void say(int socket, const char *text, size_t length)
{
	(void)!send(socket, text, length, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void answer_send(int socket, const char *text, size_t length, enum process_status status)
{
	char line[64];
	int n = snprintf(line, sizeof(line), ANSWER_STATUS "%d\n", (int)status);
	say(socket, text, length);
	say(socket, line, (size_t)n);
}

bool answer_is_unwanted(int socket)
{
	char byte;
	ssize_t n = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

/* ---- the command ---- */

/* Longer than a reload may take; another one may be under way. */
#define PATIENCE_SECONDS 120
#define READ_BYTES (256 << 10)

static int fail(const char *command, const char *socket_path, const char *why)
{
	fprintf(stderr, "pushgate %s: %s: %s\n", command, socket_path, why);
	return PROCESS_FAILED;
}

/* All that comes, at most `size` bytes. */
static size_t read_all(int fd, char *text, size_t size)
{
	const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
	size_t used = 0;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	while (used < size) {
		ssize_t n = read(fd, text + used, size - used);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		used += (size_t)n;
	}
	return used;
}

/* Prints the lines before the last one, and returns the status in that; -1: there is none. */
static int print_answer(struct slice answer)
{
	int status = -1;
	while (answer.len > 0 && status < 0) {
		struct slice line = slice_cut(&answer, '\n');
		if (slice_starts_with(line, SLICE(ANSWER_STATUS)))
			status = line.ptr[strlen(ANSWER_STATUS)] - '0';
		else if (!slice_starts_with(line, SLICE("#")))
			fprintf(stderr, "%.*s\n", SLICE_ARG(line));
	}
	return status;
}

int answer_ask(const char *command, const char *socket_path, struct slice name, const char *refused)
{
	const char *error;
	int fd = status_connect(socket_path, name, &error);
	if (fd < 0)
		return fail(command, socket_path, error);
	char *text = malloc(READ_BYTES);
	size_t length = text ? read_all(fd, text, READ_BYTES) : 0;
	close(fd);
	bool is_counters = slice_starts_with(slice_of(text, length), SLICE(STATUS_BEGIN));
	int status = is_counters ? -1 : print_answer(slice_of(text, length));
	free(text);
	if (status >= 0)
		return status;
	return fail(
	    command, socket_path, is_counters ? refused : "no result; its error log says more");
}
