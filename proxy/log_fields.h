/* SPDX-License-Identifier: MIT */
/*
 * The fields of an access log line, in their order. The writer (observe/access_log.c), the option log-fields
 * (conf/setters.c) and docs/LOG.md (scripts/make-docs) are made from these rows.
 */
#ifndef PUSHGATE_LOG_FIELDS_H
#define PUSHGATE_LOG_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * X(name, type, unit, most, stability, "since", "present when", "meaning")
 *
 * type: TEXT, NUMBER or FLAG (true, or absent). most: bytes that the value takes in the line; texts may get
 * fewer when the line is too long for one write to the pipe (observe/access_log.c). stability: "stable", or "text" when the value is
 * for people and may be worded differently in any version.
 */
// clang-format off
#define LOG_FIELDS(X) \
	X(time, TEXT, "RFC 3339, UTC", 24, "stable", "0.1", "always", "When the request's head came, or when the push was promised or offered.") \
	X(worker, NUMBER, "", 10, "stable", "0.1", "always", "Index of the worker process. Ids are unique in a worker, until it is started again.") \
	X(id, NUMBER, "", 20, "stable", "0.1", "always", "Of the exchange, counted up by the worker. 0: an offer that became no push.") \
	X(connection, NUMBER, "", 20, "stable", "0.1", "the client is known", "Of the client's connection, counted up by the worker: the same for all of its requests and pushes.") \
	X(client, TEXT, "address", 46, "stable", "0.1", "the client is known", "Address of the client ([PEER.md](PEER.md)): the one that a field of a trusted peer names (`client-address`), else the one that a PROXY header claims, else the TCP peer. `-`: a unix socket. `unknown`: the trusted peer names none.") \
	X(claimed_peer, TEXT, "address", 46, "stable", "0.1", "a PROXY header claims another address than `client`", "The address in that header.") \
	X(tcp_peer, TEXT, "address", 46, "stable", "0.1", "another address than `client`", "The other end of the connection.") \
	X(proxy_authority, TEXT, "", 64, "stable", "0.1", "sent in a PROXY header", "PP2_TYPE_AUTHORITY: the name that the client asked the TCP peer for (SNI).") \
	X(proxy_alpn, TEXT, "", 8, "stable", "0.1", "sent in a PROXY header", "PP2_TYPE_ALPN: the protocol that both agreed on.") \
	X(proxy_id, TEXT, "", 64, "stable", "0.1", "sent in a PROXY header", "PP2_TYPE_UNIQUE_ID: how the TCP peer names the connection; in hexadecimal unless all bytes are visible.") \
	X(listen, TEXT, "", 64, "stable", "0.1", "the client is known", "Name of the `[listen]` section.") \
	X(protocol, TEXT, "", 16, "stable", "0.1", "the client is known", "The version of HTTP in which the request came: `h2`, `http/1.1`, `http/1.0`. Of a push that of its page.") \
	X(tls, TEXT, "", 16, "stable", "0.1", "the client uses TLS", "Version of TLS: `TLSv1.3`, `TLSv1.2`.") \
	X(cipher, TEXT, "", 48, "stable", "0.1", "the client uses TLS", "The cipher suite, by its IANA name: `TLS_AES_128_GCM_SHA256`.") \
	X(alpn, TEXT, "", 12, "stable", "0.1", "the client uses TLS and ALPN", "The protocol that was agreed on by ALPN: `h2`, `http/1.1`.") \
	X(client_cert, TEXT, "", 256, "stable", "0.1", "the client has shown a certificate", "The subject of that certificate, as RFC 2253 writes it: `CN=alice,O=Example`; one without subject: its first name, as `cert` has it. Of a push that of its page.") \
	X(client_cert_sha256, TEXT, "hexadecimal", 67, "stable", "0.1", "as client_cert", "SHA-256 of that certificate.") \
	X(user, TEXT, "", 64, "stable", "0.1", "the user is known", "Name of the user whose password was right, by the rules of `[access NAME]`. Of a push that of its page.") \
	X(route, TEXT, "", 64, "stable", "0.1", "a route matched", "Name of the `[route]` section.") \
	X(origin, TEXT, "", 64, "stable", "0.1", "a route matched", "Name of the route's `[origin]` section, whether the origin was asked or not.") \
	X(origin_address, TEXT, "address:port", 64, "stable", "0.1", "an origin was sent the request, or promised the push", "The address that was connected to. `unix:/path`: a unix socket; `demo`: the built-in origin.") \
	X(origin_connection, NUMBER, "", 20, "stable", "0.1", "as origin_address", "Of the connection to the origin, counted up by the worker: the same for all exchanges that used it.") \
	X(origin_protocol, TEXT, "", 16, "stable", "0.1", "as origin_address", "The version of HTTP in which the origin answered, or else what the connection to it speaks: `h2`, `http/1.1`, `http/1.0`.") \
	X(method, TEXT, "", 32, "stable", "0.1", "known", "Of the request, as the client sent it, or of the promised request.") \
	X(scheme, TEXT, "", 16, "stable", "0.1", "known", "`https` or `http`.") \
	X(authority, TEXT, "", 260, "stable", "0.1", "known", "Host, and port if one was given.") \
	X(sni, TEXT, "", 64, "stable", "0.1", "it is not the host of authority", "The host that the client's TLS handshake named. Absent: the host of authority, or none. Of a push never.") \
	X(ech, TEXT, "", 12, "stable", "0.1", "Encrypted ClientHello was used", "`accepted`: the host that the client's TLS handshake named was hidden from everybody else. Of a push never.") \
	X(path, TEXT, "", 1024, "stable", "0.1", "known", "With the query.") \
	X(user_agent, TEXT, "", 256, "stable", "0.1", "the field was sent", "The request's User-Agent.") \
	X(referer, TEXT, "", 512, "stable", "0.1", "the field was sent", "The request's Referer.") \
	X(request_id, TEXT, "", 67, "stable", "0.1", "`request-id` of the listener is on", "The request's id, which its origin got in X-Request-Id. Of a push that of its page.") \
	X(trace, TEXT, "hexadecimal", 35, "stable", "0.1", "`tracing` is on, or the client sent traceparent", "Id of the trace that the request belongs to ([TRACING.md](TRACING.md)). Of a push that of its page.") \
	X(span, TEXT, "hexadecimal", 19, "stable", "0.1", "as trace", "Id of the request's span, or of the push's. Without a span of ours: the one that the client's traceparent names.") \
	X(status, NUMBER, "", 5, "stable", "0.1", "always", "Of the final response to the client, of the held response, or of that for which a push was given up. 0: there was none.") \
	X(request_bytes, NUMBER, "bytes", 20, "stable", "0.1", "always", "Of the request's body, received from the client.") \
	X(response_bytes, NUMBER, "bytes", 20, "stable", "0.1", "always", "Of the response's body, sent to the client. Of a held push 0: its requests have them.") \
	X(origin_request_bytes, NUMBER, "bytes", 20, "stable", "0.1", "not 0", "Of the request's body, sent to the origin.") \
	X(origin_response_bytes, NUMBER, "bytes", 20, "stable", "0.1", "not 0", "Of the response's body, received from the origin. More than response_bytes: the client did not take all.") \
	X(duration_us, NUMBER, "µs", 20, "stable", "0.1", "always", "From `time` until everything was over on both sides.") \
	X(first_byte_us, NUMBER, "µs", 20, "stable", "0.1", "a final response began", "From `time` until the head of the final response was sent to the client.") \
	X(queue_us, NUMBER, "µs", 20, "stable", "0.1", "not 0", "How long the request waited here for a connection to the origin, or for a stream on one.") \
	X(connect_us, NUMBER, "µs", 20, "stable", "0.1", "not 0", "The part of queue_us in which the connection that took the request was being opened: TCP, TLS and, in HTTP/2, the origin's SETTINGS.") \
	X(origin_first_byte_us, NUMBER, "µs", 20, "stable", "0.1", "the origin's final response began", "From the request's way to the origin (or the promise) until the head of the origin's final response.") \
	X(origin_duration_us, NUMBER, "µs", 20, "stable", "0.1", "the origin's response was complete", "From the same start until the end of the origin's response.") \
	X(outcome, TEXT, "", 16, "stable", "0.1", "always", "How it ended: see below.") \
	X(code, NUMBER, "", 10, "stable", "0.1", "an error code ended it", "HTTP/2 error code: of the peer's RST_STREAM or GOAWAY, or of pushgate's own when the peer broke a rule or left; for HTTP/1.1, which has no codes, the one that HTTP/2 has for it. A time limit has none.") \
	X(code_name, TEXT, "", 24, "stable", "0.1", "as code", "The code's name.") \
	X(detail, TEXT, "", 240, "text", "0.1", "it ended early", "Why: a cause of [COUNTERS.md](COUNTERS.md#causes), or a more exact text.") \
	X(refused_address, TEXT, "address:port", 48, "stable", "0.1", "an address was refused", "Forward mode: the address of the destination that the rules of access refuse, or that is a listener of pushgate's. Without port: the client named the address itself. No client is told it.") \
	X(speculation_tags, TEXT, "", 128, "stable", "0.1", "sent, and the route has `speculation`", "Sec-Speculation-Tags: the tags of the rules for which the browser has loaded this ahead of a navigation; `null`: of rules without one; in quotes, `pushgate`: of pushgate's own ([SPECULATION.md](SPECULATION.md)).") \
	X(retried, FLAG, "", 4, "stable", "0.1", "true", "The request was sent again: the origin refused it or could not be connected to, or retry-on says so. Times and bytes of the origin are those of the last attempt, and queue_us is the sum.") \
	X(retries, NUMBER, "", 3, "stable", "0.1", "not 0", "How often it was sent again.") \
	X(tunnel, TEXT, "", 32, "stable", "0.1", "a tunnel was open", "Its protocol, such as `websocket`, or `connect` for a CONNECT without one. The bytes of its two directions are request_bytes and response_bytes.") \
	X(tunnel_ended, TEXT, "", 16, "stable", "0.1", "as tunnel", "Who ended it: `client`, `origin` or `pushgate` (then `detail` has the limit). When both sides ended in good order: the one that did first.") \
	X(held, NUMBER, "", 20, "stable", "0.1", "a held response answered", "`id` of the push whose held response answered this request.") \
	X(joined, FLAG, "", 4, "stable", "0.1", "true", "With `held`: that response was still arriving when this request came. Else it was complete.") \
	X(missed, TEXT, "", 72, "stable", "0.1", "a held response did not answer", "Why not: [HOLD.md](HOLD.md). Of a held push: why it did not answer the first request that it missed.") \
	X(arm, TEXT, "", 52, "stable", "0.1", "`share` of a [preload] section is given", "In which arm of the comparison the page load is: `NAME=on` or `NAME=off`. Of a push that of its page.") \
	X(push, FLAG, "", 4, "stable", "0.1", "true", "A push, or an offer that became none. The fields below are those of such lines alone.") \
	X(parent, NUMBER, "", 20, "stable", "0.1", "a push", "`id` of the request that it came with. 0: that was over when the promise came, and its client is not known any more.") \
	X(source, TEXT, "", 16, "stable", "0.1", "a push", "Who offered it: `relayed` (the origin promised it), `link`, `config`, `manifest`, `remembered`.") \
	X(verdict, TEXT, "", 16, "stable", "0.1", "a push", "What was decided: `forward`, `drop`, `hold`, `hint`, `hint+hold`.") \
	X(rule, TEXT, "", 64, "stable", "0.1", "a rule decided", "Name of the `[push]` section.") \
	X(reason, TEXT, "", 32, "stable", "0.1", "a push", "Why it was decided so: [REASONS.md](REASONS.md).") \
	X(end_reason, TEXT, "", 32, "stable", "0.1", "the push ended early, or was held", "Why it ended: [REASONS.md](REASONS.md). `claimed`: it was held, and answered a request.") \
	X(wasted_bytes, NUMBER, "bytes", 20, "stable", "0.1", "not 0", "Of a held response: bytes that no client was sent.") \
	X(sample, NUMBER, "", 10, "stable", "0.1", "more than 1", "This line stands for so many: see below.") \
	X(cut, FLAG, "", 4, "stable", "0.1", "true", "A value, or the line, was too long, and values end in `…`.")
// clang-format on

enum log_field {
#define LOG_FIELD_ID(name, ...) LOG_FIELD_##name,
	LOG_FIELDS(LOG_FIELD_ID)
#undef LOG_FIELD_ID
	    LOG_FIELD_COUNT
};

/* A set of fields. All bits 0: the empty set. */
struct log_field_set {
	uint64_t bits[(LOG_FIELD_COUNT + 63) / 64];
};

static inline bool log_field_set_has(const struct log_field_set *s, enum log_field f)
{
	return s->bits[f / 64] >> f % 64 & 1;
}

static inline void log_field_set_put(struct log_field_set *s, enum log_field f, bool is_member)
{
	uint64_t bit = UINT64_C(1) << f % 64;
	s->bits[f / 64] = is_member ? s->bits[f / 64] | bit : s->bits[f / 64] & ~bit;
}

static inline struct log_field_set log_field_set_every(void)
{
	struct log_field_set s = {{0}};
	for (unsigned f = 0; f < LOG_FIELD_COUNT; f++)
		log_field_set_put(&s, f, true);
	return s;
}

#endif
