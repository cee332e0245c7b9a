/* SPDX-License-Identifier: MIT */
/*
 * The lines `server` of an [origin]: "URL [weight=N] [backup] [down]". A line is one server, or a name that has
 * any number of them. All lines of an origin say the same about how its servers are spoken to.
 */
#include "proxy/base/ascii.h"
#include "proxy/base/memory.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/http/authority.h"
#include "proxy/limits.h"
#include <inttypes.h>

/* ---- the URL: a function for each scheme, which returns NULL or the mistake in the rest of the URL ---- */

typedef const char *read_server(
    struct conf_loader *l, struct conf_origin_server *s, struct slice rest);

static const char *read_unix(struct conf_loader *l, struct conf_origin_server *s, struct slice rest)
{
	/* net_address_parse reads "unix:/path". */
	struct slice text = arena_printf(&l->conf->arena, "unix:%.*s", SLICE_ARG(rest));
	return net_address_parse(text, &s->address);
}

const char *conf_read_host_port(
    struct conf_loader *l, struct conf_origin_server *s, struct slice text, struct slice scheme)
{
	struct http_authority a;

	if (text.len > 0 && text.ptr[text.len - 1] == '/')
		text.len--;
	if (slice_find(text, '/') < text.len)
		return "it must not have a path";
	if (!http_authority_parse(text, scheme, &a) || a.host.len == 0 || a.port == 0)
		return "it is not HOST:PORT";
	if (a.host.len > CONF_HOST_BYTES)
		return "the host name is too long";
	struct slice host = a.host;
	if (host.ptr[0] == '[')
		host = slice_sub(host, 1, host.len - 2);
	s->host = s->tls_name = conf_copy(l, host);
	s->port = a.port;
	struct slice literal =
	    arena_printf(&l->conf->arena, "%.*s:%u", SLICE_ARG(a.host), (unsigned)a.port);
	if (net_address_parse(literal, &s->address)) /* a name */
		s->address = (struct net_address){.length = 0};
	if (s->address.length == 0 && !value_is_dns_name(a.host))
		return "its host is no name that can be looked up";
	return NULL;
}

static const char *read_tls(struct conf_loader *l, struct conf_origin_server *s, struct slice rest)
{
	return conf_read_host_port(l, s, rest, SLICE("https"));
}

static const char *read_tcp(struct conf_loader *l, struct conf_origin_server *s, struct slice rest)
{
	return conf_read_host_port(l, s, rest, SLICE("http"));
}

/* Takes "_http." or "_tcp." from the front of a name. */
static bool take_label(struct slice *name, struct slice *label)
{
	size_t dot = slice_find(*name, '.');
	if (dot < 2 || dot >= name->len || name->ptr[0] != '_')
		return false;
	*label = slice_sub(*name, 0, dot);
	*name = slice_from(*name, dot + 1);
	return true;
}

/* RFC 2782: _Service._Proto.Name. A certificate is for the name that was asked for (RFC 6125 2.3). */
static const char *read_srv(struct conf_loader *l, struct conf_origin_server *s, struct slice rest)
{
	struct slice domain = rest, service, transport;
	struct http_authority a;

	if (!take_label(&domain, &service) || !take_label(&domain, &transport) ||
	    !slice_equal_nocase(transport, SLICE("_tcp")) || domain.len > CONF_HOST_BYTES ||
	    rest.len > CONF_HOST_BYTES || !value_is_dns_name(rest) ||
	    !http_authority_parse(domain, SLICE("http"), &a) || a.port_given)
		return "it is not srv:_SERVICE._tcp.NAME";
	s->host = conf_copy(l, rest);
	s->tls_name = conf_copy(l, domain);
	s->is_srv = true;
	return NULL;
}

/* Options may follow "demo:?": think=TIME, rtt=TIME. */
static const char *read_demo(struct conf_loader *l, struct conf_origin_server *s, struct slice rest)
{
	(void)l;
	if (rest.len > 0 && (rest.len == 1 || rest.ptr[0] != '?'))
		return "only ?think=TIME&rtt=TIME may follow demo:";
	while (rest.len > 0) {
		rest = slice_from(rest, 1);
		struct slice pair = slice_sub(rest, 0, slice_find(rest, '&'));
		rest = slice_from(rest, pair.len);
		struct slice name = slice_sub(pair, 0, slice_find(pair, '='));
		bool is_think = slice_equal(name, SLICE("think"));
		usec span;
		if (!is_think && !slice_equal(name, SLICE("rtt")))
			return "the demo site knows only think and rtt";
		if (!value_time(slice_from(pair, name.len + 1), &span) ||
		    span > LIMIT_DEMO_DELAY_USEC)
			return "think and rtt take a time of at most 60s, such as 150ms";
		*(is_think ? &s->demo_think : &s->demo_rtt) = span;
	}
	return NULL;
}

/* "forward:": there is no server before a request names one. */
static const char *read_forward(
    struct conf_loader *l, struct conf_origin_server *s, struct slice rest)
{
	(void)l, (void)s;
	return rest.len == 0 ? NULL : "nothing may follow forward:";
}

static const struct server_scheme {
	struct slice prefix;
	enum conf_origin_kind kind;
	uint32_t protocols;
	read_server *read;
} server_schemes[] = {
    {SLICE_INIT("https://"), CONF_ORIGIN_TLS, CONF_HTTP2 | CONF_HTTP1, read_tls},
    {SLICE_INIT("https1://"), CONF_ORIGIN_TLS, CONF_HTTP1, read_tls},
    {SLICE_INIT("http://"), CONF_ORIGIN_PLAIN, CONF_HTTP1, read_tcp},
    {SLICE_INIT("h2://"), CONF_ORIGIN_TLS, CONF_HTTP2, read_tls},
    {SLICE_INIT("h2c://"), CONF_ORIGIN_PLAIN, CONF_HTTP2, read_tcp},
    {SLICE_INIT("h1+unix:"), CONF_ORIGIN_PLAIN, CONF_HTTP1, read_unix},
    {SLICE_INIT("h2c+unix:"), CONF_ORIGIN_PLAIN, CONF_HTTP2, read_unix},
    {SLICE_INIT("srv:_https."), CONF_ORIGIN_TLS, CONF_HTTP2 | CONF_HTTP1, read_srv},
    {SLICE_INIT("srv:_http."), CONF_ORIGIN_PLAIN, CONF_HTTP1, read_srv},
    {SLICE_INIT("https+srv:"), CONF_ORIGIN_TLS, CONF_HTTP2 | CONF_HTTP1, read_srv},
    {SLICE_INIT("https1+srv:"), CONF_ORIGIN_TLS, CONF_HTTP1, read_srv},
    {SLICE_INIT("http+srv:"), CONF_ORIGIN_PLAIN, CONF_HTTP1, read_srv},
    {SLICE_INIT("h2+srv:"), CONF_ORIGIN_TLS, CONF_HTTP2, read_srv},
    {SLICE_INIT("h2c+srv:"), CONF_ORIGIN_PLAIN, CONF_HTTP2, read_srv},
    {SLICE_INIT("demo:"), CONF_ORIGIN_DEMO, CONF_HTTP2, read_demo},
    {SLICE_INIT("forward:"), CONF_ORIGIN_FORWARD, CONF_HTTP2 | CONF_HTTP1, read_forward},
};

static const struct server_scheme *scheme_of(struct slice url)
{
	return conf_first(scheme, server_schemes, sizeof server_schemes / sizeof *server_schemes,
	    slice_starts_with(url, scheme->prefix));
}

static const char *what_is_wrong_with_scheme(struct slice url)
{
	if (slice_starts_with(url, SLICE("srv:")))
		return "its service is neither _http nor _https: say how it is spoken to, such as "
		       "h2c+srv:";
	return slice_find(url, '/') == url.len ? "its scheme is missing" : "its scheme is unknown";
}

/* The words of srv: are part of the name. */
static struct slice behind_prefix(const struct server_scheme *scheme, struct slice url)
{
	bool is_bare_srv = slice_starts_with(scheme->prefix, SLICE("srv:"));
	return slice_from(url, is_bare_srv ? strlen("srv:") : scheme->prefix.len);
}

/* ---- the words behind it ---- */

static const char *read_words(struct conf_origin_server *s, struct slice rest)
{
	static const struct slice weight = SLICE_INIT("weight=");
	while ((rest = slice_trim(rest)).len > 0) {
		struct slice word = slice_cut(&rest, ' ');
		uint64_t number = 0;
		if (slice_equal(word, SLICE("backup")))
			s->is_backup = true;
		else if (slice_equal(word, SLICE("down")))
			s->is_down = true;
		else if (!slice_starts_with(word, weight))
			return "a server may have weight=NUMBER, backup and down behind it";
		else if (!slice_to_number(
			     slice_from(word, weight.len), LIMIT_SERVER_WEIGHT, &number) ||
			 number == 0)
			return "a weight is a number from 1 to 256";
		else
			s->weight = (uint32_t)number;
	}
	return NULL;
}

/* ---- the line ---- */

static bool fits_others(struct conf_loader *l, const struct conf_origin *o,
    const struct server_scheme *scheme, const char *url)
{
	if (o->server_count == 0)
		return true;
	if (o->kind != scheme->kind || o->protocols != scheme->protocols)
		return conf_mistake_here(l,
		    "%s is spoken to otherwise than %s, a server of the same origin; give both the "
		    "same scheme, or each an [origin] of its own",
		    url, o->servers[0].text);
	if (o->server_count == LIMIT_SERVERS)
		return conf_mistake_here(
		    l, "an origin has at most %u servers; add an [origin]", LIMIT_SERVERS);
	return !conf_any(s, o->servers, o->server_count, strcmp(s->text, url) == 0) ||
	       conf_mistake_here(l,
		   "%s is a server of this origin already; remove the line, or give the first one "
		   "weight=2",
		   url);
}

static void add_server(
    struct conf_loader *l, struct conf_origin *o, const struct conf_origin_server *s)
{
	if (l->origin != o)
		conf_finish_servers(l);
	l->origin = o;
	if (o->server_count == l->server_room) {
		l->server_room = 2 * l->server_room + 8;
		l->servers = memory_resize(l->servers, l->server_room, sizeof *l->servers);
	}
	l->servers[o->server_count++] = *s;
	o->servers = l->servers;
}

void conf_finish_servers(struct conf_loader *l)
{
	struct conf_origin *o = l->origin;
	if (!o)
		return;
	o->servers = arena_alloc(&l->conf->arena, o->server_count * sizeof *o->servers);
	memcpy(o->servers, l->servers, o->server_count * sizeof *o->servers);
	l->origin = NULL;
}

/* There may be thousands of lines: one without further words is its URL, and the section keeps it already. */
static const char *text_of(struct conf_loader *l, struct slice url)
{
	const struct conf_section *s = l->current;
	const char *written = s->options[s->option_count - 1].value;
	return slice_equal(url, slice_of_string(written)) ? written : conf_copy(l, url);
}

bool conf_set_server(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_origin *o = object;
	struct conf_origin_server s = {.weight = 1};
	struct slice url = slice_sub(value, 0, slice_find(value, ' '));
	const struct server_scheme *scheme = scheme_of(url);

	s.text = text_of(l, url);
	const char *wrong = scheme ? scheme->read(l, &s, behind_prefix(scheme, url))
				   : what_is_wrong_with_scheme(url);
	if (!wrong)
		wrong = read_words(&s, slice_from(value, url.len));
	if (wrong)
		return conf_bad_value(l, value, wrong, NULL);
	if (!fits_others(l, o, scheme, s.text))
		return false;
	o->kind = scheme->kind;
	o->protocols = scheme->protocols;
	add_server(l, o, &s);
	o->server_text = o->servers[0].text;
	return true;
}
