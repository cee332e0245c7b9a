/* SPDX-License-Identifier: MIT */
/* The command `pushgate reload`: asks for a reload, waits for its end, and prints what was said of it. */
#include "proxy/base/hash.h"
#include "proxy/process/reload_request.h"
#include "proxy/process/status.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* Longer than a reload may take; another one may be under way. */
#define PATIENCE_SECONDS 120
#define READ_BYTES (256 << 10)

static int fail(const char *socket_path, const char *why)
{
	fprintf(stderr, "pushgate reload: %s: %s\n", socket_path, why);
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
		if (slice_starts_with(line, SLICE(RELOAD_STATUS)))
			status = line.ptr[strlen(RELOAD_STATUS)] - '0';
		else if (!slice_starts_with(line, SLICE("#")))
			fprintf(stderr, "%.*s\n", SLICE_ARG(line));
	}
	return status;
}

int process_reload(const char *socket_path)
{
	char name[64];
	const char *error;
	int n = snprintf(name, sizeof(name), RELOAD_REQUEST "%016" PRIx64, hash_random_seed());
	int fd = status_connect(socket_path, slice_of(name, (size_t)n), &error);
	if (fd < 0)
		return fail(socket_path, error);
	char *text = malloc(READ_BYTES);
	size_t length = text ? read_all(fd, text, READ_BYTES) : 0;
	close(fd);
	bool is_counters = slice_starts_with(slice_of(text, length), SLICE(STATUS_BEGIN));
	int status = is_counters ? -1 : print_answer(slice_of(text, length));
	free(text);
	if (status >= 0)
		return status;
	return fail(socket_path,
	    is_counters ? "it does not reload: it runs with --single, or is of an older version"
			: "no result; its error log says more");
}

int process_reload_signal(const char *pid_text)
{
	long pid = strtol(pid_text, NULL, 10);
	if (pid <= 1 || kill((pid_t)pid, SIGHUP) != 0) {
		fprintf(stderr, "pushgate reload: cannot send SIGHUP to process %s (MAINPID)\n",
		    pid_text);
		return PROCESS_FAILED;
	}
	fprintf(stderr,
	    "pushgate reload: there is no status-socket to ask for the result; the error log has "
	    "it\n");
	return PROCESS_DONE;
}
