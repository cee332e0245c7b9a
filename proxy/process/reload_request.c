/* SPDX-License-Identifier: MIT */
/* See reload_request.h. The command is reload_command.c. */
#include "proxy/process/reload_request.h"

#include "proxy/base/descriptor.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

bool reload_is_request(struct slice name)
{
	return slice_starts_with(name, SLICE(RELOAD_REQUEST));
}

void reload_askers_init(struct reload_askers *a)
{
	for (size_t i = 0; i < RELOAD_ASKERS; i++)
		a->all[i].socket = -1;
}

/* What the socket's buffer does not take is lost: nobody waits here. */
static void say(int socket, const char *text)
{
	(void)!send(socket, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer(struct reload_asker *a, enum process_status status)
{
	char line[64];
	snprintf(line, sizeof(line), RELOAD_STATUS "%d\n", (int)status);
	say(a->socket, line);
	descriptor_close(&a->socket);
}

void reload_askers_add(struct reload_askers *a, int socket)
{
	struct reload_asker fresh = {socket, true};
	for (size_t i = 0; i < RELOAD_ASKERS; i++)
		if (a->all[i].socket < 0) {
			a->all[i] = fresh;
			return;
		}
	say(socket, "too many commands wait for a reload\n");
	answer(&fresh, PROCESS_FAILED);
}

void reload_askers_begin(struct reload_askers *a)
{
	for (size_t i = 0; i < RELOAD_ASKERS; i++)
		a->all[i].is_next = false;
}

void reload_askers_tell(const struct reload_askers *a, const char *text)
{
	for (size_t i = 0; i < RELOAD_ASKERS; i++)
		if (a->all[i].socket >= 0 && !a->all[i].is_next)
			say(a->all[i].socket, text);
}

void reload_askers_end(struct reload_askers *a, enum process_status status)
{
	for (size_t i = 0; i < RELOAD_ASKERS; i++)
		if (a->all[i].socket >= 0 && !a->all[i].is_next)
			answer(&a->all[i], status);
}

void reload_askers_close(struct reload_askers *a)
{
	for (size_t i = 0; i < RELOAD_ASKERS; i++)
		descriptor_close(&a->all[i].socket);
}
