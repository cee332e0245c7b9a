/* SPDX-License-Identifier: MIT */
/*
 * Admission: the user of a request, and how much each client, each user and each value of a field may have. That is
 * requests (limit-requests), tunnels and their bytes (max-tunnels-per-client, max-tunnels-per-user, tunnel-rate), and
 * wrong passwords (user-failures). The gateway asks here before it dispatches a request; the rules that judge a request
 * are route/'s (route/access.h).
 */
#ifndef PUSHGATE_ADMISSION_ADMISSION_H
#define PUSHGATE_ADMISSION_ADMISSION_H

#include "proxy/admission/limit_table.h"
#include "proxy/admission/tunnel_quota.h"
#include "proxy/worker_env.h"

struct open_requests;
struct request_limits;
struct user_wait;
struct users;

enum user_answer {
	USER_NONE,    /* no credentials */
	USER_KNOWN,   /* x->facts.user is set */
	USER_WRONG,   /* unknown name, wrong password, another scheme than Basic */
	USER_WAITS,   /* admission.identified will be called, unless x ends before */
	USER_BUSY,    /* too many wait: 503 */
	USER_LIMITED, /* this client has failed too often: 429, retry_after is set */
};

/* Whether the password of a user of an [access NAME] section is right. Lent until the call returns. */
struct password_question {
	uint64_t id;     /* comes back with the answer */
	uint32_t access; /* conf_access.index */
	struct slice name, password;
};

/* What a worker's admission is made of. Its owner sets the public members and calls admission_open. */
struct admission {
	struct worker_env *env; /* borrows */
	/* A request that waited for its user goes on. */
	void (*identified)(void *context, struct exchange *x, enum user_answer answer);
	void *context;
	/* Asks whether a password is right. The answer comes by users_password_answer, never before this returns. False: no
	 * process answers now; users_passwords_open says when. NULL: no [access NAME] section has users. */
	bool (*ask_password)(void *context, const struct password_question *q);
	void *ask_context;
	/* The memories of this worker's tables (admission_tables), shared with its forerunners and successors, by whose seed
	 * all of them know their keys. NULL: it has tables of its own. */
	void *const *memories;
	uint32_t lane; /* there: below LIMIT_TABLE_LANES */
	uint64_t seed;
	/* Private. */
	struct users *users;           /* owned; NULL: no [access NAME] section has users */
	struct request_limits *limits; /* owned; NULL: no route has limit-requests */
	struct limit_table *tunnels;   /* owned; NULL: its quotas count alone */
	struct tunnel_quotas quotas;
};

void admission_open(struct admission *a);
void admission_close(struct admission *a); /* after the last exchange */

/* What admission/ keeps for an exchange. It lies in the exchange, which has room for it and knows no more of it.
 * may_alias: the exchange has an array of bytes in its place. */
struct __attribute__((may_alias)) admission_part {
	struct user_wait *wait;        /* while its password is checked; else NULL */
	struct open_requests *open;    /* where limit-requests counts it as open; NULL: nowhere */
	struct counted_tunnel *tunnel; /* NULL: no quota counts it */
	uint32_t retry_after;          /* seconds, for the answer that refuses it; 0: none */
	/* Why [access NAME] denied it: 1 + enum access_reason (route/access.h); 0: it did not. */
	uint8_t denial;
};
_Static_assert(sizeof(struct admission_part) <= EXCHANGE_ADMISSION_BYTES, "it has room there");

static inline struct admission_part *admission_part(const struct exchange *x)
{
	return (struct admission_part *)(uintptr_t)x->admission;
}

/*
 * Finds the user by the credentials of Authorization (gateway) or Proxy-Authorization (forward mode), among the users of
 * the listener's [access NAME]. Another process hashes passwords; its answer is kept for a short time, under a keyed
 * hash of the credentials.
 */
enum user_answer users_identify(struct admission *a, struct exchange *x);
/* Counts the request in the lines of its route. False: one of them refuses it, and it has been answered. */
bool request_limits_admit(struct admission *a, struct exchange *x);
/* Counts a request for a tunnel by its client and its user. False: it is one too many, and has been answered. */
bool tunnel_quotas_admit(struct admission *a, struct exchange *x);

/* admission_exchange_ended calls it. */
void admission_give_back(struct admission *a, struct exchange *x);
/* The exchange is over: it waits no more, and is counted nowhere any more. */
static inline void admission_exchange_ended(struct admission *a, struct exchange *x)
{
	const struct admission_part *own = admission_part(x);
	if (own->wait || own->open || own->tunnel)
		admission_give_back(a, x);
}

/* ---- tables that outlive a configuration ---- */

/* A table of each worker: of a line of limit-requests, of wrong passwords, or of tunnels. */
struct admission_table {
	uint64_t
	    identity; /* a digest: tables with the same one bound the same things in the same way */
	uint32_t keys; /* 0: it is not needed */
	bool counts_open;
	size_t bytes, bucket_bytes; /* the latter come first */
};

/* The lines by their index, then these. */
enum { ADMISSION_FAILURES, ADMISSION_TUNNELS, ADMISSION_OTHER_TABLES };

/* All tables that the configuration needs; the caller frees. */
struct admission_table *admission_tables(const struct conf *c, size_t *count);
/* Tables of this identity have the same shape in this version of their memory. Raise it when that changes. */
#define ADMISSION_TABLE_SHAPE 1u
/* The process that used this lane of the memory has ended. */
void admission_table_clear_lane(const struct admission_table *t, void *memory, uint32_t lane);

/* ---- from the process that hashes passwords ---- */

/* The answer to a question. False: no such question is on its way. Call these four from the loop. */
bool users_password_answer(struct users *u, uint64_t id, bool is_right);
/* Another process answers from now on, which may have other users: all results are forgotten. */
void users_passwords_open(struct users *u);
/* The questions that are on their way will not be answered. */
void users_passwords_lost(struct users *u);
/* The users of a section have changed. False: there is no such section. */
bool users_passwords_changed(struct users *u, uint32_t access);

#endif
