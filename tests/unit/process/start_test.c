/* SPDX-License-Identifier: MIT */
/* What a start opens, in which order. */
#include "proxy/conf/conf.h"
#include "proxy/process/start.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* 192.0.2.1 is of TEST-NET-1 (RFC 5737): no machine has it, so the listening socket cannot be opened. */
static void status_answers_and_signals_wait_before_a_port_is_open(void **state)
{
	(void)state;
	char dir[] = "/tmp/pushgate-start-XXXXXX", path[64], text[512], error[256];
	static const int signals[] = {SIGTERM, SIGINT, SIGUSR1, SIGHUP};
	struct stat found;
	sigset_t waiting;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/pushgate.ini", dir);
	snprintf(text, sizeof(text),
	    "[server]\nsandbox = off\nstatus-socket = %s/status\n[listen main]\naddress = 192.0.2.1:80\n"
	    "[origin demo]\nserver = demo:\n[route all]\norigin = demo\n",
	    dir);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	fclose(f);
	struct start s = {.outfit = {.conf = conf_load(path, true, &(struct conf_findings){.text = stderr}), .workers = 1},
	    .status_fd = -1,
	    .remembered = -1,
	    .notify_fd = -1};
	assert_non_null(s.outfit.conf);
	assert_false(start_open(&s, true, error, sizeof(error)));
	assert_non_null(strstr(error, "192.0.2.1:80"));
	assert_int_equal(stat(s.status_path, &found), 0);
	assert_int_equal(sigprocmask(SIG_BLOCK, NULL, &waiting), 0);
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		assert_true(sigismember(&waiting, signals[i]));
	start_close(&s);
	unlink(path);
	assert_int_equal(rmdir(dir), 0); /* start_close has removed the socket */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(status_answers_and_signals_wait_before_a_port_is_open),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
