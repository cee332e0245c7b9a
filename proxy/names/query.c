/* SPDX-License-Identifier: MIT */
/*
 * One question to the resolvers. Each try has a new socket, and so a new random port, and a new random id; the
 * kernel lets in datagrams from the resolver's address and port alone. An answer to another question is passed
 * over; after LIMIT_DNS_STRANGERS of them, or if the answer is truncated, the same resolver is asked over TCP.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/hash.h"
#include "proxy/base/memory.h"
#include "proxy/names/names_private.h"

/* Each resolver is asked so often before a query fails: a datagram may be lost. */
#define ROUNDS 2u
/* Sockets opened in one loop pass: a thousand names at the start delay no connection. */
#define ASKED_PER_PASS 8u

static void try_next(struct name_query *q);

/* ---- life ---- */

static void close_sockets(struct name_query *q)
{
	net_datagram_free(q->socket);
	q->socket = NULL;
	if (q->conn)
		net_conn_abort(q->conn);
	q->conn = NULL;
	free(q->input);
	q->input = NULL;
	q->received = q->capacity = 0;
}

static void ask_soon(struct names *n)
{
	net_timer_set(&n->ask, net_now(n->loop));
}

/* ---- the places of each client ---- */

static uint32_t *count_of(struct names *n, uint64_t client_key)
{
	for (size_t i = 0; i < n->client_count; i++)
		if (n->clients[i].client_key == client_key)
			return &n->clients[i].count;
	return NULL;
}

static bool may_begin(struct names *n, const struct name_query *q)
{
	const uint32_t *count = q->client_key ? count_of(n, q->client_key) : NULL;
	return !count || *count < LIMIT_DNS_QUERIES_OF_ONE;
}

/* It has a place from now on. */
static void begin(struct names *n, struct name_query *q)
{
	uint32_t *count = q->client_key ? count_of(n, q->client_key) : NULL;
	q->is_active = true;
	n->query_count++;
	if (count) {
		++*count;
	} else if (q->client_key) {
		n->clients[n->client_count].client_key = q->client_key;
		n->clients[n->client_count++].count = 1;
	}
}

static void give_place_back(struct names *n, const struct name_query *q)
{
	uint32_t *count = q->client_key ? count_of(n, q->client_key) : NULL;
	n->query_count--;
	if (!count || --*count > 0)
		return;
	for (size_t i = 0; i < n->client_count; i++)
		if (n->clients[i].client_key == q->client_key)
			n->clients[i] = n->clients[--n->client_count];
}

/* ---- the end ---- */

void name_query_stop(struct name_query *q)
{
	struct names *n = q->names;
	if (!n)
		return;
	close_sockets(q);
	net_timer_fini(&q->timer);
	list_remove(&q->link);
	q->names = NULL;
	if (q->is_active)
		give_place_back(n, q);
	if (!list_is_empty(&n->waiting))
		ask_soon(n);
}

static void finish(struct name_query *q, const struct dns_answer *answer)
{
	void (*done)(void *, const struct dns_answer *) = q->done;
	void *context = q->context;
	name_query_stop(q);
	done(context, answer);
}

/* ---- answers ---- */

static const char no_answer[] = "the resolver does not answer";
static const char no_answer_tcp[] = "the resolver does not answer over TCP";

bool names_error_is_late(const char *error)
{
	return error == no_answer || error == no_answer_tcp;
}

static void ask_over_tcp(struct name_query *q);

static void take(struct name_query *q, struct slice message)
{
	struct dns_answer answer;
	bool is_tcp = q->conn != NULL;
	dns_read_answer(message, &q->question, &answer);
	switch (answer.outcome) {
	case DNS_FOREIGN:
		if (is_tcp) {
			q->error = "the resolver answers another question";
			try_next(q);
		} else if (++q->strangers >= LIMIT_DNS_STRANGERS) {
			ask_over_tcp(q);
		}
		return;
	case DNS_TRUNCATED:
		q->error = "the resolver cuts off its answer";
		if (is_tcp)
			try_next(q);
		else
			ask_over_tcp(q);
		return;
	case DNS_FAILED:
		q->error = answer.error;
		try_next(q);
		return;
	case DNS_NEGATIVE:
	case DNS_ANSWERED:
		q->names->best_resolver = q->resolver;
		finish(q, &answer);
		return;
	}
}

/* ---- UDP ---- */

static void on_datagram(void *context, struct slice bytes, int error)
{
	struct name_query *q = context;
	if (error == 0) {
		take(q, bytes);
		return;
	}
	q->error = "there is no resolver at its address";
	try_next(q);
}

static bool ask_over_udp(struct name_query *q)
{
	uint8_t message[DNS_UDP_BYTES];
	struct names *n = q->names;
	hash_random(&q->question.id, sizeof(q->question.id));
	size_t length = dns_write_query(&q->question, message);
	q->error = "it cannot be asked for such a name";
	if (length == 0)
		return false;
	q->error = "there is no route to the resolver";
	q->strangers = 0;
	q->socket = net_datagram_new(n->loop, &n->resolvers[q->resolver], on_datagram, q);
	if (!q->socket || !net_datagram_send(q->socket, slice_of(message, length)))
		return false;
	q->error = no_answer;
	net_timer_set(&q->timer, net_now(n->loop) + n->timeout);
	return true;
}

/* ---- TCP (RFC 7766): two bytes of length before each message ---- */

static void on_open(void *owner)
{
	struct name_query *q = owner;
	net_conn_dirty(q->conn);
}

static void on_fill(void *owner, struct net_out *out)
{
	struct name_query *q = owner;
	uint8_t message[2 + DNS_UDP_BYTES];
	if (q->is_sent)
		return;
	size_t length = dns_write_query(&q->question, message + 2);
	message[0] = (uint8_t)(length >> 8);
	message[1] = (uint8_t)length;
	net_out_copy(out, message, 2 + length);
	q->is_sent = true;
}

/* Takes bytes until the length, and then the message, is complete. Returns how many it has taken. */
static size_t gather(struct name_query *q, struct slice bytes)
{
	if (q->received == q->capacity) {
		q->capacity = 2 + (q->received ? (size_t)(q->input[0] << 8 | q->input[1]) : 0);
		q->input = memory_resize(q->input, q->capacity, 1);
	}
	bytes = slice_sub(bytes, 0, q->capacity - q->received);
	memcpy(q->input + q->received, bytes.ptr, bytes.len);
	q->received += bytes.len;
	return bytes.len;
}

static void on_received(void *owner, struct chunk *chunk, size_t offset, size_t length)
{
	struct name_query *q = owner;
	struct slice bytes = slice_of(chunk->data + offset, length);
	while (bytes.len > 0) {
		bytes = slice_from(bytes, gather(q, bytes));
		bool is_empty = q->received == 2 && q->input[0] == 0 && q->input[1] == 0;
		if (is_empty || (q->received == q->capacity && q->capacity > 2)) {
			take(q, slice_of(q->input + 2, q->received - 2));
			return;
		}
	}
}

static void on_ended(void *owner, enum net_end end, const char *text)
{
	(void)end, (void)text;
	struct name_query *q = owner;
	q->error = no_answer_tcp;
	try_next(q);
}

static const struct net_conn_ops tcp_ops = {
    .opened = on_open, .received = on_received, .fill = on_fill, .ended = on_ended};

static void ask_over_tcp(struct name_query *q)
{
	struct names *n = q->names;
	close_sockets(q);
	q->is_sent = false;
	hash_random(&q->question.id, sizeof(q->question.id));
	net_timer_set(&q->timer, net_now(n->loop) + n->timeout);
	q->conn = net_connect(n->loop, &n->resolvers[q->resolver], NULL, NULL, &tcp_ops, q);
}

/* ---- one resolver after the other ---- */

static void try_next(struct name_query *q)
{
	close_sockets(q);
	net_timer_set(&q->timer, USEC_NEVER);
	list_append(&q->names->retrying, &q->link);
	ask_soon(q->names);
}

static void on_timer(void *context)
{
	try_next(context);
}

static void ask(struct name_query *q)
{
	struct names *n = q->names;
	ensure(n != NULL);
	while (q->tries < ROUNDS * n->resolver_count) {
		q->resolver = (q->first + q->tries++) % n->resolver_count;
		if (ask_over_udp(q))
			return;
		close_sockets(q);
	}
	struct dns_answer failure = {.outcome = DNS_FAILED, .error = q->error};
	finish(q, &failure);
}

/* The first that may begin: those of a client that has its part already are passed over. */
static struct name_query *next_waiting(struct names *n)
{
	if (n->query_count >= LIMIT_DNS_QUERIES)
		return NULL;
	list_for_each(&n->waiting, q, struct name_query, link)
	{
		if (may_begin(n, q))
			return q;
	}
	return NULL;
}

static struct name_query *take_next(struct names *n)
{
	struct name_query *q = list_first(&n->retrying, struct name_query, link);
	if (!q) {
		q = next_waiting(n);
		if (!q)
			return NULL;
		begin(n, q);
		q->first = n->best_resolver;
	}
	list_remove(&q->link);
	return q;
}

void name_query_ask_some(void *names)
{
	struct name_query *q;
	struct names *n = names;
	for (unsigned i = 0; i < ASKED_PER_PASS; i++) {
		if (!(q = take_next(n)))
			return;
		ask(q);
	}
	ask_soon(n);
}

void name_query_start(struct name_query *q, struct names *n, const char *host, enum dns_type type,
    void (*done)(void *context, const struct dns_answer *answer), void *context)
{
	*q = (struct name_query){
	    .names = n, .question = {.host = host, .type = type}, .done = done, .context = context};
	list_init(&q->link);
	net_timer_init(&q->timer, n->loop, on_timer, q);
	list_append(&n->waiting, &q->link);
	ask_soon(n);
}
