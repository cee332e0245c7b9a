/* SPDX-License-Identifier: MIT */
/* What a task learns of each answer, and what it wants next (RFC 8555 7, RFC 9773 4). */
#include "proxy/acme/acme_private.h"
#include "proxy/base/ascii.h"
#include "proxy/base/memory.h"
#include <strings.h>

/* An authority is asked so often for the end of one step: with the pauses below, for ten minutes. */
enum { POLLS_MOST = 60 };
/* Where the authority does not say how long to wait: each time twice as long. */
enum { PAUSE_FIRST_SECONDS = 1, PAUSE_MOST_SECONDS = 10 };
/* The most that it may say while an order is open. */
enum { PAUSE_SAID_MOST_SECONDS = 300 };
enum { URL_BYTES_MOST = 2048 };

/* ---- parts of answers ---- */

const char *acme_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool is(const char *text, const char *wanted)
{
	return text && strcmp(text, wanted) == 0;
}

/* Another scheme or another host would let an answer send our signed requests anywhere. */
static bool is_at_the_ca(const struct acme_ca *ca, const char *url)
{
	const char *authority = strstr(ca->directory, "://");
	size_t length = authority ? 3 + (size_t)(authority - ca->directory) : 0;
	length += strcspn(ca->directory + length, "/");
	return strncasecmp(url, ca->directory, length) == 0 && url[length] == '/' &&
	       strlen(url) <= URL_BYTES_MOST && ascii_is_visible(slice_of_string(url));
}

/* Takes an address in. False: the task has failed. */
static bool take_url(struct acme_task *t, char **to, const char *url, const char *what)
{
	if (!url)
		acme_fail(t, "the answer has no address of %s", what);
	else if (!is_at_the_ca(t->ca, url))
		acme_fail(
		    t, "the address of %s is not at the authority of the directory: %s", what, url);
	else
		acme_set(to, url);
	return t->state != ACME_FAILED;
}

static void go_to(struct acme_task *t, enum acme_step step)
{
	t->step = step;
	t->polls = 0;
}

/* Asks for the same, or for `step`, in a while. */
static void wait_for(struct acme_task *t, enum acme_step step, const struct acme_answer *a)
{
	uint32_t pause = PAUSE_MOST_SECONDS;
	if (t->polls >= POLLS_MOST) {
		acme_fail(t, "it takes too long");
		return;
	}
	if (t->polls < 4 && (uint32_t)PAUSE_FIRST_SECONDS << t->polls < PAUSE_MOST_SECONDS)
		pause = (uint32_t)PAUSE_FIRST_SECONDS << t->polls;
	if (a->retry_after > 0)
		pause = a->retry_after < PAUSE_SAID_MOST_SECONDS ? a->retry_after
								 : PAUSE_SAID_MOST_SECONDS;
	t->polls++;
	t->step = step;
	t->wait_seconds = pause;
	t->state = ACME_WAITING;
}

/* ---- before an order ---- */

void acme_fail_without_windows(struct acme_task *t)
{
	acme_fail(t, "the authority does not say when to renew");
}

void acme_take_directory(struct acme_task *t, const struct acme_answer *a, const json_t *json)
{
	static const struct {
		const char *key, *what;
	} urls[ACME_URLS] = {[ACME_URL_NONCE] = {"newNonce", "newNonce"},
	    [ACME_URL_ACCOUNT] = {"newAccount", "newAccount"},
	    [ACME_URL_ORDER] = {"newOrder", "newOrder"},
	    [ACME_URL_RENEWAL] = {"renewalInfo", "renewalInfo"}};
	char *fresh[ACME_URLS] = {0};
	bool is_good = true;
	(void)a;
	if (!json_is_object(json)) {
		acme_fail(t, "the answer is no directory: it is no JSON object");
		return;
	}
	for (size_t i = 0; i < ACME_URLS && is_good; i++) {
		const char *url = acme_text(json, urls[i].key);
		if (url || i != ACME_URL_RENEWAL)
			is_good = take_url(t, &fresh[i], url, urls[i].what);
	}
	for (size_t i = 0; i < ACME_URLS; i++) {
		if (is_good)
			acme_set(&t->ca->urls[i], fresh[i]);
		free(fresh[i]);
	}
	if (is_good && t->step == ACME_STEP_WINDOW && !t->ca->urls[ACME_URL_RENEWAL])
		acme_fail_without_windows(t);
}

void acme_take_nonce(struct acme_task *t, const struct acme_answer *a, const json_t *json)
{
	(void)a, (void)json;
	if (!t->ca->nonce)
		acme_fail(t, "the answer has none that can be used");
}

void acme_take_account(struct acme_task *t, const struct acme_answer *a, const json_t *json)
{
	const char *status = acme_text(json, "status");
	char *url = NULL;
	if (status && strcmp(status, "valid") != 0) {
		acme_fail(t, "its status is %s", status);
		return;
	}
	if (a->location.len > 0) {
		url = memory_alloc(a->location.len + 1);
		memcpy(url, a->location.ptr, a->location.len);
		url[a->location.len] = '\0';
	}
	(void)take_url(t, &t->ca->account, url, "the account");
	free(url);
}

/* ---- an order ---- */

static bool take_authorizations(struct acme_task *t, const json_t *list)
{
	size_t count = json_array_size(list);
	if (count == 0 || count > ACME_NAMES_MOST) {
		acme_fail(t, "the answer has no authorizations, or too many");
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		const char *url = json_string_value(json_array_get(list, i));
		t->order.count = i + 1;
		if (!take_url(t, &t->order.authorizations[i], url, "an authorization"))
			return false;
	}
	return true;
}

/* Of the answer to ACME_STEP_ORDER. False: the task has failed. */
static bool take_new_order(struct acme_task *t, const struct acme_answer *a, const json_t *json)
{
	char *url = memory_zalloc(a->location.len + 1);
	if (a->location.len > 0)
		memcpy(url, a->location.ptr, a->location.len);
	bool is_good = take_url(t, &t->order.url, url, "the order") &&
		       take_url(t, &t->order.finalize, acme_text(json, "finalize"), "finalize") &&
		       take_authorizations(t, json_object_get(json, "authorizations"));
	free(url);
	return is_good;
}

/* The reason in an object of the authority that is invalid. */
static const char *error_of(const json_t *object)
{
	const json_t *error = json_object_get(object, "error");
	const char *detail = acme_text(error, "detail");
	return detail ? detail : "the authority does not say why";
}

void acme_take_order(struct acme_task *t, const struct acme_answer *a, const json_t *json)
{
	const char *status = acme_text(json, "status");
	bool is_new = t->asked == ACME_STEP_ORDER;
	if (is_new && !take_new_order(t, a, json))
		return;
	if (is(status, "pending") && is_new)
		go_to(t, ACME_STEP_AUTHORIZATION);
	else if (is(status, "ready") && t->asked != ACME_STEP_FINALIZATION)
		t->step = ACME_STEP_FINALIZATION;
	else if (is(status, "pending") || is(status, "ready") || is(status, "processing"))
		wait_for(t, ACME_STEP_ORDER_STATE, a);
	else if (!is(status, "valid"))
		acme_fail(t, "its status is %s: %s", status ? status : "missing", error_of(json));
	else if (take_url(
		     t, &t->order.certificate, acme_text(json, "certificate"), "the certificate"))
		go_to(t, ACME_STEP_CERTIFICATE);
}

/* ---- an authorization ---- */

/* The challenge of the type that is wished for; NULL: there is none. */
static const json_t *find_challenge(const struct acme_task *t, const json_t *authorization)
{
	const json_t *list = json_object_get(authorization, "challenges");
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *challenge = json_array_get(list, i);
		if (is(acme_text(challenge, "type"), t->wish.challenge))
			return challenge;
	}
	return NULL;
}

/* The name that the authorization is for, as it was wished for; NULL: none of those. */
static const char *find_name(const struct acme_task *t, const json_t *authorization)
{
	const char *name = acme_text(json_object_get(authorization, "identifier"), "value");
	for (size_t i = 0; name && i < t->wish.count; i++)
		if (strcasecmp(t->wish.names[i], name) == 0)
			return t->wish.names[i];
	return NULL;
}

static void begin_challenge(struct acme_task *t, const json_t *authorization)
{
	struct acme_order *o = &t->order;
	const json_t *challenge = find_challenge(t, authorization);
	const char *name = find_name(t, authorization), *token = acme_text(challenge, "token");
	if (!name)
		acme_fail(t, "it is for a name that was not ordered");
	else if (!challenge)
		acme_fail(
		    t, "the authority offers no challenge %s for %s", t->wish.challenge, name);
	else if (!token || !acme_token_is_good(slice_of_string(token)))
		acme_fail(t, "the challenge for %s has no token that can be used", name);
	else if (take_url(t, &o->challenge, acme_text(challenge, "url"), "the challenge")) {
		acme_set(&o->name, name);
		acme_set(&o->token, token);
		go_to(t, ACME_STEP_CHALLENGE);
	}
}

/* The challenge says why the authority could not verify the name. */
static void fail_of_authorization(struct acme_task *t, const char *status, const json_t *json)
{
	const char *name = find_name(t, json);
	const json_t *challenge = find_challenge(t, json);
	acme_fail(t, "that of %s is %s: %s", name ? name : "a name", status ? status : "damaged",
	    error_of(challenge));
}

void acme_take_authorization(struct acme_task *t, const struct acme_answer *a, const json_t *json)
{
	struct acme_order *o = &t->order;
	const char *status = acme_text(json, "status");
	if (is(status, "pending") && o->challenge)
		wait_for(t, ACME_STEP_AUTHORIZATION, a);
	else if (is(status, "pending"))
		begin_challenge(t, json);
	else if (!is(status, "valid"))
		fail_of_authorization(t, status, json);
	else {
		acme_set(&o->challenge, NULL);
		o->current++;
		go_to(t, o->current < o->count ? ACME_STEP_AUTHORIZATION : ACME_STEP_ORDER_STATE);
	}
}

void acme_take_challenge(struct acme_task *t, const struct acme_answer *a, const json_t *json)
{
	(void)json;
	wait_for(t, ACME_STEP_AUTHORIZATION, a);
}

/* ---- the results ---- */

void acme_take_certificate(struct acme_task *t, const struct acme_answer *a, const json_t *json)
{
	(void)json;
	if (a->body.len == 0) {
		acme_fail(t, "the answer is empty");
		return;
	}
	t->chain = memory_alloc(a->body.len + 1);
	memcpy(t->chain, a->body.ptr, a->body.len);
	t->chain[a->body.len] = '\0';
	t->state = ACME_DONE;
}

void acme_take_window(struct acme_task *t, const struct acme_answer *a, const json_t *json)
{
	const json_t *window = json_object_get(json, "suggestedWindow");
	const char *start = acme_text(window, "start"), *end = acme_text(window, "end");
	t->wait_seconds = a->retry_after;
	if (!start || !end || !acme_time_parse(start, &t->window.start) ||
	    !acme_time_parse(end, &t->window.end) || t->window.end <= t->window.start)
		acme_fail(t, "the answer has no window of time");
	else
		t->state = ACME_DONE;
}
