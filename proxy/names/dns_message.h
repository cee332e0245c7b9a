/* SPDX-License-Identifier: MIT */
/*
 * Messages of the DNS (RFC 1035 4): a query made, an answer read. No socket and no clock: bytes in, an outcome
 * out. c-ares writes and reads the names in them; the records are read here, because c-ares drops the TTL of SRV
 * records, the SOA of negative answers and the chain of CNAME.
 */
#ifndef PUSHGATE_NAMES_DNS_MESSAGE_H
#define PUSHGATE_NAMES_DNS_MESSAGE_H

#include "proxy/base/cidr.h"
#include "proxy/limits.h"

enum dns_type { DNS_A = 1, DNS_CNAME = 5, DNS_SOA = 6, DNS_AAAA = 28, DNS_SRV = 33 };

#define DNS_NAME_BYTES 256 /* as text, with its NUL (RFC 1035 2.3.4) */
#define DNS_UDP_BYTES 512  /* a query, and an answer to it over UDP (RFC 1035 4.2.1) */

enum dns_outcome {
	DNS_FOREIGN, /* not an answer to this question: wrong id, wrong question, or no answer at all */
	DNS_TRUNCATED, /* ask again over TCP */
	DNS_FAILED,    /* the resolver cannot say, or its answer cannot be read: `error` says why */
	DNS_NEGATIVE,  /* there is no such name, or it has no such record: `error` says which */
	DNS_ANSWERED,
};

/* A server that a SRV record names. */
struct dns_target {
	uint16_t priority, weight, port;
	char host[DNS_NAME_BYTES]; /* lower case, without a dot at its end */
};

struct dns_answer {
	enum dns_outcome outcome;
	const char *error; /* a constant; NULL: DNS_ANSWERED */
	uint32_t
	    ttl; /* seconds: the smallest of the chain; of the SOA; UINT32_MAX: nothing said so */
	size_t count; /* of addresses or targets; ascending, each once */
	union {
		struct address addresses[LIMIT_NAME_ADDRESSES];
		struct dns_target targets[LIMIT_SRV_TARGETS];
	};
};

struct dns_question {
	const char *host; /* lower case, without a dot at its end */
	enum dns_type type;
	uint16_t id;
};

/* Writes the lower-case form without a dot at its end. False: this cannot be the name of a host or a service. */
bool dns_name_copy(struct slice name, char out[DNS_NAME_BYTES]);
/* Returns the length; 0: there can be no such question. */
size_t dns_write_query(const struct dns_question *q, uint8_t out[DNS_UDP_BYTES]);
void dns_read_answer(struct slice message, const struct dns_question *q, struct dns_answer *a);

#endif
