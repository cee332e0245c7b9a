/* SPDX-License-Identifier: MIT */
/*
 * The files process: reads manifests, the hosts file and resolv.conf when they change and hands them to the workers,
 * and writes the learned table. It becomes the workers' user and enters a sandbox before it parses anything. It ends when the master
 * closes its end of the control socket, after it has written what the workers sent.
 *
 * The workers face the network: a message that a worker may not send, or that is malformed, costs that worker
 * its socket.
 */
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/base/rate.h"
#include "proxy/offer/offer.h"
#include "proxy/process/child_message.h"
#include "proxy/process/files.h"
#include "proxy/process/helper.h"
#include "proxy/process/sandbox.h"
#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Messages of one socket before the others are looked at. */
#define MESSAGES_AT_ONCE 64u
/* The worker whose learned table is saved. */
#define SAVER 0u
/* It saves once a minute and at its end: four times at once, then every half minute, is what it may do. */
#define SAVE_TOKENS 30u
static const struct rate save_rate = {.per_second = 1, .burst = 4 * SAVE_TOKENS};

struct process {
	const struct files_env *env;
	struct files files;
	struct observe_counters counters; /* read by nobody: this process has no slot */
	struct observe observe;
	int *links; /* by worker; -1: none */
	bool *due;  /* by worker and object: its content is still to be sent */
	struct bucket saves;
	bool has_said_too_often; /* since the last save */
	struct pollfd *fds;      /* the control socket, then the links */
	uint8_t page[OFFER_LEARNED_PAGE_BYTES];
};

/* ---- contents ---- */

static bool *due_of(const struct process *p, uint32_t worker, size_t object)
{
	return &p->due[worker * p->env->contents->count + object];
}

static void tell_master(const struct process *p, enum message_kind kind, size_t object, int fd)
{
	const struct message m = {.kind = kind, .worker = (uint32_t)object};
	(void)!message_send_waiting(p->env->control, &m, fd);
}

/* Keeps the bytes as the object's content, and tells the master. */
static void publish(struct process *p, size_t object, struct slice bytes)
{
	int fd = sealed_make(bytes);
	if (fd < 0) {
		observe_log(
		    &p->observe, OBSERVE_ERROR, "cannot make a memory file: %s", strerror(errno));
		return;
	}
	files_contents_set(p->env->contents, object, fd);
	tell_master(p, MESSAGE_CONTENT, object, fd);
	for (uint32_t w = 0; object != p->files.manifest_count && w < p->env->workers; w++)
		*due_of(p, w, object) = p->links[w] >= 0;
}

/* Without a file: the master counts an object that could not be read (files_unusable). */
static void report_unusable(struct process *p, size_t object, const char *what, const char *line)
{
	observe_log(&p->observe, OBSERVE_WARN, "%s %s", what, line);
	tell_master(p, MESSAGE_CONTENT, object, -1);
}

static void report_manifest(void *context, size_t at, bool is_changed, const char *line)
{
	struct process *p = context;
	if (!is_changed) {
		report_unusable(p, at, "manifest", line);
		return;
	}
	observe_log(&p->observe, OBSERVE_WARN, "manifest %s", line);
	publish(p, at, files_manifest(&p->files, at));
}

/* A process that was before this one has published the same; a worker that gets it again changes nothing. */
static void check_texts(struct process *p)
{
	for (size_t i = 0; i < files_texts_configured(p->env->conf); i++) {
		char line[512] = "";
		size_t object = p->files.manifest_count + 1 + i;
		enum files_text_change change =
		    files_check_text(&p->files.texts[i], line, sizeof(line));
		if (change == FILES_TEXT_UNUSABLE)
			report_unusable(p, object, "names:", line);
		else if (change == FILES_TEXT_READ && line[0])
			observe_log(&p->observe, OBSERVE_WARN, "names: %s", line);
		if (change == FILES_TEXT_READ)
			publish(p, object, files_text(&p->files, i));
	}
}

/* Whoever was before this process has said the same already, unless the file has changed since. */
static void report_resumed(void *context, size_t at, bool is_changed, const char *line)
{
	struct process *p = context;
	size_t length;
	int fd = p->env->contents->fds[at];
	void *bytes = fd < 0 ? NULL : sealed_map(fd, OFFER_MANIFEST_FLAT_BYTES, &length);
	bool is_same = bytes && slice_equal(slice_of(bytes, length), files_manifest(&p->files, at));
	if (bytes)
		sealed_unmap(bytes, length);
	if (!is_changed || !is_same)
		report_manifest(p, at, is_changed, line);
}

static void close_link(struct process *p, uint32_t worker)
{
	if (p->links[worker] >= 0)
		close(p->links[worker]);
	p->links[worker] = -1;
	for (size_t i = 0; i < p->env->contents->count; i++)
		*due_of(p, worker, i) = false;
	if (worker == SAVER)
		files_forget_pages(&p->files);
}

/* Sends what is due as far as the socket takes it. True: something is left. */
static bool send_due(struct process *p, uint32_t worker)
{
	for (size_t i = 0; i < p->env->contents->count; i++) {
		bool *due = due_of(p, worker, i);
		const struct files_message m = {.kind = FILES_CONTENT, .object = (uint32_t)i};
		if (!*due)
			continue;
		if (!files_send(
			p->links[worker], &m, (struct slice){0}, p->env->contents->fds[i], false))
			return true;
		*due = false;
	}
	return false;
}

/* ---- what workers send ---- */

static void save(struct process *p)
{
	char error[512];
	usec now = clock_monotonic();
	bool is_too_often = !bucket_take(&p->saves, &save_rate, SAVE_TOKENS, now);
	if (is_too_often && !p->has_said_too_often)
		observe_log(&p->observe, OBSERVE_WARN, "learned: saved too often; left out");
	p->has_said_too_often = is_too_often;
	if (is_too_often) {
		files_forget_pages(&p->files);
		return;
	}
	if (files_save_learned(&p->files, now, error, sizeof(error)))
		publish(p, p->files.manifest_count, slice_of(p->files.pages, p->files.length));
	else
		observe_log(&p->observe, OBSERVE_WARN, "learned: %s", error);
	files_forget_pages(&p->files);
	malloc_trim(0); /* the table is needed again in a minute at the earliest */
}

/* False: the worker may not send this. */
static bool obey_worker(
    struct process *p, uint32_t worker, const struct files_message *m, size_t length)
{
	if (worker != SAVER || m->object != p->files.manifest_count ||
	    !p->env->conf->server.learned_file)
		return false;
	if (m->kind == FILES_SAVE && length == 0)
		save(p);
	else if (m->kind == FILES_PAGE && length > 0)
		files_add_page(&p->files, slice_of(p->page, length));
	else
		return false;
	return true;
}

static void read_link(struct process *p, uint32_t worker, unsigned most)
{
	while (most-- > 0 && p->links[worker] >= 0) {
		struct files_message m;
		int fd;
		ssize_t n = files_receive(p->links[worker], &m, p->page, sizeof(p->page), &fd);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		/* The worker has ended without having read all; what it sent is behind this. */
		if (n < 0 && errno == ECONNRESET)
			continue;
		bool is_good = n > 0 && fd < 0 && obey_worker(p, worker, &m, (size_t)n - sizeof(m));
		if (fd >= 0)
			close(fd);
		if (is_good)
			continue;
		if (n > 0 || (n < 0 && errno == EPROTO))
			observe_log(&p->observe, OBSERVE_ERROR,
			    "worker %u sent a malformed message; it is not listened to any more",
			    worker);
		close_link(p, worker);
	}
}

/* ---- what the master sends ---- */

static void open_link(struct process *p, uint32_t worker, bool is_behind, int fd)
{
	if (worker >= p->env->workers) {
		close(fd);
		return;
	}
	/* A worker that has ended well sent its table before. */
	read_link(p, worker, UINT32_MAX);
	close_link(p, worker);
	p->links[worker] = fd;
	for (size_t i = 0; i < p->files.manifest_count; i++)
		*due_of(p, worker, i) = p->env->contents->fds[i] >= 0;
	for (size_t i = p->files.manifest_count + 1; i < p->env->contents->count; i++)
		*due_of(p, worker, i) = p->env->contents->fds[i] >= 0;
	*due_of(p, worker, p->files.manifest_count) =
	    is_behind && p->env->conf->server.learned_file;
}

/* False: the master has closed its end. */
static bool read_control(struct process *p)
{
	struct message m;
	int fd;
	ssize_t n = message_receive(p->env->control, &m, &fd);
	if (n == (ssize_t)sizeof(m) && m.kind == MESSAGE_FILES && fd >= 0)
		open_link(p, m.worker, m.is_behind, fd);
	else if (fd >= 0)
		close(fd);
	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* ---- the loop ---- */

static void wait_for_messages(struct process *p, usec until)
{
	p->fds[0] = (struct pollfd){.fd = p->env->control, .events = POLLIN};
	for (uint32_t w = 0; w < p->env->workers; w++) {
		bool is_left = p->links[w] >= 0 && send_due(p, w);
		p->fds[w + 1] = (struct pollfd){
		    .fd = p->links[w], .events = is_left ? POLLIN | POLLOUT : POLLIN};
	}
	usec now = clock_monotonic();
	int wait = until > now ? (int)((until - now) / USEC_PER_MSEC) + 1 : 0;
	if (poll(p->fds, p->env->workers + 1, wait) <= 0)
		for (uint32_t i = 0; i <= p->env->workers; i++)
			p->fds[i].revents = 0;
}

static void serve(struct process *p)
{
	usec next_check = clock_monotonic() + FILES_CHECK_USEC;
	for (bool goes_on = true; goes_on;) {
		wait_for_messages(p, next_check);
		for (uint32_t w = 0; w < p->env->workers; w++)
			if (p->fds[w + 1].revents)
				read_link(p, w, MESSAGES_AT_ONCE);
		if (p->fds[0].revents)
			goes_on = read_control(p);
		if (clock_monotonic() < next_check)
			continue;
		files_check(&p->files, report_manifest, p);
		check_texts(p);
		next_check = clock_monotonic() + FILES_CHECK_USEC;
	}
	/* All workers have ended; the last one's table may be on its way. */
	for (uint32_t w = 0; w < p->env->workers; w++)
		read_link(p, w, UINT32_MAX);
}

/* ---- the start ---- */

static bool confine(const struct process *p, char *error, size_t error_size)
{
	const struct files_env *env = p->env;
	if (!identity_assume(env->identity, error, error_size))
		return false;
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* last: a change of user clears it */
	unsigned parts = SANDBOX_FILES | SANDBOX_READS | SANDBOX_BUILD;
	if (env->conf->server.learned_file)
		parts |= SANDBOX_SAVES;
	return getppid() == env->master &&
	       sandbox_enter(parts, env->conf->server.sandbox, error, error_size);
}

/* Reads everything for the first time, or only what has changed since another process read it. */
static void read_all(struct process *p)
{
	const struct files_env *env = p->env;
	char error[512];
	if (!env->is_first) {
		files_resume(&p->files, env->conf, env->contents);
		files_check(&p->files, report_resumed, p);
		check_texts(p);
		return;
	}
	files_open(&p->files, env->conf, report_manifest, p);
	check_texts(p);
	for (size_t i = 0; i < p->files.manifest_count; i++)
		publish(p, i, files_manifest(&p->files, i));
	if (!env->conf->server.learned_file)
		return;
	if (!files_read_learned(&p->files, clock_monotonic(), error, sizeof(error)))
		report_unusable(p, p->files.manifest_count, "learned:", error);
	else if (p->files.length > 0)
		publish(p, p->files.manifest_count, slice_of(p->files.pages, p->files.length));
	files_forget_pages(&p->files);
}

/* Logs the error and also prints it on the terminal, where the operator who starts pushgate looks. */
static void report_failure(struct process *p, const char *error)
{
	const struct log *l = p->env->error_log;
	observe_log(&p->observe, OBSERVE_ERROR, "%s", error);
	if (!l->path || strcmp(l->path, "-") != 0)
		fprintf(stderr, "pushgate: %s\n", error);
}

static void init(struct process *p, const struct files_env *env)
{
	p->env = env;
	p->observe = (struct observe){.counters = &p->counters,
	    .access_fd = -1,
	    .error_fd = log_target(env->error_log),
	    .is_journal = env->error_log->is_journal,
	    .level = OBSERVE_INFO,
	    .worker = OBSERVE_FILES};
	p->links = memory_alloc(env->workers * sizeof(*p->links));
	for (uint32_t w = 0; w < env->workers; w++)
		p->links[w] = -1;
	p->due = memory_zalloc(env->workers * env->contents->count * sizeof(*p->due));
	p->fds = memory_zalloc((env->workers + 1) * sizeof(*p->fds));
}

static void fini(struct process *p)
{
	for (uint32_t w = 0; w < p->env->workers; w++)
		close_link(p, w);
	files_close(&p->files);
	free(p->links);
	free(p->due);
	free(p->fds);
	free(p);
}

int files_run(const struct files_env *env)
{
	struct process *p = memory_new(struct process);
	char error[512] = "";
	prctl(PR_SET_NAME, "pushgate-files");
	helper_ignore_signals();
	init(p, env);
	offer_seed(hash_random_seed());
	bool is_up = confine(p, error, sizeof(error));
	if (is_up) {
		read_all(p);
		tell_master(p, MESSAGE_READY, 0, -1);
		serve(p);
	} else {
		report_failure(p, error);
	}
	fini(p);
	return is_up ? 0 : FILES_CANNOT_START;
}
