/* SPDX-License-Identifier: MIT */
/* What the system tells of a process. */
#include "proxy/admin/admin.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

static void the_usage_of_this_process_is_its_own(void **state)
{
	(void)state;
	struct rlimit limit;
	const usec boot = process_boot_time();
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	struct process_usage before = process_usage_read(getpid(), boot);
	assert_in_range(boot, 1, clock_wall() - 1);
	assert_in_range(before.started, boot + 1, clock_wall() + USEC_PER_SEC);
	assert_true(before.resident_bytes > 0 && before.resident_bytes < before.virtual_bytes);
	/* Valgrind keeps twelve descriptors for itself, and tells of fewer than the system does. */
	assert_in_range(before.max_fds, limit.rlim_cur, limit.rlim_cur + 12);
	int fd = open("/dev/null", O_RDONLY);
	assert_int_equal(process_usage_read(getpid(), boot).open_fds, before.open_fds + 1);
	close(fd);
	struct process_usage after = process_usage_read(getpid(), boot);
	assert_int_equal(after.open_fds, before.open_fds);
	assert_int_equal(after.started, before.started);
	/* Work until the clock of the system, which has ticks, has noticed it. */
	while (process_usage_read(getpid(), boot).cpu == before.cpu)
		;
	assert_true(process_usage_read(getpid(), boot).cpu > before.cpu);
}

/* They are opened once, and each look is a new one. */
static void files_that_stay_open_tell_what_is_now(void **state)
{
	(void)state;
	struct process_files f;
	process_files_open(&f, getpid());
	struct process_usage before = process_files_read(&f, 5);
	assert_int_equal(before.open_fds, process_usage_read(getpid(), 5).open_fds - 2);
	int fd = open("/dev/null", O_RDONLY);
	assert_int_equal(process_files_read(&f, 5).open_fds, before.open_fds + 1);
	close(fd);
	while (process_files_read(&f, 5).cpu == before.cpu)
		;
	assert_int_equal(process_files_read(&f, 5).open_fds, before.open_fds);
	process_files_close(&f);
	assert_int_equal(process_files_read(&f, 5).started, 0);
}

static void of_no_process_nothing_is_known(void **state)
{
	(void)state;
	assert_int_equal(process_usage_read(0, 5).started, 0);
	struct process_usage none = process_usage_read(0x7ffffffe, 5);
	assert_int_equal(none.started, 0);
	assert_int_equal(none.resident_bytes, 0);
	assert_int_equal(none.open_fds, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_usage_of_this_process_is_its_own),
	    cmocka_unit_test(files_that_stay_open_tell_what_is_now),
	    cmocka_unit_test(of_no_process_nothing_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
