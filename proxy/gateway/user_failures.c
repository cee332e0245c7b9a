/* SPDX-License-Identifier: MIT */
/* See user_failures.h. */
#include "proxy/gateway/user_failures.h"

#define NSEC_PER_MINUTE (60 * UINT64_C(1000000000))

void user_failures_init(struct user_failures *f, uint32_t per_minute)
{
	*f = (struct user_failures){0};
	if (per_minute == 0)
		return;
	f->terms = (struct limit_terms){
	    .interval_nsec = NSEC_PER_MINUTE / per_minute, .burst = per_minute};
	f->table = limit_table_new(USER_FAILURES_KEYS);
}

void user_failures_fini(struct user_failures *f)
{
	limit_table_free(f->table);
}

uint32_t user_failures_wait(const struct user_failures *f, uint64_t client, usec now)
{
	usec wait;
	if (!f->table || limit_table_ask(f->table, &f->terms, client, now, &wait) == LIMIT_PASSES)
		return 0;
	return (uint32_t)((wait + USEC_PER_SEC - 1) / USEC_PER_SEC);
}

void user_failures_take(struct user_failures *f, uint64_t client, usec now)
{
	bool was_full = false;
	if (f->table)
		(void)limit_table_take(f->table, &f->terms, client, now, &was_full);
}

void user_failures_give(struct user_failures *f, uint64_t client)
{
	if (f->table)
		limit_table_give(f->table, &f->terms, client);
}
