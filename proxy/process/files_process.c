/* SPDX-License-Identifier: MIT */
/*
 * The files process: reads manifests, the hosts file and resolv.conf when they change and hands them to the workers,
 * and writes the learned table. For each worker and object it knows whether the present content is still to be sent.
 */
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/base/rate.h"
#include "proxy/offer/offer.h"
#include "proxy/process/files.h"
#include "proxy/process/helper.h"
#include "proxy/process/sandbox.h"
#include <errno.h>
#include <malloc.h>
#include <string.h>

/* Messages before the master's are looked at. */
#define MESSAGES_AT_ONCE 64u
/* The worker whose learned table is saved. */
#define SAVER 0u
/* It saves once a minute and at its end. It may save four times at once, then every half minute. */
#define SAVE_TOKENS 30u
static const struct rate save_rate = {.per_second = 1, .burst = 4 * SAVE_TOKENS};

struct process {
	struct helper_process helper;
	struct files_contents *contents; /* borrowed */
	struct files files;
	bool *due; /* by worker and object: its content is still to be sent */
	struct bucket saves;
	bool has_said_too_often; /* since the last save */
};

/* ---- contents ---- */

static bool *due_of(const struct process *p, uint32_t worker, size_t object)
{
	return &p->due[worker * p->contents->count + object];
}

/* Keeps the bytes as the object's content, and tells the master. */
static void publish(struct process *p, size_t object, struct slice bytes)
{
	int fd = sealed_make(bytes);
	if (fd < 0) {
		observe_log(&p->helper.observe, OBSERVE_ERROR, "cannot make a memory file: %s",
		    strerror(errno));
		return;
	}
	files_contents_set(p->contents, object, fd);
	helper_tell_master(&p->helper, MESSAGE_CONTENT, object, fd);
	for (uint32_t w = 0; object != p->files.manifest_count && w < p->helper.env->workers; w++)
		*due_of(p, w, object) = p->helper.links[w] >= 0;
}

static void report(void *context, size_t object, bool is_changed, const char *line)
{
	struct process *p = context;
	if (line)
		observe_log(&p->helper.observe, OBSERVE_WARN, "%s", line);
	if (is_changed)
		publish(p, object, files_content(&p->files, object));
	else /* without a file: the master counts an object that could not be read (files_unusable) */
		helper_tell_master(&p->helper, MESSAGE_CONTENT, object, -1);
}

/* The files process before this one has published the same manifests, unless the files have changed since. */
static void report_resumed(void *context, size_t object, bool is_changed, const char *line)
{
	struct process *p = context;
	size_t length;
	bool is_manifest = object < p->files.manifest_count;
	void *bytes = is_manifest && is_changed
			  ? sealed_map(p->contents->fds[object], OFFER_MANIFEST_FLAT_BYTES, &length)
			  : NULL;
	bool is_same =
	    bytes && slice_equal(slice_of(bytes, length), files_content(&p->files, object));
	if (bytes)
		sealed_unmap(bytes, length);
	if (!is_same)
		report(p, object, is_changed, line);
}

static void disconnected(void *context, uint32_t worker)
{
	struct process *p = context;
	for (size_t i = 0; i < p->contents->count; i++)
		*due_of(p, worker, i) = false;
	if (worker == SAVER)
		files_forget_pages(&p->files);
}

static void connected(void *context, uint32_t worker, bool is_behind)
{
	struct process *p = context;
	for (size_t i = 0; i < p->contents->count; i++)
		*due_of(p, worker, i) = p->contents->fds[i] >= 0;
	*due_of(p, worker, p->files.manifest_count) =
	    is_behind && p->helper.env->conf->server.learned_file;
}

static bool send_due(void *context, uint32_t worker)
{
	struct process *p = context;
	for (size_t i = 0; i < p->contents->count; i++) {
		bool *due = due_of(p, worker, i);
		const struct files_message m = {.kind = FILES_CONTENT, .object = (uint32_t)i};
		if (!*due)
			continue;
		if (!files_send(
			p->helper.links[worker], &m, (struct slice){0}, p->contents->fds[i], false))
			return true;
		*due = false;
	}
	return false;
}

/* ---- messages of workers ---- */

static void save(struct process *p)
{
	char error[512];
	usec now = clock_monotonic();
	bool is_too_often = !bucket_take(&p->saves, &save_rate, SAVE_TOKENS, now);
	if (is_too_often && !p->has_said_too_often)
		observe_log(&p->helper.observe, OBSERVE_WARN, "learned: saved too often; left out");
	p->has_said_too_often = is_too_often;
	if (is_too_often) {
		files_forget_pages(&p->files);
		return;
	}
	if (files_save_learned(&p->files, now, error, sizeof(error)))
		publish(p, p->files.manifest_count, slice_of(p->files.pages, p->files.length));
	else
		observe_log(&p->helper.observe, OBSERVE_WARN, "learned: %s", error);
	files_forget_pages(&p->files);
	malloc_trim(0); /* the table is needed again in a minute at the earliest */
}

static bool obey(void *context, uint32_t worker, const void *message, size_t length)
{
	struct process *p = context;
	struct files_message m;
	if (length < sizeof(m) || worker != SAVER || !p->helper.env->conf->server.learned_file)
		return false;
	memcpy(&m, message, sizeof(m));
	struct slice page = slice_of((const char *)message + sizeof(m), length - sizeof(m));
	if (m.object != p->files.manifest_count)
		return false;
	if (m.kind == FILES_SAVE && page.len == 0)
		save(p);
	else if (m.kind == FILES_PAGE && page.len > 0)
		files_add_page(&p->files, page);
	else
		return false;
	return true;
}

/* ---- the service ---- */

static void check(void *context)
{
	struct process *p = context;
	files_check(&p->files, report, p);
}

/* Reads all files, or those that have changed since the files process before this one. */
static void begin(void *context)
{
	struct process *p = context;
	const struct conf *conf = p->helper.env->conf;
	size_t learned = manifests_configured(conf);
	char error[512], line[600];
	if (!p->helper.env->is_first) {
		files_resume(&p->files, conf, p->contents);
		files_check(&p->files, report_resumed, p);
		return;
	}
	files_open(&p->files, conf, report, p);
	for (size_t i = 0; i < learned; i++)
		publish(p, i, files_content(&p->files, i));
	if (!conf->server.learned_file)
		return;
	if (!files_read_learned(&p->files, clock_monotonic(), error, sizeof(error))) {
		snprintf(line, sizeof(line), "learned: %s", error);
		report(p, learned, false, line);
	} else if (p->files.length > 0) {
		publish(p, learned, slice_of(p->files.pages, p->files.length));
	}
	files_forget_pages(&p->files);
}

static const struct helper_service service = {
    .process = "pushgate-files",
    .origin = OBSERVE_FILES,
    .sandbox = SANDBOX_FILES | SANDBOX_READS,
    .message_bytes = sizeof(struct files_message) + OFFER_LEARNED_PAGE_BYTES,
    .at_once = MESSAGES_AT_ONCE,
    .serves_ended = true,
    .begin = begin,
    .check = check,
    .obey = obey,
    .connected = connected,
    .disconnected = disconnected,
    .send_due = send_due,
};

int files_run(const struct helper_env *env)
{
	struct process *p = memory_new(struct process);
	struct helper_service own = service;
	if (env->conf->server.learned_file)
		own.sandbox |= SANDBOX_SAVES;
	p->contents = env->contents;
	p->due = memory_zalloc(env->workers * p->contents->count * sizeof(*p->due));
	offer_seed(hash_random_seed());
	int status = helper_serve(&p->helper, &own, env, p);
	files_close(&p->files);
	free(p->due);
	free(p);
	return status;
}
