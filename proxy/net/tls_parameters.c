/* SPDX-License-Identifier: MIT */
/*
 * The parameters of TLS that a server accepts: versions, the suites of TLS 1.2 and the groups, each by its usual names. RFC 9113 9.2 sets
 * the bounds. Which groups there are depends on the library, which is asked.
 */
#include "proxy/base/ensure.h"
#include "proxy/net/tls.h"
#include <openssl/err.h>
#include <stdio.h>

/* ---- the suites of TLS 1.2 ---- */

/* RFC 9113 9.2.2 and appendix A leave those with ephemeral keys and AEAD. */
static const struct suite {
	uint16_t id;
	bool is_rsa;
	const char *name, *standard_name;
} suites[] = {
    {0xC02B, false, "ECDHE-ECDSA-AES128-GCM-SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"},
    {0xC02F, true, "ECDHE-RSA-AES128-GCM-SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
    {0xC02C, false, "ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"},
    {0xC030, true, "ECDHE-RSA-AES256-GCM-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"},
    {0xCCA9, false, "ECDHE-ECDSA-CHACHA20-POLY1305",
	"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"},
    {0xCCA8, true, "ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"},
};
enum { SUITES = sizeof(suites) / sizeof(suites[0]) };

/* The fastest on a processor with AES first. Scanners call it a fault to let the client choose. */
static const char default_suites[] = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
				     "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
				     "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

/* Whether the library has such a suite, or such a group. */
static bool library_has(int (*set)(SSL_CTX *, const char *), const char *name)
{
	SSL_CTX *x = SSL_CTX_new(TLS_method());
	bool has = x && set(x, name);
	SSL_CTX_free(x);
	ERR_clear_error();
	return has;
}

/* Copies a name for the library. False: it is none. */
static bool copy_name(struct slice from, char name[64])
{
	if (from.len == 0 || from.len >= 64 || memchr(from.ptr, '\0', from.len))
		return false;
	memcpy(name, from.ptr, from.len);
	name[from.len] = '\0';
	/* Further characters would make a list or a group of it. */
	return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") ==
	       from.len;
}

static bool is_named(struct slice word, const char *name)
{
	return name && slice_equal_nocase(word, slice_of_string(name));
}

const char *net_tls_suite(struct slice word, const char **wrong)
{
	char name[64];
	for (size_t i = 0; i < SUITES; i++)
		if (is_named(word, suites[i].name) || is_named(word, suites[i].standard_name))
			return suites[i].name;
	if (slice_starts_with(word, SLICE("TLS_AES_")) ||
	    slice_starts_with(word, SLICE("TLS_CHACHA20_")))
		*wrong = "it is a suite of TLS 1.3, and the linked BoringSSL accepts all of those";
	else if (copy_name(word, name) && library_has(SSL_CTX_set_strict_cipher_list, name))
		*wrong = "HTTP/2 forbids it (RFC 9113 appendix A)";
	else
		*wrong = "the linked BoringSSL has no such suite";
	return NULL;
}

/* ---- groups ---- */

static const struct group {
	const char *name, *other_names[2];
} groups[] = {
    {"X25519MLKEM768", {NULL, NULL}},
    {"X25519", {NULL, NULL}},
    {"P-256", {"secp256r1", "prime256v1"}},
    {"P-384", {"secp384r1", NULL}},
    {"P-521", {"secp521r1", NULL}},
    {"X448", {NULL, NULL}},
    {"SecP256r1MLKEM768", {NULL, NULL}},
    {"SecP384r1MLKEM1024", {NULL, NULL}},
    {"ffdhe2048", {NULL, NULL}},
    {"ffdhe3072", {NULL, NULL}},
    {"ffdhe4096", {NULL, NULL}},
};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static const char hybrid[] = "X25519MLKEM768:X25519:P-256:P-384";

const char *net_tls_group(struct slice word, const char **wrong)
{
	for (size_t i = 0; i < GROUPS; i++) {
		const struct group *g = &groups[i];
		if (!is_named(word, g->name) && !is_named(word, g->other_names[0]) &&
		    !is_named(word, g->other_names[1]))
			continue;
		if (library_has(SSL_CTX_set1_curves_list, g->name))
			return g->name;
		*wrong = "the linked BoringSSL does not have it (see pushgate version)";
		return NULL;
	}
	*wrong = "there is no such group";
	return NULL;
}

const char *net_tls_groups(char *buffer, size_t size)
{
	size_t length = 0;
	buffer[0] = '\0';
	for (size_t i = 0; i < GROUPS; i++)
		if (length < size && library_has(SSL_CTX_set1_curves_list, groups[i].name))
			length += (size_t)snprintf(buffer + length, size - length, "%s%s",
			    length ? " " : "", groups[i].name);
	return buffer;
}

/* ---- a context ---- */

static bool is_in_list(const char *list, const char *name)
{
	struct slice rest = slice_of_string(list);
	while (rest.len > 0)
		if (slice_equal(slice_cut(&rest, ':'), slice_of_string(name)))
			return true;
	return false;
}

void tls_parameters_set(SSL_CTX *x, const struct net_tls_parameters *p)
{
	static const uint16_t versions[] = {
	    [NET_TLS_1_2] = TLS1_2_VERSION, [NET_TLS_1_3] = TLS1_3_VERSION};
	ensure(SSL_CTX_set_min_proto_version(x, versions[p->least]));
	ensure(SSL_CTX_set_max_proto_version(x, versions[p->most]));
	ensure(SSL_CTX_set_strict_cipher_list(x, p->suites ? p->suites : default_suites));
	/* Without a list the library's own is used, which costs no memory for each connection. */
	if (p->groups)
		ensure(SSL_CTX_set1_curves_list(x, p->groups));
	else if (!SSL_CTX_set1_curves_list(x, hybrid))
		ERR_clear_error();
}

bool tls_parameters_have_suite(const struct net_tls_parameters *p, uint16_t id, bool is_rsa)
{
	for (size_t i = 0; i < SUITES; i++)
		if (suites[i].id == id)
			return suites[i].is_rsa == is_rsa &&
			       (!p->suites || is_in_list(p->suites, suites[i].name));
	return false;
}
