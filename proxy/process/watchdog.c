/* SPDX-License-Identifier: MIT */
/* See watchdog.h. */
#include "proxy/process/watchdog.h"
#include "proxy/base/slice.h"
#include "proxy/process/notify.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* In the time of the manager it is due so often: an answer that is late does no harm yet. */
#define TIMES 4u
#define PAUSE_USEC (3600 * USEC_PER_SEC)

void watchdog_init(struct watchdog *w)
{
	const char *text = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	uint64_t time = 0, process = 0;
	*w = (struct watchdog){.due_at = USEC_NEVER};
	if (!text || !slice_to_number(slice_of_string(text), UINT64_MAX / 2, &time) || time == 0)
		return;
	if (pid && (!slice_to_number(slice_of_string(pid), INT32_MAX, &process) ||
		       process != (uint64_t)getpid()))
		return;
	*w = (struct watchdog){.time = time};
}

bool watchdog_is_due(struct watchdog *w, usec now)
{
	if (now < w->due_at || w->time == 0)
		return false;
	w->due_at = now + w->time / TIMES;
	return true;
}

void watchdog_pause(const struct watchdog *w, int notify_fd)
{
	if (w->time > 0)
		notify_watchdog_time(notify_fd, w->time + PAUSE_USEC);
}

void watchdog_go_on(const struct watchdog *w, int notify_fd)
{
	if (w->time > 0)
		notify_watchdog_time(notify_fd, w->time);
}

void watchdog_pass_on(void)
{
	char number[16];
	if (!getenv("WATCHDOG_PID"))
		return;
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("WATCHDOG_PID", number, 1);
}
