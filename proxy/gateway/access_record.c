/* SPDX-License-Identifier: MIT */
/* Counts an exchange that has ended and writes its line to the access log. */
#include "proxy/gateway/gateway_private.h"

#include "proxy/base/rare.h"

static enum observe_outcome outcome_of(const struct exchange *x)
{
	const struct relay_cause *cause = x->ending.cause;
	if (!cause || cause == &relay_cause_FINAL_RECIPIENT || cause == &relay_cause_REDIRECT ||
	    cause == &relay_cause_ADMIN_PAGE || cause == &relay_cause_FILE)
		return OBSERVE_COMPLETE;
	if (cause->is_timeout)
		return OBSERVE_TIMEOUT;
	if (cause->is_malformed)
		return cause->side == RELAY_ORIGIN ? OBSERVE_MALFORMED : OBSERVE_REFUSED;
	switch (cause->side) {
	case RELAY_CLIENT:
		if (cause == &relay_cause_DOWN_LOST)
			return OBSERVE_CLIENT_LOST;
		return exchange_is_own_answer(x) ? OBSERVE_REFUSED : OBSERVE_CLIENT_RESET;
	case RELAY_ORIGIN:
		return cause == &relay_cause_UP_RESET ? OBSERVE_ORIGIN_RESET : OBSERVE_ORIGIN_LOST;
	case RELAY_SELF:
		return OBSERVE_REFUSED;
	}
	return OBSERVE_REFUSED;
}

void access_record_held(void *context, const struct hold_note *note)
{
	struct gateway *g = context;
	struct observe_counters *c = g->env.observe->counters;
	c->holds_claimed += note->outcome == HOLD_CLAIMED;
	c->holds_joined += note->outcome == HOLD_CLAIMED && note->is_live;
	c->holds_missed += note->outcome == HOLD_MISSED;
	_Static_assert(HOLD_MISS_COUNT <= OBSERVE_MISSES, "each miss has a counter");
	if (note->outcome == HOLD_MISSED)
		c->misses[note->miss]++;
	c->holds_expired += note->outcome == HOLD_EXPIRED;
	c->holds_evicted += note->outcome == HOLD_EVICTED;
	c->holds_invalidated += note->outcome == HOLD_INVALIDATED;
	c->holds_failed += note->outcome == HOLD_FAILED;
	c->fetches_left += note->reason == &policy_reason_PAGE_LEFT;
	c->shed_holds += note->reason == &policy_reason_HOLD_SHED;
	feedback_held(g, note);
	if (g->env.tracing)
		span_record_held(note);
	if (g->pages)
		page_record_held(g, note);
}

/* A push that was not promised to the client: bytes of it go to a client with the requests that claim it. The verdict
 * does not say so: when a held push is withdrawn, that is its verdict. */
static bool was_held(const struct exchange *x)
{
	return exchange_is_push(x) && !x->pushed.was_promised;
}

/* The rule does not allow the head of its response: its verdict has become one that fetches nothing. */
static bool was_withdrawn(const struct exchange *x)
{
	enum policy_action action = x->pushed.verdict.action;
	return action == POLICY_DROP || action == POLICY_HINT;
}

uint64_t access_record_bytes(const struct exchange *x)
{
	return was_held(x) ? 0 : x->download.forwarded;
}

static void count_push(
    struct observe_counters *c, const struct exchange *x, enum observe_outcome outcome)
{
	c->pushes_open--;
	c->pushes_withdrawn += was_withdrawn(x);
	if (was_held(x))
		return;
	c->push_out_bytes += x->download.forwarded;
	if (outcome == OBSERVE_COMPLETE) {
		c->pushes_completed++;
	} else if (outcome == OBSERVE_CLIENT_RESET) {
		c->pushes_reset++;
		c->push_reset_bytes += x->download.forwarded;
	} else {
		c->pushes_failed++;
	}
}

static void count_tunnel(struct observe_counters *c, const struct exchange *x)
{
	if (!exchange_is_tunnel(x)) {
		c->tunnels_refused++;
		return;
	}
	c->tunnels_open--;
	c->tunnel_up_bytes += x->upload.forwarded;
	c->tunnel_down_bytes += x->download.forwarded;
}

static void count_cause(struct observe_counters *c, const struct exchange *x)
{
	_Static_assert(ACCESS_REASON_COUNT <= OBSERVE_DENIALS, "each reason has a counter");
	c->causes[relay_cause_index(x->ending.cause)]++;
	uint8_t denial = admission_part(x)->denial;
	if (denial > 0 && (x->ending.cause == &relay_cause_ACCESS_DENIED ||
			      x->ending.cause == &relay_cause_ADDRESS_DENIED))
		c->denials[denial - 1]++;
}

static void count_exchange(
    struct observe_counters *c, const struct exchange *x, enum observe_outcome outcome)
{
	c->requests_open--;
	c->down_in_bytes += x->upload.received;
	c->up_out_bytes += x->upload.forwarded;
	c->down_out_bytes += access_record_bytes(x);
	c->hold_wasted_bytes += hold_part(x)->wasted_bytes;
	c->responses_own += exchange_is_own_answer(x);
	c->requests_retried += upstream_retries(x) > 0;
	if (x->ending.cause)
		count_cause(c, x);
	c->shed_offers += x->ending.cause == &relay_cause_SHED;
	c->shed_streams += x->ending.cause == &relay_cause_MEMORY_STALLED ||
			   x->ending.cause == &relay_cause_MEMORY_SHORT;
	c->requests_aborted += outcome != OBSERVE_COMPLETE && !exchange_is_own_answer(x);
	if (exchange_is_push(x))
		count_push(c, x, outcome);
	if (x->tunnel.is_asked)
		count_tunnel(c, x);
}

/* The access log has a line of each failure, whatever log-sample says. A client that leaves is no failure.
 * A push that pushgate gave up is none either: it has a line if its page has one. */
bool access_record_is_failure(const struct exchange *x, enum observe_outcome outcome)
{
	switch (outcome) {
	case OBSERVE_ORIGIN_RESET:
	case OBSERVE_ORIGIN_LOST:
	case OBSERVE_TIMEOUT:
	case OBSERVE_MALFORMED:
		return true;
	case OBSERVE_REFUSED:
		return !exchange_is_push(x);
	case OBSERVE_COMPLETE:
	case OBSERVE_CLIENT_RESET:
	case OBSERVE_CLIENT_LOST:
	case OBSERVE_OUTCOME_COUNT:
		break;
	}
	return x->response.status >= 500;
}

/* Which of the three addresses differ, and what the PROXY header says. */
static RARE void add_peers(struct observe_client *c, const struct request_facts *f)
{
	const struct peer_ends *ends = f->ends;
	bool is_claimed = ends && ends->is_claimed;
	c->tcp_peer = c->is_named || is_claimed ? request_tcp_peer(f) : NULL;
	if (!is_claimed)
		return;
	c->claimed_peer = c->is_named ? &f->peer : NULL;
	c->proxy_authority = ends->authority;
	c->proxy_alpn = ends->alpn;
	c->proxy_id = ends->id;
}

struct observe_client access_record_client(const struct exchange *x)
{
	const struct client_hop *hop = &client_part(x)->hop;
	const struct conf_listen *listen = x->facts.listener;
	struct observe_client client = {
	    .connection = hop->connection,
	    .address = x->facts.client,
	    .is_named = x->facts.is_named,
	    .listen = listen ? listen->name : NULL,
	    .protocol = hop->protocol,
	    .tls = x->facts.tls,
	    .cipher = hop->cipher,
	    .alpn = hop->alpn,
	    .certificate = x->facts.certificate,
	};
	if (x->facts.ends || x->facts.is_named)
		add_peers(&client, &x->facts);
	return client;
}

struct slice access_record_user(const struct exchange *x)
{
	const struct exchange_user *user = x->facts.user;
	return user ? slice_of(user->name, user->length) : (struct slice){0};
}

const struct observe_trace *access_record_trace(const struct exchange *x, struct observe_trace *t)
{
	struct http_traceparent ids;
	if (!tracing_ids(x, &ids))
		return NULL;
	http_trace_id_write(ids.trace_id, sizeof(ids.trace_id), t->trace);
	http_trace_id_write(ids.span_id, sizeof(ids.span_id), t->span);
	return t;
}

/* then 0: it has not happened. */
static usec since(usec begin, usec then)
{
	return then ? then - begin : USEC_NEVER;
}

struct observe_origin access_record_origin(const struct exchange *x)
{
	const struct origin_hop *hop = &origin_attempt_of(x)->hop;
	const struct exchange_timing *t = &x->timing;
	const struct conf_origin *conf = x->place.origin;
	struct observe_origin origin = {
	    .name = conf ? conf->name : NULL, .queue = t->queued, .connect = t->connecting};
	if (hop->connection == 0)
		return origin;
	origin.connection = hop->connection;
	origin.address = hop->address;
	origin.protocol = hop->protocol;
	origin.request_bytes = x->upload.forwarded;
	origin.response_bytes = x->download.received;
	origin.first_byte = since(t->sent, t->answered);
	origin.duration = since(t->sent, t->completed);
	return origin;
}

/* NULL: no HTTP/2 error code ended it, such as a time limit. NO_ERROR is one if a peer sent it. */
static const char *code_name(const struct exchange_ending *ending)
{
	bool was_sent =
	    ending->cause == &relay_cause_UP_RESET || ending->cause == &relay_cause_DOWN_RESET;
	return ending->code || was_sent ? session_code_name(ending->code) : NULL;
}

struct slice access_record_method(const struct exchange *x)
{
	return x->tunnel.is_upgrade ? SLICE("GET") : x->request->method;
}

uint16_t access_record_status(const struct exchange *x)
{
	return x->tunnel.is_upgrade && exchange_is_tunnel(x) ? 101 : x->response.status;
}

/* The name of the protocol that it carries; a CONNECT does not say. */
static struct slice tunnel_of(const struct exchange *x)
{
	if (!exchange_is_tunnel(x))
		return SLICE("");
	return x->request->protocol.len > 0 ? x->request->protocol : SLICE("connect");
}

static const char *side_that_ended(const struct exchange *x)
{
	static const char *const names[] = {
	    [RELAY_CLIENT] = "client", [RELAY_ORIGIN] = "origin", [RELAY_SELF] = "pushgate"};
	if (x->ending.cause)
		return names[x->ending.cause->side];
	return names[x->tunnel.client_ended_first ? RELAY_CLIENT : RELAY_ORIGIN];
}

struct slice access_record_authority(const struct exchange *x)
{
	struct slice authority = x->request->authority;
	size_t at = slice_find(authority, '@');
	for (; at < authority.len; at = slice_find(authority, '@'))
		authority = slice_from(authority, at + 1);
	return authority;
}

/* The rules of the listener refuse a host that is itself an address before anything is asked upstream. */
static const char *refused_address_of(const struct exchange *x)
{
	const struct request_target *target = x->facts.target;
	bool is_host =
	    x->ending.cause == &relay_cause_ADDRESS_DENIED && target && target->is_address;
	const char *refused = upstream_refused_address(x);
	return refused || !is_host ? refused : target->host;
}

static struct slice field_of(const struct http_head *head, enum http_token token)
{
	const struct http_field *field = http_head_find(head, token);
	return field ? field->value : (struct slice){0};
}

struct observe_request access_record_request(const struct exchange *x)
{
	const struct http_head *head = x->request;
	const struct conf_route *route = x->place.route;
	bool speculates = route && route->speculation.kind != SPECULATION_OFF;
	return (struct observe_request){
	    .method = access_record_method(x),
	    .scheme = head->scheme,
	    .authority = access_record_authority(x),
	    .path = head->path,
	    .user_agent = field_of(head, HTTP_TOKEN_USER_AGENT),
	    .referer = field_of(head, HTTP_TOKEN_REFERER),
	    .id = x->facts.request_id,
	    .bytes = x->upload.received,
	    .retries = upstream_retries(x),
	    .sni = x->facts.sni,
	    .speculation_tags = speculates ? speculation_tags(head) : (struct slice){0},
	    .ech = client_part(x)->has_ech ? "accepted" : NULL,
	};
}

struct observe_ending access_record_ending(const struct exchange *x, enum observe_outcome outcome)
{
	const struct exchange_ending *e = &x->ending;
	const char *cause = e->cause ? e->cause->name : NULL;
	return (struct observe_ending){
	    .outcome = outcome,
	    .code = e->code,
	    .code_name = code_name(e),
	    .detail = e->detail ? e->detail : cause,
	    .refused_address = refused_address_of(x),
	};
}

static void log_exchange(struct gateway *g, const struct exchange *x, enum observe_outcome outcome)
{
	bool is_push = exchange_is_push(x);
	uint64_t page = is_push ? x->pushed.parent_id : x->id;
	uint32_t weight =
	    observe_weight(g->env.observe, page, access_record_is_failure(x, outcome));
	if (weight == 0)
		return;
	const struct conf_route *route = x->place.route;
	usec now = g->relay.now;
	const struct conf_arm *arm = offer_part(x)->arm;
	struct observe_trace trace;
	const struct observe_push push = {.parent_id = x->pushed.parent_id,
	    .source = x->pushed.source,
	    .verdict = x->pushed.verdict,
	    .end_reason = x->pushed.end_reason};
	const struct observe_exchange line = {
	    .started_wall = clock_wall() - (now - x->timing.started),
	    .duration = now - x->timing.started,
	    .id = x->id,
	    .weight = weight,
	    .route = route ? route->name : NULL,
	    .user = access_record_user(x),
	    .tunnel = tunnel_of(x),
	    .tunnel_ended = exchange_is_tunnel(x) ? side_that_ended(x) : NULL,
	    .client = access_record_client(x),
	    .origin = access_record_origin(x),
	    .request = access_record_request(x),
	    .response = {.status = access_record_status(x),
		.bytes = access_record_bytes(x),
		.first_byte =
		    was_held(x) ? USEC_NEVER : since(x->timing.started, x->timing.first_byte)},
	    .ending = access_record_ending(x, outcome),
	    .hold = {.answered_by = hold_part(x)->answered_by,
		.joined = hold_part(x)->joined,
		.missed = x->ending.missed,
		.wasted_bytes = hold_part(x)->wasted_bytes},
	    .push = is_push ? &push : NULL,
	    .arm = arm ? arm->text : NULL,
	    .trace = access_record_trace(x, &trace),
	};
	observe_access_log(g->env.observe, &line);
}

void access_record_ended(void *context, struct exchange *x)
{
	struct gateway *g = context;
	enum observe_outcome outcome = outcome_of(x);
	worker_schedule_drain_check(&g->env);
	times_record_ended(g, x);
	upstream_exchange_ended(x);
	admission_exchange_ended(&g->admission, x);
	if (outcome == OBSERVE_CLIENT_RESET && x->pushes.ever > 0 && hold_part(x)->store)
		hold_page_left(hold_part(x)->store, x);
	count_exchange(g->env.observe->counters, x, outcome);
	if (x->pushed.was_promised)
		feedback_ended(g, x, outcome);
	if (client_part(x)->diary)
		client_diary_ended(x, outcome);
	if (g->lessons.offers)
		lessons_ended(g, x, outcome);
	if (g->pages)
		page_record_ended(g, x, outcome);
	if (g->env.observe->access_fd >= 0)
		log_exchange(g, x, outcome);
	if (tracing_record_of(x))
		span_record_ended(g, x, outcome);
}
