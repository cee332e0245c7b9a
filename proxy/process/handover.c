/* SPDX-License-Identifier: MIT */
/* See handover.h. */
#include "proxy/process/handover.h"
#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/base/sealed.h"
#include "proxy/process/child_message.h"
#include "proxy/process/hand_on.h"
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
	BYTES_MOST = 64 << 20,
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

/* Takes fd, a memory file; -1: there was no memory for it, and the reader decides whether it goes on. */
static bool give_file(int socket, const char *text, int fd)
{
	bool is_sent = send_text(socket, text, fd);
	descriptor_close(&fd);
	return is_sent;
}

/* A text that becomes a memory file. */
struct text {
	FILE *out; /* NULL: there is no memory for it */
	char *bytes;
	size_t size;
};

static void begin_text(struct text *t)
{
	*t = (struct text){0};
	t->out = open_memstream(&t->bytes, &t->size);
}

/* Frees it. */
static bool give_text(int socket, const char *word, struct text *t)
{
	bool is_whole = t->out && fclose(t->out) == 0;
	int fd = is_whole ? sealed_make(slice_of(t->bytes, t->size)) : -1;
	free(t->bytes);
	return give_file(socket, word, fd);
}

bool handover_give_counters(int socket, struct totals *counters)
{
	struct text t;
	begin_text(&t);
	if (t.out)
		totals_write(counters, t.out);
	return give_text(socket, "counters", &t);
}

bool handover_give_health(int socket, const struct outfit *running)
{
	struct text t;
	begin_text(&t);
	if (t.out)
		hand_on_health_write(running, clock_monotonic(), t.out);
	return give_text(socket, "health", &t);
}

static bool give_orders(int socket, const struct server_orders_list *orders)
{
	struct text t;
	begin_text(&t);
	if (t.out)
		server_orders_list_write(orders, t.out);
	return give_text(socket, "orders", &t);
}

static bool give_status(int socket, const struct start *s)
{
	char text[TEXT_BYTES];
	snprintf(text, sizeof(text), "status\t%s", s->status_fd >= 0 ? s->status_path : "");
	return send_text(socket, text, s->status_fd);
}

static bool give_number(int socket, const char *word, uint64_t number)
{
	char text[64];
	snprintf(text, sizeof(text), "%s\t%" PRIu64, word, number);
	return send_text(socket, text, -1);
}

static bool give_limits(int socket, const struct limit_buckets *buckets)
{
	char text[64];
	snprintf(text, sizeof(text), "limits\t%" PRIu32 "\t%" PRIu64, buckets->worker,
	    buckets->identity);
	return give_file(socket, text, limit_memories_save(buckets));
}

enum {
	STATUS,
	TICKETS,
	SUFFIX,
	COUNTERS,
	WAS_READY,
	ORDERS,
	HEALTH,
	REMEMBERED,
	LIMIT_SEED,
	LIMITS
};

bool handover_give(int socket, const struct start *s, const struct outfit *running,
    struct totals *counters, size_t at)
{
	struct limit_buckets buckets;
	for (size_t i = 0; i < s->sockets.count; i++) {
		const struct listening *l = s->sockets.all[i];
		if (at < l->count)
			return give_socket(socket, l, (uint32_t)at);
		at -= l->count;
	}
	switch (at) {
	case STATUS:
		return give_status(socket, s);
	case TICKETS:
		return give_file(
		    socket, "tickets", sealed_make(slice_of(&s->tickets, sizeof(s->tickets))));
	case SUFFIX:
		return give_number(socket, "suffix", s->via_suffix);
	case COUNTERS:
		return handover_give_counters(socket, counters);
	case WAS_READY:
		return give_number(
		    socket, "was-ready", s->readiness && atomic_load(&s->readiness->was_ready));
	case ORDERS:
		return give_orders(socket, &s->orders);
	case HEALTH:
		return handover_give_health(socket, running);
	case REMEMBERED:
		return send_text(socket, "remembered", s->remembered);
	case LIMIT_SEED:
		return give_number(socket, "limit-seed", s->limit_seed);
	}
	if (limit_memories_at(&running->limits, at - LIMITS, &buckets))
		return give_limits(socket, &buckets);
	return send_text(socket, "end", -1);
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

/* What give_text has sent. False: it did not come, or cannot be read. */
static bool map_text(int fd, struct slice *text)
{
	size_t length = 0;
	/* An empty file cannot be mapped. */
	bool is_empty = fd >= 0 && lseek(fd, 0, SEEK_END) == 0;
	void *bytes = fd >= 0 && !is_empty ? sealed_map(fd, BYTES_MOST, &length) : NULL;
	*text = slice_of(bytes, bytes ? length : 0);
	return is_empty || bytes;
}

static void unmap_text(struct slice text)
{
	if (text.len > 0)
		sealed_unmap((void *)(uintptr_t)text.ptr, text.len);
}

/* False: no counters came, and those of before stay. */
static bool take_counters(struct totals **counters, int fd)
{
	struct slice text;
	if (!map_text(fd, &text))
		return false;
	totals_free(*counters);
	*counters = totals_new();
	totals_read(*counters, text);
	unmap_text(text);
	return true;
}

static bool take_orders(struct server_orders_list *orders, int fd)
{
	struct slice text;
	if (map_text(fd, &text))
		server_orders_list_read(orders, text);
	unmap_text(text);
	return true;
}

static void take_health(struct predecessor *p, int fd)
{
	struct slice text;
	free((void *)(uintptr_t)p->health.ptr);
	p->health = (struct slice){0};
	if (map_text(fd, &text) && text.len > 0) {
		char *copy = memory_alloc(text.len);
		memcpy(copy, text.ptr, text.len);
		p->health = slice_of(copy, text.len);
	}
	unmap_text(text);
}

/* The files process checks it. Takes *fd; -1: there is none. */
static void take_remembered(struct start *s, int *fd)
{
	descriptor_close(&s->remembered);
	s->remembered = *fd;
	*fd = -1;
}

static void take_limits(struct start *s, struct slice words, int fd)
{
	uint64_t worker, identity;
	if (slice_to_number(slice_cut(&words, '\t'), UINT32_MAX, &worker) &&
	    slice_to_number(slice_cut(&words, '\t'), UINT64_MAX, &identity))
		limit_memories_fill(&s->outfit.limits, (uint32_t)worker, identity, fd);
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
	if (slice_equal(word, SLICE("health")))
		take_health(&s->predecessor, *fd);
	if (slice_equal(word, SLICE("remembered")))
		take_remembered(s, fd);
	if (slice_equal(word, SLICE("limits")))
		take_limits(s, said, *fd);
	if (slice_equal(word, SLICE("limit-seed")))
		(void)slice_to_number(said, UINT64_MAX, &s->limit_seed);
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

bool handover_take_news(struct predecessor *p)
{
	char text[TEXT_BYTES];
	for (;;) {
		int fd;
		ssize_t n = message_receive_bytes(p->socket, text, sizeof(text), &fd);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return true;
		if (n <= 0)
			return false;
		struct slice said = slice_of(text, (size_t)n);
		if (slice_equal(said, SLICE("counters")))
			(void)take_counters(&p->counters, fd);
		if (slice_equal(said, SLICE("health")))
			take_health(p, fd);
		descriptor_close(&fd);
	}
}
