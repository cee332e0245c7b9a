/* SPDX-License-Identifier: MIT */
/* Private to admission/: what its files share. */
#ifndef PUSHGATE_ADMISSION_ADMISSION_PRIVATE_H
#define PUSHGATE_ADMISSION_ADMISSION_PRIVATE_H

#include "proxy/admission/admission.h"
#include "proxy/base/subscriber.h"

/* tables.c: the memory of a table, by its index there. */
struct limit_memory admission_memory(const struct admission *a, size_t index);
uint32_t admission_line_keys(const struct conf *c, const struct conf_request_limit *limit);
uint32_t admission_failure_keys(const struct conf *c);

/* request_limits.c */
void request_limits_open(struct admission *a);
void request_limits_close(struct admission *a);
void request_limits_ended(struct exchange *x); /* which is open there */

/* users.c */
void users_open(struct admission *a);
void users_close(struct admission *a);
void users_exchange_ended(struct users *u, struct exchange *x); /* which waits for its user */

/* For a Retry-After field: rounded up. */
static inline uint32_t admission_seconds(usec wait)
{
	return (uint32_t)((wait + USEC_PER_SEC - 1) / USEC_PER_SEC);
}

/* The client, for a line of the error log. */
#define ADMISSION_CLIENT_TEXT 64u
static inline const char *admission_client_text(const struct exchange *x, char *text)
{
	const struct address *client = &x->facts.client;
	return client->family == 0 ? "unix" : address_format(client, text, ADMISSION_CLIENT_TEXT);
}

#endif
