/* SPDX-License-Identifier: MIT */
/* Findings as lines and as JSON, and what they are about. tests/wire/mistakes.test.mjs compares both for each mistake. */
#include "proxy/conf/findings.h"
#include "proxy/limits.h"
#include "tests/unit/conf/load.h"
#include <jansson.h>

struct bench {
	struct conf_findings findings;
	char *lines, *printed;
	size_t lines_length, printed_length;
};

static void open_findings(struct bench *b)
{
	*b = (struct bench){0};
	b->findings.text = open_memstream(&b->lines, &b->lines_length);
	conf_findings_keep(&b->findings);
}

/* Takes what was printed: the object is the caller's. */
static json_t *close_findings(struct bench *b, bool is_good)
{
	fclose(b->findings.text);
	FILE *out = open_memstream(&b->printed, &b->printed_length);
	conf_findings_print_json(&b->findings, "a.ini", is_good, out);
	fclose(out);
	assert_null(b->findings.list);
	json_t *all = json_loads(b->printed, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(all);
	return all;
}

static void free_findings(struct bench *b, json_t *all)
{
	json_decref(all);
	free(b->lines);
	free(b->printed);
}

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static int64_t number_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static void each_severity_is_a_line_and_a_member_and_is_counted(void **state)
{
	(void)state;
	struct bench b;
	static const char *const words[CONF_SEVERITIES] = {"note", "warning", "error"};
	open_findings(&b);
	for (int i = 0; i < CONF_SEVERITIES; i++)
		conf_findings_add(&b.findings, &(struct conf_finding){.severity = (enum conf_severity)i,
						   .at = {"a.ini", 7 + (uint32_t)i}, .message = "is \"bad\"; do"}, NULL);
	json_t *all = close_findings(&b, false);
	assert_string_equal(b.lines,
	    "a.ini:7: note: is \"bad\"; do\na.ini:8: warning: is \"bad\"; do\na.ini:9: is \"bad\"; do\n");
	assert_string_equal(text_of(all, "version"), PUSHGATE_VERSION);
	assert_string_equal(text_of(all, "file"), "a.ini");
	assert_string_equal(text_of(all, "result"), "wrong");
	assert_int_equal(number_of(all, "mistakes"), 1);
	assert_int_equal(number_of(all, "warnings"), 1);
	assert_int_equal(number_of(all, "notes"), 1);
	json_t *list = json_object_get(all, "findings");
	assert_int_equal(json_array_size(list), CONF_SEVERITIES);
	for (size_t i = 0; i < CONF_SEVERITIES; i++) {
		const json_t *finding = json_array_get(list, i);
		assert_string_equal(text_of(finding, "severity"), words[i]);
		assert_string_equal(text_of(finding, "message"), "is \"bad\"; do");
		assert_int_equal(number_of(finding, "line"), 7 + i);
		assert_true(json_is_null(json_object_get(finding, "section")));
		assert_true(json_is_null(json_object_get(finding, "section_name")));
		assert_true(json_is_null(json_object_get(finding, "option")));
	}
	free_findings(&b, all);
}

static void nothing_found_is_an_empty_list(void **state)
{
	(void)state;
	struct bench b;
	open_findings(&b);
	json_t *all = close_findings(&b, true);
	assert_string_equal(b.lines, "");
	assert_string_equal(text_of(all, "result"), "ok");
	assert_true(json_is_array(json_object_get(all, "findings")));
	assert_int_equal(json_array_size(json_object_get(all, "findings")), 0);
	free_findings(&b, all);
}

/* Whatever is in a file's name or in a value, the object can be parsed, and only what is no UTF-8 is replaced. */
static void text_that_is_not_utf8_keeps_all_that_is(void **state)
{
	(void)state;
	static const struct {
		const char *text, *line, *json;
	} rows[] = {
	    {"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x99\x82", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x99\x82",
		"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x99\x82"},
	    {"a\xfc" "b", "a\xfc" "b", "a\xef\xbf\xbd" "b"},
	    {"cut \xe2\x82", "cut \xe2\x82", "cut \xef\xbf\xbd\xef\xbf\xbd"},
	    {"\xed\xa0\x80", "\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
	    {"\x1b[31m\x7f\n", "?[31m??", "?[31m??"},
	    {"", "", ""},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct bench b;
		char line[100];
		open_findings(&b);
		conf_findings_add(&b.findings,
		    &(struct conf_finding){.severity = CONF_ERROR, .at = {"\xff.ini", 1}, .message = rows[i].text}, NULL);
		json_t *all = close_findings(&b, false);
		const json_t *finding = json_array_get(json_object_get(all, "findings"), 0);
		snprintf(line, sizeof line, "\xff.ini:1: %s\n", rows[i].line);
		assert_string_equal(b.lines, line);
		assert_string_equal(text_of(finding, "message"), rows[i].json);
		assert_string_equal(text_of(finding, "file"), "\xef\xbf\xbd.ini");
		free_findings(&b, all);
	}
}

/* ---- what a load's findings are about ---- */

static char path[] = "/tmp/pushgate-test-XXXXXX";

/* The only finding about this text: its section, name of the section and option; NULL: not known. */
static void assert_about(const char *text, const char *section, const char *name, const char *option)
{
	struct bench b;
	FILE *file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	open_findings(&b);
	struct conf *c = conf_load(path, true, &b.findings);
	json_t *all = close_findings(&b, c != NULL);
	const char *const wanted[] = {section, name, option};
	static const char *const keys[] = {"section", "section_name", "option"};
	json_t *list = json_object_get(all, "findings");
	if (json_array_size(list) != 1)
		fail_msg("%s", b.printed);
	for (size_t i = 0; i < 3; i++) {
		const char *is = text_of(json_array_get(list, 0), keys[i]);
		if (!is != !wanted[i] || (is && strcmp(is, wanted[i]) != 0))
			fail_msg("%s is %s instead of %s: %s", keys[i], is, wanted[i], b.lines);
	}
	free_findings(&b, all);
	conf_free(c);
}

static void finding_names_its_section_and_option(void **state)
{
	(void)state;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	/* While the line is read. */
	assert_about(LOAD_REST "[server]\nworkers = x\n", "server", NULL, "workers");
	assert_about(LOAD_REST "[server]\nworkers = 1\nworkers = 2\n", "server", NULL, "workers");
	assert_about(LOAD_REST "[server]\nworkers =\n", "server", NULL, "workers");
	assert_about(LOAD_REST "[server]\nworkers = 1\nworkerz = 2\n", "server", NULL, NULL);
	assert_about(LOAD_REST "[server]\nworkers = 1\nword\n", "server", NULL, NULL);
	assert_about(LOAD_REST "[routes]\nretries = 99\n", "routes", NULL, "retries");
	assert_about("workers = 1\n" LOAD_REST, NULL, NULL, NULL);
	assert_about(LOAD_REST "[rout x]\nhost = a\n", NULL, NULL, NULL);
	/* When the file has been read: a line, a section, and the whole. */
	assert_about(LOAD_REST "[route s]\nhost = a\norigin = p\n", "route", "s", "origin");
	assert_about(LOAD_REST "[route s]\nhost = a\n", "route", "s", NULL);
	assert_about(LOAD_LISTEN LOAD_ORIGIN, NULL, NULL, NULL);
	/* A warning. */
	assert_about(LOAD_REST "[server]\nhint-wait = 5ms\n", "server", NULL, "hint-wait");
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(each_severity_is_a_line_and_a_member_and_is_counted),
	    cmocka_unit_test(nothing_found_is_an_empty_list),
	    cmocka_unit_test(text_that_is_not_utf8_keeps_all_that_is),
	    cmocka_unit_test(finding_names_its_section_and_option),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
