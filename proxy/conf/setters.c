/* SPDX-License-Identifier: MIT */
/*
 * Setters and checks for options whose value needs more than its type: addresses, servers,
 * certificates, users. Each reports a mistake at the line that is being read.
 */
#include "proxy/conf/setters.h"
#include "proxy/base/ascii.h"
#include "proxy/conf/value.h"
#include "proxy/http/authority.h"
#include "proxy/http/head.h"
#include "proxy/limits.h"
#include <pwd.h>
#include <sys/un.h>
#include <unistd.h>

#define SHOWN(s) SLICE_ARG(slice_sub((s), 0, 80))

/* RFC 1035 2.3.4, in text. */
enum { HOST_BYTES = 253 };

/* ---- [server] ---- */

bool conf_set_workers(struct conf_loader *l, void *object, struct slice value)
{
	struct conf *c = object;
	uint64_t number = 0;

	if (!slice_equal(value, SLICE("auto")) &&
	    (!slice_to_number(value, 256, &number) || number == 0))
		return conf_bad_value(l, value, NULL, "write auto or a number from 1 to 256");
	c->server.workers = (uint32_t)number;
	return true;
}

bool conf_set_user(struct conf_loader *l, void *object, struct slice value)
{
	struct conf *c = object;

	if (l->opens_files && !getpwnam(c->server.user)) {
		conf_mistake_here(l,
		    "there is no user '%.*s'; name an existing user or remove the line",
		    SHOWN(value));
		return false;
	}
	return true;
}

/* Words that other programs take for a file: here each would become a file of this name. */
static bool is_word(struct slice value)
{
	return value_choice(value,
		   "on yes true 1 no none false null stdout stderr syslog journal journald") >= 0;
}

/* Sets NULL for "off", "-" for "-", and a path for anything else. */
static bool set_log(struct conf_loader *l, const char **log, struct slice value)
{
	*log = NULL;
	if (slice_equal(value, SLICE("off")))
		return true;
	if (is_word(value))
		return conf_bad_value(l, value, NULL, "write -, off or the path of a file");
	*log = slice_equal(value, SLICE("-")) ? "-" : conf_path(l, value);
	return true;
}

bool conf_set_access_log(struct conf_loader *l, void *object, struct slice value)
{
	return set_log(l, &((struct conf *)object)->server.access_log, value);
}

bool conf_set_error_log(struct conf_loader *l, void *object, struct slice value)
{
	return set_log(l, &((struct conf *)object)->server.error_log, value);
}

bool conf_set_learned_file(struct conf_loader *l, void *object, struct slice value)
{
	struct conf *c = object;
	c->server.learned_file = slice_equal(value, SLICE("off")) ? NULL : conf_path(l, value);
	return true;
}

bool conf_set_status_socket(struct conf_loader *l, void *object, struct slice value)
{
	struct conf *c = object;
	size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
	struct net_address a;

	/* "unix:/PATH" and "127.0.0.1:9090" are addresses of [listen], and no paths. */
	c->server.status_socket = NULL;
	if (is_word(value) || !net_address_parse(value, &a))
		return conf_bad_value(l, value, NULL, "write off or the path of a socket");
	c->server.status_socket = slice_equal(value, SLICE("off")) ? NULL : conf_path(l, value);
	if (!c->server.status_socket || strlen(c->server.status_socket) <= most)
		return true;
	conf_mistake_here(
	    l, "the path of status-socket is longer than %zu bytes; choose a shorter one", most);
	return false;
}

bool conf_set_pseudonym(struct conf_loader *l, void *object, struct slice value)
{
	(void)object;
	if (!value_is_name(value))
		return conf_bad_value(l, value, NULL, "use letters, digits, '.', '_' and '-'");
	return true;
}

bool conf_set_cookie(struct conf_loader *l, const char **name, struct slice value)
{
	bool is_off = slice_equal(value, SLICE("off"));

	if (!is_off && !ascii_is_token(value))
		return conf_bad_value(l, value, NULL, "write off or a cookie's name");
	*name = is_off ? NULL : conf_copy(l, value);
	return true;
}

bool conf_set_diary_cookie(struct conf_loader *l, void *object, struct slice value)
{
	return conf_set_cookie(l, &((struct conf *)object)->server.diary_cookie, value);
}

/* Reads a secret of 16 to 1024 bytes, without a newline at its end. */
static bool read_secret(struct conf_loader *l, const char *path, struct slice *secret)
{
	char bytes[1026];
	FILE *in = fopen(path, "re");
	size_t n = in ? fread(bytes, 1, sizeof bytes, in) : 0;

	if (!in || ferror(in)) {
		conf_no_file(l, "diary-cookie-key", path, "name a readable file");
	} else {
		if (n > 0 && bytes[n - 1] == '\n')
			n--;
		if (n >= 16 && n <= 1024)
			*secret = arena_copy(&l->conf->arena, slice_of(bytes, n));
		else
			conf_mistake_here(l,
			    "the diary-cookie-key file '%s' has %s bytes; write 16 to 1024 random "
			    "bytes into it",
			    path, n < 16 ? "too few" : "too many");
	}
	if (in)
		fclose(in);
	return secret->len > 0;
}

bool conf_set_diary_cookie_key(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_server *server = &((struct conf *)object)->server;

	if (server->diary_key_count == POLICY_COOKIE_KEYS) {
		conf_mistake_here(l,
		    "there are more than %d diary-cookie-key options; keep the newest two",
		    POLICY_COOKIE_KEYS);
		return false;
	}
	struct slice *secret = &server->diary_keys[server->diary_key_count++];
	return !l->opens_files || read_secret(l, conf_path(l, value), secret);
}

/* ---- [listen] ---- */

bool conf_set_address(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_listen *listen = object;

	const char *wrong = net_address_parse(value, &listen->address);
	if (wrong)
		return conf_bad_value(l, value, wrong, "write IP:PORT, *:PORT or unix:/PATH");
	listen->address_text = conf_copy(l, value);
	return true;
}

static bool add_file(struct conf_loader *l, const char *key, struct slice value,
    struct conf_file_ref **files, size_t *count)
{
	char *path = conf_path(l, value);

	conf_append(l, *files, *count, (struct conf_file_ref){path, l->line});
	if (l->opens_files && access(path, R_OK) != 0)
		return conf_no_file(l, key, path, "name a PEM file");
	return true;
}

bool conf_set_certificate(struct conf_loader *l, void *object, struct slice value)
{
	(void)object;
	return add_file(l, "certificate", value, &l->current->chains, &l->current->chain_count);
}

bool conf_set_key(struct conf_loader *l, void *object, struct slice value)
{
	(void)object;
	return add_file(l, "key", value, &l->current->keys, &l->current->key_count);
}

/* ---- [origin] ---- */

bool conf_set_tls_ca(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_origin *o = object;

	(void)value;
	return !l->opens_files || conf_check_authorities(l, o->tls_ca);
}

bool conf_set_tls_name(struct conf_loader *l, void *object, struct slice value)
{
	struct http_authority a;

	(void)object;
	if (http_authority_parse(value, SLICE("https"), &a) && !a.port_given &&
	    value.len <= HOST_BYTES && value.ptr[0] != '[')
		return true;
	return conf_bad_value(l, value, NULL, "write a host name without a port");
}

bool conf_set_host(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_origin *o = object;
	struct http_authority a;

	if (slice_equal(value, SLICE("keep"))) {
		o->host_override = NULL;
		return true;
	}
	if (!http_authority_parse(value, SLICE("https"), &a) || a.host.len == 0)
		return conf_bad_value(l, value, NULL, "write keep, NAME or NAME:PORT");
	o->host_override = conf_copy(l, value);
	return true;
}

/* ---- [route] ---- */

const char *conf_check_route_host(struct slice member)
{
	struct http_authority a;
	struct slice name = member;

	if (slice_equal(member, SLICE("*")))
		return NULL;
	if (slice_starts_with(member, SLICE("*.")))
		name = slice_from(member, 2);
	/* ".example.com" and "_" mean something to other programs, and are no names. */
	if (slice_starts_with(name, SLICE(".")) || slice_equal(name, SLICE("_")) ||
	    slice_find(name, '*') < name.len || !http_authority_parse(name, SLICE(""), &a) ||
	    a.port_given || a.host.len == 0)
		return "write a host name without a port, *.NAME or *";
	return NULL;
}

/* Words that are tokens, and that nobody means as the name of a protocol. */
#define NO_PROTOCOLS                                                                               \
	"yes no on off true false enable enabled 1 0 * any all none ws wss websockets connect"

const char *conf_check_upgrade(struct slice member)
{
	if (slice_equal_nocase(member, SLICE("h2c")) || slice_equal_nocase(member, SLICE("h2")))
		return "write a protocol other than HTTP: a listener speaks HTTP/2 without an "
		       "Upgrade";
	bool is_other = value_choice(member, NO_PROTOCOLS) >= 0;
	return http_is_protocol(member) && !is_other
		   ? NULL
		   : "write the name of a protocol, such as websocket";
}

const char *conf_check_route_path(struct slice member)
{
	for (size_t i = 0; i < member.len; i++)
		if (strchr("*?# \t", member.ptr[i]))
			return "write the beginning of a path, without '*', '?', '#' and spaces";
	return member.len > 0 && member.ptr[0] == '/' ? NULL : "write a path that begins with '/'";
}
