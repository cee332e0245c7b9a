/* SPDX-License-Identifier: MIT */
/*
 * The program's reports: the access log (one JSON line per exchange), the error log, and counters
 * in shared memory (one slot for each worker, and only that worker writes it).
 *
 * Lines go through a pipe, shared by the workers, to the logger process. A write never exceeds
 * PIPE_BUF, so the kernel never mixes lines. Access lines are gathered and written together
 * (observe_flush). No write waits for the pipe: when it is full the lines are dropped and counted
 * (access_lines_dropped, error_lines_dropped). Lines that the log's file does not take are counted
 * too (access_lines_lost, error_lines_lost). Long values are cut, whole lines never.
 */
#ifndef PUSHGATE_OBSERVE_OBSERVE_H
#define PUSHGATE_OBSERVE_OBSERVE_H

#include "policy/policy.h"
#include "proxy/log_fields.h"
#include "proxy/net/net.h"
#include "proxy/observe/servers.h"
#include <stdio.h>

/*
 * X(name, "what it counts"): totals since the start. `pushgate status` prints a row as
 * pushgate_NAME_total. A name ends with its unit, if it has one.
 */
// clang-format off
#define OBSERVE_COUNTERS(X) \
	X(connections, "downstream connections accepted") \
	X(connections_refused, "downstream connections closed at once because of max-connections or memory") \
	X(connections_refused_client, "of these, because of max-connections-per-client") \
	X(accept_paused, "times that accepting paused because descriptors or memory ran out") \
	X(tls_failed, "downstream TLS handshakes failed") \
	X(tls_late, "downstream TLS handshakes ended by tls-timeout") \
	X(preface_late, "client connections that began no protocol within preface-timeout") \
	X(idle_closed, "client connections closed by idle-timeout") \
	X(write_late_down, "client connections ended by write-timeout: the client read too slowly") \
	X(write_late_up, "connections to origins ended by write-timeout") \
	X(ping_late_down, "client connections ended because a PING was not answered") \
	X(ping_late_up, "connections to origins ended because a PING was not answered") \
	X(connect_late, "connections to origins ended by connect-timeout or settings-timeout") \
	X(not_http2, "client connections that began no protocol spoken here, answered 505") \
	X(requests, "requests received") \
	X(responses_1xx, "interim responses sent") \
	X(responses_2xx, "responses 2xx sent") \
	X(responses_3xx, "responses 3xx sent") \
	X(responses_4xx, "responses 4xx sent") \
	X(responses_5xx, "responses 5xx sent") \
	X(responses_own, "responses made by pushgate itself") \
	X(requests_limited, "requests answered 429 because of limit-requests") \
	X(requests_limited_shadow, "requests that a line of limit-requests with shadow would have refused") \
	X(limit_table_full, "times that limit-table was too small: a client or a value was forgotten before its time, or not counted") \
	X(requests_retried, "requests tried more than once: the next counters say why") \
	X(retries_unprocessed, "times that a request was tried again because no server had processed it: it could not be connected to, or refused the request") \
	X(retries_lost, "times that a request was sent again because the connection was lost (retry-on = lost)") \
	X(retries_late, "times that a request was sent again because the response came too late (retry-on = late)") \
	X(retries_status, "times that a request was sent again because of the status of the response (retry-on)") \
	X(retries_over_budget, "times that a request was not sent again because retry-budget was used up") \
	X(requests_aborted, "exchanges that ended by a reset") \
	X(down_in_bytes, "request body bytes from clients") \
	X(down_out_bytes, "response body bytes to clients, forwarded pushes included") \
	X(up_in_bytes, "response body bytes from origins") \
	X(up_out_bytes, "request body bytes to origins") \
	X(upstream_connections, "connections to origins opened") \
	X(subscriptions, "of these, for one subscription each") \
	X(subscriptions_held_back, "times that an origin was held back because a subscriber was slow") \
	X(tunnels, "tunnels opened") \
	X(tunnels_refused, "requests for a tunnel that opened none") \
	X(tunnel_up_bytes, "bytes that ended tunnels have carried to origins") \
	X(tunnel_down_bytes, "bytes that ended tunnels have carried to clients") \
	X(upstream_failed, "connections to origins that failed to open or ended with an error") \
	X(server_ejections, "times that a worker ejected a server (eject-failures, eject-percent)") \
	X(health_checks, "checks of servers made (health-check)") \
	X(health_checks_failed, "of these, failed") \
	X(peer_faults_down, "protocol faults of clients") \
	X(peer_faults_up, "protocol faults of origins") \
	X(guard_down, "client connections ended with ENHANCE_YOUR_CALM") \
	X(guard_up, "origin connections ended with ENHANCE_YOUR_CALM") \
	X(pushes_offered, "pushes offered") \
	X(pushes_forwarded, "pushes promised to clients")           \
	X(pushes_hinted, "pushes turned into Early Hints") \
	X(pushes_held, "pushes held for the client's own request") \
	X(holds_claimed, "requests answered with a held response, HEAD included") \
	X(holds_joined, "of these, answered while the response was still arriving") \
	X(holds_missed, "requests whose held response could not be used for them: the sum of pushgate_hold_missed_total") \
	X(holds_expired, "held responses that answered no request in time") \
	X(holds_evicted, "held responses dropped unclaimed to make room, shed_holds included") \
	X(holds_invalidated, "held responses dropped unclaimed because their resource was changed") \
	X(holds_failed, "held responses that the origin did not complete, dropped unclaimed") \
	X(hold_wasted_bytes, "bytes of held responses that no client received") \
	X(pushes_dropped, "pushes dropped") \
	X(push_off_routes, "times that a route was moved to connections without push for a minute (reset-rate, promise-refusals)") \
	X(push_off_connections, "times that push was turned off on a connection to an origin (promise-refusals)") \
	X(pushes_completed, "pushed responses delivered completely") \
	X(pushes_reset, "pushes reset by the client") \
	X(pushes_failed, "pushes that failed for other reasons") \
	X(pushes_withdrawn, "pushes, forwarded or held, given up because of the head of their response") \
	X(push_out_bytes, "pushed body bytes to clients") \
	X(push_reset_bytes, "pushed body bytes sent on streams that the client then reset") \
	X(memory_trims, "times that a worker returned memory to the system after a peak") \
	X(memory_refused, "requests, pushes and connections that a memory budget refused") \
	X(streams_refused_memory, "requests refused (REFUSED_STREAM) because memory was short") \
	X(shed_holds, "held responses dropped because the worker's memory was short") \
	X(shed_offers, "pushes not made, or ended before they began, because memory was short") \
	X(shed_connections, "client connections closed because memory was short: idle ones, and ones with much unread data") \
	X(shed_streams, "exchanges reset because memory was short: ones that used too much, or stalled") \
	X(learned_saves_dropped, "times that the learned table was not saved: the files process was down, or still had the table of a minute before") \
	X(manifests_taken, "manifests that workers took in from the files process after the start") \
	X(files_unusable, "times that a manifest or the learned-file could not be read, or was none; what was read before stays in use, at the start nothing") \
	X(files_refused, "contents and messages of the files process that workers refused as malformed; what it refuses of a worker is in the error log alone") \
	X(loop_passes_over_5ms, "loop passes of workers that took longer than 5 ms, and so delayed every connection of the worker; a busy machine causes them too") \
	X(access_lines_dropped, "access log lines lost because the pipe to the logger was full") \
	X(access_lines_lost, "access log lines lost because the log could not be written: the disk is full, a FIFO has no reader") \
	X(error_lines_dropped, "error log lines lost because the pipe to the logger was full") \
	X(error_lines_lost, "error log lines lost because the log could not be written") \
	X(log_sampled_out, "access log lines left out because of log-sample") \
	X(log_left_out, "error log lines left out because there were too many of the same kind")

/* The same for what is counted up and down; printed as pushgate_NAME. */
#define OBSERVE_GAUGES(X) \
	X(connections_open, "downstream connections open now") \
	X(requests_open, "exchanges open now") \
	X(upstream_connections_open, "connections to origins open now") \
	X(subscriptions_open, "connections for one subscription each that are open now") \
	X(tunnels_open, "tunnels open now") \
	X(pushes_open, "pushes open now") \
	X(memory_used_bytes, "bytes charged to the memory budget now")

/*
 * What has labels, or is no counter of the workers: X(symbol, "name", "type", "labels", "what it
 * says"). A sample is printed once it is not 0, but for those of the processes.
 */
#define OBSERVE_FAMILIES(X) \
	X(INFO, "pushgate_info", "gauge", "version", "always 1; the version is its label") \
	X(UPTIME, "pushgate_uptime_seconds", "gauge", "", "time since the start") \
	X(DRAINING, "pushgate_draining", "gauge", "", "1: pushgate ends, and waits for requests that are open") \
	X(PROCESS_UP, "pushgate_process_up", "gauge", "process", "1: this process runs") \
	X(PROCESS_PID, "pushgate_process_pid", "gauge", "process", "its process id; 0: it is down") \
	X(PROCESS_UPTIME, "pushgate_process_uptime_seconds", "gauge", "process", "time since its last start; 0: it is down") \
	X(PROCESS_STARTS, "pushgate_process_starts_total", "counter", "process", "times that it was started") \
	X(ROUTE_PUSH_OFF, "pushgate_route_push_off_seconds", "gauge", "route, origin", "for so long a route still uses connections without push (reset-rate, promise-refusals)") \
	X(ROUTE_LIMITED, "pushgate_route_limited_total", "counter", "route, verdict", "requests that limit-requests refused, or in shadow would have refused; of the first 64 routes of the file") \
	X(ORIGIN_PUSH_OFF, "pushgate_origin_push_off_connections", "gauge", "origin", "open connections to an origin on which push was turned off (promise-refusals)") \
	X(SERVER_UP, "pushgate_server_up", "gauge", "origin, server", "1: the server may get requests; 0: its checks fail, or a worker has ejected it. Of origins with several servers or health-check; at most 128, those with 0 first") \
	X(SERVER_EJECTED, "pushgate_server_ejected_workers", "gauge", "origin, server", "in so many workers a server is ejected now") \
	X(PUSH, "pushgate_push_total", "counter", "source, verdict, reason", "offers of pushes. Links that no verdict could use are not read and not counted") \
	X(RULE, "pushgate_rule_total", "counter", "rule, event", "outcomes of each rule's pushes; (other): the rules behind the 64th together") \
	X(RULE_BYTES, "pushgate_rule_bytes_total", "counter", "rule, outcome", "body bytes of these pushes, used or wasted") \
	X(RULE_RESET, "pushgate_rule_reset_seconds_total", "counter", "rule", "sum of the times from a promise to the client's reset") \
	X(RULE_USED, "pushgate_rule_used_ratio", "gauge", "rule", "share of these pushes that clients used, 0 to 1") \
	X(FAULT, "pushgate_fault_total", "counter", "side, fault", "protocol faults of peers") \
	X(END, "pushgate_end_total", "counter", "cause", "exchanges that did not end with the origin's response") \
	X(HOLD_MISSED, "pushgate_hold_missed_total", "counter", "cause", "requests that found a held response which could not answer them")

// clang-format on

/* Rules with counters of their own; all further rules share one more. */
#define OBSERVE_RULES 64u /* the text of RULE says it too */

struct observe_rule {
	uint64_t events[POLICY_EVENT_COUNT];
	uint64_t used_bytes, wasted_bytes;
	uint64_t reset_usec; /* sum of the times from a promise to the client's reset */
};

/* Routes, and origins, that `status` can name when push is off for them; no more are named. */
#define OBSERVE_PLACES 64u

/* Sizes of the tables of faults (h2), of causes and of misses of holds (relay), which are counted by
 * row. */
#define OBSERVE_FAULTS 128u
#define OBSERVE_CAUSES 64u
#define OBSERVE_MISSES 16u
enum observe_side { OBSERVE_CLIENT, OBSERVE_ORIGIN };

struct observe_counters {
#define OBSERVE_COUNTER(name, text) uint64_t name;
	OBSERVE_COUNTERS(OBSERVE_COUNTER)
	OBSERVE_GAUGES(OBSERVE_COUNTER)
#undef OBSERVE_COUNTER
	uint64_t push[POLICY_SOURCE_COUNT][POLICY_ACTION_COUNT][POLICY_REASON_COUNT];
	struct observe_rule rules[OBSERVE_RULES + 1]; /* by policy_rule.index */
	uint64_t faults[2][OBSERVE_FAULTS];           /* by enum observe_side */
	uint64_t causes[OBSERVE_CAUSES];              /* why exchanges ended early */
	uint64_t misses[OBSERVE_MISSES];              /* holds_missed, by cause */
	uint64_t route_limited[OBSERVE_PLACES][2]; /* by the route's index, and whether in shadow */
	/* Gauges. By the route's index: on the monotonic clock, 0 or in the past = push is on. */
	uint64_t push_off_until[OBSERVE_PLACES];
	/* By the origin's index: its connections on which push was turned off. */
	uint64_t push_off_connections_open[OBSERVE_PLACES];
};

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

/* Print the counters and gauges without labels, and pushgate_push_total. */
void observe_counters_print(const struct observe_counters *c, FILE *out);
/* Prints the families of rules. Rules beyond OBSERVE_RULES are "(other)". */
void observe_rules_print(
    const struct observe_counters *c, const struct policy_rules *rules, FILE *out);
/* Each prints one family. `name` returns the name of a row, NULL after the last. */
void observe_faults_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out);
void observe_causes_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out);
void observe_misses_print(
    const struct observe_counters *c, const char *(*name)(size_t index), FILE *out);

enum observe_level { OBSERVE_DEBUG, OBSERVE_INFO, OBSERVE_WARN, OBSERVE_ERROR };

/* PIPE_BUF on Linux: the largest write that a pipe takes in one piece. */
#define OBSERVE_BATCH_BYTES 4096u
/* Copies of a constant length may end so far behind the line. */
#define OBSERVE_BATCH_SLACK 32u
/* `worker` of the master and of the helpers, which are no workers. */
#define OBSERVE_MASTER UINT32_MAX
#define OBSERVE_FILES (UINT32_MAX - 1)
#define OBSERVE_LOGGER (UINT32_MAX - 2)
#define OBSERVE_PASSWORDS (UINT32_MAX - 3)

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

/* How far a file has taken the lines that it was given last, for who goes on after the writer's death. */
struct observe_progress {
	_Atomic bool has_begun;
	_Atomic uint64_t size; /* of the file before; OBSERVE_NO_SIZE = it is no regular file */
	_Atomic size_t done;   /* bytes that are known to be written */
};
#define OBSERVE_NO_SIZE UINT64_MAX

/* A loss of lines that has not been told as over. Zero at first; private. */
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
	struct observe_progress *progress; /* borrows; NULL: nobody goes on */
	struct observe_loss *loss;         /* borrows; outlives a writer that dies */
};

/* Private: the part of an access line that all exchanges of one connection have in common. */
#define OBSERVE_CLIENTS 64u
#define OBSERVE_ORIGINS 16u
struct observe_piece {
	uint64_t connection;  /* 0: none */
	const char *protocol; /* of the message that it was made for: compared only */
	uint16_t length;
	bool was_cut; /* a value in it */
	char text[384];
};

/* The owner fills it in and sets the private part to zero. */
struct observe {
	struct observe_counters *counters; /* this worker's slot, never NULL (borrows) */
	int access_fd, error_fd;           /* write ends of pipes, or files; -1 = off */
	/* Who writes the files itself: lines go there, and not to the descriptors. Else NULL. */
	struct observe_file *access_file, *error_file;
	bool is_journal; /* the error log is systemd's journal, which records time and level */
	enum observe_level level; /* lines below it are not written */
	uint32_t worker;          /* the worker's index, in every line */
	uint64_t left_out; /* LOG_FIELD_BIT: fields that access lines do not have (log-fields) */
	uint32_t sample;   /* one of so many pages has its lines (log-sample); 0 and 1: all have */
	/*
	 * Called after the first access line of a batch: the owner must call observe_flush soon.
	 * May be NULL.
	 */
	void (*gathers)(void *context);
	void *gathers_context;
	/*
	 * Private: access lines that wait for observe_flush, with room for one more; the cached
	 * text of the last second.
	 */
	uint32_t batch_bytes, batch_lines;
	char batch[2 * OBSERVE_BATCH_BYTES + OBSERVE_BATCH_SLACK];
	uint64_t second;
	char second_text[20];
	/* By the connection's id, modulo. */
	struct observe_piece clients[OBSERVE_CLIENTS], origins[OBSERVE_ORIGINS];
	struct observe_kind kinds[OBSERVE_KINDS];
	usec left_out_since; /* 0: no lines left out since the last report */
};

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
	/* Unique in the worker: all else here, and the listener, belong to it. 0 = unknown, and the line has
	 * nothing of it. */
	uint64_t connection;
	struct address address;
	const char *protocol, *tls, *cipher; /* NULL = none */
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

/*
 * One exchange, for the access log. Slices are borrowed for the call. A line lacks what is empty, NULL
 * or, for most numbers, 0 (log_fields.h).
 */
struct observe_exchange {
	usec started_wall;  /* µs since the epoch */
	usec duration;      /* from the request's head (or the promise) to the end */
	usec first_byte;    /* from then to the head of the final response; USEC_NEVER = none */
	uint64_t id;        /* unique in the worker */
	uint64_t parent_id; /* pushes: the parent's; 0 = not a push */
	uint32_t weight;    /* of observe_weight */
	const char *listen, *route; /* names of the configuration; NULL = none */
	struct observe_client client;
	struct observe_origin origin;
	struct slice method, scheme, authority, path, user_agent, referer;
	uint16_t status;         /* of the final response; 0 = none */
	uint64_t request_bytes;  /* body bytes received from the client */
	uint64_t response_bytes; /* body bytes sent to the client */
	uint64_t wasted_bytes;   /* body bytes of a held response that no client was sent */
	enum observe_outcome outcome;
	uint32_t code;            /* HTTP/2 code that ended it */
	const char *code_name;    /* NULL = no code did */
	const char *detail;       /* a text or a fault's name; NULL = none */
	uint32_t retries;         /* times that the request was sent again */
	bool joined;              /* with `held`: the response was still arriving */
	const char *tunnel_ended; /* who ended it: "client"; NULL = it was no tunnel */
	struct slice tunnel;      /* its protocol */
	uint64_t held;            /* the push whose held response answered it; 0 = none */
	const char
	    *missed; /* why no held response answered it, or a held push nobody; NULL = none */
	/* Pushes and refused offers. */
	bool is_push;
	enum policy_source source;
	enum policy_action verdict;
	const char *rule;                       /* NULL = none */
	const struct policy_reason *reason;     /* of the verdict */
	const struct policy_reason *end_reason; /* why it ended early; NULL = it did not */
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
void observe_access(struct observe *o, const struct observe_exchange *x);
/* Writes the gathered access lines. Cheap if there are none. */
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
/*
 * Sends a line of level info, always with its time, to a stream socket instead of the log. Never
 * waits. False with errno: the line was not sent.
 */
bool observe_send(struct observe *o, int socket, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/*
 * Writes whole lines to the file. Those that it does not take are counted; the first one of a loss
 * is told in the error log, o->error_file.
 */
void observe_file_write(struct observe *o, struct observe_file *f, const char *lines, size_t bytes);
/*
 * After a writer died that was writing these lines, as f->progress has it: returns how many bytes of
 * them are in the file as whole lines. The others are to be written.
 */
size_t observe_file_resume(struct observe_file *f, const char *lines, size_t bytes);
/*
 * Call this regularly: tells that a file takes lines again, and how many were lost, once it has done
 * so for a second, or at once.
 */
void observe_files_settle(struct observe *o, usec now, bool at_once);
/* No loss is left to tell. */
bool observe_files_work(const struct observe *o);
/* Call this regularly: it logs how many lines were left out in past seconds. */
void observe_log_left_out(struct observe *o, usec now);

#endif
