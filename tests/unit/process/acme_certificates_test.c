/* SPDX-License-Identifier: MIT */
/*
 * What the ACME process keeps: the account's key, certificates and the times of orders; also when another gateway has
 * written a file, or when what has come is not what was ordered. The authority is the test.
 */
#include "proxy/base/memory.h"
#include "proxy/base/sealed.h"
#include "proxy/process/acme_private.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define DAY 86400

struct bench {
	char folder[64], file[96];
	struct conf *conf;
	struct identity identity;
	struct observe_counters counters;
	struct logs logs;
	struct certificate_entry entries[2];
	struct helper_env env;
	struct acme_process process;
	int master; /* its end */
};

static void open_process(struct bench *b)
{
	char error[256] = "";
	b->process = (struct acme_process){.helper.env = &b->env, .work.lock = -1};
	b->process.helper.observe = (struct observe){.counters = &b->counters, .access_fd = -1, .error_fd = -1};
	if (!acme_account_open(&b->process, error, sizeof(error)))
		fail_msg("%s", error);
	acme_certificates_open(&b->process);
	assert_int_equal(b->process.count, 1);
}

static void end_work(struct bench *b)
{
	struct acme_work *w = &b->process.work;
	acme_task_fini(&w->task);
	net_key_free(w->key);
	if (w->lock >= 0)
		close(w->lock);
	*w = (struct acme_work){.lock = -1};
}

static void close_process(struct bench *b)
{
	end_work(b);
	acme_ca_fini(&b->process.ca);
	net_key_free(b->process.account);
	free(b->process.certificates);
	b->process.certificates = NULL;
}

static int set_up(void **state)
{
	struct bench *b = memory_new(struct bench);
	char text[512];
	int pair[2];
	snprintf(b->folder, sizeof(b->folder), "/tmp/pushgate-test-XXXXXX");
	assert_non_null(mkdtemp(b->folder));
	snprintf(b->file, sizeof(b->file), "%s/main.pem", b->folder);
	snprintf(text, sizeof(text),
	    "[server]\nacme-dir = %s\n[listen plain]\naddress = unix:/tmp/a\n[listen main]\naddress = unix:/tmp/b\n"
	    "acme = https://ca.test/dir\n[route main]\nhost = a.example b.example\nanswer = 204\n",
	    b->folder);
	b->conf = conf_load_text(slice_of_string(text), "test.ini", false, stderr);
	assert_non_null(b->conf);
	b->conf->sealed = sealed_new();
	sealed_seal(b->conf->sealed);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	b->master = pair[0];
	b->env = (struct helper_env){.conf = b->conf, .identity = &b->identity, .logs = &b->logs, .counters = &b->counters, .certificates = b->entries, .workers = 1, .control = pair[1]};
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	char command[128];
	close(b->master);
	close(b->env.control);
	conf_free(b->conf);
	snprintf(command, sizeof(command), "rm -rf %s", b->folder);
	assert_int_equal(system(command), 0);
	free(b);
	return 0;
}

static unsigned told(const struct bench *b)
{
	unsigned n = 0;
	struct message m;
	while (recv(b->master, &m, sizeof(m), 0) > 0)
		n += m.kind == MESSAGE_CONTENT;
	return n;
}

static struct certificate_report report_of(const struct bench *b)
{
	struct certificate_report r;
	assert_true(certificate_entry_read(&b->entries[1], &r));
	return r;
}

static const char *const both[] = {"a.example", "b.example"};

/* As another gateway would, or a process before. Returns its text, which the caller frees. */
static char *write_certificate(struct bench *b, size_t names, int64_t ends)
{
	struct net_key *key = net_key_new();
	char *secret = net_key_write(key), *chain = net_key_self_signed(key, both, names, ends, NULL);
	const struct slice parts[] = {slice_of_string(secret), slice_of_string(chain)};
	assert_int_equal(acme_file_write(b->file, parts, 2), 0);
	net_key_free(key);
	free(secret);
	return chain;
}

static bool begin(struct bench *b)
{
	return acme_certificate_begin(&b->process, &b->process.certificates[0]);
}

static void conclude(struct bench *b)
{
	acme_certificate_conclude(&b->process);
	end_work(b);
}

/* The authority has made this for the key of the order. */
static void order_is_done(struct bench *b, const char *const *names, size_t count, int64_t ends, const char *tail)
{
	struct acme_work *w = &b->process.work;
	char *chain = net_key_self_signed(w->key, names, count, ends, NULL);
	w->task.chain = memory_alloc(strlen(chain) + strlen(tail) + 1);
	sprintf(w->task.chain, "%s%s", chain, tail);
	free(chain);
	w->task.state = ACME_DONE;
	conclude(b);
}

static void account_is_made_once(void **state)
{
	struct bench *b = *state;
	char path[96], first[ACME_THUMBPRINT_BYTES + 1];
	struct stat st;
	open_process(b);
	memcpy(first, b->process.told.thumbprint, sizeof(first));
	close_process(b);
	snprintf(path, sizeof(path), "%s/account.key", b->folder);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	open_process(b);
	assert_string_equal(b->process.told.thumbprint, first);
	close_process(b);
	/* Not a key: nothing is overwritten. */
	char error[512];
	const struct slice junk = SLICE("junk");
	assert_int_equal(acme_file_write(path, &junk, 1), 0);
	b->process = (struct acme_process){.helper.env = &b->env};
	assert_false(acme_account_open(&b->process, error, sizeof(error)));
	assert_non_null(strstr(error, "is no key of P-256; remove it"));
	snprintf(path, sizeof(path), "%s/gone", b->folder);
	((struct conf *)b->conf)->server.acme.dir = path;
	assert_false(acme_account_open(&b->process, error, sizeof(error)));
	assert_non_null(strstr(error, "cannot be read or made: No such file or directory"));
}

static void gateways_that_begin_together_have_one_account(void **state)
{
	struct bench *b = *state;
	enum { GATEWAYS = 8 };
	int pipes[2];
	char text[GATEWAYS * (ACME_THUMBPRINT_BYTES + 1)];
	assert_int_equal(pipe(pipes), 0);
	for (unsigned i = 0; i < GATEWAYS; i++)
		if (fork() == 0) {
			open_process(b);
			_exit(write(pipes[1], b->process.told.thumbprint, ACME_THUMBPRINT_BYTES + 1) > 0 ? 0 : 1);
		}
	for (unsigned i = 0; i < GATEWAYS; i++)
		wait(NULL);
	assert_int_equal(read(pipes[0], text, sizeof(text)), sizeof(text));
	for (unsigned i = 1; i < GATEWAYS; i++)
		assert_string_equal(text, text + i * (ACME_THUMBPRINT_BYTES + 1));
	close(pipes[0]);
	close(pipes[1]);
}

static void order_brings_a_certificate(void **state)
{
	struct bench *b = *state;
	int64_t now = acme_process_now();
	open_process(b);
	assert_int_equal(report_of(b).state, CERTIFICATE_MISSING);
	assert_int_equal(report_of(b).open, 0);
	assert_int_equal(told(b), 0);
	assert_true(begin(b));
	assert_int_equal(report_of(b).open, 1);
	assert_int_equal(b->process.work.task.wish.count, 2);
	assert_null(b->process.work.task.wish.replaces);
	order_is_done(b, both, 2, now + 90 * DAY, "");
	assert_int_equal(told(b), 1);
	struct certificate_report r = report_of(b);
	assert_int_equal(r.state, CERTIFICATE_GOOD);
	assert_int_equal(r.open, 0);
	assert_true(r.next_at > now + 59 * DAY && r.next_at < now + 61 * DAY);
	assert_int_equal(b->counters.acme_certificates, 1);
	close_process(b);
	/* The workers do not have it yet: the process after this one says so again. */
	open_process(b);
	assert_int_equal(told(b), 1);
	assert_int_equal(report_of(b).state, CERTIFICATE_GOOD);
	close_process(b);
}

static void what_was_not_ordered_is_not_kept(void **state)
{
	struct bench *b = *state;
	static const char *const others[] = {"a.example", "c.example"};
	int64_t now = acme_process_now();
	const struct {
		const char *const *names;
		size_t count;
		int64_t ends;
		const char *tail;
	} rows[] = {
	    {both, 1, now + DAY, ""},
	    {others, 2, now + DAY, ""},
	    {both, 2, now - 1, ""},
	    {both, 2, now + DAY, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"},
	};
	open_process(b);
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(begin(b));
		order_is_done(b, rows[i].names, rows[i].count, rows[i].ends, rows[i].tail);
		struct certificate_report r = report_of(b);
		assert_int_equal(r.failures, i + 1);
		assert_string_equal(r.why, "what the authority has made is not what was ordered");
		assert_true(r.next_at >= now + (60 << i));
		assert_int_equal(told(b), 0);
		assert_int_equal(access(b->file, F_OK), -1);
	}
	/* Of another key. */
	assert_true(begin(b));
	struct net_key *key = net_key_new();
	b->process.work.task.chain = net_key_self_signed(key, both, 2, now + DAY, NULL);
	b->process.work.task.state = ACME_DONE;
	conclude(b);
	net_key_free(key);
	assert_int_equal(report_of(b).failures, 5);
	assert_int_equal(b->counters.acme_orders_failed, 5);
	close_process(b);
}

static void failure_keeps_what_there_is(void **state)
{
	struct bench *b = *state;
	int64_t now = acme_process_now();
	free(write_certificate(b, 2, now + 90 * DAY));
	open_process(b);
	b->process.certificates[0].order_at = now;
	b->process.certificates[0].ask_at = INT64_MAX;
	assert_true(begin(b));
	struct acme_task *t = &b->process.work.task;
	t->state = ACME_FAILED;
	t->wait_seconds = 7200;
	snprintf(t->problem, sizeof(t->problem), "the order: status 429");
	conclude(b);
	struct certificate_report r = report_of(b);
	assert_int_equal(r.state, CERTIFICATE_GOOD);
	assert_int_equal(r.failures, 1);
	assert_string_equal(r.why, "the order: status 429");
	assert_true(r.next_at >= now + 7200 && r.next_at < now + 7300);
	/* The folder has become read-only, or the disk is full. */
	assert_true(begin(b));
	char aside[112];
	snprintf(aside, sizeof(aside), "%s.new", b->file);
	assert_int_equal(mkdir(aside, 0700), 0);
	order_is_done(b, both, 2, now + DAY, "");
	assert_non_null(strstr(report_of(b).why, "main.pem cannot be written: "));
	rmdir(aside);
	/* Then it works. */
	(void)told(b);
	assert_true(begin(b));
	order_is_done(b, both, 2, now + DAY, "");
	assert_int_equal(report_of(b).failures, 0);
	assert_string_equal(report_of(b).why, "");
	assert_int_equal(told(b), 1);
	close_process(b);
}

static void certificate_that_lacks_a_host_is_served_until_another_one_comes(void **state)
{
	struct bench *b = *state;
	free(write_certificate(b, 1, acme_process_now() + 90 * DAY));
	open_process(b);
	assert_int_equal(report_of(b).state, CERTIFICATE_LACKING);
	assert_int_equal(b->process.certificates[0].order_at, 0);
	assert_true(begin(b));
	close_process(b);
}

static void another_gateways_order_is_waited_for_and_its_certificate_taken(void **state)
{
	struct bench *b = *state;
	int64_t now = acme_process_now();
	open_process(b);
	int lock = acme_lock_take(b->folder, ACME_LOCK_ORDER, false);
	assert_true(lock >= 0);
	assert_false(begin(b));
	assert_null(b->process.work.certificate);
	assert_true(report_of(b).next_at > now && report_of(b).next_at < now + 60);
	/* It writes a certificate that is not good for this gateway: this one orders too. */
	free(write_certificate(b, 1, now + 90 * DAY));
	close(lock);
	assert_true(begin(b));
	assert_int_equal(acme_lock_take(b->folder, ACME_LOCK_ORDER, false), -1);
	assert_int_equal(errno, EAGAIN);
	end_work(b);
	/* One that is. */
	free(write_certificate(b, 2, now + 90 * DAY));
	assert_false(begin(b));
	assert_int_equal(told(b), 1);
	assert_int_equal(report_of(b).state, CERTIFICATE_GOOD);
	assert_true(report_of(b).next_at > now + 50 * DAY);
	lock = acme_lock_take(b->folder, ACME_LOCK_ORDER, false);
	assert_true(lock >= 0);
	close(lock);
	/* The same again is none: it has to be renewed. */
	b->process.certificates[0].order_at = now;
	b->process.certificates[0].ask_at = INT64_MAX;
	assert_true(begin(b));
	assert_non_null(b->process.work.task.ca);
	close_process(b);
}

static void question_that_fails_is_asked_again_within_a_day(void **state)
{
	static const struct {
		uint32_t said, least, most;
	} rows[] = {{0, 6 * 3600, 6 * 3600 + 60}, {10, 6 * 3600, 6 * 3600 + 60}, {8 * 3600, 8 * 3600, 8 * 3600 + 60}, {UINT32_MAX, DAY, DAY + 60}};
	struct bench *b = *state;
	int64_t now = acme_process_now();
	free(write_certificate(b, 2, now + 90 * DAY));
	open_process(b);
	struct acme_certificate *c = &b->process.certificates[0];
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		c->ask_at = now;
		assert_true(begin(b));
		b->process.work.task.state = ACME_FAILED;
		b->process.work.task.wait_seconds = rows[i].said;
		conclude(b);
		assert_true(c->ask_at >= now + rows[i].least && c->ask_at <= now + rows[i].most);
	}
	close_process(b);
}

static void certificates_that_have_to_go_at_once_get_pauses(void **state)
{
	struct bench *b = *state;
	int64_t now = acme_process_now();
	open_process(b);
	struct acme_certificate *c = &b->process.certificates[0];
	for (unsigned i = 0; i < 6; i++) {
		c->ask_at = INT64_MAX;
		assert_true(begin(b));
		order_is_done(b, both, 2, now + 90 * DAY, "");
		/* The authority wants it renewed at once. */
		c->ask_at = 0;
		snprintf(c->id, sizeof(c->id), "a.b");
		assert_true(begin(b));
		b->process.work.task.state = ACME_DONE;
		b->process.work.task.window = (struct acme_window){now - 60, now - 30};
		conclude(b);
		int64_t pause = report_of(b).next_at - now;
		if (i < 3)
			assert_true(pause <= 0);
		else
			assert_true(pause >= (int64_t)60 << (i - 3) && pause < 2 * ((int64_t)60 << (i - 3)));
	}
	close_process(b);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(account_is_made_once),
	    TEST(gateways_that_begin_together_have_one_account),
	    TEST(order_brings_a_certificate),
	    TEST(what_was_not_ordered_is_not_kept),
	    TEST(failure_keeps_what_there_is),
	    TEST(certificate_that_lacks_a_host_is_served_until_another_one_comes),
	    TEST(another_gateways_order_is_waited_for_and_its_certificate_taken),
	    TEST(question_that_fails_is_asked_again_within_a_day),
	    TEST(certificates_that_have_to_go_at_once_get_pauses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
