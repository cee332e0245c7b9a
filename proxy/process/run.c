/* SPDX-License-Identifier: MIT */
/* `pushgate run`: prints all mistakes on the terminal before it opens anything or accepts a client. */
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/process/activation.h"
#include "proxy/process/handover.h"
#include "proxy/process/notify.h"
#include "proxy/process/process.h"
#include "proxy/process/start.h"
#include "proxy/process/start_needs.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static enum process_status examine_needs(const struct start *s)
{
	struct conf_findings findings = {.text = stderr};
	struct start_needs needs = {.conf = s->outfit.conf,
	    .findings = &findings,
	    .workers = s->outfit.workers,
	    .own = &s->sockets,
	    .own_status = s->predecessor.status_path};
	if (start_needs_walk(&needs))
		return PROCESS_DONE;
	return needs.count[NEED_FAULT] > 0 ? PROCESS_BAD_CONF : PROCESS_FAILED;
}

int process_run(const char *conf_path, bool single)
{
	struct start s = {.predecessor = {.socket = -1, .status_fd = -1},
	    .status_fd = -1,
	    .notify_fd = -1,
	    .remembered = -1,
	    .logs = logs_none,
	    .started = clock_monotonic(),
	    .started_wall = clock_wall()};
	const int predecessor = handover_find();
	char error[512];
	/* The title is written where the argument is. */
	char *path = memory_strdup(conf_path);
	s.conf_path = path;
	s.outfit.conf = conf_load(path, true, &(struct conf_findings){.text = stderr});
	if (!s.outfit.conf) {
		free(path);
		return PROCESS_BAD_CONF;
	}
	s.program = memory_strdup(program_invocation_name);
	title_init(&s.title);
	/* Workers inherit the time zone: the C library reads the file again only if TZ has changed. */
	tzset();
	signal(SIGPIPE, SIG_IGN);
	raise_descriptor_limit();
	s.outfit.workers = outfit_count_workers(s.outfit.conf, single);
	net_tickets_init(&s.tickets, clock_wall());
	hash_random(&s.via_suffix, sizeof(s.via_suffix));
	hash_random(&s.remembered_seed, sizeof(s.remembered_seed));
	/* Without memory for all of them workers have tables that end with them. */
	if (!single) {
		hash_random(&s.limit_seed, sizeof(s.limit_seed));
		(void)limit_memories_open(&s.outfit.limits, s.outfit.conf, s.outfit.workers);
	}
	if (predecessor >= 0 && !handover_take(&s, predecessor, error, sizeof(error))) {
		fprintf(stderr, "pushgate: %s\n", error);
		start_close(&s);
		free(path);
		return PROCESS_FAILED;
	}
	if (!activation_take(&s.sockets, s.outfit.conf, stderr)) {
		start_close(&s);
		free(path);
		return PROCESS_BAD_CONF;
	}
	enum process_status status = examine_needs(&s);
	if (status != PROCESS_DONE) {
		start_close(&s);
		free(path);
		return (int)status;
	}
	status = PROCESS_FAILED;
	s.notify_fd = notify_open();
	if (!start_open(&s, single, error, sizeof(error)))
		fprintf(stderr, "pushgate: %s\n", error);
	else
		status = single ? single_run(&s) : master_run(&s);
	start_close(&s);
	free(path);
	return (int)status;
}
