/* SPDX-License-Identifier: MIT */
/* Whether the system lets the workers have what `memory` gives them: RLIMIT_AS, and memory.max of the control groups. */
#include "proxy/base/reserve.h"
#include "proxy/process/start_needs.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
/* Of a worker besides `memory`: spare chunks, holes of the heap, objects of connections that no budget pays for. */
#define BESIDES_BYTES (RESERVE_BYTES + 28 * MIB)
/* `memory` may be overdrawn by an eighth (gateway/memory_pressure.c). */
#define OVERDRAFT 8

/* ---- the limits of the system ---- */

/* The number that the file begins with. None, as of "max" or without the file: `otherwise`. */
static uint64_t first_number(const char *path, uint64_t otherwise)
{
	char text[32] = "", *end = text;
	uint64_t number = otherwise;
	FILE *in = fopen(path, "re");
	if (!in)
		return otherwise;
	if (fgets(text, sizeof(text), in))
		number = strtoull(text, &end, 10);
	fclose(in);
	return end > text ? number : otherwise;
}

/* Address space that this process has now; a worker begins with as much. */
static uint64_t present_bytes(void)
{
	return first_number("/proc/self/statm", 0) * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The least of the group and those around it. path: as /proc/self/cgroup has it; it is cut shorter. */
static uint64_t least_of_groups(const char *root, char *path)
{
	uint64_t least = UINT64_MAX;
	for (char *end = path + strlen(path); end; end = strrchr(path, '/')) {
		char file[4400];
		*end = '\0';
		snprintf(file, sizeof(file), "%s%s/memory.max", root, path);
		uint64_t bytes = first_number(file, UINT64_MAX);
		if (bytes < least)
			least = bytes;
	}
	return least;
}

uint64_t start_needs_group_limit(const char *root, const char *groups)
{
	char line[4300];
	uint64_t bytes = UINT64_MAX;
	FILE *in = fopen(groups, "re");
	while (in && fgets(line, sizeof(line), in)) {
		line[strcspn(line, "\n")] = '\0';
		if (strncmp(line, "0::/", 4) == 0)
			bytes = least_of_groups(root, line + 3);
	}
	if (in)
		fclose(in);
	return bytes;
}

/* ---- the judgement ---- */

/* "raise it (HOW)", and a `memory` that fits, if any does. */
static void advise(char *text, size_t size, const char *how, uint64_t fits)
{
	if (fits >= MIB)
		snprintf(text, size, "raise it (%s) or set memory = %" PRIu64 "M", how, fits / MIB);
	else
		snprintf(text, size, "raise it (%s)", how);
}

static uint64_t without(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

void start_needs_judge_memory(struct start_needs *n, const struct memory_limits *l)
{
	char advice[200];
	struct conf_place at = conf_find_place(n->conf, "server", 0, "memory", 0);
	uint64_t memory = n->conf->server.memory_bytes;
	uint64_t besides = l->present + BESIDES_BYTES;
	uint64_t wanted = memory + memory / OVERDRAFT + besides;
	if (l->process < wanted) {
		uint64_t room = without(l->process, besides);
		advise(advice, sizeof(advice), "ulimit -v, LimitAS= of systemd",
		    room - room / (OVERDRAFT + 1));
		start_needs_report(n, NEED_WARNING, at,
		    "a process may have %" PRIu64
		    " MiB, too few for a worker, which may want %" PRIu64 " MiB: %" PRIu64
		    " of memory and what it has besides; it sheds load before that; %s",
		    l->process / MIB, wanted / MIB, memory / MIB, advice);
	}
	if (l->group / n->workers < memory) {
		advise(advice, sizeof(advice), "MemoryMax= of systemd, or the container's limit",
		    without(l->group / n->workers, 28 * MIB));
		start_needs_report(n, NEED_WARNING, at,
		    "the control group may have %" PRIu64
		    " MiB (memory.max), too few for %u worker%s with %" PRIu64
		    " MiB of memory each: the kernel ends a process when it is used up; %s",
		    l->group / MIB, n->workers, n->workers == 1 ? "" : "s", memory / MIB, advice);
	}
}

void start_needs_memory(struct start_needs *n)
{
	struct rlimit limit;
	struct memory_limits l = {.process = UINT64_MAX,
	    .present = present_bytes(),
	    .group = start_needs_group_limit("/sys/fs/cgroup", "/proc/self/cgroup")};
	if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		l.process = limit.rlim_cur;
	start_needs_judge_memory(n, &l);
}
