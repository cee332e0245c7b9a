/* SPDX-License-Identifier: MIT */
/* Two connected engines; see pair.h. */
#include "tests/support/pair.h"

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/support/h2_inside.h"
#include "tests/support/seldom.h"
#include "proxy/limits.h"

#include <stdio.h>
#include <stdlib.h>

#define EXCHANGES 400u
#define PIPE_BYTES 300000u

/* One stream as both ends see it; arrays are indexed by the role of the end. */
struct exchange {
	uint32_t id;
	struct session_stream *at[2];
	bool known[2];  /* the end has, or had, a handle */
	bool over[2];   /* the handle is dead: by CLOSED, RESET or the owner's reset */
	bool closed[2]; /* the handle is dead by CLOSED */
	bool head_sent[2], head_got[2], end_sent[2], end_got[2];
	size_t planned[2], offered[2], sent[2], got[2], owed[2];
	bool trailers[2]; /* the end of the body is a trailer section; in a tunnel DATA all the same */
	bool is_tunnel;
};

struct end {
	struct session *conn;
	enum h2_role role;
	struct budget budget;
	struct h2_settings local;
	struct h2_config config;
	struct session_env env;
	uint8_t *pipe; /* output of this end that the other end has not read yet */
	size_t pipe_bytes;
	bool going_away;
};

struct pair {
	struct end end[2]; /* by role */
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct exchange all[EXCHANGES];
	uint32_t count;
	uint32_t random, seed;
	uint32_t steps; /* tests/support/seldom.h */
	struct slice input; /* the input that is left; then random numbers are used */
	usec now;
	bool may_leave; /* an end may shut down before all bodies are complete */
	bool finishing;
};

static uint32_t dice(struct pair *p, uint32_t sides)
{
	uint32_t n = 0;
	if (p->input.len > 0) {
		for (uint32_t most = 1; most < sides && p->input.len > 0; most *= 256) {
			n = n << 8 | (uint8_t)p->input.ptr[0];
			p->input = slice_from(p->input, 1);
		}
		return n % sides;
	}
	p->random ^= p->random << 13;
	p->random ^= p->random >> 17;
	p->random ^= p->random << 5;
	return (p->random >> 4) % sides;
}

/* Bodies are parts of one text, whose bytes repeat only after a prime number of them: a piece that is lost, doubled or
 * of another stream does not fit. */
#define TEXT_PERIOD 65521u
#define TEXT_PIECE 65536u /* no frame and no chunk is longer */

/* The next bytes, at most TEXT_PIECE, of the body that one end of a stream sends. */
static const uint8_t *text_of(uint32_t id, enum h2_role from, size_t at)
{
	static uint8_t text[TEXT_PERIOD + TEXT_PIECE];
	if (text[1] == 0)
		for (size_t i = 0; i < sizeof text; i++) {
			uint32_t n = (uint32_t)(i % TEXT_PERIOD + 1) * 2654435761u;
			text[i] = (uint8_t)(n >> 24 | 1);
		}
	return text + (at + (size_t)id * 97 + (size_t)from * 61) % TEXT_PERIOD;
}

static struct exchange *exchange_with(struct pair *p, uint32_t id)
{
	for (uint32_t i = 0; i < p->count; i++)
		if (p->all[i].id == id)
			return &p->all[i];
	fail_msg("seed %u: stream %u comes from nowhere", p->seed, id);
	return NULL;
}

static struct exchange *any_alive(struct pair *p, enum h2_role role)
{
	for (uint32_t tries = 0; tries < 20 && p->count > 0; tries++) {
		struct exchange *x = &p->all[dice(p, p->count)];
		if (x->at[role])
			return x;
	}
	return NULL;
}

/* ---- events ---- */

static void on_data(struct exchange *x, enum h2_role role, const struct session_event *e)
{
	struct slice bytes = e->piece.length ? piece_slice(e->piece) : SLICE("");
	enum h2_role from = role == H2_SERVER ? H2_CLIENT : H2_SERVER;
	assert_true(bytes.len <= TEXT_PIECE);
	if (bytes.len > 0)
		assert_int_equal(
		    memcmp(bytes.ptr, text_of(x->id, from, x->got[role]), bytes.len), 0);
	x->got[role] += bytes.len;
	x->owed[role] += bytes.len;
	assert_true(x->head_got[role]);
}

static void on_promise(struct pair *p, const struct session_event *e)
{
	assert_non_null(e->promised); /* our own promises are never malformed */
	struct exchange *x = exchange_with(p, h2_stream_id(e->promised));
	x->at[H2_CLIENT] = e->promised;
	x->known[H2_CLIENT] = true;
	session_set_user(e->promised, x);
	char path[32];
	snprintf(path, sizeof path, "/push/%u", x->id);
	assert_true(slice_equal(e->head->path, slice_of_string(path)));
}

static void on_over(struct exchange *x, enum h2_role role, const struct session_event *e)
{
	assert_false(x->over[role]);
	x->over[role] = true;
	x->closed[role] = e->kind == SESSION_EVENT_CLOSED;
	x->at[role] = NULL;
	if (x->closed[role])
		assert_true(x->end_got[role] || x->id % 2 == 0 || role == H2_SERVER);
}

static void on_event(struct pair *p, enum h2_role role, const struct session_event *e)
{
	struct end *end = &p->end[role];
	if (e->kind == SESSION_EVENT_FAILED)
		fail_msg("seed %u: the %s failed: %s", p->seed,
		    role == H2_SERVER ? "server" : "client", e->fault ? e->fault->name : "-");
	if (e->kind == SESSION_EVENT_GOAWAY)
		end->going_away = true;
	bool is_orphan = e->kind == SESSION_EVENT_PROMISE && e->fault == h2_fault(PROMISE_ORPHAN);
	if (e->fault && e->kind != SESSION_EVENT_RESET && !is_orphan)
		fail_msg("seed %u: fault %s", p->seed, e->fault->name);
	if (e->stream) {
		struct exchange *x = exchange_with(p, h2_stream_id(e->stream));
		if (e->kind == SESSION_EVENT_HEAD && !x->known[role]) {
			x->at[role] = e->stream;
			x->known[role] = true;
			session_set_user(e->stream, x);
		}
		assert_ptr_equal(x->at[role], e->stream);
		assert_false(x->end_got[role] && e->end);
		if (e->kind == SESSION_EVENT_HEAD)
			x->head_got[role] = true;
		if (e->kind == SESSION_EVENT_HEAD && role == H2_CLIENT)
			assert_int_equal(e->head->opens_tunnel,
			    x->is_tunnel && !http_head_is_interim(e->head));
		assert_false(x->is_tunnel && e->kind == SESSION_EVENT_TRAILERS);
		if (e->kind == SESSION_EVENT_DATA)
			on_data(x, role, e);
		if (e->end)
			x->end_got[role] = true;
		if (e->kind == SESSION_EVENT_PROMISE)
			on_promise(p, e);
		if (e->kind == SESSION_EVENT_RESET || e->kind == SESSION_EVENT_CLOSED)
			on_over(x, role, e);
	}
	http_head_free(e->head);
}

static size_t drain(struct pair *p, enum h2_role role)
{
	struct session_event e;
	size_t n = 0;
	for (memset(&e, 0, sizeof e); session_next_event(p->end[role].conn, &e);
	     memset(&e, 0, sizeof e), n++)
		on_event(p, role, &e);
	return n;
}

/* ---- bytes ---- */

static void puts_out(struct end *end, const void *bytes, size_t length)
{
	assert_true(end->pipe_bytes + length <= PIPE_BYTES);
	memcpy(end->pipe + end->pipe_bytes, bytes, length);
	end->pipe_bytes += length;
}

static void output_body(struct end *end, const struct session_output *frame)
{
	struct exchange *x = frame->stream->user;
	assert_non_null(x);
	assert_int_equal(h2_stream_id(frame->stream), x->id);
	assert_true(frame->length <= x->offered[end->role]);
	assert_true(frame->length <= TEXT_PIECE);
	puts_out(end, frame->before.ptr, 9);
	puts_out(end, text_of(x->id, end->role, x->sent[end->role]), frame->length);
	x->sent[end->role] += frame->length;
	x->offered[end->role] -= frame->length;
	if (frame->end)
		x->end_sent[end->role] = true;
}

static void moves_out(struct pair *p, enum h2_role role)
{
	struct end *end = &p->end[role];
	/* At the end all output is sent at once. */
	for (uint32_t rounds = p->finishing ? 100 : 1 + dice(p, 5);
	     rounds-- > 0 && end->pipe_bytes < PIPE_BYTES / 2;) {
		struct slice control = h2_control(end->conn);
		if (control.len > 0) {
			size_t n = p->finishing || dice(p, 2) ? control.len
							      : 1 + dice(p, (uint32_t)control.len);
			if (n > PIPE_BYTES / 3)
				n = PIPE_BYTES / 3;
			puts_out(end, control.ptr, n);
			h2_control_taken(end->conn, n);
			continue;
		}
		struct session_output frame;
		static const uint32_t mosts[] = {1, 100, 5000, 16384, 1 << 20};
		if (!h2_next_data(end->conn, mosts[p->finishing ? 3 : dice(p, 5)], &frame))
			break;
		output_body(end, &frame);
	}
	drain(p, role);
}

static void moves_in(struct pair *p, enum h2_role role)
{
	struct end *from = &p->end[role == H2_SERVER ? H2_CLIENT : H2_SERVER];
	if (from->pipe_bytes == 0)
		return;
	static const uint32_t mosts[] = {1, 9, 300, LIMIT_CHUNK_BYTES};
	uint32_t n = p->finishing ? LIMIT_CHUNK_BYTES : 1 + dice(p, mosts[dice(p, 4)]);
	if (n > from->pipe_bytes)
		n = (uint32_t)from->pipe_bytes;
	struct chunk *chunk = chunk_acquire(p->chunks);
	memcpy(chunk->data, from->pipe, n);
	from->pipe_bytes -= n;
	memmove(from->pipe, from->pipe + n, from->pipe_bytes);
	for (size_t at = 0; at < n;) {
		size_t used = session_receive(p->end[role].conn, chunk, at, n - at, p->now);
		assert_true(drain(p, role) > 0 || used > 0);
		at += used;
	}
	memset(chunk->data, 0xdd, n);
	chunk_release(chunk);
}

/* ---- actions of the owners ---- */

static struct http_head *head_of(
    struct pair *p, enum http_head_kind kind, const char *first, const char *path)
{
	struct http_head *head = http_head_new(p->heads);
	if (kind == HTTP_RESPONSE) {
		http_head_add(head, SLICE(":status"), slice_of_string(first));
	} else if (kind != HTTP_TRAILERS) {
		http_head_add(head, SLICE(":method"), slice_of_string(first));
		http_head_add(head, SLICE(":scheme"), SLICE("https"));
		http_head_add(head, SLICE(":authority"), SLICE("example.org"));
		http_head_add(head, SLICE(":path"), slice_of_string(path));
		if (strcmp(first, "CONNECT") == 0)
			http_head_add(head, SLICE(":protocol"), SLICE("websocket"));
	}
	head->allows_protocol = true;
	for (uint32_t i = dice(p, 4) + (kind == HTTP_TRAILERS); i-- > 0;) {
		char name[16], value[600];
		snprintf(name, sizeof name, "x-%u", dice(p, 20));
		size_t n = dice(p, 8) ? dice(p, 40) : dice(p, 599);
		for (size_t k = 0; k < n; k++)
			value[k] = (char)('a' + (k * 7 + n + (uint8_t)name[2]) % 26);
		http_head_add(head, slice_of_string(name), slice_of(value, n));
	}
	assert_null(http_head_validate(head, kind));
	return head;
}

static struct exchange *exchange_new(struct pair *p, enum h2_role role, struct session_stream *s)
{
	struct exchange *x = &p->all[p->count++];
	x->id = h2_stream_id(s);
	x->at[role] = s;
	x->known[role] = true;
	session_set_user(s, x);
	for (int i = 0; i < 2; i++) {
		x->planned[i] = dice(p, 3) ? dice(p, 3000) : dice(p, 4) ? dice(p, 100000) : 0;
		x->trailers[i] = dice(p, 5) == 0;
	}
	return x;
}

static void requests(struct pair *p)
{
	struct end *client = &p->end[H2_CLIENT];
	if (p->count == EXCHANGES || session_request_room(client->conn) == 0)
		return;
	uint32_t what = dice(p, 12);
	bool end = what % 2;
	bool is_tunnel = what == 0 && h2_peer_settings(client->conn)->enable_connect_protocol;
	const char *method = is_tunnel ? "CONNECT" : end ? "GET" : "POST";
	struct http_head *head = head_of(p, HTTP_REQUEST, method, "/page");
	struct session_stream *s = session_request(client->conn, head, end, NULL);
	http_head_free(head);
	assert_non_null(s);
	struct exchange *x = exchange_new(p, H2_CLIENT, s);
	x->head_sent[H2_CLIENT] = true;
	x->end_sent[H2_CLIENT] = end;
	x->is_tunnel = is_tunnel;
}

static void promises(struct pair *p)
{
	struct end *server = &p->end[H2_SERVER];
	struct exchange *parent = any_alive(p, H2_SERVER);
	if (!parent || p->count == EXCHANGES ||
	    h2_may_promise(server->conn, parent->at[H2_SERVER]) != H2_PROMISE_POSSIBLE)
		return;
	uint32_t next = 2;
	for (uint32_t i = 0; i < p->count; i++)
		if (p->all[i].id % 2 == 0 && p->all[i].id >= next)
			next = p->all[i].id + 2;
	char path[32];
	snprintf(path, sizeof path, "/push/%u", next);
	struct http_head *head = head_of(p, HTTP_PROMISE, "GET", path);
	struct session_stream *s = session_promise(server->conn, parent->at[H2_SERVER], head, NULL);
	http_head_free(head);
	assert_non_null(s);
	assert_int_equal(h2_stream_id(s), next);
	exchange_new(p, H2_SERVER, s);
}

static void responds(struct pair *p, struct exchange *x)
{
	struct end *server = &p->end[H2_SERVER];
	if (x->head_sent[H2_SERVER] || (x->id % 2 == 0 && session_push_room(server->conn) == 0))
		return;
	bool interim = dice(p, 4) == 0 && !p->finishing;
	bool end = !interim && dice(p, 6) == 0;
	struct http_head *head = head_of(p, HTTP_RESPONSE, interim ? "103" : "200", NULL);
	assert_true(session_respond(server->conn, x->at[H2_SERVER], head, end));
	http_head_free(head);
	x->head_sent[H2_SERVER] = !interim;
	x->end_sent[H2_SERVER] = end;
}

/* Offers more of the planned body, or its end. */
static void sends(struct pair *p, struct exchange *x, enum h2_role role)
{
	struct end *end = &p->end[role];
	if (!x->head_sent[role] || x->end_sent[role] || !x->at[role])
		return;
	size_t left = x->planned[role] - x->sent[role];
	if (left == 0 && x->trailers[role]) {
		struct http_head *head = head_of(p, HTTP_TRAILERS, NULL, NULL);
		assert_true(session_trailers(end->conn, x->at[role], head));
		http_head_free(head);
		x->end_sent[role] = true;
		drain(p, role);
		return;
	}
	size_t n = p->finishing || dice(p, 3) == 0 ? left : dice(p, (uint32_t)left + 1);
	x->offered[role] = n;
	session_offer(end->conn, x->at[role], n, n == left && !x->trailers[role]);
}

static void resets(struct pair *p, enum h2_role role)
{
	struct exchange *x = any_alive(p, role);
	if (!x)
		return;
	session_reset(p->end[role].conn, x->at[role], dice(p, 2) ? SESSION_CANCEL : SESSION_REFUSED_STREAM);
	x->at[role] = NULL;
	x->over[role] = true;
}

static void credits(struct pair *p, struct exchange *x, enum h2_role role)
{
	if (!x->at[role])
		return;
	size_t n =
	    p->finishing || dice(p, 2) ? x->owed[role] : dice(p, (uint32_t)x->owed[role] + 1);
	if (n > 0)
		session_credit(p->end[role].conn, x->at[role], n);
	x->owed[role] -= n;
}

static void changes_settings(struct pair *p, enum h2_role role)
{
	struct end *end = &p->end[role];
	static const uint32_t windows[] = {0, 1, 1000, 65535, 1 << 20};
	end->local.initial_window_size = windows[dice(p, 5)];
	if (role == H2_SERVER || dice(p, 2))
		end->local.max_concurrent_streams = dice(p, 40);
	if (role == H2_CLIENT && dice(p, 10) == 0)
		end->local.enable_push = 0;
	h2_update_settings(end->conn, &end->local, p->now);
}

static void acts(struct pair *p)
{
	enum h2_role role = (enum h2_role)dice(p, 2);
	struct exchange *x = any_alive(p, role);
	switch (dice(p, 16)) {
	case 0:
	case 1:
		requests(p);
		break;
	case 2:
		promises(p);
		break;
	case 3:
	case 4:
	case 5:
		if (x && role == H2_SERVER && (x->id % 2 == 0 || x->head_got[H2_SERVER]))
			responds(p, x);
		break;
	case 6:
	case 7:
	case 8:
	case 9:
		if (x)
			sends(p, x, role);
		break;
	case 10:
	case 11:
	case 12:
		if (x)
			credits(p, x, role);
		break;
	case 13:
		if (dice(p, 6) == 0)
			resets(p, role);
		break;
	case 14:
		if (dice(p, 20) == 0)
			changes_settings(p, role);
		else if (dice(p, 10) == 0)
			session_ping(p->end[role].conn, p->now);
		else if (p->may_leave && dice(p, 40) == 0)
			session_shutdown(p->end[role].conn, p->now);
		break;
	case 15:
		if (x)
			session_set_priority(p->end[role].conn, x->at[role],
			    (struct http_priority){(uint8_t)dice(p, 8), dice(p, 2)});
		if (x && dice(p, 5) == 0)
			session_widen(p->end[role].conn, x->at[role], dice(p, 200000));
		break;
	}
}

/* ---- the run ---- */

static void end_init(struct pair *p, enum h2_role role)
{
	struct end *end = &p->end[role];
	static const struct rate endless = {1000000, 1000000};
	struct h2_limits limits = h2_limits_default;
	limits.resets_received = limits.resets_provoked = limits.pings = limits.settings = endless;
	limits.priorities = limits.empty_frames = limits.window_updates = endless;
	limits.promises = limits.field_blocks = limits.expansion = endless;
	limits.control_bytes = 1 << 24;
	limits.reserved_streams = 20;
	limits.connection_window = 65535 + dice(p, 200000);
	end->role = role;
	end->local = h2_settings_initial;
	end->local.initial_window_size = dice(p, 2) ? 65535 : dice(p, 5000);
	end->local.enable_connect_protocol = role == H2_SERVER;
	end->local.max_concurrent_streams = 5 + dice(p, 50);
	end->local.max_frame_size = 16384 + dice(p, 2) * dice(p, 30000);
	end->local.header_table_size = dice(p, 3) ? 4096 : dice(p, 10000);
	budget_init(&end->budget, NULL, (size_t)1 << 28);
	end->pipe = malloc(PIPE_BYTES);
	end->config = (struct h2_config){role, end->local, limits};
	end->env = (struct session_env){.heads = p->heads, .seed = p->seed};
	const struct session_conn conn = {.budget = &end->budget};
	end->conn = h2_new(&end->config, &end->env, &conn, p->now);
}

static void step(struct pair *p)
{
	bool is_looked_at = seldom(&p->steps);
	p->now += dice(p, 1000);
	moves_out(p, H2_CLIENT);
	moves_out(p, H2_SERVER);
	moves_in(p, H2_CLIENT);
	moves_in(p, H2_SERVER);
	for (int i = 0; i < 2; i++) {
		session_tick(p->end[i].conn, p->now);
		drain(p, (enum h2_role)i);
		if (is_looked_at)
			session_check(p->end[i].conn);
	}
}

/* Answers every request, sends every body and gives all credit, with windows large enough. */
static bool finish(struct pair *p)
{
	bool busy = false;
	for (uint32_t i = 0; i < p->count; i++) {
		struct exchange *x = &p->all[i];
		for (int role = 0; role < 2; role++) {
			if (!x->at[role])
				continue;
			busy = true;
			if (role == H2_SERVER && (x->id % 2 == 0 || x->head_got[H2_SERVER]))
				responds(p, x);
			if (x->at[role] && (x->id % 2 || role == H2_SERVER))
				sends(p, x, (enum h2_role)role);
			credits(p, x, (enum h2_role)role);
		}
	}
	step(p);
	for (int i = 0; i < 2; i++)
		busy |= p->end[i].pipe_bytes > 0 || session_wants_write(p->end[i].conn);
	return busy;
}

static void accounts(struct pair *p, struct pair_totals *totals)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const struct exchange *x = &p->all[i];
		totals->exchanges++;
		totals->pushes += x->id % 2 == 0 && x->got[H2_CLIENT] > 0;
		totals->bytes += x->got[0] + x->got[1];
		*(x->closed[0] && x->closed[1] ? &totals->closed : &totals->reset) += 1;
		for (int role = 0; role < 2; role++) {
			if (x->known[role] && !x->over[role])
				fail_msg("seed %u: stream %u is not over at end %d", p->seed, x->id,
				    role);
			int other = !role;
			assert_true(x->got[role] <= x->sent[other]);
			if (x->end_got[role])
				assert_int_equal(x->got[role], x->sent[other]);
			if (x->closed[0] && x->closed[1] && x->end_got[role] &&
			    x->end_sent[other] && x->sent[other])
				assert_int_equal(x->sent[other], x->planned[other]);
		}
		if (x->closed[0] && x->closed[1] && x->id % 2)
			assert_true(x->end_got[0] && x->end_got[1]);
	}
}

void pair_run(uint32_t seed, struct slice input, struct pair_totals *totals)
{
	struct pair *p = calloc(1, sizeof *p);
	p->seed = seed;
	p->input = input;
	p->random = seed * 2654435761u + 1;
	p->now = 1000000;
	p->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 4);
	p->heads = http_head_pool_new(4);
	end_init(p, H2_SERVER);
	end_init(p, H2_CLIENT);
	p->may_leave = dice(p, 8) == 0;
	uint32_t steps = input.len ? 0 : 500 + dice(p, 3000);
	while (p->input.len > 0 || steps-- > 0) {
		acts(p);
		step(p);
	}
	p->finishing = true;
	for (int role = 0; role < 2; role++) {
		struct end *end = &p->end[role];
		end->local.initial_window_size = 1 << 20;
		end->local.max_concurrent_streams = 100;
		h2_update_settings(end->conn, &end->local, p->now);
	}
	uint32_t rounds = 0;
	while (finish(p))
		if (++rounds == 100000)
			fail_msg("seed %u: it does not come to an end", seed);
	session_shutdown(p->end[dice(p, 2)].conn, p->now);
	while (finish(p))
		if (++rounds == 200000)
			fail_msg("seed %u: the shutdown does not come to an end", seed);
	accounts(p, totals);
	for (int role = 0; role < 2; role++) {
		struct end *end = &p->end[role];
		assert_false(session_has_failed(end->conn));
		assert_int_equal(h2_open_streams(end->conn), 0);
		assert_true(session_is_done(end->conn));
		session_free(end->conn);
		budget_fini(&end->budget);
		free(end->pipe);
	}
	chunk_pool_free(p->chunks);
	http_head_pool_free(p->heads);
	free(p);
}
