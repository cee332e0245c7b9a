/* SPDX-License-Identifier: MIT */
/*
 * The files process between a master and two workers, all three played by the test: what they may send it, and what it
 * does with anything else. And a worker's end, with a files process that may not be believed.
 */
#include "tests/support/files_process.h"
#include "tests/support/gateway_world.h"

#include "proxy/base/memory.h"
#include "proxy/offer/offer.h"
#include "proxy/process/files.h"
#include "proxy/process/helper.h"
#include "proxy/process/child_message.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANIFEST = 0, MEMORY = 1 };

struct bench {
	char dir[32], manifest[64], pages[64];
	struct files_process at;
	struct log error_log;
};

static int set_up(void **state)
{
	struct bench *b = memory_new(struct bench);
	char more[128];
	strcpy(b->dir, "/tmp/pushgate-test-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->manifest, sizeof(b->manifest), "%s/push.json", b->dir);
	snprintf(b->pages, sizeof(b->pages), "%s/pages.json", b->dir);
	write_text_file(b->manifest, "{\"/first.css\": {\"type\": \"style\"}}");
	snprintf(more, sizeof(more), "manifest = %s\n", b->manifest);
	files_process_init(&b->at, b->pages, more);
	*state = b;
	return 0;
}

/* Messages of the process: the contents, until READY or none comes for a while. False: its end is closed. */
static bool hear(struct bench *b, bool until_ready)
{
	for (;;) {
		struct message m;
		int fd;
		struct pollfd wait = {.fd = b->at.control, .events = POLLIN};
		if (poll(&wait, 1, 20000) != 1)
			return true;
		if (message_receive(b->at.control, &m, &fd) <= 0)
			return false;
		if (m.kind == MESSAGE_CONTENT && fd >= 0)
			files_contents_set(&b->at.contents, m.worker, fd);
		if (m.kind == MESSAGE_READY || !until_ready)
			return true;
	}
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	files_process_fini(&b->at);
	unlink(b->manifest);
	unlink(b->pages);
	int r = rmdir(b->dir); /* no file of its own is left */
	free(b);
	return r;
}

/* The first resource for "/" of the manifest in this file; NULL: there is none. */
static void assert_first(int fd, const char *target)
{
	size_t length;
	void *bytes = sealed_map(fd, OFFER_MANIFEST_FLAT_BYTES, &length);
	assert_non_null(bytes);
	struct offer_manifest *m = offer_manifest_of_flat(bytes, length, sealed_unmap);
	assert_non_null(m);
	struct offer_manifest_resources r = offer_manifest_find(m, SLICE("/"));
	if (!target) {
		assert_int_equal(r.count, 0);
		offer_manifest_free(m);
		return;
	}
	assert_int_equal(r.count, 1);
	assert_true(slice_equal(r.list[0].target, slice_of_string(target)));
	offer_manifest_free(m);
}

/* A worker gets the manifest. */
static void assert_given(struct bench *b, uint32_t worker, const char *target)
{
	struct files_message m;
	struct pollfd wait = {.fd = b->at.links[worker], .events = POLLIN};
	int fd;
	assert_int_equal(poll(&wait, 1, 20000), 1);
	assert_int_equal(message_receive_bytes(b->at.links[worker], &m, sizeof(m), &fd), sizeof(m));
	assert_int_equal(m.kind, FILES_CONTENT);
	assert_int_equal(m.object, MANIFEST);
	assert_first(fd, target);
	close(fd);
}

/* The process does not listen to this worker any more. */
static void assert_cut_off(struct bench *b, uint32_t worker)
{
	struct files_message m;
	struct pollfd wait = {.fd = b->at.links[worker], .events = POLLIN};
	int fd;
	assert_int_equal(poll(&wait, 1, 20000), 1);
	ssize_t n = message_receive_bytes(b->at.links[worker], &m, sizeof(m), &fd);
	assert_true(n == 0 || (n < 0 && errno == ECONNRESET)); /* reset: it had not read all */
}

static void contents_come_at_the_start_with_each_worker_and_with_each_change(void **state)
{
	struct bench *b = *state;
	files_process_start(&b->at, true);
	assert_true(hear(b, true));
	assert_first(b->at.contents.fds[MANIFEST], "/first.css");
	
	files_process_connect(&b->at, 0);
	files_process_connect(&b->at, 1);
	assert_given(b, 0, "/first.css");
	assert_given(b, 1, "/first.css");
	write_text_file(b->manifest, "{\"/second.css\": {\"type\": \"style\"}}");
	assert_given(b, 0, "/second.css");
	assert_given(b, 1, "/second.css");
	assert_true(hear(b, false));
	assert_first(b->at.contents.fds[MANIFEST], "/second.css");
	assert_int_equal(files_process_end(&b->at), 0);
}

static void next_process_begins_with_what_the_last_one_read(void **state)
{
	struct bench *b = *state;
	files_process_start(&b->at, true);
	assert_true(hear(b, true));
	kill(b->at.process, SIGKILL);
	assert_int_equal(files_process_end(&b->at), -SIGKILL);
	write_text_file(b->manifest, "{ broken");
	files_process_start(&b->at, false);
	assert_true(hear(b, true));
	files_process_connect(&b->at, 1);
	assert_given(b, 1, "/first.css");
	assert_int_equal(files_process_end(&b->at), 0);
}

static void bad_manifest_at_the_first_start_is_empty_until_it_is_good(void **state)
{
	struct bench *b = *state;
	char text[512];
	write_text_file(b->manifest, "{ broken");
	files_process_start(&b->at, true);
	assert_true(hear(b, true));
	ssize_t n = read(b->at.said, text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n] = '\0';
	if (!strstr(text, "push.json:1:8: is not JSON") || !strstr(text, "empty until the file is good"))
		fail_msg("it said: %s", text);
	files_process_connect(&b->at, 0);
	assert_given(b, 0, NULL);
	write_text_file(b->manifest, "{\"/first.css\": {\"type\": \"style\"}}");
	assert_given(b, 0, "/first.css");
	assert_int_equal(files_process_end(&b->at), 0);
}

/* A message to the memory of pages; returns its length. */
static size_t make_lesson(uint8_t message[REMEMBERED_MESSAGE_BYTES])
{
	struct remembered *m = remembered_new(&(struct remembered_options){0}, 1, NULL);
	const struct remembered_item item = {
	    .source = REMEMBERED_ASKED, .target = SLICE("/a.css"), .as = SLICE("style")};
	size_t length =
	    remembered_add_message(m, SLICE("https://h.example/"), SLICE("1234"), &item, 1, message);
	remembered_free(m);
	assert_true(length > 0);
	return length;
}

static void worker_that_sends_what_it_may_not_is_cut_off_alone(void **state)
{
	struct bench *b = *state;
	static uint8_t page[REMEMBERED_MESSAGE_BYTES], much[2 * REMEMBERED_MESSAGE_BYTES];
	size_t length = make_lesson(page);
	files_process_start(&b->at, true);
	assert_true(hear(b, true));
	static const struct files_message wrong[] = {
	    {.kind = FILES_LESSON, .object = MANIFEST},
	    {.kind = FILES_LESSON, .object = 77},
	    {.kind = FILES_CONTENT, .object = MEMORY},
	    {.kind = 0, .object = MEMORY},
	    {.kind = UINT32_MAX, .object = UINT32_MAX},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		files_process_connect(&b->at, 0);
		assert_given(b, 0, "/first.css");
		assert_true(files_send(b->at.links[0], &wrong[i], slice_of(page, length), -1));
		assert_cut_off(b, 0);
	}
	/* Too short, too long, with a descriptor. */
	const struct files_message good = {.kind = FILES_LESSON, .object = MEMORY};
	files_process_connect(&b->at, 0);
	assert_given(b, 0, "/first.css");
	assert_int_equal(send(b->at.links[0], "x", 1, 0), 1);
	assert_cut_off(b, 0);
	files_process_connect(&b->at, 0);
	assert_given(b, 0, "/first.css");
	assert_true(files_send(b->at.links[0], &good, slice_of(much, sizeof(much)), -1));
	assert_cut_off(b, 0);
	files_process_connect(&b->at, 0);
	assert_given(b, 0, "/first.css");
	assert_true(files_send(b->at.links[0], &good, slice_of(page, length), STDIN_FILENO));
	assert_cut_off(b, 0);
	/* What is right is taken, of any worker. */
	files_process_connect(&b->at, 1);
	assert_given(b, 1, "/first.css");
	assert_true(files_send(b->at.links[1], &good, slice_of(page, length), -1));
	write_text_file(b->manifest, "{\"/second.css\": {\"type\": \"style\"}}");
	assert_given(b, 1, "/second.css");
	assert_int_equal(files_process_end(&b->at), 0);
}

/* ---- a worker's end ---- */

static void memory_file_that_is_not_sealed_is_not_mapped(void **state)
{
	(void)state;
	size_t length;
	int sealed = sealed_make(SLICE("0123456789")), open_file = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(write(open_file, "0123456789", 10), 10);
	void *bytes = sealed_map(sealed, 10, &length);
	assert_non_null(bytes);
	assert_int_equal(length, 10);
	assert_memory_equal(bytes, "0123456789", 10);
	sealed_unmap(bytes, length);
	assert_int_equal(write(sealed, "x", 1), -1);
	assert_null(sealed_map(sealed, 9, &length)); /* more than expected */
	assert_null(sealed_map(open_file, 100, &length));
	assert_int_equal(fcntl(open_file, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	assert_null(sealed_map(open_file, 100, &length));
	assert_null(sealed_map(STDIN_FILENO, 100, &length));
	assert_null(sealed_map(-1, 100, &length));
	int empty = sealed_make(SLICE(""));
	assert_null(sealed_map(empty, 100, &length));
	close(empty);
	close(sealed);
	close(open_file);
}

/* vm.memfd_noexec adds F_SEAL_EXEC, this test a seal that older kernels know as well. */
static void memory_file_with_more_seals_is_mapped(void **state)
{
	(void)state;
	size_t length;
	int file = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(write(file, "0123456789", 10), 10);
	assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), 0);
	assert_null(sealed_map(file, 10, &length));
	assert_int_equal(fcntl(file, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), 0);
	void *bytes = sealed_map(file, 10, &length);
	assert_non_null(bytes);
	sealed_unmap(bytes, length);
	close(file);
}

static int lowest_free_descriptor(void)
{
	int fd = dup(STDIN_FILENO);
	close(fd);
	return fd;
}

static void send_descriptors(int socket, const void *bytes, size_t size, unsigned count)
{
	struct iovec part = {(void *)(uintptr_t)bytes, size};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {0}; /* each is 0, standard input */
	struct msghdr header = {.msg_iov = &part,
	    .msg_iovlen = 1,
	    .msg_control = control,
	    .msg_controllen = CMSG_SPACE(count * sizeof(int))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&header);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(count * sizeof(int));
	assert_int_equal(sendmsg(socket, &header, 0), (ssize_t)size);
}

static void descriptors_that_a_message_should_not_have_are_closed(void **state)
{
	(void)state;
	int pair[2], fd;
	const struct files_message content = {.kind = FILES_CONTENT};
	const struct message order = {.kind = MESSAGE_CONTENT};
	struct files_message m;
	struct message o;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	int before = lowest_free_descriptor();
	for (unsigned count = 2; count <= 4; count++) {
		send_descriptors(pair[1], &content, sizeof(content), count);
		assert_int_equal(message_receive_bytes(pair[0], &m, sizeof(m), &fd), -1);
		assert_int_equal(errno, EPROTO);
		assert_int_equal(fd, -1);
		assert_int_equal(lowest_free_descriptor(), before);
		send_descriptors(pair[1], &order, sizeof(order), count);
		assert_int_equal(message_receive(pair[0], &o, &fd), sizeof(o));
		close(fd);
		assert_int_equal(lowest_free_descriptor(), before);
	}
	send_descriptors(pair[1], "", 0, 1);
	assert_int_equal(message_receive_bytes(pair[0], &m, sizeof(m), &fd), -1);
	assert_int_equal(lowest_free_descriptor(), before);
	send_descriptors(pair[1], "", 0, 1);
	assert_int_equal(message_receive(pair[0], &o, &fd), 0);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(lowest_free_descriptor(), before);
	close(pair[0]);
	close(pair[1]);
}

static void worker_refuses_what_is_no_manifest_and_goes_on(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, NULL);
	struct files_link link;
	int pair[2];
	files_link_init(&link);
	link.gateway = w->gateway;
	link.observe = &w->observe;
	link.link.loop = w->loop;
	link.conf = w->gateway->env.conf; /* this configuration names none */
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	helper_link_open(&link.link, pair[0]);
	struct offer_manifest *m =
	    offer_manifest_parse(SLICE("{\"/a.css\": {\"type\": \"style\"}}"), "m", stderr);
	int good = sealed_make(offer_manifest_flat(m)), bad = sealed_make(SLICE("nonsense"));
	offer_manifest_free(m);
	struct files_message message = {.kind = FILES_CONTENT, .object = 0};
	assert_true(files_send(pair[1], &message, SLICE(""), good)); /* of another index */
	UNTIL(w, w->counters.files_refused == 1);
	struct conf *named = conf_load_text(SLICE("[listen l]\naddress = 127.0.0.1:1\n[origin a]\nserver = demo:\n"
						  "[route r]\norigin = a\n[preload p]\nmanifest = /m.json\n"),
	    "test.ini", true, stderr);
	assert_non_null(named);
	link.conf = named;
	assert_true(files_send(pair[1], &message, SLICE(""), bad));
	UNTIL(w, w->counters.files_refused == 2);
	assert_true(files_send(pair[1], &message, SLICE(""), -1));
	UNTIL(w, w->counters.files_refused == 3);
	message.kind = FILES_LESSON;
	assert_true(files_send(pair[1], &message, SLICE(""), good));
	UNTIL(w, w->counters.files_refused == 4);
	assert_true(files_send(pair[1], &message, SLICE("more bytes"), good));
	UNTIL(w, w->counters.files_refused == 5);
	assert_int_equal(send(pair[1], "x", 1, 0), 1);
	UNTIL(w, w->counters.files_refused == 6);
	assert_int_equal(w->counters.manifests_taken, 0);
	close(good);
	close(bad);
	/* Nobody reads what this worker sends: it never waits. */
	static uint8_t lesson[REMEMBERED_MESSAGE_BYTES];
	while (files_link_teach(&link, slice_of(lesson, sizeof(lesson))))
		;
	close(pair[1]);
	UNTIL(w, link.link.socket < 0);
	assert_false(files_link_teach(&link, SLICE("x")));
	helper_link_close(&link.link);
	gate_world_free(w);
	conf_free(named);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(contents_come_at_the_start_with_each_worker_and_with_each_change),
	    TEST(next_process_begins_with_what_the_last_one_read),
	    TEST(bad_manifest_at_the_first_start_is_empty_until_it_is_good),
	    TEST(worker_that_sends_what_it_may_not_is_cut_off_alone),
	    cmocka_unit_test(memory_file_that_is_not_sealed_is_not_mapped),
	    cmocka_unit_test(memory_file_with_more_seals_is_mapped),
	    cmocka_unit_test(descriptors_that_a_message_should_not_have_are_closed),
	    cmocka_unit_test(worker_refuses_what_is_no_manifest_and_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
