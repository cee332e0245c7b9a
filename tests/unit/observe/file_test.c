/* SPDX-License-Identifier: MIT */
/* A log's file: what it does not take is counted and told, lines stay whole, and another process may go on. */
#include "proxy/observe/observe.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	char access_path[40], error_path[40];
	struct observe_counters counters;
	struct observe observe;
	struct observe_progress progress;
	struct observe_file access, error;
	struct observe_loss access_loss, error_loss;
	bool access_is_torn, error_is_torn;
};

static int open_new(char *path)
{
	strcpy(path, "/tmp/pushgate-test-XXXXXX");
	int fd = mkstemp(path);
	fcntl(fd, F_SETFL, O_APPEND);
	return fd;
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	signal(SIGXFSZ, SIG_IGN);
	b->access = (struct observe_file){.fd = open_new(b->access_path),
	    .path = "ACCESS",
	    .lost = &b->counters.access_lines_lost,
	    .is_torn = &b->access_is_torn,
	    .loss = &b->access_loss,
	    .progress = &b->progress};
	b->error = (struct observe_file){.fd = open_new(b->error_path),
	    .path = "ERROR",
	    .lost = &b->counters.error_lines_lost,
	    .is_torn = &b->error_is_torn,
	    .loss = &b->error_loss};
	b->observe = (struct observe){.counters = &b->counters,
	    .access_fd = b->access.fd,
	    .error_fd = b->error.fd,
	    .access_file = &b->access,
	    .error_file = &b->error,
	    .worker = OBSERVE_LOGGER};
	*state = b;
	return b->access.fd < 0 || b->error.fd < 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	close(b->access.fd);
	close(b->error.fd);
	unlink(b->access_path);
	unlink(b->error_path);
	free(b);
	return 0;
}

static const char *content(const char *path)
{
	static char text[8192];
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	return text;
}

static void write_lines(struct bench *b, const char *lines)
{
	observe_file_write(&b->observe, &b->access, lines, strlen(lines));
}

/* So much of a file can be written from now on; what is beyond fails as on a full disk. */
static void limit_files(rlim_t bytes)
{
	struct rlimit limit;
	getrlimit(RLIMIT_FSIZE, &limit);
	limit.rlim_cur = bytes;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;
	while ((text = strstr(text, what))) {
		n++;
		text += strlen(what);
	}
	return n;
}

static void full_device_loses_lines_and_both_ends_of_the_loss_are_told(void **state)
{
	struct bench *b = *state;
	int file = dup(b->access.fd);
	int full = open("/dev/full", O_WRONLY);
	dup2(full, b->access.fd);
	write_lines(b, "one\ntwo\n");
	write_lines(b, "three\n");
	assert_int_equal(b->counters.access_lines_lost, 3);
	assert_false(observe_files_work(&b->observe));
	usec now = clock_monotonic();
	observe_files_settle(&b->observe, now + 2 * USEC_PER_SEC, false);
	assert_int_equal(count(content(b->error_path), "cannot write to the log ACCESS: No space left"), 1);
	assert_int_equal(count(content(b->error_path), "works again"), 0);

	dup2(file, b->access.fd);
	write_lines(b, "four\n");
	observe_files_settle(&b->observe, now, false); /* too early */
	assert_int_equal(count(content(b->error_path), "works again"), 0);
	observe_files_settle(&b->observe, now + 2 * USEC_PER_SEC, false);
	observe_files_settle(&b->observe, now + 4 * USEC_PER_SEC, false);
	assert_int_equal(count(content(b->error_path),
			     "[logger] writing to the log ACCESS works again; 3 lines were lost (No space left "
			     "on device)\n"),
	    1);
	assert_true(observe_files_work(&b->observe));
	assert_string_equal(content(b->access_path), "four\n");
	close(full);
	close(file);
}

static void error_log_tells_its_own_loss_in_itself(void **state)
{
	struct bench *b = *state;
	int file = dup(b->error.fd);
	int full = open("/dev/full", O_WRONLY);
	dup2(full, b->error.fd);
	observe_log(&b->observe, OBSERVE_ERROR, "lost");
	usec now = clock_monotonic();
	observe_files_settle(&b->observe, now + 2 * USEC_PER_SEC, false);
	assert_int_equal(b->counters.error_lines_lost, 1);
	dup2(file, b->error.fd);
	observe_files_settle(&b->observe, now + 4 * USEC_PER_SEC, false);
	assert_int_equal(count(content(b->error_path), "writing to the log ERROR works again; 1 line was lost"), 1);
	assert_int_equal(b->counters.error_lines_lost, 1);
	close(full);
	close(file);
}

static void torn_line_is_cut_off_a_file(void **state)
{
	struct bench *b = *state;
	limit_files(12);
	write_lines(b, "first\nsecond\nthird\n");
	limit_files(RLIM_INFINITY);
	assert_string_equal(content(b->access_path), "first\n");
	assert_int_equal(b->counters.access_lines_lost, 2);
	write_lines(b, "fourth\n");
	assert_string_equal(content(b->access_path), "first\nfourth\n");
}

/* A shell's `> file` does not open it for appending. */
static void no_hole_comes_into_a_redirected_output(void **state)
{
	struct bench *b = *state;
	fcntl(b->access.fd, F_SETFL, 0);
	limit_files(12);
	write_lines(b, "first\nsecond\nthird\n");
	limit_files(RLIM_INFINITY);
	write_lines(b, "fourth\n");
	struct stat st;
	assert_int_equal(fstat(b->access.fd, &st), 0);
	assert_int_equal(st.st_size, strlen("first\nfourth\n"));
	assert_string_equal(content(b->access_path), "first\nfourth\n");
}

static void torn_line_in_a_pipe_gets_an_end(void **state)
{
	struct bench *b = *state;
	int fds[2];
	static char line[6001], got[8192];
	memset(line, 'x', sizeof(line) - 2);
	line[sizeof(line) - 2] = '\n';
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	assert_true(fcntl(fds[1], F_SETPIPE_SZ, 4096) == 4096);
	dup2(fds[1], b->access.fd);
	write_lines(b, line);
	assert_int_equal(b->counters.access_lines_lost, 1);
	assert_int_equal(read(fds[0], got, sizeof(got)), 4096);
	write_lines(b, "next\n");
	ssize_t n = read(fds[0], got, sizeof(got));
	assert_int_equal(n, 6);
	assert_memory_equal(got, "\nnext\n", 6);
	close(fds[0]);
	close(fds[1]);
}

static void removed_file_takes_no_lines(void **state)
{
	struct bench *b = *state;
	unlink(b->access_path);
	write_lines(b, "one\n");
	assert_int_equal(b->counters.access_lines_lost, 1);
	assert_non_null(strstr(content(b->error_path), "the file was removed; SIGUSR1 makes a new one"));
}

/* Who started us reads it, as from a temporary file; SIGUSR1 could not replace it. */
static void output_without_a_name_takes_lines(void **state)
{
	struct bench *b = *state;
	b->access.path = "-";
	int reads = open(b->access_path, O_RDONLY);
	unlink(b->access_path);
	write_lines(b, "one\n");
	char got[8];
	assert_int_equal(read(reads, got, sizeof(got)), 4);
	assert_int_equal(b->counters.access_lines_lost, 0);
	close(reads);
}

static void resume(struct bench *b, const char *lines)
{
	size_t bytes = strlen(lines), whole = observe_file_resume(&b->access, lines, bytes);
	if (whole < bytes)
		write_lines(b, lines + whole);
}

/* The writer was killed when so many bytes were in the file, and had noted none of them. */
static void another_goes_on_where_a_writer_was_killed(void **state)
{
	static const char lines[] = "one\ntwo\nthree\n";
	for (size_t done = 0; done < sizeof(lines); done++) {
		struct bench *b = *state;
		assert_int_equal(ftruncate(b->access.fd, 0), 0);
		write_lines(b, "before\n");
		b->progress = (struct observe_progress){.has_begun = true, .size = 7};
		assert_int_equal(write(b->access.fd, lines, done), (ssize_t)done);
		resume(b, lines);
		assert_string_equal(content(b->access_path), "before\none\ntwo\nthree\n");
		assert_int_equal(b->counters.access_lines_lost, 0);
	}
}

/* As a second writer is, before it has written what the first one left. */
static void what_is_in_the_file_is_known_after_a_second_death(void **state)
{
	static const char lines[] = "one\ntwo\nthree\n";
	struct bench *b = *state;
	b->progress = (struct observe_progress){.has_begun = true, .size = 0};
	assert_int_equal(write(b->access.fd, lines, 6), 6);
	assert_int_equal(observe_file_resume(&b->access, lines, strlen(lines)), 4);
	assert_int_equal(observe_file_resume(&b->access, lines, strlen(lines)), 4);
	assert_string_equal(content(b->access_path), "one\n");
}

static void lines_that_were_counted_as_lost_are_not_counted_again(void **state)
{
	struct bench *b = *state;
	limit_files(5);
	write_lines(b, "one\ntwo\n");
	limit_files(RLIM_INFINITY);
	assert_int_equal(b->counters.access_lines_lost, 1);
	resume(b, "one\ntwo\n");
	assert_int_equal(b->counters.access_lines_lost, 1);
	assert_string_equal(content(b->access_path), "one\n");
}

static void new_file_begins_without_an_end_of_the_torn_line(void **state)
{
	struct bench *b = *state;
	b->access_is_torn = true;
	write_lines(b, "one\n");
	assert_string_equal(content(b->access_path), "one\n");
	b->access_is_torn = true;
	write_lines(b, "two\n");
	assert_string_equal(content(b->access_path), "one\n\ntwo\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(full_device_loses_lines_and_both_ends_of_the_loss_are_told),
	    TEST(error_log_tells_its_own_loss_in_itself),
	    TEST(torn_line_is_cut_off_a_file),
	    TEST(no_hole_comes_into_a_redirected_output),
	    TEST(torn_line_in_a_pipe_gets_an_end),
	    TEST(removed_file_takes_no_lines),
	    TEST(output_without_a_name_takes_lines),
	    TEST(another_goes_on_where_a_writer_was_killed),
	    TEST(what_is_in_the_file_is_known_after_a_second_death),
	    TEST(lines_that_were_counted_as_lost_are_not_counted_again),
	    TEST(new_file_begins_without_an_end_of_the_torn_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
