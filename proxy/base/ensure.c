/* SPDX-License-Identifier: MIT */
/*
 * The end after a broken invariant: prints where it broke, dumps the live objects, and aborts. The
 * program's state is broken, so this code uses only the stack and write(2).
 */
#include "proxy/base/ensure.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DUMP_BYTES 16384

/* Set once at the start of the process: a crash has no other way to find the worker. */
static size_t (*dumper)(const void *object, char *buffer, size_t size);
static const void *dumped;

void ensure_set_dumper(
    size_t (*dump)(const void *object, char *buffer, size_t size), const void *object)
{
	dumper = dump;
	dumped = object;
}

static void put_bytes(const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(STDERR_FILENO, bytes, len);
		if (n <= 0)
			return;
		bytes += n;
		len -= (size_t)n;
	}
}

static void put(const char *string)
{
	put_bytes(string, strlen(string));
}

static void put_number(int number)
{
	char digits[12];
	size_t at = sizeof(digits);
	unsigned rest = number > 0 ? (unsigned)number : 0;
	do {
		digits[--at] = (char)('0' + rest % 10);
		rest /= 10;
	} while (rest > 0);
	put_bytes(digits + at, sizeof(digits) - at);
}

_Noreturn void ensure_failed(
    const char *condition, const char *file, int line, const char *function)
{
	put("pushgate: broken invariant: ");
	put(condition);
	put(" in ");
	put(function);
	put(" (");
	put(file);
	put(":");
	put_number(line);
	put(")\n");
	if (dumper) {
		char buffer[DUMP_BYTES];
		size_t (*dump)(const void *, char *, size_t) = dumper;
		dumper = NULL; /* a crash in the dump does not dump again */
		size_t len = dump(dumped, buffer, sizeof(buffer));
		put_bytes(buffer, len < sizeof(buffer) ? len : sizeof(buffer));
	}
	abort();
}
