/* SPDX-License-Identifier: MIT */
/*
 * The program's reports: the access log (one JSON line per exchange), the error log, and counters
 * in shared memory (one slot for each worker, and only that worker writes it).
 *
 * Lines go through a pipe, shared by the workers, to the logger process. A write never exceeds
 * PIPE_BUF, so the kernel never mixes lines. Lines of the access log are gathered (observe_flush). No
 * write waits: lines are dropped when the pipe is full, and lost when the file cannot be written, and
 * counted (access_lines_dropped, access_lines_lost …). Long values are cut, whole lines never.
 */
#ifndef PUSHGATE_OBSERVE_OBSERVE_H
#define PUSHGATE_OBSERVE_OBSERVE_H

#include "policy/policy.h"
#include "proxy/log_fields.h"
#include "proxy/net/net.h"
#include "proxy/observe/certificate_table.h"
#include "proxy/observe/connection_table.h"
#include "proxy/observe/counter_rows.h"
#include "proxy/observe/health_table.h"
#include "proxy/observe/histogram.h"
#include "proxy/observe/readiness.h"
#include "proxy/observe/series.h"
#include "proxy/observe/server_orders.h"
#include <stdio.h>

/* Rules with counters of their own; all further rules share one more. */
#define OBSERVE_RULES 64u /* the text of RULE says it too */

struct observe_rule {
	uint64_t events[POLICY_EVENT_COUNT];
	uint64_t used_bytes, wasted_bytes;
	uint64_t reset_usec; /* sum of the times from a promise to the client's reset */
};

/* Routes, and origins, that `status` can name when push is off for them; no more are named. */
#define OBSERVE_PLACES 64u

/* The most rows that are counted: faults (h2), causes (relay), misses (hold), reasons of [access NAME] (route). */
#define OBSERVE_FAULTS 128u
#define OBSERVE_CAUSES 128u
#define OBSERVE_MISSES 16u
#define OBSERVE_DENIALS 16u
/* The pages that `status` names with what is remembered of them (remembered/remembered.h). */
#define OBSERVE_REMEMBERED_PAGES 16u
#define OBSERVE_REMEMBERED_TEXT 252u
struct observe_remembered {
	_Atomic uint32_t version; /* odd: it is being written */
	char text[OBSERVE_REMEMBERED_TEXT];
};
enum observe_side { OBSERVE_CLIENT, OBSERVE_ORIGIN };

struct observe_counters {
#define OBSERVE_COUNTER(member, name, text) uint64_t member;
	OBSERVE_COUNTERS(OBSERVE_COUNTER)
	OBSERVE_GAUGES(OBSERVE_COUNTER)
#undef OBSERVE_COUNTER
	uint64_t push[POLICY_SOURCE_COUNT][POLICY_ACTION_COUNT][POLICY_REASON_COUNT];
	struct observe_rule rules[OBSERVE_RULES + 1]; /* by policy_rule.index */
	uint64_t faults[2][OBSERVE_FAULTS];           /* by enum observe_side */
	uint64_t causes[OBSERVE_CAUSES];              /* why exchanges ended early */
	uint64_t misses[OBSERVE_MISSES];              /* holds_missed, by cause */
	uint64_t denials[OBSERVE_DENIALS];            /* by reason */
	uint64_t route_limited[OBSERVE_PLACES][2]; /* by the route's index, and whether in shadow */
	uint64_t arm_pages[OBSERVE_PLACES][2]; /* by the [preload] section's index: arm off, on */
	/* A gauge, by the origin's index: its connections on which push was turned off. */
	uint64_t push_off_connections_open[OBSERVE_PLACES];
	/* All above are added up; of this the latest counts. By the route's index, on the monotonic clock; 0 or past: on. */
	uint64_t push_off_until[OBSERVE_PLACES];
};

/* For the owner of the memory; "": there is no such page. */
void observe_remembered_write(struct observe_remembered *l, const char *text);
/* For another process: always printable text. False: there is none, or it is being written. */
bool observe_remembered_read(
    const struct observe_remembered *l, char text[OBSERVE_REMEMBERED_TEXT]);

/* Counts a connection whose protocol is known now (n: 1), or that ends (-1). protocol: as ALPN names it; others are not
 * counted. */
void observe_session_count(
    struct observe_counters *c, enum observe_side side, const char *protocol, int n);

/* Adds all counters of b to a. */
void observe_counters_add(struct observe_counters *a, const struct observe_counters *b);

/* ---- the text of `pushgate status` (Prometheus text format 0.0.4) ---- */

enum observe_family_id {
#define OBSERVE_ID(symbol, name, type, labels, text) OBSERVE_FAMILY_##symbol,
	OBSERVE_FAMILIES(OBSERVE_ID)
#undef OBSERVE_ID
};

struct observe_label {
	const char *name, *value; /* the last one has no name */
};

/* A family that is being printed. The caller sets out and id; all its samples follow each other. */
struct observe_family {
	FILE *out;
	enum observe_family_id id;
	bool has_begun; /* its HELP and TYPE are printed, which the first sample does */
};

/* Prints a sample. The value is printed by the format. */
void observe_sample(struct observe_family *f, const struct observe_label *labels,
    const char *format, ...) __attribute__((format(printf, 3, 4)));

#define OBSERVE_LABELS(...) ((const struct observe_label[]){__VA_ARGS__, {0}})
/* Writes labels as a sample has them, without braces. False: there is no room. */
bool observe_labels_write(const struct observe_label *labels, char *text, size_t size);
/* Prints a sample of a count that is not 0. */
void observe_count(struct observe_family *f, const struct observe_label *labels, uint64_t n);

/* Prints the rows of OBSERVE_COUNTERS and OBSERVE_GAUGES, and pushgate_push_total. */
void observe_counters_print(const struct observe_counters *c, FILE *out);
struct observe_named_rule {
	const char *name;
	struct observe_rule counts;
};
/* Prints one of the families of rules. What is counted of further rules is "(other)". */
#define OBSERVE_RULE_FAMILIES 4u
void observe_rules_print(size_t family, const struct observe_named_rule *rules, size_t count,
    const struct observe_rule *others, FILE *out);
/* Prints the faults of both sides. name: of a row; NULL after the last. */
void observe_faults_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out);
/* Prints a family of counters, of which each has its name as the value of the label. */
void observe_rows_print(enum observe_family_id id, const char *label, const uint64_t *counts,
    size_t most, const char *(*name)(size_t index), FILE *out);

enum observe_level { OBSERVE_DEBUG, OBSERVE_INFO, OBSERVE_WARN, OBSERVE_ERROR };

/* PIPE_BUF on Linux: the largest write that a pipe takes in one piece. */
#define OBSERVE_BATCH_BYTES 4096u
/* The longest line of the access log, before it is made to fit into a batch. */
#define OBSERVE_ACCESS_LINE_BYTES 6144u
/* Copies of a constant length may end so far behind the line. */
#define OBSERVE_BATCH_SLACK 32u
/* `worker` of the master and of the helpers, which are no workers. */
#define OBSERVE_MASTER UINT32_MAX
#define OBSERVE_FILES (UINT32_MAX - 1)
#define OBSERVE_LOGGER (UINT32_MAX - 2)
#define OBSERVE_PASSWORDS (UINT32_MAX - 3)
#define OBSERVE_TRACER (UINT32_MAX - 4)
#define OBSERVE_ACME (UINT32_MAX - 5)

/* Most lines per second of one kind that peers can cause. */
#define OBSERVE_LINES_A_SECOND 5u
/* Kinds with a slot of their own; further kinds share slots. A power of two. */
#define OBSERVE_KINDS 256u

/* Private: lines of one kind in the last second that had any. */
struct observe_kind {
	const char *name;
	usec since;
	uint32_t lines, left_out;
};

/* How much of the last write is in the file. When a writer dies, the next one continues there. */
struct observe_progress {
	_Atomic bool has_begun;
	_Atomic uint64_t size; /* of the file before; OBSERVE_NO_SIZE = it is no regular file */
	_Atomic size_t done;   /* bytes that are known to be written */
};
#define OBSERVE_NO_SIZE UINT64_MAX

/* A loss of lines whose end has not been logged yet. Zero at first; private. */
struct observe_loss {
	bool takes_lines;    /* the file took the last lines that it was given */
	int failure;         /* errno; 0 = there is no loss */
	usec failed_at;      /* when the file refused a line last */
	uint64_t lost_lines; /* since it began */
};

/* A log file (observe/file.c). The owner fills it in. */
struct observe_file {
	int fd;           /* opened for appending */
	const char *path; /* for messages (borrows) */
	uint64_t *lost;   /* the counter of the lines that it did not take (borrows) */
	bool may_wait;    /* for a non-blocking pipe that is full */
	bool *is_torn;    /* the last line has no end, and gets one before the next (borrows) */
	struct observe_progress *progress; /* borrows; NULL: no other process continues */
	struct observe_loss *loss;         /* borrows; outlives a writer that dies */
};

/* Private: the part of a line of the access log that all exchanges of one connection have in common. */
#define OBSERVE_CLIENTS 64u
#define OBSERVE_ORIGINS 16u
struct observe_piece {
	uint64_t connection;  /* 0: none */
	const char *protocol; /* of the message that it was made for: compared only */
	uint16_t length;
	bool was_cut; /* a value in it */
	char text[640];
};

/* Private: lines of the access log that wait for observe_flush, with room for one more. */
struct observe_batch {
	uint32_t bytes, lines;
	char text[OBSERVE_BATCH_BYTES + OBSERVE_ACCESS_LINE_BYTES + OBSERVE_BATCH_SLACK];
};

/* The owner fills it in and sets the private part to zero. */
struct observe {
	struct observe_counters *counters; /* this worker's slot, never NULL (borrows) */
	struct series_lane series;         /* this worker's */
	int access_fd, error_fd;           /* write ends of pipes, or files; -1 = off */
	/* Of a process that writes the files itself: lines go to these, and not to the descriptors. Else NULL. */
	struct observe_file *access_file, *error_file;
	bool is_journal; /* the error log is systemd's journal, which records time and level */
	enum observe_level level;      /* lines below it are not written */
	uint32_t worker;               /* the worker's index, in every line */
	struct log_field_set left_out; /* of lines of the access log (log-fields) */
	uint32_t sample; /* one of so many pages has its lines (log-sample); 0 and 1: all have */
	/* Called after the first line of a batch: the owner must call observe_flush soon. May be NULL. */
	void (*gathers)(void *context);
	void *gathers_context;
	/* Private, from here on. */
	struct observe_batch batch;
	uint64_t second; /* whose text is cached */
	char second_text[20];
	/* By the connection's id, modulo. */
	struct observe_piece clients[OBSERVE_CLIENTS], origins[OBSERVE_ORIGINS];
	struct observe_kind kinds[OBSERVE_KINDS];
	usec left_out_since; /* 0: no lines left out since the last report */
};

/* Where the secrets of TLS sessions go (keylog-file). */
struct observe_keys {
	int fd;                            /* write end of a pipe, or a file; -1 = off */
	struct observe_counters *counters; /* borrows */
};
/* For net_key_log: writes a line without waiting. keys: a struct observe_keys. */
void observe_key_line(void *keys, struct slice line);

/* How an exchange ended. */
enum observe_outcome {
	OBSERVE_COMPLETE, /* delivered completely */
	OBSERVE_CLIENT_RESET,
	OBSERVE_CLIENT_LOST,
	OBSERVE_ORIGIN_RESET,
	OBSERVE_ORIGIN_LOST,
	OBSERVE_TIMEOUT,
	OBSERVE_MALFORMED,
	OBSERVE_REFUSED,
	OBSERVE_OUTCOME_COUNT,
};
const char *observe_outcome_name(enum observe_outcome o); /* "complete", "client-reset", … */

/* The client's side of an exchange. */
struct observe_client {
	/* Unique in the worker: all else here belongs to it. 0 = unknown, and the line has nothing of it. */
	uint64_t connection;
	struct address address; /* of the client */
	bool
	    is_named; /* a field of the request has named the address: other requests may have others */
	const struct address *claimed_peer, *tcp_peer;      /* NULL: as the address */
	struct slice proxy_authority, proxy_alpn, proxy_id; /* of a PROXY header; empty: not sent */
	const char *listen;                                 /* name of the section */
	const char *protocol, *tls, *cipher, *alpn;         /* NULL = none */
	const struct client_certificate *certificate;       /* NULL = none was shown */
};

/* Its origin's side. */
struct observe_origin {
	const char *name; /* of the configuration; NULL = none */
	/* Unique in the worker: the name and the two below belong to it. 0 = no origin was asked, and
	 * there is none of what follows but `queue`. */
	uint64_t connection;
	const char *address, *protocol;
	uint64_t request_bytes;    /* body bytes sent to it */
	uint64_t response_bytes;   /* body bytes received from it */
	usec queue, connect;       /* the wait before the request was sent */
	usec first_byte, duration; /* from then on; USEC_NEVER = no final head; not complete */
};

/* As the client sent it, or as it was promised. */
struct observe_request {
	struct slice method, scheme, authority, path, user_agent, referer, id;
	uint64_t bytes;   /* body bytes received from the client */
	uint32_t retries; /* times that it was sent again */
	struct slice sni; /* of the client's TLS handshake, if it is not the host of authority */
	const char *ech;  /* NULL: the handshake was not encrypted */
	struct slice speculation_tags; /* the rules for which a browser has made it */
};

/* The response to the client. */
struct observe_response {
	uint16_t status; /* of the final response; 0 = none */
	uint64_t bytes;  /* body bytes sent to the client */
	/* From the start of the exchange to the head of the final response; USEC_NEVER = none. */
	usec first_byte;
};

/* How it ended. */
struct observe_ending {
	enum observe_outcome outcome;
	uint32_t code;               /* HTTP/2 code that ended it */
	const char *code_name;       /* NULL = no code did */
	const char *detail;          /* a text or a fault's name; NULL = none */
	const char *refused_address; /* NULL = none was refused */
};

/* Its part in holding a response. */
struct observe_hold {
	uint64_t answered_by; /* the push whose held response answered it; 0 = none */
	bool joined;          /* that response was still arriving */
	const char
	    *missed; /* why no held response answered it, or a held push no request; NULL = none */
	uint64_t wasted_bytes; /* body bytes of a held response that no client was sent */
};

/* Of its trace, and of its span: ids in hexadecimal. */
struct observe_trace {
	char trace[32], span[16];
};

/* A push, or an offer that became none. */
struct observe_push {
	uint64_t parent_id;
	enum policy_source source;
	struct policy_verdict verdict;
	const struct policy_reason *end_reason; /* why it ended early; NULL = it did not */
};

/*
 * One exchange, for the access log, which borrows every text until the call returns. A field whose value is empty or
 * NULL is left out of the line; most numbers are left out when they are 0 (log_fields.h).
 */
struct observe_exchange {
	usec started_wall;        /* µs since the epoch */
	usec duration;            /* from the request's head (or the promise) to the end */
	uint64_t id;              /* unique in the worker */
	uint32_t weight;          /* of observe_weight */
	const char *route;        /* name of the configuration; NULL = none */
	struct slice user;        /* whose password was right; empty = no user is known */
	struct slice tunnel;      /* its protocol; empty = it was no tunnel */
	const char *tunnel_ended; /* the side that ended the tunnel: "client" */
	struct observe_client client;
	struct observe_origin origin;
	struct observe_request request;
	struct observe_response response;
	struct observe_ending ending;
	struct observe_hold hold;
	const struct observe_push *push;   /* NULL = it is a client's request */
	const char *arm;                   /* "NAME=on"; NULL = its page is in no comparison */
	const struct observe_trace *trace; /* NULL = it is in none */
};

/*
 * How many exchanges the line of this one stands for; 0: it gets none, which is counted if the log is on.
 * page: the id of the request, or of a push's parent, so that a page is chosen with all of its pushes.
 * Failures are always written, and stand for themselves.
 */
uint32_t observe_weight(struct observe *o, uint64_t page, bool is_failure);
/*
 * Adds one line to the access log: a JSON object with the fields of log_fields.h, without those that
 * o->left_out names. It is written at observe_flush, or earlier when the batch is full.
 */
void observe_access_log(struct observe *o, const struct observe_exchange *x);
/* Writes the gathered lines of the access log. Cheap if there are none. */
void observe_flush(struct observe *o);
/*
 * Writes "2026-01-02T03:04:05.678Z warn [w0] text\n" to the error log. The text is cut at 1,000
 * bytes and its controls are escaped. The journal gets "<4>[w0] text\n" (sd-daemon(3)).
 */
void observe_log(struct observe *o, enum observe_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/*
 * The same for lines that a peer can cause as often as it likes. At most OBSERVE_LINES_A_SECOND
 * lines of each kind are written; further ones are counted (log_left_out). `kind` must be a string
 * constant, since its address is kept.
 */
void observe_log_fault(struct observe *o, enum observe_level level, const char *kind, usec now,
    const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Sends a line of level info, always with its time, to a stream socket. Never waits. False with errno. */
bool observe_send(struct observe *o, int socket, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Writes whole lines to the file. Lost ones are counted, and the error log tells when a loss begins. */
void observe_file_write(struct observe *o, struct observe_file *f, const char *lines, size_t bytes);
/* A writer died while it wrote these lines: returns how many bytes of them are in the file as whole lines. */
size_t observe_file_resume(struct observe_file *f, const char *lines, size_t bytes);
/* Call this regularly: tells how many lines were lost, once a file has taken lines for a second, or at once. */
void observe_files_settle(struct observe *o, usec now, bool at_once);
/* The same for one file, which may be NULL. */
void observe_file_settle(struct observe *o, struct observe_file *f, usec now, bool at_once);
/* Whether both files take all lines, and the error log has said so. */
bool observe_files_work(const struct observe *o);
/* Call this regularly: it logs how many lines were left out in past seconds. */
void observe_log_left_out(struct observe *o, usec now);

#endif
