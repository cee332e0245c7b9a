/* SPDX-License-Identifier: MIT */
/*
 * Certificates of clients: the lines client-ca of a [listen NAME], and which of them is for a host. The handshake and the
 * requests of a connection ask the same function, so that no spelling of a host gets around it.
 */
#include "proxy/base/clock.h"
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

/* False: a mistake has been reported. */
static bool check_files(struct conf_loader *l, const struct net_client_ca *f)
{
	struct net_pem_file look;
	conf_seal_file(l, f->ca_file);
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
	conf_seal_file(l, f->crl_file);
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

/* ---- flaws of the files ---- */

struct flawed {
	struct conf_loader *l;
	const struct net_client_ca *files;
};

#define WARN(...) conf_warning(f->l, f->l->file, f->l->line, __VA_ARGS__)
static void warn_of_flaw(void *context, enum net_ca_flaw flaw, const char *name, int64_t when)
{
	const struct flawed *f = context;
	const char *ca = f->files->ca_file, *crl = f->files->crl_file;
	char day[16];
	switch (flaw) {
	case NET_CA_EXPIRED:
		WARN("the authority %s in '%s' has expired on %s, so that no certificate of it is "
		     "taken; put the new one there",
		    name, ca, conf_date_of(when, day));
		break;
	case NET_CA_NONE:
		WARN("%s in '%s' is no authority, so that it lets nobody in; put the authority "
		     "there that has signed it",
		    name, ca);
		break;
	case NET_CA_WITHOUT_ROOT:
		WARN("the authority that has signed %s is not in '%s', so that no certificate of "
		     "%s is taken; add those above it, up to a self-signed one",
		    name, ca, name);
		break;
	case NET_CA_WITHOUT_LIST:
		WARN("there is no list of %s in '%s', so that no certificate of it is taken; add "
		     "its list, or an empty one",
		    name, crl);
		break;
	case NET_CRL_EXPIRED:
		WARN("the list of %s in '%s' has expired on %s, so that no certificate of it is "
		     "taken; get the new one",
		    name, crl, conf_date_of(when, day));
		break;
	case NET_CRL_OF_OTHERS:
		WARN("the authority %s, whose list is in '%s', is not in '%s', so that the list "
		     "counts only for clients that send its certificate with theirs; add it "
		     "there, or remove the list",
		    name, crl, ca);
		break;
	case NET_CRL_UNUSED:
		WARN("the list of %s in '%s' revokes nothing, because the line has no crl; add "
		     "crl=%s",
		    name, ca, ca);
		break;
	}
}

static void look_for_flaws(struct conf_loader *l, const struct net_client_ca *files)
{
	struct flawed f = {l, files};
	const struct net_ca_judge judge = {
	    .now = (int64_t)(clock_wall() / USEC_PER_SEC), .found = warn_of_flaw, .context = &f};
	net_client_ca_judge(files, l->conf->sealed, &judge);
}

/* ---- the words of a line ---- */

/* Returns NULL, or the mistake in the word. */
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
	if (l->opens_files)
		look_for_flaws(l, &d.files);
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
	if (!conf_is_over_tls(s))
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

/* ---- conditions with cert, where no client shows a certificate ---- */

#define NO_CERTIFICATE "so that no client shows a certificate; add it there, or remove "

static void check_cert_of_route(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_route *route = s->object;

	if (route->cert_count > 0 &&
	    !conf_any(i, l->conf->listens, l->conf->listen_count,
		i->client_auth && conf_listen_is_forward(i) == route->is_forward))
		conf_warning(l, s->file, conf_option_line(s, "cert"),
		    "%s never matches, because no [listen NAME] with mode = %s has "
		    "client-ca, " NO_CERTIFICATE "the section",
		    conf_section_title(l, s), route->is_forward ? "forward" : "gateway");
}

static void check_cert_of_pushes(
    struct conf_loader *l, const struct conf_section *s, const struct policy_rule *when)
{
	if (when->cert_count > 0 &&
	    !conf_any(i, l->conf->listens, l->conf->listen_count, i->client_auth))
		conf_warning(l, s->file, conf_option_line(s, "cert"),
		    "%s never matches, because no [listen NAME] has client-ca, " NO_CERTIFICATE
		    "the section",
		    conf_section_title(l, s));
}

static bool is_named_without_certificates(const struct conf *c, const struct conf_access *a)
{
	return conf_any(i, c->listens, c->listen_count, i->access == a) &&
	       !conf_any(i, c->listens, c->listen_count, i->access == a && i->client_auth);
}

static void check_cert_of_rules(struct conf_loader *l)
{
	const struct conf *c = l->conf;
	for (size_t i = 0; i < c->access_count; i++) {
		const struct conf_access *a = &c->accesses[i];
		const struct conf_access_rule *rule =
		    conf_first(r, a->rules, a->rule_count, r->cert_count > 0);
		if (rule && is_named_without_certificates(c, a))
			conf_warning(l, rule->file, rule->line,
			    "this line never matches, because no [listen NAME] with access = %s "
			    "has client-ca, " NO_CERTIFICATE "the line",
			    a->name);
	}
}

void conf_check_cert_conditions(struct conf_loader *l)
{
	check_cert_of_rules(l);
	for (const struct conf_section *s = l->first; s; s = s->next) {
		if (s->kind == CONF_SECTION_ROUTE)
			check_cert_of_route(l, s);
		if (s->kind == CONF_SECTION_PUSH)
			check_cert_of_pushes(l, s, s->object);
		if (s->kind == CONF_SECTION_PRELOAD)
			check_cert_of_pushes(l, s, &((const struct conf_preload *)s->object)->when);
	}
}
