/* SPDX-License-Identifier: MIT */
/* A request on a connection of its own, as text. */
#ifndef PUSHGATE_TESTS_SUPPORT_GATE_ASK_H
#define PUSHGATE_TESTS_SUPPORT_GATE_ASK_H

#include "tests/support/gateway_world.h"
#include <sys/socket.h>
#include <unistd.h>

/* Sends a head; text: all that comes until the gateway closes the connection. The test fails if it does not. */
static inline void gate_ask(struct gate_world *w, const char *head, char *text, size_t size)
{
	int fd = gate_raw(w);
	size_t length = 0;
	struct patience patience = {0};
	assert_int_equal(send(fd, head, strlen(head), 0), strlen(head));
	for (;;) {
		ssize_t n = recv(fd, text + length, size - length - 1, MSG_DONTWAIT);
		if (n == 0)
			break;
		if (n > 0)
			length += (size_t)n;
		if (patience_is_over(&patience))
			fail_msg("no end: %s", head);
		net_run_once(w->loop, USEC_PER_MSEC);
	}
	text[length] = '\0';
	close(fd);
}

#endif
