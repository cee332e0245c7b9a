/* SPDX-License-Identifier: MIT */
/*
 * Certificates of clients: the lines client-ca of a [listen NAME], and which of them is for a host. The handshake and the
 * requests of a connection ask the same function, so that no spelling of a host gets around it.
 */
#include "proxy/base/hash.h"
#include "proxy/base/sealed.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/http/host.h"
#include "proxy/limits.h"
#include <errno.h>

/* ---- lookups ---- */

static uint32_t find(const struct conf_client_auth *a, struct slice host, uint32_t strange)
{
	char name[HTTP_HOST_TEXT];
	struct address ip;
	struct http_host_keys keys;
	size_t rest = a->net.count;
	if (a->has_hosts && host.len > 0) {
		if (http_host_read(host, name, &ip) == HTTP_HOST_STRANGE)
			return strange;
		http_host_keys_init(&keys, slice_of_string(name), a->host_seed);
	}
	for (size_t i = 0; i < a->net.count; i++) {
		if (http_host_set_is_empty(&a->hosts[i]))
			rest = i;
		else if (host.len > 0 && http_host_set_has(&a->hosts[i], &keys))
			return (uint32_t)i;
	}
	return (uint32_t)rest;
}

uint32_t conf_client_ca_of_host(const struct conf_client_auth *a, struct slice host)
{
	return find(a, host, CONF_CLIENT_CA_STRANGE);
}

uint32_t conf_client_ca_of_name(const struct conf_client_auth *a, struct slice name)
{
	uint32_t row = find(a, name, CONF_CLIENT_CA_STRANGE);
	return row == CONF_CLIENT_CA_STRANGE ? find(a, SLICE(""), 0) : row;
}

static size_t find_for_handshake(const void *context, struct slice name)
{
	return conf_client_ca_of_name(context, name);
}

/* ---- a line ---- */

struct draft {
	struct net_client_ca files;
	struct slice *hosts;
	size_t host_count;
};

static void read_file(struct conf_loader *l, const char *path)
{
	conf_note_named_file(l, path);
	(void)sealed_add(l->conf->sealed, path);
}

/* False: a mistake has been reported. */
static bool check_files(struct conf_loader *l, const struct net_client_ca *f)
{
	struct net_pem_file look;
	read_file(l, f->ca_file);
	net_pem_look(l->conf->sealed, f->ca_file, &look);
	errno = look.error;
	if (look.error)
		return conf_no_file(l, "client-ca", f->ca_file, "name a PEM file of authorities");
	if (look.certificates == 0)
		return conf_mistake_here(l,
		    "there is no certificate in the client-ca file '%s'%s; name a PEM file of the "
		    "authorities that sign clients' certificates",
		    f->ca_file, look.is_empty ? ": it is empty" : "");
	if (!f->crl_file)
		return true;
	read_file(l, f->crl_file);
	net_pem_look(l->conf->sealed, f->crl_file, &look);
	errno = look.error;
	if (look.error)
		return conf_no_file(
		    l, "crl", f->crl_file, "name a PEM file of lists of revoked certificates");
	if (net_crl_count(l->conf->sealed, f->crl_file) == 0)
		return conf_mistake_here(l,
		    "there is no list of revoked certificates in '%s'; name a PEM file, which has "
		    "a line -----BEGIN X509 CRL-----",
		    f->crl_file);
	return true;
}

static const char *add_hosts(struct conf_loader *l, struct draft *d, struct slice list)
{
	struct slice host;
	while (slice_next_member(&list, &host)) {
		if (!http_host_pattern_is_valid(host))
			return "a host is a name without a port, *.NAME, an address or *";
		conf_append(l, d->hosts, d->host_count, conf_copy_slice(l, host));
	}
	return d->host_count > 0 ? NULL : "write a host behind host=";
}

/* Returns NULL, or what is wrong with the word. */
static const char *add_word(struct conf_loader *l, struct draft *d, struct slice word)
{
	static const struct slice host = SLICE_INIT("host="), crl = SLICE_INIT("crl=");
	int kind = value_choice(word, "optional required");
	if (kind >= 0) {
		d->files.is_required = kind == 1;
		return NULL;
	}
	if (slice_starts_with(word, host))
		return d->hosts ? "give hosts once, with commas"
				: add_hosts(l, d, slice_from(word, host.len));
	if (!slice_starts_with(word, crl))
		return "behind the file are required, optional, host= and crl=";
	if (word.len == crl.len || d->files.crl_file)
		return "write one file behind crl=";
	d->files.crl_file = conf_path(l, slice_from(word, crl.len));
	return NULL;
}

static struct conf_client_auth *auth_of(struct conf_loader *l, struct conf_listen *listen)
{
	if (listen->client_auth)
		return (struct conf_client_auth *)(uintptr_t)listen->client_auth;
	struct conf_client_auth *a = arena_alloc(&l->conf->arena, sizeof *a);
	*a = (struct conf_client_auth){
	    .net = {.scope = l->current->name, .find = find_for_handshake, .context = a},
	    .host_seed = hash_random_seed(),
	};
	listen->client_auth = a;
	return a;
}

static bool has_row_for_others(const struct conf_client_auth *a)
{
	return conf_any(h, a->hosts, a->net.count, http_host_set_is_empty(h));
}

static void add_row(struct conf_loader *l, struct conf_client_auth *a, const struct draft *d)
{
	struct http_host_set hosts = {{NULL, 0}};
	size_t count = a->net.count;
	if (d->host_count > 0)
		http_host_set_fill(&hosts, &l->conf->arena, a->host_seed, d->hosts, d->host_count);
	a->has_hosts = a->has_hosts || d->host_count > 0;
	conf_append(l, a->authorities, count, d->files);
	conf_append(l, a->hosts, a->net.count, hosts);
	a->net.authorities = a->authorities;
}

bool conf_set_client_ca(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_client_auth *a = auth_of(l, object);
	struct draft d = {.files.is_required = true};
	struct slice rest = value, word = slice_cut(&rest, ' ');
	d.files.ca_file = conf_path(l, word);
	while ((rest = slice_trim(rest)).len > 0) {
		word = slice_cut(&rest, ' ');
		const char *wrong = add_word(l, &d, word);
		if (wrong)
			return conf_bad_value(l, value, wrong, NULL);
	}
	if (a->net.count == LIMIT_CLIENT_CAS)
		return conf_mistake_here(l,
		    "the section has %u lines client-ca; put hosts with the same authorities into "
		    "one line",
		    LIMIT_CLIENT_CAS);
	if (d.host_count == 0 && has_row_for_others(a))
		return conf_mistake_here(l,
		    "an earlier client-ca has no host= either; name the hosts of one of them, such "
		    "as host=app.example.com");
	if (l->opens_files && !check_files(l, &d.files))
		return false;
	add_row(l, a, &d);
	return true;
}

/* ---- the section ---- */

void conf_check_client_auth(struct conf_loader *l, struct conf_section *s)
{
	const struct conf_listen *listen = s->object;
	char error[256] = "";
	if (!listen->client_auth)
		return;
	if (s->chain_count == 0)
		conf_mistake(l, s->file, conf_option_line(s, "client-ca"),
		    "client-ca is for TLS, but the section has no certificate; add certificate = "
		    "FILE and key = FILE");
	/* The library's own verdict comes last. */
	if (s->tls && !s->is_broken &&
	    !net_tls_ask_clients(
		s->tls, &listen->client_auth->net, l->conf->sealed, error, sizeof error))
		conf_mistake(l, s->file, conf_option_line(s, "client-ca"),
		    "client-ca cannot be used: %s; name a PEM file of authorities", error);
}
