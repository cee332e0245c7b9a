/* SPDX-License-Identifier: MIT */
/*
 * The logger in a process of its own and in its sandbox: it copies, takes the files that it is handed, and ends when the
 * writers have gone.
 */
#include "proxy/process/helper.h"
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	char dir[32], access[64], error[64], moved[64];
	struct conf_server conf;
	struct logs logs;
	struct observe_counters *counters; /* shared with the logger */
	pid_t logger;
};

static int open_logs(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	char why[256];
	strcpy(b->dir, "/tmp/pushgate-test-XXXXXX");
	if (!mkdtemp(b->dir))
		return -1;
	snprintf(b->access, sizeof(b->access), "%s/access", b->dir);
	snprintf(b->error, sizeof(b->error), "%s/error", b->dir);
	snprintf(b->moved, sizeof(b->moved), "%s/moved", b->dir);
	b->counters = mmap(NULL, sizeof(*b->counters), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (b->counters == MAP_FAILED)
		return -1;
	b->conf.access_log = b->access;
	b->conf.error_log = b->error;
	*state = b;
	return logs_open(&b->logs, &b->conf, why, sizeof(why)) &&
			logs_make_pipes(&b->logs, why, sizeof(why))
		   ? 0
		   : -1;
}

static void start_logger(struct bench *b)
{
	pid_t master = getpid();
	/* A signal that comes before the logger watches for it must wait, not kill. */
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	b->logger = fork();
	if (b->logger == 0) {
		logs_close(&b->logs, LOGS_WRITERS | LOGS_SENDER);
		const struct identity stays = {.name = NULL};
		struct conf conf = {.server = b->conf};
		conf.server.sandbox = CONF_SANDBOX_ON;
		const struct helper_env env = {
		    .conf = &conf,
		    .logs = &b->logs,
		    .identity = &stays,
		    .counters = b->counters,
		    .master = master,
		};
		_exit(logger_run(&env));
	}
	logs_close(&b->logs, LOGS_READERS);
}

static int set_up(void **state)
{
	if (open_logs(state) != 0)
		return -1;
	start_logger(*state);
	return 0;
}

static void end_logger(struct bench *b)
{
	int status;
	logs_close(&b->logs, LOGS_WRITERS | LOGS_SENDER);
	assert_int_equal(waitpid(b->logger, &status, 0), b->logger);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	b->logger = 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	if (b->logger) {
		kill(b->logger, SIGKILL);
		waitpid(b->logger, NULL, 0);
	}
	logs_close(&b->logs, LOGS_WRITERS | LOGS_SENDER);
	logs_close(&b->logs, LOGS_FILES | LOGS_FOLDERS);
	unlink(b->access);
	unlink(b->error);
	unlink(b->moved);
	munmap(b->counters, sizeof(*b->counters));
	int r = rmdir(b->dir);
	free(b);
	return r;
}

static void say(int fd, const char *text)
{
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static const char *content(const char *path, char *buffer, size_t size)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, buffer, size - 1);
	if (fd >= 0)
		close(fd);
	buffer[n > 0 ? n : 0] = '\0';
	return buffer;
}

static void lines_arrive_in_their_files_before_the_logger_ends(void **state)
{
	struct bench *b = *state;
	char text[256];
	say(log_target(&b->logs.access), "{\"a\":1}\n");
	say(log_target(&b->logs.error), "warn x\n");
	say(log_target(&b->logs.access), "{\"a\":2}\n");
	end_logger(b);
	assert_string_equal(content(b->access, text, sizeof(text)), "{\"a\":1}\n{\"a\":2}\n");
	assert_string_equal(content(b->error, text, sizeof(text)), "warn x\n");
}

static void files_are_appended_to_and_not_for_everyone(void **state)
{
	struct bench *b = *state;
	struct logs again;
	struct stat st;
	char text[256];
	say(log_target(&b->logs.error), "one\n");
	end_logger(b);
	assert_true(logs_open(&again, &b->conf, text, sizeof(text)));
	say(log_target(&again.error), "two\n");
	logs_close(&again, LOGS_FILES | LOGS_FOLDERS);
	assert_string_equal(content(b->error, text, sizeof(text)), "one\ntwo\n");
	assert_int_equal(stat(b->error, &st), 0);
	assert_int_equal(st.st_mode & 0027, 0);
}

static void full_pipe_is_emptied_to_the_last_byte(void **state)
{
	struct bench *b = *state;
	static char block[4096];
	memset(block, 'x', sizeof(block));
	size_t written = 0;
	kill(b->logger, SIGSTOP);
	while (write(log_target(&b->logs.access), block, sizeof(block)) > 0)
		written += sizeof(block);
	kill(b->logger, SIGCONT);
	end_logger(b);
	struct stat st;
	assert_int_equal(stat(b->access, &st), 0);
	assert_int_equal((size_t)st.st_size, written);
}

/* A read that filled the hand, and had not been noted when the logger was killed. */
static void hand_that_a_killed_logger_left_full_is_written_and_what_comes_behind_it(void **state)
{
	struct bench *b = *state;
	static char text[LOG_HAND_BYTES + 64];
	char *hand = b->logs.access.hand->bytes;
	memset(hand, 'x', LOG_HAND_BYTES);
	hand[99] = '\n';
	hand[LOG_HAND_BYTES - 8] = '\n';
	start_logger(b);
	say(log_target(&b->logs.access), " end\nbehind\n");
	end_logger(b);
	content(b->access, text, sizeof(text));
	assert_int_equal(strlen(text), LOG_HAND_BYTES + strlen(" end\nbehind\n"));
	assert_string_equal(text + LOG_HAND_BYTES - 8, "\nxxxxxxx end\nbehind\n");
}

/* It was killed when it had moved the rest of its hand to the front, and had not noted that this is all. */
static void logger_that_was_killed_while_it_forgot_lines_leaves_its_hand_in_order(void **state)
{
	struct bench *b = *state;
	struct log_hand *h = b->logs.access.hand;
	static const char at_front[] = "{\"next\":";
	char text[256];
	strcpy(h->bytes, at_front);
	h->length = strlen(at_front);
	h->writing = strlen("{\"before\":1}\n");
	h->progress.has_begun = true;
	h->progress.done = h->writing;
	h->progress.size = OBSERVE_NO_SIZE;
	start_logger(b);
	say(log_target(&b->logs.access), "1}\n");
	end_logger(b);
	assert_string_equal(content(b->access, text, sizeof(text)), "{\"next\":1}\n");
}

static void end_of_a_loss_is_told_by_the_logger_after_the_one_that_began_it(void **state)
{
	struct bench *b = *state;
	char text[512];
	b->logs.access.hand->loss = (struct observe_loss){.failure = ENOSPC, .lost_lines = 7};
	start_logger(b);
	say(log_target(&b->logs.access), "{}\n");
	end_logger(b);
	assert_non_null(strstr(content(b->error, text, sizeof(text)), "works again; 7 lines were lost (No space left"));
}

static void death_of_the_master_lets_it_finish_what_is_there(void **state)
{
	struct bench *b = *state;
	char text[256];
	int status;
	say(log_target(&b->logs.access), "last\n");
	/* The parent-death signal; our writers are still open. */
	kill(b->logger, SIGUSR2);
	assert_int_equal(waitpid(b->logger, &status, 0), b->logger);
	b->logger = 0;
	assert_string_equal(content(b->access, text, sizeof(text)), "last\n");
}

static void reopened_logs_write_to_new_files(void **state)
{
	struct bench *b = *state;
	char text[256];
	end_logger(b);
	say(b->logs.access.file, "old\n");
	assert_int_equal(rename(b->access, b->moved), 0);
	say(b->logs.access.file, "still old\n");
	logs_reopen(&b->logs);
	say(b->logs.access.file, "new\n");
	assert_string_equal(content(b->moved, text, sizeof(text)), "old\nstill old\n");
	assert_string_equal(content(b->access, text, sizeof(text)), "new\n");
}

static void logger_writes_to_the_files_that_it_is_handed(void **state)
{
	struct bench *b = *state;
	char text[256];
	assert_int_equal(rename(b->access, b->moved), 0);
	logs_reopen(&b->logs);
	/* Two at a time, and each to its own place. */
	logs_reopen(&b->logs);
	while (recv(b->logs.fd_sender, text, sizeof(text), MSG_PEEK | MSG_DONTWAIT) > 0)
		sched_yield();
	say(log_target(&b->logs.error), "to error\n");
	say(log_target(&b->logs.access), "to access\n");
	end_logger(b);
	assert_string_equal(content(b->access, text, sizeof(text)), "to access\n");
	assert_string_equal(content(b->error, text, sizeof(text)), "to error\n");
	assert_string_equal(content(b->moved, text, sizeof(text)), "");
}

static void log_that_cannot_be_reopened_stays_and_is_complained_about(void **state)
{
	struct bench *b = *state;
	char text[512];
	end_logger(b);
	assert_int_equal(rename(b->access, b->moved), 0);
	assert_int_equal(mkdir(b->access, 0700), 0);
	logs_reopen(&b->logs);
	say(b->logs.access.file, "kept\n");
	assert_string_equal(content(b->moved, text, sizeof(text)), "kept\n");
	assert_non_null(strstr(content(b->error, text, sizeof(text)), "cannot reopen the log"));
	assert_int_equal(rmdir(b->access), 0);
}

/* Whoever may write to the logs' folder must not choose the file that the master writes to. */
static void log_that_became_a_symbolic_link_is_not_followed(void **state)
{
	struct bench *b = *state;
	char text[512];
	end_logger(b);
	assert_int_equal(rename(b->access, b->moved), 0);
	assert_int_equal(symlink(b->error, b->access), 0);
	logs_reopen(&b->logs);
	say(b->logs.access.file, "kept\n");
	assert_string_equal(content(b->moved, text, sizeof(text)), "kept\n");
	content(b->error, text, sizeof(text));
	assert_non_null(strstr(text, "cannot reopen the log"));
	assert_non_null(strstr(text, "it is a symbolic link"));
	assert_null(strstr(text, "kept"));
}

static void log_that_is_a_symbolic_link_is_refused_at_the_start(void **state)
{
	struct bench *b = *state;
	struct logs l;
	char why[512];
	assert_int_equal(symlink(b->error, b->moved), 0);
	struct conf_server conf = {.access_log = b->moved, .error_log = b->error};
	assert_false(logs_open(&l, &conf, why, sizeof(why)));
	assert_non_null(strstr(why, "it is a symbolic link"));
}

/* A name without a reader would stop the master for ever; with one it is a log. */
static void fifo_is_a_log_as_long_as_somebody_reads_it(void **state)
{
	struct bench *b = *state;
	struct logs l;
	char text[512];
	assert_int_equal(mkfifo(b->moved, 0600), 0);
	struct conf_server conf = {.access_log = b->moved, .error_log = b->error};
	assert_false(logs_open(&l, &conf, text, sizeof(text)));
	assert_non_null(strstr(text, "no process reads this FIFO"));
	int reads = open(b->moved, O_RDONLY | O_NONBLOCK);
	assert_true(reads >= 0);
	assert_true(logs_open(&l, &conf, text, sizeof(text)));
	say(l.access.file, "line\n");
	assert_int_equal(read(reads, text, sizeof(text)), 5);
	logs_close(&l, LOGS_FILES | LOGS_FOLDERS);
	close(reads);
}

/* Another program may have made the file, for everybody. */
static void secrets_are_in_a_file_that_only_its_owner_reads(void **state)
{
	struct bench *b = *state;
	struct logs l;
	struct stat st;
	char text[512];
	say(open(b->moved, O_WRONLY | O_CREAT, 0644), "before\n");
	struct conf_server conf = {.keylog_file = b->moved};
	assert_true(logs_open(&l, &conf, text, sizeof(text)));
	assert_int_equal(stat(b->moved, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	struct observe_counters counters = {0};
	struct observe_keys keys = {l.keys.file, &counters};
	observe_key_line(&keys, SLICE("CLIENT_RANDOM 1 2"));
	assert_string_equal(content(b->moved, text, sizeof(text)), "before\nCLIENT_RANDOM 1 2\n");
	assert_int_equal(counters.key_lines_dropped, 0);
	/* What cannot be written, or is none of the library's lines, is counted. */
	char longer[600];
	memset(longer, 'x', sizeof(longer));
	observe_key_line(&keys, slice_of(longer, sizeof(longer)));
	keys.fd = -1;
	observe_key_line(&keys, SLICE("x"));
	assert_int_equal(counters.key_lines_dropped, 2);
	logs_close(&l, LOGS_FILES | LOGS_FOLDERS);
}

/* The folder is the one of the start, whatever its path leads to meanwhile. */
static void logs_are_reopened_in_the_folder_of_the_start(void **state)
{
	struct bench *b = *state;
	char text[512], inner[64], other[64], path[96], elsewhere[96];
	struct logs l;
	snprintf(inner, sizeof(inner), "%s/logs", b->dir);
	snprintf(other, sizeof(other), "%s/other", b->dir);
	snprintf(path, sizeof(path), "%s/access", inner);
	snprintf(elsewhere, sizeof(elsewhere), "%s/access", other);
	assert_int_equal(mkdir(inner, 0700), 0);
	struct conf_server conf = {.access_log = path, .error_log = b->error};
	assert_true(logs_open(&l, &conf, text, sizeof(text)));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(inner, other), 0);
	assert_int_equal(symlink("/tmp", inner), 0);
	logs_reopen(&l);
	say(l.access.file, "here\n");
	assert_string_equal(content(elsewhere, text, sizeof(text)), "here\n");
	logs_close(&l, LOGS_FILES | LOGS_FOLDERS);
	unlink(elsewhere);
	unlink(inner);
	rmdir(other);
}

static void folder_that_was_removed_is_told_of(void **state)
{
	struct bench *b = *state;
	struct logs l;
	char text[512], inner[64], path[96];
	snprintf(inner, sizeof(inner), "%s/logs", b->dir);
	snprintf(path, sizeof(path), "%s/access", inner);
	assert_int_equal(mkdir(inner, 0700), 0);
	struct conf_server conf = {.access_log = path, .error_log = b->error};
	assert_true(logs_open(&l, &conf, text, sizeof(text)));
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(inner), 0);
	logs_reopen(&l);
	assert_non_null(strstr(content(b->error, text, sizeof(text)), "its folder was removed; a new one"));
	logs_close(&l, LOGS_FILES | LOGS_FOLDERS);
}

static void line_that_was_torn_by_a_power_cut_gets_its_end(void **state)
{
	struct bench *b = *state;
	struct logs l;
	char text[512];
	say(b->logs.access.file, "{\"half\":");
	assert_true(logs_open(&l, &b->conf, text, sizeof(text)));
	assert_true(l.access.is_torn);
	assert_false(l.error.is_torn);
	logs_close(&l, LOGS_FILES | LOGS_FOLDERS);
}

static void log_that_cannot_be_opened_is_named(void **state)
{
	struct bench *b = *state;
	struct logs l;
	char why[256];
	struct conf_server conf = {.access_log = "/nowhere/access", .error_log = b->error};
	assert_false(logs_open(&l, &conf, why, sizeof(why)));
	assert_string_equal(
	    why, "cannot open the access log /nowhere/access: No such file or directory");
	assert_int_equal(l.error.file, -1);
}

static void access_log_may_be_off(void **state)
{
	struct bench *b = *state;
	struct logs l;
	char why[256];
	struct conf_server conf = {.error_log = b->error};
	assert_true(logs_open(&l, &conf, why, sizeof(why)));
	assert_true(logs_make_pipes(&l, why, sizeof(why)));
	assert_int_equal(log_target(&l.access), -1);
	assert_int_equal(log_target(&l.error), l.error.writes);
	logs_close(&l, LOGS_READERS);
	logs_close(&l, LOGS_WRITERS | LOGS_SENDER);
	logs_close(&l, LOGS_FILES | LOGS_FOLDERS);
}

static void journal_is_known_by_its_stream_alone(void **state)
{
	const struct bench *b = *state;
	struct conf_server conf = {.error_log = b->error};
	struct logs l;
	struct stat st;
	char text[256];
	assert_int_equal(stat(b->error, &st), 0);
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
	assert_true(logs_open(&l, &conf, text, sizeof(text)));
	assert_true(l.error.is_journal);
	logs_close(&l, LOGS_FILES | LOGS_FOLDERS);

	setenv("JOURNAL_STREAM", "8:1", 1); /* of another, which started us with a file */
	assert_true(logs_open(&l, &conf, text, sizeof(text)));
	assert_false(l.error.is_journal);
	logs_close(&l, LOGS_FILES | LOGS_FOLDERS);
	unsetenv("JOURNAL_STREAM");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(lines_arrive_in_their_files_before_the_logger_ends),
	    TEST(files_are_appended_to_and_not_for_everyone),
	    TEST(full_pipe_is_emptied_to_the_last_byte),
	    cmocka_unit_test_setup_teardown(hand_that_a_killed_logger_left_full_is_written_and_what_comes_behind_it, open_logs, tear_down),
	    cmocka_unit_test_setup_teardown(logger_that_was_killed_while_it_forgot_lines_leaves_its_hand_in_order, open_logs, tear_down),
	    cmocka_unit_test_setup_teardown(end_of_a_loss_is_told_by_the_logger_after_the_one_that_began_it, open_logs, tear_down),
	    TEST(death_of_the_master_lets_it_finish_what_is_there),
	    TEST(reopened_logs_write_to_new_files),
	    TEST(logger_writes_to_the_files_that_it_is_handed),
	    TEST(log_that_cannot_be_reopened_stays_and_is_complained_about),
	    TEST(log_that_became_a_symbolic_link_is_not_followed),
	    TEST(log_that_is_a_symbolic_link_is_refused_at_the_start),
	    TEST(fifo_is_a_log_as_long_as_somebody_reads_it),
	    TEST(secrets_are_in_a_file_that_only_its_owner_reads),
	    TEST(logs_are_reopened_in_the_folder_of_the_start),
	    TEST(folder_that_was_removed_is_told_of),
	    TEST(line_that_was_torn_by_a_power_cut_gets_its_end),
	    TEST(log_that_cannot_be_opened_is_named),
	    TEST(access_log_may_be_off),
	    TEST(journal_is_known_by_its_stream_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
