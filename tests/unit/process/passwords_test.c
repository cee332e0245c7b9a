/* SPDX-License-Identifier: MIT */
/* The password process from outside: its files, what it answers, and which workers it does not listen to. */
#include "proxy/process/files.h"
#include "proxy/process/helper.h"
#include "proxy/process/child_message.h"
#include "proxy/process/passwords.h"
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Of the password "secret". */
#define ALICE "alice:$2b$04$CCCCCCCCCCCCCCCCCCCCC.4K7lyz.nKATbsiu/RcZjqWyDNnj87qG\n"
#define BOB "bob:$2b$04$CCCCCCCCCCCCCCCCCCCCC.4K7lyz.nKATbsiu/RcZjqWyDNnj87qG\n"

struct bench {
	char dir[32], path[64];
	struct conf *conf;
	pid_t pid;
	int control;
	int links[2];
};

static void put(const struct bench *b, const char *text)
{
	char aside[80];
	snprintf(aside, sizeof(aside), "%s.new", b->path);
	FILE *f = fopen(aside, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(rename(aside, b->path), 0);
}

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	char text[512];
	strcpy(b->dir, "/tmp/pushgate-test-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	snprintf(b->path, sizeof(b->path), "%s/users", b->dir);
	snprintf(text, sizeof(text),
	    "[server]\nsandbox = off\n[listen l]\naddress = 127.0.0.1:1\naccess = a\n[listen m]\naddress = 127.0.0.1:2\n"
	    "access = b\n[access a]\nusers = %s\nask = path=/*\nallow = user=*\n[access b]\nallow = path=/*\n"
	    "[origin o]\nserver = demo:\n[route r]\norigin = o\n",
	    b->path);
	b->conf = conf_load_text(slice_of_string(text), "test.ini", true, stderr);
	assert_non_null(b->conf);
	put(b, ALICE);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	conf_free(b->conf);
	unlink(b->path);
	assert_int_equal(rmdir(b->dir), 0);
	free(b);
	return 0;
}

/* ---- the files ---- */

static void file_is_read_when_it_changes(void **state)
{
	struct bench *b = *state;
	struct passwords p;
	char line[512];
	const struct slice secret = SLICE("secret");
	assert_true(passwords_are_needed(b->conf));
	passwords_open(&p, b->conf);
	assert_int_equal(passwords_check(&p, 0, line), WATCHED_READ);
	assert_non_null(strstr(line, "users: read 1 user"));
	assert_int_equal(passwords_check(&p, 0, line), WATCHED_SAME);
	assert_int_equal(passwords_check(&p, 1, line), WATCHED_SAME);
	assert_true(passwords_are_right(&p, 0, SLICE("alice"), secret, 1));
	assert_false(passwords_are_right(&p, 1, SLICE("alice"), secret, 1));
	assert_false(passwords_are_right(&p, 2, SLICE("alice"), secret, 1));
	put(b, "alice:secret\n");
	assert_int_equal(passwords_check(&p, 0, line), WATCHED_UNUSABLE);
	assert_non_null(strstr(line, "users:1: what stands behind the name is no hash"));
	assert_int_equal(passwords_check(&p, 0, line), WATCHED_SAME);
	assert_true(passwords_are_right(&p, 0, SLICE("alice"), secret, 1));
	unlink(b->path);
	assert_int_equal(passwords_check(&p, 0, line), WATCHED_UNUSABLE);
	assert_non_null(strstr(line, "cannot be read: No such file"));
	assert_int_equal(passwords_check(&p, 0, line), WATCHED_SAME);
	put(b, BOB ALICE);
	assert_int_equal(passwords_check(&p, 0, line), WATCHED_READ);
	assert_non_null(strstr(line, "read 2 users"));
	assert_true(passwords_are_right(&p, 0, SLICE("bob"), secret, 1));
	passwords_close(&p);
}

static void right_password_is_known_until_its_file_changes(void **state)
{
	struct bench *b = *state;
	struct passwords p;
	char line[512], large[300];
	const struct slice alice = SLICE("alice"), secret = SLICE("secret");
	passwords_open(&p, b->conf);
	assert_int_equal(passwords_check(&p, 0, line), WATCHED_READ);
	assert_true(passwords_are_right(&p, 0, alice, secret, 1));
	/* It is not looked at again: the users are others. */
	struct htpasswd_mistake m;
	struct htpasswd *users = p.files[0].users, *nobody = htpasswd_parse(SLICE(""), &m);
	p.files[0].users = nobody;
	assert_true(passwords_are_right(&p, 0, alice, secret, p.known_usec));
	assert_false(passwords_are_right(&p, 0, alice, SLICE("Secret"), 2));
	assert_false(passwords_are_right(&p, 0, SLICE("alic"), SLICE("esecret"), 2));
	assert_false(passwords_are_right(&p, 0, alice, secret, p.known_usec + 1));
	p.files[0].users = users;
	htpasswd_free(nobody);
	assert_true(passwords_are_right(&p, 0, alice, secret, 1));
	put(b, BOB);
	assert_int_equal(passwords_check(&p, 0, line), WATCHED_READ);
	assert_false(passwords_are_right(&p, 0, alice, secret, 2));
	memset(large, 'x', sizeof(large));
	assert_false(passwords_are_right(&p, 0, slice_of(large, 256), secret, 2));
	assert_false(passwords_are_right(&p, 0, alice, slice_of(large, 256), 2));
	passwords_close(&p);
}

/* ---- the process ---- */

static void start(struct bench *b)
{
	int pair[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	const struct identity identity = {0};
	struct logs logs = logs_none;
	pid_t parent = getpid();
	b->pid = fork();
	if (b->pid == 0) {
		close(pair[0]);
		const struct helper_env env = {.conf = b->conf,
		    .identity = &identity,
		    .logs = &logs,
		    .workers = 2,
		    .control = pair[1],
		    .master = parent};
		_exit(passwords_run(&env));
	}
	close(pair[1]);
	b->control = pair[0];
}

static bool comes(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	return poll(&p, 1, 20000) == 1;
}

static void connect_worker(struct bench *b, uint32_t worker)
{
	int pair[2];
	const struct message m = {.kind = MESSAGE_LINK, .helper = HELPER_PASSWORDS, .worker = worker};
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_true(message_send(b->control, &m, pair[1]));
	close(pair[1]);
	if (worker < 2)
		b->links[worker] = pair[0];
	else
		close(pair[0]);
}

static void begin(struct bench *b)
{
	struct message m;
	int fd;
	start(b);
	assert_true(comes(b->control));
	assert_int_equal(message_receive(b->control, &m, &fd), sizeof(m));
	assert_int_equal(m.kind, MESSAGE_READY);
	connect_worker(b, 7); /* there is none */
	connect_worker(b, 0);
	connect_worker(b, 1);
}

static void finish(struct bench *b)
{
	int status;
	close(b->control);
	assert_int_equal(waitpid(b->pid, &status, 0), b->pid);
	assert_int_equal(status, 0);
	close(b->links[0]);
	close(b->links[1]);
}

static void say(const struct bench *b, uint32_t worker, uint64_t id, uint32_t access, const char *name, const char *password)
{
	struct passwords_question q = {.id = id,
	    .access = access,
	    .name_bytes = (uint16_t)strlen(name),
	    .password_bytes = (uint16_t)strlen(password)};
	char text[1024];
	memcpy(text, &q, sizeof(q));
	int length = snprintf(text + sizeof(q), sizeof(text) - sizeof(q), "%s%s", name, password);
	assert_int_equal(send(b->links[worker], text, sizeof(q) + (size_t)length, 0), sizeof(q) + (size_t)length);
}

static void hears(const struct bench *b, uint32_t worker, uint64_t id, enum passwords_kind kind)
{
	struct passwords_answer a;
	assert_true(comes(b->links[worker]));
	assert_int_equal(recv(b->links[worker], &a, sizeof(a), 0), sizeof(a));
	assert_int_equal(a.id, id);
	assert_int_equal(a.kind, kind);
	assert_int_equal(a.access, 0);
}

static void is_not_listened_to(const struct bench *b, uint32_t worker)
{
	char byte;
	assert_true(comes(b->links[worker]));
	assert_true(recv(b->links[worker], &byte, 1, 0) <= 0); /* ECONNRESET if it left something unread */
}

static void workers_get_their_answers_and_hear_of_changes(void **state)
{
	struct bench *b = *state;
	begin(b);
	say(b, 0, 1, 0, "alice", "secret");
	say(b, 1, 2, 0, "alice", "wrong");
	say(b, 0, 3, 0, "bob", "secret");
	hears(b, 0, 1, PASSWORDS_RIGHT);
	hears(b, 0, 3, PASSWORDS_WRONG);
	hears(b, 1, 2, PASSWORDS_WRONG);
	put(b, BOB);
	hears(b, 0, 0, PASSWORDS_CHANGED);
	hears(b, 1, 0, PASSWORDS_CHANGED);
	say(b, 1, 4, 0, "bob", "secret");
	hears(b, 1, 4, PASSWORDS_RIGHT);
	finish(b);
}

static void worker_that_sends_what_it_may_not_loses_its_socket(void **state)
{
	struct bench *b = *state;
	char large[2048] = {0};
	struct passwords_question q = {.id = 1, .name_bytes = 5, .password_bytes = 6};
	begin(b);
	assert_int_equal(send(b->links[0], "x", 1, 0), 1);
	is_not_listened_to(b, 0);
	say(b, 1, 1, 2, "alice", "secret"); /* there is no such section */
	is_not_listened_to(b, 1);
	close(b->links[0]);
	connect_worker(b, 0);
	memcpy(large, &q, sizeof(q));
	static const size_t lengths[] = {10, 12}; /* a byte less than it says, and a byte more */
	for (size_t i = 0; i < 2; i++) {
		size_t length = sizeof(q) + lengths[i];
		assert_int_equal(send(b->links[0], large, length, 0), length);
		is_not_listened_to(b, 0);
		close(b->links[0]);
		connect_worker(b, 0);
	}
	close(b->links[1]);
	connect_worker(b, 1);
	assert_int_equal(send(b->links[1], large, sizeof(large), 0), sizeof(large));
	is_not_listened_to(b, 1);
	close(b->links[0]);
	connect_worker(b, 0);
	say(b, 0, 9, 0, "alice", "secret");
	hears(b, 0, 9, PASSWORDS_RIGHT);
	finish(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(file_is_read_when_it_changes, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(right_password_is_known_until_its_file_changes, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(workers_get_their_answers_and_hear_of_changes, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(worker_that_sends_what_it_may_not_loses_its_socket, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
