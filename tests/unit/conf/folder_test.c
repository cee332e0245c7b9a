/* SPDX-License-Identifier: MIT */
/* `files` of a route: what of a folder is read, and what is refused. */
#include "proxy/http/file_set.h"
#include "proxy/limits.h"
#include "tests/unit/conf/load.h"
#include <sys/stat.h>

static char folder[64];

/* In the shell: with $F as the folder. */
static void run(const char *command)
{
	char line[2048];
	snprintf(line, sizeof line, "F=%s; %s", folder, command);
	assert_int_equal(system(line), 0);
}

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "/tmp/pushgate-folder-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	run("chmod -R u+rwx $F; rm -rf $F");
	return 0;
}

static struct load load_route(const char *lines)
{
	char text[1024];
	snprintf(text, sizeof text, LOAD_LISTEN "[route r]\nfiles = %s/www\n%s", folder, lines);
	return load_bytes(slice_of_string(text), true);
}

/* The names of the set, each with a space behind it, for names that the test has made. */
static void assert_has(const struct load *load, const char *names)
{
	static const char *const all[] = {"a.txt", "sub/b.css", ".well-known/c", ".hidden", "sub/.d",
	    "index.html", "inner", "outer", "pipe", "e f%.txt"};
	char found[512] = "";
	struct http_file f;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (http_file_set_find(load->conf->routes[0].folder.files, slice_of_string(all[i]), &f)) {
			assert_true(slice_equal(f.name, slice_of_string(all[i])));
			strcat(strcat(found, all[i]), " ");
		}
	assert_string_equal(found, names);
}

static void plain_files_are_read(void **state)
{
	(void)state;
	struct http_file f;
	run("mkdir -p $F/www/sub $F/www/.well-known; cd $F/www; printf one >a.txt; printf two >sub/b.css; "
	    ": >.well-known/c; touch .hidden sub/.d index.html 'e f%.txt'; mkfifo pipe; touch -d @1000 a.txt");
	struct load load = load_route("");
	assert_string_equal(load.errors, "");
	assert_has(&load, "a.txt sub/b.css .well-known/c index.html e f%.txt ");
	const struct slice set = load.conf->routes[0].folder.files;
	assert_true(http_file_set_find(set, SLICE("a.txt"), &f));
	assert_true(slice_equal(f.body, SLICE("one")));
	assert_true(slice_equal(f.type, SLICE("text/plain; charset=utf-8")));
	assert_int_equal(f.modified_sec, 1000);
	/* base64url of the SHA-1 of "one" */
	assert_string_equal(f.tag, "\"_gW83NxJKAEngaXxoqd8u1OY4QY\"");
	load_free(&load);
}

static void paths_of_the_route_bound_what_is_read(void **state)
{
	(void)state;
	static const struct {
		const char *lines, *names;
	} rows[] = {
	    {"path = /.well-known\n", ".well-known/c "},
	    {"path = /sub/ /a.txt\n", "a.txt sub/b.css "},
	    {"path = /su /a\n", ""},
	    {"path = /sub/b.css\n", "sub/b.css "},
	    {"path = /e%20f%25.txt\n", "e f%.txt "},
	    {"path = /\n", "a.txt sub/b.css .well-known/c index.html e f%.txt "},
	};
	run("mkdir -p $F/www/sub $F/www/.well-known; cd $F/www; touch a.txt sub/b.css .well-known/c index.html "
	    "'e f%.txt'");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct load load = load_route(rows[i].lines);
		assert_string_equal(load.errors, "");
		assert_has(&load, rows[i].names);
		load_free(&load);
	}
}

static void links_are_followed_within_the_folder_alone(void **state)
{
	(void)state;
	char says[512];
	run("mkdir -p $F/www/sub $F/www/.well-known; cd $F/www; touch sub/b.css; ln -s sub/b.css inner; "
	    "printf secret >../secret; ln -s ../secret outer; ln -s / .well-known/c");
	struct load load = load_route("path = /inner /outer\n");
	snprintf(says, sizeof says,
	    "test.ini:4: warning: '%s/www/outer' is a link that leads out of the folder of files, so it is not "
	    "served; copy the file\n",
	    folder);
	assert_string_equal(load.errors, says);
	assert_has(&load, "inner ");
	load_free(&load);
	load = load_route("path = /.well-known\n");
	assert_non_null(strstr(load.errors, "/www/.well-known/c' is a link that leads out"));
	assert_has(&load, "");
	load_free(&load);
}

static void bounds_are_told_with_their_line(void **state)
{
	(void)state;
	static const struct {
		const char *command, *says;
	} rows[] = {
	    {":", "test.ini:4: the folder '%s/www' for files cannot be read: No such file or directory; name a "
		  "readable folder\n"},
	    {"printf x >$F/www", "test.ini:4: the folder '%s/www' for files cannot be read: Not a directory; name "
				 "a readable folder\n"},
	    {"rm $F/www; mkdir $F/www; cd $F/www; for i in $(seq 257); do : >$i; done",
		"test.ini:4: the folder '%s/www' for files has more than 256 files; let path name a part of it, "
		"or let an origin serve them\n"},
	    {"rm -r $F/www; mkdir $F/www; head -c 262145 /dev/zero >$F/www/big",
		"test.ini:4: '%s/www/big' is larger than 262144 bytes; take it out of the folder of files, and "
		"let an origin serve it\n"},
	    {"rm $F/www/big; cd $F/www; for i in $(seq 16); do head -c 262144 /dev/zero >$i; done; printf x >y",
		"test.ini:4: the files of folder '%s/www' have more than 4194304 bytes together; let path name a "
		"part of it, or let an origin serve them\n"},
	    {"rm $F/www/*; mkdir -p $F/www/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a",
		"test.ini:4: '%s/www/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a/a' for files lies deeper than 16 folders; "
		"move it up\n"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char says[512];
		run(rows[i].command);
		snprintf(says, sizeof says, rows[i].says, folder);
		struct load load = load_route("");
		assert_string_equal(load.errors, says);
		assert_null(load.conf);
		load_free(&load);
	}
	run("cd $F/www; rm -r a; for i in $(seq 256); do : >$i; done");
	struct load load = load_route("");
	assert_string_equal(load.errors, "");
	load_free(&load);
}

static void it_excludes_the_other_actions(void **state)
{
	(void)state;
	assert_refused(LOAD_LISTEN LOAD_ORIGIN "[route r]\norigin = o\nfiles = /tmp\n",
	    "test.ini:7: [route r] has origin and files; keep one of them\n");
}

/* Another process uses it as it is. */
static void a_set_has_each_file(void **state)
{
	(void)state;
	static const char *const names[] = {"b", "a", "ab", "", "b/c", "\xff", "B"};
	struct http_file files[7], f;
	struct arena arena;
	arena_init(&arena, NULL, 0);
	assert_false(http_file_set_find(http_file_set_make(&arena, files, 0), SLICE("a"), &f));
	for (size_t count = 1; count <= 7; count++) {
		for (size_t i = 0; i < count; i++)
			files[i] = (struct http_file){.name = slice_of_string(names[i]),
			    .type = SLICE("t"),
			    .body = slice_of_string(names[i]),
			    .modified_sec = i,
			    .tag = "\"x\""};
		struct slice set = http_file_set_make(&arena, files, count);
		for (size_t i = 0; i < 7; i++) {
			bool is_there = i < count;
			assert_int_equal(
			    http_file_set_find(set, slice_of_string(names[i]), &f), is_there);
			if (is_there)
				assert_true(slice_equal(f.body, slice_of_string(names[i])) &&
					    f.modified_sec == i && slice_equal(f.type, SLICE("t")) &&
					    strcmp(f.tag, "\"x\"") == 0);
		}
		assert_false(http_file_set_find(set, SLICE("ba"), &f));
	}
	arena_fini(&arena);
}

static void endings_tell_types(void **state)
{
	(void)state;
	static const struct {
		const char *name, *type;
	} rows[] = {
	    {"index.html", "text/html; charset=utf-8"},
	    {"a/B.CSS", "text/css; charset=utf-8"},
	    {"x.json", "application/json"},
	    {"x.speculationrules.json", "application/speculationrules+json"},
	    {"x.speculationrules", "application/speculationrules+json"},
	    {".well-known/apple-app-site-association", "application/json"},
	    {"token", "application/octet-stream"},
	    {"html", "application/octet-stream"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_string_equal(http_file_type(slice_of_string(rows[i].name)), rows[i].type);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(plain_files_are_read),
	    TEST(paths_of_the_route_bound_what_is_read),
	    TEST(links_are_followed_within_the_folder_alone),
	    TEST(bounds_are_told_with_their_line),
	    cmocka_unit_test(it_excludes_the_other_actions),
	    cmocka_unit_test(a_set_has_each_file),
	    cmocka_unit_test(endings_tell_types),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
