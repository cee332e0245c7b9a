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
	bool has_asked_in_vain;           /* the error log says so */
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
	struct acme_task task;
	struct acme_certificate *current; /* of the task; NULL: IDLE */
	struct net_key *key;              /* of an order */
	char *body;                       /* of the request */
	struct net_timer timer;
	usec begin_at;
};

int64_t acme_process_now(void);
/* Reads the account's key, or makes it. False with a message. */
bool acme_account_open(struct acme_process *p, char *error, size_t error_size);
/* Reads what there is, and says when what is due. */
void acme_certificates_open(struct acme_process *p);
/* Begins the task that is due. */
void acme_certificate_begin(struct acme_process *p, struct acme_certificate *c);
/* The task is done, or has failed. */
void acme_certificate_conclude(struct acme_process *p, struct acme_certificate *c);

#endif
