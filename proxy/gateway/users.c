/* SPDX-License-Identifier: MIT */
/* See users.h. */
#include "proxy/gateway/users.h"

enum user_answer users_identify(struct gateway *g, struct exchange *x)
{
	(void)g;
	(void)x;
	return USER_NONE;
}

void users_exchange_ended(struct gateway *g, struct exchange *x)
{
	(void)g;
	(void)x;
}
