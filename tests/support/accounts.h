/* SPDX-License-Identifier: MIT */
/*
 * All that a gateway world has counted and logged, as text that can be compared as a whole: a test that lists the counters
 * and fields which it expects fails too when one changes that it does not list.
 */
#ifndef PUSHGATE_TESTS_ACCOUNTS_H
#define PUSHGATE_TESTS_ACCOUNTS_H

#include "tests/support/gateway_world.h"

/* The access log and the error log, with all its levels, go to files in memory from now on. */
void accounts_begin(struct gate_world *w);

/*
 * Waits for the end of all exchanges, and compares.
 *
 * counters: each that is not 0, "requests 1\n", in the order of counter_rows.h, then "offer SOURCE VERDICT REASON 1\n",
 * "rule INDEX EVENT 1\n", "cause …", "miss …", "denial …", "fault …", "limited …". loop_passes_over_5ms, up_in_bytes and
 * memory_used_bytes are left out: they depend on the machine, and on how much one read found.
 *
 * lines (NULL: any): those of the access log, "ID: key=value key=value\n". A time of an origin is *, and so are the address and port of a
 * local peer. Left out are the times that each line has, and usual values, which must be there: connection=1,
 * client=127.0.0.1, listen=l, protocol=h2, method=GET, scheme=http, authority=example.com, request_bytes=0. A line without
 * one of them has "no-KEY" at its end.
 */
void accounts_are(struct gate_world *w, const char *counters, const char *lines);

/* Compares the lines of the error log, "warn text\n", without their times. The address and port of a local peer is *. */
void accounts_said(struct gate_world *w, const char *messages);

#endif
