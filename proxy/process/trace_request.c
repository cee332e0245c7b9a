/* SPDX-License-Identifier: MIT */
/* The request of `pushgate trace`, and the traces that are on. The command is trace_command.c. */
#include "proxy/process/trace_request.h"
#include "proxy/base/descriptor.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define PREFIX "pushgate trace "

/* ---- the request ---- */

static char *format_block(const struct cidr *c, char *buffer, size_t size)
{
	char address[64];
	snprintf(buffer, size, "%s/%u", address_format(&c->base, address, sizeof(address)),
	    (unsigned)c->bits);
	return buffer;
}

size_t trace_request_write(const struct trace_request *r, uint64_t id, char name[TRACE_NAME_BYTES])
{
	char block[80], text[TRACE_NAME_BYTES + 1];
	int n = snprintf(text, sizeof(text), PREFIX "%s %" PRIu32 " %016" PRIx64,
	    format_block(&r->from, block, sizeof(block)), r->seconds, id);
	memcpy(name, text, (size_t)n);
	return (size_t)n;
}

bool trace_is_request(struct slice name)
{
	return slice_starts_with(name, SLICE(PREFIX));
}

const char *trace_request_parse(struct slice name, struct trace_request *r)
{
	if (!trace_is_request(name))
		return "not a request for a trace";
	struct slice rest = slice_from(name, strlen(PREFIX));
	uint64_t seconds;
	const char *wrong = cidr_parse(slice_cut(&rest, ' '), &r->from);
	if (wrong)
		return wrong;
	if (!slice_to_number(slice_cut(&rest, ' '), LIMIT_TRACE_SECONDS, &seconds) || seconds == 0)
		return "the number of seconds is not from 1 to 3600";
	if (slice_cut(&rest, ' ').len == 0 || rest.len > 0)
		return "not a request of this version";
	r->seconds = (uint32_t)seconds;
	return NULL;
}

/* ---- the answer ---- */

static void send_line(int socket, const char *line)
{
	(void)!send(socket, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void trace_accept(int socket, const struct trace_request *r)
{
	char block[80], line[160];
	snprintf(line, sizeof(line), TRACE_ACCEPTED "%s for %" PRIu32 " s\n",
	    format_block(&r->from, block, sizeof(block)), r->seconds);
	send_line(socket, line);
}

void trace_refuse(int socket, const char *why)
{
	char line[160];
	snprintf(line, sizeof(line), TRACE_REFUSED "%s\n", why);
	send_line(socket, line);
	close(socket);
}

/* ---- the traces that are on ---- */

void trace_orders_init(struct trace_orders *t)
{
	for (size_t i = 0; i < LIMIT_TRACES; i++)
		t->orders[i].socket = -1;
}

static bool command_has_ended(const struct trace_order *o)
{
	char byte;
	ssize_t n = recv(o->socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static struct trace_order *find_room(struct trace_orders *t)
{
	for (size_t i = 0; i < LIMIT_TRACES; i++) {
		struct trace_order *o = &t->orders[i];
		if (o->socket >= 0 && command_has_ended(o))
			descriptor_close(&o->socket);
		if (o->socket < 0)
			return o;
	}
	return NULL;
}

const struct trace_order *trace_orders_add(
    struct trace_orders *t, struct slice name, int socket, usec now)
{
	struct trace_request r;
	const char *wrong = trace_request_parse(name, &r);
	struct trace_order *o = wrong ? NULL : find_room(t);
	if (!o) {
		trace_refuse(socket, wrong ? wrong : TRACE_TOO_MANY);
		return NULL;
	}
	*o = (struct trace_order){r, now + r.seconds * USEC_PER_SEC, socket};
	return o;
}

usec trace_orders_expire(struct trace_orders *t, usec now)
{
	usec next = USEC_NEVER;
	for (size_t i = 0; i < LIMIT_TRACES; i++) {
		struct trace_order *o = &t->orders[i];
		if (o->socket >= 0 && now >= o->until)
			descriptor_close(&o->socket);
		if (o->socket >= 0)
			next = clock_earlier(next, o->until);
	}
	return next;
}

void trace_orders_close(struct trace_orders *t)
{
	for (size_t i = 0; i < LIMIT_TRACES; i++)
		descriptor_close(&t->orders[i].socket);
}
