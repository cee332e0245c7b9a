/* SPDX-License-Identifier: MIT */
/*
 * Private to conf/: the option table. Parser, validation, help and manual know an option only by
 * its row.
 */
#ifndef PUSHGATE_CONF_OPTION_H
#define PUSHGATE_CONF_OPTION_H

#include "proxy/conf/conf.h"

struct conf_loader;

enum conf_kind {
	CONF_SECTION_SERVER,
	CONF_SECTION_LISTEN,
	CONF_SECTION_ACCESS,
	CONF_SECTION_ORIGIN,
	CONF_SECTION_ROUTE,
	CONF_SECTION_ROUTES, /* has the options of CONF_SECTION_ROUTE */
	CONF_SECTION_PUSH,
	CONF_SECTION_PRELOAD,
	CONF_SECTION_ERRORS,
	CONF_SECTION_COUNT,
};

enum conf_type {
	CONF_TYPE_NUMBER, /* uint32_t */
	CONF_TYPE_SIZE,   /* uint64_t, bytes */
	CONF_TYPE_WINDOW, /* uint32_t, bytes */
	CONF_TYPE_TIME,   /* usec */
	CONF_TYPE_RATE,   /* struct rate */
	CONF_TYPE_SWITCH, /* bool: of two choices the second is true */
	CONF_TYPE_CHOICE, /* an enum: the position among choices */
	CONF_TYPE_BITS,   /* uint32_t: a list of choices; bit `min` is the first choice */
	CONF_TYPE_TEXT,   /* const char * */
	CONF_TYPE_FILE,   /* const char *, relative to the file that names it */
	CONF_TYPE_SHARE,  /* uint32_t, of 10000: "0.5%" */
	CONF_TYPE_LIST,   /* struct slice * and a size_t count */
	CONF_TYPE_LIST_FILE, /* the same; the members are lines of a file, whose option is "WHAT-file" */
	CONF_TYPE_CIDRS,    /* struct cidr * and a size_t count; `choices`: family 0 */
	CONF_TYPE_PATTERNS, /* struct policy_patterns; `min` 1: ignores case */
	/* const char ** and a size_t count, each relative to the file that names it */
	CONF_TYPE_FILES,
	CONF_TYPE_FIELDS, /* struct conf_fields; `min` is the change */
	CONF_TYPE_OTHER,  /* read() or set() stores the value */
};

/* Takes the value of an option into the member that its row names; without one, into the object of its section. */
typedef bool conf_setter(struct conf_loader *l, void *at, struct slice value);
typedef const char *conf_member_check(struct slice member);
typedef bool conf_suggester(struct slice value, char *text, size_t size);

/* Parts of a value that may be a secret: no page shows them, and no message a user. */
enum conf_secret {
	CONF_SECRET_USER = 1,  /* and its password, before the "@" of a URL */
	CONF_SECRET_FIELD = 2, /* the value of a field, behind its name */
	CONF_SECRET_QUERY = 4, /* of a path or a URL */
};

struct conf_option {
	enum conf_kind section;
	enum conf_type type;
	const char *key;
	const char *form;   /* syntax of the value, for the help; NULL = derived from the type */
	const char *preset; /* the default, as text; NULL = none */
	/*
	 * A value for messages (conf_option_example), and for the commented configuration if there is
	 * no default.
	 */
	const char *example;
	uint64_t min, max;
	const char *choices; /* separated by spaces */
	bool is_required, repeats;
	bool has_words;   /* for CONF_TYPE_OTHER: words may stand in double quotes */
	unsigned secrets; /* bits of enum conf_secret */
	size_t offset, count_offset;
	/* For numbers, texts and files: NULL, or the word that stands for none, which is 0 or NULL. */
	const char *none;
	/* Stores the value of CONF_TYPE_OTHER. False: it is bad. */
	conf_setter *read;
	/* Like read, with each word of the value, up to the first bad one, which it reports itself. */
	conf_setter *add;
	/* Like read, or a check of what was stored. False: a mistake has been reported. */
	conf_setter *set;
	/* What to write in place of a bad value; NULL: as its type or its form says. */
	const char *right;
	/* For texts and lists: NULL, or what to write in place of a wrong text or member. */
	conf_member_check *check;
	/* Suggests what a bad value, or a bad member, probably meant (setters.h); NULL: as its type says. */
	conf_suggester *suggest;
	/*
	 * For the operator; says what 0 means where it is allowed. May have several lines, such as
	 * one for each choice; they are shown as one.
	 */
	const char *sentence;
};

extern const struct conf_option conf_options[];
extern const size_t conf_option_count;

struct conf_section_type {
	const char *word; /* "listen" */
	bool is_named, is_optional;
	const char *example; /* a name */
	size_t object_bytes; /* 0: the object is struct conf itself */
	const char *sentence;
};
extern const struct conf_section_type conf_section_types[CONF_SECTION_COUNT];

/* The syntax of an option's value, from its row or its type. */
const char *conf_option_form(const struct conf_option *o, char *buffer, size_t size);
/* What to write in place of a bad value, from its row or its type. */
const char *conf_option_right(const struct conf_option *o, char *buffer, size_t size);
/* A value that the option accepts, for messages; every option has one. */
const char *conf_option_example(const struct conf_option *o, char *buffer, size_t size);
/* The choices, separated by joint; last_joint separates the last two. */
const char *conf_option_choices(const struct conf_option *o, const char *joint,
    const char *last_joint, char *buffer, size_t size);
const struct conf_option *conf_find_option(enum conf_kind section, struct slice key);
/* The kind whose rows of conf_options are the options of this kind. */
static inline enum conf_kind conf_kind_of_rows(enum conf_kind kind)
{
	return kind == CONF_SECTION_ROUTES ? CONF_SECTION_ROUTE : kind;
}
/* A loop over the rows of a kind. */
#define conf_for_each_option(o, kind)                                                              \
	for (const struct conf_option *o = conf_options; o < conf_options + conf_option_count;     \
	     o++)                                                                                  \
		if (o->section == (kind))

#endif
