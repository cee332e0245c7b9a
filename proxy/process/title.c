/* SPDX-License-Identifier: MIT */
/*
 * Titles of processes. proc(5): /proc/PID/cmdline shows the memory of the arguments; if its last byte
 * is not 0, what is behind it as well, up to the first 0. setproctitle(3) of the BSDs does the same.
 */
#include "proxy/process/title.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Fields of /proc/self/stat, counted from the one behind the name, which may contain anything. */
enum { FIELD_ARG_START = 48, FIELD_ENV_END = 51, FIELD_BEHIND_NAME = 3, FIELDS = 4 };

/* Reads where the arguments begin and end, then the environment. */
static bool read_places(unsigned long places[FIELDS])
{
	char text[2048];
	FILE *f = fopen("/proc/self/stat", "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	const char *p = strrchr(text, ')');
	for (int at = FIELD_BEHIND_NAME; p && at <= FIELD_ENV_END; at++) {
		p = strchr(p + 1, ' ');
		if (p && at >= FIELD_ARG_START)
			places[at - FIELD_ARG_START] = strtoul(p + 1, NULL, 10);
	}
	return p != NULL;
}

/* The copy lives as long as the process, as the original did. */
static void move_environment(void)
{
	size_t count = 0;
	while (environ[count])
		count++;
	char **copy = memory_zalloc((count + 1) * sizeof(*copy));
	for (size_t i = 0; i < count; i++) {
		copy[i] = strdup(environ[i]);
		ensure(copy[i] != NULL);
	}
	environ = copy;
}

void title_init(struct title *t)
{
	static char name[] = "pushgate";
	unsigned long places[FIELDS];
	*t = (struct title){.at = NULL};
	bool is_found = read_places(places) && places[0] > 0 && places[1] > places[0] &&
			places[2] == places[1] && places[3] >= places[2];
	if (!is_found)
		return;
	move_environment();
	program_invocation_name = program_invocation_short_name = name;
	t->at = (char *)places[0]; // NOLINT: an address in text
	t->room = places[3] - places[0];
}

void title_set(const struct title *t, const char *format, ...)
{
	if (!t->at)
		return;
	memset(t->at, 0, t->room);
	va_list args;
	va_start(args, format);
	(void)vsnprintf(t->at, t->room, format, args);
	va_end(args);
}
