/* SPDX-License-Identifier: MIT */
/* The status text, the socket that serves it, and the command that prints it. */
#include "proxy/process/status.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/process/process.h"
#include "proxy/process/trace.h"
#include "proxy/relay/relay.h"
#include "proxy/session/session.h"
#include <errno.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 16
/*
 * Connections answered per call. The text fits into a socket's buffer, so no send waits for its
 * reader.
 */
#define ANSWERS_PER_CALL 16
#define ASK_TIMEOUT_SECONDS 5

const char *status_address(const char *path, struct net_address *at)
{
	char text[512];
	snprintf(text, sizeof(text), "unix:%s", path);
	return net_address_parse(slice_of_string(text), at);
}

int status_listen(const char *path, char *error, size_t error_size)
{
	struct net_address at;
	const char *why = status_address(path, &at);
	/* The socket's file gets mode 0660 when it is created, not afterwards. */
	mode_t old = umask(0117);
	int fd = why ? -1 : net_listen(&at, BACKLOG, &why);
	umask(old);
	if (fd < 0)
		snprintf(error, error_size, "cannot listen on the status socket %s: %s", path, why);
	return fd;
}

void status_close(int listener, const char *path)
{
	if (listener < 0)
		return;
	close(listener);
	unlink(path);
}

static void print_process(const struct status_worker *w, FILE *out)
{
	if (w->pid)
		fprintf(out, "process %d, up %llu s", (int)w->pid,
		    (unsigned long long)(w->up / USEC_PER_SEC));
	else
		fprintf(out, "down");
	fprintf(out, ", started %u time%s\n", w->starts, w->starts == 1 ? "" : "s");
}

/* On the heap, since the struct is too large for the stack. The caller frees. */
static struct observe_counters *add_up(const struct status *s)
{
	struct observe_counters *sum = memory_new(struct observe_counters);
	for (uint32_t i = 0; i <= s->worker_count; i++)
		observe_counters_add(sum, &s->slots[i]);
	return sum;
}

static const char *cause_name(size_t index)
{
	return index < RELAY_CAUSE_COUNT ? relay_cause_table[index]->name : NULL;
}

static const char *miss_name(size_t index)
{
	return index < HOLD_MISS_COUNT ? hold_miss_name((enum hold_miss)index) : NULL;
}

static void print_push_off(const struct status *s, FILE *out)
{
	const struct conf *conf = s->conf;
	struct observe_counters *sum = add_up(s);
	usec now = clock_monotonic();
	for (size_t i = 0; i < conf->route_count && i < OBSERVE_PLACES; i++) {
		const struct conf_route *route = &conf->routes[i];
		if (sum->push_off_until[i] <= now)
			continue;
		unsigned long long seconds = (sum->push_off_until[i] - now) / USEC_PER_SEC;
		fprintf(out, "# route %s: push from origin %s is off for %llu s more (%s)\n",
		    route->name, route->origin->name, seconds + 1, policy_reason_RESET_BUDGET.code);
	}
	for (size_t i = 0; i < conf->origin_count && i < OBSERVE_PLACES; i++) {
		uint64_t n = sum->push_off_connections_open[i];
		if (n > 0)
			fprintf(out,
			    "# origin %s: push is off on %llu connection%s until they end "
			    "(promise-refusals)\n",
			    conf->origins[i].name, (unsigned long long)n, n == 1 ? "" : "s");
	}
	free(sum);
}

static void print_counters(const struct status *s, FILE *out)
{
	struct observe_counters *sum = add_up(s);
	observe_counters_print(sum, out);
	observe_faults_print(sum, session_fault_name, out);
	observe_causes_print(sum, cause_name, out);
	observe_misses_print(sum, miss_name, out);
	if (s->conf)
		observe_rules_print(sum, &s->conf->policy, out);
	free(sum);
}

void status_print(const struct status *s, FILE *out)
{
	fprintf(out, "# pushgate %s, process %d, up %llu s, %u worker%s%s\n", PUSHGATE_VERSION,
	    (int)getpid(), (unsigned long long)(s->up / USEC_PER_SEC), s->worker_count,
	    s->worker_count == 1 ? "" : "s", s->is_draining ? ", draining" : "");
	for (uint32_t i = 0; i < s->worker_count; i++) {
		fprintf(out, "# worker %u: ", i);
		print_process(&s->workers[i], out);
	}
	if (s->files) {
		fprintf(out, "# files process: ");
		print_process(s->files, out);
	}
	if (s->conf)
		print_push_off(s, out);
	print_counters(s, out);
}

static void send_text(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, text, size, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		size -= (size_t)n;
	}
}

static void answer(int fd, const struct status *s)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return;
	status_print(s, out);
	fclose(out);
	send_text(fd, text, size);
	free(text);
}

/* The name of the peer's own socket, if that is an abstract one. */
static struct slice peer_name(const struct sockaddr_un *peer, socklen_t length)
{
	size_t before = offsetof(struct sockaddr_un, sun_path) + 1;
	bool is_abstract = length > before && length <= sizeof(*peer) && !peer->sun_path[0];
	return is_abstract ? slice_of(peer->sun_path + 1, length - before) : slice_of("", 0);
}

bool status_serve(int listener, const struct status *s)
{
	for (int i = 0; i < ANSWERS_PER_CALL; i++) {
		struct sockaddr_un peer = {0};
		socklen_t length = sizeof(peer);
		int fd = accept4(
		    listener, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return errno != EMFILE && errno != ENFILE && errno != ENOBUFS &&
			       errno != ENOMEM;
		struct slice name = peer_name(&peer, length);
		if (s->trace && trace_is_request(name)) {
			s->trace(s->trace_context, name, fd);
			continue;
		}
		answer(fd, s);
		close(fd);
	}
	return true;
}

void status_log(const struct status *s, struct observe *o)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (out) {
		print_counters(s, out);
		fclose(out);
		char *rest = text, *line;
		while ((line = strsep(&rest, "\n"))) {
			size_t len = strlen(line);
			if (len > 2 && strcmp(line + len - 2, " 0") != 0)
				observe_log(o, OBSERVE_INFO, "counter %s", line);
		}
		free(text);
	}
}

/* ---- the commands ---- */

static bool name_socket(int fd, struct slice name)
{
	struct sockaddr_un own = {.sun_family = AF_UNIX};
	memcpy(own.sun_path + 1, name.ptr, name.len);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + name.len);
	return bind(fd, (const struct sockaddr *)&own, length) == 0;
}

int status_connect(const char *path, struct slice name, const char **error)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	size_t len = strlen(path);
	if (len == 0 || len >= sizeof(at.sun_path)) {
		*error = "the path is empty or too long for a unix socket";
		return -1;
	}
	memcpy(at.sun_path, path, len);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval timeout = {.tv_sec = ASK_TIMEOUT_SECONDS};
	if (fd >= 0)
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	bool is_named = fd >= 0 && (name.len == 0 || name_socket(fd, name));
	if (is_named && connect(fd, (const struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	*error =
	    errno == ENOENT || errno == ECONNREFUSED
		? "no pushgate is listening there; is it running, and is this its status-socket?"
		: strerror(errno);
	if (fd >= 0)
		close(fd);
	return -1;
}

int process_status(const char *socket_path)
{
	const char *error;
	int fd = status_connect(socket_path, slice_of("", 0), &error);
	if (fd < 0) {
		fprintf(stderr, "pushgate status: %s: %s\n", socket_path, error);
		return 1;
	}
	char buffer[8192];
	ssize_t n;
	size_t total = 0;
	while ((n = read(fd, buffer, sizeof(buffer))) > 0) {
		fwrite(buffer, 1, (size_t)n, stdout);
		total += (size_t)n;
	}
	close(fd);
	if (n < 0 || total == 0) {
		fprintf(stderr, "pushgate status: %s: no answer\n", socket_path);
		return 1;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
