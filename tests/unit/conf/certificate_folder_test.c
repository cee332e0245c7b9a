/* SPDX-License-Identifier: MIT */
/* A certificate that is put into a folder of certificates: whole, for its owner alone, in place of the one of before. */
#include "tests/unit/conf/load.h"
#include <dirent.h>
#include <sys/stat.h>

static char folder[64], path[128];

static int set_up(void **state)
{
	(void)state;
	snprintf(folder, sizeof folder, "%s", P_tmpdir "/pushgate-folder-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];
	(void)state;
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return system(command);
}

static void assert_file(const char *name, const char *text)
{
	char bytes[64] = "";
	struct stat info;
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	bytes[fread(bytes, 1, sizeof bytes - 1, f)] = '\0';
	fclose(f);
	assert_string_equal(bytes, text);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
}

static unsigned count_files(void)
{
	unsigned count = 0;
	DIR *d = opendir(folder);
	assert_non_null(d);
	while (readdir(d))
		count++;
	closedir(d);
	return count - 2;
}

static void a_certificate_takes_the_place_of_that_of_before(void **state)
{
	(void)state;
	char why[256] = "";
	assert_true(conf_put_certificate(folder, "a.test", SLICE("chain"), SLICE("key"), why, sizeof why));
	assert_file("a.test.pem", "chain\nkey\n");
	assert_true(conf_put_certificate(folder, "a.test", SLICE("other"), SLICE("key"), why, sizeof why));
	assert_file("a.test.pem", "other\nkey\n");
	assert_true(conf_put_certificate(folder, "*.a.test", SLICE("wild"), SLICE("key"), why, sizeof why));
	assert_file("wildcard.a.test.pem", "wild\nkey\n");
	assert_int_equal(count_files(), 2);
	assert_string_equal(why, "");
}

static void a_name_that_leads_elsewhere_is_refused(void **state)
{
	(void)state;
	static const char *const names[] = {"", ".hidden", "../a", "a/b", "a\nb", "a.*"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char why[256] = "";
		assert_false(conf_put_certificate(folder, names[i], SLICE("c"), SLICE("k"), why, sizeof why));
		assert_non_null(strstr(why, "Invalid argument"));
	}
	assert_int_equal(count_files(), 0);
}

static void a_folder_that_is_not_there_is_named(void **state)
{
	(void)state;
	char why[256] = "";
	assert_false(conf_put_certificate("/nonexistent", "a.test", SLICE("c"), SLICE("k"), why, sizeof why));
	assert_string_equal(why, "/nonexistent/a.test.pem: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(a_certificate_takes_the_place_of_that_of_before, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_name_that_leads_elsewhere_is_refused, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(a_folder_that_is_not_there_is_named, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
