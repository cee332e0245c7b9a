/* SPDX-License-Identifier: MIT */
/* The ACME process's state: acme_process.c asks the authority, acme_certificates.c keeps what it makes. Private to them. */
#ifndef PUSHGATE_PROCESS_ACME_PRIVATE_H
#define PUSHGATE_PROCESS_ACME_PRIVATE_H

#include "proxy/process/acme_helper.h"

/* The certificate of a listener. Times in seconds since the Unix epoch; INT64_MAX: never. */
struct acme_certificate {
	const struct conf_listen *listen; /* borrowed */
	struct net_issued issued;         /* what its file has; ends 0: nothing */
	char id[ACME_ID_BYTES];           /* of that (RFC 9773); "": it has none */
	int64_t order_at;                 /* it is ordered then … */
	int64_t ask_at;                   /* … and the authority is asked when that should be */
	unsigned failures;                /* orders in a row */
	/* An authority that has each new certificate renewed at once gets pauses: when the last one came, how many came early in
	 * a row, and when the next may be ordered. */
	int64_t came_at;
	unsigned early;
	int64_t not_before;
	bool has_asked_in_vain;          /* the error log says so */
	struct certificate_entry *entry; /* borrowed: what `pushgate status` says of it */
};

/* What the process does for one certificate. */
struct acme_work {
	struct acme_certificate *certificate; /* NULL: nothing */
	struct acme_task task;
	struct net_key *key;         /* of an order */
	int lock;                    /* the same; -1: none */
	struct acme_request request; /* of the task; its body is owned */
	unsigned addresses_tried;    /* with that */
};

enum acme_phase { ACME_PROCESS_IDLE, ACME_PROCESS_ASKING, ACME_PROCESS_WAITING };

struct acme_process {
	struct helper_process helper; /* env and observe alone */
	struct net_loop *loop;
	struct chunk_pool *chunks;
	struct net_watch *control;
	int *links; /* by worker; -1: none */
	struct helper_names names;
	struct helper_http http;
	struct net_tls *tls;
	struct net_key *account;
	struct acme_link_message told; /* to workers */
	struct acme_ca ca;
	struct acme_certificate *certificates; /* count of them */
	size_t count;
	enum acme_phase phase;
	struct acme_work work;
	struct net_timer timer;
	usec begin_at;
};

int64_t acme_process_now(void);
/* Reads the account's key, or makes it. False with a message. */
bool acme_account_open(struct acme_process *p, char *error, size_t error_size);
/* Reads what there is, and says when what is due. */
void acme_certificates_open(struct acme_process *p);
/* Begins the task that is due: p->work. False: there is none for now, and the times have changed. */
bool acme_certificate_begin(struct acme_process *p, struct acme_certificate *c);
/* The task is done, or has failed. */
void acme_certificate_conclude(struct acme_process *p);

#endif
