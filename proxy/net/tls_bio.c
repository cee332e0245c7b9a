/* SPDX-License-Identifier: MIT */
/*
 * The BIO between BoringSSL and a connection. Written records are joined in the loop's output
 * buffer and leave in one system call; reads come from the loop's input buffer, so that the
 * library's habit of asking for a record's header and body apart costs no system calls.
 *
 * In a tunnel through a proxy that is spoken to over TLS, the records of the inner TLS are the payload of the outer
 * one: the inner has a BIO that reads and writes there.
 */
#include "proxy/base/ensure.h"
#include "proxy/net/net_conn.h"
#include <errno.h>

static int serve(struct net_conn *c, char *out, int size)
{
	struct net_loop *l = c->loop;
	size_t want = (size_t)size;
	if (c->pending_input) {
		struct net_pending_input *k = c->pending_input;
		size_t n = k->length - k->at < want ? k->length - k->at : want;
		memcpy(out, k->data + k->at, n);
		k->at += n;
		if (k->at == k->length) {
			free(k);
			c->pending_input = NULL;
		}
		return (int)n;
	}
	size_t n = l->input.end - l->input.at < want ? l->input.end - l->input.at : want;
	memcpy(out, l->input.bytes + l->input.at, n);
	l->input.at += n;
	return (int)n;
}

/* Reads from the socket if the input buffer is empty. Returns whether the buffer has bytes. */
static bool refill(struct net_conn *c)
{
	struct net_loop *l = c->loop;
	if (l->input.is_drained || l->input.budget == 0)
		return false;
	size_t size = l->input.budget < NET_INPUT_BYTES ? l->input.budget : NET_INPUT_BYTES;
	ssize_t n;
	do
		n = net_sys_recv(c->fd, l->input.bytes, size, 0);
	while (n < 0 && errno == EINTR);
	if (n <= 0) {
		l->input.is_drained = true;
		l->input.is_eof = n == 0;
		l->input.error = n == 0 || errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
		return false;
	}
	l->input.at = 0;
	l->input.end = (size_t)n;
	l->input.budget -= (size_t)n;
	/* A short read means that the socket is empty: wait for the next event. */
	l->input.is_drained = (size_t)n < size;
	return true;
}

static int bio_read(BIO *bio, char *out, int size)
{
	struct net_conn *c = BIO_get_data(bio);
	struct net_loop *l = c->loop;
	BIO_clear_retry_flags(bio);
	if (size <= 0)
		return 0;
	if (c->pending_input || l->input.at < l->input.end || refill(c))
		return serve(c, out, size);
	if (l->input.is_eof)
		return 0;
	if (l->input.error == 0)
		BIO_set_retry_read(bio);
	return -1;
}

static int bio_write(BIO *bio, const char *in, int size)
{
	struct net_conn *c = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	if (size <= 0)
		return 0;
	net_buffer_append(&c->loop->output, in, (size_t)size);
	return size;
}

static long bio_ctrl(BIO *bio, int command, long number, void *ptr)
{
	(void)bio, (void)number, (void)ptr;
	return command == BIO_CTRL_FLUSH;
}

/* ---- TLS in TLS ---- */

/* The end of the outer TLS counts as the end of the socket. */
static int end_of_outer(struct net_conn *c, int error)
{
	if (error == SSL_ERROR_ZERO_RETURN)
		c->loop->input.is_eof = true;
	return error == SSL_ERROR_ZERO_RETURN || c->loop->input.is_eof ? 0 : -1;
}

static int tunnel_read(BIO *bio, char *out, int size)
{
	struct net_conn *c = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	if (size <= 0)
		return 0;
	int n = SSL_read(c->outer.ssl, out, size);
	if (n > 0)
		return n;
	int error = SSL_get_error(c->outer.ssl, n);
	if (error != SSL_ERROR_WANT_READ || c->loop->input.is_eof)
		return end_of_outer(c, error);
	BIO_set_retry_read(bio);
	return -1;
}

static int tunnel_write(BIO *bio, const char *in, int size)
{
	struct net_conn *c = BIO_get_data(bio);
	BIO_clear_retry_flags(bio);
	return size <= 0 ? 0 : SSL_write(c->outer.ssl, in, size);
}

/* ---- methods ---- */

static BIO_METHOD *method_new(const char *name, int (*read)(BIO *bio, char *out, int size),
    int (*write)(BIO *bio, const char *in, int size))
{
	BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, name);
	ensure(m != NULL);
	ensure(BIO_meth_set_read(m, read) && BIO_meth_set_write(m, write));
	ensure(BIO_meth_set_ctrl(m, bio_ctrl));
	return m;
}

BIO_METHOD *net_bio_method_new(void)
{
	return method_new("connection", bio_read, bio_write);
}

BIO_METHOD *net_tunnel_bio_method_new(void)
{
	return method_new("tunnel", tunnel_read, tunnel_write);
}

void net_bio_attach(struct net_conn *c)
{
	BIO *bio = BIO_new(c->outer.ssl ? c->loop->tunnel_bio_method : c->loop->bio_method);
	ensure(bio != NULL);
	BIO_set_data(bio, c);
	BIO_set_init(bio, 1);
	SSL_set_bio(c->layer.ssl, bio, bio);
}

bool net_bio_has_input(const struct net_conn *c)
{
	return (c->layer.ssl && SSL_pending(c->layer.ssl) > 0) ||
	       (c->outer.ssl && SSL_pending(c->outer.ssl) > 0);
}
