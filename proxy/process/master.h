/* SPDX-License-Identifier: MIT */
/*
 * The state that the master's files share: master.c watches, master_signals.c obeys, fork.c starts children,
 * worker_slots.c cares for the workers, helpers.c for the helpers, master_logger.c for the logger. Private to process/.
 */
#ifndef PUSHGATE_PROCESS_MASTER_H
#define PUSHGATE_PROCESS_MASTER_H

#include "proxy/limits.h"
#include "proxy/process/child.h"
#include "proxy/process/file_watch.h"
#include "proxy/process/helper.h"
#include "proxy/process/ledger_pace.h"
#include "proxy/process/process.h"
#include "proxy/process/reload_request.h"
#include "proxy/process/server_request.h"
#include "proxy/process/start.h"
#include "proxy/process/trace_request.h"
#include "proxy/process/upgrade.h"
#include "proxy/process/watchdog.h"

/* How far a generation is:
 *
 *   RUNNING ──TERM/INT, or a reload──→ DRAINING ──TERM/INT, or the deadline──→ FORCED (killed a second later)
 *      └───────────────────────────────────┴── after the last worker ──→ ENDED ←──┘
 *
 * One that a reload brings up is RUNNING too, but master.coming until it takes over: its workers do not accept yet.
 */
enum generation_phase {
	GENERATION_RUNNING,
	GENERATION_DRAINING,
	GENERATION_FORCED,
	GENERATION_ENDED,
};

/* Files that change in a generation that runs (renewal.c). */
enum renewal { RENEWAL_CERTIFICATES, RENEWAL_LISTS, RENEWALS };

/* A worker, as the master sees it. The slot, its sockets and its counters stay when the worker dies. */
struct worker_slot {
	struct child child;
	bool is_waiting; /* it has begun before its generation has taken over, and is to be told */
	/* It has begun with these files, or was told of them: generation.renewals. */
	uint32_t renewals[RENEWALS];
	bool is_linked[HELPERS]; /* it has a socket to this helper, as that runs now */
	/* With access-recheck its tunnels are judged by this start of a worker of that generation; 0: by none. */
	uint32_t judge_generation, judge_starts;
	bool is_adopted; /* the worker `adopter` accepts from this one's sockets */
	uint32_t adopter;
};

/* A configuration, and the workers and helpers that serve it. */
struct generation {
	struct master *master; /* borrowed */
	uint32_t number;       /* 1: of the start */
	struct outfit outfit;
	struct worker_slot *workers;
	struct child helpers[HELPERS];
	usec helpers_end_by[HELPERS]; /* a helper that is to end is killed then */
	uint32_t renewals[RENEWALS];  /* how often the configuration's files were exchanged */
	/* Memory files for the workers that run (lists.h): the last one and, until then, the one before. -1: none. */
	int lists, lists_before;
	usec lists_before_until;
	struct files_contents contents; /* as the files process has read them last */
	bool files_was_ready; /* one has been: the contents are those of the configured files */
	bool files_is_late; /* none was ready in time: the workers have started without contents */
	usec files_wait_until; /* the start waits so long for the files process */
	bool was_ready;        /* at least one worker has been ready */
	bool is_superseded;    /* another one has taken over */
	enum generation_phase phase;
	usec deadline; /* end of the phase; USEC_NEVER: it has none, or has ended */
};

/* A kind of helper: a row of the table in helpers.c. */
struct helper_row {
	const char *name;  /* as lines of the error log begin */
	const char *title; /* of its process, behind "pushgate: " */
	int (*run)(const struct helper_env *env);
	bool (*is_needed)(const struct conf *conf); /* NULL: always */
	enum generation_phase last_phase;           /* in which it is started, or started again */
	bool keeps_contents;                        /* descriptors of theirs */
	/* Messages: the rate of its contents; NULL: it has none to send. */
	struct rate (*contents)(const struct generation *g);
	bool renews_files; /* they say that files which the configuration names have changed */
	/* Whether pushgate ends if it cannot start; else it is started again, as after its death. */
	bool (*ends_the_start)(const struct generation *g);
	const char *loses; /* the loss, as its line in the error log ends */
};

extern const struct helper_row helper_rows[HELPERS];

/* A child's descriptor in the buffer of poll(2). */
struct watched {
	struct generation *generation;
	bool is_helper;
	uint32_t index; /* of the worker, or enum helper_id */
};

struct pollfd;

/* The most of the master's own in the buffer of poll(2), before those of its children. */
enum { MASTER_DESCRIPTORS = 4 };

/* A command that has given an order, and waits until the workers have obeyed. */
enum { ORDER_ASKERS = 8 };
struct order_asker {
	int socket; /* owned; -1: free */
	usec until;
	enum process_status status;
	bool is_late;
	char text[4096]; /* the answer */
};

/* The state that outlives a generation. */
struct master {
	struct start *start;
	struct observe observe;
	struct generation *generations[LIMIT_GENERATIONS + 1]; /* owned; the oldest first */
	uint32_t generation_count;
	uint32_t last_number;
	struct generation *running; /* accepts clients, until pushgate ends; never NULL */
	struct generation *coming;  /* is being brought up; NULL: none */
	bool reload_is_due,
	    reload_is_of_files;  /* nobody has asked for it: watch-files has seen a change */
	usec reload_at;          /* no reload begins before */
	struct file_watch files; /* of the running generation's configuration */
	struct status_reload last_reload;
	usec take_over_at;     /* when it takes over; 0: it is not up yet */
	usec remembered_until; /* the same for a copy of the memory of pages; 0: for none */
	struct child logger;
	char *logger_user; /* owned; as the logger was started with them */
	enum conf_sandbox logger_sandbox;
	bool is_ending;         /* no child is started again, nor is its end logged */
	struct upgrade upgrade; /* of this program by another one */
	bool is_hastened; /* that has ended, or drains: what is left here ends by drain-timeout */
	struct watchdog watchdog;
	struct trace_orders traces;
	struct reload_askers askers;
	struct order_asker order_askers[ORDER_ASKERS];
	struct totals *ended; /* counters of generations that have ended */
	struct master_ledger {
		/* How often these, or a predecessor's, have changed, and how often they had when it was written. */
		uint32_t ended_changes, ended_written;
		struct ledger_pace pace;
	} ledger;
	usec boot_time; /* of the machine */
	struct starts {
		uint32_t *workers, worker_count, helpers[HELPERS];
	} starts; /* of processes in earlier generations, by their names */
	struct status_orders other_orders[LIMIT_GENERATIONS]; /* a buffer, as all below */
	struct totals *others;                                /* for describe() */
	struct status_process *about;                         /* the same */
	char (*names)[48];                                    /* the same */
	struct pollfd *fds;                                   /* for poll(2) */
	struct watched *watched; /* for the children of these descriptors */
	pid_t pid;
	usec now;
	usec drain_at;  /* it was told to end: when draining begins, or has begun; 0: it was not */
	usec status_at; /* do not poll the status socket before */
	int signals;
	enum process_status status; /* to exit with */
};

/* ---- reload.c ---- */

/* A reload waits so long until all of the new generation are READY: longer than for the files process. */
#define MASTER_COME_UP_USEC (30 * USEC_PER_SEC)

/* Reads the configuration, and begins another generation with it unless that is useless. */
void master_reload(struct master *m);
/* It has come to an end: tells those who wait for it. cause: what was wrong, of which the first line is kept, or NULL. */
void master_end_reload(
    struct master *m, enum process_status status, const char *result, const char *cause);

/* ---- renewal.c ---- */

/* Which files have changed from one load to the next one: bits. */
enum renewal_change {
	RENEWAL_OF_CERTIFICATES = 1 << RENEWAL_CERTIFICATES, /* and keys and authorities */
	RENEWAL_OF_LISTS = 1 << RENEWAL_LISTS,               /* and bodies and passwords */
	RENEWAL_OF_MORE =
	    1 << RENEWALS, /* others that options name, or lists on which more depends */
	RENEWAL_OF_CONFIGURATION = 2 << RENEWALS,
};
unsigned renewal_compare(const struct conf *now, const struct conf *next);
/* Nothing but what the workers that run can take. */
static inline bool renewal_is_in_place(unsigned change)
{
	return change > 0 && change < RENEWAL_OF_MORE;
}
/* With watch-files: makes a reload due when files have changed. */
void master_watch_files(struct master *m);

/* ---- generations.c ---- */

/* Another generation, which takes the outfit. The caller makes it master.running or master.coming. */
struct generation *master_add_generation(struct master *m, const struct outfit *outfit);
/* Adds what its workers have counted. */
void generation_add_totals(const struct generation *g, struct totals *t);
/* The coming generation has not come up: it ends, and all stays as it was. why: as the line in the error log goes on. */
void master_give_up(struct master *m, const char *why);
/* Runs the deadlines, and the starts that are due; lets the coming generation take over; frees those that have ended.
 * Returns when to call it again. */
usec master_run_generations(struct master *m);
bool master_has_workers(const struct master *m);
/* How many accept clients. */
uint32_t master_count_accepting(const struct master *m);
/* All that was counted, predecessors included. The caller frees. */
struct totals *master_sum(const struct master *m);
/* Another program has taken over: all generations drain. */
void master_supersede(struct master *m);
/* This program takes over from another one when all are READY. Returns when to call it again. */
usec master_replace(struct master *m);
/* Ends all at once; called again, kills the workers. */
void master_force(struct master *m);
/* After the last worker. */
void master_free_generations(struct master *m);

/* ---- master_ledger.c ---- */

/* It is to be written now: something has changed, or somebody asks. */
bool master_wants_ledger(struct master *m);
/* With so many processes of m->about. */
void master_write_ledger(struct master *m, uint32_t processes);
/* What a worker of g sees of the whole, when it has just been forked. */
struct ledger_view generation_view(const struct generation *g);

/* ---- master_orders.c ---- */

void master_orders_init(struct master *m);
/* Of struct status: obeys a request, and takes socket. */
void master_order_server(void *context, struct slice name, int socket);
/* Answers the commands whose orders are obeyed. Returns when to call it again. */
usec master_run_orders(struct master *m);
/* Another configuration is in use: forgets orders for servers that it does not have. */
void master_prune_orders(struct master *m);
/* At the start: obeys what a predecessor has handed over. */
void master_take_orders(struct master *m);
/* Fills m->other_orders. Returns their number. */
uint32_t master_list_other_orders(struct master *m);
/* At the end, and in a forked child. */
void master_close_orders(struct master *m);

/* ---- hand_on_remembered.c ---- */

/* The generation begins with the last copy of the memory of pages. */
void generation_begin_remembered(struct generation *g);
/* All of the coming generation are READY: asks the running one's files process for one copy more. */
void master_ask_for_remembered(struct master *m);
/* None is waited for any more. */
bool master_has_remembered(struct master *m);
/* The files process has sent a copy, which is among the generation's contents now. */
void generation_keep_remembered(struct generation *g);

/* ---- master_recheck.c ---- */

/* With access-recheck: gives the workers of an older generation a socket to those that judge its tunnels. Returns when to
 * call it again. */
usec generation_run_recheck(const struct generation *g);

/* ---- master_signals.c ---- */

/* From now on signals wait for master_read_signals. False with errno. */
bool master_watch_signals(struct master *m);
/* Another program has taken over, and pushgate is to end as a whole. */
void master_hasten(struct master *m);
/* The logs were moved. */
void master_reopen_logs(struct master *m);
/* Reads and obeys the signals that have come. */
void master_read_signals(struct master *m);
/* drain-delay: drains when it is over. Returns when to call it again. */
usec master_run_drain_delay(struct master *m);

/* Waits for a signal, until then at most. Obeys those that have come. */
void master_wait_for_signal(struct master *m, usec until);

/* ---- master_logger.c ---- */

/* Writes a line to the error log, by way of no other process. */
void master_log_directly(const struct master *m, const char *line);
/* Whether the process was the logger. */
bool master_logger_died(struct master *m, pid_t pid, int status);
/* Starts it if that is due. Returns when to call it again. */
usec master_run_logger(struct master *m);
/* After all others that write lines. */
void master_end_logger(struct master *m);

/* ---- fork.c ---- */

void master_start_logger(struct master *m);

void generation_start_worker(struct generation *g, uint32_t index);
void generation_start_helper(struct generation *g, enum helper_id id);

/* ---- worker_slots.c ---- */

void generation_workers_init(struct generation *g);
void generation_workers_fini(struct generation *g);
/* Sends a worker a message, with a duplicate of fd unless that is -1. False: it is down, or does not read. */
bool generation_tell_worker(
    const struct generation *g, uint32_t index, const struct message *message, int fd);
/* All workers are READY. */
bool generation_workers_are_ready(const struct generation *g);
/* Lets workers accept that have waited for it. */
void generation_accept(struct generation *g);
/* Before the sockets are returned: lets the workers accept all clients that wait at an address which no other
 * generation has. */
void generation_empty_sections(const struct generation *g);
/* Whether all workers that are READY have said that they are alive since this was last true. Asks them again. */
bool generation_is_alive(struct generation *g);
/* The health table has changed otherwise than by a check. */
void generation_look_at_health(struct generation *g);
/* These files of its configuration have been exchanged: tells the workers. Takes the memory file of the lists, if they are
 * among them. */
void generation_renew(struct generation *g, unsigned change, int lists);
/* Tells the workers to finish their open requests, then to end. */
void generation_drain(struct generation *g);
/* Tells all workers to end at once; called again, kills them. Does nothing after the last worker. */
void generation_force(struct generation *g);
bool generation_has_workers(const struct generation *g);
/* Asks the workers that are ready for a trace. Others are asked when they are. */
void generation_begin_trace(const struct generation *g, const struct trace_order *o);
/* Reads the worker's messages. */
void generation_read_worker(struct generation *g, uint32_t index);
/* Whether the process was a worker; then its death has been seen to. */
bool generation_worker_died(struct generation *g, pid_t pid, int status);
/* Starts workers that are due, and kills those that have misbehaved. Returns when it is to be called again. */
usec generation_run_workers(struct generation *g);

/* ---- helpers.c ---- */

void generation_helpers_init(struct generation *g);
void generation_helpers_fini(struct generation *g);
/* Whether the process was a helper; then its death has been seen to. */
bool generation_helper_died(struct generation *g, pid_t pid, int status);
/* Starts helpers that are due, and connects workers with them. Returns when it is to be called again. */
usec generation_run_helpers(struct generation *g);
/* Reads a helper's messages. */
void generation_read_helper(struct generation *g, enum helper_id id);
/* The contents of the configured files are there, or have been waited for long enough. */
bool generation_may_start_workers(const struct generation *g);
/* All that it needs are READY. */
bool generation_helpers_are_ready(const struct generation *g);
/* Lets a helper end by itself; generation_run_helpers kills it if it has not in time. */
void generation_retire_helper(struct generation *g, enum helper_id id);
/* After the last worker: the same for all helpers. Idempotent. */
void generation_retire_helpers(struct generation *g);
bool generation_has_helpers(const struct generation *g);
/* The same at the end of pushgate, for those of all generations at once: waits for them. */
void master_end_helpers(struct master *m);

#endif
