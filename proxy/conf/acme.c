/* SPDX-License-Identifier: MIT */
/*
 * The option acme of [listen NAME]: the authority, the names of the certificate, and the file that has the key and the
 * certificate (proxy/acme/). While there is no such file, the listener has a certificate that nobody else has signed.
 */
#include "proxy/base/ascii.h"
#include "proxy/base/clock.h"
#include "proxy/base/sealed.h"
#include "proxy/conf/setters.h"
#include <stdlib.h>
#include <string.h>

/* As many names as Let's Encrypt puts into one certificate. */
enum { NAMES_MOST = 100 };
/* Of the certificate that nobody else has signed; a worker gets another one long before. */
enum { OWN_DAYS = 90, DAY_SECONDS = 86400 };

/* ---- the value ---- */

/* Returns NULL or the mistake. */
static const char *read_url(struct conf_loader *l, struct conf_acme *acme, struct slice url)
{
	const struct slice https = SLICE("https://");
	struct slice rest = slice_from(url, https.len);
	struct slice authority = slice_sub(rest, 0, slice_find(rest, '/'));
	if (!slice_starts_with(url, https))
		return "the directory of an authority has https://";
	if (!ascii_is_visible(rest) || slice_find(rest, '#') < rest.len ||
	    authority.len == rest.len)
		return "it is not the URL of a directory";
	struct conf_origin_server *s = arena_alloc(&l->conf->arena, sizeof *s);
	*s = (struct conf_origin_server){.weight = 1};
	const char *wrong = conf_read_host_port(l, s, authority, SLICE("https"));
	if (wrong)
		return wrong;
	s->text = conf_copy(l, authority);
	acme->server = s;
	acme->directory = conf_copy(l, url);
	return NULL;
}

bool conf_set_acme(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_acme *all = &l->conf->server.acme;
	struct conf_acme_listen **listen = at;
	struct conf_acme acme = *all;
	const char *wrong = read_url(l, &acme, value);
	if (wrong)
		return conf_bad_value(l, value, wrong, NULL);
	if (all->directory && strcmp(all->directory, acme.directory) != 0)
		return conf_mistake_here(l,
		    "another [listen NAME] has acme = %s; name the same directory in all",
		    all->directory);
	all->directory = acme.directory;
	all->server = acme.server;
	*listen = arena_alloc(&l->conf->arena, sizeof **listen);
	**listen = (struct conf_acme_listen){0};
	return true;
}

const char *conf_check_email(struct slice value)
{
	size_t at = slice_find(value, '@');
	return at > 0 && at + 1 < value.len && ascii_is_visible(value) &&
		       slice_find(value, ',') == value.len && slice_find(value, '?') == value.len
		   ? NULL
		   : "write one address of mail";
}

bool conf_set_acme_ca(struct conf_loader *l, void *at, struct slice value)
{
	(void)value;
	return !l->opens_files || conf_check_authorities(l, "acme-ca", *(const char **)at);
}

/* ---- names ---- */

static bool has_name(const struct conf_acme_listen *acme, struct slice host)
{
	for (size_t i = 0; i < acme->count; i++)
		if (slice_equal_nocase(slice_of_string(acme->names[i]), host))
			return true;
	return false;
}

static char *lower(struct conf_loader *l, struct slice host)
{
	char *name = arena_alloc(&l->conf->arena, host.len + 1);
	ascii_lower_copy(name, host);
	name[host.len] = '\0';
	return name;
}

/* False: reported. */
static bool add_host(struct conf_loader *l, const struct conf_section *s,
    struct conf_acme_listen *acme, const struct conf_route *r, struct slice host)
{
	struct address literal;
	uint32_t line = conf_option_line(s, "acme");
	/* Routes take a name with a final dot for the one without; authorities know the latter alone. */
	if (host.len > 1 && host.ptr[host.len - 1] == '.')
		host.len--;
	if (slice_starts_with(host, SLICE("*."))) {
		conf_mistake(l, s->file, line,
		    "acme gets no certificate for %.*s of [route %s]: an authority makes one for a "
		    "wildcard by a record of the DNS alone; name each host there, or use "
		    "certificate and key of another client of ACME",
		    SLICE_ARG(host), r->name);
		return false;
	}
	/* Any host is none; addresses have no certificates by these challenges. */
	if (slice_equal(host, SLICE("*")) || host.ptr[0] == '[' || address_parse(host, &literal) ||
	    has_name(acme, host))
		return true;
	if (acme->count == NAMES_MOST) {
		conf_mistake(l, s->file, line,
		    "the routes have more than %d hosts, and one certificate has no more names; "
		    "use certificate and key for some of them in a [listen NAME] of its own",
		    NAMES_MOST);
		return false;
	}
	if (slice_find(host, '.') == host.len)
		conf_warning(l, s->file, line,
		    "no public authority makes a certificate for %.*s of [route %s], and an order "
		    "with it fails; remove that host, or name an authority of your own",
		    SLICE_ARG(host), r->name);
	conf_append(l, acme->names, acme->count, lower(l, host));
	return true;
}

/* False: reported. */
static bool find_names(
    struct conf_loader *l, const struct conf_section *s, struct conf_acme_listen *acme)
{
	const struct conf *c = l->conf;
	for (size_t i = 0; i < c->route_count; i++)
		for (size_t h = 0;
		     h < c->routes[i].host_count && !conf_is_forward_route(l, &c->routes[i]); h++)
			if (!add_host(l, s, acme, &c->routes[i], c->routes[i].hosts[h]))
				return false;
	if (acme->count == 0)
		conf_mistake(l, s->file, conf_option_line(s, "acme"),
		    "no route has a host that a certificate could be for; add host = NAME to a "
		    "[route NAME]");
	return acme->count > 0;
}

/* ---- the file ---- */

/* The seal of the start has these bytes in place of a file. */
static void add_own(struct conf_loader *l, const struct conf_acme_listen *acme)
{
	struct net_key *key = net_key_new();
	int64_t ends = (int64_t)(clock_wall() / USEC_PER_SEC) + OWN_DAYS * DAY_SECONDS;
	char *certificate = net_key_self_signed(key, acme->names, acme->count, ends, NULL);
	char *text = net_key_write(key);
	const struct sealed_part parts[] = {
	    {.text = slice_of_string(text)}, {.text = slice_of_string(certificate)}};
	(void)sealed_add_parts(l->conf->sealed, acme->file, parts, 2);
	explicit_bzero(text, parts[0].text.len);
	free(text);
	free(certificate);
	net_key_free(key);
}

/* The file has a key and a certificate for it. The helper writes no other one, but disks fail. */
static bool is_usable(const char *path)
{
	struct sealed_view v;
	struct net_issued issued;
	if (sealed_view_open(NULL, path, &v) != 0)
		return false;
	bool is_good = net_issued_read_with_key(v.bytes, NULL, 0, &issued);
	sealed_view_close(&v);
	return is_good;
}

static void read_file(
    struct conf_loader *l, const struct conf_section *s, const struct conf_acme_listen *acme)
{
	conf_note_named_file(l, acme->file);
	if (is_usable(acme->file)) {
		(void)sealed_add(l->conf->sealed, acme->file);
		return;
	}
	conf_warning(l, s->file, conf_option_line(s, "acme"),
	    "there is no certificate in %s yet; clients get one that nobody has signed until the "
	    "first comes",
	    acme->file);
	add_own(l, acme);
}

/* Through another program that passes the authority's requests on, pushgate may have them at any port. */
static void warn_of_challenges(struct conf_loader *l, const struct conf_section *s)
{
	if (l->conf->server.acme.challenge != CONF_ACME_HTTP ||
	    conf_first_section(l, other, CONF_SECTION_LISTEN,
		!conf_is_over_tls(other) &&
		    ((const struct conf_listen *)other->object)->mode == CONF_MODE_GATEWAY))
		return;
	conf_warning(l, s->file, conf_option_line(s, "acme"),
	    "the authority asks each host for a file over cleartext, and each [listen NAME] has a "
	    "certificate; add one without, at port 80");
}

void conf_check_acme(struct conf_loader *l, struct conf_section *s)
{
	struct conf_listen *listen = s->object;
	struct conf_acme_listen *acme = listen->acme;
	uint32_t line = conf_option_line(s, "acme");
	const struct conf_file_ref file = {NULL, line};
	if (!acme || s->is_broken)
		return;
	s->is_broken = true; /* unless all is right */
	if (s->chain_count + s->key_count + s->folder_count > 0)
		conf_mistake(l, s->file, line,
		    "a [listen NAME] with acme has no other certificate; remove certificate, key "
		    "and certificates, or acme");
	else if (listen->mode != CONF_MODE_GATEWAY)
		conf_mistake(l, s->file, line,
		    "acme is for mode = gateway, whose routes have the names; use certificate and "
		    "key here");
	else if (!l->conf->server.acme.dir)
		conf_mistake(l, s->file, line,
		    "acme needs a folder for keys and certificates; add acme-dir = FOLDER to "
		    "[server]");
	else if (find_names(l, s, acme))
		s->is_broken = false;
	if (s->is_broken)
		return;
	warn_of_challenges(l, s);
	acme->file =
	    arena_printf(&l->conf->arena, "%s/%s.pem", l->conf->server.acme.dir, s->name).ptr;
	conf_append(l, s->chains, s->chain_count, file);
	conf_append(l, s->keys, s->key_count, file);
	s->chains[0].path = s->keys[0].path = acme->file;
	if (l->opens_files)
		read_file(l, s, acme);
}
