/* SPDX-License-Identifier: MIT */
/* Private to conf/: one load under way, and the steps that it is made of. */
#ifndef PUSHGATE_CONF_LOAD_H
#define PUSHGATE_CONF_LOAD_H

#include "proxy/conf/option.h"
#include <sys/types.h>

/* A file that an option names, and where. */
struct conf_file_ref {
	const char *path;
	uint32_t line;
};

struct conf_section {
	struct conf_section *next;
	enum conf_kind kind;
	const char *name; /* "" for [server] */
	const char *file;
	uint32_t line;
	void *object;    /* of the kind's type; moved into the snapshot's array at the end */
	uint32_t *lines; /* for each row of conf_options: where it was given, 0 = not */
	/* What only the check needs. */
	struct conf_file_ref *chains, *keys;
	size_t chain_count, key_count;
	const char *origin_name;
	bool is_broken; /* an option of it was refused: do not complain of what follows from that */
};

/* A file that was read, for cycles. */
struct conf_seen {
	struct conf_seen *next;
	dev_t device;
	ino_t inode;
	const char *file; /* where it was included */
	uint32_t line;
};

struct conf_loader {
	struct conf *conf;
	FILE *errors;
	bool resolve, follows_includes;
	bool takes_all; /* also what is not available yet */
	size_t mistakes;
	struct conf_section *first, *last;
	struct conf_section *current; /* NULL before the first section and in an unknown one */
	bool is_in_section;           /* some header has been seen in this file */
	const char *file;             /* being read */
	uint32_t line;
	uint32_t depth;
	struct conf_seen *seen;
};

/* "file:line: text\n"; the first counts as a mistake. Bytes that a terminal would obey become '?'.
 * */
void conf_mistake(struct conf_loader *l, const char *file, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void conf_warning(struct conf_loader *l, const char *file, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* At the line that is being read. */
#define conf_mistake_here(l, ...) conf_mistake(l, (l)->file, (l)->line, __VA_ARGS__)

/* NUL-terminated copy in the snapshot's arena. */
char *conf_copy(struct conf_loader *l, struct slice s);
/* The path as it is to be opened: relative ones start at the folder of the file being read. */
char *conf_path(struct conf_loader *l, struct slice s);
/* Room for one more item behind `count` items; returns the array, which may have moved. */
void *conf_grow(struct conf_loader *l, void *items, size_t count, size_t item_bytes);

/* source.c: reads, cuts into lines, feeds apply.c. */
void conf_read_file(struct conf_loader *l, const char *path);
void conf_read_text(struct conf_loader *l, const char *name, struct slice text);

/* put.c: a value into an object. False: a mistake has been reported. */
bool conf_put(struct conf_loader *l, const struct conf_option *o, char *object, struct slice value);
/* "bad value '…' for KEY; RIGHT"; false. */
bool conf_bad_value(
    struct conf_loader *l, const struct conf_option *o, struct slice value, const char *right);

/* apply.c: a section header, an option. */
void conf_begin_section(struct conf_loader *l, struct slice header);
void conf_apply(struct conf_loader *l, struct slice key, struct slice value);
void conf_apply_presets(struct conf_loader *l, enum conf_kind kind, void *object);
const char *conf_section_title(struct conf_loader *l, const struct conf_section *s);
/* Line of an option in a section; 0 = not given. */
uint32_t conf_option_line(const struct conf_section *s, const char *key);

/* conf.c: conf_load_text for what is not available yet too: how the table is tested before its
 * options are used. */
struct conf *conf_load_everything(struct slice text, const char *name, bool resolve, FILE *errors);

/* check.c: what no single line shows; moves the objects into the snapshot's arrays. */
void conf_finish(struct conf_loader *l);

#endif
