/* SPDX-License-Identifier: MIT */
/* Private to conf/: the state of one load, and its steps. */
#ifndef PUSHGATE_CONF_LOAD_H
#define PUSHGATE_CONF_LOAD_H

#include "proxy/conf/option.h"
#include <sys/types.h>

/* A file that an option names, and the option's line. */
struct conf_file_ref {
	const char *path;
	uint32_t line;
};

/* An option as it stands in a file. */
struct conf_option_place {
	const char *key;
	const char *value; /* without secrets (written.c) */
	const char *file;
	uint32_t line;
	bool is_preset; /* its value is the default */
};

/*
 * A line of [routes], with its value, or (`emptied`) a line of a [route NAME] such as `upgrade =`: the route has no
 * value, and takes no default.
 */
struct conf_default {
	struct conf_section *emptied;
	const struct conf_option *option;
	struct slice value;
	struct conf_place at;
};

struct conf_section {
	struct conf_section *next;
	enum conf_kind kind;
	const char *name; /* "" for [server] */
	const char *file;
	uint32_t line;
	void *object; /* of the kind's type; validate.c moves it into the snapshot's array */
	struct conf_option_place *options; /* in the order of the file */
	size_t option_count;
	/* Used by validate.c and certificates.c only. */
	struct conf_file_ref *chains, *keys, *folders;
	struct net_tls
	    *tls; /* of a [listen NAME] whose certificates are good; conf_finish frees it */
	size_t chain_count, key_count, folder_count;
	bool has_misspelt; /* a line has probably meant the option that the section must have */
	bool is_broken;    /* one of its options was wrong: do not report what follows from that */
};

/* A file that was read; detects include cycles. */
struct conf_seen {
	struct conf_seen *next;
	dev_t device;
	ino_t inode;
	const char *file; /* file and line that include it */
	uint32_t line;
};

#define conf_for_each_section(l, s, wanted)                                                        \
	for (struct conf_section *s = (l)->first; s; s = s->next)                                  \
		if (s->kind == (wanted))

/* The first item of an array for which the condition holds, or NULL. `item` points to the item. */
#define conf_first(item, items, count, condition)                                                  \
	({                                                                                         \
		__typeof__(*(items)) *item = (items);                                              \
		size_t item##_at = 0;                                                              \
		for (; item##_at < (count) && !(condition); item##_at++)                           \
			item++;                                                                    \
		item##_at < (count) ? item : NULL;                                                 \
	})
#define conf_any(item, items, count, condition) (conf_first(item, items, count, condition) != NULL)
/* The same with the sections of a kind. */
#define conf_first_section(l, s, wanted, condition)                                                \
	({                                                                                         \
		struct conf_section *s = (l)->first;                                               \
		while (s && !(s->kind == (wanted) && (condition)))                                 \
			s = s->next;                                                               \
		s;                                                                                 \
	})

struct conf_loader {
	struct conf *conf;
	struct conf_findings *findings;
	size_t mistakes; /* of this load */
	bool opens_files, follows_includes;
	const char *folder; /* the working folder; NULL: relative paths stay as they are */
	bool is_foreign;    /* a file is another program's: say nothing about the rest */
	/* Of the line that is being read, or whose value is being stored. */
	const struct conf_option *option;
	struct conf_section *first, *last;
	struct conf_section *current; /* NULL before the first section and in an unknown section */
	bool is_in_section;           /* this file has had a section header */
	bool is_silent;               /* writes no warnings */
	const char *file;             /* the file that is being read */
	uint32_t line;
	uint32_t depth;
	struct conf_seen *seen;
	uint32_t misspelt_kinds; /* bits: headers that have probably meant these sections */
	/* route_defaults.c: lines of [routes], and lines of routes that take one of them away. */
	struct conf_default *defaults;
	size_t default_count;
	/* The origin whose servers are being read, and those, until it has them in the arena: an array that
	 * grew there would leave more bytes behind than it has. */
	struct conf_origin *origin;
	struct conf_origin_server *servers; /* owned */
	size_t server_room;
};

/* A header has probably meant a section of this kind: what is missing may be that. */
static inline bool conf_has_misspelt(const struct conf_loader *l, enum conf_kind kind)
{
	return (l->misspelt_kinds >> kind & 1) != 0;
}

/*
 * Add a finding to the others. conf_mistake also counts the mistake of this load, and returns false.
 */
bool conf_mistake(struct conf_loader *l, const char *file, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void conf_warning(struct conf_loader *l, const char *file, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A mistake in the line that is being read. */
#define conf_mistake_here(l, ...) conf_mistake(l, (l)->file, (l)->line, __VA_ARGS__)

/* printf("%.*s", …): as much of a value as a message shows. */
#define CONF_SHOWN(value) SLICE_ARG(slice_sub((value), 0, 80))

/* Puts a file that was read into a digest. */
void conf_digest(uint64_t *digest, const char *path, struct slice bytes);
/* The file is about to be read. path: lives as long as the configuration. */
void conf_note_named_file(struct conf_loader *l, const char *path);

/* NUL-terminated copy in the snapshot's arena. */
char *conf_copy(struct conf_loader *l, struct slice s);
struct slice conf_copy_slice(struct conf_loader *l, struct slice s);
/* written.c: a copy of the option's value as a reader may see it. */
const char *conf_shown_value(
    struct conf_loader *l, const struct conf_option *o, struct slice value);
/*
 * The path to open: a relative one starts at the folder of the file that is being read, and the
 * result does not depend on the working folder any more. Symbolic links are not followed here.
 */
const char *conf_path(struct conf_loader *l, struct slice s);
/* The same path for messages: as short as the paths that the operator has written. */
const char *conf_written_path(struct conf_loader *l, struct slice s);
/* Makes room for one more item after `count` items. Returns the array, which may have moved. */
void *conf_grow(struct conf_loader *l, void *items, size_t count, size_t item_bytes);
/* Puts an item behind the others of an array; `count` is the number of them. */
#define conf_append(l, items, count, ...)                                                          \
	do {                                                                                       \
		(items) = conf_grow(l, items, count, sizeof *(items));                             \
		(items)[(count)++] = (__VA_ARGS__);                                                \
	} while (0)

/* Without spaces of any kind at both ends. */
struct slice conf_trim(struct slice s);
static inline bool conf_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* source.c: reads the lines of a file and passes them to apply.c. */
void conf_read_file(struct conf_loader *l, const char *path);
void conf_read_text(struct conf_loader *l, const char *name, struct slice text);

/* server_lines.c: moves the servers that were read last to their origin. */
void conf_finish_servers(struct conf_loader *l);

/* value_store.c: adds one pattern to struct policy_patterns. False: a mistake has been reported. */
conf_setter conf_add_pattern;
/*
 * Reports "bad value '…' for KEY: WRONG; RIGHT" with a value that l->option accepts: the one that was
 * probably meant, else the option's example. wrong NULL: nothing to say about it; right NULL: what the
 * option's row or type says. Returns false.
 */
bool conf_bad_value(
    struct conf_loader *l, struct slice value, const char *wrong, const char *right);

/* The next word of a list. False at the end, and after a quotation that is not closed, which it reports. */
bool conf_next_word(struct conf_loader *l, struct slice *rest, struct slice *word, bool *is_good);

/* value_store.c: what no value may have: a comment behind it, quotes around it, a variable. value: not empty. */
bool conf_check_raw(struct conf_loader *l, const struct conf_option *o, struct slice value);

/* unknown.c: reports unknown names, with the known one that was probably meant. */
void conf_unknown_option(struct conf_loader *l, struct slice key);
void conf_unknown_section(struct conf_loader *l, struct slice word);
struct slice conf_first_word(struct slice line); /* up to the first space */
bool conf_begins_with_option(
    struct slice line); /* its first word is an option, with '=' behind it */
/* The key has several words: the first one is the option, and '=' is missing behind it. */
bool conf_lacks_equals(const struct conf_loader *l, struct slice line, struct slice key);
/* The line is no option; names the one that was probably meant. */
void conf_not_an_option(struct conf_loader *l, struct slice line);
/*
 * Reports that the section, by the option that is called like this kind, names one that is not there; with one that
 * resembles the name. Says nothing if a header has probably meant it.
 */
void conf_no_section(
    struct conf_loader *l, const struct conf_section *s, enum conf_kind kind, const char *name);
/* files.c: the path of a file with a similar name in the same folder, or NULL. */
const char *conf_suggest_file(struct conf_loader *l, const char *path);
/*
 * Reports that a file cannot be read, and why (errno). The message names a file of the same folder with a
 * similar name, or the folder if that is missing; otherwise it ends with `right`. Returns false.
 */
bool conf_no_file(struct conf_loader *l, const char *what, const char *path, const char *right);

/* foreign.c: reports a file that is no configuration of pushgate, and returns true. */
bool conf_is_foreign(struct conf_loader *l, struct slice text);

/* A certificate and its key, which are checked as lines of this section. Of a bundle both are the same file. */
struct conf_pair {
	const struct conf_section *section;
	const struct conf_file_ref *chain, *key;
};
/* certificate_folder.c: puts the certificates of a folder behind the others. False: a mistake has been reported. */
bool conf_find_certificates(struct conf_loader *l, const struct conf_file_ref *folder,
    const struct conf_section *s, struct conf_pair **pairs, size_t *count);
/* Puts them into the set of sealed files, as one that has the folder's path. */
/* certificates.c: the load and the workers read the file from the sealed set, and it is watched. */
void conf_seal_file(struct conf_loader *l, const char *path);
void conf_seal_certificates(
    struct conf_loader *l, const char *folder, const struct conf_pair *pairs, size_t count);
/* certificates.c: a listener is to have a certificate, by whichever option, and with a mistake too. */
bool conf_is_over_tls(const struct conf_section *s);
/* Pairs certificates with keys and checks them. */
void conf_check_certificates(struct conf_loader *l, struct conf_section *s);
/* Keeps the system's authorities for workers that verify an origin by them. */
void conf_read_system_authorities(struct conf_loader *l);
/* "2026-11-28", of seconds since the Unix epoch. */
const char *conf_date_of(int64_t seconds, char text[16]);
/* Reports a client-certificate that cannot be used. False: it has. */
bool conf_check_own_certificate(struct conf_loader *l, const struct net_certificate *own);
/* Reports a file of this option without usable authorities. False: it has. */
bool conf_check_authorities(struct conf_loader *l, const char *key, const char *path);
/* acme.c: a listener with acme gets a certificate, as if an option had named it; before conf_check_certificates. */
void conf_check_acme(struct conf_loader *l, struct conf_section *s);

/* client_auth.c: checks the lines client-ca of a listener, after its certificates. */
void conf_check_client_auth(struct conf_loader *l, struct conf_section *s);
/* Warns of conditions with cert where no client shows a certificate. */
void conf_check_cert_conditions(struct conf_loader *l);

/* forward_mode.c: adds the sections that forward mode needs and the file does not have; before conf_finish. */
void conf_add_forward_sections(struct conf_loader *l);
/* Checks a listener with mode = forward, or an origin with server = forward:. */
void conf_check_forward(struct conf_loader *l, const struct conf_section *s);
bool conf_has_forward_listener(const struct conf_loader *l);
/* Whether its origin, as named, is forward:. */
bool conf_is_forward_route(const struct conf_loader *l, const struct conf_route *route);

/* route_defaults.c: [routes]. Notes one of its lines, which has no mistake; or (`emptied`) a line of a route that has
 * no value, so that the default is not taken. */
void conf_note_default(struct conf_loader *l, struct conf_section *emptied,
    const struct conf_option *o, struct slice value);
/* The options that say what a route does. */
#define CONF_ROUTE_ACTIONS "origin redirect answer files"
bool conf_is_route_action(const struct conf_option *o);
/* Gives each route the defaults that it takes. */
void conf_apply_route_defaults(struct conf_loader *l);
/* Whether [routes] has one of the options (separated by spaces), with or without a mistake. */
bool conf_has_default(const struct conf_loader *l, const char *keys);
/* Warns of defaults that no route uses. */
void conf_check_unused_defaults(struct conf_loader *l, const struct conf_section *s);

/* lookup.c: whether the address of this server is the address of this listener, as far as the configuration tells. */
bool conf_is_listener(const struct conf_listen *listen, const struct conf_origin_server *s);
/* folder.c: reads the folder of a route with `files`. */
void conf_read_folder(struct conf_loader *l, const struct conf_section *s);
void conf_check_own_servers(struct conf_loader *l, const struct conf_section *s);

/* routes.c: checks [routes]; checks a [route NAME], and finds its origins. */
void conf_check_routes(struct conf_loader *l, struct conf_section *s);
void conf_check_route(struct conf_loader *l, struct conf_section *s);
/* Whether its list has this host or prefix. One that names none has "*", or "/". */
bool conf_route_has_host(const struct conf_route *r, struct slice host);
bool conf_route_has_path(const struct conf_route *r, struct slice path);

/* access_rules.c: finds the [access NAME] of a listener; checks one. */
void conf_find_access(struct conf_loader *l, const struct conf_section *s);
void conf_check_access(struct conf_loader *l, const struct conf_section *s);

/* unused_options.c: warns of options that change nothing because of others. */
void conf_check_unused_options(struct conf_loader *l, const struct conf_section *s);
/* Why an option of this object changes nothing, or NULL. */
const char *conf_why_unused(
    const struct conf *c, enum conf_kind kind, const char *key, const void *object);
/* The same for any configuration: the next thing, from *at on (0 at first), that may take the option's effect away. */
const char *conf_next_why_unused(enum conf_kind kind, const char *key, size_t *at);
bool conf_has_users(const struct conf *c);
#define CONF_NO_PROMISES "no origin promises: each has push = refuse or speaks HTTP/1.1 alone"
bool conf_all_refuse(const struct conf *c);
bool conf_no_origin_promises(const struct conf *c);
/* no_effect.c: warns of sections and options that change nothing. For configurations without mistakes. */
void conf_check_effects(struct conf_loader *l);

/* value_store.c: sets one value, which l->file and l->line have. False: a mistake has been reported. */
bool conf_set_option(
    struct conf_loader *l, const struct conf_option *o, void *object, struct slice value);
/* apply.c: applies a section header, an option, the defaults. */
void conf_begin_section(struct conf_loader *l, struct slice header);
void conf_apply(struct conf_loader *l, struct slice key, struct slice value);
/* Reports that the option has no value. Returns false. */
bool conf_no_value(struct conf_loader *l, const struct conf_option *o);
void conf_apply_presets(struct conf_loader *l, enum conf_kind kind, void *object);
/* sections.c: "[route NAME]"; a section by its name, or NULL. */
const char *conf_section_title(struct conf_loader *l, const struct conf_section *s);
const struct conf_section *conf_find_section(
    const struct conf_loader *l, enum conf_kind kind, struct slice name);
/* An origin with server = forward:, of this name or (NULL) of any. */
const struct conf_section *conf_find_forward_origin(const struct conf_loader *l, const char *name);
/* Where the nth option of this key stands; NULL: there are not so many. */
const struct conf_option_place *conf_nth_option(
    const struct conf_section *s, const char *key, size_t nth);
/* The line of the first of the options (separated by spaces) that the section has; 0 = it has none. */
uint32_t conf_option_line(const struct conf_section *s, const char *keys);
/* The same; without such an option that of the section. */
uint32_t conf_line_of(const struct conf_section *s, const char *keys);
/* The line of an option; 0 if it is not given, or only repeats its default. */
uint32_t conf_changed_line(const struct conf_section *s, const char *key);

/*
 * validate.c: checks what involves more than one line; moves the objects into the snapshot's
 * arrays.
 */
void conf_finish(struct conf_loader *l);

#endif
