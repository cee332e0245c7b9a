/* SPDX-License-Identifier: MIT */
/*
 * What `pushgate status` and /metrics say, and what they say it of. The master fills in struct status from its own tables,
 * a worker from the ledger. Included by admin.h.
 */
#ifndef PUSHGATE_ADMIN_STATUS_H
#define PUSHGATE_ADMIN_STATUS_H

#include "proxy/admin/totals.h"
#include "proxy/admin/usage.h"
#include <sys/types.h>

/* A worker or a helper in the text. */
struct status_process {
	const char *name; /* NULL: a worker */
	const char *note; /* its name in the notes for a reader; NULL: they leave it out */
	/* A worker of an older generation: the samples have the sum of these alone. */
	bool is_draining;
	pid_t pid; /* 0 = down */
	uint32_t starts;
	usec up;
	struct process_usage usage;
};

/* Results of a reload. */
#define STATUS_RELOAD_DONE                                                                         \
	"done" /* another generation has taken over, or the workers have the changed files */
#define STATUS_RELOAD_SAME "same"       /* nothing has changed, so nothing was done */
#define STATUS_RELOAD_REFUSED "refused" /* what serves has stayed as it was */

struct status_reload {
	usec at;             /* its end, in time since 1970; 0: there was none */
	uint32_t generation; /* that serves since then */
	const char *result;
	char cause[400]; /* the first line of what was wrong; "" */
};

/* Of a generation. */
struct status_orders {
	const struct conf *conf;
	const struct server_orders *orders;
};

struct status {
	usec up;
	usec started_wall;                       /* since 1970; 0: not known */
	const struct status_reload *last_reload; /* NULL: this process does not reload */
	usec drains_in; /* drain-delay; 0: it drains, or was not told to end */
	const struct observe_counters *slots;    /* the workers' */
	const struct series *series;             /* the same; NULL: there are none */
	const struct observe_counters *own_slot; /* the master's; NULL: it has none */
	const struct totals
	    *others; /* of all generations but the one that all else is of; NULL: none */
	const struct status_process *processes; /* the workers, then the helpers */
	uint32_t process_count, worker_count;
	const struct server_orders *orders;       /* NULL: none can be given */
	const struct status_orders *other_orders; /* of generations that end what they have */
	uint32_t other_orders_count;
	const struct health_table *health_table; /* NULL: no server is checked or may be ejected */
	const struct certificate_entry *certificates; /* of each listener; NULL: none has acme */
	const struct observe_remembered
	    *remembered; /* lines of the memory of pages; NULL: nothing remembers */
	/* Names the rules whose counters are printed, and where push is off; NULL: neither. */
	const struct conf *conf;
};

/* How the text begins and ends: a reader sees by it that this is a status, and that it is whole. */
#define STATUS_BEGIN "# pushgate "
#define STATUS_END "# EOF\n"
/* The counters of all generations. The caller frees. */
struct totals *status_sum(const struct status *s);
/* How far the samples have been printed; zeroes: none. */
struct status_mark {
	uint32_t part;
	size_t at; /* in the part */
};
/* Prints some of the samples, whole families or a part of one, so many as take a fraction of a millisecond. False: these were
 * the last. sum: of status_sum, once. */
bool status_print_some(
    const struct status *s, struct totals *sum, struct status_mark *mark, FILE *out);
/* status_text.c: prints comment lines ("# …") about the processes and where push is off, then the sums of the
 * counters. */
void status_print(const struct status *s, FILE *out);
/* status_processes.c: samples of the processes. */
void status_processes_print(const struct status *s, FILE *out);
/* status_orders.c: what was ordered for servers, as comment lines; samples for monitoring. */
void status_order_notes(const struct status *s, FILE *out);
void status_orders_print(const struct status *s, FILE *out);
/* status_servers.c: the servers that get no requests, as comment lines; samples for monitoring. */
void status_server_notes(const struct status *s, FILE *out);
void status_servers_print(const struct status *s, FILE *out);
/* status_certificates.c: prints when certificates are ordered and renewed, as comment lines, and samples for
 * monitoring. */
void status_certificate_notes(const struct status *s, FILE *out);
void status_certificates_print(const struct status *s, FILE *out);
/* Writes each sample that is not 0 as a line to the error log, buckets of histograms left out. */
void status_log(const struct status *s, struct observe *o);

#endif
