/* SPDX-License-Identifier: MIT */
/*
 * The system calls of a loop, counted, and made to fail as a plan says: which call, with which error, from which
 * one on, how many of them. The replaced calls have no context, so there is one plan at a time.
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

/* Whose calls the plan is about. */
enum net_side {
	NET_SIDE_ANY,
	NET_SIDE_CONNECTING, /* sockets that socket() gave */
	NET_SIDE_ACCEPTED,   /* sockets that accept4() gave */
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
	size_t send_most;       /* a send takes no more than this; 0: all */
	bool is_accepted[1024]; /* by descriptor */
};

extern struct net_faults net_faults;

/* Replaces the calls of net/ until net_sys_reset, and forgets what was before. */
void net_faults_begin(void);
/* From now on; the counts begin again. */
void net_faults_plan(struct net_fault plan);
size_t net_faults_calls(void); /* all together */

/* Descriptors that are open in this process. */
size_t net_faults_open_descriptors(void);

#endif
