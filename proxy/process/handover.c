/* SPDX-License-Identifier: MIT */
/* See handover.h. */
#include "proxy/process/handover.h"
#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/base/sealed.h"
#include "proxy/process/child_message.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>

/* KIND of a socket: as it was bound; the kernel was told how to share clients out; of the service manager. */
enum { PLAIN, SHARED, GIVEN };

enum {
	TEXT_BYTES = 1024,
	/* The old one answers at once, unless it has ended or hangs. */
	PATIENCE_SECONDS = 10,
	COUNTERS_BYTES = 16 << 20,
	ORDERS_BYTES = 16 << 20,
};

/* fd: stays the caller's; -1: none. */
static bool send_text(int socket, const char *text, int fd)
{
	struct iovec part = {(void *)(uintptr_t)text, strlen(text)};
	return message_send_parts(socket, &part, 1, fd, MSG_DONTWAIT);
}

/* ---- the old one ---- */

/* The words behind "hello". */
static enum handover_heard hear_hello(struct slice words, pid_t *from)
{
	uint64_t pid;
	if (!slice_equal(slice_cut(&words, '\t'), SLICE(HANDOVER_VERSION)))
		return HANDOVER_OTHER_VERSION;
	if (!slice_to_number(words, INT32_MAX, &pid) || pid <= 1)
		return HANDOVER_BROKEN;
	*from = (pid_t)pid;
	return HANDOVER_HELLO;
}

enum handover_heard handover_hear(int socket, pid_t *from)
{
	char text[TEXT_BYTES];
	int fd;
	ssize_t n = message_receive_bytes(socket, text, sizeof(text), &fd);
	struct slice said = slice_of(text, n > 0 ? (size_t)n : 0);
	descriptor_close(&fd);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return HANDOVER_NOTHING;
	if (n == 0 || (n < 0 && errno != EPROTO))
		return HANDOVER_GONE;
	if (slice_starts_with(said, SLICE("hello\t")))
		return hear_hello(slice_from(said, strlen("hello\t")), from);
	if (slice_equal(said, SLICE("next")))
		return HANDOVER_NEXT;
	if (slice_equal(said, SLICE("reopen")))
		return HANDOVER_REOPEN;
	return slice_equal(said, SLICE("ready")) ? HANDOVER_READY : HANDOVER_BROKEN;
}

static bool give_socket(int socket, const struct listening *l, uint32_t nth)
{
	char text[TEXT_BYTES], asked[NET_ADDRESS_TEXT], at[NET_ADDRESS_TEXT];
	snprintf(text, sizeof(text), "socket\t%" PRIu32 "\t%" PRIu32 "\t%d\t%s\t%s", nth,
	    l->listening,
	    l->is_given        ? GIVEN
	    : l->is_shared_out ? SHARED
			       : PLAIN,
	    net_address_format(&l->asked, asked, sizeof(asked)),
	    net_address_format(&l->at, at, sizeof(at)));
	return send_text(socket, text, l->fds[nth]);
}

/* Sends it as a memory file. */
static bool give_bytes(int socket, const char *word, struct slice bytes)
{
	int fd = sealed_make(bytes);
	bool is_sent = fd >= 0 && send_text(socket, word, fd);
	descriptor_close(&fd);
	return is_sent;
}

bool handover_give_counters(int socket, struct totals *counters)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return false;
	totals_write(counters, out);
	fclose(out);
	bool is_sent = give_bytes(socket, "counters", slice_of(text, size));
	free(text);
	return is_sent;
}

static bool give_status(int socket, const struct start *s)
{
	char text[TEXT_BYTES];
	snprintf(text, sizeof(text), "status\t%s", s->status_fd >= 0 ? s->status_path : "");
	return send_text(socket, text, s->status_fd);
}

static bool give_orders(int socket, const struct server_orders_list *orders)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = orders->count > 0 ? open_memstream(&text, &size) : NULL;
	if (!out)
		return send_text(socket, "orders", -1);
	server_orders_list_write(orders, out);
	fclose(out);
	bool is_sent = give_bytes(socket, "orders", slice_of(text, size));
	free(text);
	return is_sent;
}

bool handover_give(int socket, const struct start *s, struct totals *counters, size_t at)
{
	char text[64];
	for (size_t i = 0; i < s->sockets.count; i++) {
		const struct listening *l = s->sockets.all[i];
		if (at < l->count)
			return give_socket(socket, l, (uint32_t)at);
		at -= l->count;
	}
	switch (at) {
	case 0:
		return give_status(socket, s);
	case 1:
		return give_bytes(socket, "tickets", slice_of(&s->tickets, sizeof(s->tickets)));
	case 2:
		snprintf(text, sizeof(text), "suffix\t%" PRIu32, s->via_suffix);
		return send_text(socket, text, -1);
	case 3:
		return handover_give_counters(socket, counters);
	case 4:
		snprintf(text, sizeof(text), "was-ready\t%d",
		    s->readiness && atomic_load(&s->readiness->was_ready));
		return send_text(socket, text, -1);
	case 5:
		return give_orders(socket, &s->orders);
	default:
		return send_text(socket, "end", -1);
	}
}

/* ---- the new one ---- */

int handover_find(void)
{
	const char *text = getenv(HANDOVER_VARIABLE);
	uint64_t fd;
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);
	bool is_number = text && slice_to_number(slice_of_string(text), INT32_MAX, &fd);
	unsetenv(HANDOVER_VARIABLE);
	if (!is_number || getpeername((int)fd, (struct sockaddr *)&peer, &length) != 0)
		return -1;
	descriptor_close_on_exec((int)fd);
	return (int)fd;
}

/* Takes fd. */
static bool take_socket(struct start *s, struct slice words, int *fd)
{
	uint64_t nth, listening, kind;
	struct net_address asked, at;
	if (*fd < 0 || !slice_to_number(slice_cut(&words, '\t'), UINT16_MAX, &nth) ||
	    !slice_to_number(slice_cut(&words, '\t'), UINT16_MAX, &listening) ||
	    !slice_to_number(slice_cut(&words, '\t'), GIVEN, &kind) ||
	    net_address_parse(slice_cut(&words, '\t'), &asked) != NULL ||
	    net_address_parse(words, &at) != NULL)
		return false;
	struct listening *l = sockets_take(&s->sockets, &asked, &at, (uint32_t)nth, *fd);
	if (!l)
		return false;
	*fd = -1;
	l->listening = (uint32_t)listening;
	l->is_shared_out = kind == SHARED;
	l->is_given = kind == GIVEN;
	return true;
}

static bool take_status(struct predecessor *p, struct slice path, int *fd)
{
	if (path.len == 0)
		return true;
	free(p->status_path);
	p->status_path = memory_alloc(path.len + 1);
	memcpy(p->status_path, path.ptr, path.len);
	p->status_path[path.len] = '\0';
	descriptor_close(&p->status_fd);
	p->status_fd = *fd;
	*fd = -1;
	return p->status_fd >= 0;
}

/* Of another size: a version with other keys. Clients then begin new sessions. */
static bool take_tickets(struct start *s, int fd)
{
	size_t length;
	void *bytes = sealed_map(fd, 1 << 16, &length);
	if (bytes && length == sizeof(s->tickets))
		memcpy(&s->tickets, bytes, sizeof(s->tickets));
	if (bytes)
		sealed_unmap(bytes, length);
	return bytes != NULL;
}

/* False: no counters came, and those of before stay. */
static bool take_counters(struct totals **counters, int fd)
{
	size_t length = 0;
	struct totals *fresh = totals_new();
	/* An empty file cannot be mapped: nothing was counted. */
	bool is_empty = fd >= 0 && lseek(fd, 0, SEEK_END) == 0;
	void *bytes = fd < 0 || is_empty ? NULL : sealed_map(fd, COUNTERS_BYTES, &length);
	if (bytes) {
		totals_read(fresh, slice_of(bytes, length));
		sealed_unmap(bytes, length);
	}
	if (!bytes && !is_empty) {
		totals_free(fresh);
		return false;
	}
	totals_free(*counters);
	*counters = fresh;
	return true;
}

static bool take_orders(struct server_orders_list *orders, int fd)
{
	size_t length;
	void *bytes = fd >= 0 ? sealed_map(fd, ORDERS_BYTES, &length) : NULL;
	if (bytes) {
		server_orders_list_read(orders, slice_of(bytes, length));
		sealed_unmap(bytes, length);
	}
	return true;
}

/* Takes *fd, or leaves it to be closed. What this version does not know is passed over. */
static bool take(struct start *s, struct slice said, int *fd)
{
	struct slice word = slice_cut(&said, '\t');
	uint64_t number;
	if (slice_equal(word, SLICE("socket")))
		return take_socket(s, said, fd);
	if (slice_equal(word, SLICE("status")))
		return take_status(&s->predecessor, said, fd);
	if (slice_equal(word, SLICE("tickets")))
		return take_tickets(s, *fd);
	if (slice_equal(word, SLICE("counters")))
		return take_counters(&s->predecessor.counters, *fd);
	if (slice_equal(word, SLICE("orders")))
		return take_orders(&s->orders, *fd);
	if (slice_equal(word, SLICE("was-ready")))
		s->predecessor.was_ready = slice_equal(said, SLICE("1"));
	if (slice_equal(word, SLICE("suffix")) && slice_to_number(said, UINT32_MAX, &number))
		s->via_suffix = (uint32_t)number;
	return true;
}

static void wait_for_answers(int socket)
{
	const struct timeval patience = {.tv_sec = PATIENCE_SECONDS};
	setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

bool handover_take(struct start *s, int socket, char *error, size_t error_size)
{
	char text[TEXT_BYTES];
	wait_for_answers(socket);
	snprintf(text, sizeof(text), "hello\t" HANDOVER_VERSION "\t%d", (int)getpid());
	bool is_good = send_text(socket, text, -1);
	for (bool is_whole = false; is_good && !is_whole;) {
		int fd;
		ssize_t n = -1;
		if (send_text(socket, "next", -1))
			n = message_wait_bytes(socket, text, sizeof(text), &fd);
		is_good = n > 0;
		if (!is_good)
			break;
		struct slice said = slice_of(text, (size_t)n);
		is_whole = slice_equal(said, SLICE("end"));
		is_good = is_whole || take(s, said, &fd);
		descriptor_close(&fd);
	}
	s->predecessor.socket = socket;
	s->predecessor.still_serves = true;
	if (!is_good)
		snprintf(error, error_size,
		    "the pushgate that runs has not handed its sockets over: it is of another "
		    "version, or has ended");
	return is_good;
}

void handover_stand_alone(void)
{
	prctl(PR_SET_PDEATHSIG, 0);
}

void handover_say_ready(int socket)
{
	/* The process that has started this one ends now. */
	handover_stand_alone();
	(void)send_text(socket, "ready", -1);
}

void handover_say_reopen(int socket)
{
	(void)send_text(socket, "reopen", -1);
}

bool handover_take_counters(int socket, struct totals **counters)
{
	char text[TEXT_BYTES];
	for (;;) {
		int fd;
		ssize_t n = message_receive_bytes(socket, text, sizeof(text), &fd);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		if (slice_equal(slice_of(text, (size_t)n), SLICE("counters")))
			(void)take_counters(counters, fd);
		descriptor_close(&fd);
	}
}
