/* SPDX-License-Identifier: MIT */
/* A binary upgrade: what the old process gives, and that the new one has it. */
#include "proxy/process/hand_on.h"
#include "proxy/base/sealed.h"
#include "proxy/process/handover.h"
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[32], path[48], status_path[48];
static int pair[2];

static int set_up(void **state)
{
	(void)state;
	strcpy(dir, "/tmp/pushgate-test-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/web", dir);
	snprintf(status_path, sizeof(status_path), "%s/status", dir);
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int tear_down(void **state)
{
	(void)state;
	close(pair[0]);
	close(pair[1]);
	unlink(path);
	unlink(status_path);
	return rmdir(dir);
}

static struct start none(void)
{
	return (struct start){.predecessor = {.socket = -1, .status_fd = -1},
	    .status_fd = -1,
	    .remembered = -1,
	    .notify_fd = -1,
	    .logs = logs_none};
}

/* Two sockets on a port that the kernel chooses, a unix socket, a status socket, keys and counters. */
static void begin_old(
    struct start *s, struct conf *conf, struct conf_listen listens[2], struct totals *counters)
{
	char error[256], unix_address[64];
	*s = none();
	snprintf(unix_address, sizeof(unix_address), "unix:%s", path);
	assert_null(net_address_parse(SLICE("127.0.0.1:0"), &listens[0].address));
	assert_null(net_address_parse(slice_of_string(unix_address), &listens[1].address));
	conf->listens = listens;
	conf->listen_count = 2;
	assert_true(sockets_borrow(&s->sockets, &s->outfit.share, conf, 2, error, sizeof(error)));
	assert_true(sockets_listen(&s->outfit.share, error, sizeof(error)));
	s->sockets.all[0]->is_shared_out = s->sockets.all[1]->is_given = true;
	s->status_path = strdup(status_path);
	s->status_fd = status_listen(status_path, error, sizeof(error));
	assert_true(s->status_fd >= 0);
	net_tickets_init(&s->tickets, 1);
	s->via_suffix = 4711;
	s->remembered = sealed_make(SLICE("pages"));
	s->limit_seed = 12345678901234567890u;
	counters->whole.requests = 5;
	s->readiness = outfit_map_shared(sizeof(*s->readiness), "it", error, sizeof(error));
	atomic_store(&s->readiness->was_ready, true);
	server_orders_list_read(&s->orders, SLICE("drain\t3\thttp://a\tshop\n"));
}

static void end_of(struct start *s)
{
	sockets_return(&s->outfit.share);
	start_close(s);
}

/* ---- the generation that runs, and the next one ---- */

#define LINE "limit-requests = 10/s\n"

static struct conf *conf_of(const char *routes)
{
	char text[512];
	snprintf(text, sizeof(text), "[listen l]\naddress = 127.0.0.1:0\n%s", routes);
	struct conf *c = conf_load_text(slice_of_string(text), "test.ini", true, stderr);
	assert_non_null(c);
	return c;
}

static void share_health(struct outfit *o)
{
	char error[128];
	o->health_table_bytes = health_table_bytes(8, 0);
	o->health_table_memory = outfit_map_shared(o->health_table_bytes, "", error, sizeof(error));
	o->health_table = health_table_new(o->health_table_memory, 8, 0);
}

#define SERVER_KEY UINT64_C(0x123456789a0000)
#define CHECKED "[origin f]\nserver = http://192.0.2.1:80\nserver = http://192.0.2.2:80\nhealth-check = /h\n"

/* A server that fails, and a line of limits. */
static struct outfit run_old(void)
{
	struct outfit o = {.workers = 2, .conf = conf_of(CHECKED "[route r]\norigin = f\n" LINE)};
	share_health(&o);
	struct server_entry *e = health_table_join(o.health_table, 0, SERVER_KEY, 0, "192.0.2.1:80");
	server_entry_publish(o.health_table, e, (struct server_check){SERVER_CHECK_FAILS, 500, clock_monotonic()});
	assert_true(limit_memories_open(&o.limits, o.conf, 2));
	*(uint64_t *)limit_memories_of(&o.limits, 1)[0] = 4712;
	return o;
}

static void give_a_result(struct outfit *o)
{
	struct server_entry *e = health_table_join(o->health_table, 0, SERVER_KEY, 0, "192.0.2.1:80");
	server_entry_publish(o->health_table, e, (struct server_check){SERVER_CHECK_PASSES, 200, clock_monotonic()});
}

static bool knows_health(struct predecessor *p, enum server_check_state state)
{
	struct outfit o = {.workers = 1, .conf = conf_of("[origin a]\nserver = demo:\n" CHECKED "[route r]\norigin = f\n")};
	share_health(&o);
	(void)hand_on_health_read(&o, p->health, clock_monotonic());
	struct server_entry *e = health_table_join(o.health_table, 0, SERVER_KEY, 1, "192.0.2.1:80");
	bool knows = server_entry_check(e).state == state;
	outfit_close(&o);
	return knows;
}

static bool same_file(int a, int b)
{
	struct stat x, y;
	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_ino == y.st_ino &&
	       x.st_dev == y.st_dev;
}

/* Without a look for leaks: what the other process has is in this one, too. */
static _Noreturn void leave(int status)
{
	char text[16];
	snprintf(text, sizeof(text), "%d", status);
	execl("/bin/sh", "sh", "-c", "exit $0", text, NULL);
	_exit(99);
}

/* In a process of its own: takes over, and compares with the old start, whose descriptors it has too. */
static _Noreturn void take_over(const struct start *old)
{
	char number[16], error[256];
	struct start s = none();
	s.outfit.conf = conf_of(CHECKED "[route q]\npath = /q\norigin = f\n" LINE "[route r]\norigin = f\n" LINE);
	s.outfit.workers = 2;
	if (!limit_memories_open(&s.outfit.limits, s.outfit.conf, 2))
		leave(14);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(number, sizeof(number), "%d", pair[1]);
	setenv(HANDOVER_VARIABLE, number, 1);
	close(pair[0]);
	if (handover_find() != pair[1] || getenv(HANDOVER_VARIABLE))
		leave(1);
	if (!handover_take(&s, pair[1], error, sizeof(error)) || !s.predecessor.still_serves)
		leave(2);
	if (s.sockets.count != old->sockets.count)
		leave(3);
	for (size_t i = 0; i < s.sockets.count; i++) {
		const struct listening *a = s.sockets.all[i], *b = old->sockets.all[i];
		if (a->count != b->count || a->listening != b->listening ||
		    a->is_given != b->is_given || a->is_shared_out != b->is_shared_out ||
		    !net_address_equal(&a->asked, &b->asked) || !net_address_equal(&a->at, &b->at))
			leave(4);
		for (uint32_t k = 0; k < a->count; k++)
			if (!same_file(a->fds[k], b->fds[k]) ||
			    !(fcntl(a->fds[k], F_GETFD) & FD_CLOEXEC))
				leave(5);
	}
	if (!same_file(s.predecessor.status_fd, old->status_fd) ||
	    strcmp(s.predecessor.status_path, status_path) != 0)
		leave(6);
	if (memcmp(&s.tickets, &old->tickets, sizeof(s.tickets)) != 0 || s.via_suffix != 4711)
		leave(7);
	if (!same_file(s.remembered, old->remembered))
		leave(12);
	if (!s.predecessor.was_ready || s.orders.count != 1 ||
	    strcmp(s.orders.all[0].origin, "shop") != 0 ||
	    strcmp(s.orders.all[0].url, "http://a") != 0 ||
	    s.orders.all[0].row.order != SERVER_DRAIN || s.orders.all[0].row.weight != 3)
		leave(10);
	if (s.predecessor.counters->whole.requests != 5)
		leave(8);
	if (!knows_health(&s.predecessor, SERVER_CHECK_FAILS) || s.limit_seed != 12345678901234567890u)
		leave(11);
	/* The second worker's table of the line, whose number here is another one. */
	const uint64_t *limits = limit_memories_of(&s.outfit.limits, 1)[1];
	if (limits[0] != 4712 || ((const uint64_t *)limit_memories_of(&s.outfit.limits, 0)[0])[0] != 0)
		leave(13);
	handover_say_ready(pair[1]);
	while (handover_take_news(&s.predecessor))
		;
	if (!knows_health(&s.predecessor, SERVER_CHECK_PASSES))
		leave(12);
	leave(s.predecessor.counters->whole.requests == 9 ? 0 : 9);
}

static pid_t from; /* who has said hello */

static enum handover_heard hear(void)
{
	enum handover_heard heard;
	while ((heard = handover_hear(pair[0], &from)) == HANDOVER_NOTHING)
		usleep(1000);
	return heard;
}

static void the_new_one_has_what_the_old_one_had(void **state)
{
	(void)state;
	struct conf conf = {0};
	struct conf_listen listens[2] = {0};
	struct totals *counters = totals_new();
	struct start old;
	begin_old(&old, &conf, listens, counters);
	struct outfit running = run_old();
	pid_t pid = fork();
	if (pid == 0)
		take_over(&old);
	close(pair[1]);
	assert_int_equal(hear(), HANDOVER_HELLO);
	assert_int_equal(from, pid);
	enum handover_heard heard;
	for (size_t at = 0; (heard = hear()) == HANDOVER_NEXT; at++)
		assert_true(handover_give(pair[0], &old, &running, counters, at));
	assert_int_equal(heard, HANDOVER_READY);
	counters->whole.requests = 9;
	give_a_result(&running);
	assert_true(handover_give_health(pair[0], &running));
	assert_true(handover_give_counters(pair[0], counters));
	close(pair[0]);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	totals_free(counters);
	outfit_close(&running);
	end_of(&old);
}

static void say(int socket, const char *text)
{
	assert_int_equal(send(socket, text, strlen(text), 0), strlen(text));
}

static void the_old_one_tells_what_it_hears(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		enum handover_heard heard;
	} rows[] = {
	    {"hello\t" HANDOVER_VERSION "\t4711", HANDOVER_HELLO},
	    {"hello\t" HANDOVER_VERSION "\t1", HANDOVER_BROKEN},
	    {"hello\t" HANDOVER_VERSION, HANDOVER_BROKEN},
	    {"reopen", HANDOVER_REOPEN},
	    {"hello\t" HANDOVER_VERSION "0\t4711", HANDOVER_OTHER_VERSION},
	    {"next", HANDOVER_NEXT},
	    {"ready", HANDOVER_READY},
	    {"ready ", HANDOVER_BROKEN},
	    {"x", HANDOVER_BROKEN},
	};
	assert_int_equal(handover_hear(pair[0], &from), HANDOVER_NOTHING);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		say(pair[1], rows[i].text);
		assert_int_equal(handover_hear(pair[0], &from), rows[i].heard);
	}
	shutdown(pair[1], SHUT_RDWR);
	assert_int_equal(handover_hear(pair[0], &from), HANDOVER_GONE);
}

static void the_new_one_takes_no_half_of_it(void **state)
{
	(void)state;
	static const char *const texts[] = {"suffix\t1",
	    "socket\t0\t1\t0\t127.0.0.1:1\t127.0.0.1:1", "socket\t1\t1\t0\tunix:/a\tunix:/a",
	    "socket\tx", "status\t/no/descriptor", "tickets", "counters"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char error[256] = "";
		int fds[2];
		struct start s = none();
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
		say(fds[0], texts[i]);
		if (i == 0) /* good so far, but nothing follows */
			shutdown(fds[0], SHUT_WR);
		assert_false(handover_take(&s, fds[1], error, sizeof(error)));
		assert_non_null(strstr(error, "has not handed its sockets over"));
		close(fds[0]);
		start_close(&s);
	}
}

static void what_is_not_known_is_passed_over(void **state)
{
	(void)state;
	char error[256] = "";
	struct start s = none();
	say(pair[0], "a word of a later version\t1");
	say(pair[0], "suffix\t12");
	say(pair[0], "end");
	assert_true(handover_take(&s, pair[1], error, sizeof(error)));
	assert_int_equal(s.via_suffix, 12);
	s.predecessor.socket = -1;
	start_close(&s);
}

static void a_start_without_a_predecessor_finds_none(void **state)
{
	(void)state;
	int plain = open("/dev/null", O_RDONLY | O_CLOEXEC);
	char number[16];
	unsetenv(HANDOVER_VARIABLE);
	assert_int_equal(handover_find(), -1);
	snprintf(number, sizeof(number), "%d", plain);
	const char *const texts[] = {"", "x", "-1", "12345", number};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		setenv(HANDOVER_VARIABLE, texts[i], 1);
		assert_int_equal(handover_find(), -1);
		assert_null(getenv(HANDOVER_VARIABLE));
	}
	close(plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		the_new_one_has_what_the_old_one_had, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(the_old_one_tells_what_it_hears, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(the_new_one_takes_no_half_of_it, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(what_is_not_known_is_passed_over, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(
		a_start_without_a_predecessor_finds_none, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
