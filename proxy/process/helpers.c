/* SPDX-License-Identifier: MIT */
/*
 * The table of the helper processes. The master starts a helper, reads its messages, connects workers with it, and
 * starts it again when it dies: only the work that it had in hand is lost. A new helper is a row here and a file with
 * its service (helper.h).
 */
#include "proxy/base/descriptor.h"
#include "proxy/process/acme_helper.h"
#include "proxy/process/master.h"
#include "proxy/process/passwords.h"
#include "proxy/process/tracer.h"
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Until a worker's socket to a helper is tried again. */
#define LINK_AGAIN_USEC USEC_PER_SEC
/* Messages of a helper before the master looks at its other children. */
#define MESSAGES_AT_ONCE 64u

/* ---- the table ---- */

static bool before_contents(const struct generation *g)
{
	return !generation_may_start_workers(g);
}

static bool before_ready(const struct generation *g)
{
	return g->phase == GENERATION_RUNNING && !g->was_ready;
}

/*
 * The files process looks at its files every two seconds (HELPER_CHECK_USEC), and sends each object at most once then,
 * and each of them once at its start.
 */
static struct rate contents_rate(const struct generation *g)
{
	uint32_t objects = (uint32_t)g->contents.count;
	return (struct rate){.per_second = objects, .burst = 8 * objects};
}

/* A message for each new certificate; after a long outage all of them come together. */
static struct rate certificates_rate(const struct generation *g)
{
	uint32_t listens = (uint32_t)g->outfit.conf->listen_count;
	return (struct rate){.per_second = 1, .burst = 2 * listens + 2};
}

const struct helper_row helper_rows[HELPERS] = {
    [HELPER_FILES] = {.name = "the files process",
	.title = "files",
	.run = files_run,
	.is_needed = files_are_needed,
	.last_phase = GENERATION_RUNNING,
	.keeps_contents = true,
	.contents = contents_rate,
	.ends_the_start = before_contents,
	.loses = ": what was remembered since the last save is lost"},
    /* While workers drain, their last requests may still need it. */
    [HELPER_PASSWORDS] = {.name = "the password process",
	.title = "passwords",
	.run = passwords_run,
	.is_needed = passwords_are_needed,
	.last_phase = GENERATION_DRAINING,
	.ends_the_start = before_ready,
	.loses = ""},
    [HELPER_TRACER] = {.name = "the tracer",
	.title = "tracer",
	.run = tracer_run,
	.is_needed = tracer_is_needed,
	.last_phase = GENERATION_DRAINING,
	.ends_the_start = before_ready,
	.loses = ": the spans that it had are lost"},
    [HELPER_ACME] = {.name = "the ACME process",
	.title = "acme",
	.run = acme_helper_run,
	.is_needed = acme_helper_is_needed,
	.last_phase = GENERATION_RUNNING,
	.contents = certificates_rate,
	.renews_files = true,
	.loses = ": the order that it had begun is lost"},
};

void generation_helpers_init(struct generation *g)
{
	for (size_t i = 0; i < HELPERS; i++) {
		bool needed = !helper_rows[i].is_needed || helper_rows[i].is_needed(g->outfit.conf);
		child_init(&g->helpers[i]);
		g->helpers_end_by[i] = USEC_NEVER;
		g->helpers[i].start_at = needed ? 0 : USEC_NEVER;
	}
	g->files_wait_until = g->master->now + FILES_START_SECONDS * USEC_PER_SEC;
	files_contents_init(&g->contents, g->outfit.conf);
	generation_begin_remembered(g);
	g->files_was_ready = !files_are_needed(g->outfit.conf);
}

void generation_helpers_fini(struct generation *g)
{
	for (size_t i = 0; i < HELPERS; i++)
		control_close(&g->helpers[i].control);
	files_contents_fini(&g->contents);
}

/* ---- messages ---- */

/* A file that the configuration names has changed: like a change that watch-files sees. */
static void take_renewal(struct generation *g, int fd)
{
	descriptor_close(&fd);
	/* A reload that is under way ends first. */
	if (g != g->master->running && g != g->master->coming)
		return;
	g->master->reload_is_of_files |= !g->master->reload_is_due;
	g->master->reload_is_due = true;
}

/* Takes fd. */
static void take_content(struct generation *g, uint32_t object, int fd)
{
	files_contents_set(&g->contents, object, fd);
	if (object == files_memory_object(g->outfit.conf))
		generation_keep_remembered(g);
}

void generation_read_helper(struct generation *g, enum helper_id id)
{
	struct rate rate = {0};
	if (helper_rows[id].contents)
		rate = helper_rows[id].contents(g);
	for (unsigned left = MESSAGES_AT_ONCE; left > 0; left--) {
		uint32_t object;
		int fd;
		enum control_heard heard = control_hear(&g->helpers[id].control,
		    helper_rows[id].contents ? &rate : NULL, g->master->now, &object, &fd);
		if (heard == CONTROL_NOTHING)
			return;
		if (heard == CONTROL_READY)
			g->files_was_ready |= id == HELPER_FILES;
		else if (helper_rows[id].renews_files)
			take_renewal(g, fd);
		else if (fd >= 0)
			take_content(g, object, fd);
		else
			g->master->observe.counters->files_unusable++;
	}
}

/* ---- deaths ---- */

/* The helper is down, or is to end: it sees the end of its control socket. */
static void disconnect(struct generation *g, enum helper_id id)
{
	control_close(&g->helpers[id].control);
	for (uint32_t i = 0; i < g->outfit.workers; i++)
		g->workers[i].is_linked[id] = false;
}

static void helper_died(struct generation *g, enum helper_id id, int status)
{
	const struct helper_row *row = &helper_rows[id];
	struct child *h = &g->helpers[id];
	char how[128];
	child_describe_end(status, how);
	h->pid = 0;
	g->master->ledger.pace.at = 0;
	generation_read_helper(g, id);
	disconnect(g, id);
	if (g->phase == GENERATION_ENDED) {
		if (status != 0 && row->loses[0])
			observe_log(&g->master->observe, OBSERVE_ERROR, "%s %s%s", row->name, how,
			    row->loses);
		return;
	}
	if (g == g->master->coming) {
		char why[192];
		snprintf(why, sizeof(why), "%s %s", row->name, how);
		master_give_up(g->master, why);
		return;
	}
	/* It was not needed any more: its generation is superseded, or was given up. */
	if ((g != g->master->running || g->is_superseded) && g->phase > row->last_phase)
		return;
	if (WIFEXITED(status) && WEXITSTATUS(status) == HELPER_CANNOT_START &&
	    row->ends_the_start && row->ends_the_start(g)) {
		/* It has logged why, and another one would say the same: end. */
		h->start_at = USEC_NEVER;
		g->master->status = PROCESS_BAD_CONF;
		generation_force(g);
		return;
	}
	usec wait = child_died(h, g->master->now);
	observe_log(&g->master->observe, OBSERVE_ERROR, "%s %s; it is started again in %llu ms",
	    row->name, how, (unsigned long long)(wait / USEC_PER_MSEC));
}

bool generation_helper_died(struct generation *g, pid_t pid, int status)
{
	for (enum helper_id id = 0; id < HELPERS; id++)
		if (g->helpers[id].pid == pid) {
			helper_died(g, id, status);
			return true;
		}
	return false;
}

/* ---- connecting workers ---- */

static bool connect_worker(struct generation *g, enum helper_id id, uint32_t index)
{
	const struct message message = {.kind = MESSAGE_LINK, .worker = index, .helper = id};
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
		return false;
	/* If one message is not sent, the other process sees the end of its socket. */
	bool is_sent = control_tell(&g->helpers[id].control, &message, pair[1]) &&
		       generation_tell_worker(g, index, &message, pair[0]);
	close(pair[0]);
	close(pair[1]);
	return is_sent;
}

static usec connect_workers(struct generation *g, enum helper_id id)
{
	usec next = USEC_NEVER;
	for (uint32_t i = 0; g->helpers[id].control.is_ready && i < g->outfit.workers; i++) {
		struct worker_slot *slot = &g->workers[i];
		if (slot->child.control.socket < 0 || slot->is_linked[id])
			continue;
		slot->is_linked[id] = connect_worker(g, id, i);
		if (!slot->is_linked[id])
			next = g->master->now + LINK_AGAIN_USEC;
	}
	return next;
}

/* ---- starts ---- */

bool generation_may_start_workers(const struct generation *g)
{
	return g->files_was_ready || g->files_is_late;
}

/* Returns when to call it again. */
static usec warn_of_late_files(struct generation *g)
{
	if (generation_may_start_workers(g) || g->phase != GENERATION_RUNNING)
		return USEC_NEVER;
	if (g->master->now < g->files_wait_until)
		return g->files_wait_until;
	observe_log(&g->master->observe, OBSERVE_WARN,
	    "the files process has not read the configured files within %d s; the workers start "
	    "without them, and get them when it has",
	    FILES_START_SECONDS);
	g->files_is_late = true;
	return USEC_NEVER;
}

/* Kills a helper that was to end by now. Returns when to call it again. */
static usec enforce_end(struct generation *g, enum helper_id id)
{
	usec by = g->helpers_end_by[id];
	const struct conf_server *server = &g->outfit.conf->server;
	bool remembers = server->remembered.file;
	if (!g->helpers[id].pid || g->master->now < by)
		return g->helpers[id].pid ? by : USEC_NEVER;
	char line[192];
	snprintf(line, sizeof(line), "%s did not end in time and is killed%s", helper_rows[id].name,
	    id == HELPER_FILES && !remembers ? "; it had nothing to save" : helper_rows[id].loses);
	/* At the end of pushgate the logger may hang for the same reason. */
	if (g->master->running->phase == GENERATION_ENDED)
		master_log_directly(g->master, line);
	else
		observe_log(&g->master->observe, OBSERVE_ERROR, "%s", line);
	kill(g->helpers[id].pid, SIGKILL);
	g->helpers_end_by[id] = USEC_NEVER;
	return USEC_NEVER;
}

static usec run_helper(struct generation *g, enum helper_id id)
{
	struct child *h = &g->helpers[id];
	bool may_start = g->phase <= helper_rows[id].last_phase && !h->pid;
	if (may_start && g->master->now >= h->start_at)
		generation_start_helper(g, id);
	usec next = connect_workers(g, id);
	next = clock_earlier(next, control_enforce(&h->control, h->pid, helper_rows[id].name,
				       &g->master->observe, g->master->now));
	next = clock_earlier(next, enforce_end(g, id));
	return may_start && !h->pid ? clock_earlier(next, h->start_at) : next;
}

usec generation_run_helpers(struct generation *g)
{
	usec next = USEC_NEVER;
	for (enum helper_id id = 0; id < HELPERS; id++)
		next = clock_earlier(next, run_helper(g, id));
	return clock_earlier(next, warn_of_late_files(g));
}

/* ---- the end ---- */

bool generation_helpers_are_ready(const struct generation *g)
{
	for (enum helper_id id = 0; id < HELPERS; id++)
		if (g->helpers[id].start_at != USEC_NEVER && !g->helpers[id].control.is_ready)
			return false;
	return true;
}

void generation_retire_helper(struct generation *g, enum helper_id id)
{
	disconnect(g, id);
	g->helpers_end_by[id] =
	    clock_earlier(g->helpers_end_by[id], clock_after(g->master->now, HELPER_END_USEC));
}

void generation_retire_helpers(struct generation *g)
{
	g->phase = GENERATION_ENDED;
	g->deadline = USEC_NEVER;
	for (enum helper_id id = 0; id < HELPERS; id++)
		generation_retire_helper(g, id);
}

bool generation_has_helpers(const struct generation *g)
{
	for (enum helper_id id = 0; id < HELPERS; id++)
		if (g->helpers[id].pid)
			return true;
	return false;
}

static bool have_helpers(const struct master *m)
{
	for (uint32_t i = 0; i < m->generation_count; i++)
		if (generation_has_helpers(m->generations[i]))
			return true;
	return false;
}

/* All end by themselves when the master closes the control socket. */
void master_end_helpers(struct master *m)
{
	for (uint32_t i = 0; i < m->generation_count; i++)
		generation_retire_helpers(m->generations[i]);
	while (have_helpers(m)) {
		usec next = USEC_NEVER;
		for (uint32_t i = 0; i < m->generation_count; i++)
			next = clock_earlier(next, generation_run_helpers(m->generations[i]));
		master_wait_for_signal(m, next);
	}
}
