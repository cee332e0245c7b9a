/* SPDX-License-Identifier: MIT */
/* Opens and reopens log files, makes their pipes, and sends files to the logger (unix(7)). */
#include "proxy/process/logs.h"
#include "proxy/base/descriptor.h"
#include "proxy/base/ensure.h"
#include "proxy/observe/observe.h"
#include "proxy/process/child_message.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Large enough to hold the lines of a few seconds while the disk stalls. */
#define PIPE_BYTES (1 << 20)

#define NO_LOG .folder = -1, .file = -1, .reads = -1, .writes = -1
const struct logs logs_none = {.access = {NO_LOG},
    .error = {NO_LOG},
    .keys = {NO_LOG, .is_secret = true},
    .fd_sender = -1,
    .fd_receiver = -1};

static const char *name_in_folder(const struct log *l)
{
	const char *slash = strrchr(l->path, '/');
	return slash ? slash + 1 : l->path;
}

/* Its folder as it is now: a reopened file comes to lie there, whatever the path leads to by then. */
static bool open_folder(struct log *l)
{
	size_t length = (size_t)(name_in_folder(l) - l->path);
	char *folder = length > 0 ? strndup(l->path, length) : strdup(".");
	ensure(folder != NULL);
	l->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(folder);
	return l->folder >= 0;
}

static const char *explain_failure(int error)
{
	if (error == ELOOP)
		return "it is a symbolic link; name the file itself, or - for standard output or "
		       "standard error";
	if (error == ENXIO)
		return "no process reads this FIFO";
	if (error == EMEDIUMTYPE)
		return "it is no regular file, no FIFO and no character device";
	return strerror(error);
}

/*
 * A user with write access to the folder must not make the master, which may be root, write to another
 * file: no symbolic link is followed. O_NONBLOCK: a FIFO without a reader must not stop the master.
 */
static int open_named(const struct log *l)
{
	struct stat st;
	int fd = openat(l->folder, name_in_folder(l),
	    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK,
	    l->is_secret ? 0600 : 0640);
	bool is_good = fd >= 0 && fstat(fd, &st) == 0 &&
		       (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || S_ISCHR(st.st_mode));
	/* One that is there already may have been made by another program. */
	bool is_private =
	    is_good && (!l->is_secret || !S_ISREG(st.st_mode) || fchmod(fd, 0600) == 0);
	if (fd < 0 || is_private)
		return fd;
	int why = is_good ? errno : EMEDIUMTYPE;
	close(fd);
	errno = why;
	return -1;
}

/* The machine stopped while a line was written: the next one must not be joined with it. */
static bool ends_torn(const struct log *l)
{
	struct stat st;
	char last = '\n';
	if (fstat(l->file, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return false;
	int fd = openat(l->folder, name_in_folder(l), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	ssize_t n = pread(fd, &last, 1, st.st_size - 1);
	close(fd);
	return n == 1 && last != '\n';
}

static bool open_one(
    struct log *l, const char *path, int standard, const char *what, char *error, size_t error_size)
{
	l->path = path;
	if (!path)
		return true;
	if (strcmp(path, "-") == 0)
		l->file = fcntl(standard, F_DUPFD_CLOEXEC, 3);
	else if (open_folder(l))
		l->file = open_named(l);
	if (l->file >= 0) {
		l->is_torn = l->folder >= 0 && ends_torn(l);
		return true;
	}
	snprintf(
	    error, error_size, "cannot open the %s log %s: %s", what, path, explain_failure(errno));
	descriptor_close(&l->folder);
	return false;
}

/* Every descendant of a service inherits JOURNAL_STREAM, so it must name our file. */
static bool is_journal(int fd)
{
	const char *named = getenv("JOURNAL_STREAM");
	struct stat st;
	char ours[64];
	if (!named || fd < 0 || fstat(fd, &st) != 0)
		return false;
	snprintf(ours, sizeof(ours), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	return strcmp(named, ours) == 0;
}

bool logs_open(struct logs *l, const struct conf_server *conf, char *error, size_t error_size)
{
	*l = logs_none;
	if (!open_one(&l->error, conf->error_log, STDERR_FILENO, "error", error, error_size))
		return false;
	l->error.is_journal = is_journal(l->error.file);
	if (open_one(&l->access, conf->access_log, STDOUT_FILENO, "access", error, error_size) &&
	    open_one(&l->keys, conf->keylog_file, STDOUT_FILENO, "key", error, error_size))
		return true;
	logs_close(l, LOGS_ALL);
	return false;
}

static bool make_pipe(struct log *l)
{
	if (l->file < 0)
		return true;
	int fds[2];
	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
		return false;
	/* If the system allows only smaller pipes, this fails, and the pipe keeps its size. */
	(void)fcntl(fds[1], F_SETPIPE_SZ, PIPE_BYTES);
	l->reads = fds[0];
	l->writes = fds[1];
	void *hand = mmap(NULL, sizeof(struct log_hand), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (hand == MAP_FAILED)
		return false;
	l->hand = hand;
	l->hand->is_torn = l->is_torn;
	return true;
}

bool logs_make_pipes(struct logs *l, char *error, size_t error_size)
{
	int pair[2];
	if (make_pipe(&l->access) && make_pipe(&l->error) && make_pipe(&l->keys) &&
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) == 0) {
		l->fd_sender = pair[0];
		l->fd_receiver = pair[1];
		return true;
	}
	snprintf(error, error_size, "cannot make a pipe for the logs: %s", strerror(errno));
	return false;
}

struct observe_file log_file(struct log *l, uint64_t *lost)
{
	return (struct observe_file){
	    .fd = l->file,
	    .path = l->path,
	    .lost = lost,
	    .is_torn = l->hand ? &l->hand->is_torn : &l->is_torn,
	    .loss = l->hand ? &l->hand->loss : &l->loss,
	};
}

int log_target(const struct log *l)
{
	return l->writes >= 0 ? l->writes : l->file;
}

void logs_observe(
    const struct logs *l, struct observe *o, struct observe_counters *counters, uint32_t worker)
{
	*o = (struct observe){.counters = counters,
	    .access_fd = -1,
	    .error_fd = log_target(&l->error),
	    .is_journal = l->error.is_journal,
	    .level = OBSERVE_INFO,
	    .worker = worker};
}

/* ---- sending files to the logger ---- */

/* One datagram carries one file: a byte that names the log, and the descriptor. */
enum { OF_ACCESS, OF_ERROR, OF_KEYS, LOGS };

static struct log *log_of(struct logs *l, uint8_t name)
{
	struct log *const all[LOGS] = {
	    [OF_ACCESS] = &l->access, [OF_ERROR] = &l->error, [OF_KEYS] = &l->keys};
	return name < LOGS ? all[name] : NULL;
}

static bool send_file(struct logs *l, const struct log *log)
{
	uint8_t name = 0;
	while (log_of(l, name) != log)
		name++;
	struct iovec part = {&name, sizeof(name)};
	return message_send_parts(l->fd_sender, &part, 1, log->file, MSG_DONTWAIT);
}

void logs_receive_files(struct logs *l)
{
	uint8_t name;
	int fresh;
	ssize_t n;
	while ((n = message_receive_bytes(l->fd_receiver, &name, 1, &fresh)) > 0) {
		const struct log *log = log_of(l, name);
		if (fresh < 0)
			continue;
		if (log)
			dup3(fresh, log->file, O_CLOEXEC);
		close(fresh);
	}
	if (n == 0) /* the master has closed its end */
		descriptor_close(&l->fd_receiver);
}

/* ---- reopening ---- */

static void log_failure(struct logs *l, const struct log *about, const char *what)
{
	struct observe_counters counters = {0};
	struct observe o;
	logs_observe(l, &o, &counters, OBSERVE_MASTER);
	/* The folder of the start is the only one in which it is looked for. */
	observe_log(&o, OBSERVE_ERROR, "cannot %s the log %s: %s", what, about->path,
	    errno == ENOENT ? "its folder was removed; a new one is found by a restart alone"
			    : explain_failure(errno));
}

static void reopen_one(struct logs *l, struct log *log)
{
	if (!log->path || strcmp(log->path, "-") == 0)
		return;
	int fresh = open_named(log);
	if (fresh < 0) {
		log_failure(l, log, "reopen");
		return;
	}
	/* Keep the descriptor's number: other code has stored it. */
	dup3(fresh, log->file, O_CLOEXEC);
	close(fresh);
	if (l->fd_sender >= 0 && !send_file(l, log))
		log_failure(l, log, "send to the logger");
}

void logs_reopen(struct logs *l)
{
	reopen_one(l, &l->error);
	reopen_one(l, &l->access);
	reopen_one(l, &l->keys);
}

static void close_reader(struct log *l)
{
	descriptor_close(&l->reads);
	if (l->hand)
		munmap(l->hand, sizeof(*l->hand));
	l->hand = NULL;
}

void logs_close(struct logs *l, unsigned parts)
{
	for (uint8_t name = 0; name < LOGS; name++) {
		struct log *log = log_of(l, name);
		if (parts & LOGS_READERS)
			close_reader(log);
		if (parts & LOGS_WRITERS)
			descriptor_close(&log->writes);
		if (parts & LOGS_FILES)
			descriptor_close(&log->file);
		if (parts & LOGS_FOLDERS)
			descriptor_close(&log->folder);
	}
	if (parts & LOGS_READERS)
		descriptor_close(&l->fd_receiver);
	if (parts & LOGS_SENDER)
		descriptor_close(&l->fd_sender);
}
