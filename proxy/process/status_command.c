/* SPDX-License-Identifier: MIT */
/* The command `pushgate status`: asks for the text, and prints it as it is, for a reader, or as JSON. */
#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/base/sealed.h"
#include "proxy/process/child_message.h"
#include "proxy/process/process.h"
#include "proxy/process/status.h"
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define ASK_TIMEOUT_SECONDS 5
/* Far more than the text of the most series that there may be. */
#define TEXT_BYTES_MAX (64u << 20)

static bool name_socket(int fd, struct slice name)
{
	struct sockaddr_un own = {.sun_family = AF_UNIX};
	memcpy(own.sun_path + 1, name.ptr, name.len);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name.len);
	return bind(fd, (const struct sockaddr *)&own, length) == 0;
}

int status_connect(const char *path, struct slice name, const char **error)
{
	struct net_address at;
	if (!*path || status_address(path, &at)) {
		*error = "the path is empty or too long for a unix socket";
		return -1;
	}
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval timeout = {.tv_sec = ASK_TIMEOUT_SECONDS};
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	bool is_named = fd >= 0 && (name.len == 0 || name_socket(fd, name));
	if (is_named && connect(fd, &at.any, at.length) == 0)
		return fd;
	if (errno == ENOENT || errno == ECONNREFUSED)
		*error = "no pushgate is listening there; is it running, and is this its "
			 "status-socket?";
	else if (errno == EACCES)
		*error = "permission denied; the user and the group that start pushgate may use it";
	else
		*error = strerror(errno);
	descriptor_close(&fd);
	return -1;
}

/* The text of a memory file that came in place of what was read before. NULL: it cannot be read. */
static char *copy_file(int file, size_t *size)
{
	void *bytes = sealed_map(file, TEXT_BYTES_MAX, size);
	if (!bytes)
		return NULL;
	char *text = memory_resize(NULL, *size + 1, 1);
	memcpy(text, bytes, *size);
	sealed_unmap(bytes, *size);
	return text;
}

/* What the socket says until its end, or a memory file. */
static char *read_text(int fd, size_t *size)
{
	size_t capacity = 65536;
	char *text = memory_resize(NULL, capacity, 1), *whole = NULL;
	ssize_t n;
	int file = -1;
	while (!whole &&
	       (n = message_wait_bytes(fd, text + *size, capacity - *size - 1, &file)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || capacity == TEXT_BYTES_MAX)
			break;
		*size += (size_t)n;
		if (*size == capacity - 1)
			text = memory_resize(text, capacity *= 2, 1);
		whole = file >= 0 ? copy_file(file, size) : NULL;
		descriptor_close(&file);
	}
	if (!whole)
		return text;
	free(text);
	return whole;
}

static char *receive(int fd, const char **error)
{
	size_t size = 0;
	char *text = read_text(fd, &size);
	text[size] = '\0';
	size_t end = strlen(STATUS_END);
	*error = NULL;
	if (size == 0)
		*error = "no answer";
	else if (strncmp(text, STATUS_BEGIN, strlen(STATUS_BEGIN)) != 0)
		*error = "what listens there is no pushgate";
	else if (size < end || strcmp(text + size - end, STATUS_END) != 0)
		*error = "the answer is not whole";
	if (!*error)
		return text;
	free(text);
	return NULL;
}

/* At a terminal the lines that only a program reads are left out, buckets of histograms too. */
static void print_for_reader(const char *text, FILE *out)
{
	while (*text) {
		size_t length = strcspn(text, "\n") + 1;
		const char *labels = memchr(text, '{', length);
		bool is_bucket =
		    labels && labels - text > 7 && strncmp(labels - 7, "_bucket", 7) == 0;
		bool is_for_programs = is_bucket || strncmp(text, "# HELP ", 7) == 0 ||
				       strncmp(text, "# TYPE ", 7) == 0 ||
				       strcmp(text, STATUS_END) == 0;
		if (!is_for_programs)
			fwrite(text, 1, length, out);
		text += length;
	}
}

char *process_status_ask(const char *socket_path, const char **error)
{
	int fd = status_connect(socket_path, slice_of("", 0), error);
	char *text = fd >= 0 ? receive(fd, error) : NULL;
	descriptor_close(&fd);
	return text;
}

char *process_status_text(const char *socket_path)
{
	const char *error;
	return process_status_ask(socket_path, &error);
}

int process_status(const char *socket_path, bool as_json)
{
	const char *error;
	char *text = process_status_ask(socket_path, &error);
	if (!text) {
		fprintf(stderr, "pushgate status: %s: %s\n", socket_path, error);
		return 1;
	}
	if (as_json)
		status_json(text, stdout);
	else if (isatty(STDOUT_FILENO))
		print_for_reader(text, stdout);
	else
		fputs(text, stdout);
	free(text);
	return 0;
}

struct conf *process_load_status_socket(const char *command, const char *path)
{
	struct conf *conf = conf_load(path, false, &(struct conf_findings){.text = stderr});
	if (!conf || conf->server.status_socket)
		return conf;
	fprintf(stderr,
	    "pushgate %s: %s sets no status-socket; add one to [server] and start pushgate again\n",
	    command, path);
	conf_free(conf);
	return NULL;
}
