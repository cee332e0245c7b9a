/* SPDX-License-Identifier: MIT */
/*
 * The password process: checks one password after the other, and reads the files of users when they change. No answer
 * waits: a worker that does not read its few answers loses its socket.
 */
#include "proxy/base/memory.h"
#include "proxy/process/helper.h"
#include "proxy/process/passwords.h"
#include "proxy/process/sandbox.h"
#include <string.h>
#include <sys/socket.h>

struct process {
	struct helper_process helper;
	struct passwords passwords;
};

static void tell(struct process *p, uint32_t worker, const struct passwords_answer *a)
{
	struct iovec part = {(void *)(uintptr_t)a, sizeof(*a)};
	int socket = p->helper.links[worker];
	if (socket >= 0 && !message_send_parts(socket, &part, 1, -1, MSG_DONTWAIT))
		helper_disconnect(&p->helper, worker);
}

static void tell_change(void *context, uint32_t access)
{
	struct process *p = context;
	const struct passwords_answer changed = {.kind = PASSWORDS_CHANGED, .access = access};
	for (uint32_t w = 0; w < p->helper.env->workers; w++)
		tell(p, w, &changed);
}

static void check(void *context)
{
	struct process *p = context;
	passwords_check_all(&p->passwords, &p->helper.observe, tell_change, p);
}

static bool obey(void *context, uint32_t worker, const void *message, size_t length)
{
	struct process *p = context;
	struct passwords_question q;
	const char *text = (const char *)message + sizeof(q);
	if (length < sizeof(q))
		return false;
	memcpy(&q, message, sizeof(q));
	if (q.access >= p->passwords.count ||
	    length - sizeof(q) != (size_t)q.name_bytes + q.password_bytes)
		return false;
	bool is_right = passwords_are_right(&p->passwords, q.access, slice_of(text, q.name_bytes),
	    slice_of(text + q.name_bytes, q.password_bytes), clock_monotonic());
	const struct passwords_answer a = {
	    .id = q.id, .access = q.access, .kind = is_right ? PASSWORDS_RIGHT : PASSWORDS_WRONG};
	tell(p, worker, &a);
	return true;
}

static const struct helper_service service = {
    .process = "pushgate-pass",
    .origin = OBSERVE_PASSWORDS,
    .sandbox = SANDBOX_PASSWORDS | SANDBOX_READS,
    .message_bytes = sizeof(struct passwords_question) + 2 * HTPASSWD_TEXT_BYTES,
    .at_once = 1,
    .begin = check,
    .check = check,
    .obey = obey,
};

int passwords_run(const struct helper_env *env)
{
	struct process *p = memory_new(struct process);
	passwords_open(&p->passwords, env->conf);
	int status = helper_serve(&p->helper, &service, env, p);
	passwords_close(&p->passwords);
	free(p);
	return status;
}
