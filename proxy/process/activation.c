/* SPDX-License-Identifier: MIT */
/* See activation.h. */
#include "proxy/process/activation.h"
#include "proxy/base/descriptor.h"
#include "proxy/process/sockets.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* SD_LISTEN_FDS_START */
#define FIRST 3
/* With more there are none: a configuration has at most so many sections. */
#define MOST 1024u

/* How many there are for this process. */
static unsigned count_given(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	uint64_t number = 0, process = 0;
	if (!pid || !count || !slice_to_number(slice_of_string(pid), INT32_MAX, &process) ||
	    process != (uint64_t)getpid() ||
	    !slice_to_number(slice_of_string(count), MOST, &number))
		return 0;
	return (unsigned)number;
}

static bool is_listening_stream(int fd, struct net_address *at)
{
	int type = 0, listens = 0;
	socklen_t length = sizeof(type);
	*at = (struct net_address){.length = NET_ADDRESS_BYTES};
	if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0 || type != SOCK_STREAM)
		return false;
	length = sizeof(listens);
	return getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) == 0 && listens &&
	       getsockname(fd, &at->any, &at->length) == 0;
}

/* The section has port 0, or this address. */
static bool may_be(const struct conf_listen *l, const struct net_address *at)
{
	struct net_address asked = l->address;
	bool is_tcp = asked.any.sa_family != AF_UNIX && at->any.sa_family != AF_UNIX;
	if (is_tcp && net_address_port(&asked) == 0) {
		struct address ip;
		net_address_ip(&asked, &ip);
		net_address_set_ip(&asked, &ip, net_address_port(at));
	}
	return net_address_equal(&asked, at);
}

/* The section of this name and address, else the one of the address, else the one of the name. */
static const struct conf_listen *find(
    const struct conf *conf, struct slice name, const struct net_address *at)
{
	const struct conf_listen *of_address = NULL, *of_name = NULL;
	for (size_t i = 0; i < conf->listen_count; i++) {
		const struct conf_listen *l = &conf->listens[i];
		bool has_name = slice_equal(name, slice_of_string(l->name));
		bool is_here = may_be(l, at);
		if (has_name && is_here)
			return l;
		if (is_here && !of_address)
			of_address = l;
		if (has_name)
			of_name = l;
	}
	return of_address ? of_address : of_name;
}

/* Sections with one address, which has port 0, have sockets that nothing tells apart. */
static bool is_ambiguous(
    const struct sockets *s, const struct conf *conf, const struct conf_listen *l)
{
	bool has_port = l->address.any.sa_family == AF_UNIX || net_address_port(&l->address) != 0;
	for (size_t i = 0; !has_port && i < conf->listen_count; i++)
		if (&conf->listens[i] != l &&
		    net_address_equal(&conf->listens[i].address, &l->address))
			return true;
	return !has_port && sockets_have(s, &l->address);
}

/* Takes fd. False: it said why it cannot. */
static bool take(
    struct sockets *s, const struct conf *conf, struct slice name, int fd, FILE *report)
{
	struct net_address at;
	char text[NET_ADDRESS_TEXT];
	descriptor_close_on_exec(fd);
	if (!is_listening_stream(fd, &at)) {
		fprintf(report,
		    "pushgate: socket %.*s of the service manager (descriptor %d) is no stream "
		    "socket that listens; write ListenStream for it, with Accept=no\n",
		    SLICE_ARG(name), fd);
		descriptor_close(&fd);
		return false;
	}
	net_address_format(&at, text, sizeof(text));
	const struct conf_listen *l = find(conf, name, &at);
	if (!l) {
		fprintf(report,
		    "pushgate: warning: socket %.*s of the service manager at %s is closed: no "
		    "[listen NAME] has its name or its address\n",
		    SLICE_ARG(name), text);
		descriptor_close(&fd);
		return true;
	}
	if (!may_be(l, &at)) {
		fprintf(report,
		    "pushgate: %s:%u: [listen %s] has the address %s, but the service manager's "
		    "socket of that name is at %s; write the same address\n",
		    l->file, l->line, l->name, l->address_text, text);
		descriptor_close(&fd);
		return false;
	}
	if (is_ambiguous(s, conf, l)) {
		fprintf(report,
		    "pushgate: %s:%u: several sections or sockets of the service manager are for "
		    "the address %s; write their ports\n",
		    l->file, l->line, l->address_text);
		descriptor_close(&fd);
		return false;
	}
	(void)fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	struct listening *taken = sockets_take(s, &l->address, &at, 0, fd);
	if (!taken) {
		fprintf(report, "pushgate: two sockets of the service manager are at %s\n", text);
		descriptor_close(&fd);
		return false;
	}
	taken->listening = 1;
	taken->is_given = true;
	return true;
}

bool activation_take(struct sockets *s, const struct conf *conf, FILE *report)
{
	const char *names = getenv("LISTEN_FDNAMES");
	struct slice rest = slice_of_string(names ? names : "");
	unsigned count = count_given();
	bool is_good = true;
	for (unsigned i = 0; i < count; i++)
		if (!take(s, conf, slice_cut(&rest, ':'), FIRST + (int)i, report))
			is_good = false;
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	return is_good;
}
