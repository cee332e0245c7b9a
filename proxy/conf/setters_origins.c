/* SPDX-License-Identifier: MIT */
/* Setters and checks of [origin]: how its servers are called, which one gets a request, and when one is healthy. */
#include "proxy/base/ascii.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/http/authority.h"

/* ---- its name ---- */

bool conf_set_tls_ca(struct conf_loader *l, void *at, struct slice value)
{
	(void)value;
	return !l->opens_files || conf_check_authorities(l, "tls-ca", *(const char **)at);
}

bool conf_set_client_certificate(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_origin *o = object;
	struct slice rest = value, file = slice_cut(&rest, ' ');
	struct net_certificate *own = arena_alloc(&l->conf->arena, sizeof *own);

	rest = slice_trim(rest);
	if (slice_find(rest, ' ') < rest.len)
		return conf_bad_value(l, value, NULL, NULL);
	own->chain_file = conf_path(l, file);
	own->key_file = rest.len > 0 ? conf_path(l, rest) : own->chain_file;
	o->client_certificate = own;
	return !l->opens_files || conf_check_own_certificate(l, own);
}

const char *conf_check_tls_name(struct slice name)
{
	struct http_authority a;

	return http_authority_parse(name, SLICE("https"), &a) && !a.port_given &&
		       name.len <= CONF_HOST_BYTES && name.ptr[0] != '['
		   ? NULL
		   : "write a host name without a port";
}

static bool is_authority(struct slice text)
{
	struct http_authority a;
	return http_authority_parse(text, SLICE("https"), &a) && a.host.len > 0;
}

const char *conf_check_host(struct slice host)
{
	return is_authority(host) ? NULL : "write keep, NAME or NAME:PORT";
}

const char *conf_check_health_host(struct slice host)
{
	return is_authority(host) ? NULL : "write NAME or NAME:PORT";
}

/* ---- the addresses that connections to it begin at ---- */

bool conf_add_source(struct conf_loader *l, void *at, struct slice word)
{
	struct net_source *source = at;
	struct address ip;

	if (!address_parse(word, &ip))
		return conf_bad_value(l, word, "it is no IP address", NULL);
	struct net_address *own = ip.family == 4 ? &source->ipv4 : &source->ipv6;
	if (own->length > 0)
		return conf_mistake_here(l,
		    "source-address has an address of IPv%u already: %.*s is one too many; "
		    "leave one of each family",
		    ip.family, SLICE_ARG(word));
	net_address_set_ip(own, &ip, 0);
	if (!net_address_is_any(own))
		return true;
	return conf_mistake_here(l,
	    "source-address %.*s stands for no address in particular; name one of this machine, "
	    "or remove it",
	    SLICE_ARG(word));
}

static void check_reach(struct conf_loader *l, const struct conf_section *s,
    const struct conf_origin_server *server, const char *key, size_t index)
{
	const struct conf_origin *o = s->object;
	const struct conf_option_place *p = conf_nth_option(s, key, index);

	if (server->address.length == 0 || net_source_reaches(&o->source, &server->address))
		return;
	bool is_ipv4 = server->address.any.sa_family == AF_INET;
	conf_mistake(l, s->file, p ? p->line : s->line,
	    "%s %s has an address of %s, and source-address has none of that family; add one to it",
	    key, server->text, is_ipv4 ? "IPv4" : "IPv6");
}

void conf_check_source(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_origin *o = s->object;

	for (size_t i = 0; i < o->server_count; i++)
		check_reach(l, s, &o->servers[i], "server", i);
	for (size_t i = 0; i < o->chain.proxy_count; i++)
		check_reach(l, s, o->chain.proxies[i].server, "upstream-proxy", i);
}

/* ---- its balance ---- */

static bool set_name(struct conf_loader *l, struct conf_balance *b, struct slice name)
{
	if (!ascii_is_token(name))
		return false;
	char *copy = conf_copy(l, name);
	b->hash_name = slice_of(copy, name.len);
	if (b->hash == CONF_HASH_HEADER) {
		ascii_lower_copy(copy, name);
		b->hash_token = http_token_find(b->hash_name);
	}
	return true;
}

bool conf_read_hash(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_balance *b = at;
	struct slice rest = value, word = slice_cut(&rest, ' '), name = slice_trim(rest);
	static const enum conf_hash kinds[] = {
	    CONF_HASH_OFF, CONF_HASH_CLIENT, CONF_HASH_PATH, CONF_HASH_COOKIE, CONF_HASH_HEADER};
	int kind = value_choice(word, "off client path cookie header");

	if (kind < 0)
		return false;
	b->hash = kinds[kind];
	bool is_named = b->hash == CONF_HASH_COOKIE || b->hash == CONF_HASH_HEADER;
	return is_named ? set_name(l, b, name) : name.len == 0;
}

/* The cookie is taken out of requests before hash reads them, and the diary's before that. */
static void check_cookie(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_balance *b = &((const struct conf_origin *)s->object)->balance;
	const char *diary = l->conf->server.diary_cookie;
	struct slice name = slice_of_string(b->affinity_cookie);

	if (b->hash == CONF_HASH_COOKIE && slice_equal(b->hash_name, name))
		conf_mistake(l, s->file, conf_option_line(s, "hash"),
		    "hash and affinity-cookie have the same cookie, and it is pushgate's; let hash "
		    "name a cookie of the origin's");
	if (diary && slice_equal(slice_of_string(diary), name))
		conf_mistake(l, s->file, conf_option_line(s, "affinity-cookie"),
		    "affinity-cookie has the name of diary-cookie in [server]; choose another");
}

void conf_check_balance(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_balance *b = &((const struct conf_origin *)s->object)->balance;

	if (b->hash != CONF_HASH_OFF && conf_option_line(s, "balance"))
		conf_mistake(l, s->file, conf_option_line(s, "balance"),
		    "hash says which server gets a request, and so does balance; remove one of "
		    "them");
	if (b->affinity_cookie)
		check_cookie(l, s);
}

/* ---- the health of its servers ---- */

#define STATUS_LEAST 200u
#define STATUS_MOST 599u

static bool is_status(struct slice text, uint16_t *status)
{
	uint64_t number;

	if (text.len != 3 || !slice_to_number(text, STATUS_MOST, &number) || number < STATUS_LEAST)
		return false;
	*status = (uint16_t)number;
	return true;
}

/* "503", or "500-599". */
static bool add_statuses(struct conf_statuses *s, struct slice word)
{
	size_t end = slice_find(word, '-');
	uint16_t first, last;

	if (s->count == CONF_STATUS_RANGES || !is_status(slice_sub(word, 0, end), &first))
		return false;
	last = first;
	if (end < word.len && (!is_status(slice_from(word, end + 1), &last) || last < first))
		return false;
	s->ranges[s->count].first = first;
	s->ranges[s->count++].last = last;
	return true;
}

bool conf_read_statuses(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_statuses *s = at;
	struct slice rest = value, word;
	enum value_word found;

	(void)l;
	*s = (struct conf_statuses){0};
	while ((found = value_next_word(&rest, &word)) == VALUE_WORD && add_statuses(s, word))
		;
	return found == VALUE_END && s->count > 0;
}

/* Whether a request line may have it as its target (RFC 9112 3.2.1). */
static bool is_path(struct slice text)
{
	return slice_peek(text) == '/' && ascii_is_visible(text) &&
	       slice_find(text, '#') == text.len;
}

bool conf_read_health_check(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_check *check = at;
	int word = value_choice(value, "off connect");

	check->kind = word == 0 ? CONF_CHECK_OFF : word == 1 ? CONF_CHECK_CONNECT : CONF_CHECK_GET;
	if (word < 0 && is_path(value))
		check->path = conf_copy(l, value);
	return word >= 0 || is_path(value);
}
