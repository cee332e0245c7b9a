/* SPDX-License-Identifier: MIT */
/*
 * The first half of a reload: reads the configuration as a start does, and begins another generation with it, or gives
 * changed files to the one that runs. All that is wrong goes to the error log, and then nothing else has happened.
 * generations.c has the second half.
 */
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/process/hand_on.h"
#include "proxy/process/lists.h"
#include "proxy/process/master.h"
#include "proxy/process/notify.h"
#include "proxy/process/start_needs.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The pause after a configuration was read, or as long as that took: status-socket and signals may ask at any rate. */
#define RELOAD_PAUSE_USEC (200 * USEC_PER_MSEC)

/* Each line of a report as one of the error log. */
static void log_lines(struct master *m, enum observe_level level, const char *text)
{
	struct slice rest = slice_of_string(text);
	while (rest.len > 0) {
		struct slice line = slice_cut(&rest, '\n');
		if (line.len > 0)
			observe_log(&m->observe, level, "reload: %.*s", SLICE_ARG(line));
	}
}

static bool differ(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) != 0 : a != b;
}

static void warn_of_the_logger(
    struct master *m, const struct conf *conf, const char *key, bool differs)
{
	struct conf_place at = conf_find_place(conf, "server", 0, key, 0);
	if (m->logger.pid && differs)
		observe_log(&m->observe, OBSERVE_WARN,
		    "reload: %s:%u: the logger keeps the %s that it has until it is started again",
		    at.file, at.line, key);
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
	    {"keylog-file", s->keylog_file, conf->server.keylog_file},
	    {"status-socket", s->status_path, conf->server.status_socket},
	};
	warn_of_the_logger(m, conf, "user", differ(m->logger_user, conf->server.user));
	warn_of_the_logger(m, conf, "sandbox", m->logger_sandbox != conf->server.sandbox);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct conf_place at = conf_find_place(conf, "server", 0, rows[i].key, 0);
		if (differ(rows[i].now, rows[i].wanted))
			observe_log(&m->observe, OBSERVE_WARN,
			    "reload: %s:%u: another %s needs a restart; %s stays in use", at.file,
			    at.line, rows[i].key, rows[i].now ? rows[i].now : "none");
	}
}

/* The first line that is about a mistake: printable. */
static void keep_cause(struct status_reload *r, const char *cause)
{
	struct slice rest = slice_of_string(cause), line = {0};
	while (rest.len > 0) {
		line = slice_cut(&rest, '\n');
		if (!memmem(line.ptr, line.len, ": warning: ", strlen(": warning: ")))
			break;
	}
	snprintf(r->cause, sizeof(r->cause), "%.*s", SLICE_ARG(line));
	for (char *p = r->cause; *p; p++)
		if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
			*p = '?';
}

void master_end_reload(
    struct master *m, enum process_status status, const char *result, const char *cause)
{
	char text[sizeof(m->last_reload.cause) + 64];
	struct observe_counters *c = m->start->slot;
	c->reloads_done += strcmp(result, STATUS_RELOAD_DONE) == 0;
	c->reloads_same += strcmp(result, STATUS_RELOAD_SAME) == 0;
	c->reloads_refused += strcmp(result, STATUS_RELOAD_REFUSED) == 0;
	m->last_reload = (struct status_reload){
	    .at = clock_wall(), .generation = m->running->number, .result = result};
	m->ledger.pace.at = 0;
	keep_cause(&m->last_reload, cause ? cause : "");
	snprintf(text, sizeof(text), "serving; last reload: %s%s%s", result, cause ? ": " : "",
	    m->last_reload.cause);
	notify_ready(m->start->notify_fd, text);
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
	    .own = &m->start->sockets,
	    .keeps_files = true};
	unsigned change = renewal_compare(m->running->outfit.conf, conf);
	if (renewal_is_in_place(change))
		return conf;
	if (change == 0)
		*status = PROCESS_DONE;
	else if ((change & RENEWAL_OF_CONFIGURATION) && m->reload_is_of_files)
		fprintf(
		    report, "the configuration itself has changed too: tell pushgate to reload\n");
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
		master_end_reload(m, PROCESS_FAILED, STATUS_RELOAD_REFUSED, why);
		return;
	}
	warn_of_what_stays(m, conf);
	(void)hand_on_health(&outfit, &m->running->outfit, m->now);
	if (m->start->status_fd >= 0 && !outfit_take_orders(&outfit, why, sizeof(why)))
		observe_log(&m->observe, OBSERVE_WARN,
		    "reload: what was ordered for servers is not handed on: %s", why);
	server_orders_list_give(&m->start->orders, conf, conf, outfit.orders);
	if (!hand_on_limits(&outfit, &m->running->outfit))
		observe_log(&m->observe, OBSERVE_WARN,
		    "reload: there is no memory for all tables of limits: some begin anew");
	m->coming = master_add_generation(m, &outfit);
	m->now = clock_monotonic();
	m->coming->deadline = m->now + MASTER_COME_UP_USEC;
	m->take_over_at = 0;
	observe_log(&m->observe, OBSERVE_INFO, "reload: generation %u comes up, %u worker%s",
	    m->coming->number, outfit.workers, outfit.workers == 1 ? "" : "s");
}

#define NOTHING_ELSE "; nothing else has changed"
#define NEW_CERTIFICATES "new connections use the new certificates, keys and authorities"

/* The message about a change, by the bits of the change. */
static const char *const renewed[] = {
    [RENEWAL_OF_CERTIFICATES] = NEW_CERTIFICATES NOTHING_ELSE,
    [RENEWAL_OF_LISTS] = "the workers get the new lists, pages and passwords" NOTHING_ELSE,
    [RENEWAL_OF_CERTIFICATES | RENEWAL_OF_LISTS] =
	NEW_CERTIFICATES ", and the workers get the new lists, pages and passwords" NOTHING_ELSE,
};

static void end_renewal(struct master *m, const char *told, enum process_status status)
{
	bool is_done = status == PROCESS_DONE;
	observe_log(&m->observe, is_done ? OBSERVE_INFO : OBSERVE_ERROR, "reload: %s", told);
	reload_askers_tell(&m->askers, told);
	reload_askers_tell(&m->askers, "\n");
	master_end_reload(
	    m, status, is_done ? STATUS_RELOAD_DONE : STATUS_RELOAD_REFUSED, is_done ? NULL : told);
}

/* Gives the running generation the files that have changed. Another load of the same text takes the place of the running one:
 * workers that start later begin with that. The memory file of the lists is for those that run. */
static void renew(struct master *m, struct conf *conf, unsigned change)
{
	char why[128];
	struct generation *g = m->running;
	bool has_lists = change & RENEWAL_OF_LISTS;
	struct router_tables tables = {0};
	if (has_lists)
		tables = router_tables_make(conf, hash_random_seed());
	int lists = has_lists ? lists_seal(conf, &tables) : -1;
	if (has_lists && lists < 0) {
		snprintf(why, sizeof(why),
		    "no memory file for the new lists: %s; all stays as it was", strerror(errno));
		router_tables_free(&tables);
		conf_free(conf);
		end_renewal(m, why, PROCESS_FAILED);
		return;
	}
	m->now = clock_monotonic();
	outfit_exchange(&g->outfit, conf, has_lists ? &tables : NULL);
	generation_renew(g, change, lists);
	end_renewal(m, renewed[change], PROCESS_DONE);
}

#define SAME "nothing is to be done: the configuration and all its files are the same"
#define REFUSED "the new configuration is not used, and all stays as it was"

static void refuse(struct master *m, enum process_status status, const char *report)
{
	bool is_same = status == PROCESS_DONE;
	observe_log(&m->observe, is_same ? OBSERVE_INFO : OBSERVE_ERROR, "reload: %s",
	    is_same ? SAME : REFUSED);
	reload_askers_tell(&m->askers, is_same ? SAME "\n" : REFUSED "\n");
	master_end_reload(m, status, is_same ? STATUS_RELOAD_SAME : STATUS_RELOAD_REFUSED,
	    is_same ? NULL : report);
}

/* The report is the caller's to free. */
static struct conf *load_with_report(struct master *m, char **report, enum process_status *status)
{
	size_t size;
	FILE *stream = open_memstream(report, &size);
	*status = PROCESS_FAILED;
	if (!stream)
		return NULL;
	struct conf *conf = load(m, stream, status);
	fclose(stream);
	return conf;
}

void master_reload(struct master *m)
{
	char *report = NULL;
	enum process_status status;
	usec begun = clock_monotonic();
	m->reload_is_due = false;
	reload_askers_begin(&m->askers);
	notify_reloading(m->start->notify_fd);
	watchdog_pause(&m->watchdog, m->start->notify_fd);
	struct conf *conf = load_with_report(m, &report, &status);
	m->reload_is_of_files = false;
	m->now = clock_monotonic();
	if (!report)
		report = memory_strdup("no memory for a report\n");
	reload_askers_tell(&m->askers, report);
	log_lines(m, conf || status == PROCESS_DONE ? OBSERVE_WARN : OBSERVE_ERROR, report);
	unsigned change = conf ? renewal_compare(m->running->outfit.conf, conf) : 0;
	if (renewal_is_in_place(change))
		renew(m, conf, change);
	else if (conf)
		begin(m, conf);
	else
		refuse(m, status, report);
	free(report);
	watchdog_go_on(&m->watchdog, m->start->notify_fd);
	/* Files and tables may have taken long. Whatever asks for reloads, the master has as much time for all else. */
	m->now = clock_monotonic();
	m->reload_at =
	    m->now + (m->now - begun > RELOAD_PAUSE_USEC ? m->now - begun : RELOAD_PAUSE_USEC);
}
