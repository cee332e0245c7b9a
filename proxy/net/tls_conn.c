/* SPDX-License-Identifier: MIT */
/*
 * TLS on one connection: the handshake, records in, records out, close_notify (RFC 8446, RFC 5246).
 * An idle connection keeps only the library's state: buffers are freed with the last byte, the
 * handshake's configuration after the handshake.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/base/reserve.h"
#include "proxy/limits.h"
#include "proxy/net/net_conn.h"
#include <openssl/err.h>
#include <stdio.h>

static void begin_reading(struct net_conn *c)
{
	struct net_loop *l = c->loop;
	ensure(l->output.size == 0);
	l->input = (struct net_input){.bytes = l->input.bytes, .budget = LIMIT_READ_PER_PASS_BYTES};
}

/* Keeps the bytes that were read from the socket and not given to the library. */
static void end_reading(struct net_conn *c)
{
	struct net_loop *l = c->loop;
	size_t left = l->input.end - l->input.at;
	if (left == 0 || !c->ops || c->phase == NET_PHASE_FAILED)
		return;
	ensure(!c->pending_input);
	struct net_pending_input *k = memory_alloc(sizeof(*k) + left);
	k->at = 0;
	k->length = left;
	memcpy(k->data, l->input.bytes + l->input.at, left);
	c->pending_input = k;
	l->input.at = l->input.end = 0;
}

void net_conn_set_alpn(struct net_conn *c, const char *alpn)
{
	c->alpn = alpn;
}

/* RFC 7301 3.1 */
static void offer_alpn(SSL *ssl, const char *alpn)
{
	uint8_t wire[1 + UINT8_MAX];
	size_t length = strlen(alpn);
	ensure(length > 0 && length <= UINT8_MAX);
	wire[0] = (uint8_t)length;
	memcpy(wire + 1, alpn, length);
	ensure(SSL_set_alpn_protos(ssl, wire, (unsigned)length + 1) == 0);
}

void net_conn_tls_start(struct net_conn *c)
{
	c->layer.ssl = SSL_new(c->layer.tls->context);
	if (!c->layer.ssl && reserve_give_way())
		c->layer.ssl = SSL_new(c->layer.tls->context);
	if (!c->layer.ssl)
		reserve_is_used_up();
	SSL_set_shed_handshake_config(c->layer.ssl, 1);
	net_bio_attach(c);
	if (c->layer.tls->is_server) {
		SSL_set_accept_state(c->layer.ssl);
		return;
	}
	SSL_set_connect_state(c->layer.ssl);
	if (c->alpn)
		offer_alpn(c->layer.ssl, c->alpn);
	const char *wrong = tls_client_prepare(c);
	if (wrong)
		net_conn_end(c, NET_END_TLS, wrong);
}

/* Empties the library's error queue. Returns the peer's alert if there is one, otherwise the
 * outermost error, which is the most specific. */
static uint32_t take_error(void)
{
	uint32_t best = 0, code;
	while ((code = ERR_get_error()) != 0) {
		best = code;
		if (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) > SSL_AD_REASON_OFFSET)
			break;
	}
	ERR_clear_error();
	return best;
}

static enum net_end end_of(uint32_t code)
{
	if (ERR_GET_LIB(code) != ERR_LIB_SSL)
		return NET_END_TLS;
	if (ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED)
		return NET_END_CERTIFICATE;
	return ERR_GET_REASON(code) > SSL_AD_REASON_OFFSET ? NET_END_ALERT : NET_END_TLS;
}

static void fail(struct net_conn *c, uint32_t code)
{
	char text[256], reason[128];
	enum net_end end = end_of(code);
	if (end == NET_END_CERTIFICATE)
		snprintf(text, sizeof(text), "certificate verify failed: %s",
		    X509_verify_cert_error_string(SSL_get_verify_result(c->layer.ssl)));
	else
		snprintf(text, sizeof(text), "%s", tls_reason(code, reason, sizeof(reason)));
	/* Send our alert, if there is one; the owner's close then lingers until it arrives. A failure
	 * to send it is ignored: the TLS error is what the owner must know. */
	c->has_alerted = c->loop->output.size > 0;
	net_conn_try_output(c);
	if (c->phase == NET_PHASE_HANDSHAKE || c->phase == NET_PHASE_OPEN)
		net_conn_end(c, end, text);
}

/* Handles an incomplete call of the library: usually it only waits for more bytes. */
static void handle_incomplete(struct net_conn *c, int error, uint32_t code)
{
	struct net_loop *l = c->loop;
	if (error == SSL_ERROR_WANT_READ && !l->input.is_eof && l->input.error == 0)
		return;
	if (l->input.error) {
		net_conn_end_errno(c, NET_END_ERROR, "read", l->input.error);
	} else if (code) {
		fail(c, code);
	} else if (c->phase == NET_PHASE_HANDSHAKE) {
		net_conn_end(c, NET_END_TLS, "closed by the peer during the handshake");
	} else if (error == SSL_ERROR_ZERO_RETURN) {
		net_conn_end(c, NET_END_EOF, "closed by the peer");
	} else if (l->input.is_eof) {
		net_conn_end(c, NET_END_TRUNCATED, "closed by the peer");
	} else {
		fail(c, 0);
	}
}

static void handshake(struct net_conn *c)
{
	ERR_clear_error();
	int r = SSL_do_handshake(c->layer.ssl);
	int error = r == 1 ? SSL_ERROR_NONE : SSL_get_error(c->layer.ssl, r);
	if (r != 1) {
		uint32_t code = take_error();
		if (!code || error == SSL_ERROR_WANT_READ)
			net_conn_send_output(c);
		if (c->phase == NET_PHASE_HANDSHAKE)
			handle_incomplete(c, error, code);
		return;
	}
	net_conn_send_output(c);
	if (c->phase == NET_PHASE_HANDSHAKE)
		net_conn_opened(c);
}

/* The owner has paused reading with the last bytes, or has postponed some. As in cleartext, `ended` is not
 * called before it reads on. */
static bool end_waits(struct net_conn *c, int error, uint32_t code)
{
	const struct net_loop *l = c->loop;
	if ((c->pauses == 0 && !c->postponed) || code || l->input.error)
		return false;
	c->has_close_notify = error == SSL_ERROR_ZERO_RETURN;
	return c->has_close_notify || l->input.is_eof;
}

/* Reads records into the read chunk and delivers them. False: nothing more can be read now. */
static bool read_some(struct net_conn *c)
{
	struct chunk *chunk = net_loop_read_chunk(c->loop);
	if (!chunk) {
		net_conn_wait_for_chunk(c);
		return false;
	}
	size_t filled = 0;
	int n = 1, error = SSL_ERROR_NONE;
	uint32_t code = 0;
	ERR_clear_error();
	while (filled < chunk->capacity) {
		n = SSL_read(c->layer.ssl, chunk->data + filled, (int)(chunk->capacity - filled));
		if (n <= 0) {
			error = SSL_get_error(c->layer.ssl, n);
			code = take_error();
			break;
		}
		filled += (size_t)n;
	}
	if (code == 0)
		net_conn_send_output(c); /* otherwise it is an alert: fail() sends it */
	if (filled > 0 && net_conn_can_read(c))
		net_conn_deliver(c, filled);
	if (n > 0)
		return true;
	if (c->phase != NET_PHASE_OPEN)
		net_buffer_reset(&c->loop->output, NET_OUTPUT_BYTES);
	else if (!end_waits(c, error, code))
		handle_incomplete(c, error, code);
	return false;
}

void net_conn_tls_readable(struct net_conn *c)
{
	begin_reading(c);
	if (c->phase == NET_PHASE_HANDSHAKE)
		handshake(c);
	while (net_conn_reads_on(c) && read_some(c))
		;
	end_reading(c);
	net_conn_report_blocked(c);
}

bool net_conn_tls_write(struct net_conn *c, const void *ptr, size_t len, size_t record_bytes)
{
	const uint8_t *at = ptr;
	ERR_clear_error();
	while (len > 0) {
		size_t n = len < record_bytes ? len : record_bytes;
		if (SSL_write(c->layer.ssl, at, (int)n) != (int)n)
			return false;
		at += n;
		len -= n;
	}
	return true;
}

void net_conn_tls_close_notify(struct net_conn *c)
{
	ensure(c->loop->output.size == 0);
	ERR_clear_error();
	/* Writes close_notify into the output; the result concerns only the peer's close_notify. */
	(void)SSL_shutdown(c->layer.ssl);
	if (c->outer.ssl)
		(void)SSL_shutdown(c->outer.ssl);
	ERR_clear_error();
	net_conn_send_output(c);
	c->has_sent_close_notify = true;
}

bool net_conn_is_tls(const struct net_conn *c)
{
	return c->layer.tls != NULL;
}

struct slice net_conn_alpn(const struct net_conn *c)
{
	const uint8_t *name = NULL;
	unsigned length = 0;
	if (c->layer.ssl)
		SSL_get0_alpn_selected(c->layer.ssl, &name, &length);
	return slice_of(name, length);
}

struct slice net_conn_sni(const struct net_conn *c)
{
	const char *name =
	    c->layer.ssl ? SSL_get_servername(c->layer.ssl, TLSEXT_NAMETYPE_host_name) : NULL;
	return name ? slice_of_string(name) : slice_of("", 0);
}

bool net_conn_has_ech(const struct net_conn *c)
{
	return c->layer.ssl && SSL_ech_accepted(c->layer.ssl);
}

usec net_conn_handshake_began(const struct net_conn *c)
{
	return c->handshake_began;
}

const char *net_tls_library(void)
{
	return OpenSSL_version(OPENSSL_VERSION);
}

const char *net_conn_tls_version(const struct net_conn *c)
{
	return c->layer.ssl ? SSL_get_version(c->layer.ssl) : "";
}

const char *net_conn_tls_cipher(const struct net_conn *c)
{
	const SSL_CIPHER *cipher = c->layer.ssl ? SSL_get_current_cipher(c->layer.ssl) : NULL;
	return cipher ? SSL_CIPHER_standard_name(cipher) : "";
}

bool net_conn_peer_covers(const struct net_conn *c, struct slice host)
{
	if (!c->layer.ssl || c->layer.tls->is_server || !c->layer.tls->verify ||
	    c->phase != NET_PHASE_OPEN)
		return false;
	X509 *certificate = SSL_get_peer_certificate(c->layer.ssl);
	if (!certificate)
		return false;
	struct tls_names names;
	tls_names_init(&names, certificate);
	bool covers = tls_names_cover(&names, host);
	tls_names_fini(&names);
	X509_free(certificate);
	return covers;
}
