/* SPDX-License-Identifier: MIT */
/* Every fault that a peer can commit in HTTP/1, one row each. */
#ifndef PUSHGATE_H1_H1_FAULT_H
#define PUSHGATE_H1_H1_FAULT_H

#include "proxy/h1/h1.h"

// clang-format off
/* X(symbol, name, section, refusal, sentence). The refusal is of a request; of a response's fault it
 * counts for nothing. */
#define H1_FAULTS(X) \
	/* Lines. */ \
	X(LINE_END, "line-end-bare", "RFC 9112 2.2", MALFORMED, \
		"A line ends with LF alone, or has a CR in it.") \
	X(REQUEST_LINE, "request-line-bad", "RFC 9112 3", MALFORMED, \
		"The first line is not METHOD SP TARGET SP HTTP-VERSION.") \
	X(TARGET, "request-target-bad", "RFC 9112 3.2", MALFORMED, \
		"The request target has none of the four forms.") \
	X(TARGET_LONG, "request-target-long", "RFC 9112 3", TARGET, \
		"The request target is longer than max-header-list, or its line than max-field-block.") \
	X(VERSION, "http-version-unknown", "RFC 9112 2.3", VERSION, \
		"The version of HTTP is neither 1.1 nor 1.0.") \
	X(STATUS_LINE, "status-line-bad", "RFC 9112 4", MALFORMED, \
		"The first line is not HTTP-VERSION SP STATUS.") \
	/* Fields. */ \
	X(HEAD_LARGE, "head-too-large", "RFC 6585 5", FIELDS, \
		"A head is larger than max-field-block.") \
	X(HEAD_LATE, "head-late", "RFC 9110 15.5.9", LATE, \
		"A head was not complete within header-timeout.") \
	X(FIELD_LINE, "field-line-bad", "RFC 9112 5", MALFORMED, \
		"A field line has no colon.") \
	X(FOLD, "line-folding", "RFC 9112 5.2", MALFORMED, \
		"A field line begins with whitespace.") \
	X(HOP_VALUE, "hop-field-bad", "RFC 9110 5.5", MALFORMED, \
		"A field for this hop has a control byte.") \
	X(MALFORMED, "message-malformed", "RFC 9110 5", MALFORMED, \
		"A head is not well formed.") \
	X(HOST_MISSING, "host-missing", "RFC 9112 3.2", MALFORMED, \
		"A request in HTTP/1.1 has no Host.") \
	X(NOMINATED, "connection-nominates", "RFC 9110 7.6.1", MALFORMED, \
		"Connection names a field that frames or routes the message.") \
	X(OPTIONS_MANY, "connection-options-many", "RFC 9110 7.6.1", MALFORMED, \
		"Connection has more options than any sender needs.") \
	/* Framing. */ \
	X(CODING_AND_LENGTH, "coding-and-length", "RFC 9112 6.1", MALFORMED, \
		"A message has Transfer-Encoding and Content-Length.") \
	X(CODING_OLD, "coding-in-old-version", "RFC 9112 6.1", MALFORMED, \
		"A message in HTTP/1.0 has Transfer-Encoding.") \
	X(CODING_BAD, "coding-not-chunked", "RFC 9112 6.3", MALFORMED, \
		"The transfer codings do not end in chunked, or have it twice.") \
	X(CODING_UNKNOWN, "coding-unknown", "RFC 9112 6.1", CODING, \
		"A transfer coding other than chunked was applied.") \
	X(CODING_CONNECT, "coding-in-connect", "RFC 9110 9.3.6", MALFORMED, \
		"A CONNECT, which has no content, has Transfer-Encoding.") \
	X(CODING_FORBIDDEN, "coding-without-body", "RFC 9112 6.1", MALFORMED, \
		"A 1xx or 204 response has Transfer-Encoding.") \
	X(CHUNK_SIZE, "chunk-size-bad", "RFC 9112 7.1", MALFORMED, \
		"A chunk's size is not a hexadecimal number, or too large.") \
	X(CHUNK_EXTENSION, "chunk-extension-bad", "RFC 9112 7.1.1", MALFORMED, \
		"A chunk extension is not well formed.") \
	X(EXTENSIONS_LARGE, "chunk-extensions-large", "RFC 9112 7.1.1", MALFORMED, \
		"The chunk extensions of a message are longer than any use for them.") \
	X(CHUNK_END, "chunk-end-missing", "RFC 9112 7.1", MALFORMED, \
		"A chunk's data is not followed by CRLF.") \
	X(TRAILERS_LARGE, "trailers-too-large", "RFC 9112 7.1.2", FIELDS, \
		"A trailer section is too large.") \
	/* Responses. */ \
	X(UNASKED, "response-unasked", "RFC 9112 9.2", MALFORMED, \
		"The origin sent bytes that no request asked for.") \
	X(UPGRADE_UNASKED, "upgrade-unasked", "RFC 9110 7.8", MALFORMED, \
		"The origin changed the protocol though the request had no Upgrade.") \
	X(UPGRADE_WRONG, "upgrade-wrong", "RFC 9110 7.8", MALFORMED, \
		"A 101 does not name the protocol that was asked for, or is in HTTP/1.0.") \
	X(WEBSOCKET_ACCEPT, "websocket-accept-bad", "RFC 6455 4.1", MALFORMED, \
		"A 101 does not have the one Sec-WebSocket-Accept that follows from our key.") \
	X(INTERIM_MANY, "interim-responses-many", "RFC 9110 15.2", MALFORMED, \
		"A request got more interim responses than max-interim-responses.")
// clang-format on

enum h1_fault_number {
#define H1_FAULT_NUMBER(symbol, ...) H1_FAULT_##symbol,
	H1_FAULTS(H1_FAULT_NUMBER)
#undef H1_FAULT_NUMBER
	    H1_FAULT_COUNT
};
extern const struct session_fault h1_faults[H1_FAULT_COUNT];

/* The row, for returns: `return h1_fault(VERSION);` */
#define h1_fault(symbol) (&h1_faults[H1_FAULT_##symbol])

#endif
