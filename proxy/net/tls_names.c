/* SPDX-License-Identifier: MIT */
/*
 * Which hosts a certificate covers (RFC 9525 6): exact dNSNames, `*` as the whole leftmost label
 * for exactly one label, iPAddress for literals. The subject's common name never counts.
 */
#include "proxy/base/ascii.h"
#include "proxy/base/memory.h"
#include "proxy/net/tls.h"
#include <openssl/x509v3.h>

static void add_dns(struct tls_names *n, const char *ptr, size_t len)
{
	if (len > 0 && ptr[len - 1] == '.')
		len--;
	/* A name with a NUL inside is an old attack: C strings would end there. */
	if (len == 0 || memchr(ptr, '\0', len))
		return;
	char *name = memory_alloc(len + 1);
	ascii_lower_copy(name, slice_of(ptr, len));
	name[len] = '\0';
	n->dns = memory_resize(n->dns, n->dns_count + 1, sizeof(*n->dns));
	n->dns[n->dns_count++] = name;
}

static void add_ip(struct tls_names *n, const uint8_t *bytes, size_t len)
{
	if (len != 4 && len != 16)
		return;
	struct address a = {.family = len == 4 ? 4 : 6};
	memcpy(a.bytes, bytes, len);
	n->ips = memory_resize(n->ips, n->ip_count + 1, sizeof(*n->ips));
	n->ips[n->ip_count++] = a;
}

void tls_names_init(struct tls_names *n, X509 *certificate)
{
	*n = (struct tls_names){0};
	GENERAL_NAMES *all = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	for (size_t i = 0; all && i < sk_GENERAL_NAME_num(all); i++) {
		const GENERAL_NAME *g = sk_GENERAL_NAME_value(all, i);
		if (g->type != GEN_DNS && g->type != GEN_IPADD)
			continue;
		const ASN1_STRING *s = g->type == GEN_DNS ? g->d.dNSName : g->d.iPAddress;
		const uint8_t *data = ASN1_STRING_get0_data(s);
		size_t length = (size_t)ASN1_STRING_length(s);
		if (g->type == GEN_DNS)
			add_dns(n, (const char *)data, length);
		else
			add_ip(n, data, length);
	}
	GENERAL_NAMES_free(all);
}

void tls_names_fini(struct tls_names *n)
{
	for (size_t i = 0; i < n->dns_count; i++)
		free(n->dns[i]);
	free(n->dns);
	free(n->ips);
	*n = (struct tls_names){0};
}

static enum tls_cover dns_match(struct slice name, struct slice host)
{
	if (!slice_starts_with(name, SLICE("*.")))
		return slice_equal_nocase(name, host) ? TLS_COVER_EXACT : TLS_COVER_NONE;
	struct slice suffix = slice_from(name, 1); /* ".example.com" */
	size_t label = slice_find(host, '.');
	/* Refuse "*.com", which would cover all names of a registry. */
	if (slice_find(slice_from(suffix, 1), '.') == suffix.len - 1)
		return TLS_COVER_NONE;
	bool is_below = label > 0 && slice_equal_nocase(slice_from(host, label), suffix);
	return is_below ? TLS_COVER_WILDCARD : TLS_COVER_NONE;
}

enum tls_cover tls_names_match(const struct tls_names *n, struct slice host)
{
	enum tls_cover best = TLS_COVER_NONE;
	if (host.len > 2 && host.ptr[0] == '[' && host.ptr[host.len - 1] == ']')
		host = slice_sub(host, 1, host.len - 2);
	struct address ip;
	if (address_parse(host, &ip)) {
		for (size_t i = 0; i < n->ip_count; i++)
			if (n->ips[i].family == ip.family &&
			    memcmp(n->ips[i].bytes, ip.bytes, 16) == 0)
				return TLS_COVER_EXACT;
		return TLS_COVER_NONE;
	}
	if (host.len > 0 && host.ptr[host.len - 1] == '.')
		host.len--;
	for (size_t i = 0; host.len > 0 && i < n->dns_count && best != TLS_COVER_EXACT; i++) {
		enum tls_cover match = dns_match(slice_of_string(n->dns[i]), host);
		best = match > best ? match : best;
	}
	return best;
}

bool tls_names_cover(const struct tls_names *n, struct slice host)
{
	return tls_names_match(n, host) != TLS_COVER_NONE;
}

bool tls_certificates_cover(const struct tls_certificate *list, size_t count, struct slice host)
{
	for (size_t i = 0; i < count; i++)
		if (tls_names_cover(&list[i].names, host))
			return true;
	return false;
}
