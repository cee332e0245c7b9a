/* SPDX-License-Identifier: MIT */
/*
 * The files process: reads manifests, the hosts file and resolv.conf when they change and hands them to the workers.
 * It owns the memory of pages. For each worker and object it knows whether the present content is still to be sent; of the
 * memory, up to which change.
 */
#include "proxy/base/descriptor.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/base/rate.h"
#include "proxy/offer/offer.h"
#include "proxy/process/files.h"
#include "proxy/process/helper.h"
#include "proxy/process/memory_owner.h"
#include "proxy/process/sandbox.h"
#include <errno.h>
#include <string.h>

/* Messages before the master's are looked at. */
#define MESSAGES_AT_ONCE 64u

/*
 * Changes of the memory to one worker. The longest message takes the worker a millisecond. A worker that was taken over
 * can change what is told again and again: it must not use up the time of all others.
 */
#define CHANGES_AT_ONCE 64u
#define CHANGES_NSEC (NSEC_PER_SEC / 32)

/* What a worker's copy of the memory has got. */
struct copy {
	uint64_t sent; /* up to this change */
	struct bucket pace;
};

struct process {
	struct helper_process helper;
	struct files_contents *contents; /* borrowed */
	struct files files;
	bool *due; /* by worker and object: its content is still to be sent */
	struct memory_owner owner;
	struct copy *copies; /* by worker */
	/* Of the memory: what was sent last, which other workers may need too. fd -1: nothing. */
	struct {
		uint64_t from, to;
		int fd;
	} changes;
};

/* ---- contents ---- */

static bool *due_of(const struct process *p, uint32_t worker, size_t object)
{
	return &p->due[worker * p->contents->count + object];
}

/* Takes fd as the object's content, and tells the master. */
static void keep(struct process *p, size_t object, int fd)
{
	files_contents_set(p->contents, object, fd);
	helper_tell_master(&p->helper, MESSAGE_CONTENT, object, fd);
}

static void publish(struct process *p, size_t object, struct slice bytes)
{
	int fd = sealed_make(bytes);
	if (fd < 0) {
		observe_log(&p->helper.observe, OBSERVE_ERROR, "cannot make a memory file: %s",
		    strerror(errno));
		return;
	}
	keep(p, object, fd);
	for (uint32_t w = 0; w < p->helper.env->workers; w++)
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

static size_t memory_object(const struct process *p)
{
	return p->contents->count - 1;
}

static void disconnected(void *context, uint32_t worker)
{
	struct process *p = context;
	for (size_t i = 0; i < p->contents->count; i++)
		*due_of(p, worker, i) = false;
}

static void connected(void *context, uint32_t worker)
{
	struct process *p = context;
	for (size_t i = 0; i < p->contents->count; i++)
		*due_of(p, worker, i) = p->contents->fds[i] >= 0;
	*due_of(p, worker, memory_object(p)) = false;
	p->copies[worker].sent = 0;
}

/* The lines that the worker is to get next, for it and for others. False: there are none. */
static bool next_changes(struct process *p, uint32_t worker)
{
	uint64_t since = p->copies[worker].sent;
	if (p->changes.fd >= 0 && p->changes.from == since)
		return true;
	int fd =
	    p->owner.memory ? files_memory_changes(p->owner.memory, &since, clock_monotonic()) : -1;
	if (fd < 0)
		return false;
	descriptor_close(&p->changes.fd);
	p->changes.from = p->copies[worker].sent;
	p->changes.to = since;
	p->changes.fd = fd;
	return true;
}

static bool may_send(const struct copy *c, usec now)
{
	return bucket_wait(&c->pace, CHANGES_NSEC, CHANGES_AT_ONCE * CHANGES_NSEC, now) == 0;
}

/* True: the worker's socket is full. What is not sent for its pace is tried again with the next message or check. */
static bool send_changes(struct process *p, uint32_t worker)
{
	struct copy *c = &p->copies[worker];
	const struct files_message m = {
	    .kind = FILES_CHANGES, .object = (uint32_t)memory_object(p)};
	while (may_send(c, clock_monotonic()) && next_changes(p, worker)) {
		/* Else too many descriptors are on their way: it is tried again after a while. */
		if (!files_send(p->helper.links[worker], &m, SLICE(""), p->changes.fd))
			return errno == EAGAIN || errno == ENOBUFS;
		bucket_spend(&c->pace, CHANGES_NSEC, clock_monotonic());
		c->sent = p->changes.to;
	}
	return false;
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
			p->helper.links[worker], &m, (struct slice){0}, p->contents->fds[i]))
			return true;
		*due = false;
	}
	return send_changes(p, worker);
}

/* ---- messages of workers ---- */

static bool obey(void *context, uint32_t worker, const void *message, size_t length)
{
	struct process *p = context;
	struct files_message m;
	(void)worker;
	if (length < sizeof(m))
		return false;
	memcpy(&m, message, sizeof(m));
	struct slice lesson = slice_of((const char *)message + sizeof(m), length - sizeof(m));
	return m.kind == FILES_LESSON && p->owner.memory && m.object == memory_object(p) &&
	       !remembered_take(p->owner.memory, lesson, clock_monotonic());
}

/* ---- the memory of pages ---- */

static void tend_memory(struct process *p)
{
	int copy = memory_owner_tend(&p->owner, clock_monotonic());
	if (copy >= 0)
		keep(p, memory_object(p), copy);
}

static void begin_memory(struct process *p)
{
	const struct conf *conf = p->helper.env->conf;
	if (!conf_remembers(conf))
		return;
	const struct remembered_options options = files_memory_options(conf);
	p->owner = (struct memory_owner){
	    .memory = remembered_new(&options, p->helper.env->remembered_seed, NULL),
	    .path = conf->server.remembered.file,
	    .observe = &p->helper.observe,
	    .rows = p->helper.env->remembered_rows,
	    .has_others = true};
	/* Without a file: the master counts an object that could not be read (files_unusable). */
	if (!memory_owner_begin(&p->owner, p->contents->fds[memory_object(p)], clock_monotonic()))
		helper_tell_master(&p->helper, MESSAGE_CONTENT, memory_object(p), -1);
	tend_memory(p);
}

/* What the generation before has known last, in place of what it knew when this one began. */
static void replace_memory(struct process *p, int copy)
{
	remembered_clear(p->owner.memory);
	files_contents_set(p->contents, memory_object(p), copy);
	(void)memory_owner_begin(&p->owner, copy, clock_monotonic());
}

static void told(void *context, const struct message *m, int fd)
{
	struct process *p = context;
	if (m->kind == MESSAGE_TAKE_REMEMBERED && p->owner.memory && fd >= 0) {
		replace_memory(p, fd);
		return;
	}
	descriptor_close(&fd);
	if (m->kind != MESSAGE_HAND_REMEMBERED || !p->owner.memory)
		return;
	int copy = memory_owner_copy(&p->owner, clock_monotonic());
	if (copy >= 0)
		keep(p, memory_object(p), copy);
}

/* ---- the service ---- */

static void check(void *context)
{
	struct process *p = context;
	files_check(&p->files, report, p);
	tend_memory(p);
}

/* Reads all files, or those that have changed since the files process before this one. */
static void begin(void *context)
{
	struct process *p = context;
	const struct conf *conf = p->helper.env->conf;
	if (p->helper.env->is_first) {
		files_open(&p->files, conf, report, p);
		for (size_t i = 0; i < p->files.manifest_count; i++)
			publish(p, i, files_content(&p->files, i));
	} else {
		files_resume(&p->files, conf, p->contents);
		files_check(&p->files, report_resumed, p);
	}
	begin_memory(p);
}

static const struct helper_service service = {
    .process = "pushgate-files",
    .origin = OBSERVE_FILES,
    .sandbox = SANDBOX_FILES | SANDBOX_READS,
    .message_bytes = sizeof(struct files_message) + REMEMBERED_MESSAGE_BYTES,
    .at_once = MESSAGES_AT_ONCE,
    .serves_ended = true,
    .begin = begin,
    .check = check,
    .obey = obey,
    .connected = connected,
    .disconnected = disconnected,
    .send_due = send_due,
    .told = told,
};

int files_run(const struct helper_env *env)
{
	struct process *p = memory_new(struct process);
	struct helper_service own = service;
	if (env->conf->server.remembered.file)
		own.sandbox |= SANDBOX_SAVES;
	p->contents = env->contents;
	p->due = memory_zalloc(env->workers * p->contents->count * sizeof(*p->due));
	p->copies = memory_zalloc(env->workers * sizeof(*p->copies));
	p->changes.fd = -1;
	offer_seed(hash_random_seed());
	int status = helper_serve(&p->helper, &own, env, p);
	memory_owner_end(&p->owner, clock_monotonic());
	remembered_free(p->owner.memory);
	descriptor_close(&p->changes.fd);
	files_close(&p->files);
	free(p->due);
	free(p->copies);
	free(p);
	return status;
}
