/* SPDX-License-Identifier: MIT */
/*
 * Counts the system calls of a loop and makes some fail by a plan: which call, which error, from which call on, how
 * many. The replaced calls have no context, so there is one plan at a time.
 */
#ifndef PUSHGATE_TESTS_NET_FAULTS_H
#define PUSHGATE_TESTS_NET_FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum net_call {
	NET_CALL_SOCKET,
	NET_CALL_BIND,
	NET_CALL_LISTEN,
	NET_CALL_CONNECT,
	NET_CALL_ACCEPT,
	NET_CALL_RECV,
	NET_CALL_SEND, /* send and sendmsg */
	NET_CALL_SHUTDOWN,
	NET_CALL_CLOSE, /* closes all the same, as Linux does */
	NET_CALL_GETSOCKOPT,
	NET_CALL_SETSOCKOPT,
	NET_CALL_GETPEERNAME,
	NET_CALLS
};

/* The sockets whose calls may fail. */
enum net_side {
	NET_SIDE_ANY,
	NET_SIDE_CONNECTING, /* sockets made by socket() */
	NET_SIDE_ACCEPTED,   /* sockets made by accept4() */
};

struct net_fault {
	enum net_call call;
	enum net_side side;
	int error;    /* 0: none */
	size_t first; /* 1 = the next one */
	size_t count; /* SIZE_MAX: all that follow */
};

struct net_faults {
	struct net_fault plan;
	size_t calls[NET_CALLS], failed;
	size_t send_most;       /* a send accepts at most this many bytes; 0: all */
	bool is_accepted[1024]; /* by descriptor */
};

extern struct net_faults net_faults;

/* Replaces the calls of net/ until net_sys_reset, and clears the plan and the counts. */
void net_faults_begin(void);
/* Sets the plan and starts counting from 0. */
void net_faults_plan(struct net_fault plan);
size_t net_faults_calls(void); /* all together */

/* The number of open descriptors of this process. */
size_t net_faults_open_descriptors(void);

#endif
