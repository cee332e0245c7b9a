/* SPDX-License-Identifier: MIT */
/* Sends datagrams to the service manager. Two lines of text need no library. */
#include "proxy/process/notify.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Time beyond drain-timeout: the grace periods of workers (worker_slots.c), of the helpers, which end together, and of the
 * logger (child.h), 7 s in all, and 5 s more. */
#define GRACE_USEC (12 * USEC_PER_SEC)
#define STATUS_BYTES 768

/* A path, or "@" and an abstract name, in which NUL replaces the "@" (unix(7)). */
static socklen_t address_of(const char *name, struct sockaddr_un *at)
{
	size_t length = strlen(name);
	*at = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((name[0] != '/' && name[0] != '@') || length >= sizeof(at->sun_path))
		return 0;
	memcpy(at->sun_path, name, length);
	if (name[0] == '@')
		at->sun_path[0] = '\0';
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
}

int notify_open(void)
{
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un at;
	socklen_t length = name ? address_of(name, &at) : 0;
	if (length == 0)
		return -1;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)&at, length) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void send_text(int fd, const char *text)
{
	if (fd >= 0)
		(void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

void notify_ready(int fd, const char *status)
{
	char text[STATUS_BYTES];
	snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", status);
	send_text(fd, text);
}

void notify_reloading(int fd)
{
	char text[64];
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
	    (unsigned long long)clock_monotonic());
	send_text(fd, text);
}

void notify_alive(int fd)
{
	send_text(fd, "WATCHDOG=1");
}

void notify_watchdog_time(int fd, usec time)
{
	char text[64];
	snprintf(text, sizeof(text), "WATCHDOG=1\nWATCHDOG_USEC=%llu", (unsigned long long)time);
	send_text(fd, text);
}

void notify_main_pid(int fd, pid_t pid)
{
	char text[64];
	snprintf(text, sizeof(text), "MAINPID=%d\nSTATUS=serving", (int)pid);
	send_text(fd, text);
}

void notify_stopping(int fd, const char *status, usec drain_timeout)
{
	char text[STATUS_BYTES];
	unsigned long long wanted = drain_timeout + GRACE_USEC;
	int length = snprintf(text, sizeof(text), "STOPPING=1\nSTATUS=%s", status);
	if (drain_timeout > 0 && (size_t)length < sizeof(text))
		snprintf(text + length, sizeof(text) - (size_t)length, "\nEXTEND_TIMEOUT_USEC=%llu",
		    wanted);
	send_text(fd, text);
}
