/* SPDX-License-Identifier: MIT */
/* Binds the listening sockets of all workers. Accepting is net/'s work, in each worker. */
#include "proxy/process/sockets.h"
#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include <errno.h>
#include <sys/un.h>
#include <unistd.h>

static bool is_unix(const struct net_address *a)
{
	return a->any.sa_family == AF_UNIX;
}

bool sockets_have(const struct sockets *s, const struct net_address *asked)
{
	for (size_t i = 0; i < s->count; i++)
		if (net_address_equal(&s->all[i]->asked, asked))
			return true;
	return false;
}

bool sockets_overlap(const struct sockets *s, const struct net_address *asked)
{
	for (size_t i = 0; i < s->count; i++)
		if (!is_unix(asked) && !is_unix(&s->all[i]->at) &&
		    net_address_overlaps(&s->all[i]->at, asked))
			return true;
	return false;
}

/* ---- one address ---- */

/* All workers accept from one socket: a second one cannot be bound. */
static bool is_single(const struct listening *l)
{
	return l->is_given || is_unix(&l->asked);
}

/*
 * SO_REUSEPORT lets a second pushgate of the same user bind the same port, and each would get half
 * of the connections. A bind without SO_REUSEPORT fails if a process already listens there. Other errors net_bind
 * has too, with a message. Sockets of our own say nothing about other processes.
 */
static const char *find_other_listener(
    const struct sockets *s, const struct net_address *at, bool is_free)
{
	if (is_unix(at) || sockets_overlap(s, at))
		return NULL;
	return net_listen_try(at, is_free) == EADDRINUSE ? strerrordesc_np(EADDRINUSE) : NULL;
}

/* With port 0 the kernel chooses a port. The other workers' sockets must use the same port. */
static void learn_port(int fd, struct net_address *at)
{
	struct net_address bound = {.length = NET_ADDRESS_BYTES};
	if (!is_unix(at) && getsockname(fd, &bound.any, &bound.length) == 0)
		*at = bound;
}

/* Binds sockets until there is one for each worker. Returns NULL, or the error as text. */
static const char *extend(struct listening *l, uint32_t workers)
{
	const char *error = NULL;
	uint32_t wanted = is_single(l) ? 1 : workers;
	if (l->count < wanted)
		l->fds = memory_resize(l->fds, wanted, sizeof(*l->fds));
	while (l->count < wanted) {
		int fd = net_bind(&l->at, l->may_come_later, &error);
		if (fd < 0)
			return error;
		l->fds[l->count++] = fd;
		learn_port(fd, &l->at);
	}
	return NULL;
}

/* Idempotent. */
static void close_sockets(struct listening *l, bool owns_file)
{
	if (l->count > 0 && l->fds[0] >= 0 && is_unix(&l->asked) && !l->is_given && owns_file)
		unlink(l->asked.un.sun_path);
	for (uint32_t i = 0; i < l->count; i++)
		descriptor_close(&l->fds[i]);
}

static void free_listening(struct listening *l, bool owns_file)
{
	close_sockets(l, owns_file);
	free(l->fds);
	free(l);
}

/* ---- the set ---- */

static bool has(const struct sockets_share *share, const struct listening *l)
{
	for (size_t i = 0; i < share->conf->listen_count; i++)
		if (share->sections[i] == l)
			return true;
	return false;
}

static struct listening *add(
    struct sockets *s, const struct net_address *asked, const struct net_address *at)
{
	struct listening *l = memory_new(struct listening);
	l->asked = *asked;
	l->at = *at;
	s->all = memory_resize(s->all, s->count + 1, sizeof(*s->all));
	return s->all[s->count++] = l;
}

/* The address, bound before or now; port 0 may be asked for several times. NULL with *error. */
static struct listening *take(
    const struct sockets_share *share, const struct conf_listen *conf, const char **error)
{
	const struct net_address *asked = &conf->address;
	struct sockets *s = share->from;
	for (size_t i = 0; i < s->count; i++)
		if (net_address_equal(&s->all[i]->asked, asked) && !has(share, s->all[i]))
			return s->all[i];
	*error = find_other_listener(s, asked, conf->may_come_later);
	if (*error)
		return NULL;
	return add(s, asked, asked);
}

struct listening *sockets_take(struct sockets *s, const struct net_address *asked,
    const struct net_address *at, uint32_t nth, int fd)
{
	struct listening *l = NULL;
	for (size_t i = 0; i < s->count && !l; i++)
		if (net_address_equal(&s->all[i]->asked, asked) &&
		    net_address_equal(&s->all[i]->at, at))
			l = s->all[i];
	if (nth != (l ? l->count : 0))
		return NULL;
	if (!l)
		l = add(s, asked, at);
	l->fds = memory_resize(l->fds, l->count + 1, sizeof(*l->fds));
	l->fds[l->count++] = fd;
	return l;
}

void sockets_fini(struct sockets *s)
{
	for (size_t i = 0; i < s->count; i++)
		free_listening(s->all[i], s->owns_files);
	free(s->all);
	s->all = NULL;
	s->count = 0;
}

static void drop(struct sockets *s, size_t i)
{
	free_listening(s->all[i], s->owns_files);
	s->all[i] = s->all[--s->count];
	if (s->count == 0)
		sockets_fini(s);
}

static void release(struct sockets *s, struct listening *l)
{
	size_t i = 0;
	if (--l->users > 0)
		return;
	while (s->all[i] != l)
		i++;
	drop(s, i);
}

void sockets_drop_unused(struct sockets *s)
{
	for (size_t i = s->count; i-- > 0;)
		if (s->all[i]->users == 0)
			drop(s, i);
}

bool sockets_is_shared(const struct sockets_share *share, size_t section)
{
	return share->sections[section]->users > 1;
}

void sockets_return(struct sockets_share *share)
{
	for (size_t i = 0; share->sections && i < share->conf->listen_count; i++)
		if (share->sections[i])
			release(share->from, share->sections[i]);
	free(share->sections);
	share->sections = NULL;
}

static void say(const struct conf_listen *l, const char *why, char *error, size_t error_size)
{
	snprintf(error, error_size, "cannot listen on %s: %s (listen section %s, %s:%u)",
	    l->address_text, why, l->name, l->file, l->line);
}

bool sockets_borrow(struct sockets *s, struct sockets_share *share, const struct conf *conf,
    uint32_t workers, char *error, size_t error_size)
{
	*share = (struct sockets_share){
	    s, conf, workers, memory_zalloc((conf->listen_count + 1) * sizeof(*share->sections))};
	for (size_t i = 0; i < conf->listen_count; i++) {
		const char *why = NULL;
		struct listening *l = take(share, &conf->listens[i], &why);
		share->sections[i] = l;
		if (l) {
			l->users++;
			l->may_come_later = conf->listens[i].may_come_later;
			why = extend(l, workers);
		}
		if (!why)
			continue;
		say(&conf->listens[i], why, error, error_size);
		sockets_return(share);
		return false;
	}
	return true;
}

static uint32_t count_wanted(const struct sockets_share *share, const struct listening *l)
{
	return is_single(l) ? 1 : share->workers;
}

/* Returns NULL, or the error as text. */
static const char *listen_on(struct listening *l, uint32_t wanted, uint32_t backlog)
{
	const char *error = NULL;
	/* Of a socket that the service manager has opened, the manager has chosen it. */
	for (uint32_t i = 0; i < l->listening && !l->is_given && l->backlog != backlog && !error;
	     i++)
		error = net_listen_on(l->fds[i], (int)backlog);
	l->backlog = backlog;
	/* Until all has succeeded, new connections go to those alone from which someone accepts. */
	if (l->listening > 0 && l->listening < wanted && !l->is_shared_out)
		l->is_shared_out = net_listen_share(l->fds[0], l->listening);
	while (!error && l->listening < wanted &&
	       !(error = net_listen_on(l->fds[l->listening], (int)backlog)))
		l->listening++;
	return error;
}

/* Of addresses on which nothing listens yet, or of the others. */
static bool listen_on_all(
    const struct sockets_share *share, bool are_new, char *error, size_t error_size)
{
	for (size_t i = 0; i < share->conf->listen_count; i++) {
		struct listening *l = share->sections[i];
		const char *why = NULL;
		if ((l->listening == 0) == are_new)
			why = listen_on(l, count_wanted(share, l), share->conf->listens[i].backlog);
		if (!why)
			continue;
		say(&share->conf->listens[i], why, error, error_size);
		return false;
	}
	return true;
}

bool sockets_listen(const struct sockets_share *share, char *error, size_t error_size)
{
	/* New addresses first: these may be taken by now, and are closed when the share is returned. */
	if (!listen_on_all(share, true, error, error_size) ||
	    !listen_on_all(share, false, error, error_size))
		return false;
	for (size_t i = 0; i < share->conf->listen_count; i++) {
		struct listening *l = share->sections[i];
		uint32_t wanted = count_wanted(share, l);
		/* A kernel that cannot gives the left ones their part: who accepts from them has more. */
		if (l->listening > wanted || l->is_shared_out)
			l->is_shared_out = net_listen_share(l->fds[0], wanted);
	}
	return true;
}

int sockets_of(const struct sockets_share *share, size_t section, uint32_t worker, uint32_t nth)
{
	const struct listening *l = share->sections[section];
	uint32_t at = is_single(l) ? nth : worker + nth * share->workers;
	/* Those left over that do not listen were bound for workers that never came up. */
	return at < l->listening || (nth == 0 && at < l->count) ? l->fds[at] : -1;
}

char *sockets_address(const struct sockets_share *share, size_t section, char *buffer, size_t size)
{
	return net_address_format(&share->sections[section]->at, buffer, size);
}

void sockets_close(struct sockets *s, const struct sockets_share *but)
{
	for (size_t i = 0; i < s->count; i++)
		if (!but || !has(but, s->all[i]))
			close_sockets(s->all[i], s->owns_files);
}
