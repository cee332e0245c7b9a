/* SPDX-License-Identifier: MIT */
/*
 * Private to conf/: the option table. One row per option is all that the parser, the check, the
 * help and the manual know about it.
 */
#ifndef PUSHGATE_CONF_OPTION_H
#define PUSHGATE_CONF_OPTION_H

#include "proxy/conf/conf.h"

struct conf_loader;

enum conf_kind {
	CONF_SECTION_SERVER,
	CONF_SECTION_LISTEN,
	CONF_SECTION_ORIGIN,
	CONF_SECTION_ROUTE,
	CONF_SECTION_PUSH,
	CONF_SECTION_PRELOAD,
	CONF_SECTION_COUNT,
};

enum conf_type {
	CONF_TYPE_NUMBER,   /* uint32_t */
	CONF_TYPE_SIZE,     /* uint64_t, bytes */
	CONF_TYPE_WINDOW,   /* uint32_t, bytes */
	CONF_TYPE_TIME,     /* usec */
	CONF_TYPE_RATE,     /* struct rate */
	CONF_TYPE_SWITCH,   /* bool: the second of two choices is true */
	CONF_TYPE_CHOICE,   /* an enum: the position in choices */
	CONF_TYPE_BITS,     /* uint32_t: a list of choices, bit `min` is the first */
	CONF_TYPE_TEXT,     /* const char * */
	CONF_TYPE_FILE,     /* const char *, relative to the file that names it */
	CONF_TYPE_LIST,     /* struct slice * and a size_t count */
	CONF_TYPE_CIDRS,    /* struct cidr * and a size_t count */
	CONF_TYPE_PATTERNS, /* struct policy_patterns; `min` 1: without case */
	/* const char ** and a size_t count, each relative to the file that names it */
	CONF_TYPE_FILES,
	CONF_TYPE_FIELDS, /* struct conf_fields; `min` is the change */
	CONF_TYPE_OTHER,  /* whatever set() makes of it */
};

struct conf_option {
	enum conf_kind section;
	enum conf_type type;
	const char *key;
	const char *form;    /* what to write, for the help; NULL = as the type says */
	const char *preset;  /* the default as it would be written; NULL = none */
	const char *example; /* what the commented configuration shows where there is no default */
	uint64_t min, max;
	const char *choices; /* separated by spaces */
	bool is_required, repeats;
	size_t offset, count_offset;
	/* Checks (and, for CONF_TYPE_OTHER, stores). False: a mistake has been reported. */
	bool (*set)(struct conf_loader *l, void *object, struct slice value);
	/* For lists: what is wrong with a member and what would be right, or NULL. */
	const char *(*check)(struct slice member);
	/* For the operator; also says what 0 means where it is allowed. A line that begins "WORD: "
	 * is about that choice. */
	const char *sentence;
};

extern const struct conf_option conf_options[];
extern const size_t conf_option_count;

struct conf_section_type {
	const char *word; /* "listen" */
	bool is_named;
	size_t object_bytes; /* 0: it is the struct conf itself */
	const char *sentence;
};
extern const struct conf_section_type conf_section_types[CONF_SECTION_COUNT];

/*
 * What the option table has and the program does not do yet: a section (key NULL), an option (value
 * NULL), or a word of its value (one that ends in '*' stands for all that begin so). It is refused
 * where it is written, and the help does not show it. To make a thing available is to delete its
 * row.
 */
struct conf_unavailable {
	enum conf_kind section;
	const char *key, *value;
	const char *right; /* NULL: the choices that there are, else "remove it" */
};
extern const struct conf_unavailable conf_unavailable_rows[];
extern const size_t conf_unavailable_count;
/* The row that speaks against it, or NULL. Without a word (the empty slice): against the option as
 * a whole, or the section that it stands in; key NULL: against the section. With one: against this
 * word of the option's value. */
const struct conf_unavailable *conf_find_unavailable(
    enum conf_kind section, const char *key, struct slice word);

/* What may be written, by the type unless the row says it; what is not available is left out. */
const char *conf_option_form(const struct conf_option *o, char *buffer, size_t size);
/* The choices that are available, joined; the last joint may be another. */
const char *conf_option_choices(const struct conf_option *o, const char *joint,
    const char *last_joint, char *buffer, size_t size);
/* The sentence without lines about words that are not available, on one line. */
const char *conf_option_sentence(const struct conf_option *o, char *buffer, size_t size);
/* example.c: a configuration with every option that is available, commented. */
void conf_print_example(FILE *out);
const struct conf_option *conf_find_option(enum conf_kind section, struct slice key);

#endif
