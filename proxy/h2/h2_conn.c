/* SPDX-License-Identifier: MIT */
/*
 * Creates, times and frees a connection, queues its events, and turns a peer's fault into
 * RST_STREAM or GOAWAY (RFC 9113 5.4), here only. conn_recv.c receives the bytes.
 */
#include "proxy/h2/h2_conn.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"

const struct h2_role_row h2_role_rows[2] = {
    [H2_SERVER] = {"server", 2, true, true, {3, false}},
    [H2_CLIENT] = {"client", 1, false, false, {3, true}},
};

struct h2_conn *h2_new(enum h2_role role, const struct h2_settings *local,
    const struct h2_limits *limits, const struct h2_env *env, usec now)
{
	ensure(limits->connection_window >= H2_DEFAULT_WINDOW &&
	       limits->connection_window <= H2_WINDOW_MAX);
	ensure(limits->field_block_bytes <= LIMIT_FIELD_BLOCK_BYTES);
	ensure(limits->continuations <= LIMIT_CONTINUATIONS);
	ensure(limits->interim_responses <= LIMIT_INTERIM_RESPONSES);
	ensure(local->initial_window_size <= H2_WINDOW_MAX && local->max_frame_size >= 16384 &&
	       local->max_frame_size <= 16777215 && local->enable_push <= 1 &&
	       local->enable_connect_protocol <= 1);
	const struct h2_role_row *row = &h2_role_rows[role];
	struct h2_conn *c = memory_new(struct h2_conn);
	c->role = role;
	c->env = *env;
	c->limits = limits;
	c->now = now;
	c->id_mix = env->seed | 1u;
	c->local = c->acked = c->peer = h2_settings_initial;
	c->wanted = *local;
	if (role == H2_SERVER) /* RFC 9113 6.5.2: a server never announces it */
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
	h2_forgotten_init(&c->forgotten);
	h2_early_init(&c->early);
	c->reader.at = row->expects_preface ? H2_READING_PREFACE : H2_READING_HEADER;
	h2_block_init(&c->block);
	h2_inflow_init(&c->inflow, limits->connection_window);
	h2_guard_init(&c->guard, limits);
	h2_out_init(&c->out, env->budget);
	c->outflow.window = H2_DEFAULT_WINDOW;
	h2_sched_init(&c->sched);
	c->goaway_came_last = c->goaway_sent_last = H2_ID_MAX;
	if (role == H2_CLIENT) {
		memcpy(h2_out_reserve(&c->out, H2_PREFACE_LEN), H2_PREFACE, H2_PREFACE_LEN);
		h2_out_commit(&c->out, H2_PREFACE_LEN);
	}
	h2_settings_announce(c);
	if (limits->connection_window > H2_DEFAULT_WINDOW)
		h2_send_window_update(c, 0, limits->connection_window - H2_DEFAULT_WINDOW);
	return c;
}

void h2_free(struct h2_conn *c)
{
	if (!c)
		return;
	h2_conn_bury(c);
	if (c->has_event)
		http_head_free(c->event.head);
	list_for_each(&c->endings, s, struct h2_stream, ending) h2_stream_free(c, s);
	h2_stream_free_spares(c);
	size_t cursor = 0;
	/* map_walk does not dereference the last node (map.h), which the analyzer cannot know. */
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc) */
	for (struct map_node *n = NULL; (n = map_walk(&c->streams, &cursor, n)) != NULL;) {
		struct h2_stream *s = container_of(n, struct h2_stream, node);
		budget_give(c->env.budget, H2_STREAM_COST);
		free(s);
	}
	map_fini(&c->streams);
	free(c->pending);
	h2_forgotten_fini(&c->forgotten);
	h2_early_fini(&c->early, c->env.budget);
	h2_block_fini(&c->block, c->env.budget);
	h2_out_fini(&c->out);
	budget_give(c->env.budget, c->decoder_charged + c->encoder_charged);
	hpack_decoder_free(c->decoder);
	hpack_encoder_free(c->encoder);
	free(c);
}

/* ---- faults ---- */

void h2_note_fault(const struct h2_conn *c, const struct h2_fault *fault)
{
	if (c->env.fault)
		c->env.fault(c->env.fault_context, fault);
}

void h2_conn_fail(struct h2_conn *c, const struct h2_fault *fault, uint32_t code, bool say)
{
	/* uncovered: each caller has asked; the first cause must stand in any case */
	if (c->has_failed)
		return;
	if (fault)
		h2_note_fault(c, fault);
	if (say)
		/* uncovered: each failure that is told to the peer has a row today */
		h2_send_goaway(c, h2_last_taken_id(c), code,
		    fault ? slice_of_string(fault->name) : slice_of("", 0));
	c->has_failed = true;
	c->failure = fault;
	c->failure_code = code;
	c->failure_queued = true;
	c->events_made++;
}

/*
 * Whether a fault counts as a provoked reset. It does not if the peer could not know better (a
 * limit that it has not acknowledged), if only room is short at the moment, or if it answers a
 * request or promise, which have counters of their own.
 */
static bool counts_as_provoked(
    const struct h2_conn *c, const struct h2_stream *s, const struct h2_fault *fault)
{
	bool is_for_later = fault == h2_fault(STREAM_MEMORY) || fault == h2_fault(STREAM_UNREAD);
	if (is_for_later || (fault->code == H2_REFUSED_STREAM && !c->was_acked))
		return false;
	return !s || (c->role == H2_SERVER && !h2_id_is_own(c, s->id));
}

void h2_fault_apply(struct h2_conn *c, uint32_t stream_id, const struct h2_fault *fault)
{
	/* uncovered: nothing is read after a failure */
	if (c->has_failed)
		return;
	struct h2_stream *s = NULL;
	enum h2_state state =
	    fault->scope == H2_SCOPE_STREAM ? h2_stream_state(c, stream_id, &s) : H2_STATE_IDLE;
	/*
	 * An idle stream cannot be reset (RFC 9113 6.4), so the fault becomes a connection error.
	 */
	if (state == H2_STATE_IDLE) {
		h2_conn_fail(c, fault, fault->code, true);
		return;
	}
	if (state == H2_STATE_FORGOTTEN)
		return;
	h2_note_fault(c, fault);
	const struct h2_fault *flood = counts_as_provoked(c, s, fault)
					   ? h2_guard_count(&c->guard, H2_GUARDED_PROVOKED, c->now)
					   : NULL;
	if (flood) {
		h2_conn_fail(c, flood, flood->code, true);
		return;
	}
	h2_send_rst_stream(c, stream_id, fault->code);
	if (h2_peer_may_send(state))
		h2_stream_forget(c, stream_id);
	if (s) {
		s->end_reason = c->reason;
		h2_stream_abort(c, s, H2_INPUT_SEND_RST_STREAM, fault, fault->code, false);
	}
}

/* ---- events ---- */

struct h2_event *h2_event_make(struct h2_conn *c, enum h2_event_kind kind, struct h2_stream *s)
{
	ensure(!c->has_event);
	c->has_event = true;
	c->events_made++;
	c->event = (struct h2_event){.kind = kind, .stream = s};
	return &c->event;
}

void h2_conn_bury(struct h2_conn *c)
{
	if (!c->ended)
		return;
	h2_stream_free(c, c->ended);
	c->ended = NULL;
}

static void event_of_ending(struct h2_event *event, struct h2_stream *s)
{
	*event = (struct h2_event){
	    .kind = (enum h2_event_kind)s->end_kind,
	    .stream = s,
	    .user = s->user,
	    .fault = s->end_fault,
	    .reason = s->end_reason,
	    .code = s->end_code,
	    .unprocessed = s->end_unprocessed,
	    .oversize = s->end_fault == h2_fault(LIST_TOO_LARGE),
	};
}

const struct h2_event *h2_take_event(struct h2_conn *c)
{
	if (c->ended)
		h2_conn_bury(c);
	if (!c->has_event && list_is_empty(&c->endings) && !c->failure_queued)
		return NULL; /* half of the calls */
	if (c->was_terminated)
		return NULL;
	if (c->has_event) {
		c->has_event = false;
		c->event.user = c->event.stream ? c->event.stream->user : NULL;
		return &c->event;
	}
	struct h2_stream *s = list_first(&c->endings, struct h2_stream, ending);
	if (s) {
		list_remove(&s->ending);
		s->life = H2_LIFE_ENDED;
		c->ended = s;
		event_of_ending(&c->event, s);
		return &c->event;
	}
	c->failure_queued = false;
	c->event = (struct h2_event){
	    .kind = H2_EVENT_FAILED, .fault = c->failure, .code = c->failure_code};
	return &c->event;
}

/* ---- time ---- */

static usec sooner(usec a, usec b)
{
	return a < b ? a : b;
}

usec h2_deadline(const struct h2_conn *c)
{
	if (c->has_failed)
		return USEC_NEVER;
	return sooner(sooner(c->preface_deadline, c->settings_deadline),
	    sooner(c->block.deadline, c->shutdown_deadline));
}

void h2_tick(struct h2_conn *c, usec now)
{
	if (now > c->now)
		c->now = now;
	if (c->has_failed)
		return;
	const struct h2_fault *fault = NULL;
	if (c->now >= c->preface_deadline)
		fault = h2_fault(PREFACE_TIMEOUT);
	else if (c->now >= c->settings_deadline)
		fault = h2_fault(SETTINGS_TIMEOUT);
	else if (c->now >= c->block.deadline)
		fault = h2_fault(BLOCK_TIMEOUT);
	if (fault)
		h2_conn_fail(c, fault, fault->code, true);
	else if (c->now >= c->shutdown_deadline)
		h2_shutdown_finish(c);
}

/* ---- questions ---- */

void h2_stream_set_user(struct h2_stream *s, void *user)
{
	s->user = user;
}

uint32_t h2_stream_id(const struct h2_stream *s)
{
	return s->id;
}

struct http_priority h2_stream_priority(const struct h2_stream *s)
{
	return s->place.priority;
}

bool h2_stream_is_shut(const struct h2_stream *s)
{
	return s->outflow.window <= 0;
}

uint32_t h2_stream_window(const struct h2_conn *c, const struct h2_stream *s)
{
	int64_t window =
	    s->outflow.window < c->outflow.window ? s->outflow.window : c->outflow.window;
	return window > 0 ? (uint32_t)window : 0;
}

const struct h2_settings *h2_local_settings(const struct h2_conn *c)
{
	return &c->local;
}

const struct h2_settings *h2_peer_settings(const struct h2_conn *c)
{
	return &c->peer;
}

uint32_t h2_list_bytes_most(const struct h2_conn *c)
{
	uint32_t announced = c->peer.max_header_list_size;
	return announced == UINT32_MAX ? c->limits->request_list_bytes : announced;
}

bool h2_has_failed(const struct h2_conn *c)
{
	return c->has_failed;
}

bool h2_is_going_away(const struct h2_conn *c)
{
	return c->goaway_came || c->goaway_sent != H2_GOAWAY_NOT;
}

bool h2_is_done(const struct h2_conn *c)
{
	return c->has_failed ||
	       (c->handles == 0 && (c->goaway_came || c->goaway_sent == H2_GOAWAY_FINAL));
}
