/* SPDX-License-Identifier: MIT */
/*
 * The files process as the owner of the memory of pages, between a master and two workers, all three played by the test:
 * lessons go there, lines of what has changed come back, copies go to the master, and the file is written at the end.
 * And a worker's end, with a files process that may not be believed.
 */
#include "tests/support/files_process.h"
#include "tests/support/gateway_world.h"
#include "tests/support/remembered_world.h"

#include "proxy/base/memory.h"
#include "proxy/process/child_message.h"
#include "proxy/process/files.h"
#include "proxy/process/files_memory.h"
#include "proxy/process/helper.h"
#include "proxy/process/memory_owner.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEED = 0x5eed };

struct bench {
	char dir[32], path[64];
	struct files_process at;
	struct remembered_world copies[FILES_PROCESS_WORKERS]; /* the workers' */
};

static int set_up(void **state)
{
	struct bench *b = memory_new(struct bench);
	strcpy(b->dir, "/tmp/pushgate-test-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->path, sizeof(b->path), "%s/pages.json", b->dir);
	files_process_init(&b->at, b->path, "");
	b->at.seed = SEED;
	for (int i = 0; i < FILES_PROCESS_WORKERS; i++)
		remembered_world_init(&b->copies[i], NULL);
	*state = b;
	return 0;
}

static size_t object(const struct bench *b)
{
	return files_memory_object(b->at.conf);
}

/* Messages of the process until READY, or until a copy of the memory. *usable: false if it said that it could read none. */
static void hear(struct bench *b, enum message_kind until, bool *usable)
{
	for (;;) {
		struct message m;
		int fd;
		struct pollfd wait = {.fd = b->at.control, .events = POLLIN};
		assert_int_equal(poll(&wait, 1, 20000), 1);
		assert_true(message_receive(b->at.control, &m, &fd) > 0);
		bool is_copy = m.kind == MESSAGE_CONTENT && m.worker == object(b);
		if (is_copy && fd < 0 && usable)
			*usable = false;
		if (m.kind == MESSAGE_CONTENT && fd >= 0)
			files_contents_set(&b->at.contents, m.worker, fd);
		if (m.kind == until && (m.kind == MESSAGE_READY || (is_copy && fd >= 0)))
			return;
	}
}

static void start(struct bench *b, bool is_first, bool *usable)
{
	files_process_start(&b->at, is_first);
	hear(b, MESSAGE_READY, usable);
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	files_process_fini(&b->at);
	for (int i = 0; i < FILES_PROCESS_WORKERS; i++)
		remembered_world_fini(&b->copies[i]);
	unlink(b->path);
	int r = rmdir(b->dir); /* no file of its own is left */
	free(b);
	return r;
}

/* Waits while the socket is full, which a worker never does. */
static void send_lesson(int socket, const struct files_message *m, struct slice lesson)
{
	struct pollfd wait = {.fd = socket, .events = POLLOUT};
	while (!files_send(socket, m, lesson, -1)) {
		assert_int_equal(errno, EAGAIN);
		assert_int_equal(poll(&wait, 1, 20000), 1);
	}
}

/* The client gets the page by way of this worker. */
static void view(struct bench *b, uint32_t worker, uint32_t client, const char *path)
{
	struct remembered_world *copy = &b->copies[worker];
	const struct remembered_view v = {.path = path};
	const struct files_message m = {.kind = FILES_LESSON, .object = (uint32_t)object(b)};
	const struct remembered_item css = {.target = SLICE("/a.css"), .as = SLICE("style")};
	struct http_head *request = remembered_request(copy, &v), *response = http_head_new(copy->pool);
	response->kind = HTTP_RESPONSE;
	response->status = 200;
	http_head_add(response, SLICE("content-type"), SLICE("text/html"));
	const struct remembered_lesson lesson = {.request = request,
	    .response = response,
	    .client = slice_of(&client, sizeof(client)),
	    .is_page_load = true,
	    .items = &css,
	    .count = 1};
	enum remembered_answer answer;
	struct remembered_draft *d = remembered_draft_new(copy->m, &lesson, &answer, clock_monotonic());
	assert_non_null(d);
	send_lesson(b->at.links[worker], &m, remembered_draft_end(d, request));
	remembered_draft_free(d);
	http_head_free(request);
	http_head_free(response);
}

/* Takes in what has changed until the copy tells this. */
static void follow(struct bench *b, uint32_t worker, const char *path, const char *told)
{
	const struct remembered_view v = {.path = path};
	b->copies[worker].now = clock_monotonic();
	while (strcmp(remembered_told(&b->copies[worker], &v), told) != 0) {
		struct files_message m;
		struct pollfd wait = {.fd = b->at.links[worker], .events = POLLIN};
		int fd;
		assert_int_equal(poll(&wait, 1, 20000), 1);
		assert_int_equal(message_receive_bytes(b->at.links[worker], &m, sizeof(m), &fd), sizeof(m));
		assert_int_equal(m.kind, FILES_CHANGES);
		assert_int_equal(m.object, object(b));
		assert_true(files_memory_follow(b->copies[worker].m, fd, clock_monotonic()));
		b->copies[worker].now = clock_monotonic();
		close(fd);
	}
}

/* The process does not listen to this worker any more. */
static void assert_cut_off(struct bench *b, uint32_t worker)
{
	struct files_message m;
	int fd;
	for (;;) {
		struct pollfd wait = {.fd = b->at.links[worker], .events = POLLIN};
		assert_int_equal(poll(&wait, 1, 20000), 1);
		ssize_t n = message_receive_bytes(b->at.links[worker], &m, sizeof(m), &fd);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return;
		assert_int_equal(m.kind, FILES_CHANGES);
		close(fd);
	}
}

static char *read_file(const char *path)
{
	static char text[4096];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = '\0';
	return text;
}

static void begin(struct bench *b)
{
	start(b, true, NULL);
	files_process_connect(&b->at, 0);
	files_process_connect(&b->at, 1);
}

static void lessons_of_all_workers_teach_one_table(void **state)
{
	struct bench *b = *state;
	char text[OBSERVE_REMEMBERED_TEXT];
	begin(b);
	view(b, 0, 1, "/");
	view(b, 1, 2, "/");
	follow(b, 0, "/", "/a.css");
	follow(b, 1, "/", "/a.css");
	/* One client by way of both workers is one. */
	view(b, 0, 3, "/one");
	view(b, 1, 3, "/one");
	view(b, 0, 1, "/last");
	view(b, 0, 2, "/last");
	follow(b, 0, "/last", "/a.css");
	follow(b, 0, "/one", "");
	hear(b, MESSAGE_CONTENT, NULL);
	assert_true(observe_remembered_read(&b->at.rows[0], text));
	assert_non_null(strstr(text, ": 2 clients, 2 views"));
	assert_int_equal(files_process_end(&b->at), 0);
	assert_non_null(strstr(read_file(b->path), "\"/last\""));
	assert_null(strstr(read_file(b->path), "\"/one\""));
}

static void a_worker_that_begins_gets_all_and_a_late_one_the_newest(void **state)
{
	struct bench *b = *state;
	char path[16];
	begin(b);
	/* Worker 1 reads nothing meanwhile; there are more pages than fit into its socket. */
	for (int i = 0; i < 900; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		view(b, 0, 1, path);
		view(b, 0, 2, path);
	}
	follow(b, 0, "/899", "/a.css");
	follow(b, 1, "/899", "/a.css");
	files_process_connect(&b->at, 1);
	remembered_clear(b->copies[1].m);
	follow(b, 1, "/899", "/a.css");
	follow(b, 1, "/100", "/a.css");
	assert_int_equal(files_process_end(&b->at), 0);
}

/* Takes in what is there. Returns how many messages it was. */
static uint32_t take_in(struct bench *b, uint32_t worker)
{
	struct files_message m;
	uint32_t count = 0;
	int fd;
	while (message_receive_bytes(b->at.links[worker], &m, sizeof(m), &fd) == sizeof(m)) {
		assert_true(files_memory_follow(b->copies[worker].m, fd, clock_monotonic()));
		close(fd);
		count++;
	}
	return count;
}

static void a_worker_that_changes_much_takes_little_of_the_others_time(void **state)
{
	struct bench *b = *state;
	char path[16];
	uint32_t count = 0;
	begin(b);
	usec began = clock_monotonic();
	for (int i = 0; i < 400; i++) {
		snprintf(path, sizeof(path), "/%d", i);
		view(b, 0, 1, path);
		view(b, 0, 2, path);
		usleep(1000); /* else one message would have many of the changes */
		count += take_in(b, 1);
	}
	/* 64 at once, and 32 a second. */
	uint64_t most = 64 + (clock_monotonic() - began) * 32 / USEC_PER_SEC + 1;
	if (count > most)
		fail_msg("%u messages, at most %llu", count, (unsigned long long)most);
	/* What was held back comes too. */
	follow(b, 1, "/399", "/a.css");
	follow(b, 1, "/0", "/a.css");
	assert_int_equal(files_process_end(&b->at), 0);
}

static void the_next_process_begins_with_the_last_copy(void **state)
{
	struct bench *b = *state;
	begin(b);
	view(b, 0, 1, "/");
	view(b, 0, 2, "/");
	hear(b, MESSAGE_CONTENT, NULL);
	kill(b->at.process, SIGKILL);
	assert_int_equal(files_process_end(&b->at), -SIGKILL);
	start(b, false, NULL);
	files_process_connect(&b->at, 1);
	follow(b, 1, "/", "/a.css");
	/* Not its worse for that: clients count as before. */
	view(b, 1, 1, "/b");
	view(b, 1, 2, "/b");
	follow(b, 1, "/b", "/a.css");
	assert_int_equal(files_process_end(&b->at), 0);
}

static void the_next_generation_gets_a_copy_when_it_asks(void **state)
{
	struct bench *b = *state;
	const struct message hand = {.kind = MESSAGE_HAND_REMEMBERED}, take = {.kind = MESSAGE_TAKE_REMEMBERED};
	begin(b);
	view(b, 0, 1, "/");
	view(b, 0, 2, "/");
	hear(b, MESSAGE_CONTENT, NULL);
	view(b, 0, 1, "/new");
	view(b, 0, 2, "/new");
	follow(b, 0, "/new", "/a.css");
	assert_true(message_send(b->at.control, &hand, -1));
	hear(b, MESSAGE_CONTENT, NULL);
	int copy = dup(b->at.contents.fds[object(b)]);
	assert_int_equal(files_process_end(&b->at), 0);
	/* One that has begun with less. */
	unlink(b->path);
	files_contents_set(&b->at.contents, object(b), -1);
	begin(b);
	view(b, 0, 1, "/gone");
	view(b, 0, 2, "/gone");
	follow(b, 0, "/gone", "/a.css");
	assert_true(message_send(b->at.control, &take, copy));
	close(copy);
	follow(b, 0, "/new", "/a.css");
	follow(b, 1, "/new", "/a.css");
	follow(b, 1, "/", "/a.css");
	assert_int_equal(files_process_end(&b->at), 0);
}

static void what_was_written_is_read_at_the_next_start(void **state)
{
	struct bench *b = *state;
	begin(b);
	view(b, 0, 1, "/");
	view(b, 0, 2, "/");
	assert_int_equal(files_process_end(&b->at), 0);
	files_contents_set(&b->at.contents, object(b), -1);
	start(b, true, NULL);
	/* Workers begin with it. */
	assert_true(b->at.contents.fds[object(b)] >= 0);
	files_process_connect(&b->at, 0);
	follow(b, 0, "/", "/a.css");
	struct stat before, after;
	assert_int_equal(stat(b->path, &before), 0);
	assert_int_equal(files_process_end(&b->at), 0);
	/* Nobody has taught anything: another process may have written it meanwhile. */
	assert_int_equal(stat(b->path, &after), 0);
	assert_int_equal(before.st_ino, after.st_ino);
}

static void a_broken_file_is_a_line_in_the_log_and_is_replaced(void **state)
{
	struct bench *b = *state;
	bool usable = true;
	char said[1024];
	write_text_file(b->path, "{\"pushgate-pages\":1,\"written\":1}\n{}\n");
	start(b, true, &usable);
	assert_false(usable);
	ssize_t n = read(b->at.said, said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = '\0';
	if (!strstr(said, "remembered: ") || !strstr(said, "pages.json:2: ") || !strstr(said, "begins empty"))
		fail_msg("it said: %s", said);
	files_process_connect(&b->at, 0);
	view(b, 0, 1, "/");
	view(b, 0, 2, "/");
	follow(b, 0, "/", "/a.css");
	assert_int_equal(files_process_end(&b->at), 0);
	assert_non_null(strstr(read_file(b->path), "\"/a.css\""));
}

static void a_file_that_cannot_be_written_is_a_line_in_the_log(void **state)
{
	struct bench *b = *state;
	char aside[80], said[1024];
	begin(b);
	view(b, 0, 1, "/");
	/* A folder of this name cannot be replaced. */
	snprintf(aside, sizeof(aside), "%s.new", b->path);
	assert_int_equal(mkdir(aside, 0700), 0);
	int copy = dup(b->at.said);
	assert_int_equal(files_process_end(&b->at), 0);
	assert_int_equal(rmdir(aside), 0);
	ssize_t n = read(copy, said, sizeof(said) - 1);
	close(copy);
	said[n > 0 ? n : 0] = '\0';
	if (!strstr(said, "remembered: ") || !strstr(said, "cannot be written"))
		fail_msg("it said: %s", said);
}

static void a_save_that_failed_is_made_up_for(void **state)
{
	struct bench *b = *state;
	struct remembered_world *w = &b->copies[0];
	struct observe observe = {.error_fd = -1};
	struct memory_owner owner = {.memory = w->m, .path = b->path, .observe = &observe, .rows = b->at.rows};
	char aside[80];
	assert_true(memory_owner_begin(&owner, -1, w->now));
	for (uint32_t client = 1; client < 3; client++)
		remembered_view(w, client, &(struct remembered_view){.path = "/", .items = "/a.css=style"});
	snprintf(aside, sizeof(aside), "%s.new", b->path);
	assert_int_equal(mkdir(aside, 0700), 0);
	w->now += 60 * USEC_PER_SEC;
	int copy = memory_owner_tend(&owner, w->now);
	assert_true(copy >= 0);
	close(copy);
	assert_int_equal(rmdir(aside), 0);
	/* Nothing has been taught since. */
	memory_owner_end(&owner, w->now);
	assert_non_null(strstr(read_file(b->path), "\"/a.css\""));
}

static void a_worker_that_sends_no_lesson_is_cut_off_alone(void **state)
{
	struct bench *b = *state;
	static const char garbage[200];
	struct files_message m = {.kind = FILES_LESSON, .object = (uint32_t)object(b)};
	begin(b);
	view(b, 1, 1, "/");
	assert_true(files_send(b->at.links[0], &m, slice_of(garbage, sizeof(garbage)), -1));
	assert_cut_off(b, 0);
	files_process_connect(&b->at, 0);
	assert_true(files_send(b->at.links[0], &m, SLICE(""), -1));
	assert_cut_off(b, 0);
	files_process_connect(&b->at, 0);
	m.object++;
	assert_true(files_send(b->at.links[0], &m, slice_of(garbage, sizeof(garbage)), -1));
	assert_cut_off(b, 0);
	files_process_connect(&b->at, 0);
	m = (struct files_message){.kind = FILES_CHANGES, .object = (uint32_t)object(b)};
	assert_true(files_send(b->at.links[0], &m, slice_of(garbage, sizeof(garbage)), -1));
	assert_cut_off(b, 0);
	view(b, 1, 2, "/");
	follow(b, 1, "/", "/a.css");
	assert_int_equal(files_process_end(&b->at), 0);
}

/* ---- a worker's end ---- */

static void a_worker_refuses_what_are_no_lines_and_goes_on(void **state)
{
	struct bench *b = *state;
	struct gate_world *w = gate_world_new(NULL, NULL, NULL, "[route a]\norigin = a\n[preload p]\nremembered = apply\n");
	struct files_link link;
	int pair[2];
	files_link_init(&link);
	link.gateway = w->gateway;
	link.observe = &w->observe;
	link.link.loop = w->loop;
	link.conf = w->gateway->env.conf;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	helper_link_open(&link.link, pair[0]);
	struct files_message m = {.kind = FILES_CHANGES, .object = (uint32_t)files_memory_object(link.conf)};
	int bad = sealed_make(SLICE("nonsense\n")), open_file = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(write(open_file, "{}\n", 3), 3);
	const int wrong[] = {bad, open_file, -1};
	for (uint64_t i = 0; i < 3; i++) {
		assert_true(files_send(pair[1], &m, SLICE(""), wrong[i]));
		UNTIL(w, w->counters.files_refused == i + 1);
	}
	/* A whole copy is for a worker that begins. */
	m.kind = FILES_CONTENT;
	assert_true(files_send(pair[1], &m, SLICE(""), bad));
	UNTIL(w, w->counters.files_refused == 4);
	close(bad);
	close(open_file);
	/* Nobody reads what this worker teaches: it never waits. */
	static char lesson[REMEMBERED_MESSAGE_BYTES];
	while (files_link_teach(&link, slice_of(lesson, sizeof(lesson))))
		;
	close(pair[1]);
	UNTIL(w, link.link.socket < 0);
	assert_false(files_link_teach(&link, SLICE("x")));
	helper_link_close(&link.link);
	gate_world_free(w);
	(void)b;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(lessons_of_all_workers_teach_one_table),
	    TEST(a_worker_that_begins_gets_all_and_a_late_one_the_newest),
	    TEST(a_worker_that_changes_much_takes_little_of_the_others_time),
	    TEST(the_next_process_begins_with_the_last_copy),
	    TEST(the_next_generation_gets_a_copy_when_it_asks),
	    TEST(what_was_written_is_read_at_the_next_start),
	    TEST(a_broken_file_is_a_line_in_the_log_and_is_replaced),
	    TEST(a_file_that_cannot_be_written_is_a_line_in_the_log),
	    TEST(a_save_that_failed_is_made_up_for),
	    TEST(a_worker_that_sends_no_lesson_is_cut_off_alone),
	    TEST(a_worker_refuses_what_are_no_lines_and_goes_on),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
