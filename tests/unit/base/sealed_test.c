/* SPDX-License-Identifier: MIT */
/* Files that are read once: what is read of them later, whatever became of those on the disk. */
#include "proxy/base/sealed.h"
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[32], a[48], b[48];

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/pushgate-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(a, sizeof(a), "%s/a", dir);
	snprintf(b, sizeof(b), "%s/b", dir);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	unlink(a);
	unlink(b);
	return rmdir(dir);
}

static void put(const char *path, const char *bytes, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, length), length);
	close(fd);
}

static void assert_has(const struct sealed *s, const char *path, const char *bytes)
{
	struct sealed_view v;
	assert_int_equal(sealed_view_open(s, path, &v), 0);
	assert_int_equal(v.bytes.len, strlen(bytes));
	assert_memory_equal(v.bytes.ptr, bytes, v.bytes.len);
	sealed_view_close(&v);
}

/* The descriptor of this process's only memory file, or -1. */
static int find_memory_file(void)
{
	for (int fd = 0; fd < 64; fd++) {
		char link[32], name[64] = "";
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		if (readlink(link, name, sizeof(name) - 1) > 0 && strstr(name, "pushgate-start"))
			return fd;
	}
	return -1;
}

static void file_is_what_it_was_when_it_was_read(void **state)
{
	(void)state; /* covers: R231 */
	struct sealed *s = sealed_new();
	put(a, "first", 5);
	put(b, "", 0);
	assert_int_equal(sealed_add(s, a), 0);
	assert_has(s, a, "first");
	put(a, "second", 6);
	assert_int_equal(sealed_add(s, a), 0);
	assert_int_equal(sealed_add(s, b), 0);
	sealed_seal(s);
	assert_has(s, a, "first");
	assert_has(s, b, "");
	assert_has(NULL, a, "second");
	unlink(a);
	assert_has(s, a, "first");
	sealed_free(s);
	assert_int_equal(find_memory_file(), -1);
}

static void files_of_all_lengths_lie_beside_each_other(void **state)
{
	(void)state;
	static char bytes[3 * 4096 + 2];
	struct sealed *s = sealed_new();
	char path[64];
	static const size_t lengths[] = {1, 4095, 4096, 4097, 0, 8192, 3 * 4096 + 1};
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(bytes, 'a' + (int)i, lengths[i]);
		put(a, bytes, lengths[i]);
		snprintf(path, sizeof(path), "%s/./%.*sa", dir, (int)(2 * i), "./././././././.");
		assert_int_equal(sealed_add(s, path), 0);
	}
	sealed_seal(s);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		memset(bytes, 'a' + (int)i, lengths[i]);
		bytes[lengths[i]] = '\0';
		snprintf(path, sizeof(path), "%s/./%.*sa", dir, (int)(2 * i), "./././././././.");
		assert_has(s, path, bytes);
	}
	sealed_free(s);
}

static void file_that_could_not_be_read_stays_so(void **state)
{
	(void)state;
	struct sealed *s = sealed_new();
	struct sealed_view v;
	assert_int_equal(sealed_add(s, a), ENOENT);
	assert_int_equal(sealed_add(s, dir), EISDIR);
	put(a, "late", 4);
	assert_int_equal(sealed_add(s, a), ENOENT);
	/* A file without an end is cut at nothing: it is refused. */
	assert_int_equal(sealed_add(s, "/dev/zero"), EFBIG);
	put(b, "good", 4);
	assert_int_equal(sealed_add(s, b), 0);
	sealed_seal(s);
	assert_int_equal(sealed_view_open(s, a, &v), ENOENT);
	assert_int_equal(sealed_view_open(s, "/dev/zero", &v), EFBIG);
	sealed_view_close(&v);
	assert_has(s, b, "good");
	sealed_free(s);
}

static void nobody_can_change_what_is_sealed(void **state)
{
	(void)state;
	struct sealed *s = sealed_new();
	put(a, "first", 5);
	assert_int_equal(sealed_add(s, a), 0);
	int fd = find_memory_file();
	assert_true(fd >= 0);
	sealed_seal(s);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, 1 << 20), -1);
	assert_ptr_equal(mmap(NULL, 5, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	assert_has(s, a, "first");
	sealed_free(s);
}

static void process_that_has_closed_it_reads_nothing_not_even_from_the_disk(void **state)
{
	(void)state;
	struct sealed *s = sealed_new();
	struct sealed_view v;
	put(a, "first", 5);
	assert_int_equal(sealed_add(s, a), 0);
	sealed_seal(s);
	pid_t pid = fork();
	if (pid == 0) {
		sealed_close(s);
		sealed_close(s);
		_exit(sealed_view_open(s, a, &v) == EBADF && find_memory_file() < 0 ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_has(s, a, "first");
	sealed_free(s);
}

static struct sealed *set_of(const char *first, const char *second)
{
	struct sealed *s = sealed_new();
	put(a, first, strlen(first));
	put(b, second, strlen(second));
	assert_int_equal(sealed_add(s, a), 0);
	assert_int_equal(sealed_add(s, "/dev/zero"), EFBIG);
	assert_int_equal(sealed_add(s, b), 0);
	sealed_seal(s);
	return s;
}

static void bytes_of_the_same_paths_are_exchanged(void **state)
{
	(void)state;
	struct sealed *s = set_of("first", ""), *newer = set_of("", "a longer second");
	struct sealed_view v;
	assert_string_equal(sealed_path(s, 0), a);
	assert_string_equal(sealed_path(s, 2), b);
	assert_null(sealed_path(s, 3));
	sealed_close(s);
	assert_true(sealed_replace(s, fcntl(sealed_descriptor(newer), F_DUPFD_CLOEXEC, 0)));
	sealed_free(newer);
	assert_has(s, a, "");
	assert_has(s, b, "a longer second");
	assert_true(sealed_has_changed(s, a));
	assert_int_equal(sealed_view_open(s, "/dev/zero", &v), EFBIG);
	sealed_free(s);
	assert_int_equal(find_memory_file(), -1);
}

static void which_bytes_were_exchanged_is_known(void **state)
{
	(void)state;
	struct sealed *s = set_of("first", "second"), *newer = set_of("first", "other");
	assert_int_not_equal(sealed_digest(s, 7), sealed_digest(newer, 7));
	assert_true(sealed_has_changed(s, a));
	assert_true(sealed_replace(s, fcntl(sealed_descriptor(newer), F_DUPFD_CLOEXEC, 0)));
	assert_int_equal(sealed_digest(s, 7), sealed_digest(newer, 7));
	assert_false(sealed_has_changed(s, a));
	assert_true(sealed_has_changed(s, b));
	assert_true(sealed_has_changed(s, dir));
	assert_true(sealed_has_changed(NULL, a));
	sealed_free(newer);
	sealed_free(s);
}

static void exchange(struct sealed *s, const char *first, const char *second)
{
	struct sealed *newer = set_of(first, second);
	assert_true(sealed_replace(s, fcntl(sealed_descriptor(newer), F_DUPFD_CLOEXEC, 0)));
	sealed_free(newer);
}

/* The reader of the first exchange may have been overtaken by the second. */
static void a_file_stays_changed_until_the_set_is_settled(void **state)
{
	(void)state;
	struct sealed *s = set_of("first", "second");
	exchange(s, "first", "other");
	exchange(s, "first", "other");
	assert_false(sealed_has_changed(s, a));
	assert_true(sealed_has_changed(s, b));
	sealed_settle(s);
	exchange(s, "new", "other");
	assert_true(sealed_has_changed(s, a));
	assert_false(sealed_has_changed(s, b));
	exchange(s, "new", "second");
	assert_true(sealed_has_changed(s, a));
	assert_true(sealed_has_changed(s, b));
	sealed_free(s);
}

static void bytes_of_a_file_are_known_when_the_set_is_closed(void **state)
{
	(void)state;
	struct sealed *s = set_of("first", "second");
	sealed_close(s);
	assert_true(sealed_has(s, a, SLICE("first")));
	assert_false(sealed_has(s, a, SLICE("firsT")));
	assert_false(sealed_has(s, a, SLICE("first ")));
	assert_true(sealed_has(s, b, SLICE("second")));
	assert_false(sealed_has(s, "/elsewhere", SLICE("first")));
	assert_false(sealed_has(s, dir, SLICE(""))); /* it could not be read */
	sealed_free(s);
}

static void what_is_no_set_of_the_same_paths_changes_nothing(void **state)
{
	(void)state;
	struct sealed *s = set_of("first", "second"), *other = sealed_new();
	put(a, "one file alone", 14);
	assert_int_equal(sealed_add(other, a), 0);
	int unsealed = sealed_descriptor(other), plain = sealed_make(SLICE("some bytes of a file"));
	assert_false(sealed_replace(s, unsealed));
	assert_false(sealed_replace(s, plain));
	assert_false(sealed_replace(s, -1));
	close(plain);
	/* A table whose files lie outside. */
	static char wrong[4096 + 3 * 32];
	memset(wrong + 4096, 1, 3 * 32);
	memset(wrong + 4096 + 16, 0, 8);
	plain = sealed_make(slice_of(wrong, sizeof(wrong)));
	assert_false(sealed_replace(s, plain));
	close(plain);
	assert_has(s, a, "first");
	assert_has(s, b, "second");
	sealed_free(s);
	sealed_free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		file_is_what_it_was_when_it_was_read, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		files_of_all_lengths_lie_beside_each_other, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		file_that_could_not_be_read_stays_so, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(nobody_can_change_what_is_sealed, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		process_that_has_closed_it_reads_nothing_not_even_from_the_disk, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		bytes_of_the_same_paths_are_exchanged, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(which_bytes_were_exchanged_is_known, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		a_file_stays_changed_until_the_set_is_settled, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		bytes_of_a_file_are_known_when_the_set_is_closed, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		what_is_no_set_of_the_same_paths_changes_nothing, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
