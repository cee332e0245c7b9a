/* SPDX-License-Identifier: MIT */
/* Sockets that the service manager has opened: which section has which, and what is refused. */
#include "proxy/process/activation.h"
#include "proxy/process/process.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST = 3 };

/* The service manager's side: sockets and their names, and the sections of a configuration. */
struct scene {
	int sockets[MOST];
	size_t count;
	const char *names;
	struct conf conf;
	struct conf_listen listens[MOST];
};

static void add_section(struct scene *s, const char *name, const char *address)
{
	struct conf_listen *l = &s->listens[s->conf.listen_count++];
	*l =
	    (struct conf_listen){.name = name, .file = "x.ini", .line = 7, .address_text = address};
	assert_null(net_address_parse(slice_of_string(address), &l->address));
	s->conf.listens = s->listens;
}

/* Returns the address. */
static struct net_address add_socket(struct scene *s, int type, bool listens)
{
	struct net_address at = {0};
	assert_null(net_address_parse(SLICE("127.0.0.1:0"), &at));
	int fd = socket(AF_INET, type, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, &at.any, at.length), 0);
	if (listens)
		assert_int_equal(listen(fd, 1), 0);
	at.length = NET_ADDRESS_BYTES;
	assert_int_equal(getsockname(fd, &at.any, &at.length), 0);
	s->sockets[s->count++] = fd;
	return at;
}

struct result {
	bool is_good;
	size_t taken;
	bool is_first, is_given, is_quiet, is_closed_on_exec, is_nonblocking;
	char text[512];
};

/* In a process of its own, whose descriptors from 3 on are those sockets. */
static void take_there(const struct scene *s, const char *pid, int out)
{
	char number[16], *text = NULL;
	size_t size;
	int copies[MOST];
	out = fcntl(out, F_DUPFD_CLOEXEC, 50);
	for (size_t i = 0; i < s->count; i++)
		copies[i] = fcntl(s->sockets[i], F_DUPFD, 20);
	for (size_t i = 0; i < s->count; i++)
		dup2(copies[i], 3 + (int)i);
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("LISTEN_PID", pid ? pid : number, 1);
	snprintf(number, sizeof(number), "%zu", s->count);
	setenv("LISTEN_FDS", number, 1);
	setenv("LISTEN_FDNAMES", s->names, 1);
	struct sockets sockets = {0};
	FILE *report = open_memstream(&text, &size);
	struct result r = {.is_good = activation_take(&sockets, &s->conf, report)};
	fclose(report);
	r.taken = sockets.count;
	if (sockets.count > 0) {
		const struct listening *l = sockets.all[0];
		r.is_first = l->fds[0] == 3;
		r.is_given = l->is_given && l->count == 1 && l->listening == 1;
		r.is_closed_on_exec = fcntl(l->fds[0], F_GETFD) & FD_CLOEXEC;
		r.is_nonblocking = fcntl(l->fds[0], F_GETFL) & O_NONBLOCK;
	}
	r.is_quiet = !getenv("LISTEN_PID") && !getenv("LISTEN_FDS") && !getenv("LISTEN_FDNAMES");
	snprintf(r.text, sizeof(r.text), "%s", text);
	free(text);
	(void)!write(out, &r, sizeof(r));
	_exit(0);
}

static struct result take(const struct scene *s, const char *pid)
{
	int pipes[2];
	struct result r;
	assert_int_equal(pipe(pipes), 0);
	pid_t child = fork();
	if (child == 0)
		take_there(s, pid, pipes[1]);
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &r, sizeof(r)), sizeof(r));
	close(pipes[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	for (size_t i = 0; i < s->count; i++)
		close(s->sockets[i]);
	assert_true(r.is_quiet);
	return r;
}

static void a_socket_is_for_the_section_of_its_name(void **state)
{
	(void)state;
	struct scene s = {.names = "web:api"};
	char text[NET_ADDRESS_TEXT];
	add_section(&s, "web", "127.0.0.1:0");
	add_socket(&s, SOCK_STREAM, true);
	const struct net_address at = add_socket(&s, SOCK_STREAM, true);
	add_section(&s, "api", net_address_format(&at, text, sizeof(text)));
	struct result r = take(&s, NULL);
	assert_string_equal(r.text, "");
	assert_true(
	    r.is_good && r.is_first && r.is_given && r.is_closed_on_exec && r.is_nonblocking);
	assert_int_equal(r.taken, 2);
}

static void sockets_that_nothing_tells_apart_are_a_mistake(void **state)
{
	(void)state;
	static const char *const names[] = {"web:api", "web:web"};
	for (int i = 0; i < 2; i++) {
		struct scene s = {.names = names[i]};
		add_section(&s, "web", "127.0.0.1:0");
		if (i == 0)
			add_section(&s, "api", "127.0.0.1:0");
		add_socket(&s, SOCK_STREAM, true);
		add_socket(&s, SOCK_STREAM, true);
		struct result r = take(&s, NULL);
		assert_false(r.is_good);
		assert_non_null(strstr(r.text, "x.ini:7: several sections or sockets of the service manager are for the address 127.0.0.1:0; write their ports"));
	}
}

static void without_a_name_it_is_for_the_section_of_its_address(void **state)
{
	(void)state;
	struct scene s = {.names = "pushgate.socket"};
	char text[NET_ADDRESS_TEXT];
	const struct net_address at = add_socket(&s, SOCK_STREAM, true);
	add_section(&s, "web", net_address_format(&at, text, sizeof(text)));
	struct result r = take(&s, NULL);
	assert_string_equal(r.text, "");
	assert_true(r.is_good && r.is_given);
}

static void sockets_of_one_name_go_by_their_addresses(void **state)
{
	(void)state;
	struct scene s = {.names = "web:web"};
	char texts[2][NET_ADDRESS_TEXT];
	for (int i = 0; i < 2; i++) {
		const struct net_address at = add_socket(&s, SOCK_STREAM, true);
		add_section(&s, i == 0 ? "web" : "more", net_address_format(&at, texts[i], sizeof(texts[i])));
	}
	struct result r = take(&s, NULL);
	assert_string_equal(r.text, "");
	assert_true(r.is_good);
	assert_int_equal(r.taken, 2);
}

static void one_that_no_section_has_is_closed(void **state)
{
	(void)state;
	struct scene s = {.names = "other"};
	add_section(&s, "web", "127.0.0.1:1");
	add_socket(&s, SOCK_STREAM, true);
	struct result r = take(&s, NULL);
	assert_true(r.is_good);
	assert_int_equal(r.taken, 0);
	assert_non_null(strstr(r.text, "warning: socket other of the service manager"));
}

static void another_address_is_a_mistake(void **state)
{
	(void)state;
	struct scene s = {.names = "web"};
	add_section(&s, "web", "127.0.0.1:1");
	add_socket(&s, SOCK_STREAM, true);
	struct result r = take(&s, NULL);
	assert_false(r.is_good);
	assert_non_null(strstr(r.text, "x.ini:7: [listen web] has the address 127.0.0.1:1, but"));
}

static void what_does_not_listen_is_a_mistake(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct scene s = {.names = "web"};
		add_section(&s, "web", "127.0.0.1:0");
		add_socket(&s, i == 0 ? SOCK_STREAM : SOCK_DGRAM, false);
		struct result r = take(&s, NULL);
		assert_false(r.is_good);
		assert_non_null(strstr(r.text, "is no stream socket that listens"));
	}
}

static void sockets_for_another_process_are_left(void **state)
{
	(void)state;
	struct scene s = {.names = "web"};
	add_section(&s, "web", "127.0.0.1:0");
	add_socket(&s, SOCK_STREAM, true);
	struct result r = take(&s, "1");
	assert_true(r.is_good);
	assert_int_equal(r.taken, 0);
}

/* ---- a whole program with such sockets: clients wait while it is started again ---- */

struct run {
	char dir[32], conf[64], path[64], log[64];
	int sockets[2]; /* TCP, and a unix socket */
	struct net_address at;
	pid_t child;
};

static void write_conf(const struct run *r, int workers)
{
	char text[NET_ADDRESS_TEXT];
	FILE *f = fopen(r->conf, "w");
	assert_non_null(f);
	fprintf(f,
	    "[server]\nworkers = %d\nerror-log = %s\ndrain-timeout = 20s\n[listen web]\naddress = %s\n[listen local]\naddress = unix:%s\n"
	    "[origin demo]\nserver = demo:\n[route all]\norigin = demo\n",
	    workers, r->log, net_address_format(&r->at, text, sizeof(text)), r->path);
	fclose(f);
}

static int set_up(void **state)
{
	struct run *r = calloc(1, sizeof(*r));
	struct scene s = {0};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	strcpy(r->dir, "/tmp/pushgate-test-XXXXXX");
	assert_non_null(mkdtemp(r->dir));
	snprintf(r->conf, sizeof(r->conf), "%s/conf", r->dir);
	snprintf(r->path, sizeof(r->path), "%s/web", r->dir);
	snprintf(r->log, sizeof(r->log), "%s/log", r->dir);
	r->at = add_socket(&s, SOCK_STREAM, true);
	r->sockets[0] = s.sockets[0];
	assert_int_equal(listen(r->sockets[0], 100), 0);
	memcpy(at.sun_path, r->path, sizeof(r->path));
	r->sockets[1] = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(r->sockets[1], (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(r->sockets[1], 100), 0);
	write_conf(r, 2);
	*state = r;
	return 0;
}

static int tear_down(void **state)
{
	struct run *r = *state;
	if (r->child) {
		kill(r->child, SIGKILL);
		waitpid(r->child, NULL, 0);
	}
	for (int i = 0; i < 2; i++)
		close(r->sockets[i]);
	unlink(r->conf);
	unlink(r->path);
	unlink(r->log);
	int result = rmdir(r->dir);
	free(r);
	return result;
}

static void start(struct run *r)
{
	r->child = fork();
	if (r->child != 0)
		return;
	char number[16];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0; i < 2; i++)
		r->sockets[i] = fcntl(r->sockets[i], F_DUPFD_CLOEXEC, 20);
	for (int i = 0; i < 2; i++)
		dup2(r->sockets[i], 3 + i);
	closefrom(5);
	snprintf(number, sizeof(number), "%d", (int)getpid());
	setenv("LISTEN_PID", number, 1);
	setenv("LISTEN_FDS", "2", 1);
	setenv("LISTEN_FDNAMES", "web:web.socket", 1);
	_exit(process_run(r->conf, false));
}

static void stop(struct run *r)
{
	int status;
	kill(r->child, SIGTERM);
	assert_int_equal(waitpid(r->child, &status, 0), r->child);
	r->child = 0;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* It waits in the backlog if no program accepts. */
static int ask(const struct run *r, bool is_local)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
	const struct timeval patience = {.tv_sec = 20};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	memcpy(at.sun_path, r->path, sizeof(r->path));
	int fd = socket(is_local ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(is_local ? connect(fd, (struct sockaddr *)&at, sizeof(at)) : connect(fd, &r->at.any, r->at.length), 0);
	assert_int_equal(write(fd, request, sizeof(request) - 1), sizeof(request) - 1);
	return fd;
}

static void is_answered(int fd)
{
	char text[13] = "";
	assert_int_equal(recv(fd, text, 12, MSG_WAITALL), 12);
	assert_string_equal(text, "HTTP/1.1 200");
	close(fd);
}

static void no_client_is_refused_while_it_is_started_again(void **state)
{
	struct run *r = *state;
	for (int round = 0; round < 2; round++) {
		int clients[] = {ask(r, false), ask(r, true), ask(r, false)};
		start(r);
		for (int i = 0; i < 3; i++)
			is_answered(clients[i]);
		stop(r);
	}
}

/* Waits until the error log has the text. */
static void is_logged(const struct run *r, const char *wanted)
{
	char line[512];
	bool is_there = false;
	for (int i = 0; i < 2000 && !is_there; i++) {
		FILE *f = fopen(r->log, "r");
		while (f && !is_there && fgets(line, sizeof(line), f))
			is_there = strstr(line, wanted) != NULL;
		if (f)
			fclose(f);
		if (!is_there)
			usleep(10000);
	}
	assert_true(is_there);
}

static void reloads_keep_them(void **state)
{
	struct run *r = *state;
	start(r);
	is_answered(ask(r, false));
	for (int workers = 1; workers < 4; workers += 2) {
		write_conf(r, workers);
		kill(r->child, SIGHUP);
		is_logged(r, workers == 1 ? "generation 2 has taken over" : "generation 3 has taken over");
		for (int i = 0; i < 8; i++)
			is_answered(ask(r, i % 2));
	}
	stop(r);
	close(ask(r, false));
	close(ask(r, true)); /* the file is there yet */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_socket_is_for_the_section_of_its_name),
	    cmocka_unit_test(sockets_that_nothing_tells_apart_are_a_mistake),
	    cmocka_unit_test(without_a_name_it_is_for_the_section_of_its_address),
	    cmocka_unit_test(sockets_of_one_name_go_by_their_addresses),
	    cmocka_unit_test(one_that_no_section_has_is_closed),
	    cmocka_unit_test(another_address_is_a_mistake),
	    cmocka_unit_test(what_does_not_listen_is_a_mistake),
	    cmocka_unit_test(sockets_for_another_process_are_left),
	    cmocka_unit_test_setup_teardown(no_client_is_refused_while_it_is_started_again, set_up, tear_down),
	    cmocka_unit_test_setup_teardown(reloads_keep_them, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
