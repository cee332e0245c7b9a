/* SPDX-License-Identifier: MIT */
/*
 * Our engine against libnghttp2's session in memory, both ways round: requests with bodies, responses,
 * trailers, pushes and tunnels (RFC 8441), with random splits and random pauses. What arrives is what was sent, and neither
 * side finds fault with the other.
 */
// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/limits.h"
#include "tests/support/h2_inside.h"
#include "tests/support/head_names.h"

#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

#define EXCHANGES 300u
#define PIPE_BYTES (4u << 20)

struct exchange {
	uint32_t id;
	struct session_stream *ours; /* NULL: not ours to use (any more) */
	bool pushed, tunnel, theirs_open;
	bool head_got, end_got;   /* by us */
	bool they_head, they_end; /* by them */
	bool answered, reset;
	size_t we_send, we_sent, we_offered, they_send, they_sent;
	size_t we_got, they_got;
	bool our_end, our_trailers;
};

struct joint {
	struct h2_config config;
	struct session_env env;
	struct session *conn;
	enum h2_role role; /* ours */
	nghttp2_session *session;
	struct chunk_pool *chunks;
	struct http_head_pool *heads;
	struct budget budget;
	struct exchange all[EXCHANGES];
	uint32_t count, random, seed;
	uint8_t *to_them, *to_us;
	size_t to_them_bytes, to_us_bytes;
	usec now;
	uint32_t their_errors, tunnels;
};

static uint32_t dice(struct joint *j, uint32_t sides)
{
	j->random ^= j->random << 13;
	j->random ^= j->random >> 17;
	j->random ^= j->random << 5;
	return (j->random >> 4) % sides;
}

static uint8_t byte(uint32_t id, bool ours, size_t at)
{
	return (uint8_t)(at * 17 + at / 253 + id * 5 + ours);
}

static struct exchange *exchange_find(struct joint *j, uint32_t id)
{
	for (uint32_t i = 0; i < j->count; i++)
		if (j->all[i].id == id)
			return &j->all[i];
	return NULL;
}

static struct exchange *exchange_add(struct joint *j, uint32_t id, struct session_stream *ours)
{
	assert_true(j->count < EXCHANGES);
	struct exchange *x = &j->all[j->count++];
	*x = (struct exchange){.id = id, .ours = ours, .theirs_open = true};
	x->we_send = dice(j, 3) ? dice(j, 2000) : dice(j, 150000);
	x->they_send = dice(j, 3) ? dice(j, 2000) : dice(j, 150000);
	return x;
}

/* ---- their side ---- */

static ssize_t they_read(nghttp2_session *session, int32_t id, uint8_t *out, size_t room,
    uint32_t *flags, nghttp2_data_source *source, void *user)
{
	(void)session;
	(void)source;
	struct joint *j = user;
	struct exchange *x = exchange_find(j, (uint32_t)id);
	size_t n = x->they_send - x->they_sent;
	if (n > room)
		n = room;
	if (n > 1000 && dice(j, 2))
		n = 1 + dice(j, 1000);
	for (size_t i = 0; i < n; i++)
		out[i] = byte(x->id, false, x->they_sent + i);
	x->they_sent += n;
	if (x->they_sent == x->they_send)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return (ssize_t)n;
}

static const nghttp2_data_provider their_body = {.read_callback = they_read};

#define NV(n, v)                                                                                   \
	(nghttp2_nv)                                                                               \
	{                                                                                          \
		(uint8_t *)(uintptr_t)(n), (uint8_t *)(uintptr_t)(v), sizeof(n) - 1, strlen(v), 0  \
	}

static int they_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
	struct joint *j = user;
	struct exchange *x = exchange_find(j, (uint32_t)frame->hd.stream_id);
	if (frame->hd.type == NGHTTP2_HEADERS && !x && j->role == H2_CLIENT)
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (frame->hd.type == NGHTTP2_GOAWAY && frame->goaway.error_code != NGHTTP2_NO_ERROR)
		j->their_errors++;
	if (frame->hd.type == NGHTTP2_RST_STREAM && x)
		x->reset = true;
	if (!x)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS)
		x->they_head = true;
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
		x->they_end = true;
	(void)session;
	return 0;
}

static int they_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *bytes,
    size_t length, void *user)
{
	(void)session;
	(void)flags;
	struct joint *j = user;
	struct exchange *x = exchange_find(j, (uint32_t)id);
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != byte(x->id, true, x->they_got + i))
			return NGHTTP2_ERR_CALLBACK_FAILURE;
	x->they_got += length;
	return 0;
}

static int they_closed(nghttp2_session *session, int32_t id, uint32_t code, void *user)
{
	(void)session;
	struct exchange *x = exchange_find(user, (uint32_t)id);
	if (x) {
		x->theirs_open = false;
		x->reset |= code != NGHTTP2_NO_ERROR;
	}
	return 0;
}

static int they_complain(
    nghttp2_session *session, const nghttp2_frame *frame, int error, void *user)
{
	(void)session;
	struct joint *j = user;
	print_error("seed %u: libnghttp2 dislikes frame type %u on stream %d: %s\n", j->seed,
	    frame->hd.type, frame->hd.stream_id, nghttp2_strerror(error));
	j->their_errors++;
	return 0;
}

static void they_answer(struct joint *j, struct exchange *x)
{
	const nghttp2_nv fields[] = {
	    NV(":status", "200"), NV("server", "them"), NV("x-a", "some value")};
	assert_int_equal(
	    nghttp2_submit_response(j->session, (int32_t)x->id, fields, 3, &their_body), 0);
	x->answered = true;
}

static void they_promise(struct joint *j, struct exchange *parent)
{
	const nghttp2_nv fields[] = {NV(":method", "GET"), NV(":scheme", "https"),
	    NV(":authority", "example.org"), NV(":path", "/pushed"), NV("x-promised", "yes")};
	int32_t id =
	    nghttp2_submit_push_promise(j->session, 0, (int32_t)parent->id, fields, 5, NULL);
	assert_true(id > 0);
	exchange_add(j, (uint32_t)id, NULL)->pushed = true;
}

static void they_request(struct joint *j)
{
	bool tunnel = dice(j, 4) == 0 && nghttp2_session_get_remote_settings(
					     j->session, NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL);
	bool body = tunnel || dice(j, 2);
	const nghttp2_nv fields[] = {NV(":method", tunnel ? "CONNECT" : body ? "POST" : "GET"),
	    NV(":scheme", "https"), NV(":authority", "example.org"), NV(":path", "/page"),
	    NV(":protocol", "websocket"), NV("cookie", "a=1"), NV("cookie", "b=2")};
	nghttp2_nv sent[7];
	size_t n = 0;
	for (size_t i = 0; i < 7; i++)
		if (tunnel || i != 4)
			sent[n++] = fields[i];
	int32_t id =
	    nghttp2_submit_request(j->session, NULL, sent, n, body ? &their_body : NULL, NULL);
	assert_true(id > 0);
	struct exchange *x = exchange_add(j, (uint32_t)id, NULL);
	x->tunnel = tunnel;
	j->tunnels += tunnel;
	if (!body)
		x->they_send = 0;
}

/* ---- our side ---- */

static struct http_head *head_of(struct joint *j, enum http_head_kind kind, const char *first)
{
	struct http_head *head = http_head_new(j->heads);
	if (kind == HTTP_RESPONSE)
		http_head_add(head, SLICE(":status"), slice_of_string(first));
	if (kind == HTTP_REQUEST || kind == HTTP_PROMISE) {
		http_head_add(head, SLICE(":method"), slice_of_string(first));
		http_head_add(head, SLICE(":scheme"), SLICE("https"));
		http_head_add(head, SLICE(":authority"), SLICE("example.org"));
		http_head_add(head, SLICE(":path"), SLICE("/ours"));
	}
	if (kind == HTTP_REQUEST && strcmp(first, "CONNECT") == 0) {
		http_head_add(head, SLICE(":protocol"), SLICE("websocket"));
		head->allows_protocol = true;
	}
	http_head_add(head, SLICE("x-table"), SLICE("a value for the table"));
	assert_null(http_head_validate(head, kind));
	return head;
}

static void we_request(struct joint *j)
{
	if (session_request_room(j->conn) == 0)
		return;
	bool tunnel = dice(j, 4) == 0 && h2_peer_settings(j->conn)->enable_connect_protocol;
	bool body = tunnel || dice(j, 2);
	struct http_head *head =
	    head_of(j, HTTP_REQUEST, tunnel ? "CONNECT" : body ? "POST" : "GET");
	struct session_stream *s = session_request(j->conn, head, !body, NULL);
	http_head_free(head);
	assert_non_null(s);
	struct exchange *x = exchange_add(j, h2_stream_id(s), s);
	session_set_user(s, x);
	x->tunnel = tunnel;
	j->tunnels += tunnel;
	x->our_end = !body;
	if (!body)
		x->we_send = 0;
	x->our_trailers = body && dice(j, 4) == 0;
	x->answered = true; /* our head is out */
}

static void we_answer(struct joint *j, struct exchange *x)
{
	if (x->pushed && session_push_room(j->conn) == 0)
		return;
	if (dice(j, 4) == 0) {
		struct http_head *early = head_of(j, HTTP_RESPONSE, "103");
		assert_true(session_respond(j->conn, x->ours, early, false));
		http_head_free(early);
	}
	struct http_head *head = head_of(j, HTTP_RESPONSE, "200");
	assert_true(session_respond(j->conn, x->ours, head, false));
	http_head_free(head);
	x->our_trailers = dice(j, 4) == 0;
	x->answered = true;
}

static void we_promise(struct joint *j, struct exchange *parent)
{
	if (h2_may_promise(j->conn, parent->ours) != H2_PROMISE_POSSIBLE)
		return;
	struct http_head *head = head_of(j, HTTP_PROMISE, "GET");
	struct session_stream *s = session_promise(j->conn, parent->ours, head, NULL);
	http_head_free(head);
	assert_non_null(s);
	struct exchange *x = exchange_add(j, h2_stream_id(s), s);
	session_set_user(s, x);
	x->pushed = true;
	x->they_send = 0;
}

static void we_send(struct joint *j, struct exchange *x)
{
	if (!x->ours || !x->answered || x->our_end)
		return;
	size_t left = x->we_send - x->we_sent;
	if (left == 0 && x->our_trailers) {
		struct http_head *head = head_of(j, HTTP_TRAILERS, NULL);
		assert_true(session_trailers(j->conn, x->ours, head));
		http_head_free(head);
		x->our_end = true;
		return;
	}
	size_t n = dice(j, 2) ? left : dice(j, (uint32_t)left + 1);
	session_offer(j->conn, x->ours, n, n == left && !x->our_trailers);
}

static void on_data(struct joint *j, struct exchange *x, const struct session_event *e)
{
	if (e->piece.length == 0)
		return;
	struct slice bytes = piece_slice(e->piece);
	for (size_t i = 0; i < bytes.len; i++)
		assert_int_equal((uint8_t)bytes.ptr[i], byte(x->id, false, x->we_got + i));
	x->we_got += bytes.len;
	session_credit(j->conn, e->stream, bytes.len);
}

static void on_event(struct joint *j, struct session_event *e)
{
	if (e->kind == SESSION_EVENT_FAILED || (e->fault && e->kind != SESSION_EVENT_READY))
		fail_msg("seed %u: event %d with fault %s", j->seed, e->kind,
		    e->fault ? e->fault->name : "-");
	struct exchange *x = e->stream ? exchange_find(j, h2_stream_id(e->stream)) : NULL;
	if (e->kind == SESSION_EVENT_PROMISE) {
		struct exchange *promised = exchange_find(j, h2_stream_id(e->promised));
		assert_non_null(promised);
		promised->ours = e->promised;
		promised->our_end = true;
		assert_true(slice_equal(e->head->path, SLICE("/pushed")));
		assert_non_null(http_head_find_name(e->head, SLICE("x-promised")));
	}
	if (e->kind == SESSION_EVENT_HEAD) {
		if (x->tunnel && j->role == H2_SERVER)
			assert_true(slice_equal(e->head->protocol, SLICE("websocket")));
		else if (!http_head_is_interim(e->head))
			assert_int_equal(e->head->opens_tunnel, x->tunnel);
		x->head_got = true;
		x->ours = e->stream;
	}
	if (e->kind == SESSION_EVENT_DATA)
		on_data(j, x, e);
	if (x && e->end)
		x->end_got = true;
	if (e->kind == SESSION_EVENT_RESET)
		x->reset = true;
	if (e->kind == SESSION_EVENT_RESET || e->kind == SESSION_EVENT_CLOSED)
		x->ours = NULL;
	http_head_free(e->head);
}

static size_t drain(struct joint *j)
{
	struct session_event e;
	size_t n = 0;
	for (memset(&e, 0, sizeof e); session_next_event(j->conn, &e); memset(&e, 0, sizeof e), n++)
		on_event(j, &e);
	return n;
}

/* ---- bytes ---- */

static void append(uint8_t *pipe, size_t *length, const void *bytes, size_t n)
{
	assert_true(*length + n <= PIPE_BYTES);
	memcpy(pipe + *length, bytes, n);
	*length += n;
}

static void we_put_out(struct joint *j)
{
	for (uint32_t i = 0; i < 8; i++) {
		struct slice control = h2_control(j->conn);
		if (control.len > 0) {
			append(j->to_them, &j->to_them_bytes, control.ptr, control.len);
			h2_control_taken(j->conn, control.len);
		}
		struct session_output frame;
		if (!h2_next_data(j->conn, 1 + dice(j, 20000), &frame))
			break;
		struct exchange *x = exchange_find(j, h2_stream_id(frame.stream));
		append(j->to_them, &j->to_them_bytes, frame.before.ptr, 9);
		for (uint32_t n = 0; n < frame.length; n++)
			j->to_them[j->to_them_bytes++] = byte(x->id, true, x->we_sent + n);
		x->we_sent += frame.length;
		x->our_end |= frame.end;
	}
	drain(j);
}

static void they_put_out(struct joint *j)
{
	const uint8_t *bytes;
	for (uint32_t i = 0; i < 8 && j->to_us_bytes < PIPE_BYTES / 2; i++) {
		ssize_t n = nghttp2_session_mem_send(j->session, &bytes);
		assert_true(n >= 0);
		if (n == 0)
			break;
		append(j->to_us, &j->to_us_bytes, bytes, (size_t)n);
	}
}

static void they_take_in(struct joint *j)
{
	uint32_t n = 1 + dice(j, dice(j, 2) ? 40000 : 20);
	if (n > j->to_them_bytes)
		n = (uint32_t)j->to_them_bytes;
	ssize_t used = nghttp2_session_mem_recv(j->session, j->to_them, n);
	if (used != (ssize_t)n)
		fail_msg("seed %u: libnghttp2 gives up: %s", j->seed, nghttp2_strerror((int)used));
	j->to_them_bytes -= n;
	memmove(j->to_them, j->to_them + n, j->to_them_bytes);
}

static void we_take_in(struct joint *j)
{
	uint32_t n = 1 + dice(j, dice(j, 2) ? LIMIT_CHUNK_BYTES : 20);
	if (n > j->to_us_bytes)
		n = (uint32_t)j->to_us_bytes;
	struct chunk *chunk = chunk_acquire(j->chunks);
	memcpy(chunk->data, j->to_us, n);
	j->to_us_bytes -= n;
	memmove(j->to_us, j->to_us + n, j->to_us_bytes);
	for (size_t at = 0; at < n;) {
		size_t used = session_receive(j->conn, chunk, at, n - at, j->now);
		assert_true(drain(j) > 0 || used > 0);
		at += used;
	}
	chunk_release(chunk);
	session_check(j->conn);
}

static void step(struct joint *j)
{
	we_put_out(j);
	they_put_out(j);
	they_take_in(j);
	we_take_in(j);
}

/* ---- the run ---- */

static void session_new(struct joint *j)
{
	nghttp2_session_callbacks *callbacks;
	nghttp2_option *option;
	nghttp2_session_callbacks_new(&callbacks);
	nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, they_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, they_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, they_closed);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, they_complain);
	nghttp2_option_new(&option);
	nghttp2_option_set_max_reserved_remote_streams(option, 1000);
	if (j->role == H2_SERVER)
		nghttp2_session_client_new2(&j->session, callbacks, j, option);
	else
		nghttp2_session_server_new2(&j->session, callbacks, j, option);
	nghttp2_option_del(option);
	nghttp2_session_callbacks_del(callbacks);
	const nghttp2_settings_entry settings[] = {
	    {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, dice(j, 3) ? 65535 : 1000},
	    {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 20},
	    {NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, dice(j, 3) ? 4096 : dice(j, 3000)},
	    {NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1}};
	assert_int_equal(nghttp2_submit_settings(j->session, NGHTTP2_FLAG_NONE, settings,
			     j->role == H2_CLIENT ? 4 : 3), 0);
}

static void conn_new(struct joint *j)
{
	struct h2_settings local = h2_settings_initial;
	local.initial_window_size = dice(j, 3) ? 65535 : 3000;
	local.header_table_size = dice(j, 3) ? 4096 : dice(j, 9000);
	local.max_concurrent_streams = 200;
	local.enable_connect_protocol = j->role == H2_SERVER;
	struct h2_limits limits = h2_limits_default;
	limits.window_updates = limits.empty_frames = (struct rate){1000000, 1000000};
	limits.connection_window = 65535 + dice(j, 100000);
	j->config = (struct h2_config){j->role, local, limits};
	j->env = (struct session_env){.heads = j->heads, .seed = 3};
	const struct session_conn conn = {.budget = &j->budget};
	j->conn = h2_new(&j->config, &j->env, &conn, j->now);
}

static bool is_busy(struct joint *j)
{
	bool busy = j->to_us_bytes > 0 || j->to_them_bytes > 0 || session_wants_write(j->conn) ||
		    nghttp2_session_want_write(j->session);
	for (uint32_t i = 0; i < j->count; i++)
		busy |= j->all[i].ours != NULL || j->all[i].theirs_open;
	return busy;
}

/* Whatever is left to be answered and sent, by whoever owes it. */
static void serve(struct joint *j)
{
	for (uint32_t i = 0; i < j->count; i++) {
		struct exchange *x = &j->all[i];
		if (dice(j, 3) == 0)
			continue;
		if (j->role == H2_SERVER && x->ours && !x->answered)
			we_answer(j, x);
		we_send(j, x);
	}
}

static void they_serve(struct joint *j)
{
	for (uint32_t i = 0; i < j->count; i++) {
		struct exchange *x = &j->all[i];
		bool ready = x->pushed ? x->ours != NULL : x->they_head;
		bool done =
		    nghttp2_session_get_stream_user_data(j->session, (int32_t)x->id) != NULL;
		if (!x->theirs_open || !ready || done || dice(j, 3) == 0)
			continue;
		if (!x->pushed && !x->tunnel && j->count < EXCHANGES && dice(j, 2)) {
			they_promise(j, x);
			continue;
		}
		nghttp2_session_set_stream_user_data(j->session, (int32_t)x->id, x);
		they_answer(j, x);
	}
}

static void accounts(struct joint *j, size_t *pushes)
{
	for (uint32_t i = 0; i < j->count; i++) {
		const struct exchange *x = &j->all[i];
		assert_false(x->reset);
		bool we_body = j->role == H2_SERVER || !x->pushed,
		     they_body = j->role == H2_CLIENT || !x->pushed;
		if (we_body) {
			assert_int_equal(x->they_got, x->we_send);
			assert_true(x->they_end);
		}
		if (they_body) {
			assert_int_equal(x->we_got, x->they_send);
			assert_true(x->end_got);
		}
		*pushes += x->pushed;
	}
	assert_int_equal(j->their_errors, 0);
}

static void run(enum h2_role role, uint32_t seed, size_t *pushes, size_t *tunnels)
{
	struct joint *j = calloc(1, sizeof *j);
	j->role = role;
	j->seed = seed;
	j->random = seed * 2246822519u + 1;
	j->now = 1000000;
	j->chunks = chunk_pool_new(LIMIT_CHUNK_BYTES, 4);
	j->heads = http_head_pool_new(4);
	j->to_them = malloc(PIPE_BYTES);
	j->to_us = malloc(PIPE_BYTES);
	budget_init(&j->budget, NULL, (size_t)1 << 28);
	session_new(j);
	conn_new(j);
	uint32_t requests = 0, rounds = 0;
	for (; requests < 40 || is_busy(j); rounds++) {
		if (rounds == 200000)
			fail_msg("seed %u: it does not come to an end", seed);
		if (requests < 40 && dice(j, 4) == 0 && j->count < EXCHANGES) {
			uint32_t before = j->count;
			role == H2_CLIENT ? we_request(j) : they_request(j);
			requests += j->count - before;
		}
		if (role == H2_SERVER && j->count > 0 && j->count < EXCHANGES && dice(j, 8) == 0) {
			struct exchange *parent = &j->all[dice(j, j->count)];
			if (parent->ours && parent->head_got)
				we_promise(j, parent);
		}
		serve(j);
		if (role == H2_CLIENT)
			they_serve(j);
		step(j);
	}
	accounts(j, pushes);
	*tunnels += j->tunnels;
	assert_int_equal(h2_open_streams(j->conn), 0);
	session_shutdown(j->conn, j->now);
	for (rounds = 0; rounds < 100; rounds++)
		step(j);
	/* libnghttp2 says nothing more once it has heard GOAWAY and has no stream, not even to a PING. */
	session_tick(j->conn, j->now + 10 * USEC_PER_SEC);
	assert_true(session_is_done(j->conn));
	assert_false(session_has_failed(j->conn));
	assert_int_equal(j->their_errors, 0);
	session_free(j->conn);
	nghttp2_session_del(j->session);
	budget_fini(&j->budget);
	chunk_pool_free(j->chunks);
	http_head_pool_free(j->heads);
	free(j->to_them);
	free(j->to_us);
	free(j);
}

#define SEEDS 15u

/* covers: R45 R46 R67 R392 R393 */
static void our_server_serves_and_pushes_to_libnghttp2(void **state)
{
	(void)state;
	size_t pushes = 0, tunnels = 0;
	for (uint32_t seed = 1; seed <= SEEDS; seed++)
		run(H2_SERVER, seed, &pushes, &tunnels);
	assert_true(pushes > SEEDS);
	assert_true(tunnels > SEEDS);
}

/* covers: R45 R46 R67 R74 R397 */
static void our_client_requests_and_takes_pushes_from_libnghttp2(void **state)
{
	(void)state;
	size_t pushes = 0, tunnels = 0;
	for (uint32_t seed = 1; seed <= SEEDS; seed++)
		run(H2_CLIENT, seed, &pushes, &tunnels);
	assert_true(pushes > SEEDS);
	assert_true(tunnels > SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(our_server_serves_and_pushes_to_libnghttp2),
	    cmocka_unit_test(our_client_requests_and_takes_pushes_from_libnghttp2),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
