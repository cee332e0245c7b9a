/* SPDX-License-Identifier: MIT */
/* What the ACME process keeps: the account's key, and a certificate for each listener with the time when it is renewed. */
#include "proxy/base/descriptor.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/base/sealed.h"
#include "proxy/process/acme_private.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* After a certificate that the authority says nothing of, or could not be asked about. */
#define ASK_AGAIN_SECONDS (6 * 3600)

/* While another process that has this acme-dir orders. */
#define LOCK_AGAIN_SECONDS 5
/* So many times in a row a certificate may have to go early, as after a revocation, without a pause. */
#define EARLY_MOST 2u

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

/* The key into p->account, or NULL: there is a text, and it is none. False with errno: there is no text. */
static bool read_account(struct acme_process *p, const char *path)
{
	size_t length;
	char *text = acme_file_read(path, &length);
	if (!text)
		return false;
	p->account = net_key_read(slice_of(text, length));
	erase(text, length);
	return true;
}

/* Another process may make it at the same time. Returns 0 or errno. */
static int make_account_once(struct acme_process *p, const char *path)
{
	int lock = acme_lock_take(p->helper.env->conf->server.acme.dir, ACME_LOCK_ACCOUNT, true);
	if (lock < 0)
		return errno;
	bool is_there = read_account(p, path) || (errno == ENOENT && make_account(p, path));
	int error = is_there ? 0 : errno;
	close(lock);
	return error;
}

bool acme_account_open(struct acme_process *p, char *error, size_t error_size)
{
	const struct conf_acme *conf = &p->helper.env->conf->server.acme;
	char path[4096];
	snprintf(path, sizeof(path), "%s/account.key", conf->dir);
	int wrong = read_account(p, path) ? 0 : errno;
	if (wrong == ENOENT)
		wrong = make_account_once(p, path);
	if (wrong)
		snprintf(error, error_size, "acme: %s cannot be read or made: %s", path,
		    strerror(wrong));
	else if (!p->account)
		snprintf(error, error_size,
		    "acme: %s is no key of P-256; remove it, and another account is made", path);
	if (wrong || !p->account)
		return false;
	acme_thumbprint(p->account, p->told.thumbprint);
	acme_ca_init(&p->ca, conf->directory, conf->email, p->account);
	return true;
}

/* ---- when what is due ---- */

static void schedule(struct acme_certificate *c, const struct acme_window *window)
{
	c->order_at = acme_renewal_time(&c->issued, window, hash_random_seed());
	if (c->order_at < c->not_before)
		c->order_at = c->not_before;
}

/* ---- what others are told ---- */

/* why: of an order that has failed; NULL: all that was reported stays. */
static void report(const struct acme_process *p, struct acme_certificate *c, const char *why)
{
	struct certificate_report r;
	(void)certificate_entry_read(c->entry, &r);
	r.state = c->issued.ends == 0                          ? CERTIFICATE_MISSING
		  : c->issued.missing < c->listen->acme->count ? CERTIFICATE_LACKING
							       : CERTIFICATE_GOOD;
	r.open = p->work.certificate == c && p->work.key;
	r.failures = c->failures;
	r.next_at = c->order_at > 0 ? c->order_at : acme_process_now();
	if (why)
		snprintf(r.why, sizeof(r.why), "%s", why);
	certificate_entry_write(c->entry, &r);
}

/* It reads the files, and gives them to the workers. */
static void tell_master(const struct acme_process *p)
{
	helper_tell_master(&p->helper, MESSAGE_CONTENT, 0, -1);
}

/* ---- files ---- */

/* What is in the listener's file; ends 0: no certificate with its key. is_served: the workers have these bytes. */
static void look(const struct acme_process *p, const struct acme_certificate *c,
    struct net_issued *issued, bool *is_served)
{
	const struct conf_acme_listen *acme = c->listen->acme;
	size_t length = 0;
	char *text = acme_file_read(acme->file, &length);
	const struct slice bytes = slice_of(text, length);
	*is_served = text && sealed_has(p->helper.env->conf->sealed, acme->file, bytes);
	(void)net_issued_read_with_key(bytes, acme->names, acme->count, issued);
	erase(text, length);
}

static bool covers_all(const struct acme_certificate *c, const struct net_issued *issued)
{
	return issued->ends > 0 && issued->missing == c->listen->acme->count;
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

/* Without a certificate that covers all names one is ordered at once. */
static void open_certificate(struct acme_process *p, struct acme_certificate *c)
{
	char date[CLOCK_DATE_BYTES];
	bool is_served;
	c->order_at = 0;
	c->ask_at = INT64_MAX;
	look(p, c, &c->issued, &is_served);
	/* The process before this one has died when it had written the file, or another gateway has written it. */
	if (c->issued.ends > 0 && !is_served)
		tell_master(p);
	if (!covers_all(c, &c->issued)) {
		observe_log(&p->helper.observe, OBSERVE_WARN,
		    "acme: %s has no certificate for all hosts of its routes yet; one is ordered",
		    c->listen->name);
		report(p, c, "");
		return;
	}
	use(c);
	report(p, c, "");
	observe_log(&p->helper.observe, OBSERVE_INFO,
	    "acme: the certificate of %s is good until %s; it is renewed after %s", c->listen->name,
	    clock_date(c->issued.ends, date), clock_date(c->order_at, (char[CLOCK_DATE_BYTES]){0}));
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
		c->entry = &p->helper.env->certificates[i];
		open_certificate(p, c);
	}
}

/* ---- orders ---- */

/* An order has brought nothing. */
static void fail(struct acme_process *p, struct acme_certificate *c, const char *why)
{
	uint32_t pause =
	    acme_pause_seconds(++c->failures, p->work.task.wait_seconds, hash_random_seed());
	c->order_at = acme_process_now() + pause;
	COUNT(p, acme_orders_failed);
	report(p, c, why);
	observe_log(&p->helper.observe, OBSERVE_ERROR,
	    "acme: no certificate for %s: %s; tried again in %u s", c->listen->name, why, pause);
}

/* Another gateway with the same acme-dir has got one meanwhile. */
static bool adopt(struct acme_process *p, struct acme_certificate *c)
{
	struct net_issued issued;
	bool is_served;
	look(p, c, &issued, &is_served);
	if (!covers_all(c, &issued) || issued.starts < c->issued.starts ||
	    (issued.serial_length == c->issued.serial_length &&
		memcmp(issued.serial, c->issued.serial, issued.serial_length) == 0) ||
	    acme_renewal_time(&issued, NULL, 0) <= acme_process_now())
		return false;
	c->issued = issued;
	use(c);
	report(p, c, "");
	observe_log(&p->helper.observe, OBSERVE_INFO,
	    "acme: %s has a new certificate, which another gateway with the same acme-dir has got",
	    c->listen->name);
	tell_master(p);
	return true;
}

/* False: not now. */
static bool may_order(struct acme_process *p, struct acme_certificate *c)
{
	const char *dir = p->helper.env->conf->server.acme.dir;
	char why[256];
	int lock = acme_lock_take(dir, ACME_LOCK_ORDER, false);
	if (lock < 0 && errno == EAGAIN) {
		c->order_at = acme_process_now() + LOCK_AGAIN_SECONDS;
		report(p, c, NULL);
		return false;
	}
	if (lock < 0) {
		snprintf(why, sizeof(why), "%s/lock cannot be locked: %s", dir, strerror(errno));
		fail(p, c, why);
		return false;
	}
	p->work.lock = lock;
	if (!adopt(p, c))
		return true;
	descriptor_close(&p->work.lock);
	return false;
}

bool acme_certificate_begin(struct acme_process *p, struct acme_certificate *c)
{
	const struct conf_acme_listen *acme = c->listen->acme;
	struct acme_work *w = &p->work;
	if (c->ask_at < c->order_at) {
		w->certificate = c;
		acme_window_begin(&w->task, &p->ca, c->id);
		return true;
	}
	if (!may_order(p, c))
		return false;
	w->certificate = c;
	w->key = net_key_new();
	const struct acme_wish wish = {.names = acme->names,
	    .count = acme->count,
	    .key = w->key,
	    .challenge = conf_acme_is_over_tls(p->helper.env->conf) ? ACME_CHALLENGE_TLS
								    : ACME_CHALLENGE_HTTP,
	    .replaces = c->id[0] ? c->id : NULL};
	acme_order_begin(&w->task, &p->ca, &wish);
	report(p, c, NULL);
	return true;
}

/* One that comes before a third of the time of the one before it has passed is early. */
static void set_pace(struct acme_certificate *c, int64_t now)
{
	bool is_early = c->came_at > 0 && now - c->came_at < (c->issued.ends - c->came_at) / 3;
	c->early = is_early ? c->early + 1 : 0;
	c->not_before = 0;
	if (c->early > EARLY_MOST)
		c->not_before =
		    now + acme_pause_seconds(c->early - EARLY_MOST, 0, hash_random_seed());
	c->came_at = now;
}

static void keep(struct acme_process *p, struct acme_certificate *c)
{
	const struct conf_acme_listen *acme = c->listen->acme;
	const struct slice chain = slice_of_string(p->work.task.chain);
	int64_t now = acme_process_now();
	struct net_issued issued;
	char date[CLOCK_DATE_BYTES], why[256];
	if (!net_issued_read(chain, p->work.key, acme->names, acme->count, &issued) ||
	    !covers_all(c, &issued) || issued.ends <= now) {
		fail(p, c, "what the authority has made is not what was ordered");
		return;
	}
	char *key = net_key_write(p->work.key);
	const struct slice parts[] = {slice_of_string(key), chain};
	int error = acme_file_write(acme->file, parts, 2);
	erase(key, parts[0].len);
	if (error) {
		snprintf(why, sizeof(why), "%s cannot be written: %s", acme->file, strerror(error));
		fail(p, c, why);
		return;
	}
	set_pace(c, now);
	c->issued = issued;
	use(c);
	report(p, c, "");
	COUNT(p, acme_certificates);
	observe_log(&p->helper.observe, OBSERVE_INFO,
	    "acme: %s has a new certificate, which is good until %s", c->listen->name,
	    clock_date(issued.ends, date));
	tell_master(p);
}

/* ---- when to renew ---- */

/* What the authority says counts until the first failure; then the pauses do. */
static void take_window(struct acme_process *p, struct acme_certificate *c)
{
	char date[CLOCK_DATE_BYTES];
	c->ask_at = acme_process_now() + acme_window_seconds(p->work.task.wait_seconds);
	c->has_asked_in_vain = false;
	if (c->failures > 0)
		return;
	int64_t before = c->order_at;
	/* One moment in a window, not another at each question. */
	if (before < p->work.task.window.start || before >= p->work.task.window.end)
		schedule(c, &p->work.task.window);
	if (c->order_at != before)
		observe_log(&p->helper.observe, OBSERVE_INFO,
		    "acme: the certificate of %s is renewed after %s, as the authority wants",
		    c->listen->name, clock_date(c->order_at, date));
	report(p, c, NULL);
}

/* Without an answer the certificate is renewed at two thirds of its life. */
static void miss_window(struct acme_process *p, struct acme_certificate *c)
{
	/* A day at most: an authority that errs must not end all questions. */
	uint32_t pause = acme_window_seconds(p->work.task.wait_seconds);
	c->ask_at = acme_process_now() + (pause > ASK_AGAIN_SECONDS ? pause : ASK_AGAIN_SECONDS);
	if (!c->has_asked_in_vain)
		observe_log(&p->helper.observe, OBSERVE_INFO, "acme: %s: %s", c->listen->name,
		    p->work.task.problem);
	c->has_asked_in_vain = true;
}

void acme_certificate_conclude(struct acme_process *p)
{
	struct acme_certificate *c = p->work.certificate;
	const struct acme_task *task = &p->work.task;
	bool is_done = task->state == ACME_DONE, is_window = task->step == ACME_STEP_WINDOW;
	p->work.certificate = NULL; /* no order is open any more */
	if (is_window && is_done)
		take_window(p, c);
	else if (is_window)
		miss_window(p, c);
	else if (is_done)
		keep(p, c);
	else
		fail(p, c, task->problem);
}
