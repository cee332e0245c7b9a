/* SPDX-License-Identifier: MIT */
/*
 * Setters and checks of [server] and [listen], for options whose value needs more than its type. Each reports a
 * mistake at the line that is being read, or says only whether the value is good (option.h).
 */
#include "proxy/conf/setters.h"
#include "proxy/base/ascii.h"
#include "proxy/base/suggest.h"
#include "proxy/conf/value.h"
#include "proxy/limits.h"
#include "proxy/log_fields.h"
#include <pwd.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- [server] ---- */

bool conf_set_user(struct conf_loader *l, void *at, struct slice value)
{
	if (!l->opens_files || getpwnam(*(const char **)at))
		return true;
	return conf_mistake_here(l,
	    "there is no user '%.*s'; name an existing user or remove the line", CONF_SHOWN(value));
}

/* Words that other programs take for a file: here each would become a file of this name. */
static bool is_word(struct slice value)
{
	return value_choice(value,
		   "on yes true 1 no none false null stdout stderr syslog journal journald") >= 0;
}

/* Sets NULL for "off", "-" for "-", and a path for anything else. */
bool conf_read_log(struct conf_loader *l, void *at, struct slice value)
{
	if (is_word(value))
		return false;
	*(const char **)at = slice_equal(value, SLICE("off")) ? NULL
			     : slice_equal(value, SLICE("-")) ? "-"
							      : conf_path(l, value);
	return true;
}

/* "unix:/PATH" and "127.0.0.1:9090" are addresses of [listen], and no paths. */
const char *conf_check_socket(struct slice path)
{
	struct net_address a;
	return is_word(path) || !net_address_parse(path, &a) ? "write off or the path of a socket"
							     : NULL;
}

bool conf_set_status_socket(struct conf_loader *l, void *at, struct slice value)
{
	const char *path = *(const char **)at;
	size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;

	(void)value;
	if (!path || strlen(path) <= most)
		return true;
	return conf_mistake_here(
	    l, "the path of status-socket is longer than %zu bytes; choose a shorter one", most);
}

const char *conf_check_pseudonym(struct slice name)
{
	return value_is_name(name) ? NULL : "use letters, digits, '.', '_' and '-'";
}

const char *conf_check_cookie(struct slice name)
{
	return ascii_is_token(name) ? NULL : "write off or a cookie's name";
}

/* A secret of 16 to 1024 bytes, without a newline at its end. */
static bool read_secret(struct conf_loader *l, const char *path, struct slice *secret)
{
	if (!conf_read_bytes(l, "diary-cookie-key", path, 1025, secret))
		return false;
	conf_digest(&l->conf->secrets_digest, path, *secret);
	if (secret->len > 0 && secret->ptr[secret->len - 1] == '\n')
		secret->len--;
	if (secret->len >= 16 && secret->len <= 1024)
		return true;
	return conf_mistake_here(l,
	    "the diary-cookie-key file '%s' has %s bytes; write 16 to 1024 random bytes into it",
	    path, secret->len < 16 ? "too few" : "too many");
}

bool conf_set_diary_cookie_key(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_server *server = at;

	if (server->diary_key_count == POLICY_COOKIE_KEYS)
		return conf_mistake_here(l,
		    "there are more than %d diary-cookie-key options; keep the newest two",
		    POLICY_COOKIE_KEYS);
	struct slice *secret = &server->diary_keys[server->diary_key_count++];
	return !l->opens_files || read_secret(l, conf_path(l, value), secret);
}

/* ---- [server]: the access log ---- */

#define NAME(name, ...) SLICE_INIT(#name),
static const struct slice names[LOG_FIELD_COUNT] = {LOG_FIELDS(NAME)};
#undef NAME

/* LOG_FIELD_COUNT: there is no such field, which has been reported. */
static enum log_field field_of(struct conf_loader *l, struct slice word)
{
	struct suggestion s = suggest_for(word);

	for (size_t i = 0; i < LOG_FIELD_COUNT; i++) {
		if (slice_equal(word, names[i]))
			return (enum log_field)i;
		suggest_compare(&s, names[i], &names[i]);
	}
	const struct slice *near = s.item;
	if (near)
		conf_mistake_here(l, "the access log has no field '%.*s'; did you mean '%.*s'?",
		    CONF_SHOWN(word), SLICE_ARG(*near));
	else
		conf_mistake_here(l, "the access log has no field '%.*s'; docs/LOG.md names them",
		    CONF_SHOWN(word));
	return LOG_FIELD_COUNT;
}

/* Either names, or `all` and then names with '-' before them. */
bool conf_set_log_fields(struct conf_loader *l, void *at, struct slice value)
{
	struct slice rest = value, word;
	bool is_first = true, is_all = false, is_good = true;
	const struct log_field_set every = log_field_set_every();
	struct log_field_set *left_out = at;

	*left_out = every;
	for (; conf_next_word(l, &rest, &word, &is_good); is_first = false) {
		if (is_first && slice_equal(word, SLICE("all"))) {
			is_all = true;
			*left_out = (struct log_field_set){{0}};
			continue;
		}
		if (is_all != slice_starts_with(word, SLICE("-")))
			return conf_bad_value(
			    l, word, NULL, "write names, or all and what to leave out");
		enum log_field f = field_of(l, is_all ? slice_from(word, 1) : word);
		if (f == LOG_FIELD_COUNT)
			return false;
		log_field_set_put(left_out, f, is_all);
	}
	bool is_empty = memcmp(left_out, &every, sizeof(every)) == 0;
	if (is_good && is_empty)
		conf_mistake_here(
		    l, "log-fields leaves no field; write all, or the names of fields");
	return is_good && !is_empty;
}

bool conf_read_log_sample(struct conf_loader *l, void *at, struct slice value)
{
	uint64_t number;

	(void)l;
	if (!slice_starts_with(value, SLICE("1/")) ||
	    !slice_to_number(slice_from(value, 2), 1000000, &number) || number == 0)
		return false;
	*(uint32_t *)at = (uint32_t)number;
	return true;
}

/* ---- [server]: names ---- */

enum { DNS_PORT = 53 };

/* ADDRESS, [ADDRESS], ADDRESS:PORT or [ADDRESS]:PORT. */
static bool read_resolver(struct slice word, struct net_address *a)
{
	struct slice bare = word;
	struct address ip;
	if (word.len > 2 && word.ptr[0] == '[' && word.ptr[word.len - 1] == ']')
		bare = slice_sub(word, 1, word.len - 2);
	if (address_parse(bare, &ip)) {
		net_address_set_ip(a, &ip, DNS_PORT);
		return true;
	}
	return !net_address_parse(word, a) && a->any.sa_family != AF_UNIX && word.ptr[0] != '*' &&
	       net_address_port(a) > 0;
}

bool conf_add_resolver(struct conf_loader *l, void *at, struct slice word)
{
	struct conf_server *server = at;
	struct net_address a;

	if (!read_resolver(word, &a))
		return conf_bad_value(l, word, "it is no IP address", NULL);
	if (server->resolver_count == LIMIT_RESOLVERS)
		return conf_mistake_here(
		    l, "there are more than %u resolvers; remove some", LIMIT_RESOLVERS);
	conf_append(l, server->resolvers, server->resolver_count, a);
	return true;
}

/* ---- [listen] ---- */

bool conf_set_address(struct conf_loader *l, void *object, struct slice value)
{
	struct conf_listen *listen = object;

	const char *wrong = net_address_parse(value, &listen->address);
	if (wrong)
		return conf_bad_value(l, value, wrong, NULL);
	listen->address_text = conf_copy(l, value);
	return true;
}

/* certificate and key: certificates.c pairs them. */
bool conf_set_pem_file(struct conf_loader *l, void *at, struct slice value)
{
	struct conf_section *s = l->current;
	const struct conf_file_ref file = {conf_path(l, value), l->line};

	(void)at;
	if (strcmp(l->option->key, "key") == 0)
		conf_append(l, s->keys, s->key_count, file);
	else
		conf_append(l, s->chains, s->chain_count, file);
	return !l->opens_files || access(file.path, R_OK) == 0 ||
	       conf_no_file(l, l->option->key, file.path, "name a PEM file");
}
