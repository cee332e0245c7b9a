/* SPDX-License-Identifier: MIT */
/* The secrets of TLS sessions (option keylog-file), a line for each, in the key log format of NSS. */
#include "proxy/observe/observe.h"
#include <errno.h>
#include <string.h>
#include <unistd.h>

/* The longest line is shorter by half: a label, and in hexadecimal 32 random bytes and a secret of 48. */
#define KEY_LINE_BYTES 512

void observe_key_line(void *keys, struct slice line)
{
	const struct observe_keys *k = keys;
	char text[KEY_LINE_BYTES];
	ssize_t n = -1;
	if (line.len < sizeof(text)) {
		memcpy(text, line.ptr, line.len);
		text[line.len] = '\n';
		do
			n = write(k->fd, text, line.len + 1);
		while (n < 0 && errno == EINTR);
	}
	explicit_bzero(text, sizeof(text));
	/* A pipe accepts all of so few bytes, or nothing. */
	if (n <= 0)
		k->counters->key_lines_dropped++;
}
