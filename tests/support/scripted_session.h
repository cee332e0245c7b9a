/* SPDX-License-Identifier: MIT */
/*
 * A second protocol for the data plane, which shares nothing with HTTP/2: text, one frame a line. The number of a
 * stream with a dot behind it ends the sender's side of the stream.
 *
 *   script/1                                    the client's first line
 *   ready STREAMS WINDOW PUSHES                 first of either side: what it takes, PUSHES 0 or 1
 *   head ID[.] METHOD SCHEME AUTHORITY PATH[|name: value]…
 *   head ID[.] STATUS[|name: value]…
 *   data ID[.] BYTES …                          the payload follows the second space, and a newline the payload
 *   trailers ID[|name: value]…                  ends the side
 *   promise PARENT ID METHOD SCHEME AUTHORITY PATH[|name: value]…
 *   reset ID CODE
 *   credit ID BYTES
 *   ping, pong, nopush
 *   goaway CODE LAST                            LAST: the last stream that was looked at
 *
 * The client's streams have odd numbers, promised ones even numbers.
 */
#ifndef PUSHGATE_TESTS_SCRIPTED_SESSION_H
#define PUSHGATE_TESTS_SCRIPTED_SESSION_H

#include "proxy/protocols/protocols.h"

#define SCRIPTED_FIRST_LINE "script/1\n"
#define SCRIPTED_EVERYTHING                                                                        \
	(SESSION_MULTIPLEXES | SESSION_SENDS_PUSHES | SESSION_TAKES_PUSHES | SESSION_TRAILERS |    \
	    SESSION_INTERIM | SESSION_PINGS | SESSION_HINTS)

extern const struct session_protocol session_scripted;
/* What sessions can do whose configuration is made from now on. */
void scripted_can(unsigned to_clients, unsigned to_origins);

#endif
