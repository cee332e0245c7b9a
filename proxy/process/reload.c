/* SPDX-License-Identifier: MIT */
/*
 * The first half of a reload: reads the configuration as a start does, and begins another generation with it. All that
 * is wrong goes to the error log, and then nothing else has happened. generations.c has the second half.
 */
#include "proxy/process/master.h"
#include "proxy/process/notify.h"
#include "proxy/process/start_needs.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Each line of a report as one of the error log. */
static void log_lines(struct master *m, enum observe_level level, char *text)
{
	char *line;
	for (char *rest = text; (line = strsep(&rest, "\n"));)
		if (*line)
			observe_log(&m->observe, level, "reload: %s", line);
}

static bool differ(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) != 0 : a != b;
}

/* What the master keeps as it was at the start. */
static void warn_of_what_stays(struct master *m, const struct conf *conf)
{
	const struct start *s = m->start;
	const struct {
		const char *key, *now, *wanted;
	} rows[] = {
	    {"error-log", s->error_log, conf->server.error_log},
	    {"access-log", s->access_log, conf->server.access_log},
	    {"status-socket", s->status_path, conf->server.status_socket},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct conf_place at = conf_find_place(conf, "server", 0, rows[i].key, 0);
		if (differ(rows[i].now, rows[i].wanted))
			observe_log(&m->observe, OBSERVE_WARN,
			    "reload: %s:%u: another %s needs a restart; %s stays in use", at.file,
			    at.line, rows[i].key, rows[i].now ? rows[i].now : "none");
	}
}

void master_end_reload(struct master *m, enum process_status status)
{
	notify_ready(m->start->notify_fd);
	reload_askers_end(&m->askers, status);
}

/* The configuration, if a start with it could succeed. NULL: the report says why not, unless nothing has changed, which
 * *status tells apart. */
static struct conf *load(struct master *m, FILE *report, enum process_status *status)
{
	struct conf_findings findings = {.text = report};
	struct conf *conf = conf_load(m->start->conf_path, true, &findings);
	*status = PROCESS_BAD_CONF;
	if (!conf)
		return NULL;
	struct start_needs needs = {.conf = conf,
	    .findings = &findings,
	    .workers = outfit_count_workers(conf, false),
	    .own = &m->start->sockets};
	if (conf->digest == m->running->outfit.conf->digest)
		*status = PROCESS_DONE;
	else if (start_needs_walk(&needs))
		return conf;
	else if (needs.count[NEED_FAULT] == 0)
		*status = PROCESS_FAILED;
	conf_free(conf);
	return NULL;
}

static void begin(struct master *m, struct conf *conf)
{
	char why[512];
	struct outfit outfit = {.conf = conf, .workers = outfit_count_workers(conf, false)};
	if (!outfit_open(&outfit, &m->start->sockets, why, sizeof(why))) {
		observe_log(&m->observe, OBSERVE_ERROR, "reload: %s; all stays as it was", why);
		outfit_close(&outfit);
		reload_askers_tell(&m->askers, why);
		reload_askers_tell(&m->askers, "\n");
		master_end_reload(m, PROCESS_FAILED);
		return;
	}
	warn_of_what_stays(m, conf);
	m->coming = master_add_generation(m, &outfit);
	m->coming->deadline = m->now + MASTER_COME_UP_USEC;
	m->take_over_at = 0;
	observe_log(&m->observe, OBSERVE_INFO, "reload: generation %u comes up, %u worker%s",
	    m->coming->number, outfit.workers, outfit.workers == 1 ? "" : "s");
}

#define SAME "nothing is to be done: the configuration and all its files are the same"
#define REFUSED "the new configuration is not used, and all stays as it was"

static void refuse(struct master *m, enum process_status status)
{
	bool is_same = status == PROCESS_DONE;
	observe_log(&m->observe, is_same ? OBSERVE_INFO : OBSERVE_ERROR, "reload: %s",
	    is_same ? SAME : REFUSED);
	reload_askers_tell(&m->askers, is_same ? SAME "\n" : REFUSED "\n");
	master_end_reload(m, status);
}

void master_reload(struct master *m)
{
	char *text = NULL;
	size_t size = 0;
	enum process_status status;
	FILE *report = open_memstream(&text, &size);
	m->reload_is_due = false;
	if (!report)
		return;
	reload_askers_begin(&m->askers);
	notify_reloading(m->start->notify_fd);
	struct conf *conf = load(m, report, &status);
	fclose(report);
	reload_askers_tell(&m->askers, text);
	log_lines(m, conf || status == PROCESS_DONE ? OBSERVE_WARN : OBSERVE_ERROR, text);
	free(text);
	if (conf)
		begin(m, conf);
	else
		refuse(m, status);
}
