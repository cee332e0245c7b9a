/* SPDX-License-Identifier: MIT */
/*
 * The access log: one JSON object per line, formatted by hand and gathered in a batch. One system
 * call per line would cost more than the line itself. A batch is as large as one write that a pipe
 * takes in one piece, so lines of several workers never mix. A line that is longer than a batch is written
 * again with shorter texts.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/rare.h"
#include "proxy/observe/line.h"
#include <errno.h>
#include <limits.h>
#include <unistd.h>

_Static_assert(OBSERVE_BATCH_BYTES <= PIPE_BUF, "a batch must stay in one piece in the pipe");

/* The text before a value, from the comma on. Keys are copied whole: a copy of a constant length is faster. */
#define KEY_BYTES 32u
struct key {
	char text[KEY_BYTES];
	uint8_t length;
	uint16_t most; /* bytes of the value */
};

#define BEFORE_TEXT(name) ",\"" #name "\":\""
#define BEFORE_NUMBER(name) ",\"" #name "\":"
#define BEFORE_FLAG(name) BEFORE_NUMBER(name)
#define BEHIND_TEXT 1u
#define BEHIND_NUMBER 0u
#define BEHIND_FLAG 0u

// clang-format off
#define KEY(name, type, unit, most, ...) \
	[LOG_FIELD_##name] = {BEFORE_##type(name), sizeof(BEFORE_##type(name)) - 1, most},
static const struct key keys[LOG_FIELD_COUNT] = {LOG_FIELDS(KEY)};

#define LONGEST(name, type, unit, most, ...) + sizeof(BEFORE_##type(name)) - 1 + (most) + BEHIND_##type
_Static_assert(LOG_FIELDS(LONGEST) + sizeof("}\n") - 1 <= OBSERVE_ACCESS_LINE_BYTES, "an access line must fit behind a batch");
/* Bytes of each text, at most, in a line that would be too long for a batch else. */
#define SHORT_TEXT_BYTES 192u
#define SHORT_MOST(most) ((most) < SHORT_TEXT_BYTES ? (most) : SHORT_TEXT_BYTES)
#define SHORTEST(name, type, unit, most, ...) + sizeof(BEFORE_##type(name)) - 1 + SHORT_MOST(most) + BEHIND_##type
_Static_assert(LOG_FIELDS(SHORTEST) + sizeof("}\n") - 1 <= OBSERVE_BATCH_BYTES, "a line with short texts must fit into a batch");
#define FITS(name, type, ...) && sizeof(BEFORE_##type(name)) <= KEY_BYTES
_Static_assert(true LOG_FIELDS(FITS), "a key must fit");
// clang-format on
_Static_assert(KEY_BYTES <= OBSERVE_BATCH_SLACK && LINE_NUMBER_BYTES <= OBSERVE_BATCH_SLACK,
    "the last key and the last number of a full batch are copied whole");

/* A line, or a piece of one, that is being written. */
struct access_line {
	struct line line;
	struct log_field_set left_out;
	bool is_short; /* texts have SHORT_TEXT_BYTES at most */
};

static bool has(const struct access_line *a, enum log_field f)
{
	return !log_field_set_has(&a->left_out, f);
}

static void put_key(struct line *l, enum log_field f)
{
	memcpy(l->at, keys[f].text, KEY_BYTES);
	l->at += keys[f].length;
}

static void put_text(struct access_line *a, enum log_field f, struct slice value)
{
	if (value.len == 0 || !has(a, f))
		return;
	put_key(&a->line, f);
	line_json(&a->line, value, a->is_short ? SHORT_MOST(keys[f].most) : keys[f].most);
	LINE_LITERAL(&a->line, "\"");
}

static void put_name(struct access_line *a, enum log_field f, const char *name)
{
	if (name)
		put_text(a, f, slice_of_string(name));
}

static void put_number(struct access_line *a, enum log_field f, uint64_t n)
{
	if (!has(a, f))
		return;
	put_key(&a->line, f);
	line_number(&a->line, n);
}

static void put_if_any(struct access_line *a, enum log_field f, uint64_t n)
{
	if (n)
		put_number(a, f, n);
}

static void put_if_ever(struct access_line *a, enum log_field f, usec span)
{
	if (span != USEC_NEVER)
		put_number(a, f, span);
}

static void put_flag(struct access_line *a, enum log_field f, bool flag)
{
	if (!flag || !has(a, f))
		return;
	put_key(&a->line, f);
	LINE_LITERAL(&a->line, "true");
}

/* ---- the part that all lines of one connection share ---- */

static void put_address(struct access_line *a, enum log_field f, const struct address *address)
{
	char text[46];
	if (address)
		put_name(a, f, address_format(address, text, sizeof(text)));
}

static RARE void put_peers(struct access_line *a, const struct observe_client *c)
{
	put_address(a, LOG_FIELD_claimed_peer, c->claimed_peer);
	put_address(a, LOG_FIELD_tcp_peer, c->tcp_peer);
	put_text(a, LOG_FIELD_proxy_authority, c->proxy_authority);
	put_text(a, LOG_FIELD_proxy_alpn, c->proxy_alpn);
	put_text(a, LOG_FIELD_proxy_id, c->proxy_id);
}

static void put_client(struct access_line *a, const struct observe_exchange *x)
{
	const struct observe_client *c = &x->client;
	if (c->connection == 0)
		return;
	put_number(a, LOG_FIELD_connection, c->connection);
	put_address(a, LOG_FIELD_client, &c->address);
	if (c->tcp_peer)
		put_peers(a, c);
	put_name(a, LOG_FIELD_listen, c->listen);
	put_name(a, LOG_FIELD_protocol, c->protocol);
	put_name(a, LOG_FIELD_tls, c->tls);
	put_name(a, LOG_FIELD_cipher, c->cipher);
	put_name(a, LOG_FIELD_alpn, c->alpn);
}

/* No part of the piece: it is long, and few clients have one. */
static RARE void put_certificate(struct access_line *a, const struct client_certificate *c)
{
	struct slice subject = client_certificate_name(c, SLICE("subject:"));
	struct slice names = c->names, first = slice_cut(&names, '\n');
	if (slice_starts_with(first, SLICE("sha256:")) && names.len > 0)
		first = slice_cut(&names, '\n');
	put_text(a, LOG_FIELD_client_cert, subject.len > 0 ? subject : first);
	put_text(a, LOG_FIELD_client_cert_sha256, client_certificate_name(c, SLICE("sha256:")));
}

static void put_origin(struct access_line *a, const struct observe_exchange *x)
{
	const struct observe_origin *o = &x->origin;
	put_name(a, LOG_FIELD_origin, o->name);
	put_name(a, LOG_FIELD_origin_address, o->address);
	put_if_any(a, LOG_FIELD_origin_connection, o->connection);
	put_name(a, LOG_FIELD_origin_protocol, o->protocol);
}

typedef void put_fn(struct access_line *a, const struct observe_exchange *x);

static void make_piece(struct observe_piece *piece, const struct log_field_set *left_out,
    put_fn *put, const struct observe_exchange *x)
{
	struct access_line a = {.line = {.at = piece->text}, .left_out = *left_out};
	put(&a, x);
	size_t length = (size_t)(a.line.at - piece->text);
	ensure(length <= sizeof(piece->text) - OBSERVE_BATCH_SLACK);
	piece->length = (uint16_t)length;
	piece->was_cut = a.line.was_cut;
}

/* Copies the piece that `put` has made before for this connection, and for this version of HTTP on it;
 * else calls it. */
static void put_piece(struct access_line *a, struct observe_piece *piece, uint64_t connection,
    const char *protocol, put_fn *put, const struct observe_exchange *x)
{
	if (connection == 0 || a->is_short) {
		put(a, x);
		return;
	}
	if (piece->connection != connection || piece->protocol != protocol) {
		make_piece(piece, &a->left_out, put, x);
		piece->connection = connection;
		piece->protocol = protocol;
	}
	line_text(&a->line, slice_of(piece->text, piece->length));
	a->line.was_cut |= piece->was_cut;
}

/* ---- the line ---- */

static void put_request(struct access_line *a, const struct observe_request *r)
{
	put_text(a, LOG_FIELD_method, r->method);
	put_text(a, LOG_FIELD_scheme, r->scheme);
	put_text(a, LOG_FIELD_authority, r->authority);
	put_text(a, LOG_FIELD_sni, r->sni);
	put_name(a, LOG_FIELD_ech, r->ech);
	put_text(a, LOG_FIELD_path, r->path);
	put_text(a, LOG_FIELD_user_agent, r->user_agent);
	put_text(a, LOG_FIELD_referer, r->referer);
	put_text(a, LOG_FIELD_request_id, r->id);
}

/* Digits need no escapes. */
static void put_id(struct access_line *a, enum log_field f, struct slice digits)
{
	if (!has(a, f))
		return;
	put_key(&a->line, f);
	line_text(&a->line, digits);
	LINE_LITERAL(&a->line, "\"");
}

static void put_trace(struct access_line *a, const struct observe_trace *t)
{
	put_id(a, LOG_FIELD_trace, slice_of(t->trace, sizeof(t->trace)));
	put_id(a, LOG_FIELD_span, slice_of(t->span, sizeof(t->span)));
}

static void put_response(struct access_line *a, const struct observe_exchange *x)
{
	const struct observe_origin *o = &x->origin;
	put_number(a, LOG_FIELD_status, x->response.status);
	put_number(a, LOG_FIELD_request_bytes, x->request.bytes);
	put_number(a, LOG_FIELD_response_bytes, x->response.bytes);
	put_if_any(a, LOG_FIELD_origin_request_bytes, o->request_bytes);
	put_if_any(a, LOG_FIELD_origin_response_bytes, o->response_bytes);
	put_number(a, LOG_FIELD_duration_us, x->duration);
	put_if_ever(a, LOG_FIELD_first_byte_us, x->response.first_byte);
	put_if_any(a, LOG_FIELD_queue_us, o->queue);
	put_if_any(a, LOG_FIELD_connect_us, o->connect);
	if (o->connection == 0)
		return;
	put_if_ever(a, LOG_FIELD_origin_first_byte_us, o->first_byte);
	put_if_ever(a, LOG_FIELD_origin_duration_us, o->duration);
}

static void put_ending(struct access_line *a, const struct observe_exchange *x)
{
	const struct observe_ending *e = &x->ending;
	put_name(a, LOG_FIELD_outcome, observe_outcome_name(e->outcome));
	if (e->code_name) /* the code may be 0 */
		put_number(a, LOG_FIELD_code, e->code);
	put_name(a, LOG_FIELD_code_name, e->code_name);
	put_name(a, LOG_FIELD_detail, e->detail);
	put_name(a, LOG_FIELD_refused_address, e->refused_address);
	put_text(a, LOG_FIELD_speculation_tags, x->request.speculation_tags);
	put_flag(a, LOG_FIELD_retried, x->request.retries > 0);
	put_if_any(a, LOG_FIELD_retries, x->request.retries);
	put_text(a, LOG_FIELD_tunnel, x->tunnel);
	put_name(a, LOG_FIELD_tunnel_ended, x->tunnel_ended);
	put_if_any(a, LOG_FIELD_held, x->hold.answered_by);
	put_flag(a, LOG_FIELD_joined, x->hold.joined);
	put_name(a, LOG_FIELD_missed, x->hold.missed);
}

static void put_push(struct access_line *a, const struct observe_push *p, uint64_t wasted_bytes)
{
	put_flag(a, LOG_FIELD_push, true);
	put_number(a, LOG_FIELD_parent, p->parent_id);
	put_name(a, LOG_FIELD_source, policy_source_name(p->source));
	put_name(a, LOG_FIELD_verdict, policy_action_name(p->verdict.action));
	if (p->verdict.rule)
		put_name(a, LOG_FIELD_rule, p->verdict.rule->name);
	if (p->verdict.reason)
		put_name(a, LOG_FIELD_reason, p->verdict.reason->code);
	if (p->end_reason)
		put_name(a, LOG_FIELD_end_reason, p->end_reason->code);
	put_if_any(a, LOG_FIELD_wasted_bytes, wasted_bytes);
}

/* Writes the first `bytes` bytes of the batch and empties it. */
static void write_batch(struct observe *o, size_t bytes)
{
	const char *p = o->batch.text;
	if (o->access_file) {
		observe_file_write(o, o->access_file, p, bytes);
		bytes = 0;
	}
	while (bytes > 0) {
		ssize_t n = write(o->access_fd, p, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			o->counters->access_lines_dropped += o->batch.lines;
			break;
		}
		/* A pipe accepts all or nothing. */
		p += n;
		bytes -= (size_t)n;
	}
	o->batch.bytes = 0;
	o->batch.lines = 0;
}

void observe_flush(struct observe *o)
{
	if (o->batch.bytes > 0)
		write_batch(o, o->batch.bytes);
}

/* Adds the line at `start`, just behind the batch. If it does not fit, the batch is written first. */
static void add_line(struct observe *o, const char *start, size_t bytes)
{
	ensure(bytes <= OBSERVE_BATCH_BYTES);
	if (o->batch.bytes + bytes > OBSERVE_BATCH_BYTES) {
		observe_flush(o);
		memmove(o->batch.text, start, bytes);
	}
	o->batch.bytes += (uint32_t)bytes;
	if (o->batch.lines++ == 0 && o->gathers)
		o->gathers(o->gathers_context);
}

/* Mixes the bits of an id (splitmix64): pages that come in a fixed rhythm are as likely to be chosen as
 * others. */
static uint64_t mix(uint64_t n)
{
	n = (n ^ n >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	n = (n ^ n >> 27) * UINT64_C(0x94d049bb133111eb);
	return n ^ n >> 31;
}

uint32_t observe_weight(struct observe *o, uint64_t page, bool is_failure)
{
	if (o->access_fd < 0)
		return 0;
	if (o->sample <= 1 || is_failure)
		return 1;
	if (mix(page + ((uint64_t)o->worker << 48)) % o->sample == 0)
		return o->sample;
	o->counters->log_sampled_out++;
	return 0;
}

static void put_time(struct access_line *a, struct observe *o, usec wall)
{
	if (!has(a, LOG_FIELD_time))
		return;
	put_key(&a->line, LOG_FIELD_time);
	line_time(&a->line, o, wall);
	LINE_LITERAL(&a->line, "\"");
}

/* Writes the line at `start` and returns its length. */
static size_t write_line(
    struct observe *o, const struct observe_exchange *x, char *start, bool is_short)
{
	uint64_t client = x->client.connection, origin = x->origin.connection;
	struct access_line a = {.line = {.at = start, .was_cut = is_short},
	    .left_out = o->left_out,
	    .is_short = is_short};
	put_time(&a, o, x->started_wall);
	put_number(&a, LOG_FIELD_worker, o->worker);
	put_number(&a, LOG_FIELD_id, x->id);
	if (x->client.is_named)
		put_client(&a, x);
	else
		put_piece(&a, &o->clients[client % OBSERVE_CLIENTS], client, x->client.protocol,
		    put_client, x);
	if (x->client.certificate)
		put_certificate(&a, x->client.certificate);
	put_text(&a, LOG_FIELD_user, x->user);
	put_name(&a, LOG_FIELD_route, x->route);
	put_piece(
	    &a, &o->origins[origin % OBSERVE_ORIGINS], origin, x->origin.protocol, put_origin, x);
	put_request(&a, &x->request);
	if (x->trace)
		put_trace(&a, x->trace);
	put_response(&a, x);
	put_ending(&a, x);
	put_name(&a, LOG_FIELD_arm, x->arm);
	if (x->push)
		put_push(&a, x->push, x->hold.wasted_bytes);
	if (x->weight > 1)
		put_number(&a, LOG_FIELD_sample, x->weight);
	put_flag(&a, LOG_FIELD_cut, a.line.was_cut);
	if (a.line.at == start) /* it has none of the fields that log-fields names */
		LINE_LITERAL(&a.line, ",");
	*start = '{'; /* in place of the first comma */
	LINE_LITERAL(&a.line, "}\n");
	return (size_t)(a.line.at - start);
}

void observe_access_log(struct observe *o, const struct observe_exchange *x)
{
	if (o->access_fd < 0)
		return;
	char *start = o->batch.text + o->batch.bytes;
	size_t bytes = write_line(o, x, start, false);
	if (bytes > OBSERVE_BATCH_BYTES)
		bytes = write_line(o, x, start, true);
	add_line(o, start, bytes);
}
