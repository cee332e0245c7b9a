/* SPDX-License-Identifier: MIT */
/*
 * Sending. A flush calls the owner's fill once for each batch; a batch is one system call. Plain
 * connections send small pieces from the loop's buffer and large ones from their chunks; TLS gathers
 * plaintext into full records. A connection itself stores only bytes that its socket did not accept.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/limits.h"
#include "proxy/net/net_conn.h"
#include <errno.h>

/* A record of this much plaintext (plus 22 or 29 bytes of its own) fits into one TCP segment, even
 * with TCP options and tunnels. */
#define SMALL_RECORD_BYTES 1300u
/* After this time without a send the congestion window is assumed to be small again. */
#define IDLE_USEC USEC_PER_SEC
/* Records are small until this much was sent since the pause, or half of it is in one batch. */
#define SMALL_RECORDS_UNTIL_BYTES 65536u
/* How many writes of TLS itself (alerts, key updates) may wait for a blocked socket. */
#define UNSENT_TLS_WRITES_MAX 64u

/* ---- struct net_out ---- */

size_t net_out_room(const struct net_out *o)
{
	/* The last segment is reserved for copied bytes. */
	if (o->has_failed || o->filled >= o->limit || o->count >= NET_OUT_SEGMENTS - 2)
		return 0;
	return o->limit - o->filled;
}

static size_t record_bytes(const struct net_out *o)
{
	const struct net_conn *c = o->conn;
	bool is_small = c->sent_since_idle_bytes < SMALL_RECORDS_UNTIL_BYTES &&
			o->filled <= SMALL_RECORDS_UNTIL_BYTES / 2;
	return is_small ? SMALL_RECORD_BYTES : NET_RECORD_BYTES;
}

static void seal(struct net_out *o, const void *ptr, size_t len, size_t most)
{
	if (!o->has_failed && !net_conn_tls_write(o->conn, ptr, len, most))
		o->has_failed = true;
}

static void gather(struct net_out *o, const uint8_t *at, size_t len)
{
	while (len > 0) {
		if (o->gathered == 0 && len >= NET_RECORD_BYTES) {
			seal(o, at, NET_RECORD_BYTES, record_bytes(o));
			at += NET_RECORD_BYTES;
			len -= NET_RECORD_BYTES;
			continue;
		}
		size_t n =
		    NET_RECORD_BYTES - o->gathered < len ? NET_RECORD_BYTES - o->gathered : len;
		memcpy(o->conn->loop->record + o->gathered, at, n);
		o->gathered += n;
		at += n;
		len -= n;
		if (o->gathered == NET_RECORD_BYTES) {
			seal(o, o->conn->loop->record, o->gathered, record_bytes(o));
			o->gathered = 0;
		}
	}
}

static void append(struct net_out *o, const void *ptr, size_t len)
{
	struct net_buffer *b = &o->conn->loop->output;
	struct net_segment *last = o->count ? &o->segments[o->count - 1] : NULL;
	if (!last || last->chunk) {
		ensure(o->count < NET_OUT_SEGMENTS);
		o->segments[o->count++] = (struct net_segment){NULL, b->size, len};
	} else {
		last->length += len;
	}
	net_buffer_append(b, ptr, len);
}

void net_out_copy(struct net_out *o, const void *ptr, size_t len)
{
	if (len == 0)
		return;
	o->filled += len;
	if (o->conn->layer.ssl)
		gather(o, ptr, len);
	else
		append(o, ptr, len);
}

void net_out_piece(struct net_out *o, struct piece piece)
{
	if (o->conn->layer.ssl || piece.length < LIMIT_COPY_BELOW_BYTES ||
	    o->count >= NET_OUT_SEGMENTS - 1) {
		net_out_copy(o, piece.chunk->data + piece.offset, piece.length);
		return;
	}
	o->filled += piece.length;
	o->segments[o->count++] =
	    (struct net_segment){chunk_hold(piece.chunk), piece.offset, piece.length};
}

/* ---- the system call ---- */

static ssize_t transmit(
    struct net_conn *c, const uint8_t *base, const struct net_segment *segments, size_t count)
{
	struct iovec vector[NET_OUT_SEGMENTS];
	ensure(count > 0 && count <= NET_OUT_SEGMENTS);
	for (size_t i = 0; i < count; i++) {
		const uint8_t *from = segments[i].chunk ? segments[i].chunk->data : base;
		vector[i].iov_base = (void *)(uintptr_t)(from + segments[i].offset);
		vector[i].iov_len = segments[i].length;
	}
	struct msghdr message = {.msg_iov = vector, .msg_iovlen = count};
	ssize_t n;
	do {
		if (count == 1)
			n = net_sys_send(
			    c->fd, vector[0].iov_base, vector[0].iov_len, MSG_NOSIGNAL);
		else
			n = net_sys_sendmsg(c->fd, &message, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return 0;
	if (n > 0) {
		c->write_progress = c->loop->now;
		c->sent_bytes += (uint64_t)n;
	}
	return n;
}

/* Drops n sent bytes; returns the first segment that has any left. */
static size_t skip_sent(struct net_segment *segments, size_t first, size_t count, size_t n)
{
	while (first < count && n >= segments[first].length) {
		n -= segments[first].length;
		if (segments[first].chunk)
			chunk_release(segments[first].chunk);
		first++;
	}
	if (n > 0) {
		ensure(first < count);
		segments[first].offset += n;
		segments[first].length -= n;
	}
	return first;
}

static void release_segments(const struct net_segment *segments, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (segments[i].chunk)
			chunk_release(segments[i].chunk);
}

static void drop_first(struct net_conn *c)
{
	struct net_unsent *r = c->unsent;
	release_segments(r->segments + r->first, r->count - r->first);
	c->unsent = r->next;
	budget_give(c->budget, r->charge);
	free(r);
}

void net_unsent_drop(struct net_conn *c)
{
	while (c->unsent)
		drop_first(c);
}

void net_unsent_charge(struct net_conn *c, struct budget *budget)
{
	for (const struct net_unsent *r = c->unsent; r; r = r->next) {
		budget_give(c->budget, r->charge);
		budget_force(budget, r->charge);
	}
	c->budget = budget;
}

/* The capacity of the chunks that the segments hold; neighbours in one chunk count once. */
static size_t pinned_bytes(const struct net_segment *segments, size_t count)
{
	size_t pinned = 0;
	for (size_t i = 0; i < count; i++) {
		const struct chunk *chunk = segments[i].chunk;
		if (chunk && (i == 0 || segments[i - 1].chunk != chunk))
			pinned += chunk->capacity;
	}
	return pinned;
}

/* Adds the segments to the unsent bytes: takes chunk references, copies from the loop's buffer. */
static void keep_unsent(
    struct net_conn *c, const uint8_t *base, const struct net_segment *segments, size_t count)
{
	size_t copied = 0;
	for (size_t i = 0; i < count; i++)
		copied += segments[i].chunk ? 0 : segments[i].length;
	size_t size = sizeof(struct net_unsent) + count * sizeof(*segments) + copied;
	struct net_unsent *r = memory_alloc(size);
	*r = (struct net_unsent){
	    .count = (uint32_t)count, .charge = size + pinned_bytes(segments, count)};
	budget_force(c->budget, r->charge);
	uint8_t *data = (uint8_t *)(r->segments + count);
	size_t at = 0;
	for (size_t i = 0; i < count; i++) {
		r->segments[i] = segments[i];
		if (segments[i].chunk)
			continue;
		memcpy(data + at, base + segments[i].offset, segments[i].length);
		r->segments[i].offset = at;
		at += segments[i].length;
	}
	if (!c->unsent) {
		c->blocked_since = c->loop->now;
		c->has_blocked = true;
	}
	struct net_unsent **tail = &c->unsent;
	while (*tail)
		tail = &(*tail)->next;
	*tail = r;
}

void net_conn_send_first(struct net_conn *c, const void *bytes, size_t count)
{
	const struct net_segment all = {NULL, 0, count};
	ensure(c->phase == NET_PHASE_CONNECTING && !c->unsent);
	keep_unsent(c, bytes, &all, 1);
}

/* Sends the segments, keeps the rest. Returns 0, or the socket's error after releasing all. */
static int send_segments(
    struct net_conn *c, struct net_segment *segments, size_t count, size_t *sent)
{
	const uint8_t *base = c->loop->output.data;
	*sent = 0;
	size_t first = 0;
	if (!c->unsent) {
		c->write_progress = c->loop->now;
		ssize_t n = transmit(c, base, segments, count);
		if (n < 0) {
			int error = errno;
			release_segments(segments, count);
			return error;
		}
		*sent = (size_t)n;
		first = skip_sent(segments, 0, count, (size_t)n);
	}
	if (first < count) {
		keep_unsent(c, base, segments + first, count - first);
		net_conn_arm(c);
	}
	return 0;
}

/* The peer has closed: bytes that it sent before may still be in the socket. */
static bool can_read_on(const struct net_conn *c, int error)
{
	return c->phase == NET_PHASE_OPEN && c->ops && c->ops->cannot_send && !c->is_eof &&
	       (error == EPIPE || error == ECONNRESET);
}

static void break_sending(struct net_conn *c, int error)
{
	if (c->sending == NET_SENDING_BROKEN) /* TLS has tried to answer what it reads */
		return;
	c->sending = NET_SENDING_BROKEN;
	c->send_errno = error;
	net_unsent_drop(c);
	list_remove(&c->dirty);
	net_conn_arm(c);
	c->ops->cannot_send(
	    c->owner, error == EPIPE ? "write: Broken pipe" : "write: Connection reset by peer");
}

static void failed(struct net_conn *c, int error)
{
	if (can_read_on(c, error)) {
		break_sending(c, error);
		return;
	}
	net_conn_end_errno(c, NET_END_ERROR, "write", error);
}

bool net_conn_drain(struct net_conn *c)
{
	struct net_unsent *r;
	while ((r = c->unsent)) {
		const uint8_t *base = (const uint8_t *)(r->segments + r->count);
		ssize_t n = transmit(c, base, r->segments + r->first, r->count - r->first);
		if (n < 0) {
			failed(c, errno);
			return false;
		}
		r->first = (uint32_t)skip_sent(r->segments, r->first, r->count, (size_t)n);
		if (r->first < r->count)
			return false;
		drop_first(c);
	}
	if (c->phase == NET_PHASE_DRAINING || c->phase == NET_PHASE_OPEN)
		net_conn_queue(c);
	return true;
}

static int send_output(struct net_conn *c)
{
	struct net_buffer *b = &c->loop->output;
	struct net_segment all = {NULL, 0, b->size};
	size_t sent;
	int error = b->size > 0 ? send_segments(c, &all, 1, &sent) : 0;
	net_buffer_reset(b, NET_OUTPUT_BYTES);
	return error;
}

void net_conn_send_output(struct net_conn *c)
{
	size_t blocks = 0;
	for (const struct net_unsent *r = c->unsent; r; r = r->next)
		blocks++;
	if (blocks >= UNSENT_TLS_WRITES_MAX && c->loop->output.size > 0) {
		net_buffer_reset(&c->loop->output, NET_OUTPUT_BYTES);
		net_conn_end(
		    c, NET_END_TLS, "the peer does not read the TLS messages that it requests");
		return;
	}
	int error = send_output(c);
	if (error)
		failed(c, error);
}

void net_conn_try_output(struct net_conn *c)
{
	(void)send_output(c);
}

/* ---- the flush ---- */

void net_conn_queue(struct net_conn *c)
{
	if (!list_is_linked(&c->dirty))
		list_append(&c->loop->dirty, &c->dirty);
}

void net_conn_report_blocked(struct net_conn *c)
{
	if (!c->has_blocked || c->phase != NET_PHASE_OPEN)
		return;
	c->has_blocked = false;
	if (c->unsent && c->ops->blocked)
		c->ops->blocked(c->owner);
}

/* Adapts the size of the next batch to what the socket accepted of this one. */
static void adapt(struct net_conn *c, size_t bytes, size_t sent)
{
	c->sent_since_idle_bytes += (uint32_t)bytes;
	if (c->sent_since_idle_bytes > SMALL_RECORDS_UNTIL_BYTES)
		c->sent_since_idle_bytes = SMALL_RECORDS_UNTIL_BYTES;
	if (sent < bytes)
		c->batch_bytes = NET_BATCH_LEAST_BYTES;
	else if (bytes >= c->batch_bytes && c->batch_bytes < NET_BATCH_BYTES)
		c->batch_bytes =
		    c->batch_bytes * 2 < NET_BATCH_BYTES ? c->batch_bytes * 2 : NET_BATCH_BYTES;
}

static bool can_fill(const struct net_conn *c)
{
	return c->phase == NET_PHASE_OPEN && c->sending == NET_SENDING_OPEN && !c->unsent;
}

/* Sends one batch. Returns false when there is nothing more to send now. */
static bool flush_batch(struct net_conn *c, size_t *total)
{
	struct net_buffer *b = &c->loop->output;
	struct net_out out;
	out.conn = c;
	out.limit = c->batch_bytes;
	out.filled = out.gathered = 0;
	out.count = 0;
	out.has_failed = false;
	ensure(b->size == 0);
	c->ops->fill(c->owner, &out);
	if (c->layer.ssl && out.gathered > 0) {
		/* The end of a large response, or several small frames, go into one record. */
		seal(&out, c->loop->record, out.gathered, NET_RECORD_BYTES);
	}
	if (c->layer.ssl && b->size > 0)
		out.segments[out.count++] = (struct net_segment){NULL, 0, b->size};
	bool is_sendable = c->phase == NET_PHASE_OPEN || c->phase == NET_PHASE_DRAINING;
	size_t bytes = 0, sent = 0;
	for (unsigned i = 0; i < out.count; i++)
		bytes += out.segments[i].length;
	int error = 0;
	if (!is_sendable)
		release_segments(out.segments, out.count);
	else if (out.count > 0)
		error = send_segments(c, out.segments, out.count, &sent);
	net_buffer_reset(b, NET_OUTPUT_BYTES);
	if (error)
		failed(c, error);
	else if (out.has_failed && c->phase == NET_PHASE_OPEN)
		net_conn_end(c, NET_END_TLS, "a record could not be written");
	else if (is_sendable && out.count > 0)
		adapt(c, bytes, sent);
	*total += bytes;
	return bytes > 0 && sent == bytes && can_fill(c);
}

static void flush_batches(struct net_conn *c)
{
	if (c->loop->now - c->write_progress > IDLE_USEC)
		c->sent_since_idle_bytes = 0;
	size_t total = 0;
	while (flush_batch(c, &total))
		if (total >= NET_SEND_PER_PASS_BYTES) {
			net_conn_dirty(c);
			return;
		}
}

void net_conn_flush(struct net_conn *c)
{
	if (can_fill(c))
		flush_batches(c);
	if (c->sending == NET_SENDING_ENDING)
		net_conn_finish_step(c);
	net_conn_report_blocked(c);
	if (c->phase == NET_PHASE_DRAINING || (c->phase == NET_PHASE_FAILED && !c->ops))
		net_conn_close_step(c);
}
