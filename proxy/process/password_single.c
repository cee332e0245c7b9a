/* SPDX-License-Identifier: MIT */
/* See password_single.h. */
#include "proxy/process/password_single.h"

#include <string.h>

bool password_single_ask(void *context, const struct password_question *q)
{
	struct password_single *s = context;
	if (s->is_asked || !s->users)
		return false;
	s->is_asked = true;
	s->question = (struct passwords_question){.id = q->id,
	    .access = q->access,
	    .name_bytes = (uint16_t)q->name.len,
	    .password_bytes = (uint16_t)q->password.len};
	memcpy(s->text, q->name.ptr, q->name.len);
	memcpy(s->text + q->name.len, q->password.ptr, q->password.len);
	net_timer_set(&s->answer, 0);
	return true;
}

static void answer(void *context)
{
	struct password_single *s = context;
	const struct passwords_question q = s->question;
	bool is_right =
	    passwords_are_right(&s->passwords, q.access, slice_of(s->text, q.name_bytes),
		slice_of(s->text + q.name_bytes, q.password_bytes), clock_monotonic());
	explicit_bzero(s->text, sizeof(s->text));
	s->is_asked = false;
	(void)users_password_answer(s->users, q.id, is_right);
}

static void tell_change(void *context, uint32_t access)
{
	const struct password_single *s = context;
	(void)users_passwords_changed(s->users, access);
}

void password_single_check(struct password_single *s)
{
	passwords_check_all(&s->passwords, s->observe, tell_change, s);
}

void password_single_open(struct password_single *s, const struct conf *conf,
    struct gateway *gateway, struct observe *observe, struct net_loop *loop)
{
	if (!passwords_are_needed(conf))
		return;
	s->users = gateway_users(gateway);
	s->observe = observe;
	net_timer_init(&s->answer, loop, answer, s);
	passwords_open(&s->passwords, conf);
	password_single_check(s);
}

void password_single_close(struct password_single *s)
{
	if (!s->users)
		return;
	net_timer_fini(&s->answer);
	passwords_close(&s->passwords);
	explicit_bzero(s->text, sizeof(s->text));
}
