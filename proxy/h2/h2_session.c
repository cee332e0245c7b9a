/* SPDX-License-Identifier: MIT */
/* The engine as a session: the functions that its owner may call, its beginning and its end. */
#include "proxy/h2/h2_conn.h"

#include "proxy/base/memory.h"
#include "proxy/limits.h"

/* ---- questions ---- */

uint32_t h2_stream_id(const struct session_stream *stream)
{
	return h2_stream_of(stream)->id;
}

static struct http_priority priority(
    const struct session *session, const struct session_stream *stream)
{
	(void)session;
	return h2_stream_of(stream)->place.priority;
}

static bool stream_is_shut(const struct session *session, const struct session_stream *stream)
{
	(void)session;
	return h2_stream_of(stream)->outflow.window <= 0;
}

static uint32_t stream_window(const struct session *session, const struct session_stream *stream)
{
	return h2_window(h2_of(session), h2_stream_of(stream));
}

static struct session_peer peer(const struct session *session)
{
	const struct h2_conn *c = h2_of(session);
	return (struct session_peer){
	    .takes_pushes = c->peer.enable_push != 0,
	    .takes_streams = c->peer.max_concurrent_streams != 0,
	    .takes_interim = true,
	    .takes_tunnels = c->peer.enable_connect_protocol != 0,
	    .answers_expect = true,
	    .is_going_away = h2_is_going_away(c),
	    .goaway_came = c->goaway_came,
	    .unsent_bytes = h2_out_length(&c->out),
	};
}

static struct hop_settings settings_of(const struct h2_settings *s, int64_t connection_window)
{
	return (struct hop_settings){.is_known = 1,
	    .enable_push = s->enable_push,
	    .max_concurrent_streams = s->max_concurrent_streams,
	    .initial_window_size = s->initial_window_size,
	    .connection_window = connection_window};
}

static void settings(
    const struct session *session, struct hop_settings *ours, struct hop_settings *theirs)
{
	const struct h2_conn *c = h2_of(session);
	*ours = settings_of(&c->local, c->inflow.window);
	*theirs = settings_of(&c->peer, c->outflow.window);
}

static bool has_failed(const struct session *session)
{
	return h2_of(session)->has_failed;
}

static bool is_done(const struct session *session)
{
	return h2_is_done(h2_of(session));
}

/* ---- life ---- */

static void free_conn(struct session *session)
{
	struct h2_conn *c = h2_of(session);
	h2_conn_bury(c);
	if (c->has_event)
		http_head_free(c->event.head);
	list_for_each(&c->endings, s, struct h2_stream, ending) h2_stream_free(c, s);
	h2_stream_free_spares(c);
	map_for_each(&c->streams, s, struct h2_stream, node) h2_stream_release(c, s);
	map_fini(&c->streams);
	free(c->pending);
	h2_forgotten_fini(&c->forgotten);
	h2_early_fini(&c->early, c->budget);
	h2_block_fini(&c->block, c->budget);
	h2_out_fini(&c->out);
	budget_give(c->budget, c->decoder_charged + c->encoder_charged);
	hpack_decoder_free(c->decoder);
	hpack_encoder_free(c->encoder);
	free(c);
}

static const struct session_ops ops = {
    .name = "h2",
    .capabilities = H2_CAPABILITIES,
    .free = free_conn,
    .receive = h2_receive,
    .next_event = h2_next_event,
    .next_output = h2_next_output,
    .wants_write = h2_wants_write,
    .offer = h2_offer,
    .request_room = h2_request_room,
    .request_fits = h2_request_fits,
    .request = h2_request,
    .refuse_pushes = h2_refuse_pushes,
    .widen = h2_widen,
    .ping = h2_ping,
    .respond = h2_respond,
    .promise = h2_promise,
    .push_room = h2_push_room,
    .set_priority = h2_set_priority,
    .priority = priority,
    .trailers = h2_trailers,
    .reset = h2_reset,
    .credit = h2_credit,
    .shutdown = h2_shutdown,
    .half_close = h2_half_close,
    .terminate = h2_terminate,
    .deadline = h2_deadline,
    .tick = h2_tick,
    .peer = peer,
    .settings = settings,
    .stream_window = stream_window,
    .stream_is_shut = stream_is_shut,
    .is_done = is_done,
    .has_failed = has_failed,
    .describe = h2_describe,
    .check = h2_check,
};

static void ensure_valid(const struct h2_config *config)
{
	const struct h2_settings *local = &config->settings;
	const struct h2_limits *limits = &config->limits;
	ensure(limits->connection_window >= H2_DEFAULT_WINDOW &&
	       limits->connection_window <= H2_WINDOW_MAX);
	ensure(limits->field_block_bytes <= LIMIT_FIELD_BLOCK_BYTES);
	ensure(limits->continuations <= LIMIT_CONTINUATIONS);
	ensure(limits->interim_responses <= LIMIT_INTERIM_RESPONSES);
	ensure(local->initial_window_size <= H2_WINDOW_MAX && local->max_frame_size >= 16384 &&
	       local->max_frame_size <= 16777215 && local->enable_push <= 1 &&
	       local->enable_connect_protocol <= 1);
}

struct session *h2_new(
    const void *config, const struct session_env *env, const struct session_conn *conn, usec now)
{
	const struct h2_config *own = config;
	const struct h2_limits *limits = &own->limits;
	const struct h2_role_row *row = &h2_role_rows[own->role];
	struct h2_conn *c = memory_new(struct h2_conn);
	ensure_valid(own);
	session_init(&c->session, &ops, env, conn);
	c->role = own->role;
	c->budget = conn->budget;
	c->limits = limits;
	c->now = now;
	c->id_mix = env->seed | 1u;
	c->local = c->acked = c->peer = h2_settings_initial;
	c->wanted = own->settings;
	if (c->role == H2_SERVER) /* RFC 9113 6.5.2: a server never announces it */
		c->wanted.enable_push = h2_settings_initial.enable_push;
	c->window_now = c->acked.initial_window_size;
	c->settings_deadline = c->shutdown_deadline = c->preface_deadline = USEC_NEVER;
	if (row->expects_preface)
		c->preface_deadline = clock_after(now, limits->preface_timeout);
	map_init(&c->streams);
	spares_init(&c->spares, sizeof(struct h2_stream), H2_SPARE_STREAMS);
	list_init(&c->endings);
	c->own_next_id = row->own_first_id;
	for (size_t i = 0; i < H2_GAPS_KEPT; i++)
		c->gaps[i].low = UINT32_MAX;
	c->reader.at = row->expects_preface ? H2_READING_PREFACE : H2_READING_HEADER;
	h2_block_init(&c->block);
	h2_inflow_init(&c->inflow, limits->connection_window);
	h2_guard_init(&c->guard, limits);
	h2_out_init(&c->out, c->budget);
	c->outflow.window = H2_DEFAULT_WINDOW;
	c->goaway_came_last = c->goaway_sent_last = H2_ID_MAX;
	if (c->role == H2_CLIENT) {
		memcpy(h2_out_reserve(&c->out, H2_PREFACE_LEN), H2_PREFACE, H2_PREFACE_LEN);
		h2_out_commit(&c->out, H2_PREFACE_LEN);
	}
	h2_settings_announce(c);
	if (limits->connection_window > H2_DEFAULT_WINDOW)
		h2_send_window_update(c, 0, limits->connection_window - H2_DEFAULT_WINDOW);
	return &c->session;
}
