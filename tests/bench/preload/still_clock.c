/* SPDX-License-Identifier: MIT */
/*
 * Loaded into the gateway by scripts/cost: the monotonic clock stands still between two polls. Valgrind makes the program
 * some fifty times slower; with the clock of the wall a loop pass would end after a few requests (proxy/net/turn.c), and
 * what is counted would depend on the machine.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct timespec polled;
static bool has_polled;

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout)
{
	static int (*real)(int, struct epoll_event *, int, int);
	if (!real)
		real = (int (*)(int, struct epoll_event *, int, int))dlsym(RTLD_NEXT, "epoll_wait");
	int n = real(fd, events, most, timeout);
	has_polled = syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &polled) == 0;
	return n;
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	if (id != CLOCK_MONOTONIC || !has_polled)
		return (int)syscall(SYS_clock_gettime, id, t);
	*t = polled;
	return 0;
}
