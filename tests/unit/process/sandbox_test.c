/* SPDX-License-Identifier: MIT */
/*
 * The sandbox from inside: each call is tried by a process of its own that has entered it, for what
 * it does is final. The parts are a release's, in whatever kind of build this runs.
 */
#include "proxy/process/sandbox.h"
#include <crypt.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum {
	WORKER = SANDBOX_WORKER,
	LOGGER = SANDBOX_LOGGER,
	FILES = SANDBOX_FILES,
	PASSWORDS = SANDBOX_PASSWORDS,
	TRACER = SANDBOX_TRACER,
	ACME = SANDBOX_ACME,
	EVERYTHING = 0x39ff
};

#define ALL                                                                                        \
	(SANDBOX_WORKER | SANDBOX_LOGGER | SANDBOX_FILES | SANDBOX_PASSWORDS | SANDBOX_TRACER |    \
	    SANDBOX_ACME)

/* Straight to the kernel: a library between could do something else before. */
#define CALL(...) (void)syscall(__VA_ARGS__)
/* Without the last words of a sanitizer, which has calls of its own. */
#define LEAVE(status) CALL(SYS_exit_group, status)

static char path[64];
static int in[2];

static void run_a_program(void)
{
	char *const arguments[] = {(char *)"true", NULL};
	CALL(SYS_execve, "/bin/true", arguments, NULL);
}

static void run_a_program_at(void)
{
	char *const arguments[] = {(char *)"true", NULL};
	CALL(SYS_execveat, AT_FDCWD, "/bin/true", arguments, NULL, 0);
}

static void make_a_process(void)
{
	if (syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) == 0)
		_exit(0);
}

static void make_a_thread(void)
{
	CALL(SYS_clone3, NULL, 0);
}

static void be_traced(void)
{
	CALL(SYS_ptrace, PTRACE_TRACEME, 0, NULL, NULL);
}

static void read_the_memory_of_the_parent(void)
{
	char byte;
	struct iovec here = {&byte, 1}, there = {&byte, 1};
	CALL(SYS_process_vm_readv, getppid(), &here, 1, &there, 1, 0);
}

static void open_for_reading(void)
{
	CALL(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
}

static void open_for_writing(void)
{
	CALL(SYS_openat, AT_FDCWD, path, O_WRONLY);
}

static void open_for_both(void)
{
	CALL(SYS_openat, AT_FDCWD, path, O_RDWR);
}

static void cut_off(void)
{
	CALL(SYS_openat, AT_FDCWD, path, O_RDONLY | O_TRUNC);
}

static void make_a_file(void)
{
	CALL(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL, 0600);
}

static void make_a_file_for_all(void)
{
	CALL(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL, 0666);
}

static void open_a_log(void)
{
	CALL(
	    SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0640);
}

static void open_the_keylog_file(void)
{
	CALL(
	    SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
}

static void keep_from_others(void)
{
	CALL(SYS_fchmod, -1, 0600);
}

static void give_to_all(void)
{
	CALL(SYS_fchmod, -1, 0666);
}

static void save(void)
{
	char aside[80];
	snprintf(aside, sizeof(aside), "%s.XXXXXX", path);
	int fd = mkstemp(aside);
	if (fd < 0 || write(fd, "x", 1) != 1 || fsync(fd) != 0 || rename(aside, path) != 0)
		LEAVE(2);
	unlink(path);
}

static void look_at_a_file(void)
{
	struct stat st;
	(void)!stat(path, &st);
}

static void look_whether_a_file_is_there(void)
{
	(void)!access(path, F_OK);
}

/* It needs memory alone. */
static void hash_passwords(void)
{
	static const char *const settings[] = {"$y$j75$wqlfEb4nWZ0dAGfVE0RhN/",
	    "$2b$04$CCCCCCCCCCCCCCCCCCCCC.", "$6$rounds=1000$salt$", "$5$rounds=1000$salt$"};
	struct crypt_data work = {0};
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		if (!crypt_r("password", settings[i], &work))
			LEAVE(3);
}

static void make_a_memory_file(void)
{
	CALL(SYS_memfd_create, "x", MFD_CLOEXEC);
}

static void seal_a_file(void)
{
	CALL(SYS_fcntl, in[0], F_ADD_SEALS, F_SEAL_WRITE);
}

static void look_at_the_seals_of_a_file(void)
{
	CALL(SYS_fcntl, in[0], F_GET_SEALS);
}

static void ask_how_much_memory_there_is(void)
{
	struct sysinfo about;
	CALL(SYS_sysinfo, &about);
}

static void ask_for_a_length(void)
{
	CALL(SYS_lseek, in[0], 0, SEEK_END);
}

static void cut_a_torn_line(void)
{
	struct stat st;
	if (fstat(in[0], &st) == 0)
		CALL(SYS_ftruncate, in[0], 0);
}

static void remove_a_file(void)
{
	CALL(SYS_unlinkat, AT_FDCWD, path, 0);
}

static void lock_a_file(void)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || fcntl(fd, F_OFD_SETLK, &lock) != 0 || fcntl(fd, F_OFD_SETLKW, &lock) != 0)
		LEAVE(2);
}

static void change_rights(void)
{
	CALL(SYS_fchmodat, AT_FDCWD, path, 0777);
}

static void open_netlink(void)
{
	CALL(SYS_socket, AF_NETLINK, SOCK_RAW, 0);
}

static void open_packet(void)
{
	CALL(SYS_socket, AF_PACKET, SOCK_STREAM, 0);
}

static void open_raw(void)
{
	CALL(SYS_socket, AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static void open_udp(void)
{
	CALL(SYS_socket, AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CALL(SYS_socket, AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static void ask_for_own_address(void)
{
	struct sockaddr_storage own;
	socklen_t size = sizeof(own);
	CALL(SYS_getsockname, in[0], &own, &size);
}

static void open_unix(void)
{
	CALL(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static void open_tcp(void)
{
	CALL(SYS_socket, AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	CALL(SYS_socket, AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

static void choose_where_a_connection_begins(void)
{
	int on = 1;
	const struct sockaddr_in at = {.sin_family = AF_INET};
	CALL(SYS_setsockopt, in[0], IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	CALL(SYS_bind, in[0], &at, sizeof(at));
}

static void pair_up(void)
{
	int fds[2];
	CALL(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds);
}

static void bind_and_listen(void)
{
	CALL(SYS_listen, in[0], 1);
}

static void set_options_of_ours(void)
{
	int on = 1;
	CALL(SYS_setsockopt, in[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	CALL(SYS_setsockopt, in[0], IPPROTO_TCP, TCP_NOTSENT_LOWAT, &on, sizeof(on));
	CALL(SYS_setsockopt, in[0], SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	CALL(SYS_setsockopt, in[0], IPPROTO_TCP, TCP_KEEPIDLE, &on, sizeof(on));
	CALL(SYS_setsockopt, in[0], IPPROTO_TCP, TCP_KEEPINTVL, &on, sizeof(on));
	CALL(SYS_setsockopt, in[0], IPPROTO_TCP, TCP_KEEPCNT, &on, sizeof(on));
	CALL(SYS_setsockopt, in[0], IPPROTO_TCP, TCP_USER_TIMEOUT, &on, sizeof(on));
}

static void set_another_protocol_upon_tcp(void)
{
	CALL(SYS_setsockopt, in[0], IPPROTO_TCP, TCP_ULP, "tls", 4);
}

/* Its last owner waits when it closes the socket. A worker could give it to another process. */
static void make_closing_wait(void)
{
	const struct linger linger = {.l_onoff = 1, .l_linger = 1000};
	CALL(SYS_setsockopt, in[0], SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
}

static void set_an_option_of_ip(void)
{
	CALL(SYS_setsockopt, in[0], IPPROTO_IP, 64, NULL, 0);
}

static void control_a_device(void)
{
	CALL(SYS_ioctl, 0, 0x5412 /* TIOCSTI */, "x");
}

static void map_code(void)
{
	CALL(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
	    -1, 0);
}

static void make_code_of_data(void)
{
	static char page[8192];
	CALL(
	    SYS_mprotect, ((uintptr_t)page + 4095) & ~(uintptr_t)4095, 4096, PROT_READ | PROT_EXEC);
}

static void kill_the_parent(void)
{
	CALL(SYS_kill, getppid(), 0);
}

static void kill_itself_with_another_signal(void)
{
	CALL(SYS_tgkill, getpid(), getpid(), SIGUSR1);
}

static void kill_a_thread_of_the_parent(void)
{
	CALL(SYS_tgkill, getppid(), getppid(), SIGABRT);
}

static void be_root(void)
{
	CALL(SYS_setresuid, 0, 0, 0);
}

static void change_itself(void)
{
	CALL(SYS_prctl, PR_SET_DUMPABLE, 1, 0, 0, 0);
}

static void filter_again(void)
{
	CALL(SYS_seccomp, 1, 0, NULL);
}

static void read_a_limit(void)
{
	struct rlimit limit;
	CALL(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit);
}

static void change_a_limit(void)
{
	static const struct rlimit none;
	CALL(SYS_prlimit64, 0, RLIMIT_CORE, &none, NULL);
}

static void load_a_program_into_the_kernel(void)
{
	CALL(SYS_bpf, 0, NULL, 0);
}

static void queue_by_ring(void)
{
	CALL(SYS_io_uring_setup, 1, NULL);
}

static void mount_something(void)
{
	CALL(SYS_mount, "none", "/", "tmpfs", 0, NULL);
}

static void write_and_read(void)
{
	char byte = 'x';
	if (write(in[0], &byte, 1) != 1 || read(in[1], &byte, 1) != 1)
		LEAVE(2);
}

static void wait_in_a_loop(void)
{
	struct epoll_event e;
	epoll_wait(in[0], &e, 1, 0);
	CALL(SYS_accept4, in[0], NULL, NULL, SOCK_CLOEXEC);
}

static void begin_a_loop_again(void)
{
	CALL(SYS_epoll_create1, EPOLL_CLOEXEC);
}

static void poll_pipes(void)
{
	struct pollfd fd = {.fd = in[0], .events = POLLIN};
	poll(&fd, 1, 0);
}

static void ask_for_memory(void)
{
	char *volatile p = malloc(1 << 24);
	p[0] = 1;
	free(p);
}

static void read_a_date(void)
{
	struct tm t;
	time_t zero = 0;
	gmtime_r(&zero, &t);
}

static void draw_at_random(void)
{
	char byte;
	CALL(SYS_getrandom, &byte, 1, 0);
}

/* Who may make it. */
static const struct attempt {
	const char *name;
	void (*call)(void);
	unsigned allowed; /* any of these parts makes it possible; 0: none does */
} attempts[] = {
#define TRY(call, allowed)                                                                         \
	{                                                                                          \
#call, call, allowed                                                               \
	}
    TRY(run_a_program, 0),
    TRY(run_a_program_at, 0),
    TRY(make_a_process, 0),
    TRY(make_a_thread, 0),
    TRY(be_traced, 0),
    TRY(read_the_memory_of_the_parent, 0),
    TRY(open_for_writing, 0),
    TRY(open_for_both, 0),
    TRY(cut_off, 0),
    TRY(make_a_file, 0),
    TRY(make_a_file_for_all, 0),
    TRY(change_rights, 0),
    TRY(open_netlink, 0),
    TRY(open_packet, 0),
    TRY(open_raw, 0),
    TRY(bind_and_listen, 0),
    TRY(set_another_protocol_upon_tcp, 0),
    TRY(set_an_option_of_ip, 0),
    TRY(make_closing_wait, 0),
    TRY(control_a_device, 0),
    TRY(map_code, 0),
    TRY(make_code_of_data, 0),
    TRY(kill_the_parent, 0),
    TRY(kill_itself_with_another_signal, 0),
    TRY(kill_a_thread_of_the_parent, 0),
    TRY(be_root, 0),
    TRY(change_itself, 0),
    TRY(filter_again, 0),
    TRY(change_a_limit, 0),
    TRY(load_a_program_into_the_kernel, 0),
    TRY(queue_by_ring, 0),
    TRY(mount_something, 0),
    TRY(open_for_reading, SANDBOX_READS),
    TRY(look_at_a_file, SANDBOX_READS),
    TRY(remove_a_file, SANDBOX_SAVES | SANDBOX_SINGLE),
    TRY(lock_a_file, SANDBOX_ACME),
    TRY(open_a_log, SANDBOX_SINGLE),
    TRY(open_the_keylog_file, SANDBOX_SINGLE),
    TRY(keep_from_others, SANDBOX_SINGLE),
    TRY(give_to_all, 0),
    TRY(open_unix, SANDBOX_UNIX),
    TRY(pair_up, SANDBOX_DEMO),
    TRY(choose_where_a_connection_begins, SANDBOX_SOURCES),
    TRY(open_tcp, SANDBOX_WORKER | SANDBOX_TRACER | SANDBOX_ACME),
    TRY(open_udp, SANDBOX_NAMES),
    TRY(ask_for_own_address, SANDBOX_NAMES | SANDBOX_ENDS),
    TRY(set_options_of_ours, SANDBOX_WORKER),
    TRY(wait_in_a_loop, SANDBOX_WORKER),
    TRY(begin_a_loop_again, SANDBOX_WORKER),
    TRY(read_a_limit, SANDBOX_WORKER),
    TRY(make_a_memory_file, SANDBOX_FILES | SANDBOX_SINGLE),
    TRY(ask_how_much_memory_there_is, SANDBOX_READS),
    TRY(seal_a_file, SANDBOX_FILES | SANDBOX_SINGLE),
    TRY(look_at_the_seals_of_a_file, SANDBOX_FILES | SANDBOX_MAPS),
    TRY(ask_for_a_length, SANDBOX_FILES | SANDBOX_MAPS | SANDBOX_LOGGER | SANDBOX_SINGLE),
    TRY(cut_a_torn_line, SANDBOX_LOGGER | SANDBOX_SINGLE),
    TRY(look_whether_a_file_is_there, 0),
    TRY(draw_at_random,
	SANDBOX_WORKER | SANDBOX_FILES | SANDBOX_PASSWORDS | SANDBOX_TRACER | SANDBOX_ACME),
    TRY(poll_pipes, SANDBOX_LOGGER | SANDBOX_FILES | SANDBOX_PASSWORDS),
    TRY(write_and_read, ALL),
    TRY(read_a_date, ALL),
    TRY(hash_passwords, ALL),
    TRY(ask_for_memory, ALL),
};

/* What became of a process that entered and tried. */
static int status_of(unsigned parts, enum conf_sandbox mode, void (*call)(void))
{
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		char error[256];
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!sandbox_enter(parts, mode, error, sizeof(error)))
			_exit(1);
		call();
		LEAVE(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static bool is_refused(unsigned parts, void (*call)(void))
{
	int status = status_of(parts, CONF_SANDBOX_ON, call);
	if (WIFEXITED(status)) {
		assert_int_equal(WEXITSTATUS(status), 0);
		return false;
	}
	assert_int_equal(WTERMSIG(status), SIGSYS);
	return true;
}

static int set_up(void **state)
{
	(void)state;
	snprintf(path, sizeof(path), "/tmp/pushgate-test-%d", (int)getpid());
	return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in);
}

static int tear_down(void **state)
{
	(void)state;
	unlink(path);
	close(in[0]);
	return close(in[1]);
}

static void only_who_has_the_part_for_a_call_may_make_it(void **state)
{
	(void)state;
	static const unsigned parts[] = {WORKER, LOGGER, WORKER | SANDBOX_UNIX,
	    WORKER | SANDBOX_DEMO, WORKER | SANDBOX_SOURCES, WORKER | SANDBOX_READS, WORKER | SANDBOX_SAVES,
	    WORKER | SANDBOX_SINGLE, WORKER | SANDBOX_MAPS, WORKER | SANDBOX_ENDS, FILES, FILES | SANDBOX_READS,
	    PASSWORDS, PASSWORDS | SANDBOX_READS, TRACER, TRACER | SANDBOX_NAMES | SANDBOX_READS,
	    ACME | SANDBOX_READS | SANDBOX_SAVES,
	    EVERYTHING};
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++)
		for (size_t p = 0; p < sizeof(parts) / sizeof(parts[0]); p++) {
			bool is_allowed = parts[p] & attempts[i].allowed;
			if (is_refused(parts[p], attempts[i].call) == is_allowed)
				fail_msg("%s is %s with parts %#x", attempts[i].name,
				    is_allowed ? "refused" : "allowed", parts[p]);
		}
}

static void remembered_file_can_be_saved_by_who_has_the_part(void **state)
{
	(void)state;
	assert_false(is_refused(WORKER | SANDBOX_SAVES, save));
	assert_false(is_refused(FILES | SANDBOX_SAVES, save));
	assert_false(is_refused(ACME | SANDBOX_SAVES, save));
	assert_true(is_refused(FILES | SANDBOX_READS, save));
	assert_true(is_refused(WORKER | SANDBOX_READS, save));
}

static void broken_invariant_still_aborts(void **state)
{
	(void)state;
	int status = status_of(WORKER, CONF_SANDBOX_ON, abort);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
	status = status_of(LOGGER, CONF_SANDBOX_ON, abort);
	assert_int_equal(WTERMSIG(status), SIGABRT);
	status = status_of(FILES, CONF_SANDBOX_ON, abort);
	assert_int_equal(WTERMSIG(status), SIGABRT);
	status = status_of(PASSWORDS, CONF_SANDBOX_ON, abort);
	assert_int_equal(WTERMSIG(status), SIGABRT);
	status = status_of(TRACER, CONF_SANDBOX_ON, abort);
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void off_and_log_refuse_nothing(void **state)
{
	(void)state;
	assert_int_equal(status_of(WORKER, CONF_SANDBOX_OFF, open_netlink), 0);
	assert_int_equal(status_of(WORKER, CONF_SANDBOX_LOG, open_netlink), 0);
}

static void memory_is_nobody_elses(void **state)
{
	(void)state;
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		char error[256];
		sandbox_enter(EVERYTHING, CONF_SANDBOX_LOG, error, sizeof(error));
		LEAVE(prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void kernel_without_it_is_told_of_in_words(void **state)
{
	(void)state;
	char error[256];
	assert_true(sandbox_is_possible(CONF_SANDBOX_ON, error, sizeof(error)));
	assert_true(sandbox_is_possible(CONF_SANDBOX_LOG, error, sizeof(error)));
	assert_true(sandbox_is_possible(CONF_SANDBOX_OFF, error, sizeof(error)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(only_who_has_the_part_for_a_call_may_make_it),
	    cmocka_unit_test(remembered_file_can_be_saved_by_who_has_the_part),
	    cmocka_unit_test(broken_invariant_still_aborts),
	    cmocka_unit_test(off_and_log_refuse_nothing),
	    cmocka_unit_test(memory_is_nobody_elses),
	    cmocka_unit_test(kernel_without_it_is_told_of_in_words),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
