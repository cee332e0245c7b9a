/* SPDX-License-Identifier: MIT */
/* See script_peer.h. */
#include "tests/support/script_peer.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdio.h>
#include <stdlib.h>

/* All peers of the running test; they are freed with their world. */
#define PEERS 64u

struct script_book {
	struct script_peer *clients[PEERS], *origins[GATE_SITES][PEERS];
	size_t client_count, origin_count[GATE_SITES];
};

static void on_opened(void *owner)
{
	struct script_peer *p = owner;
	net_conn_dirty(p->net);
}

static void on_received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct script_peer *p = owner;
	p->came += length;
	if (p->forgets)
		return;
	ensure(p->in_bytes + length < sizeof(p->in));
	for (size_t i = 0; i < length; i++) { /* the transcript is a string */
		char byte = (char)chunk->data[offset + i];
		p->in[p->in_bytes++] = byte ? byte : '0';
	}
	p->in[p->in_bytes] = '\0';
}

static void on_fill(void *owner, struct net_out *out)
{
	struct script_peer *p = owner;
	size_t room = net_out_room(out), left = p->out_bytes - p->out_sent, n = left < room ? left : room;
	if (n == 0)
		return;
	net_out_copy(out, p->out + p->out_sent, n);
	p->out_sent += n;
	if (p->out_sent == p->out_bytes)
		p->out_bytes = p->out_sent = 0;
}

static void on_ended(void *owner, enum net_end end, const char *text)
{
	struct script_peer *p = owner;
	(void)text;
	p->end = end;
	script_abort(p);
}

static const struct net_conn_ops ops = {
    .opened = on_opened,
    .received = on_received,
    .fill = on_fill,
    .ended = on_ended,
};

void script_abort(struct script_peer *p)
{
	if (p->net)
		net_conn_abort(p->net);
	p->net = NULL;
	p->ended = true;
}

static void free_book(struct gate_world *w)
{
	struct script_book *book = w->book;
	for (size_t i = 0; i < book->client_count + book->origin_count[0] + book->origin_count[1]; i++) {
		size_t j = i;
		struct script_peer *p;
		if (j < book->client_count)
			p = book->clients[j];
		else if ((j -= book->client_count) < book->origin_count[0])
			p = book->origins[0][j];
		else
			p = book->origins[1][j - book->origin_count[0]];
		script_abort(p);
		free(p->out);
		free(p);
	}
	free(book);
}

static struct script_book *book_of(struct gate_world *w)
{
	if (!w->book) {
		w->book = memory_new(struct script_book);
		w->free_book = free_book;
	}
	return w->book;
}

static struct script_peer *peer_new(struct gate_world *w)
{
	struct script_peer *p = memory_new(struct script_peer);
	p->world = w;
	return p;
}

void script_put(struct script_peer *p, const char *bytes, size_t n)
{
	if (!p->net)
		return;
	if (!p->out || p->out_bytes + n > p->out_room) {
		p->out_room = 2 * (p->out_bytes + n);
		p->out = realloc(p->out, p->out_room);
		ensure(p->out);
	}
	memcpy(p->out + p->out_bytes, bytes, n);
	p->out_bytes += n;
	if (net_conn_is_open(p->net))
		net_conn_dirty(p->net);
}

void script_say(struct script_peer *p, const char *format, ...)
{
	char text[4096];
	va_list list;
	va_start(list, format);
	int n = vsnprintf(text, sizeof(text) - 1, format, list);
	va_end(list);
	ensure(n >= 0 && (size_t)n < sizeof(text) - 1);
	text[n] = '\n';
	script_put(p, text, (size_t)n + 1);
}

struct script_peer *script_client_mute(struct gate_world *w, struct net_tls *tls, const char *server_name)
{
	struct script_book *book = book_of(w);
	ensure(book->client_count < PEERS);
	struct script_peer *p = peer_new(w);
	book->clients[book->client_count++] = p;
	p->net = net_connect(w->loop, &w->at, tls, server_name, &ops, p);
	return p;
}

struct script_peer *script_client(struct gate_world *w)
{
	struct script_peer *p = script_client_mute(w, NULL, NULL);
	script_say(p, "script/1");
	script_say(p, "ready 100 65535 1");
	return p;
}

static void adopt(struct gate_site *site, int fd)
{
	struct script_book *book = book_of(site->world);
	size_t index = (size_t)(site - site->world->sites);
	ensure(book->origin_count[index] < PEERS);
	struct script_peer *p = peer_new(site->world);
	book->origins[index][book->origin_count[index]++] = p;
	p->net = net_conn_new(site->world->loop, fd, site->options.tls, &ops, p);
}

void script_site(struct gate_site *site)
{
	site->adopt = adopt;
}

size_t script_origins(const struct gate_site *site)
{
	const struct script_book *book = site->world->book;
	return book ? book->origin_count[site - site->world->sites] : 0;
}

struct script_peer *script_origin(struct gate_site *site, size_t n)
{
	UNTIL(site->world, script_origins(site) > n);
	const struct script_book *book = site->world->book;
	return book->origins[site - site->world->sites][n];
}

bool script_saw(const struct script_peer *p, const char *text)
{
	return strstr(p->in, text) != NULL;
}

size_t script_times(const struct script_peer *p, const char *text)
{
	size_t n = 0;
	for (const char *at = p->in; (at = strstr(at, text)) != NULL; at++)
		n++;
	return n;
}

size_t script_body(const struct script_peer *p, unsigned id)
{
	char with[32], without[32];
	size_t sum = 0;
	snprintf(with, sizeof(with), "data %u. ", id);
	snprintf(without, sizeof(without), "data %u ", id);
	for (const char *at = p->in; *at; at++) {
		const char *head = strncmp(at, with, strlen(with)) == 0 ? with
		    : strncmp(at, without, strlen(without)) == 0	    ? without
									    : NULL;
		if (head)
			sum += (size_t)strtoul(at + strlen(head), NULL, 10);
	}
	return sum;
}
