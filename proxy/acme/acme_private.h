/* SPDX-License-Identifier: MIT */
/* What the files of acme/ share. */
#ifndef PUSHGATE_ACME_ACME_PRIVATE_H
#define PUSHGATE_ACME_ACME_PRIVATE_H

#include "proxy/acme/acme.h"
#include <jansson.h>

/* answers.c: each takes an answer with a status below 300. json: its body, or NULL; borrowed. */
void acme_take_directory(struct acme_task *t, const struct acme_answer *a, const json_t *json);
void acme_take_nonce(struct acme_task *t, const struct acme_answer *a, const json_t *json);
void acme_take_account(struct acme_task *t, const struct acme_answer *a, const json_t *json);
void acme_take_order(struct acme_task *t, const struct acme_answer *a, const json_t *json);
void acme_take_authorization(struct acme_task *t, const struct acme_answer *a, const json_t *json);
void acme_take_challenge(struct acme_task *t, const struct acme_answer *a, const json_t *json);
void acme_take_certificate(struct acme_task *t, const struct acme_answer *a, const json_t *json);
void acme_take_window(struct acme_task *t, const struct acme_answer *a, const json_t *json);
/* problem.c: any other answer. */
void acme_take_problem(struct acme_task *t, const struct acme_answer *a, const json_t *json);

/* The directory has no address of ACME_STEP_WINDOW. */
void acme_fail_without_windows(struct acme_task *t);
/* challenge.c: RFC 4648 5, without padding, and not empty. */
bool acme_text_is_base64url(struct slice text);
/* The text of a member; NULL: it has none. */
const char *acme_text(const json_t *object, const char *key);
/* The task has failed, for this reason: printable characters alone go into it. */
void acme_fail(struct acme_task *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Frees the text and puts another one there; NULL: none. */
void acme_set(char **text, const char *value);

#endif
