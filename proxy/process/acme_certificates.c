/* SPDX-License-Identifier: MIT */
/* What the ACME process keeps: the account's key, and a certificate for each listener with the time when it is renewed. */
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/process/acme_private.h"
#include <errno.h>
#include <stdio.h>
#include <time.h>

/* After a certificate that the authority says nothing of, or could not be asked about. */
#define ASK_AGAIN_SECONDS (6 * 3600)

/* The master's slot has the counters of all generations. */
#define COUNT(p, name)                                                                             \
	((void)__atomic_fetch_add(&(p)->helper.env->counters->name, 1, __ATOMIC_RELAXED))

static void erase(char *text, size_t length)
{
	if (text)
		explicit_bzero(text, length);
	free(text);
}

/* ---- the account ---- */

/* Makes a key and keeps it. False with errno. */
static bool make_account(struct acme_process *p, const char *path)
{
	p->account = net_key_new();
	char *text = net_key_write(p->account);
	const struct slice part = slice_of_string(text);
	int error = acme_file_write(path, &part, 1);
	erase(text, part.len);
	errno = error;
	return error == 0;
}

bool acme_account_open(struct acme_process *p, char *error, size_t error_size)
{
	const struct conf_acme *conf = &p->helper.env->conf->server.acme;
	char path[4096];
	size_t length;
	snprintf(path, sizeof(path), "%s/account.key", conf->dir);
	char *text = acme_file_read(path, &length);
	if (!text && errno == ENOENT && !make_account(p, path)) {
		snprintf(
		    error, error_size, "acme: %s cannot be written: %s", path, strerror(errno));
		return false;
	}
	if (!text && !p->account) {
		snprintf(error, error_size, "acme: %s cannot be read: %s", path, strerror(errno));
		return false;
	}
	if (text)
		p->account = net_key_read(slice_of(text, length));
	erase(text, text ? length : 0);
	if (!p->account) {
		snprintf(error, error_size,
		    "acme: %s is no key of P-256; remove it, and another account is made", path);
		return false;
	}
	acme_thumbprint(p->account, p->told.thumbprint);
	acme_ca_init(&p->ca, conf->directory, conf->email, p->account);
	return true;
}

/* ---- when what is due ---- */

static const char *date_of(int64_t seconds, char text[24])
{
	struct tm tm;
	time_t t = (time_t)seconds;
	if (!gmtime_r(&t, &tm) || strftime(text, 24, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		memcpy(text, "?", 2);
	return text;
}

static void schedule(struct acme_certificate *c, const struct acme_window *window)
{
	c->order_at = acme_renewal_time(&c->issued, window, hash_random_seed());
}

/* c->issued is what its file has. */
static void use(struct acme_certificate *c)
{
	c->failures = 0;
	schedule(c, NULL);
	if (!acme_certificate_id(&c->issued, c->id))
		c->id[0] = '\0';
	c->ask_at = c->id[0] ? acme_process_now() : INT64_MAX;
}

/* The listener's file as it is: without a certificate that covers all names one is ordered at once. */
static void open_certificate(struct acme_process *p, struct acme_certificate *c)
{
	const struct conf_acme_listen *acme = c->listen->acme;
	size_t length = 0;
	char date[24];
	char *text = acme_file_read(acme->file, &length);
	struct net_key *key = text ? net_key_read(slice_of(text, length)) : NULL;
	bool is_good =
	    key &&
	    net_issued_read(slice_of(text, length), key, acme->names, acme->count, &c->issued) &&
	    c->issued.missing == acme->count;
	net_key_free(key);
	erase(text, length);
	c->order_at = 0;
	c->ask_at = INT64_MAX;
	if (!is_good) {
		observe_log(&p->helper.observe, OBSERVE_WARN,
		    "acme: %s has no certificate for all hosts of its routes yet; one is ordered",
		    c->listen->name);
		return;
	}
	use(c);
	observe_log(&p->helper.observe, OBSERVE_INFO,
	    "acme: the certificate of %s is good until %s; it is renewed after %s", c->listen->name,
	    date_of(c->issued.ends, date), date_of(c->order_at, (char[24]){0}));
}

void acme_certificates_open(struct acme_process *p)
{
	const struct conf *conf = p->helper.env->conf;
	p->certificates = memory_zalloc(conf->listen_count * sizeof(*p->certificates));
	for (size_t i = 0; i < conf->listen_count; i++) {
		if (!conf->listens[i].acme)
			continue;
		struct acme_certificate *c = &p->certificates[p->count++];
		c->listen = &conf->listens[i];
		open_certificate(p, c);
	}
}

/* ---- tasks ---- */

void acme_certificate_begin(struct acme_process *p, struct acme_certificate *c)
{
	const struct conf_acme_listen *acme = c->listen->acme;
	if (c->ask_at < c->order_at) {
		acme_window_begin(&p->task, &p->ca, c->id);
		return;
	}
	p->key = net_key_new();
	const struct acme_wish wish = {.names = acme->names,
	    .count = acme->count,
	    .key = p->key,
	    .challenge = conf_acme_is_over_tls(p->helper.env->conf) ? ACME_CHALLENGE_TLS
								    : ACME_CHALLENGE_HTTP,
	    .replaces = c->id[0] ? c->id : NULL};
	acme_order_begin(&p->task, &p->ca, &wish);
}

/* An order has brought nothing. */
static void fail(struct acme_process *p, struct acme_certificate *c, const char *why)
{
	uint32_t pause =
	    acme_pause_seconds(++c->failures, p->task.wait_seconds, hash_random_seed());
	c->order_at = acme_process_now() + pause;
	COUNT(p, acme_orders_failed);
	observe_log(&p->helper.observe, OBSERVE_ERROR,
	    "acme: no certificate for %s: %s; tried again in %u s", c->listen->name, why, pause);
}

static void keep(struct acme_process *p, struct acme_certificate *c)
{
	const struct conf_acme_listen *acme = c->listen->acme;
	const struct slice chain = slice_of_string(p->task.chain);
	struct net_issued issued;
	char date[24], why[256];
	if (!net_issued_read(chain, p->key, acme->names, acme->count, &issued) ||
	    issued.missing < acme->count || issued.ends <= acme_process_now()) {
		fail(p, c, "what the authority has made is not what was ordered");
		return;
	}
	char *key = net_key_write(p->key);
	const struct slice parts[] = {slice_of_string(key), chain};
	int error = acme_file_write(acme->file, parts, 2);
	erase(key, parts[0].len);
	if (error) {
		snprintf(why, sizeof(why), "%s cannot be written: %s", acme->file, strerror(error));
		fail(p, c, why);
		return;
	}
	c->issued = issued;
	use(c);
	COUNT(p, acme_certificates);
	observe_log(&p->helper.observe, OBSERVE_INFO,
	    "acme: %s has a new certificate, which is good until %s", c->listen->name,
	    date_of(issued.ends, date));
	/* The master reads the file, and gives it to the workers. */
	helper_tell_master(&p->helper, MESSAGE_CONTENT, 0, -1);
}

/* What the authority says counts until the first failure; then the pauses do. */
static void take_window(struct acme_process *p, struct acme_certificate *c)
{
	char date[24];
	c->ask_at = acme_process_now() + acme_window_seconds(p->task.wait_seconds);
	c->has_asked_in_vain = false;
	if (c->failures > 0)
		return;
	int64_t before = c->order_at;
	/* One moment in a window, not another at each question. */
	if (before < p->task.window.start || before >= p->task.window.end)
		schedule(c, &p->task.window);
	if (c->order_at != before)
		observe_log(&p->helper.observe, OBSERVE_INFO,
		    "acme: the certificate of %s is renewed after %s, as the authority wants",
		    c->listen->name, date_of(c->order_at, date));
}

/* Without an answer the certificate is renewed at two thirds of its life. */
static void miss_window(struct acme_process *p, struct acme_certificate *c)
{
	uint32_t pause = p->task.wait_seconds;
	c->ask_at =
	    acme_process_now() + (pause > ASK_AGAIN_SECONDS ? (int64_t)pause : ASK_AGAIN_SECONDS);
	if (!c->has_asked_in_vain)
		observe_log(&p->helper.observe, OBSERVE_INFO, "acme: %s: %s", c->listen->name,
		    p->task.problem);
	c->has_asked_in_vain = true;
}

void acme_certificate_conclude(struct acme_process *p, struct acme_certificate *c)
{
	bool is_done = p->task.state == ACME_DONE, is_window = p->task.step == ACME_STEP_WINDOW;
	if (is_window && is_done)
		take_window(p, c);
	else if (is_window)
		miss_window(p, c);
	else if (is_done)
		keep(p, c);
	else
		fail(p, c, p->task.problem);
}
