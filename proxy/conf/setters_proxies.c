/* SPDX-License-Identifier: MIT */
/*
 * The lines upstream-proxy and no-proxy of an [origin] with server = forward:. A message never shows the user or the
 * password that stand in the URL.
 */
#include "proxy/base/ascii.h"
#include "proxy/base/base64.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include "proxy/http/authority.h"
#include "proxy/limits.h"

/* Of a user, and of a password. */
enum { CREDENTIAL_BYTES = 255 };

struct credentials {
	char user[CREDENTIAL_BYTES + 1], password[CREDENTIAL_BYTES + 1];
	bool has_password;
};

/* ---- passwords are left out of messages ---- */

/* RFC 3986 3.2.1: what is between "://" and the last '@'. */
static struct slice find_user(struct slice text)
{
	size_t begin = 0, at = text.len;
	for (size_t i = 0; i + 3 <= text.len && begin == 0; i++)
		begin = memcmp(text.ptr + i, "://", 3) == 0 ? i + 3 : 0;
	for (size_t i = begin; i < text.len; i++)
		at = text.ptr[i] == '@' ? i : at;
	return slice_sub(text, begin, at == text.len ? 0 : at - begin);
}

static struct slice url_of(struct slice value)
{
	return slice_sub(value, 0, slice_find(value, ' '));
}

struct slice conf_hide_user(struct conf_loader *l, struct slice value)
{
	struct slice user = find_user(url_of(value));
	if (user.len == 0) /* a password may have a space, which is a mistake */
		user = find_user(value);
	if (user.len == 0)
		return value;
	char *copy = conf_copy(l, value);
	memset(copy + (user.ptr - value.ptr), '*', user.len);
	return slice_of(copy, value.len);
}

/* ---- credentials ---- */

/* Percent-encoding (RFC 3986 2.1). False: it is wrong, too long, or has a control character. */
static bool decode(struct slice text, char out[CREDENTIAL_BYTES + 1])
{
	size_t n = 0;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		if (c == '%') {
			int byte = ascii_percent_byte(slice_from(text, i));
			if (byte < 0)
				return false;
			c = (char)byte;
			i += 2;
		}
		if (n == CREDENTIAL_BYTES || ascii_is(c, ASCII_CONTROL))
			return false;
		out[n++] = c;
	}
	out[n] = '\0';
	return true;
}

static const char *read_user(struct slice text, struct credentials *c)
{
	size_t colon = slice_find(text, ':');
	c->has_password = colon < text.len;
	if (!decode(slice_sub(text, 0, colon), c->user) ||
	    !decode(slice_from(text, colon + 1), c->password))
		return "the user or the password is longer than 255 bytes, or has a '%' that no "
		       "two hexadecimal digits follow";
	/* RFC 7617 2 */
	if (!c->user[0] || strchr(c->user, ':'))
		return "a user must have a name without ':'";
	return NULL;
}

static bool read_password_file(struct conf_loader *l, struct slice name, struct credentials *c)
{
	const char *path = conf_path(l, name);
	struct slice text;

	if (!conf_read_bytes(l, "password-file", path, CREDENTIAL_BYTES + 2, &text))
		return false;
	text = slice_sub(text, 0, slice_find(text, '\n'));
	if (text.len > 0 && text.ptr[text.len - 1] == '\r')
		text.len--;
	if (text.len == 0 || text.len > CREDENTIAL_BYTES || ascii_has(text, ASCII_CONTROL))
		return conf_mistake_here(l,
		    "the first line of the password-file '%s' is no password of 1 to 255 bytes; "
		    "write the password there, and nothing else",
		    path);
	memcpy(c->password, text.ptr, text.len);
	return true;
}

/* RFC 7617 2 */
static struct slice basic(struct conf_loader *l, const struct credentials *c)
{
	struct slice pair = arena_printf(&l->conf->arena, "%s:%s", c->user, c->password);
	char *text = arena_bytes(&l->conf->arena, BASE64_SIZE(pair.len));
	base64_encode(pair, text);
	return arena_printf(&l->conf->arena, "Basic %s", text);
}

/* ---- upstream-proxy ---- */

/* Reads the words behind the URL. Returns NULL or the mistake. */
static const char *read_words(struct conf_loader *l, struct conf_upstream_proxy *p,
    struct slice rest, struct credentials *c, struct slice *password_file)
{
	static const struct slice password = SLICE_INIT("password-file=");
	struct slice word;
	enum value_word kind;

	while ((kind = value_next_word(&rest, &word)) == VALUE_WORD) {
		if (slice_starts_with(word, password)) {
			if (!c->user[0] || c->has_password)
				return "password-file needs a user without a password in the URL";
			c->has_password = true;
			*password_file = slice_from(word, password.len);
		} else if (conf_check_route_host(word)) {
			return "a word behind the URL is no name of hosts";
		} else {
			conf_append(l, p->hosts, p->host_count, conf_copy_slice(l, word));
		}
	}
	if (kind == VALUE_UNCLOSED)
		return "a quotation is not closed";
	return !c->user[0] || c->has_password
		   ? NULL
		   : "the user has no password; USER:@ says that it is empty, password-file=FILE "
		     "where it is";
}

static const char *read_url(
    struct conf_loader *l, struct conf_upstream_proxy *p, struct slice url, struct credentials *c)
{
	struct slice http = SLICE("http://"), https = SLICE("https://");
	struct slice user = find_user(url);
	p->is_tls = slice_starts_with(url, https);
	if (!p->is_tls && !slice_starts_with(url, http))
		return "its scheme is neither http nor https";
	struct slice place = slice_from(url, p->is_tls ? https.len : http.len);
	const char *wrong = user.len > 0 ? read_user(user, c) : NULL;
	p->server = arena_alloc(&l->conf->arena, sizeof *p->server);
	*p->server = (struct conf_origin_server){.weight = 1};
	if (!wrong)
		wrong = conf_read_host_port(
		    l, p->server, slice_from(place, user.len + (user.len > 0)), SLICE(""));
	if (wrong)
		return wrong;
	bool is_ipv6 = strchr(p->server->host, ':') != NULL;
	p->text = p->server->text =
	    arena_printf(&l->conf->arena, "%s%s%s%s:%u", p->is_tls ? "https://" : "http://",
		is_ipv6 ? "[" : "", p->server->host, is_ipv6 ? "]" : "", (unsigned)p->server->port)
		.ptr;
	return NULL;
}

bool conf_set_upstream_proxy(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_chain *chain = at;
	struct conf_upstream_proxy p = {.index = (uint32_t)chain->proxy_count};
	struct slice url = url_of(value), file = {NULL, 0};
	struct credentials c = {0};

	const char *wrong = read_url(l, &p, url, &c);
	if (!wrong)
		wrong = read_words(l, &p, slice_from(value, url.len), &c, &file);
	if (wrong)
		return conf_bad_value(l, conf_hide_user(l, value), wrong, NULL);
	if (file.ptr && l->opens_files && !read_password_file(l, file, &c))
		return false;
	if (c.user[0])
		p.authorization = basic(l, &c);
	if (chain->proxy_count == LIMIT_UPSTREAM_PROXIES)
		return conf_mistake_here(l,
		    "an origin has at most %u lines upstream-proxy; remove some",
		    LIMIT_UPSTREAM_PROXIES);
	conf_append(l, chain->proxies, chain->proxy_count, p);
	return true;
}

/* ---- no-proxy ---- */

bool conf_add_no_proxy(struct conf_loader *l, void *at, struct slice word)
{
	struct conf_chain *chain = at;
	struct cidr range;
	if (!cidr_parse(word, &range)) {
		conf_append(l, chain->direct_ranges, chain->direct_range_count, range);
		return true;
	}
	const char *right = conf_check_route_host(word);
	if (right || slice_find(word, '/') < word.len)
		return conf_bad_value(l, word, NULL, NULL);
	struct slice name = conf_copy_slice(l, word);
	conf_append(l, chain->direct_hosts, chain->direct_host_count, name);
	return true;
}

/* ---- together with the rest ---- */

static void check_own_address(
    struct conf_loader *l, const struct conf_section *s, const struct conf_upstream_proxy *p)
{
	for (size_t i = 0; i < l->conf->listen_count; i++) {
		const struct conf_listen *listen = &l->conf->listens[i];
		if (conf_is_listener(listen, p->server))
			conf_mistake(l, s->file, conf_option_line(s, "upstream-proxy"),
			    "upstream-proxy %s is the address of [listen %s], so that its requests "
			    "would come back; name another proxy",
			    p->text, listen->name);
	}
}

void conf_check_proxies(struct conf_loader *l, const struct conf_section *s)
{
	const struct conf_chain *chain = &((const struct conf_origin *)s->object)->chain;
	for (size_t i = 0; i < chain->proxy_count; i++)
		check_own_address(l, s, &chain->proxies[i]);
	const struct conf_upstream_proxy *whole =
	    conf_first(p, chain->proxies, chain->proxy_count, p->host_count == 0);
	if (whole && whole + 1 < chain->proxies + chain->proxy_count)
		conf_warning(l, s->file, conf_option_line(s, "upstream-proxy"),
		    "upstream-proxy %s is never used, because %s before it is for every "
		    "destination; put it first, or name destinations behind the other",
		    whole[1].text, whole->text);
}
