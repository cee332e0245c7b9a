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
	struct conf_option_place *next;
	const char *key;
	struct conf_place at;
};

struct conf_section {
	struct conf_section *next;
	enum conf_kind kind;
	const char *name; /* "" for [server] */
	const char *file;
	uint32_t line;
	void *object;    /* of the kind's type; validate.c moves it into the snapshot's array */
	uint32_t *lines; /* for each row of conf_options: the option's line, 0 = not given */
	struct conf_option_place *first_option, *last_option; /* in the order of the file */
	/* Used by validate.c only. */
	struct conf_file_ref *chains, *keys;
	size_t chain_count, key_count;
	const char *origin_name;
	bool is_broken; /* one of its options was wrong: do not report what follows from that */
};

/* A file that was read; detects include cycles. */
struct conf_seen {
	struct conf_seen *next;
	dev_t device;
	ino_t inode;
	const char *file; /* file and line that include it */
	uint32_t line;
};

struct conf_loader {
	struct conf *conf;
	FILE *errors;
	bool resolve, follows_includes;
	bool accepts_unavailable; /* accept options that this version lacks */
	const char *folder;       /* the working folder; NULL: relative paths stay as they are */
	struct conf_counts counts;
	struct conf_section *first, *last;
	struct conf_section *current; /* NULL before the first section and in an unknown section */
	bool is_in_section;           /* this file has had a section header */
	const char *file;             /* the file that is being read */
	uint32_t line;
	uint32_t depth;
	struct conf_seen *seen;
};

/*
 * Print "file:line: text\n", with '?' for control characters. conf_mistake also counts the mistake.
 */
void conf_mistake(struct conf_loader *l, const char *file, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void conf_warning(struct conf_loader *l, const char *file, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A mistake in the line that is being read. */
#define conf_mistake_here(l, ...) conf_mistake(l, (l)->file, (l)->line, __VA_ARGS__)

/* NUL-terminated copy in the snapshot's arena. */
char *conf_copy(struct conf_loader *l, struct slice s);
/*
 * The path to open: a relative one starts at the folder of the file that is being read, and the
 * result does not depend on the working folder any more. Symbolic links are not followed here.
 */
char *conf_path(struct conf_loader *l, struct slice s);
/* The same path for messages: as short as the paths that the operator has written. */
char *conf_written_path(struct conf_loader *l, struct slice s);
/* Makes room for one more item after `count` items. Returns the array, which may have moved. */
void *conf_grow(struct conf_loader *l, void *items, size_t count, size_t item_bytes);

/* source.c: reads the lines of a file and passes them to apply.c. */
void conf_read_file(struct conf_loader *l, const char *path);
void conf_read_text(struct conf_loader *l, const char *name, struct slice text);

/* value_store.c: stores a value in an object. False: a mistake has been reported. */
bool conf_store_value(
    struct conf_loader *l, const struct conf_option *o, char *object, struct slice value);
/* Reports "bad value '…' for KEY; RIGHT". Returns false. */
bool conf_bad_value(
    struct conf_loader *l, const struct conf_option *o, struct slice value, const char *right);

/* apply.c: applies a section header, an option, the defaults. */
void conf_begin_section(struct conf_loader *l, struct slice header);
void conf_apply(struct conf_loader *l, struct slice key, struct slice value);
void conf_apply_presets(struct conf_loader *l, enum conf_kind kind, void *object);
const char *conf_section_title(struct conf_loader *l, const struct conf_section *s);
/* The line of an option in a section; 0 = not given. */
uint32_t conf_option_line(const struct conf_section *s, const char *key);

/*
 * conf.c: conf_load_text that also accepts unavailable options. Tests use it for the whole table.
 */
struct conf *conf_load_everything(struct slice text, const char *name, bool resolve, FILE *errors);

/*
 * validate.c: checks what involves more than one line; moves the objects into the snapshot's
 * arrays.
 */
void conf_finish(struct conf_loader *l);

#endif
