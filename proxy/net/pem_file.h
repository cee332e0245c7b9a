/* SPDX-License-Identifier: MIT */
/* Part of net.h: looks into files of certificates and keys, for messages about them. */
#ifndef PUSHGATE_NET_PEM_FILE_H
#define PUSHGATE_NET_PEM_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sealed; /* base/sealed.h */

/* The contents of a file. Counts of PEM blocks; all are 0 when the file is no PEM file. */
struct net_pem_file {
	int error; /* of reading it, as errno; 0 = it was read */
	bool is_empty;
	bool is_der;    /* the binary form of a certificate or a key */
	bool is_pkcs12; /* a certificate and its key in one binary file */
	uint32_t certificates, keys, encrypted_keys, public_keys, requests;
};
void net_pem_look(const struct sealed *files, const char *file, struct net_pem_file *f);

/* One certificate of a file. Times in seconds since the Unix epoch. */
struct net_chain_link {
	int64_t starts, ends;
	char subject[64]; /* its common name, or its first name; "" = it has neither */
	bool has_names;   /* that a client can verify: dNSName or iPAddress */
	bool is_self_signed;
	bool is_signed_by_next; /* false for the last one */
	bool has_key;           /* the key belongs to it */
	bool is_key_read;       /* false: the key is damaged, or of an unknown kind */
	bool is_for_known_key;  /* false: its public key is of an unknown kind */
};
#define NET_CHAIN_MOST 16
/* Reads the certificates of the file, at most NET_CHAIN_MOST, and returns their number. Leaves out
 * unreadable ones. key_file may be NULL. */
size_t net_chain_read(const struct sealed *files, const char *chain_file, const char *key_file,
    struct net_chain_link links[NET_CHAIN_MOST]);

#endif
