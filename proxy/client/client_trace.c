/* SPDX-License-Identifier: MIT */
/*
 * Traces of client connections: each frame is a line, without its payload. The option `trace` sends
 * the lines to the error log, `pushgate trace` to its socket. No line waits for its reader: lines above the
 * log's rate, or for which the socket's buffer has no room, are left out and counted.
 */
#include "proxy/client/client_private.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

/* Lines of the option. A page with a hundred resources is some thousand frames. */
static const struct rate log_rate = {.per_second = 500, .burst = 5000};

/* ---- which clients ---- */

static bool is_logged(const struct clients *c, const struct address *client)
{
	const struct conf_server *conf = &c->env->conf->server;
	for (size_t i = 0; i < conf->traced_count; i++)
		if (cidr_contains(&conf->traced[i], client))
			return true;
	return false;
}

static bool is_sent(const struct client_trace *t, const struct address *client)
{
	return t->socket >= 0 && cidr_contains(&t->from, client);
}

bool client_is_traced(const struct client_conn *c)
{
	const struct client_traces *traces = &c->clients->traces;
	if (!traces->is_on)
		return false;
	for (size_t i = 0; i < LIMIT_TRACES; i++)
		if (is_sent(&traces->live[i], &c->address))
			return true;
	return is_logged(c->clients, &c->address);
}

/* A trace began or ended. */
static void update_conns(struct clients *clients)
{
	struct client_traces *traces = &clients->traces;
	traces->is_on = clients->env->conf->server.traced_count > 0;
	for (size_t i = 0; i < LIMIT_TRACES; i++)
		traces->is_on |= traces->live[i].socket >= 0;
	list_for_each(&clients->conns, c, struct client_conn, link) if (c->session)
	    session_trace(c->session, client_is_traced(c) ? c : NULL);
}

/* ---- the command's traces ---- */

static void tell_lost(struct client_trace *t)
{
	if (t->lost > 0 && observe_send(t->clients->env->observe, t->socket,
			       "trace: %u frames were left out here", t->lost))
		t->lost = 0;
}

static void end_trace(struct client_trace *t)
{
	tell_lost(t);
	close(t->socket);
	t->socket = -1;
	t->lost = 0;
	wheel_forget(worker_wheel(t->clients->env), &t->timer);
}

static void trace_expired(struct wheel_node *timer, usec now)
{
	struct client_trace *t = container_of(timer, struct client_trace, timer);
	(void)now;
	end_trace(t);
	update_conns(t->clients);
}

void client_traces_open(struct clients *c)
{
	for (size_t i = 0; i < LIMIT_TRACES; i++) {
		c->traces.live[i] = (struct client_trace){.clients = c, .socket = -1};
		wheel_node_init(&c->traces.live[i].timer, trace_expired);
	}
	c->traces.is_on = c->env->conf->server.traced_count > 0;
}

static bool reader_is_gone(const struct client_trace *t)
{
	char byte;
	ssize_t n = recv(t->socket, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
	return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static struct client_trace *find_room(struct client_traces *traces)
{
	for (size_t i = 0; i < LIMIT_TRACES; i++) {
		struct client_trace *t = &traces->live[i];
		if (t->socket >= 0 && reader_is_gone(t))
			end_trace(t);
		if (t->socket < 0)
			return t;
	}
	return NULL;
}

bool clients_trace(struct clients *c, const struct cidr *from, usec until, int socket)
{
	struct client_trace *t = find_room(&c->traces);
	if (!t)
		return false;
	t->from = *from;
	t->socket = socket;
	wheel_set(worker_wheel(c->env), &t->timer, until);
	update_conns(c);
	return true;
}

void client_traces_close(struct clients *c)
{
	for (size_t i = 0; i < LIMIT_TRACES; i++)
		if (c->traces.live[i].socket >= 0)
			end_trace(&c->traces.live[i]);
}

/* ---- lines ---- */

#define LINE_FORMAT "trace %.48s: client %s port %u: %s"

static void send_line(
    struct client_trace *t, const struct client_conn *c, const char *client, const char *line)
{
	tell_lost(t);
	if (t->lost == 0 && observe_send(t->clients->env->observe, t->socket, LINE_FORMAT,
				c->listener->conf->name, client, (unsigned)c->port, line))
		return;
	t->lost++;
	/* The command was ended. This may be a call of the session: end the trace outside of it. */
	if (errno != EAGAIN)
		wheel_set(worker_wheel(t->clients->env), &t->timer, t->clients->env->relay->now);
}

static void log_line(const struct client_conn *c, const char *client, const char *line)
{
	struct worker_env *env = c->clients->env;
	struct client_traces *traces = &c->clients->traces;
	if (!bucket_take(&traces->log_lines, &log_rate, 1, env->relay->now)) {
		traces->left_out++;
		env->observe->counters->log_left_out++;
		return;
	}
	if (traces->left_out > 0)
		observe_log(env->observe, OBSERVE_INFO, "trace: %u frames were left out here",
		    traces->left_out);
	traces->left_out = 0;
	observe_log(env->observe, OBSERVE_INFO, LINE_FORMAT, c->listener->conf->name, client,
	    (unsigned)c->port, line);
}

void client_trace_frame(void *conn, const char *line)
{
	const struct client_conn *c = conn;
	struct client_traces *traces = &c->clients->traces;
	char client[64];
	address_format(&c->address, client, sizeof(client));
	for (size_t i = 0; i < LIMIT_TRACES; i++)
		if (is_sent(&traces->live[i], &c->address))
			send_line(&traces->live[i], c, client, line);
	if (is_logged(c->clients, &c->address))
		log_line(c, client, line);
}
