/* SPDX-License-Identifier: MIT */
/* Binds the listening sockets of all workers. Accepting is net/'s work, in each worker. */
#include "proxy/process/sockets.h"
#include "proxy/base/memory.h"
#include <errno.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 4096

static bool is_unix(const struct net_address *a)
{
	return a->storage.ss_family == AF_UNIX;
}

/*
 * SO_REUSEPORT lets a second pushgate of the same user bind the same port, and each would get half
 * of the connections. A bind without SO_REUSEPORT fails if a process already listens there. Other errors net_listen
 * has too, with a message.
 */
static const char *find_other_listener(const struct net_address *at)
{
	return net_listen_try(at) == EADDRINUSE ? strerrordesc_np(EADDRINUSE) : NULL;
}

/* With port 0 the kernel chooses a port. The other workers' sockets must use the same port. */
static void learn_port(int fd, struct net_address *at)
{
	struct net_address bound = {.length = sizeof(bound.storage)};
	if (getsockname(fd, &bound.any, &bound.length) == 0)
		*at = bound;
}

static const char *open_section(struct sockets *s, size_t index)
{
	struct net_address at = s->conf->listens[index].address;
	int *row = &s->fds[index * s->workers];
	const char *error = is_unix(&at) ? NULL : find_other_listener(&at);
	if (error)
		return error;
	for (uint32_t w = 0; w < s->workers; w++) {
		if (w > 0 && is_unix(&at)) {
			row[w] = row[0];
			continue;
		}
		row[w] = net_listen(&at, BACKLOG, &error);
		if (row[w] < 0)
			return error;
		if (w == 0)
			learn_port(row[w], &at);
	}
	return NULL;
}

bool sockets_open(
    struct sockets *s, const struct conf *conf, uint32_t workers, char *error, size_t error_size)
{
	size_t count = conf->listen_count * workers;
	*s = (struct sockets){conf, workers, memory_resize(NULL, count + 1, sizeof(int)), true};
	for (size_t i = 0; i < count; i++)
		s->fds[i] = -1;
	for (size_t i = 0; i < conf->listen_count; i++) {
		const struct conf_listen *l = &conf->listens[i];
		const char *why = open_section(s, i);
		if (!why)
			continue;
		snprintf(error, error_size, "cannot listen on %s: %s (listen section %s, %s:%u)",
		    l->address_text, why, l->name, l->file, l->line);
		sockets_fini(s);
		return false;
	}
	return true;
}

int sockets_of(const struct sockets *s, size_t listen, uint32_t worker)
{
	return s->fds[listen * s->workers + worker];
}

char *sockets_address(const struct sockets *s, size_t listen, char *buffer, size_t size)
{
	struct net_address at = s->conf->listens[listen].address;
	if (!is_unix(&at))
		learn_port(sockets_of(s, listen, 0), &at);
	return net_address_format(&at, buffer, size);
}

static void close_section(struct sockets *s, size_t listen)
{
	const struct net_address *at = &s->conf->listens[listen].address;
	int *row = &s->fds[listen * s->workers];
	int first = row[0];
	if (first >= 0 && is_unix(at) && s->owns_files)
		unlink(at->un.sun_path);
	for (uint32_t w = 0; w < s->workers; w++) {
		if (row[w] >= 0 && (w == 0 || row[w] != first))
			close(row[w]);
		row[w] = -1;
	}
}

void sockets_close(struct sockets *s)
{
	for (size_t i = 0; s->fds && i < s->conf->listen_count; i++)
		close_section(s, i);
}

void sockets_fini(struct sockets *s)
{
	sockets_close(s);
	free(s->fds);
	s->fds = NULL;
}
