/* SPDX-License-Identifier: MIT */
/* The steps of a task: a table with what each one asks for, and what takes its answer. See acme.h. */
#include "proxy/acme/acme_private.h"
#include "proxy/base/ascii.h"
#include "proxy/base/base64.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include <stdarg.h>

/* Those of the authorities of today have a hundred at most. */
enum { NONCE_BYTES_MOST = 1024 };

/* ---- payloads: JSON, the caller's to free ---- */

static char *dump(json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	json_decref(json);
	ensure(text != NULL);
	return text;
}

static char *account_payload(const struct acme_task *t)
{
	json_t *account = json_pack("{s:b}", "termsOfServiceAgreed", 1);
	if (t->ca->email)
		json_object_set_new(account, "contact", json_pack("[s+]", "mailto:", t->ca->email));
	return dump(account);
}

static char *order_payload(const struct acme_task *t)
{
	json_t *names = json_array();
	for (size_t i = 0; i < t->wish.count; i++)
		json_array_append_new(
		    names, json_pack("{s:s, s:s}", "type", "dns", "value", t->wish.names[i]));
	json_t *order = json_pack("{s:o}", "identifiers", names);
	if (t->wish.replaces && !t->replaces_nothing)
		json_object_set_new(order, "replaces", json_string(t->wish.replaces));
	return dump(order);
}

static char *challenge_payload(const struct acme_task *t)
{
	(void)t;
	return memory_strdup("{}");
}

static char *finalization_payload(const struct acme_task *t)
{
	size_t length;
	uint8_t *der = net_key_request(t->wish.key, t->wish.names, t->wish.count, &length);
	char *text = memory_alloc(BASE64_SIZE(length));
	text[base64url_encode(slice_of(der, length), text)] = '\0';
	char *payload = dump(json_pack("{s:s}", "csr", text));
	free(text);
	free(der);
	return payload;
}

/* RFC 8555 6.3: POST-as-GET. */
static char *no_payload(const struct acme_task *t)
{
	(void)t;
	return memory_strdup("");
}

/* ---- addresses ---- */

static const char *directory_url(const struct acme_task *t)
{
	return t->ca->directory;
}

static const char *nonce_url(const struct acme_task *t)
{
	return t->ca->urls[ACME_URL_NONCE];
}

static const char *account_url(const struct acme_task *t)
{
	return t->ca->urls[ACME_URL_ACCOUNT];
}

static const char *new_order_url(const struct acme_task *t)
{
	return t->ca->urls[ACME_URL_ORDER];
}

static const char *authorization_url(const struct acme_task *t)
{
	return t->order.authorizations[t->order.current];
}

static const char *challenge_url(const struct acme_task *t)
{
	return t->order.challenge;
}

static const char *finalize_url(const struct acme_task *t)
{
	return t->order.finalize;
}

static const char *order_url(const struct acme_task *t)
{
	return t->order.url;
}

static const char *certificate_url(const struct acme_task *t)
{
	return t->order.certificate;
}

static const char *window_url(const struct acme_task *t)
{
	return t->url;
}

/* ---- the table ---- */

enum signer {
	UNSIGNED,
	BY_KEY,     /* the signature has the public key */
	BY_ACCOUNT, /* … or the address of the account */
};

static const struct row {
	const char *name;
	enum signer signer;
	const char *method;
	const char *(*url)(const struct acme_task *t);
	char *(*payload)(const struct acme_task *t);
	void (*take)(struct acme_task *t, const struct acme_answer *a, const json_t *json);
} rows[ACME_STEPS] = {
    [ACME_STEP_DIRECTORY] = {"the directory", UNSIGNED, "GET", directory_url, NULL,
	acme_take_directory},
    [ACME_STEP_NONCE] = {"a nonce", UNSIGNED, "HEAD", nonce_url, NULL, acme_take_nonce},
    [ACME_STEP_ACCOUNT] = {"the account", BY_KEY, "POST", account_url, account_payload,
	acme_take_account},
    [ACME_STEP_ORDER] = {"the order", BY_ACCOUNT, "POST", new_order_url, order_payload,
	acme_take_order},
    [ACME_STEP_AUTHORIZATION] = {"the authorization", BY_ACCOUNT, "POST", authorization_url,
	no_payload, acme_take_authorization},
    [ACME_STEP_CHALLENGE] = {"the challenge", BY_ACCOUNT, "POST", challenge_url, challenge_payload,
	acme_take_challenge},
    [ACME_STEP_FINALIZATION] = {"the end of the order", BY_ACCOUNT, "POST", finalize_url,
	finalization_payload, acme_take_order},
    [ACME_STEP_ORDER_STATE] = {"the state of the order", BY_ACCOUNT, "POST", order_url, no_payload,
	acme_take_order},
    [ACME_STEP_CERTIFICATE] = {"the certificate", BY_ACCOUNT, "POST", certificate_url, no_payload,
	acme_take_certificate},
    [ACME_STEP_WINDOW] = {"the time of renewal", UNSIGNED, "GET", window_url, NULL,
	acme_take_window},
};

/* ---- the life of a task ---- */

void acme_set(char **text, const char *value)
{
	char *fresh = value ? memory_strdup(value) : NULL;
	free(*text);
	*text = fresh;
}

void acme_ca_init(
    struct acme_ca *ca, const char *directory, const char *email, const struct net_key *key)
{
	*ca = (struct acme_ca){.directory = directory, .email = email, .key = key};
}

void acme_ca_fini(struct acme_ca *ca)
{
	for (size_t i = 0; i < ACME_URLS; i++)
		free(ca->urls[i]);
	free(ca->account);
	free(ca->nonce);
	*ca = (struct acme_ca){0};
}

void acme_order_begin(struct acme_task *t, struct acme_ca *ca, const struct acme_wish *wish)
{
	ensure(wish->count > 0 && wish->count <= ACME_NAMES_MOST);
	*t = (struct acme_task){.ca = ca, .step = ACME_STEP_ORDER, .wish = *wish};
}

void acme_window_begin(struct acme_task *t, struct acme_ca *ca, const char *certificate_id)
{
	*t = (struct acme_task){
	    .ca = ca, .step = ACME_STEP_WINDOW, .certificate_id = certificate_id};
	if (ca->urls[ACME_URL_NONCE] && !ca->urls[ACME_URL_RENEWAL])
		acme_fail_without_windows(t);
}

void acme_task_fini(struct acme_task *t)
{
	struct acme_order *o = &t->order;
	char **const texts[] = {&o->url, &o->finalize, &o->certificate, &o->challenge, &o->name,
	    &o->token, &t->chain, &t->url};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		acme_set(texts[i], NULL);
	for (size_t i = 0; i < o->count; i++)
		acme_set(&o->authorizations[i], NULL);
	o->count = 0;
}

void acme_fail(struct acme_task *t, const char *format, ...)
{
	va_list args;
	int name = snprintf(t->problem, sizeof(t->problem), "%s: ", rows[t->asked].name);
	va_start(args, format);
	vsnprintf(t->problem + name, sizeof(t->problem) - (size_t)name, format, args);
	va_end(args);
	for (char *c = t->problem; *c; c++)
		if (!ascii_is_visible(slice_of(c, 1)))
			*c = ' ';
	t->state = ACME_FAILED;
}

/* ---- requests ---- */

enum acme_step acme_task_next(const struct acme_task *t)
{
	enum acme_step step = t->step;
	if (!t->ca->urls[ACME_URL_NONCE])
		return ACME_STEP_DIRECTORY;
	if (rows[step].signer == BY_ACCOUNT && !t->ca->account)
		step = ACME_STEP_ACCOUNT;
	return rows[step].signer != UNSIGNED && !t->ca->nonce ? ACME_STEP_NONCE : step;
}

/* RFC 9773 4.1. */
static void make_window_url(struct acme_task *t)
{
	const char *base = t->ca->urls[ACME_URL_RENEWAL];
	size_t size = strlen(base) + 1 + strlen(t->certificate_id) + 1;
	bool has_slash = base[strlen(base) - 1] == '/';
	free(t->url);
	t->url = memory_alloc(size);
	snprintf(t->url, size, "%s%s%s", base, has_slash ? "" : "/", t->certificate_id);
}

void acme_task_request(struct acme_task *t, struct acme_request *r)
{
	ensure(t->state == ACME_REQUEST);
	t->asked = acme_task_next(t);
	const struct row *row = &rows[t->asked];
	if (t->asked == ACME_STEP_WINDOW)
		make_window_url(t);
	*r = (struct acme_request){.method = row->method, .url = row->url(t)};
	if (!row->payload)
		return;
	char *payload = row->payload(t);
	const struct acme_signing s = {.key = t->ca->key,
	    .account = row->signer == BY_ACCOUNT ? t->ca->account : NULL,
	    .nonce = t->ca->nonce,
	    .url = r->url,
	    .payload = payload};
	r->body = acme_sign(&s);
	free(payload);
	acme_set(&t->ca->nonce, NULL);
}

/* ---- answers ---- */

static void keep_nonce(struct acme_ca *ca, struct slice nonce)
{
	if (nonce.len > NONCE_BYTES_MOST || !acme_text_is_base64url(nonce))
		return;
	free(ca->nonce);
	ca->nonce = memory_alloc(nonce.len + 1);
	memcpy(ca->nonce, nonce.ptr, nonce.len);
	ca->nonce[nonce.len] = '\0';
}

void acme_task_take(struct acme_task *t, const struct acme_answer *a)
{
	ensure(t->state == ACME_REQUEST);
	keep_nonce(t->ca, a->nonce);
	json_t *json = json_loadb(a->body.ptr ? a->body.ptr : "", a->body.len, 0, NULL);
	bool is_good = a->status >= 200 && a->status < 300;
	if (is_good)
		rows[t->asked].take(t, a, json);
	else
		acme_take_problem(t, a, json);
	/* The account may have been made again: that alone is no step onward. */
	if (is_good && rows[t->asked].signer == BY_ACCOUNT)
		t->repeats = 0;
	json_decref(json);
}

void acme_task_waited(struct acme_task *t)
{
	ensure(t->state == ACME_WAITING);
	t->state = ACME_REQUEST;
}
