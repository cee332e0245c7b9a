/* SPDX-License-Identifier: MIT */
/* See json.h. JSON is RFC 8259. */
#include "proxy/offer/json.h"
#include "proxy/base/memory.h"
#include "proxy/offer/offer.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

/* O_NONBLOCK: opening a FIFO must not block the loop. */
static int open_regular(const char *path, size_t most, size_t *size, FILE *errors)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &status) != 0)
		fprintf(errors, "%s: cannot be read: %s\n", path, strerror(errno));
	else if (!S_ISREG(status.st_mode))
		fprintf(errors, "%s: is not a regular file\n", path);
	else if ((uint64_t)status.st_size > most)
		fprintf(errors, "%s: is larger than %zu bytes\n", path, most);
	else {
		*size = (size_t)status.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

bool offer_json_read(const char *path, size_t most, char **text, size_t *length, FILE *errors)
{
	size_t size;
	int fd = open_regular(path, most, &size, errors);
	if (fd < 0)
		return false;
	/* One byte more than fstat said: if that is read too, the file is being written. */
	size_t room = size + 1, got = 0;
	char *bytes = memory_alloc(room);
	ssize_t n = 1;
	while (got < room && n != 0) {
		n = read(fd, bytes + got, room - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			break;
		got += (size_t)n;
	}
	int error = errno;
	close(fd);
	if (n < 0)
		fprintf(errors, "%s: cannot be read: %s\n", path, strerror(error));
	else if (got == room)
		fprintf(errors, "%s: is being written to\n", path);
	else {
		*text = bytes;
		*length = got;
		return true;
	}
	free(bytes);
	return false;
}

struct offer_json_word offer_json_word(const char *word)
{
	struct offer_json_word out;
	size_t n = 0;
	for (; word[n] && n < sizeof(out.text) - 4; n++) {
		unsigned char c = (unsigned char)word[n];
		out.text[n] = (char)(c < 0x20 || c >= 0x7f ? '?' : c);
	}
	memcpy(out.text + n, word[n] ? "..." : "", word[n] ? 4 : 1);
	return out;
}

/* Lines and columns begin at 1; columns count bytes. */
static void tell(struct offer_json *j, size_t offset, const char *text)
{
	size_t line = 1, column = 1;
	if (++j->mistakes > OFFER_JSON_MISTAKES)
		return;
	for (size_t i = 0; i < offset && i < j->text.len; i++) {
		column++;
		if (j->text.ptr[i] == '\n') {
			line++;
			column = 1;
		}
	}
	fprintf(j->errors, "%s:%zu:%zu: %s\n", j->name, line, column, text);
	if (j->mistakes == OFFER_JSON_MISTAKES)
		fprintf(j->errors, "%s:%zu:%zu: what comes behind this has not been told\n",
		    j->name, line, column);
}

void offer_seed(uint64_t seed)
{
	/* With 0 the library would choose a seed itself. */
	json_object_seed((size_t)(seed | 1));
}

json_t *offer_json_parse(struct offer_json *j)
{
	json_error_t error = {0};
	char text[sizeof(error.text) + 32];
	json_t *root = json_loadb(j->text.ptr, j->text.len, JSON_REJECT_DUPLICATES, &error);
	if (root)
		return root;
	snprintf(text, sizeof(text), "is not JSON: %s", error.text);
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f)
			*c = '?';
	tell(j, error.position > 0 ? (size_t)error.position - 1 : 0, text);
	return NULL;
}

/* Walks through text that has been parsed as JSON already. */

static size_t skip_space(struct slice text, size_t at)
{
	while (at < text.len && strchr(" \t\r\n", text.ptr[at]))
		at++;
	return at;
}

/* at: the position of the opening quote. */
static size_t skip_string(struct slice text, size_t at)
{
	for (at++; at < text.len && text.ptr[at] != '"'; at++)
		if (text.ptr[at] == '\\')
			at++;
	return at + 1;
}

static size_t skip_value(struct slice text, size_t at)
{
	size_t depth = 0;
	while (at < text.len) {
		char c = text.ptr[at];
		if (depth == 0 && (c == ',' || c == '}' || c == ']'))
			return at;
		if (c == '"') {
			at = skip_string(text, at);
			continue;
		}
		if (c == '{' || c == '[')
			depth++;
		if (c == '}' || c == ']')
			depth--;
		at++;
	}
	return at;
}

static size_t find_key(struct slice text, const size_t *index, size_t depth)
{
	size_t at = skip_space(text, 0);
	for (size_t level = 0; level < depth; level++) {
		at = skip_space(text, at + 1);
		for (size_t i = 0; i < index[level]; i++) {
			at = skip_space(text, skip_string(text, at)) + 1;
			at = skip_space(text, skip_value(text, at) + 1);
		}
		if (level + 1 < depth)
			at = skip_space(text, skip_space(text, skip_string(text, at)) + 1);
	}
	return at;
}

void offer_json_mistake(
    struct offer_json *j, const size_t *index, size_t depth, const char *format, ...)
{
	char text[512];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	tell(j, find_key(j->text, index, depth), text);
}
