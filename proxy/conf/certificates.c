/* SPDX-License-Identifier: MIT */
/*
 * Checks the certificates of [listen NAME]. Each must have a key and be usable with it; a warning tells
 * of what clients will refuse, and of a route whose host no certificate covers.
 */
#include "proxy/base/clock.h"
#include "proxy/base/sealed.h"
#include "proxy/conf/load.h"
#include <errno.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

enum { DAY_SECONDS = 86400, RENEW_DAYS = 14 };

/* From here on the file is as it is now. net_pem_look reports an error of reading it. */
void conf_seal_file(struct conf_loader *l, const char *path)
{
	conf_note_named_file(l, path);
	(void)sealed_add(l->conf->sealed, path);
}

/* ---- what a file is instead ---- */

/* The words for the two kinds of files. */
static const struct pem_kind {
	const char *name, *content, *whole_content, *openssl, *label;
} pem_kinds[] = {
    {"certificate", "certificate", "the certificate and its chain", "x509", "CERTIFICATE"},
    {"key", "private key", "the private key", "pkey", "PRIVATE KEY"},
};

/* The file holds no certificate (or no key): reports what it holds. other: the other file of the pair. */
static void wrong_content(struct conf_loader *l, const struct conf_pair *p, bool is_key,
    const struct net_pem_file *f, const struct net_pem_file *other)
{
	const struct pem_kind *kind = &pem_kinds[is_key];
	const char *file = p->section->file, *path = is_key ? p->key->path : p->chain->path;
	uint32_t line = is_key ? p->key->line : p->chain->line;
	uint32_t keys = f->keys + f->encrypted_keys;

	if (f->error)
		conf_mistake(l, file, line, "the %s file '%s' cannot be read: %s; name a PEM file",
		    kind->name, path, strerrordesc_np(f->error));
	else if (f->is_empty)
		conf_mistake(l, file, line, "the %s file '%s' is empty; put %s there", kind->name,
		    path, kind->whole_content);
	else if (!is_key && keys > 0 && other->certificates > 0)
		conf_mistake(l, file, line,
		    "certificate and key are swapped: '%s' is a private key, and the file of line "
		    "%" PRIu32 " is a certificate; exchange the two files",
		    path, p->key->line);
	else if (!is_key && keys + f->public_keys > 0)
		conf_mistake(l, file, line,
		    "'%s' is a key and not a certificate; name the certificate's file", path);
	else if (!is_key && f->requests > 0)
		conf_mistake(l, file, line,
		    "'%s' is a request for a certificate; name the certificate that the authority "
		    "made of it",
		    path);
	else if (!is_key && f->is_pkcs12)
		conf_mistake(l, file, line,
		    "'%s' is in the form PKCS #12; write it as PEM: openssl pkcs12 -nodes -in %s",
		    path, path);
	else if (is_key && f->encrypted_keys > 0)
		conf_mistake(l, file, line,
		    "the key in '%s' is encrypted; decrypt it: openssl pkey -in %s -out NEW.key, "
		    "and let nobody else read the new file",
		    path, path);
	else if (is_key && f->certificates > 0)
		conf_mistake(l, file, line,
		    "'%s' is a certificate and not a private key; name the key's file", path);
	else if (is_key && f->public_keys > 0)
		conf_mistake(l, file, line,
		    "'%s' is a public key and not a private key; name the private one", path);
	else if (f->is_der)
		conf_mistake(l, file, line,
		    "'%s' is in the form DER; write it as PEM: openssl %s -inform DER -in %s", path,
		    kind->openssl, path);
	else
		conf_mistake(l, file, line,
		    "there is no %s in '%s'; name a PEM file, which has a line -----BEGIN %s-----",
		    kind->content, path, kind->label);
}

/* ---- whether they belong together ---- */

/* The line of the section's certificate that the key belongs to; 0: of none. */
static uint32_t owner_of_key(const struct conf_loader *l, const struct conf_pair *p)
{
	struct net_chain_link links[NET_CHAIN_MOST];

	for (size_t i = 0; i < p->section->chain_count; i++) {
		const struct conf_file_ref *chain = &p->section->chains[i];
		size_t count = net_chain_read(l->conf->sealed, chain->path, p->key->path, links);
		if (count > 0 && links[0].has_key)
			return chain->line;
	}
	return 0;
}

/* Reports a key that cannot be compared with the certificate. False: both can be read. */
static bool is_unusable(
    struct conf_loader *l, const struct conf_pair *p, const struct net_chain_link *first)
{
	const char *file = p->section->file;

	if (!first->is_key_read)
		conf_mistake(l, file, p->key->line,
		    "the key in '%s' is damaged or of an unknown kind; copy the whole file again, "
		    "or make an RSA or P-256 key",
		    p->key->path);
	else if (!first->is_for_known_key)
		conf_mistake(l, file, p->chain->line,
		    "the certificate in '%s' is for an unknown kind of key; request it with an RSA "
		    "or P-256 key",
		    p->chain->path);
	return !first->is_key_read || !first->is_for_known_key;
}

/* Reports a key that is not that of the first certificate in the file. */
static void other_key(struct conf_loader *l, const struct conf_pair *p,
    const struct net_chain_link *links, size_t count)
{
	const char *file = p->section->file;

	const struct net_chain_link *owner = conf_first(c, links, count, c->has_key);
	uint32_t line = owner ? 0 : owner_of_key(l, p);
	if (owner)
		conf_mistake(l, file, p->chain->line,
		    "the certificate of the key is number %zu in '%s'; put it first, then the one "
		    "that signed it, and so on",
		    (size_t)(owner - links) + 1, p->chain->path);
	else if (line)
		conf_mistake(l, file, p->key->line,
		    "the key '%s' belongs to the certificate of line %" PRIu32
		    ", but keys are taken in the order of the certificates; write each key below "
		    "its certificate",
		    p->key->path, line);
	else
		conf_mistake(l, file, p->key->line,
		    "the key '%s' does not belong to the certificate '%s'; name the key that the "
		    "certificate was requested with",
		    p->key->path, p->chain->path);
}

/* ---- what clients will refuse ---- */

const char *conf_date_of(int64_t seconds, char text[16])
{
	struct tm tm;
	time_t t = (time_t)seconds;

	if (!gmtime_r(&t, &tm) || strftime(text, 16, "%Y-%m-%d", &tm) == 0)
		memcpy(text, "?", 2);
	return text;
}

/* Certificates that are good for a few days are renewed when a third of that is left. */
static int64_t renew_seconds(const struct net_chain_link *c)
{
	int64_t third = (c->ends - c->starts) / 3;

	return third < RENEW_DAYS * DAY_SECONDS ? third : RENEW_DAYS * DAY_SECONDS;
}

/* True: it has warned. */
static bool warn_of_time(struct conf_loader *l, const struct conf_pair *p,
    const struct net_chain_link *c, const char *which)
{
	int64_t now = (int64_t)(clock_wall() / USEC_PER_SEC);
	char date[16];

	if (now < c->starts)
		conf_warning(l, p->section->file, p->chain->line,
		    "%s in '%s' is not valid before %s; check this machine's clock, or wait", which,
		    p->chain->path, conf_date_of(c->starts, date));
	else if (now > c->ends)
		conf_warning(l, p->section->file, p->chain->line,
		    "%s in '%s' has expired on %s, so that clients refuse it; renew it", which,
		    p->chain->path, conf_date_of(c->ends, date));
	else if (c->ends - now < renew_seconds(c))
		conf_warning(l, p->section->file, p->chain->line,
		    "%s in '%s' ends on %s, in %" PRId64 " days; renew it", which, p->chain->path,
		    conf_date_of(c->ends, date), (c->ends - now) / DAY_SECONDS);
	else
		return false;
	return true;
}

/* certbot and others write two files: cert.pem, and fullchain.pem with the certificates that signed it. */
static void warn_of_lone_certificate(struct conf_loader *l, const struct conf_pair *p)
{
	static const char lone[] = "cert.pem", whole[] = "fullchain.pem";
	size_t length = strlen(p->chain->path), name = length < 8 ? 0 : length - 8;

	if (strcmp(p->chain->path + name, lone) != 0 ||
	    (name > 0 && p->chain->path[name - 1] != '/'))
		return;
	const char *beside =
	    arena_printf(&l->conf->arena, "%.*s%s", (int)name, p->chain->path, whole).ptr;
	if (access(beside, R_OK) == 0)
		conf_warning(l, p->section->file, p->chain->line,
		    "'%s' lacks the certificates that signed it, so that many clients refuse it; "
		    "name '%s'",
		    p->chain->path, beside);
}

static void warn_of_chain(struct conf_loader *l, const struct conf_pair *p,
    const struct net_chain_link *links, size_t count)
{
	char which[120];
	bool has_warned = warn_of_time(l, p, &links[0], "the certificate");

	for (size_t i = 1; i < count && !has_warned; i++) {
		snprintf(which, sizeof which, "certificate %zu of the chain (%s)", i + 1,
		    links[i].subject);
		has_warned = warn_of_time(l, p, &links[i], which);
	}
	if (count == 1 && !links[0].is_self_signed)
		warn_of_lone_certificate(l, p);
	if (!links[0].has_names)
		conf_warning(l, p->section->file, p->chain->line,
		    "the certificate in '%s' has no name (subjectAltName), so that clients refuse "
		    "it for each host; have it made with its hosts' names",
		    p->chain->path);
	const struct net_chain_link *odd =
	    conf_first(c, links, count - 1, !c->is_signed_by_next && !c->is_self_signed);
	if (odd)
		conf_warning(l, p->section->file, p->chain->line,
		    "the chain in '%s' is out of order: certificate %zu is not signed by the next "
		    "one; write each certificate above the one that signed it",
		    p->chain->path, (size_t)(odd - links) + 1);
}

/* ---- [listen NAME] ---- */

/* ends: when the first certificate of the chain expires. */
static bool check_pair(struct conf_loader *l, const struct conf_pair *p, int64_t *ends)
{
	struct net_pem_file chain, key;
	struct net_chain_link links[NET_CHAIN_MOST];

	net_pem_look(l->conf->sealed, p->chain->path, &chain);
	net_pem_look(l->conf->sealed, p->key->path, &key);
	if (chain.certificates == 0)
		wrong_content(l, p, false, &chain, &key);
	/* Of two swapped files one message is enough. */
	if (key.keys == 0 && (chain.certificates > 0 || key.certificates == 0))
		wrong_content(l, p, true, &key, &chain);
	if (chain.certificates == 0 || key.keys == 0)
		return false;
	size_t count = net_chain_read(l->conf->sealed, p->chain->path, p->key->path, links);
	if (count > 0 && is_unusable(l, p, &links[0]))
		return false;
	if (count > 0 && !links[0].has_key) {
		other_key(l, p, links, count);
		return false;
	}
	if (count > 0)
		warn_of_chain(l, p, links, count);
	for (size_t i = 0; i < count; i++)
		*ends = i == 0 || links[i].ends < *ends ? links[i].ends : *ends;
	return true;
}

/* The library's own verdict comes last: it knows more, and says less. */
static void make_context(
    struct conf_loader *l, struct conf_section *s, const struct conf_listen *listen, uint32_t line)
{
	char error[512] = "";
	struct net_tls_parameters parameters = listen->tls;
	struct net_tls_server_options options = {.certificates = listen->certificates,
	    .certificate_count = listen->certificate_count,
	    .alpn = "h2",
	    .files = l->conf->sealed,
	    .parameters = &parameters};

	parameters.ech_file = NULL;
	s->tls = net_tls_server_new(&options, error, sizeof error);
	if (!s->tls)
		conf_mistake(l, s->file, line,
		    "the certificate cannot be used: %s; name a PEM certificate and its own key",
		    error);
	else if (listen->tls.ech_file &&
		 !net_ech_check(s->tls, listen->tls.ech_file, l->conf->sealed, error, sizeof error))
		conf_mistake(l, s->file, conf_option_line(s, "ech-keys"),
		    "ech-keys cannot be used: %s; name a file that this made: pushgate ech-key "
		    "NAME",
		    error);
}

/* The section has one more certificate. False: it has a mistake. */
static bool add_certificate(
    struct conf_loader *l, struct conf_listen *listen, const struct conf_pair *p)
{
	int64_t ends = 0;
	bool is_good = !l->opens_files || p->section->is_broken || check_pair(l, p, &ends);

	conf_append(
	    l, listen->shown, listen->shown_count, (struct conf_certificate){p->chain->path, ends});
	return is_good;
}

static bool add_line(struct conf_loader *l, struct conf_section *s, size_t i)
{
	struct conf_listen *listen = s->object;
	const struct conf_pair p = {s, &s->chains[i], &s->keys[i]};

	conf_append(l, listen->certificates, listen->certificate_count,
	    (struct net_certificate){p.chain->path, p.key->path});
	if (l->opens_files && !s->is_broken) {
		conf_seal_file(l, p.chain->path);
		conf_seal_file(l, p.key->path);
	}
	return add_certificate(l, listen, &p);
}

static bool add_folder(struct conf_loader *l, struct conf_section *s, size_t i)
{
	struct conf_listen *listen = s->object;
	struct conf_pair *pairs = NULL;
	size_t count = 0;
	bool are_good = true;

	conf_append(l, listen->certificates, listen->certificate_count,
	    (struct net_certificate){s->folders[i].path, NULL});
	if (!l->opens_files || s->is_broken)
		return true;
	if (!conf_find_certificates(l, &s->folders[i], s, &pairs, &count))
		return false;
	conf_seal_certificates(l, s->folders[i].path, pairs, count);
	for (size_t k = 0; k < count; k++)
		are_good = add_certificate(l, listen, &pairs[k]) && are_good;
	return are_good;
}

bool conf_is_over_tls(const struct conf_section *s)
{
	return conf_option_line(s, "certificate key certificates acme") > 0;
}

void conf_check_certificates(struct conf_loader *l, struct conf_section *s)
{
	struct conf_listen *listen = s->object;
	size_t pairs = s->chain_count < s->key_count ? s->chain_count : s->key_count;
	bool are_good = l->opens_files && !s->is_broken;

	if (s->chain_count > pairs)
		conf_mistake(l, s->file, s->chains[pairs].line,
		    "certificate without a key; add key = FILE below it");
	if (s->key_count > pairs)
		conf_mistake(l, s->file, s->keys[pairs].line,
		    "key without a certificate; add certificate = FILE above it");
	for (size_t i = 0; i < pairs; i++)
		are_good = add_line(l, s, i) && are_good;
	for (size_t i = 0; i < s->folder_count; i++)
		are_good = add_folder(l, s, i) && are_good;
	if (are_good && listen->certificate_count > 0)
		make_context(l, s, listen, pairs ? s->chains[0].line : s->folders[0].line);
}

/* ---- tls-ca, acme-ca ---- */

bool conf_check_authorities(struct conf_loader *l, const char *key, const char *path)
{
	char error[256] = "";
	struct net_pem_file f;
	struct net_tls_client_options options = {
	    .ca_file = path, .verify = true, .alpn = "h2", .files = l->conf->sealed};

	conf_seal_file(l, path);
	net_pem_look(l->conf->sealed, path, &f);
	errno = f.error;
	if (f.error)
		return conf_no_file(l, key, path, "name a PEM file of authorities");
	if (f.certificates == 0)
		return conf_mistake_here(l,
		    "there is no certificate in the %s file '%s'%s; name a PEM file of "
		    "authorities, or remove the line for those of the system",
		    key, path,
		    f.is_empty ? ": it is empty"
		    : f.keys   ? ": it is a private key"
			       : "");
	struct net_tls *tls = net_tls_client_new(&options, error, sizeof error);
	if (!tls)
		conf_mistake_here(
		    l, "%s cannot be used: %s; name a PEM file of authorities", key, error);
	net_tls_free(tls);
	return tls != NULL;
}

/* ---- client-certificate ---- */

bool conf_check_own_certificate(struct conf_loader *l, const struct net_certificate *own)
{
	char error[256] = "";
	struct net_tls_client_options options = {.alpn = "h2", .files = l->conf->sealed};

	conf_seal_file(l, own->chain_file);
	conf_seal_file(l, own->key_file);
	struct net_tls *tls = net_tls_client_new(&options, error, sizeof error);
	bool is_good =
	    tls && net_tls_show_certificate(tls, own, l->conf->sealed, error, sizeof error);
	if (!is_good)
		conf_mistake_here(l,
		    "client-certificate cannot be used: %s; name a PEM certificate and its own key",
		    error);
	net_tls_free(tls);
	return is_good;
}

/* ---- the system's authorities ---- */

void conf_read_system_authorities(struct conf_loader *l)
{
	const struct conf *c = l->conf;

	for (size_t i = 0; l->opens_files && i < c->origin_count; i++) {
		const struct conf_origin *o = &c->origins[i];
		bool may_be_tls = o->kind == CONF_ORIGIN_TLS || o->kind == CONF_ORIGIN_FORWARD;
		/* A worker says that it cannot be read. */
		if (may_be_tls && o->tls_verify && !o->tls_ca)
			conf_seal_file(l, NET_SYSTEM_CA_FILE);
	}
}
