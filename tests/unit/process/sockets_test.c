/* SPDX-License-Identifier: MIT */
/* The master's listening sockets, and the status socket. */
#include "proxy/process/sockets.h"
#include "proxy/limits.h"
#include "proxy/process/status.h"
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

struct bench {
	char dir[32], path[64];
	struct conf conf;
	struct conf_listen listens[2];
};

static int set_up(void **state)
{
	struct bench *b = calloc(1, sizeof(*b));
	strcpy(b->dir, "/tmp/pushgate-test-XXXXXX");
	if (!mkdtemp(b->dir))
		return -1;
	snprintf(b->path, sizeof(b->path), "%s/s", b->dir);
	b->conf.listens = b->listens;
	b->conf.listen_count = 1;
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;
	unlink(b->path);
	assert_int_equal(rmdir(b->dir), 0);
	free(b);
	return 0;
}

static void set_listen(struct bench *b, size_t index, const char *text)
{
	struct conf_listen *l = &b->listens[index];
	*l = (struct conf_listen){.name = "main", .file = "x.ini", .line = 7, .address_text = text, .backlog = 64};
	assert_null(net_address_parse(slice_of_string(text), &l->address));
}

static uint16_t port_of(int fd)
{
	struct sockaddr_in at;
	socklen_t length = sizeof(at);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &length), 0);
	return ntohs(at.sin_port);
}

static void each_worker_has_its_own_socket_on_the_same_port(void **state)
{
	struct bench *b = *state;
	struct sockets s = {.owns_files = true};
	struct sockets_share share;
	char error[256] = "", text[NET_ADDRESS_TEXT], want[64];
	set_listen(b, 0, "127.0.0.1:0");
	assert_true(sockets_borrow(&s, &share, &b->conf, 3, error, sizeof(error)));
	assert_true(sockets_listen(&share, error, sizeof(error)));
	uint16_t port = port_of(sockets_of(&share, 0, 0, 0));
	assert_int_not_equal(port, 0);
	for (uint32_t w = 1; w < 3; w++) {
		assert_int_not_equal(sockets_of(&share, 0, w, 0), sockets_of(&share, 0, w - 1, 0));
		assert_int_equal(port_of(sockets_of(&share, 0, w, 0)), port);
	}
	snprintf(want, sizeof(want), "127.0.0.1:%u", port);
	assert_string_equal(sockets_address(&share, 0, text, sizeof(text)), want);
	sockets_return(&share);
	sockets_fini(&s);
}

/* What the kernel keeps of a listening socket. */
static uint32_t backlog_of(int fd)
{
	struct tcp_info info;
	socklen_t length = sizeof(info);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length), 0);
	return info.tcpi_sacked;
}

static void backlog_is_that_of_the_newest_configuration(void **state)
{
	struct bench *b = *state;
	struct sockets s = {.owns_files = true};
	struct sockets_share old, next;
	char error[256] = "";
	set_listen(b, 0, "127.0.0.1:0");
	b->listens[0].backlog = 7;
	assert_true(sockets_borrow(&s, &old, &b->conf, 2, error, sizeof(error)));
	assert_true(sockets_listen(&old, error, sizeof(error)));
	for (uint32_t w = 0; w < 2; w++)
		assert_int_equal(backlog_of(sockets_of(&old, 0, w, 0)), 7);
	b->listens[0].backlog = 9;
	assert_true(sockets_borrow(&s, &next, &b->conf, 3, error, sizeof(error)));
	assert_true(sockets_listen(&next, error, sizeof(error)));
	for (uint32_t w = 0; w < 3; w++)
		assert_int_equal(backlog_of(sockets_of(&next, 0, w, 0)), 9);
	sockets_return(&old);
	sockets_return(&next);
	sockets_fini(&s);
}

/* Addresses for documentation (RFC 5737, RFC 3849), which no machine has. */
static void address_may_come_later_where_the_section_says_so(void **state)
{
	struct bench *b = *state;
	static const char *const texts[] = {"192.0.2.1:0", "[2001:db8::1]:0"};
	for (size_t i = 0; i < 2; i++) {
		struct sockets s = {.owns_files = true};
		struct sockets_share share;
		char error[256] = "";
		set_listen(b, 0, texts[i]);
		assert_false(sockets_borrow(&s, &share, &b->conf, 2, error, sizeof(error)));
		assert_non_null(strstr(error, "Cannot assign requested address"));
		b->listens[0].may_come_later = true;
		assert_true(sockets_borrow(&s, &share, &b->conf, 2, error, sizeof(error)));
		assert_true(sockets_listen(&share, error, sizeof(error)));
		sockets_return(&share);
		sockets_fini(&s);
	}
}

static void taken_port_is_an_error_that_names_section_and_line(void **state)
{
	struct bench *b = *state;
	struct sockets first = {.owns_files = true}, second = {.owns_files = true};
	struct sockets_share share, other;
	char error[256] = "", text[64], want[256];
	set_listen(b, 0, "127.0.0.1:0");
	assert_true(sockets_borrow(&first, &share, &b->conf, 1, error, sizeof(error)));
	assert_true(sockets_listen(&share, error, sizeof(error)));
	snprintf(text, sizeof(text), "127.0.0.1:%u", port_of(sockets_of(&share, 0, 0, 0)));
	set_listen(b, 0, text);
	assert_false(sockets_borrow(&second, &other, &b->conf, 1, error, sizeof(error)));
	snprintf(want, sizeof(want),
	    "cannot listen on %s: Address already in use (listen section main, x.ini:7)", text);
	assert_string_equal(error, want);
	sockets_fini(&second);
	sockets_return(&share);
	sockets_fini(&first);
}

static void unix_socket_is_shared_and_its_file_removed_by_the_owner_alone(void **state)
{
	struct bench *b = *state;
	struct sockets s = {.owns_files = true};
	struct sockets_share share;
	char error[256] = "", text[80];
	snprintf(text, sizeof(text), "unix:%s", b->path);
	set_listen(b, 0, text);
	assert_true(sockets_borrow(&s, &share, &b->conf, 2, error, sizeof(error)));
	assert_true(sockets_listen(&share, error, sizeof(error)));
	assert_int_equal(sockets_of(&share, 0, 0, 0), sockets_of(&share, 0, 1, 0));
	assert_int_equal(access(b->path, F_OK), 0);
	s.owns_files = false;
	sockets_close(&s, NULL);
	assert_int_equal(access(b->path, F_OK), 0);
	sockets_return(&share);
	sockets_fini(&s);
	/* Nobody answers on it any more: it is replaced. */
	s.owns_files = true;
	assert_true(sockets_borrow(&s, &share, &b->conf, 2, error, sizeof(error)));
	assert_true(sockets_listen(&share, error, sizeof(error)));
	sockets_close(&s, NULL);
	assert_int_not_equal(access(b->path, F_OK), 0);
	sockets_close(&s, NULL);
	sockets_return(&share);
	sockets_fini(&s);
}

static void failure_leaves_no_socket_and_no_file_behind(void **state)
{
	struct bench *b = *state;
	struct sockets s = {.owns_files = true};
	struct sockets_share share;
	char error[256] = "", text[80];
	snprintf(text, sizeof(text), "unix:%s", b->path);
	set_listen(b, 0, text);
	set_listen(b, 1, "192.0.2.1:1"); /* not an address of ours (RFC 5737) */
	b->conf.listen_count = 2;
	int before = dup(0);
	close(before);
	assert_false(sockets_borrow(&s, &share, &b->conf, 2, error, sizeof(error)));
	assert_non_null(strstr(error, "cannot listen on 192.0.2.1:1"));
	int after = dup(0);
	close(after);
	assert_int_equal(before, after);
	assert_int_not_equal(access(b->path, F_OK), 0);
}

static void address_outlives_a_configuration_that_the_next_one_shares_it_with(void **state)
{
	struct bench *b = *state;
	struct sockets s = {.owns_files = true};
	struct sockets_share old, next;
	struct conf later = {.listens = &b->listens[0], .listen_count = 2};
	char error[256] = "";
	set_listen(b, 0, "127.0.0.1:0");
	set_listen(b, 1, "127.0.0.1:0");
	assert_true(sockets_borrow(&s, &old, &b->conf, 1, error, sizeof(error)));
	assert_true(sockets_listen(&old, error, sizeof(error)));
	int first = sockets_of(&old, 0, 0, 0);
	uint16_t port = port_of(first);
	assert_true(sockets_borrow(&s, &next, &later, 2, error, sizeof(error)));
	assert_int_equal(sockets_of(&next, 0, 0, 0), first);
	assert_int_equal(port_of(sockets_of(&next, 0, 1, 0)), port);
	assert_int_not_equal(port_of(sockets_of(&next, 1, 0, 0)), port);
	assert_true(sockets_listen(&next, error, sizeof(error)));
	sockets_return(&old);
	assert_int_equal(port_of(first), port);
	assert_int_equal(s.count, 2);
	sockets_return(&next);
	assert_int_equal(s.count, 0);
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_port = htons(port),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static unsigned accept_all(int listener)
{
	unsigned n = 0;
	for (int fd; (fd = accept(listener, NULL, NULL)) >= 0; n++)
		close(fd);
	return n;
}

enum { CLIENTS = 32 };

static void socket_of_a_worker_too_many_is_emptied_and_gets_no_more(void **state)
{
	struct bench *b = *state;
	struct sockets s = {.owns_files = true};
	struct sockets_share old, next;
	int clients[2 * CLIENTS];
	char error[256] = "";
	set_listen(b, 0, "127.0.0.1:0");
	assert_true(sockets_borrow(&s, &old, &b->conf, 3, error, sizeof(error)));
	assert_true(sockets_listen(&old, error, sizeof(error)));
	uint16_t port = port_of(sockets_of(&old, 0, 0, 0));
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = connect_to(port);
	assert_true(sockets_borrow(&s, &next, &b->conf, 1, error, sizeof(error)));
	assert_true(sockets_listen(&next, error, sizeof(error)));
	sockets_return(&old);
	for (int i = CLIENTS; i < 2 * CLIENTS; i++)
		clients[i] = connect_to(port);
	unsigned own = accept_all(sockets_of(&next, 0, 0, 0)), left = 0;
	for (uint32_t nth = 1; nth < 3; nth++)
		left += accept_all(sockets_of(&next, 0, 0, nth));
	assert_int_equal(sockets_of(&next, 0, 0, 3), -1);
	assert_int_equal(own + left, 2 * CLIENTS);
	assert_true(left > 0 && left <= CLIENTS);
	for (int i = 0; i < 2 * CLIENTS; i++)
		close(clients[i]);
	/* Workers that are back have theirs again. */
	assert_true(sockets_borrow(&s, &old, &b->conf, 2, error, sizeof(error)));
	assert_true(sockets_listen(&old, error, sizeof(error)));
	for (int i = 0; i < 2 * CLIENTS; i++)
		clients[i] = connect_to(port);
	own = accept_all(sockets_of(&old, 0, 0, 0));
	unsigned other = accept_all(sockets_of(&old, 0, 1, 0));
	assert_int_equal(own + other, 2 * CLIENTS);
	assert_true(own > 0 && other > 0);
	for (int i = 0; i < 2 * CLIENTS; i++)
		close(clients[i]);
	sockets_return(&next);
	sockets_return(&old);
}

static void sockets_that_were_bound_in_vain_are_in_no_workers_way(void **state)
{
	struct bench *b = *state;
	struct sockets s = {.owns_files = true};
	struct sockets_share old, next;
	char error[256] = "";
	set_listen(b, 0, "127.0.0.1:0");
	assert_true(sockets_borrow(&s, &old, &b->conf, 1, error, sizeof(error)));
	assert_true(sockets_listen(&old, error, sizeof(error)));
	assert_true(sockets_borrow(&s, &next, &b->conf, 3, error, sizeof(error)));
	sockets_return(&next); /* its workers did not come up */
	assert_int_equal(sockets_of(&old, 0, 0, 1), -1);
	assert_true(sockets_borrow(&s, &next, &b->conf, 2, error, sizeof(error)));
	assert_true(sockets_listen(&next, error, sizeof(error)));
	assert_true(sockets_of(&next, 0, 1, 0) >= 0);
	assert_int_equal(sockets_of(&next, 0, 0, 1), -1);
	sockets_return(&next);
	sockets_return(&old);
}

/* How many of so many new clients come to the first sockets of an address. */
static unsigned come_to(const struct sockets_share *share, size_t section, uint32_t workers)
{
	int clients[CLIENTS];
	unsigned n = 0;
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = connect_to(port_of(sockets_of(share, section, 0, 0)));
	for (uint32_t i = 0; i < workers; i++)
		n += accept_all(sockets_of(share, section, i, 0));
	for (int i = 0; i < CLIENTS; i++)
		close(clients[i]);
	return n;
}

static void new_address_that_is_taken_leaves_the_others_as_they_were(void **state)
{
	struct bench *b = *state;
	struct sockets s = {.owns_files = true};
	struct sockets_share old, next;
	struct conf later = {.listens = &b->listens[0], .listen_count = 2};
	char error[256] = "";
	set_listen(b, 0, "127.0.0.1:0");
	set_listen(b, 1, "127.0.0.1:0");
	assert_true(sockets_borrow(&s, &old, &b->conf, 2, error, sizeof(error)));
	assert_true(sockets_listen(&old, error, sizeof(error)));
	assert_true(sockets_borrow(&s, &next, &later, 4, error, sizeof(error)));
	/* Another process is faster. */
	struct sockaddr_in at = {.sin_family = AF_INET,
	    .sin_port = htons(port_of(sockets_of(&next, 1, 0, 0))),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int rival = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	assert_int_equal(setsockopt(rival, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)), 0);
	assert_int_equal(bind(rival, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(rival, 1), 0);
	assert_false(sockets_listen(&next, error, sizeof(error)));
	assert_non_null(strstr(error, "Address already in use"));
	sockets_return(&next);
	close(rival);
	assert_int_equal(sockets_of(&old, 0, 0, 1), -1);
	assert_int_equal(come_to(&old, 0, 2), CLIENTS);
	sockets_return(&old);
}

static void sockets_that_listen_in_vain_get_no_connections(void **state)
{
	struct bench *b = *state;
	struct sockets s = {.owns_files = true};
	struct sockets_share old, next;
	char error[256] = "";
	b->conf.listen_count = 2;
	set_listen(b, 0, "127.0.0.1:0");
	set_listen(b, 1, "127.0.0.1:0");
	assert_true(sockets_borrow(&s, &old, &b->conf, 1, error, sizeof(error)));
	assert_true(sockets_listen(&old, error, sizeof(error)));
	assert_true(sockets_borrow(&s, &next, &b->conf, 3, error, sizeof(error)));
	int kept = next.sections[1]->fds[2];
	next.sections[1]->fds[2] = -1; /* which cannot listen */
	assert_false(sockets_listen(&next, error, sizeof(error)));
	next.sections[1]->fds[2] = kept;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(come_to(&old, i, 1), CLIENTS);
	/* The next one may have them. */
	assert_true(sockets_listen(&next, error, sizeof(error)));
	for (size_t i = 0; i < 2; i++) {
		assert_true(come_to(&next, i, 1) < CLIENTS);
		for (uint32_t n = 1; n < 3; n++)
			accept_all(sockets_of(&next, i, n, 0));
		assert_int_equal(come_to(&next, i, 3), CLIENTS);
	}
	sockets_return(&next);
	sockets_return(&old);
}

/* ---- status ---- */

static const char *ask(
    const char *path, int listener, const struct status *s, char *buffer, size_t size)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	strcpy(at.sun_path, path);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	status_serve(listener, s, &(struct status_ops){0});
	size_t used = 0;
	for (ssize_t n; (n = read(fd, buffer + used, size - 1 - used)) > 0;)
		used += (size_t)n;
	close(fd);
	buffer[used] = '\0';
	return buffer;
}

static void status_answers_with_the_sum_of_all_slots(void **state)
{
	struct bench *b = *state;
	static struct observe_counters slots[3];
	static char text[65536];
	const struct status_process about[] = {{.pid = 42,
						   .starts = 1,
						   .up = 3 * USEC_PER_SEC,
						   .usage = {.started = 1700000000 * USEC_PER_SEC,
						       .cpu = 1250 * USEC_PER_MSEC,
						       .resident_bytes = 8192,
						       .open_fds = 12}},
	    {.starts = 5},
	    {.name = "files", .note = "files process", .pid = 43, .starts = 2, .up = USEC_PER_SEC},
	    {.name = "worker 0 of generation 3", .note = "worker 0 of generation 3", .is_draining = true, .pid = 44,
		.usage = {.started = 1, .resident_bytes = 4096, .open_fds = 7}},
	    {.name = "worker 1 of generation 9", .note = "worker 1 of generation 9", .is_draining = true, .pid = 45,
		.usage = {.started = 1, .resident_bytes = 8192}}};
	const struct status s = {.up = 9 * USEC_PER_SEC,
	    .started_wall = 1700000000 * USEC_PER_SEC + 50 * USEC_PER_MSEC,
	    .drains_in = 1500 * USEC_PER_MSEC,
	    .slots = slots,
	    .own_slot = &slots[2],
	    .processes = about,
	    .process_count = 5,
	    .worker_count = 2};
	slots[0].requests = 5;
	slots[1].requests = 7;
	slots[2].error_lines_dropped = 2; /* the master's own */
	char error[256];
	int listener = status_listen(b->path, error, sizeof(error));
	assert_true(listener >= 0);
	struct stat st;
	assert_int_equal(stat(b->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	ask(b->path, listener, &s, text, sizeof(text));
	assert_non_null(strstr(text, ", up 9 s, 2 workers\n# draining in 2 s (drain-delay)\n"));
	assert_non_null(strstr(text, "# worker 0: process 42, up 3 s, started 1 time\n"));
	assert_non_null(strstr(text, "# worker 1: down, started 5 times\n"));
	assert_non_null(strstr(text, "# files process: process 43, up 1 s, started 2 times\n"));
	assert_non_null(strstr(text, "\npushgate_requests_total 12\n"));
	assert_non_null(strstr(text, "\npushgate_log_lines_lost_total{log=\"error\",cause=\"pipe\"} 2\n"));
	static const char *const processes[] = {
	    "\npushgate_build_info{version=\"" PUSHGATE_VERSION "\",tls_library=\"",
	    "\npushgate_start_time_seconds 1700000000.050\n",
	    "\npushgate_process_up{process=\"worker 0\"} 1\n",
	    "\npushgate_process_up{process=\"worker 1\"} 0\n",
	    "\npushgate_process_pid{process=\"files\"} 43\n",
	    "\nprocess_start_time_seconds{process=\"worker 0\"} 1700000000.00\n",
	    "\nprocess_cpu_seconds_total{process=\"worker 0\"} 1.25\n",
	    "\nprocess_resident_memory_bytes{process=\"worker 0\"} 8192\n",
	    "\nprocess_open_fds{process=\"worker 0\"} 12\n",
	    "\npushgate_process_starts_total{process=\"worker 1\"} 5\n",
	    /* Those of older generations have no names of their own: there is no end of generations. */
	    "\npushgate_draining_workers 2\n",
	    "\nprocess_resident_memory_bytes{process=\"draining\"} 12288\n",
	    "\nprocess_open_fds{process=\"draining\"} 7\n",
	};
	for (size_t i = 0; i < sizeof(processes) / sizeof(processes[0]); i++)
		assert_non_null(strstr(text, processes[i]));
	assert_non_null(strstr(text, "# worker 0 of generation 3: process 44, up 0 s"));
	assert_null(strstr(text, "{process=\"worker 0 of"));
	status_close(listener, b->path);
	assert_int_not_equal(access(b->path, F_OK), 0);
}

static void status_is_not_held_up_by_one_who_does_not_read(void **state)
{
	struct bench *b = *state;
	static struct observe_counters slots[1];
	static char text[65536];
	const struct status s = {.slots = slots};
	char error[256];
	int listener = status_listen(b->path, error, sizeof(error));
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	strcpy(at.sun_path, b->path);
	int silent = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(silent, (const struct sockaddr *)&at, sizeof(at)), 0);
	ask(b->path, listener, &s, text, sizeof(text));
	assert_non_null(strstr(text, "# pushgate"));
	close(silent);
	status_close(listener, b->path);
}

static void status_says_when_there_is_no_socket_to_answer_on(void **state)
{
	struct bench *b = *state;
	static struct observe_counters slots[1];
	static char text[65536];
	const struct status s = {.slots = slots};
	char error[256];
	int listener = status_listen(b->path, error, sizeof(error));
	assert_true(status_serve(listener, &s, &(struct status_ops){0})); /* nobody waits */
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	strcpy(at.sun_path, b->path);
	int waits = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(connect(waits, (const struct sockaddr *)&at, sizeof(at)), 0);
	struct rlimit limit, none;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	bool is_served = status_serve(listener, &s, &(struct status_ops){0});
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_false(is_served);
	assert_true(status_serve(listener, &s, &(struct status_ops){0}));
	assert_true(read(waits, text, sizeof(text)) > 0);
	close(waits);
	status_close(listener, b->path);
}

static void status_socket_of_a_living_process_is_not_taken(void **state)
{
	struct bench *b = *state;
	char error[256] = "";
	int listener = status_listen(b->path, error, sizeof(error));
	assert_int_equal(status_listen(b->path, error, sizeof(error)), -1);
	assert_non_null(strstr(error, b->path));
	status_close(listener, b->path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(each_worker_has_its_own_socket_on_the_same_port),
	    TEST(backlog_is_that_of_the_newest_configuration),
	    TEST(address_may_come_later_where_the_section_says_so),
	    TEST(taken_port_is_an_error_that_names_section_and_line),
	    TEST(unix_socket_is_shared_and_its_file_removed_by_the_owner_alone),
	    TEST(address_outlives_a_configuration_that_the_next_one_shares_it_with),
	    TEST(socket_of_a_worker_too_many_is_emptied_and_gets_no_more),
	    TEST(sockets_that_were_bound_in_vain_are_in_no_workers_way),
	    TEST(new_address_that_is_taken_leaves_the_others_as_they_were),
	    TEST(sockets_that_listen_in_vain_get_no_connections),
	    TEST(failure_leaves_no_socket_and_no_file_behind),
	    TEST(status_answers_with_the_sum_of_all_slots),
	    TEST(status_is_not_held_up_by_one_who_does_not_read),
	    TEST(status_says_when_there_is_no_socket_to_answer_on),
	    TEST(status_socket_of_a_living_process_is_not_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
