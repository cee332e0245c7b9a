/* SPDX-License-Identifier: MIT */
/* The error log's lines, and the counters as text. */
#include "proxy/observe/observe.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static struct observe_counters *counters;

static int set_up(void **state)
{
	(void)state;
	counters = calloc(1, sizeof(*counters));
	return counters ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	free(counters);
	return 0;
}

/* Writes one line at the level and returns it, without its time stamp, in buffer. */
static const char *logged(uint32_t worker, enum observe_level least, enum observe_level level,
    const char *text, char *buffer, size_t size)
{
	int fds[2];
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	struct observe o = {.counters = counters,
	    .access_fd = -1,
	    .error_fd = fds[1],
	    .level = least,
	    .worker = worker};
	observe_log(&o, level, "%s", text);
	ssize_t n = read(fds[0], buffer, size - 1);
	close(fds[0]);
	close(fds[1]);
	buffer[n > 0 ? n : 0] = '\0';
	if (n <= 0)
		return buffer;
	assert_true(n > 25);
	assert_int_equal(buffer[10], 'T');
	assert_int_equal(buffer[23], 'Z');
	return buffer + 25;
}

static void line_says_level_and_worker(void **state)
{
	(void)state;
	char b[2000];
	assert_string_equal(logged(0, OBSERVE_INFO, OBSERVE_WARN, "it rains", b, sizeof(b)),
	    "warn [w0] it rains\n");
	assert_string_equal(
	    logged(12, OBSERVE_INFO, OBSERVE_INFO, "sun", b, sizeof(b)), "info [w12] sun\n");
	assert_string_equal(logged(OBSERVE_MASTER, OBSERVE_INFO, OBSERVE_ERROR, "x", b, sizeof(b)),
	    "error [master] x\n");
}

static void line_for_the_journal_has_its_mark_and_no_time(void **state)
{
	(void)state;
	static const char *const marks[] = {
	    [OBSERVE_DEBUG] = "<7>",
	    [OBSERVE_INFO] = "<6>",
	    [OBSERVE_WARN] = "<4>",
	    [OBSERVE_ERROR] = "<3>",
	};
	for (enum observe_level level = OBSERVE_DEBUG; level <= OBSERVE_ERROR; level++) {
		char text[100], expected[100];
		int fds[2];
		assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
		struct observe o = {.counters = counters,
		    .access_fd = -1,
		    .error_fd = fds[1],
		    .is_journal = true,
		    .level = OBSERVE_DEBUG,
		    .worker = 3};
		observe_log(&o, level, "it rains");
		ssize_t n = read(fds[0], text, sizeof(text) - 1);
		close(fds[0]);
		close(fds[1]);
		text[n > 0 ? n : 0] = '\0';
		snprintf(expected, sizeof(expected), "%s[w3] it rains\n", marks[level]);
		assert_string_equal(text, expected);
	}
}

static void lines_below_the_level_are_not_written(void **state)
{
	(void)state;
	char b[2000];
	assert_string_equal(logged(0, OBSERVE_WARN, OBSERVE_INFO, "no", b, sizeof(b)), "");
	assert_string_equal(logged(0, OBSERVE_INFO, OBSERVE_DEBUG, "no", b, sizeof(b)), "");
	assert_string_equal(
	    logged(0, OBSERVE_WARN, OBSERVE_WARN, "yes", b, sizeof(b)), "warn [w0] yes\n");
}

static void controls_cannot_forge_a_line(void **state)
{
	(void)state;
	char b[2000];
	assert_string_equal(
	    logged(0, OBSERVE_INFO, OBSERVE_WARN, "a\nb\x1b[2J \"q\" c\\n", b, sizeof(b)),
	    "warn [w0] a\\x0ab\\x1b[2J \"q\" c\\\\n\n");
}

static void long_text_is_cut_at_a_thousand_bytes(void **state)
{
	(void)state;
	char text[3000], b[3000];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	const char *line = logged(0, OBSERVE_INFO, OBSERVE_WARN, text, b, sizeof(b));
	size_t length = strlen(line);
	assert_int_equal(length, strlen("warn [w0] ") + 1000 + 1);
	assert_string_equal(line + length - 5, "x\u2026\n");
}

static void counters_add_up(void **state)
{
	(void)state;
	static struct observe_counters other;
	counters->requests = 3;
	other.requests = 4;
	other.error_lines_dropped = 1;
	other.push[POLICY_RELAYED][POLICY_DROP][POLICY_REASON_INDEX_DUPLICATE] = 5;
	observe_counters_add(counters, &other);
	observe_counters_add(counters, &other);
	assert_int_equal(counters->requests, 11);
	assert_int_equal(counters->error_lines_dropped, 2);
	assert_int_equal(
	    counters->push[POLICY_RELAYED][POLICY_DROP][POLICY_REASON_INDEX_DUPLICATE], 10);
}

static void printed_counters_name_each_and_only_pushes_that_happened(void **state)
{
	(void)state;
	counters->requests = 42;
	counters->responses_2xx = 40;
	counters->idle_closed = 3;
	counters->upstream_connections_open = 5;
	counters->push[POLICY_RELAYED][POLICY_FORWARD][POLICY_REASON_INDEX_RULE] = 7;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	observe_counters_print(counters, out);
	fclose(out);
	assert_non_null(strstr(text,
	    "# HELP pushgate_requests_total requests received\n"
	    "# TYPE pushgate_requests_total counter\n"
	    "pushgate_requests_total 42\n"));
	assert_non_null(strstr(text,
	    "# TYPE pushgate_requests_open gauge\n"
	    "pushgate_requests_open 0\n"));
	assert_non_null(strstr(text, "\npushgate_log_lines_lost_total{log=\"error\",cause=\"pipe\"} 0\n"));
	/* A family is one block, whose text is that of its first row. */
	assert_non_null(strstr(text,
	    "# HELP pushgate_responses_total responses sent, by class of status; 1xx: interim ones\n"
	    "# TYPE pushgate_responses_total counter\n"
	    "pushgate_responses_total{code=\"1xx\"} 0\n"
	    "pushgate_responses_total{code=\"2xx\"} 40\n"
	    "pushgate_responses_total{code=\"3xx\"} 0\n"));
	assert_non_null(strstr(
	    text, "\npushgate_connection_timeouts_total{side=\"client\",timeout=\"idle-timeout\"} 3\n"));
	assert_non_null(strstr(text,
	    "# TYPE pushgate_connections_open gauge\n"
	    "pushgate_connections_open{side=\"client\"} 0\n"
	    "pushgate_connections_open{side=\"origin\"} 5\n"));
	const char *push = strstr(text, "# TYPE pushgate_push_total");
	assert_string_equal(push,
	    "# TYPE pushgate_push_total counter\n"
	    "pushgate_push_total{source=\"relayed\",verdict=\"forward\",reason=\"rule\"} 7\n");
	free(text);
}

static const char *name_of(size_t index)
{
	static const char *const names[] = {"first", "second"};
	return index < 2 ? names[index] : NULL;
}

static void faults_and_causes_that_came_have_a_line_each(void **state)
{
	(void)state;
	char *text = NULL;
	size_t size = 0;
	struct observe_counters *more = calloc(1, sizeof(*more));
	assert_non_null(more);
	more->faults[OBSERVE_CLIENT][1] = 2;
	more->faults[OBSERVE_ORIGIN][0] = 3;
	more->causes[1] = 4;
	more->misses[0] = 5;
	observe_counters_add(counters, more);
	observe_counters_add(counters, more);
	free(more);
	FILE *out = open_memstream(&text, &size);
	observe_faults_print(counters, name_of, out);
	observe_rows_print(OBSERVE_FAMILY_END, "cause", counters->causes, OBSERVE_CAUSES, name_of, out);
	observe_rows_print(
	    OBSERVE_FAMILY_HOLD_MISSED, "cause", counters->misses, OBSERVE_MISSES, name_of, out);
	fclose(out);
	static const char *const blocks[] = {
	    "# TYPE pushgate_peer_faults_by_fault_total counter\n"
	    "pushgate_peer_faults_by_fault_total{side=\"client\",fault=\"second\"} 4\n"
	    "pushgate_peer_faults_by_fault_total{side=\"origin\",fault=\"first\"} 6\n"
	    "# HELP pushgate_end_total ",
	    "# TYPE pushgate_end_total counter\n"
	    "pushgate_end_total{cause=\"second\"} 8\n"
	    "# HELP pushgate_holds_missed_by_cause_total ",
	    "# TYPE pushgate_holds_missed_by_cause_total counter\n"
	    "pushgate_holds_missed_by_cause_total{cause=\"first\"} 10\n",
	};
	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		assert_non_null(strstr(text, blocks[i]));
	free(text);
}

static void labels_are_escaped(void **state)
{
	(void)state;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct observe_family f = {.out = out, .id = OBSERVE_FAMILY_RULE_USED};
	observe_sample(&f, (const struct observe_label[]){{"rule", "a\\b\"c\nd"}, {0}}, "%.1f", 0.5);
	observe_sample(&f, (const struct observe_label[]){{"rule", "\303\244\377\342\202\n\360\237\230\200\303"}, {0}}, "%d", 2);
	observe_sample(&f, (const struct observe_label[]){{0}}, "%d", 1);
	fclose(out);
	assert_string_equal(strstr(text, "# TYPE"),
	    "# TYPE pushgate_rule_used_ratio gauge\n"
	    "pushgate_rule_used_ratio{rule=\"a\\\\b\\\"c\\nd\"} 0.5\n"
	    /* A file's path may be any bytes; what is no UTF-8 would make Prometheus refuse all samples. */
	    "pushgate_rule_used_ratio{rule=\"\303\244\357\277\275\357\277\275\357\277\275\\n\360\237\230\200\357\277\275\"} 2\n"
	    "pushgate_rule_used_ratio 1\n");
	free(text);
}

/* ---- what peers can bring about ---- */

#define NOW (100 * USEC_PER_SEC)

struct log {
	struct observe o;
	int fd;
	char text[8192];
};

static void log_open(struct log *l)
{
	int fds[2];
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	l->o = (struct observe){
	    .counters = counters, .access_fd = -1, .error_fd = fds[1], .level = OBSERVE_INFO};
	l->fd = fds[0];
}

static void log_close(struct log *l)
{
	close(l->fd);
	close(l->o.error_fd);
}

/* How often the words stand in what was written since the last call. */
static unsigned count(struct log *l, const char *words)
{
	unsigned n = 0;
	for (const char *at = l->text; (at = strstr(at, words)) != NULL; at++)
		n++;
	return n;
}

static void read_log(struct log *l)
{
	ssize_t n = read(l->fd, l->text, sizeof(l->text) - 1);
	l->text[n > 0 ? n : 0] = '\0';
}

static void log_fault(struct log *l, const char *kind, usec now)
{
	observe_log_fault(&l->o, OBSERVE_WARN, kind, now, "client: %s", kind);
}

static void complaints_of_one_kind_are_few_a_second(void **state)
{
	(void)state;
	struct log l;
	log_open(&l);
	for (unsigned i = 0; i < 100; i++)
		log_fault(&l, "ping-flood", NOW + i);
	log_fault(&l, "reset-flood", NOW);
	read_log(&l);
	assert_int_equal(count(&l, "warn [w0] client: ping-flood\n"), OBSERVE_LINES_A_SECOND);
	assert_int_equal(count(&l, "warn [w0] client: reset-flood\n"), 1);
	assert_int_equal(counters->log_left_out, 100 - OBSERVE_LINES_A_SECOND);
	/* The next one of its kind says what became of the others. */
	log_fault(&l, "ping-flood", NOW + USEC_PER_SEC);
	read_log(&l);
	assert_int_equal(count(&l, "ping-flood: 95 more lines like this were left out\n"), 1);
	assert_int_equal(count(&l, "client: ping-flood\n"), 1);
	log_close(&l);
}

static void what_was_left_out_is_told_when_a_flood_has_ended(void **state)
{
	(void)state;
	struct log l;
	log_open(&l);
	for (unsigned i = 0; i < 7; i++)
		log_fault(&l, "first", NOW);
	for (unsigned i = 0; i < 9; i++)
		log_fault(&l, "second", NOW + USEC_PER_SEC / 2);
	read_log(&l);
	observe_log_left_out(&l.o, NOW + USEC_PER_SEC - 1);
	read_log(&l);
	assert_string_equal(l.text, "");
	observe_log_left_out(&l.o, NOW + USEC_PER_SEC);
	read_log(&l);
	assert_int_equal(count(&l, "first: 2 more lines"), 1);
	assert_int_equal(count(&l, "second"), 0);
	observe_log_left_out(&l.o, NOW + 2 * USEC_PER_SEC);
	read_log(&l);
	assert_int_equal(count(&l, "second: 4 more lines"), 1);
	observe_log_left_out(&l.o, NOW + 4 * USEC_PER_SEC);
	read_log(&l);
	assert_string_equal(l.text, "");
	log_close(&l);
}

static void kinds_without_end_have_a_bound_together(void **state)
{
	(void)state;
	static char names[20 * OBSERVE_KINDS][16];
	struct log l;
	log_open(&l);
	for (unsigned i = 0; i < 20 * OBSERVE_KINDS; i++) {
		log_fault(&l, names[i], NOW);
		read_log(&l);
	}
	assert_true(counters->log_left_out >= (20 - OBSERVE_LINES_A_SECOND) * OBSERVE_KINDS);
	log_close(&l);
}

static void every_outcome_has_its_name(void **state)
{
	(void)state;
	for (enum observe_outcome a = 0; a < OBSERVE_OUTCOME_COUNT; a++)
		for (enum observe_outcome b = 0; b < a; b++)
			assert_string_not_equal(observe_outcome_name(a), observe_outcome_name(b));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(line_says_level_and_worker),
	    TEST(line_for_the_journal_has_its_mark_and_no_time),
	    TEST(faults_and_causes_that_came_have_a_line_each),
	    TEST(labels_are_escaped),
	    TEST(complaints_of_one_kind_are_few_a_second),
	    TEST(what_was_left_out_is_told_when_a_flood_has_ended),
	    TEST(kinds_without_end_have_a_bound_together),
	    TEST(lines_below_the_level_are_not_written),
	    TEST(controls_cannot_forge_a_line),
	    TEST(long_text_is_cut_at_a_thousand_bytes),
	    TEST(counters_add_up),
	    TEST(printed_counters_name_each_and_only_pushes_that_happened),
	    TEST(every_outcome_has_its_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
