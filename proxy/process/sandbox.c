/* SPDX-License-Identifier: MIT */
/*
 * The table of system calls and the filter made of it. Each row allows a call that the code named
 * beside it makes after the start. A call without a row kills the process. A row compares argument
 * values where they decide what the call can do; a filter cannot look behind pointers.
 */
#include "proxy/process/sandbox.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct row {
	int call;
	unsigned parts;          /* sandbox_part flags: the row is for processes with any of them */
	unsigned argument_count; /* all must match; several rows of one call are alternatives */
	struct scmp_arg_cmp arguments[2];
};

// clang-format off
#define WORKER SANDBOX_WORKER
#define LOGGER SANDBOX_LOGGER
#define FILES SANDBOX_FILES
#define PASSWORDS SANDBOX_PASSWORDS
/* Processes with a loop of net/. */
#define LOOP (SANDBOX_WORKER | SANDBOX_TRACER | SANDBOX_ACME)
#define ALL (LOOP | SANDBOX_LOGGER | SANDBOX_FILES | SANDBOX_PASSWORDS)
#define CALL(name, who) .call = SCMP_SYS(name), .parts = (who)
#define WHEN(...) .argument_count = sizeof((struct scmp_arg_cmp[]){__VA_ARGS__}) / sizeof(struct scmp_arg_cmp), \
	.arguments = {__VA_ARGS__}
/* Compares the lower 32 bits of an int argument; the kernel leaves the upper half undefined. */
#define BITS(argument, mask, value) {(argument), SCMP_CMP_MASKED_EQ, (uint32_t)(mask), (uint32_t)(value)}
#define IS(argument, value) BITS(argument, UINT32_MAX, value)

#define OPEN_KIND (O_ACCMODE | O_CREAT | O_EXCL | O_TRUNC | O_APPEND)
#define SOCKET_KIND (~(SOCK_NONBLOCK | SOCK_CLOEXEC))

static const struct row rows[] = {
    /* The loop and its connections: net/, gateway/. Log lines: observe/, process/logger.c. */
    {CALL(epoll_wait, LOOP)},             /* libev */
    {CALL(epoll_pwait, LOOP)},            /* the same where there is no epoll_wait */
    {CALL(recvfrom, LOOP)},               /* recv(3): net/net_conn_read.c, net/tls_bio.c, net/listen.c, client/client_trace.c */
    {CALL(sendto, LOOP)},                 /* send(3): net/tls_bio.c, observe/log.c, process/worker_process.c, process/status.c */
    {CALL(sendmsg, LOOP)},                /* net/net_conn_send.c */
    {CALL(recvmsg, LOOP)},                /* process/child_message.c */
    {CALL(write, ALL)},                    /* logs; libev's eventfd */
    {CALL(read, ALL)},                     /* libev's eventfd; files; the logger's pipes and signals */
    {CALL(epoll_ctl, LOOP)},              /* libev */
    {CALL(epoll_create1, WORKER), WHEN(IS(0, EPOLL_CLOEXEC))}, /* libev, after the close of a listening socket that a later generation has too */
    {CALL(accept4, WORKER)},                /* net/listen.c */
    {CALL(close, ALL)},
    {CALL(prlimit64, WORKER), WHEN(IS(0, 0), {2, SCMP_CMP_EQ, 0, 0})}, /* getrlimit(3): net/listen.c */
    {CALL(shutdown, LOOP)},               /* net/net_conn_close.c */
    {CALL(getpeername, LOOP)},              /* net/net_conn.c */
    {CALL(fcntl, WORKER), WHEN(IS(1, F_DUPFD_CLOEXEC))}, /* net/listen.c: how many descriptors are in use */
    {CALL(connect, LOOP)},                /* net/net_conn.c */
    {CALL(socket, LOOP), WHEN(IS(0, AF_INET), BITS(1, SOCKET_KIND, SOCK_STREAM))},
    {CALL(socket, LOOP), WHEN(IS(0, AF_INET6), BITS(1, SOCKET_KIND, SOCK_STREAM))},
    {CALL(socket, SANDBOX_UNIX), WHEN(IS(0, AF_UNIX), BITS(1, SOCKET_KIND, SOCK_STREAM))},
    {CALL(socket, SANDBOX_NAMES), WHEN(IS(0, AF_INET), BITS(1, SOCKET_KIND, SOCK_DGRAM))}, /* net/datagram.c, and below */
    {CALL(socket, SANDBOX_NAMES), WHEN(IS(0, AF_INET6), BITS(1, SOCKET_KIND, SOCK_DGRAM))},
    {CALL(getsockname, SANDBOX_NAMES | SANDBOX_ENDS)}, /* net/datagram.c: from where an address is reached; net/listen.c */
    {CALL(socketpair, SANDBOX_DEMO), WHEN(IS(0, AF_UNIX), BITS(1, SOCKET_KIND, SOCK_STREAM))}, /* tool/demo.c */
    {CALL(setsockopt, LOOP), WHEN(IS(1, IPPROTO_TCP), IS(2, TCP_NODELAY))},         /* net/net_conn.c */
    {CALL(setsockopt, LOOP), WHEN(IS(1, IPPROTO_TCP), IS(2, TCP_NOTSENT_LOWAT))},   /* net/net_conn.c */
    {CALL(setsockopt, WORKER), WHEN(IS(1, SOL_SOCKET), IS(2, SO_KEEPALIVE))},       /* net/net_conn_info.c, and below */
    {CALL(setsockopt, WORKER), WHEN(IS(1, IPPROTO_TCP), IS(2, TCP_KEEPIDLE))},
    {CALL(setsockopt, WORKER), WHEN(IS(1, IPPROTO_TCP), IS(2, TCP_KEEPINTVL))},
    {CALL(setsockopt, WORKER), WHEN(IS(1, IPPROTO_TCP), IS(2, TCP_KEEPCNT))},
    {CALL(setsockopt, WORKER), WHEN(IS(1, IPPROTO_TCP), IS(2, TCP_USER_TIMEOUT))},
    {CALL(bind, SANDBOX_SOURCES)},          /* net/net_conn.c; it may not listen */
    {CALL(setsockopt, SANDBOX_SOURCES), WHEN(IS(1, IPPROTO_IP), IS(2, IP_BIND_ADDRESS_NO_PORT))},
    {CALL(getsockopt, LOOP), WHEN(IS(1, SOL_SOCKET), IS(2, SO_ERROR))},             /* net/net_conn.c */
    {CALL(getsockopt, LOOP), WHEN(IS(1, IPPROTO_TCP), IS(2, TCP_INFO))},            /* net/net_conn.c */

    /* The logger: process/logger.c, and process/logs.c for files that the master reopened. */
    {CALL(poll, LOGGER | FILES | PASSWORDS)},
    {CALL(ppoll, LOGGER | FILES | PASSWORDS)},          /* poll(3) on machines without poll(2) */
    {CALL(recvmsg, LOGGER | FILES | PASSWORDS)},
    {CALL(dup3, LOGGER | SANDBOX_SINGLE)},
    {CALL(ftruncate, LOGGER | SANDBOX_SINGLE)}, /* observe/file.c, as are lseek(2) and fstat(3) below */

    /* The files process and its workers: process/helper.c, process/files_process.c, base/sealed.c. */
    {CALL(sendmsg, FILES | PASSWORDS)},     /* and process/passwords_process.c */
    {CALL(memfd_create, FILES | SANDBOX_SINGLE)}, /* and process/status.c, as the next */
    {CALL(fcntl, FILES | SANDBOX_SINGLE), WHEN(IS(1, F_ADD_SEALS))},
    {CALL(fcntl, FILES | SANDBOX_MAPS), WHEN(IS(1, F_GET_SEALS))},
    {CALL(lseek, FILES | SANDBOX_MAPS | LOGGER | SANDBOX_SINGLE)}, /* the length of such a file */

    /* Clocks, on machines where reading the clock takes a system call. */
    {CALL(clock_gettime, ALL)},            /* base/clock.c, libev */
    {CALL(gettimeofday, LOOP)},           /* BoringSSL: ages of sessions */
    {CALL(time, WORKER | SANDBOX_ACME)},    /* BoringSSL: dates of certificates */

    /* Memory: malloc(3), mostly with brk(2). No memory may become executable. */
    {CALL(brk, ALL)},
    {CALL(mmap, ALL), WHEN(BITS(2, PROT_EXEC, 0))},
    {CALL(munmap, ALL)},
    {CALL(mremap, ALL)},
    {CALL(madvise, ALL)},                  /* gateway/memory_trim.c; malloc_trim(3) of the files process; malloc(3) when brk(2) fails */
    {CALL(mprotect, ALL), WHEN(BITS(2, PROT_EXEC, 0))}, /* malloc(3) when brk(2) fails */

    {CALL(getrandom, LOOP | FILES | PASSWORDS)},      /* BoringSSL; base/hash.c */
    {CALL(futex, WORKER | SANDBOX_ACME)},   /* pthread_once(3) of BoringSSL */

    /* Signals; exit(3); abort(3) after a broken invariant (add_abort adds its tgkill). */
    {CALL(rt_sigreturn, ALL)},
    {CALL(restart_syscall, ALL)},          /* after SIGSTOP and SIGCONT */
    {CALL(rt_sigaction, ALL)},             /* libev removes its handlers; abort(3) */
    {CALL(rt_sigprocmask, ALL)},
    {CALL(getpid, ALL)},
    {CALL(gettid, ALL)},
    {CALL(writev, ALL)},                   /* the C library's message before it aborts */
    {CALL(exit_group, ALL)},

    /* Files: base/watched_file.c, offer/manifest_file.c and offer/json.c, called by process/files.c; process/passwords.c. */
    {CALL(openat, SANDBOX_READS), WHEN(BITS(2, OPEN_KIND, O_RDONLY))},
    {CALL(newfstatat, SANDBOX_READS)},      /* stat(2) and fstat(2) in this C library; others use the next two */
    {CALL(stat, SANDBOX_READS)},
    {CALL(sysinfo, SANDBOX_READS)},         /* qsort(3) of glibc before 2.37 for more than 1 KiB: offer/manifest_flat.c */
    {CALL(fstat, SANDBOX_READS | LOGGER | SANDBOX_SINGLE)},

    /* process/files_memory.c, process/acme_files.c: a new file, fsync(2), rename(2). */
    {CALL(openat, SANDBOX_SAVES), WHEN(BITS(2, OPEN_KIND, O_RDWR | O_CREAT | O_EXCL), IS(3, 0600))},
    {CALL(fsync, SANDBOX_SAVES)},
    /* process/acme_files.c: a lock of all processes that have the folder. */
    {CALL(openat, SANDBOX_ACME), WHEN(BITS(2, OPEN_KIND, O_RDWR | O_CREAT), IS(3, 0600))},
    {CALL(fcntl, SANDBOX_ACME), WHEN(IS(1, F_OFD_SETLK))},
    {CALL(fcntl, SANDBOX_ACME), WHEN(IS(1, F_OFD_SETLKW))},
    {CALL(rename, SANDBOX_SAVES)},          /* other C libraries use one of the next two */
    {CALL(renameat, SANDBOX_SAVES)},
    {CALL(renameat2, SANDBOX_SAVES)},
    {CALL(unlink, SANDBOX_SAVES | SANDBOX_SINGLE)},
    {CALL(unlinkat, SANDBOX_SAVES | SANDBOX_SINGLE)},

    /* process/single.c: logs_reopen. The files of unix sockets are removed at the end (unlink above). */
    {CALL(openat, SANDBOX_SINGLE), WHEN(BITS(2, OPEN_KIND, O_WRONLY | O_APPEND | O_CREAT), IS(3, 0640))},
    {CALL(openat, SANDBOX_SINGLE), WHEN(BITS(2, OPEN_KIND, O_WRONLY | O_APPEND | O_CREAT), IS(3, 0600))}, /* keylog-file */
    {CALL(fchmod, SANDBOX_SINGLE), WHEN(IS(1, 0600))},
    {CALL(getdents64, SANDBOX_SINGLE)},     /* its own descriptors, in a folder that was opened before: admin/usage.c */
    {CALL(newfstatat, LOGGER | SANDBOX_SINGLE), WHEN(IS(3, AT_EMPTY_PATH))}, /* fstat(3): process/logs.c, observe/file.c */

#ifdef PUSHGATE_INSTRUMENTED
    /* LeakSanitizer scans memory from a second process; gcov writes its counts at exit. */
    {CALL(clone, SANDBOX_COMPILERS)},
    {CALL(ptrace, SANDBOX_COMPILERS)},
    {CALL(wait4, SANDBOX_COMPILERS)},
    {CALL(prctl, SANDBOX_COMPILERS)},
    {CALL(sched_yield, SANDBOX_COMPILERS)},
    {CALL(sigaltstack, SANDBOX_COMPILERS)},
    {CALL(openat, SANDBOX_COMPILERS)},
    {CALL(open, SANDBOX_COMPILERS)},
    {CALL(newfstatat, SANDBOX_COMPILERS)},
    {CALL(fstat, SANDBOX_COMPILERS)},
    {CALL(readlink, SANDBOX_COMPILERS)},
    {CALL(getdents, SANDBOX_COMPILERS)},
    {CALL(getdents64, SANDBOX_COMPILERS)},
    {CALL(lseek, SANDBOX_COMPILERS)},
    {CALL(fcntl, SANDBOX_COMPILERS), WHEN(IS(1, F_SETLKW))},
    {CALL(futex, SANDBOX_COMPILERS)},
    {CALL(getppid, SANDBOX_COMPILERS)},
    {CALL(exit, SANDBOX_COMPILERS)},
    {CALL(mkdir, SANDBOX_COMPILERS)},
#endif
};
// clang-format on

static int add_row(scmp_filter_ctx filter, const struct row *r)
{
	int wrong = seccomp_rule_add_array(
	    filter, SCMP_ACT_ALLOW, r->call, r->argument_count, r->arguments);
	/* -EDOM: this machine does not have that call. */
	return wrong == -EDOM ? 0 : wrong;
}

/* Lets abort(3) signal this process, and no other. */
static int add_abort(scmp_filter_ctx filter)
{
	const struct row row = {CALL(tgkill, ALL), WHEN(IS(0, getpid()), IS(2, SIGABRT))};
	return add_row(filter, &row);
}

static int fill(scmp_filter_ctx filter, unsigned parts)
{
	/* A tree is faster than the rows one by one. The kernel caches calls that are allowed with any arguments. */
	int wrong = seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (wrong == 0)
		wrong = seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
	for (size_t i = 0; wrong == 0 && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].parts & parts)
			wrong = add_row(filter, &rows[i]);
	return wrong == 0 ? add_abort(filter) : wrong;
}

bool sandbox_is_possible(enum conf_sandbox mode, char *error, size_t error_size)
{
	static const uint32_t actions[] = {
	    [CONF_SANDBOX_ON] = SECCOMP_RET_KILL_PROCESS,
	    [CONF_SANDBOX_LOG] = SECCOMP_RET_LOG,
	};
	if (mode == CONF_SANDBOX_OFF ||
	    syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &actions[mode]) == 0)
		return true;
	snprintf(error, error_size,
	    "cannot use seccomp: the kernel lacks it, or an outer filter (a container's) forbids "
	    "it (%s); "
	    "set sandbox = off to run without it",
	    strerror(errno));
	return false;
}

bool sandbox_enter(unsigned parts, enum conf_sandbox mode, char *error, size_t error_size)
{
	if (mode == CONF_SANDBOX_OFF)
		return true;
	/* Other processes of this user must not read this memory, and no core dump may write keys. */
	bool is_dumpable = parts & SANDBOX_COMPILERS;
	if (prctl(PR_SET_DUMPABLE, is_dumpable ? 1 : 0, 0, 0, 0) != 0) {
		snprintf(error, error_size,
		    "cannot protect the process's memory (PR_SET_DUMPABLE): %s", strerror(errno));
		return false;
	}
	/* Now, because the C library would open the time zone's file at the first date that it formats. */
	tzset();
	scmp_filter_ctx filter =
	    seccomp_init(mode == CONF_SANDBOX_LOG ? SCMP_ACT_LOG : SCMP_ACT_KILL_PROCESS);
	int wrong = filter ? fill(filter, parts) : -ENOMEM;
	if (wrong == 0)
		wrong = seccomp_load(filter);
	seccomp_release(filter);
	if (wrong != 0)
		snprintf(error, error_size,
		    "cannot enter the sandbox: %s; set sandbox = off to run without it",
		    strerror(-wrong));
	return wrong == 0;
}
