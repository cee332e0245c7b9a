/* SPDX-License-Identifier: MIT */
/* Commands that wait for a reload: each gets an answer, whatever becomes of the reload and of the others. */
#include "proxy/process/answer.h"
#include "proxy/process/reload_request.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* Returns the command's end. */
static int ask(struct reload_askers *a)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	reload_askers_add(a, pair[0]);
	return pair[1];
}

static bool is_waiting(int command)
{
	char byte;
	return recv(command, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

/* The whole answer, which the end of the socket follows. The caller frees. */
static char *read_answer(int command)
{
	size_t size = 4 * RELOAD_TEXT_BYTES, length = 0;
	char *text = malloc(size);
	assert_non_null(text);
	for (ssize_t n; (n = read(command, text + length, size - length - 1)) > 0;)
		length += (size_t)n;
	text[length] = '\0';
	close(command);
	return text;
}

static void expect(int command, const char *answer)
{
	char *text = read_answer(command);
	assert_string_equal(text, answer);
	free(text);
}

static void who_asks_during_a_reload_waits_for_the_next_one(void **state)
{
	(void)state;
	struct reload_askers a = {0};
	reload_askers_init(&a);
	int first = ask(&a);
	reload_askers_begin(&a);
	int second = ask(&a);
	reload_askers_tell(&a, "one\ntwo\n");
	reload_askers_tell(&a, "three\n");
	reload_askers_end(&a, PROCESS_BAD_CONF);
	expect(first, "one\ntwo\nthree\n" ANSWER_STATUS "2\n");
	assert_true(is_waiting(second));
	reload_askers_begin(&a);
	reload_askers_end(&a, PROCESS_DONE);
	expect(second, ANSWER_STATUS "0\n");
	reload_askers_close(&a);
}

static void end_of_pushgate_is_an_answer_to_all(void **state)
{
	(void)state;
	struct reload_askers a = {0};
	reload_askers_init(&a);
	int first = ask(&a);
	reload_askers_begin(&a);
	reload_askers_tell(&a, "not for the end\n");
	int second = ask(&a);
	reload_askers_dismiss(&a, "pushgate ends\n");
	expect(first, "pushgate ends\n" ANSWER_STATUS "1\n");
	expect(second, "pushgate ends\n" ANSWER_STATUS "1\n");
	reload_askers_dismiss(&a, "pushgate ends\n");
	reload_askers_close(&a);
}

static void who_has_vanished_takes_no_place(void **state)
{
	(void)state;
	struct reload_askers a = {0};
	int commands[RELOAD_ASKERS];
	reload_askers_init(&a);
	for (int i = 0; i < RELOAD_ASKERS; i++)
		commands[i] = ask(&a);
	expect(ask(&a), "too many commands wait for a reload\n" ANSWER_STATUS "1\n");
	close(commands[3]);
	int late = ask(&a);
	assert_true(is_waiting(late));
	reload_askers_begin(&a);
	reload_askers_end(&a, PROCESS_DONE);
	expect(late, ANSWER_STATUS "0\n");
	for (int i = 0; i < RELOAD_ASKERS; i++)
		if (i != 3)
			expect(commands[i], ANSWER_STATUS "0\n");
	reload_askers_close(&a);
}

static void text_that_does_not_fit_is_cut_at_a_line(void **state)
{
	static const char end[] =
	    "more does not fit here; the error log has all\n" ANSWER_STATUS "2\n";
	(void)state;
	struct reload_askers a = {0};
	reload_askers_init(&a);
	int command = ask(&a);
	reload_askers_begin(&a);
	char line[64];
	unsigned told = 0;
	for (; told < RELOAD_TEXT_BYTES / 8; told++) {
		snprintf(line, sizeof(line), "line %u\nand its twin\n", told);
		reload_askers_tell(&a, line);
	}
	reload_askers_end(&a, PROCESS_BAD_CONF);
	char *text = read_answer(command), *rest = text;
	unsigned seen = 0;
	for (; strncmp(rest, "more", 4) != 0; seen++) {
		bool is_twin = seen % 2;
		int n = snprintf(
		    line, sizeof(line), is_twin ? "and its twin\n" : "line %u\n", seen / 2);
		assert_memory_equal(rest, line, (size_t)n);
		rest += n;
	}
	assert_string_equal(rest, end);
	assert_in_range(rest - text, RELOAD_TEXT_BYTES - 64, RELOAD_TEXT_BYTES);
	free(text);
	reload_askers_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(who_asks_during_a_reload_waits_for_the_next_one),
	    cmocka_unit_test(end_of_pushgate_is_an_answer_to_all),
	    cmocka_unit_test(who_has_vanished_takes_no_place),
	    cmocka_unit_test(text_that_does_not_fit_is_cut_at_a_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
