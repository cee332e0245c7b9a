/* SPDX-License-Identifier: MIT */
/*
 * "Did you mean": reports unknown sections, options and files with the known name that was probably
 * meant, by its spelling or because another program calls it so.
 */
#include "proxy/base/ascii.h"
#include "proxy/conf/load.h"
#include "proxy/conf/setters.h"
#include "proxy/conf/value.h"
#include <dirent.h>
#include <errno.h>
#include <unistd.h>

/* A folder may have any number of files: a guess is not worth more than these. */
enum { GUESS_FILES = 2000, GUESS_NAME_BYTES = 63 };

unsigned conf_guess_distance(struct slice word)
{
	return word.len < 6 ? 1 : 2;
}

/* ---- names of other programs ---- */

static const struct alias {
	enum conf_kind section;
	const char *theirs, *ours;
} aliases[] = {
    {CONF_SECTION_SERVER, "accesslog", "access-log"},
    {CONF_SECTION_SERVER, "log", "error-log"},
    {CONF_SECTION_SERVER, "worker-processes", "workers"},
    {CONF_SECTION_SERVER, "nbthread", "workers"},
    {CONF_SECTION_SERVER, "dns-nameservers", "resolver"},
    {CONF_SECTION_SERVER, "visible-hostname", "pseudonym"},
    {CONF_SECTION_SERVER, "stats", "status-socket"},
    {CONF_SECTION_SERVER, "action", "default-action"},
    {CONF_SECTION_LISTEN, "listen", "address"},
    {CONF_SECTION_LISTEN, "bind", "address"},
    {CONF_SECTION_LISTEN, "port", "address"},
    {CONF_SECTION_LISTEN, "http-port", "address"},
    {CONF_SECTION_LISTEN, "https-port", "address"},
    {CONF_SECTION_LISTEN, "cert", "certificate"},
    {CONF_SECTION_LISTEN, "crt", "certificate"},
    {CONF_SECTION_LISTEN, "tls-cert", "certificate"},
    {CONF_SECTION_LISTEN, "ssl-certificate", "certificate"},
    {CONF_SECTION_LISTEN, "ssl-certificate-key", "key"},
    {CONF_SECTION_LISTEN, "private-key", "key"},
    {CONF_SECTION_LISTEN, "tls-key", "key"},
    {CONF_SECTION_LISTEN, "max-streams", "max-concurrent-streams"},
    {CONF_SECTION_LISTEN, "client-max-body-size", "max-request-body"},
    {CONF_SECTION_LISTEN, "timeout", "idle-timeout"},
    {CONF_SECTION_LISTEN, "keepalive-timeout", "idle-timeout"},
    {CONF_SECTION_ORIGIN, "address", "server"},
    {CONF_SECTION_ORIGIN, "backend", "server"},
    {CONF_SECTION_ORIGIN, "url", "server"},
    {CONF_SECTION_ORIGIN, "proxy-pass", "server"},
    {CONF_SECTION_ORIGIN, "sni", "tls-name"},
    {CONF_SECTION_ORIGIN, "verify", "tls-verify"},
    {CONF_SECTION_ORIGIN, "insecure", "tls-verify"},
    {CONF_SECTION_ORIGIN, "cafile", "tls-ca"},
    {CONF_SECTION_ORIGIN, "ca", "tls-ca"},
    {CONF_SECTION_ORIGIN, "timeout", "response-timeout"},
    {CONF_SECTION_ORIGIN, "proxy-read-timeout", "response-timeout"},
    {CONF_SECTION_ROUTE, "server-name", "host"},
    {CONF_SECTION_ROUTE, "domain", "host"},
    {CONF_SECTION_ROUTE, "location", "path"},
    {CONF_SECTION_ROUTE, "prefix", "path"},
    {CONF_SECTION_ROUTE, "backend", "origin"},
    {CONF_SECTION_ROUTE, "upstream", "origin"},
    {CONF_SECTION_ROUTE, "server", "origin"},
    {CONF_SECTION_ROUTE, "proxy-pass", "origin"},
    {CONF_SECTION_ROUTE, "add-header", "response-add"},
    {CONF_SECTION_ROUTE, "websocket", "upgrade"},
    {CONF_SECTION_ROUTE, "websockets", "upgrade"},
    {CONF_SECTION_ROUTE, "proxy.websocket", "upgrade"},
    {CONF_SECTION_ROUTE, "upgrade-configs", "upgrade"},
    {CONF_SECTION_ROUTE, "upgrade-type", "upgrade"},
    {CONF_SECTION_ROUTE, "tunnel-timeout", "tunnel-idle-timeout"},
    {CONF_SECTION_ROUTE, "timeout-tunnel", "tunnel-idle-timeout"},
    {CONF_SECTION_ROUTE, "proxy.websocket.timeout", "tunnel-idle-timeout"},
    {CONF_SECTION_LISTEN, "alpn", "protocols"},
    {CONF_SECTION_LISTEN, "http2", "protocols"},
    {CONF_SECTION_LISTEN, "http-version", "protocols"},
    {CONF_SECTION_LISTEN, "redirect", "redirect-to-https"},
    {CONF_SECTION_LISTEN, "strict-transport-security", "hsts"},
    {CONF_SECTION_LISTEN, "client-header-timeout", "header-timeout"},
    {CONF_SECTION_ORIGIN, "maxconn", "max-http1-connections"},
    {CONF_SECTION_PUSH, "verdict", "action"},
    {CONF_SECTION_PUSH, "resource", "promised-path"},
    {CONF_SECTION_PUSH, "mime-type", "content-type"},
    {CONF_SECTION_PUSH, "priority", "urgency"},
    {CONF_SECTION_PUSH, "protocol", "version"},
    {CONF_SECTION_PUSH, "http-version", "version"},
    {CONF_SECTION_PRELOAD, "push", "add"},
    {CONF_SECTION_PRELOAD, "http2-push", "add"},
    {CONF_SECTION_PRELOAD, "http2-push-preload", "link"},
};

static const struct {
	const char *theirs;
	enum conf_kind ours;
} section_aliases[] = {
    {"global", CONF_SECTION_SERVER},
    {"main", CONF_SECTION_SERVER},
    {"pushgate", CONF_SECTION_SERVER},
    {"frontend", CONF_SECTION_LISTEN},
    {"listener", CONF_SECTION_LISTEN},
    {"backend", CONF_SECTION_ORIGIN},
    {"upstream", CONF_SECTION_ORIGIN},
    {"location", CONF_SECTION_ROUTE},
    {"host", CONF_SECTION_ROUTE},
    {"defaults", CONF_SECTION_ROUTES},
    {"common", CONF_SECTION_ROUTES},
    {"rule", CONF_SECTION_PUSH},
    {"policy", CONF_SECTION_PUSH},
};

/* The word in lower case, with '-' for '_', cut to the buffer. */
static struct slice folded(struct slice word, char *buffer, size_t size)
{
	word = slice_sub(word, 0, size);
	ascii_lower_copy(buffer, word);
	for (size_t i = 0; i < word.len; i++)
		if (buffer[i] == '_')
			buffer[i] = '-';
	return slice_of(buffer, word.len);
}

/* ---- options ---- */

/* The option that the folded word names or resembles; NULL: none does. */
static const struct conf_option *nearest_option(enum conf_kind section, struct slice word)
{
	const struct conf_option *best = NULL;
	section = conf_kind_of_rows(section);
	unsigned distance = conf_guess_distance(word) + 1;

	for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
		if (aliases[i].section == section &&
		    slice_equal(word, slice_of_string(aliases[i].theirs)))
			return conf_find_option(section, slice_of_string(aliases[i].ours));
	for (size_t i = 0; i < conf_option_count; i++) {
		const struct conf_option *o = &conf_options[i];
		if (o->section != section)
			continue;
		unsigned d = slice_distance(word, slice_of_string(o->key), distance);
		if (d < distance) {
			distance = d;
			best = o;
		}
	}
	return best;
}

/* The section needs not be told that it lacks what this line has meant. */
static void note_meant(struct conf_loader *l, const struct conf_option *near)
{
	if (near &&
	    (near->is_required || (near->section == CONF_SECTION_ROUTE && conf_is_deed(near))))
		l->current->has_misspelt = true;
}

static bool is_ascii(struct slice text)
{
	for (size_t i = 0; i < text.len; i++)
		if ((unsigned char)text.ptr[i] >= 0x80)
			return false;
	return true;
}

/* The section that has an option of this name; NULL: none has. */
static const struct conf_section_type *home_of(struct slice key)
{
	for (size_t i = 0; i < conf_option_count; i++)
		if (slice_equal(key, slice_of_string(conf_options[i].key)))
			return &conf_section_types[conf_options[i].section];
	return NULL;
}

static struct slice first_word(struct slice line)
{
	size_t end = 0;

	while (end < line.len && line.ptr[end] != ' ' && line.ptr[end] != '\t')
		end++;
	return slice_sub(line, 0, end);
}

/* "418", "5xx", "50x": reports a status that has no option in [errors], and returns true. */
static bool is_other_status(struct conf_loader *l, struct slice key)
{
	char known[160] = "";
	size_t used = 0;
	const char *mark = "";

	if (l->current->kind != CONF_SECTION_ERRORS || key.len != 3 ||
	    !ascii_is(key.ptr[0], ASCII_DIGIT))
		return false;
	if (!ascii_is(key.ptr[1], ASCII_DIGIT) || !ascii_is(key.ptr[2], ASCII_DIGIT)) {
		conf_mistake_here(l, "'%.*s' is not one status; write a line for each, or default",
		    SLICE_ARG(key));
		return true;
	}
	for (size_t i = 0; i < conf_option_count && used < sizeof known; i++) {
		const struct conf_option *o = &conf_options[i];
		if (o->section != CONF_SECTION_ERRORS || !ascii_is(o->key[0], ASCII_DIGIT))
			continue;
		used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", mark, o->key);
		mark = ", ";
	}
	conf_mistake_here(l,
	    "pushgate never answers %.*s by itself; write one of %s, or remove the line",
	    SLICE_ARG(key), known);
	return true;
}

void conf_unknown_option(struct conf_loader *l, struct slice key)
{
	if (is_other_status(l, key))
		return;
	char buffer[GUESS_NAME_BYTES];
	enum conf_kind kind = l->current->kind;
	const char *word = conf_section_types[kind].word;
	const struct conf_section_type *home = home_of(key);
	/* "proxy_pass http://127.0.0.1:80;" is split at its colon: no option has two words. */
	const struct conf_option *near =
	    nearest_option(kind, folded(first_word(key), buffer, sizeof buffer));

	note_meant(l, near);
	if (!is_ascii(key))
		conf_mistake_here(l,
		    "[%s] has no option '%.*s': the name has a character that is not ASCII, such "
		    "as a no-break space; type it again",
		    word, SLICE_ARG(key));
	else if (home)
		conf_mistake_here(l, "[%s] has no option '%.*s'; it belongs to [%s%s]%s%s%s", word,
		    SLICE_ARG(key), home->word, home->is_named ? " NAME" : "",
		    near ? ", or did you mean '" : "", near ? near->key : "", near ? "'?" : "");
	else if (near)
		conf_mistake_here(l, "[%s] has no option '%.*s'; did you mean '%s'?", word,
		    SLICE_ARG(key), near->key);
	else
		conf_mistake_here(l, "[%s] has no option '%.*s'; see pushgate help-config %s", word,
		    SLICE_ARG(key), word);
}

void conf_not_an_option(struct conf_loader *l, struct slice line)
{
	char buffer[GUESS_NAME_BYTES];
	struct slice word = first_word(line), rest = slice_trim(slice_from(line, word.len));
	const struct conf_option *near = NULL;
	const char *lack = slice_find(line, '=') < line.len
			       ? "there is no '=' behind the first word"
			       : "the line has no '='";

	if (l->current && rest.len > 0)
		near = nearest_option(l->current->kind, folded(word, buffer, sizeof buffer));
	note_meant(l, near);
	if (slice_starts_with(line, SLICE("//")) || slice_starts_with(line, SLICE("--")) ||
	    slice_starts_with(line, SLICE("/*")))
		conf_mistake_here(l, "the line is not a section, option or comment; begin a "
				     "comment with ';' or '#'");
	else if (home_of(word) && rest.len > 0)
		conf_mistake_here(l, "%s; write %.*s = %.*s", lack, SLICE_ARG(word),
		    SLICE_ARG(slice_sub(conf_hide_user(l, rest), 0, 80)));
	else if (near)
		conf_mistake_here(
		    l, "%s; did you mean '%s'? Write %s = VALUE", lack, near->key, near->key);
	else
		conf_mistake_here(
		    l, "the line is not a section, option or comment; write key = value");
}

/* ---- sections ---- */

/* The kind that the header's word resembles; "listen.front" and "Listen:front" too. -1: none. */
static int nearest_section(struct slice word)
{
	char buffer[GUESS_NAME_BYTES];
	size_t end = 0;

	while (end < word.len && ascii_is(word.ptr[end], ASCII_ALNUM))
		end++;
	struct slice name = folded(slice_sub(word, 0, end), buffer, sizeof buffer);
	for (size_t i = 0; i < sizeof section_aliases / sizeof *section_aliases; i++)
		if (slice_equal(name, slice_of_string(section_aliases[i].theirs)))
			return (int)section_aliases[i].ours;
	for (int kind = 0; kind < CONF_SECTION_COUNT; kind++)
		if (slice_distance(name, slice_of_string(conf_section_types[kind].word), 2) <= 2)
			return kind;
	return -1;
}

/* Whether the word is an option, or resembles one of the section. */
static bool is_like_option(const struct conf_loader *l, struct slice word)
{
	char buffer[GUESS_NAME_BYTES];

	return home_of(word) || (l->current && nearest_option(l->current->kind,
						   folded(word, buffer, sizeof buffer)));
}

bool conf_lacks_equals(const struct conf_loader *l, struct slice line, struct slice key)
{
	struct slice word = first_word(key);

	if (word.len == key.len)
		return false;
	/* "max streams = 5" has its '='. */
	return slice_find(line, ':') < slice_find(line, '=') || home_of(word) ||
	       (slice_find(line, '=') == line.len && is_like_option(l, word));
}

bool conf_is_like_section(struct slice word)
{
	return nearest_section(word) >= 0;
}

void conf_unknown_section(struct conf_loader *l, struct slice word)
{
	int near = nearest_section(word);

	if (near >= 0) {
		l->misspelt_kinds |= 1u << near;
		const struct conf_section_type *type = &conf_section_types[near];
		conf_mistake_here(l, "unknown section [%.*s]; did you mean [%s%s]?",
		    SLICE_ARG(word), type->word, type->is_named ? " NAME" : "");
		return;
	}
	char known[160] = "";
	size_t used = 0;
	const int last = CONF_SECTION_COUNT - 1;
	for (int kind = 0; kind <= last; kind++) {
		const struct conf_section_type *type = &conf_section_types[kind];
		used += (size_t)snprintf(known + used, sizeof known - used, "%s[%s%s]",
		    kind == 0      ? ""
		    : kind == last ? " or "
				   : ", ",
		    type->word, type->is_named ? " NAME" : "");
	}
	conf_mistake_here(l, "unknown section [%.*s]; write %s", SLICE_ARG(word), known);
}

const char *conf_guess_section(const struct conf_loader *l, enum conf_kind kind, const char *name)
{
	char a[GUESS_NAME_BYTES], b[GUESS_NAME_BYTES];
	struct slice word = folded(slice_of_string(name), a, sizeof a);
	unsigned distance = conf_guess_distance(word) + 1;
	const char *best = NULL;

	for (const struct conf_section *s = l->first; s; s = s->next) {
		if (s->kind != kind)
			continue;
		unsigned d =
		    slice_distance(word, folded(slice_of_string(s->name), b, sizeof b), distance);
		if (d < distance) {
			distance = d;
			best = s->name;
		}
	}
	return best;
}

/* ---- files ---- */

/* Equal but for the ending: "app.crt" and "app.pem". */
static bool is_kin(struct slice a, struct slice b)
{
	size_t dot = slice_find(a, '.');

	return dot > 1 && dot < a.len && dot == slice_find(b, '.') &&
	       slice_equal(slice_sub(a, 0, dot), slice_sub(b, 0, dot));
}

/* Copies the name in the folder that resembles `name` to `best`. False: there is none. */
static bool nearest_file(DIR *folder, struct slice name, char best[GUESS_NAME_BYTES + 1])
{
	unsigned distance = conf_guess_distance(name) + 2;
	const struct dirent *entry = NULL;

	best[0] = '\0';
	for (int i = 0; i < GUESS_FILES && (entry = readdir(folder)); i++) {
		struct slice other = slice_of_string(entry->d_name);
		if (other.ptr[0] == '.' || other.len > GUESS_NAME_BYTES)
			continue;
		unsigned d = slice_distance(name, other, distance);
		/* One of the same stem is worth as much as one with the most edits. */
		if (d > conf_guess_distance(name))
			d = is_kin(name, other) ? conf_guess_distance(name) + 1 : distance;
		if (d >= distance)
			continue;
		distance = d;
		memcpy(best, entry->d_name, other.len + 1);
	}
	return best[0] != '\0';
}

/* The folder that the path's file is in, with its '/' at the end. */
static const char *folder_of(struct conf_loader *l, const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? conf_copy(l, slice_of(path, (size_t)(slash - path) + 1)) : "./";
}

const char *conf_guess_file(struct conf_loader *l, const char *path)
{
	char near[GUESS_NAME_BYTES + 1];
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	DIR *d = opendir(folder_of(l, path));
	bool is_found = d && nearest_file(d, slice_of_string(name), near);

	if (d)
		closedir(d);
	if (!is_found)
		return NULL;
	return arena_printf(&l->conf->arena, "%.*s%s", (int)(name - path), path, near).ptr;
}

bool conf_no_file(struct conf_loader *l, const char *what, const char *path, const char *right)
{
	int error = errno;
	const char *folder = folder_of(l, path);
	const char *near = error == ENOENT ? conf_guess_file(l, path) : NULL;

	if (near)
		conf_mistake_here(l, "the %s file '%s' cannot be read: %s; did you mean '%s'?",
		    what, path, strerror(error), near);
	else if (error == ENOENT && access(folder, F_OK) != 0)
		conf_mistake_here(l,
		    "the %s file '%s' cannot be read: there is no folder '%s'; correct the path",
		    what, path, folder);
	else
		conf_mistake_here(l, "the %s file '%s' cannot be read: %s; %s", what, path,
		    strerror(error), right);
	return false;
}
