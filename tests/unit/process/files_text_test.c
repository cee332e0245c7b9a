/* SPDX-License-Identifier: MIT */
/* The hosts file and resolv.conf, as the files process reads them, and as a worker takes them. */
#include "tests/support/gateway_world.h"

#include "proxy/limits.h"
#include "proxy/process/files.h"
#include <sys/socket.h>
#include <unistd.h>

static char dir[32], path[64];

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/pushgate-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/hosts", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void write_file(const char *text, size_t length)
{
	char fresh[72];
	snprintf(fresh, sizeof(fresh), "%s.new", path);
	FILE *f = fopen(fresh, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, length, f), length);
	fclose(f);
	assert_int_equal(rename(fresh, path), 0);
}

static struct files files;

static void assert_check(enum watched_change change, const char *said)
{
	char line[512] = "", want[600] = "";
	assert_int_equal(files_check_text(&files.texts[FILES_HOSTS], line, sizeof(line)), change);
	if (*said)
		snprintf(want, sizeof(want), "%s%s", path, said);
	assert_string_equal(line, want);
}

static void assert_text(const char *want)
{
	assert_true(slice_equal(files_text(&files, FILES_HOSTS), slice_of_string(want)));
}

static void file_is_read_again_when_it_changes(void **state)
{
	(void)state;
	files = (struct files){.texts[FILES_HOSTS].file.path = path};
	write_file("first", 5);
	assert_check(WATCHED_READ, "");
	assert_text("first");
	assert_check(WATCHED_SAME, "");
	write_file("second", 6);
	assert_check(WATCHED_READ, ": read again");
	assert_text("second");
	assert_check(WATCHED_SAME, "");
	write_file("", 0);
	assert_check(WATCHED_READ, ": read again");
	assert_text("\n"); /* a memory file without a byte cannot be mapped */
	files_texts_close(&files);
}

static void file_that_is_gone_leaves_what_was_read(void **state)
{
	(void)state;
	files = (struct files){.texts[FILES_HOSTS].file.path = path};
	unlink(path);
	assert_check(WATCHED_UNUSABLE,
	    " cannot be read: No such file or directory; it counts as empty");
	assert_text("\n");
	assert_check(WATCHED_SAME, "");
	write_file("now", 3);
	assert_check(WATCHED_READ, ": read again");
	unlink(path);
	assert_check(WATCHED_UNUSABLE,
	    " cannot be read: No such file or directory; what was read before stays in use");
	assert_check(WATCHED_SAME, "");
	assert_text("now");
	files_texts_close(&files);
}

static void folder_is_no_text(void **state)
{
	(void)state;
	char line[512] = "";
	files = (struct files){.texts[FILES_HOSTS].file.path = dir};
	assert_int_equal(files_check_text(&files.texts[FILES_HOSTS], line, sizeof(line)),
	    WATCHED_UNUSABLE);
	assert_non_null(strstr(line, "Is a directory; it counts as empty"));
	assert_int_equal(files_check_text(&files.texts[FILES_RESOLV_CONF], line, sizeof(line)),
	    WATCHED_SAME); /* without a path */
}

static void what_is_too_long_is_cut_off(void **state)
{
	(void)state;
	size_t size = 3 * (size_t)LIMIT_NAMES_FILE_BYTES;
	char *text = memset(malloc(size), 'x', size);
	files = (struct files){.texts[FILES_HOSTS].file.path = path};
	write_file(text, size);
	assert_check(WATCHED_READ, ": what is behind its first 65536 bytes is left out");
	assert_true(files_text(&files, FILES_HOSTS).len <= LIMIT_NAMES_FILE_BYTES + 1);
	files_texts_close(&files);
	free(text);
}

static void texts_are_objects_if_a_server_has_a_name(void **state)
{
	(void)state;
	static const struct {
		const char *server, *more;
		bool is_needed, reads_resolv_conf;
	} rows[] = {{"http://127.0.0.1:80", "", false, false}, {"http://www.test:80", "", true, true},
	    {"srv:_http._tcp.test", "resolver = 127.0.0.1\n", true, false}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[512];
		struct files_contents contents;
		snprintf(text, sizeof(text),
		    "[server]\n%s[listen l]\naddress = 127.0.0.1:1\n[origin o]\nserver = %s\n[route r]\norigin = o\n",
		    rows[i].more, rows[i].server);
		struct conf *conf = conf_load_text(slice_of_string(text), "t", false, stderr);
		assert_non_null(conf);
		assert_int_equal(files_are_needed(conf), rows[i].is_needed);
		files_contents_init(&contents, conf);
		assert_int_equal(contents.count, rows[i].is_needed ? 3 : 1);
		files_contents_fini(&contents);
		files_resume(&files, conf, NULL);
		assert_int_equal(files.texts[FILES_HOSTS].file.path != NULL, rows[i].is_needed);
		assert_int_equal(
		    files.texts[FILES_RESOLV_CONF].file.path != NULL, rows[i].reads_resolv_conf);
		files_close(&files);
		conf_free(conf);
	}
}

static void worker_takes_texts_and_refuses_what_is_none(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct files_link link;
	int pair[2], text = sealed_make(SLICE("127.0.0.1 a\n")), empty = sealed_make(SLICE(""));
	files_link_init(&link);
	link.gateway = w->gateway;
	link.observe = &w->observe;
	link.link.loop = w->loop;
	struct conf *named = conf_load_text(SLICE("[listen l]\naddress = 127.0.0.1:1\n[origin a]\nserver = "
						  "http://a.example:80\n[route r]\norigin = a\n"),
	    "test.ini", true, stderr);
	assert_non_null(named);
	link.conf = named;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	helper_link_open(&link.link, pair[0]);
	struct files_message message = {.kind = FILES_CONTENT, .object = 2}; /* that is no text */
	assert_true(files_send(pair[1], &message, SLICE(""), text));
	UNTIL(w, w->counters.files_refused == 1);
	message.object = 0;
	assert_true(files_send(pair[1], &message, SLICE(""), empty));
	UNTIL(w, w->counters.files_refused == 2);
	assert_true(files_send(pair[1], &message, SLICE(""), -1));
	UNTIL(w, w->counters.files_refused == 3);
	assert_true(files_send(pair[1], &message, SLICE(""), text));
	message.object = 1;
	assert_true(files_send(pair[1], &message, SLICE(""), text));
	message.object = 9;
	assert_true(files_send(pair[1], &message, SLICE(""), text));
	UNTIL(w, w->counters.files_refused == 4); /* the two before it were taken */
	helper_link_stop(&link.link);
	helper_link_close(&link.link);
	close(pair[1]);
	close(text);
	close(empty);
	gate_world_free(w);
	conf_free(named);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(file_is_read_again_when_it_changes, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(file_that_is_gone_leaves_what_was_read, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(folder_is_no_text, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(what_is_too_long_is_cut_off, set_up, tear_down),
	    cmocka_unit_test(texts_are_objects_if_a_server_has_a_name),
	    cmocka_unit_test(worker_takes_texts_and_refuses_what_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
