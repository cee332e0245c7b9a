/* SPDX-License-Identifier: MIT */
/* A worker's link to the password process: questions go, answers come. */
#include "proxy/process/child_message.h"
#include "proxy/process/passwords.h"
#include <sys/socket.h>

static bool take(void *context, const void *message, int fd)
{
	const struct passwords_link *l = context;
	const struct passwords_answer *a = message;
	(void)fd;
	switch (a->kind) {
	case PASSWORDS_RIGHT:
	case PASSWORDS_WRONG:
		return users_password_answer(l->users, a->id, a->kind == PASSWORDS_RIGHT);
	case PASSWORDS_CHANGED:
		return users_passwords_changed(l->users, a->access);
	}
	return false;
}

static bool refuse(void *context)
{
	const struct passwords_link *l = context;
	observe_log(l->observe, OBSERVE_ERROR,
	    "a message of the password process is malformed; it is not listened to any more");
	return false;
}

static void opened(void *context)
{
	const struct passwords_link *l = context;
	users_passwords_open(l->users);
}

static void lost(void *context)
{
	const struct passwords_link *l = context;
	users_passwords_lost(l->users);
}

static const struct helper_link_row row = {.message_bytes = sizeof(struct passwords_answer),
    .take = take,
    .refuse = refuse,
    .opened = opened,
    .lost = lost};

void passwords_link_init(struct passwords_link *l)
{
	*l = (struct passwords_link){0};
	helper_link_init(&l->link, &row, l);
}

bool passwords_link_ask(void *context, const struct password_question *q)
{
	const struct passwords_link *l = context;
	struct passwords_question head = {.id = q->id,
	    .access = q->access,
	    .name_bytes = (uint16_t)q->name.len,
	    .password_bytes = (uint16_t)q->password.len};
	struct iovec parts[3] = {{&head, sizeof(head)},
	    {(void *)(uintptr_t)q->name.ptr, q->name.len},
	    {(void *)(uintptr_t)q->password.ptr, q->password.len}};
	int socket = l->link.socket;
	return socket >= 0 && message_send_parts(socket, parts, 3, -1, MSG_DONTWAIT);
}
