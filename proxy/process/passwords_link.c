/* SPDX-License-Identifier: MIT */
/* A worker's end of the socket to the password process. Takes in one answer in a loop pass. */
#include "proxy/process/child_message.h"
#include "proxy/process/passwords.h"
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

void passwords_link_init(struct passwords_link *l)
{
	*l = (struct passwords_link){.socket = -1};
}

void passwords_link_stop(struct passwords_link *l)
{
	net_watch_free(l->watch);
	l->watch = NULL;
}

void passwords_link_close(struct passwords_link *l)
{
	passwords_link_stop(l);
	if (l->socket >= 0)
		close(l->socket);
	l->socket = -1;
}

static void lose(struct passwords_link *l)
{
	passwords_link_close(l);
	gateway_passwords_lost(l->gateway);
}

static bool take(struct passwords_link *l, const struct passwords_answer *a)
{
	switch (a->kind) {
	case PASSWORDS_RIGHT:
	case PASSWORDS_WRONG:
		return gateway_password_answer(l->gateway, a->id, a->kind == PASSWORDS_RIGHT);
	case PASSWORDS_CHANGED:
		return gateway_passwords_changed(l->gateway, a->access);
	}
	return false;
}

static void on_answer(void *context)
{
	struct passwords_link *l = context;
	struct passwords_answer a;
	ssize_t n = recv(l->socket, &a, sizeof(a), MSG_DONTWAIT | MSG_TRUNC);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		/* It has died: the master sends the socket of the next one. */
		lose(l);
		return;
	}
	if (n == (ssize_t)sizeof(a) && take(l, &a))
		return;
	observe_log(l->observe, OBSERVE_ERROR,
	    "a message of the password process is malformed; it is not listened to any more");
	lose(l);
}

void passwords_link_open(struct passwords_link *l, int socket)
{
	if (l->socket >= 0)
		lose(l);
	l->socket = socket;
	l->watch = net_watch_new(l->loop, socket, on_answer, l);
	gateway_passwords_open(l->gateway);
}

bool passwords_link_ask(void *context, const struct gateway_question *q)
{
	struct passwords_link *l = context;
	struct passwords_question head = {.id = q->id,
	    .access = q->access,
	    .name_bytes = (uint16_t)q->name.len,
	    .password_bytes = (uint16_t)q->password.len};
	struct iovec parts[3] = {{&head, sizeof(head)},
	    {(void *)(uintptr_t)q->name.ptr, q->name.len},
	    {(void *)(uintptr_t)q->password.ptr, q->password.len}};
	return l->socket >= 0 && message_send_parts(l->socket, parts, 3, -1, MSG_DONTWAIT);
}
