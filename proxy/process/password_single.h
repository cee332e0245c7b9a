/* SPDX-License-Identifier: MIT */
/* Passwords in single mode: the loop itself reads the files of users and hashes, and waits meanwhile. */
#ifndef PUSHGATE_PROCESS_PASSWORD_SINGLE_H
#define PUSHGATE_PROCESS_PASSWORD_SINGLE_H

#include "proxy/process/passwords.h"

struct password_single {
	struct users *users; /* borrowed, as is observe; NULL: it is not open */
	struct observe *observe;
	struct passwords passwords;
	struct net_timer answer; /* in the next loop pass */
	struct passwords_question question;
	char text[2 * HTPASSWD_TEXT_BYTES];
	bool is_asked;
};

/* gateway_env.ask_password, with a struct password_single. One question at a time. */
bool password_single_ask(void *context, const struct password_question *q);
/* Reads the files for the first time, before the loop runs. Does nothing if no [access NAME] section has users. */
void password_single_open(struct password_single *s, const struct conf *conf,
    struct gateway *gateway, struct observe *observe, struct net_loop *loop);
void password_single_close(struct password_single *s);
/* Reads the files that have changed. */
void password_single_check(struct password_single *s);

#endif
