/* SPDX-License-Identifier: MIT */
/*
 * Addresses to listen on or to connect from, and the status socket: whether a start can bind them, and which process has
 * them.
 */
#include "proxy/process/holder.h"
#include "proxy/process/start_needs.h"
#include "proxy/process/status.h"
#include <errno.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* Whether a socket unit has it; says so. To a start under systemd that is handed over. */
static bool is_of_manager(struct start_needs *n, struct conf_place place, const char *address,
    const struct holder *holder)
{
	if (strncmp(holder->text, "systemd ", strlen("systemd ")) != 0)
		return false;
	start_needs_report(n, n->is_check ? NEED_NOTE : NEED_PASSING, place,
	    n->is_check ? "%s is in use by %s, which hands it over when it starts pushgate"
			: "%s is in use by %s, which hands it over only to what it starts; let "
			  "systemd start pushgate again, or choose another address",
	    address, holder->text);
	return true;
}

/* ---- unix sockets ---- */

/* The process that made the socket that listens at this path; 0 and errno: none answers. */
static pid_t find_listener(const struct net_address *at)
{
	struct ucred peer = {.pid = 0};
	socklen_t length = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	bool is_heard = connect(fd, &at->any, at->length) == 0;
	int error = errno;
	if (is_heard && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || !peer.pid))
		peer.pid = HOLDER_ELSEWHERE;
	close(fd);
	errno = error;
	return peer.pid;
}

static void report_taken_path(struct start_needs *n, struct conf_place place, const char *key,
    const char *path, const struct holder *holder)
{
	start_needs_report(n, NEED_PASSING, place,
	    "%s %s is in use by %s; end that or name another path", key, path, holder->text);
}

/* Returns the process that listens there; 0: the path is free, or a finding was reported. */
static pid_t examine_unix(
    struct start_needs *n, struct conf_place place, const char *key, const struct net_address *at)
{
	const char *path = at->un.sun_path;
	struct stat st;
	bool exists = start_needs_can_make(n, place, key, path) && lstat(path, &st) == 0;
	if (!exists)
		return 0;
	if (!S_ISSOCK(st.st_mode)) {
		start_needs_report(n, NEED_FAULT, place,
		    "%s %s exists and is no socket; remove it or name another path", key, path);
		return 0;
	}
	pid_t pid = find_listener(at);
	if (!pid && errno != ECONNREFUSED)
		start_needs_report(n, NEED_PASSING, place,
		    "%s %s is a socket that cannot be asked whether a process listens there: %m; "
		    "see `ss -lxp` or name another path",
		    key, path);
	return pid;
}

void start_needs_status_socket(struct start_needs *n)
{
	struct net_address at;
	struct holder holder;
	const char *path = n->conf->server.status_socket;
	struct conf_place place = conf_find_place(n->conf, "server", 0, "status-socket", 0);
	if (!path || n->keeps_files || (n->own_status && strcmp(path, n->own_status) == 0))
		return;
	const char *wrong = status_address(path, &at);
	if (wrong) {
		start_needs_report(n, NEED_FAULT, place,
		    "status-socket %s cannot be used: %s; name another path", path, wrong);
		return;
	}
	pid_t pid = examine_unix(n, place, "status-socket", &at);
	if (!pid)
		return;
	holder_of_pid(pid, &holder);
	bool is_pushgate = strncmp(holder.text, "pushgate", strlen("pushgate")) == 0;
	if (is_pushgate)
		n->running = pid;
	if (is_pushgate && n->is_check)
		start_needs_report(n, NEED_NOTE, place,
		    "%s answers on status-socket %s, so it runs with this configuration; the "
		    "addresses that it has are taken for this start's",
		    holder.text, path);
	else
		report_taken_path(n, place, "status-socket", path, &holder);
}

/* ---- TCP ---- */

static bool is_tcp(const struct conf_listen *l)
{
	return l->address.any.sa_family != AF_UNIX;
}

/* Equal addresses are a mistake of the configuration already. */
static bool is_taken_by_another_section(
    struct start_needs *n, size_t index, struct conf_place place)
{
	const struct conf_listen *l = &n->conf->listens[index];
	for (size_t i = 0; i < index; i++) {
		const struct conf_listen *other = &n->conf->listens[i];
		if (!is_tcp(other) || !net_address_overlaps(&other->address, &l->address))
			continue;
		struct conf_place at = conf_find_place(n->conf, "listen", i, "address", 0);
		start_needs_report(n, NEED_FAULT, place,
		    "%s and %s of [listen %s] at %s:%u need the same port; choose another port, "
		    "or remove one of them",
		    l->address_text, other->address_text, other->name, at.file, at.line);
		return true;
	}
	return false;
}

static void report_taken_port(
    struct start_needs *n, const struct conf_listen *l, struct conf_place place)
{
	struct holder holder;
	bool is_known = holder_of_port(&l->address, n->running, &holder);
	if (is_known && n->is_check && holder.pid && holder.pid == n->running)
		return;
	if (is_known && is_of_manager(n, place, l->address_text, &holder))
		return;
	if (is_known)
		start_needs_report(n, NEED_PASSING, place,
		    "%s is in use by %s; stop it or choose another port", l->address_text,
		    holder.text);
	else
		start_needs_report(n, NEED_PASSING, place,
		    "%s is in use, and no process is seen that listens there; look with "
		    "`ss -tanp 'sport = :%u'` or choose another port",
		    l->address_text, net_address_port(&l->address));
}

static void examine_tcp(struct start_needs *n, size_t index, struct conf_place place)
{
	const struct conf_listen *l = &n->conf->listens[index];
	uint16_t port = net_address_port(&l->address);
	if (port != 0 && is_taken_by_another_section(n, index, place))
		return;
	if (n->own && sockets_overlap(n->own, &l->address))
		return;
	int error = net_listen_try(&l->address, l->may_come_later);
	if (error == EADDRINUSE)
		report_taken_port(n, l, place);
	else if (error == EADDRNOTAVAIL)
		start_needs_report(n, NEED_PASSING, place,
		    "this machine has no address %s; see `ip address`, correct it, or write *:%u "
		    "for all addresses",
		    l->address_text, port);
	else if (error == EACCES || error == EPERM)
		start_needs_report(n, NEED_FAULT, place,
		    "this user may not listen on port %u of %s; start pushgate as root or with "
		    "the capability NET_BIND_SERVICE, or choose a port from 1024 on",
		    port, l->address_text);
	else if (error)
		start_needs_report(n, NEED_FAULT, place,
		    "cannot listen on %s: %s; choose another address", l->address_text,
		    strerror(error));
}

void start_needs_addresses(struct start_needs *n)
{
	for (size_t i = 0; i < n->conf->listen_count; i++) {
		const struct conf_listen *l = &n->conf->listens[i];
		struct conf_place place = conf_find_place(n->conf, "listen", i, "address", 0);
		if (is_tcp(l)) {
			examine_tcp(n, i, place);
			continue;
		}
		if (n->own && sockets_have(n->own, &l->address))
			continue;
		pid_t pid = examine_unix(n, place, "address", &l->address);
		if (!pid || (n->is_check && pid == n->running))
			continue;
		struct holder holder;
		holder_of_pid(pid, &holder);
		if (!is_of_manager(n, place, l->address_text, &holder))
			report_taken_path(n, place, "address", l->address_text, &holder);
	}
}

/* ---- source-address ---- */

/* It may come later: until then connections fail. */
static void examine_source(
    struct start_needs *n, struct conf_place place, const struct net_address *at)
{
	char text[NET_ADDRESS_TEXT];
	struct address ip;
	int error = at->length > 0 ? net_listen_try(at, false) : 0;
	if (!error)
		return;
	net_address_ip(at, &ip);
	address_format(&ip, text, sizeof(text));
	if (error == EADDRNOTAVAIL)
		start_needs_report(n, NEED_WARNING, place,
		    "this machine has no address %s; see `ip address` and correct source-address: "
		    "without it no connection to the origin can be opened",
		    text);
	else
		start_needs_report(n, NEED_WARNING, place,
		    "connections cannot begin at source-address %s: %s; choose another address",
		    text, strerror(error));
}

void start_needs_sources(struct start_needs *n)
{
	for (size_t i = 0; i < n->conf->origin_count; i++) {
		const struct net_source *source = &n->conf->origins[i].source;
		struct conf_place place =
		    conf_find_place(n->conf, "origin", i, "source-address", 0);
		examine_source(n, place, &source->ipv4);
		examine_source(n, place, &source->ipv6);
	}
}
