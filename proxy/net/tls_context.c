/* SPDX-License-Identifier: MIT */
/* TLS contexts: the settings of servers and clients, and the library's errors in words. */
#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "proxy/net/tls.h"
#include <openssl/err.h>
#include <stdio.h>

/* Turns "h2,http/1.1" into length-prefixed names. */
static void set_alpn(struct net_tls *t, const char *list)
{
	struct slice rest = slice_of_string(list), name;
	t->alpn = memory_alloc(rest.len + 1);
	while (slice_next_member(&rest, &name)) {
		ensure(name.len > 0 && name.len < 256);
		t->alpn[t->alpn_length] = (uint8_t)name.len;
		memcpy(t->alpn + t->alpn_length + 1, name.ptr, name.len);
		t->alpn_length += 1 + name.len;
	}
}

struct net_tls *tls_new(bool is_server, const char *alpn, const struct net_tls_parameters *p)
{
	struct net_tls *t = memory_new(struct net_tls);
	t->refs = 1;
	t->is_server = is_server;
	t->wall = clock_wall;
	t->parameters = p ? *p : (struct net_tls_parameters){.most = NET_TLS_1_3};
	t->pool = CRYPTO_BUFFER_POOL_new();
	list_init(&t->sessions.newest);
	if (alpn && *alpn)
		set_alpn(t, alpn);
	return t;
}

static void on_secret(const SSL *ssl, const char *line)
{
	const struct net_tls *t = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	t->key_log->write(t->key_log->context, slice_of_string(line));
}

SSL_CTX *tls_context_new(struct net_tls *t)
{
	SSL_CTX *x = SSL_CTX_new(TLS_method());
	ensure(x != NULL);
	tls_parameters_set(x, &t->parameters);
	SSL_CTX_set_options(x, SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set0_buffer_pool(x, t->pool);
	SSL_CTX_set_app_data(x, t);
	if (t->key_log)
		SSL_CTX_set_keylog_callback(x, on_secret);
	return x;
}

/* Some of the library's names have underscores: writes spaces instead. */
static const char *in_words(const char *before, const char *name, char *buffer, size_t size)
{
	size_t i = (size_t)snprintf(buffer, size, "%s", before);
	for (; *name && i + 1 < size; name++)
		buffer[i++] = *name == '_' ? ' ' : *name;
	buffer[i] = '\0';
	return buffer;
}

/* Better words than the library's, where those do not name the mistake. */
static const char *plain_reason(int reason)
{
	switch (reason) {
	case SSL_R_HTTP_REQUEST:
		return "an HTTP request came without TLS";
	case SSL_R_HTTPS_PROXY_REQUEST:
		return "a CONNECT request came without TLS";
	case SSL_R_CLIENTHELLO_TLSEXT:
		return "the server name is none that is served (strict-sni)";
	case SSL_R_WRONG_VERSION_NUMBER:
		return "what came is not TLS (wrong version number)";
	default:
		return NULL;
	}
}

const char *tls_reason(uint32_t code, char *buffer, size_t size)
{
	int reason = ERR_GET_REASON(code);
	if (code == 0)
		return "unknown TLS failure";
	if (ERR_GET_LIB(code) == ERR_LIB_SYS)
		return strerrordesc_np(reason);
	if (ERR_GET_LIB(code) == ERR_LIB_SSL && reason > SSL_AD_REASON_OFFSET)
		return in_words("the peer sent the alert: ",
		    SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET), buffer, size);
	const char *plain = ERR_GET_LIB(code) == ERR_LIB_SSL ? plain_reason(reason) : NULL;
	if (plain)
		return plain;
	const char *text = ERR_reason_error_string(code);
	if (!text)
		return "unknown TLS failure";
	in_words("", text, buffer, size);
	for (char *p = buffer; *p; p++)
		*p = ascii_lower(*p);
	return buffer;
}
