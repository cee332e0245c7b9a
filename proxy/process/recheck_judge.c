/* SPDX-License-Identifier: MIT */
/* The end of the worker that judges tunnels of older workers, for access-recheck: questions come, answers go. */
#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/process/child_message.h"
#include "proxy/process/recheck.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* After this time the next question waits for the next loop pass. A question may take a millisecond more. */
#define JUDGING_USEC 200u

enum {
	QUESTION_BYTES_MOST = sizeof(struct recheck_question) + GATEWAY_TUNNEL_PATH +
			      CLIENT_CERTIFICATE_NAMES_BYTES +
			      (RECHECK_TEXTS - 2) * GATEWAY_TUNNEL_TEXT,
};

struct recheck_asker {
	struct list link;
	struct recheck_judge *judge;
	int socket;
	struct net_watch *watch;
};

static void asker_free(struct recheck_asker *a)
{
	if (a->judge->next == a)
		a->judge->next = NULL;
	net_watch_free(a->watch);
	descriptor_close(&a->socket);
	list_remove(&a->link);
	free(a);
}

/* ---- questions ---- */

static bool is_client(const struct address *a)
{
	return a->family <= ADDRESS_UNKNOWN || a->family == 4 || a->family == 6;
}

/* Forward mode reaches no unix sockets. */
static bool is_destination(const struct net_address *a)
{
	sa_family_t family = a->any.sa_family;
	return a->length == 0 || (family == AF_INET && a->length == sizeof(a->in)) ||
	       (family == AF_INET6 && a->length == sizeof(a->in6));
}

/* The texts are lent from the message. */
static bool read_question(
    struct slice message, struct recheck_question *q, struct gateway_tunnel *t)
{
	if (message.len < sizeof(*q))
		return false;
	memcpy(q, message.ptr, sizeof(*q));
	struct slice texts[RECHECK_TEXTS], rest = slice_from(message, sizeof(*q));
	for (size_t i = 0; i < RECHECK_TEXTS; i++) {
		if (q->bytes[i] > rest.len)
			return false;
		texts[i] = slice_sub(rest, 0, q->bytes[i]);
		rest = slice_from(rest, q->bytes[i]);
	}
	*t = (struct gateway_tunnel){
	    .id = q->id,
	    .client = q->client,
	    .is_forward = q->is_forward != 0,
	    .is_connect = q->is_connect != 0,
	    .to = q->to.length > 0 ? &q->to : NULL,
	    .listener = texts[RECHECK_LISTENER],
	    .user = texts[RECHECK_USER],
	    .scheme = texts[RECHECK_SCHEME],
	    .authority = texts[RECHECK_AUTHORITY],
	    .path = texts[RECHECK_PATH],
	    .cert = texts[RECHECK_CERT],
	};
	return rest.len == 0 && is_client(&q->client) && is_destination(&q->to);
}

/* False: the question is malformed, or the older worker is gone: it has room for the answers to all that it asks. */
static bool answer(const struct recheck_asker *a, struct slice message)
{
	struct recheck_question q;
	struct gateway_tunnel t;
	if (!read_question(message, &q, &t)) {
		observe_log(a->judge->observe, OBSERVE_ERROR,
		    "access-recheck: a question is malformed; its worker gets no more answers");
		return false;
	}
	const char *reason = gateway_judge_tunnel(a->judge->gateway, &t);
	struct recheck_answer told = {.id = t.id};
	snprintf(told.reason, sizeof(told.reason), "%s", reason ? reason : "");
	struct iovec part = {&told, sizeof(told)};
	return message_send_parts(a->socket, &part, 1, -1, MSG_DONTWAIT);
}

/* False: nothing more is to be read from it now. */
static bool judge_next(struct recheck_asker *a)
{
	int fd;
	uint8_t *message = a->judge->message;
	ssize_t n = message_receive_bytes(a->socket, message, QUESTION_BYTES_MOST, &fd);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	bool is_good = n > 0 && fd < 0 && answer(a, slice_of(message, (size_t)n));
	descriptor_close(&fd);
	if (!is_good)
		asker_free(a);
	return is_good;
}

/* One socket in a loop pass, each in its turn. */
static bool has_turn(const struct recheck_asker *a)
{
	struct recheck_judge *j = a->judge;
	usec now = net_now(j->loop);
	if (j->judged_at == now) {
		if (!j->next)
			j->next = a;
		return false;
	}
	if (j->next && j->next != a)
		return false;
	j->judged_at = now;
	j->next = NULL;
	return true;
}

static void on_questions(void *context)
{
	struct recheck_asker *a = context;
	if (!has_turn(a))
		return;
	net_note(a->judge->loop, "judged tunnels for access-recheck");
	usec until = clock_monotonic() + JUDGING_USEC;
	while (judge_next(a) && clock_monotonic() < until)
		;
}

void recheck_judge_init(struct recheck_judge *j)
{
	*j = (struct recheck_judge){0};
	list_init(&j->askers);
}

void recheck_judge_add(struct recheck_judge *j, int socket)
{
	struct recheck_asker *a = memory_alloc(sizeof(*a));
	if (!j->message)
		j->message = memory_alloc(QUESTION_BYTES_MOST);
	a->judge = j;
	a->socket = socket;
	a->watch = net_watch_new(j->loop, socket, on_questions, a);
	list_append(&j->askers, &a->link);
}

void recheck_judge_close(struct recheck_judge *j)
{
	list_for_each(&j->askers, a, struct recheck_asker, link) asker_free(a);
	free(j->message);
	j->message = NULL;
}
