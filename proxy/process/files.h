/* SPDX-License-Identifier: MIT */
/*
 * The files that may change while pushgate runs: manifests, and the hosts file and resolv.conf if a
 * server has a name. They are read, parsed and written by the files process (files_process.c), so that no worker's loop
 * waits for a disk; in single mode, which has no other process, by the only one.
 *
 *     files process ──FILES_CONTENT──→ worker      a manifest or text that has changed, as a sealed memory file
 *     files process ←──FILES_LESSON─── worker      a message to the memory of pages, which the files process owns
 *     files process ──FILES_CHANGES──→ worker      lines of pages that have changed there, as a sealed memory file
 *     files process ──MESSAGE_CONTENT→ master      the same contents, for workers that start later
 *
 * A message names a configured object by its index, never a path: the manifests in the order of the
 * configuration, then the texts (the hosts file, resolv.conf), then the memory of pages. Both ends belong to one
 * configuration; another one gets a files process of its own. Neither end believes the other.
 *
 * Nothing waits here, and neither end has a queue. The files process knows for each worker and object whether the present
 * content is still to be sent, so a slow worker gets the newest alone; of the memory it knows up to which change. A
 * lesson for which the socket has no room is dropped (lessons_lost).
 */
#ifndef PUSHGATE_PROCESS_FILES_H
#define PUSHGATE_PROCESS_FILES_H

#include "proxy/base/sealed.h"
#include "proxy/base/watched_file.h"
#include "proxy/conf/conf.h"
#include "proxy/gateway/gateway.h"
#include "proxy/process/helper_link.h"

enum {
	/* The start waits so long for the first contents. */
	FILES_START_SECONDS = 5,
};

/* Whether the configuration names any such file. */
bool files_are_needed(const struct conf *conf);
/* The number of the memory of pages among the objects: the last one. */
size_t files_memory_object(const struct conf *conf);

/* ---- contents: the last versions, as sealed memory files that every process may map ---- */

struct files_contents {
	size_t count; /* the manifests, the texts, then the memory of pages */
	int *fds;     /* -1: nothing was read */
};

void files_contents_init(struct files_contents *c, const struct conf *conf);
/* Takes fd. Does nothing but close it if there is no such object. */
void files_contents_set(struct files_contents *c, size_t object, int fd);
void files_contents_fini(struct files_contents *c);

/* ---- the files themselves (files.c) ---- */

struct offer_manifest;
struct offer_manifest_file;

/* Files that are handed on as they are. */
enum { FILES_HOSTS, FILES_RESOLV_CONF, FILES_TEXTS };

struct files_text {
	struct watched_file file;
	char *bytes;
	size_t length; /* more than LIMIT_NAMES_FILE_BYTES: the rest of the file was not read */
};

struct files {
	const struct conf *conf; /* borrowed */
	size_t manifest_count;
	struct offer_manifest_file **manifests;
	struct files_text texts[FILES_TEXTS];
};

/* Reads a manifest once. False: it cannot be used; line says so as files_open reports it. */
bool files_try_manifest(const struct conf *conf, size_t at, char *line, size_t size);
/* Begins with the contents that another process has read (NULL: none). The next check reads the files. */
void files_resume(struct files *f, const struct conf *conf, const struct files_contents *contents);
/* The manifest in a memory file (fd -1: none), which another process has made. NULL: it is none. */
struct offer_manifest *files_map_manifest(int fd);
void files_close(struct files *f);
/* The last content of a manifest (flat) or of a text; lent until the next check. */
struct slice files_content(const struct files *f, size_t object);

/* Called for each manifest and text that has changed. line: for the error log; NULL: none. is_changed: there is another
 * content; else the file cannot be used. */
typedef void files_report(void *context, size_t object, bool is_changed, const char *line);
void files_check(struct files *f, files_report *report, void *context);
/* Reads all for the first time. Reports texts, and each manifest that cannot be used: it is empty until it can. */
void files_open(struct files *f, const struct conf *conf, files_report *report, void *context);

/* ---- the texts (files_text.c) ---- */

/* How many objects they are: FILES_TEXTS, or 0 if no server has a name. */
size_t files_texts_configured(const struct conf *conf);
void files_texts_open(struct files *f); /* reads nothing yet */
void files_texts_close(struct files *f);
/* Reads the file if it has changed. line: for the error log, may be empty. */
enum watched_change files_check_text(struct files_text *t, char *line, size_t size);
/* Checks all, as files_check does. */
void files_check_texts(struct files *f, files_report *report, void *context);
/* The last content, never empty; lent until the next check. */
struct slice files_text(const struct files *f, size_t text);

/* ---- the messages between a worker and the files process (files_link.c) ---- */

enum files_kind { FILES_CONTENT = 1, FILES_LESSON, FILES_CHANGES };

struct files_message {
	uint32_t kind; /* enum files_kind */
	uint32_t object;
};

/* Sends a message with bytes (may be empty) and a duplicate of fd (unless -1). Never waits. False with errno. */
bool files_send(int socket, const struct files_message *m, struct slice bytes, int fd);

/* ---- a worker's end (files_link.c) ---- */

struct files_link {
	struct gateway *gateway; /* borrowed, as is observe */
	struct observe *observe;
	const struct conf *conf; /* borrowed */
	struct helper_link link;
};

void files_link_init(struct files_link *l);
/* gateway_env.teach, with a struct files_link. */
bool files_link_teach(void *context, struct slice message);
void files_set_text(struct gateway *g, size_t text, struct slice content);
/* Gives a content, as a sealed memory file, to the gateway. NULL, or the kind of a malformed one. */
const char *files_take(struct gateway *g, const struct conf *conf, size_t object, int fd, usec now);

/* ---- the files process (files_process.c) ---- */

struct helper_env;

/* Runs the process until the master closes its end. Returns the exit status. */
int files_run(const struct helper_env *env);

#endif
