/* SPDX-License-Identifier: MIT */
/* The text of a hosts file (hosts(5)) and of resolv.conf(5). The files are read by another process. */
#ifndef PUSHGATE_NAMES_HOSTS_H
#define PUSHGATE_NAMES_HOSTS_H

#include "proxy/base/cidr.h"
#include "proxy/net/net.h"

struct hosts;

/* Leaves out lines that are malformed, and all behind the first LIMIT_NAMES_FILE_BYTES. */
struct hosts *hosts_new(struct slice text);
void hosts_free(struct hosts *h); /* NULL is fine */
/*
 * The addresses that the file has for the host (lower case), of any family; writes at most `most`. 0: the file does
 * not name it. `localhost` and the names below it have loopback addresses whatever a file says (RFC 6761
 * 6.3): those that the file gives to the name, or else to `localhost`, or else ::1 and 127.0.0.1.
 */
size_t hosts_find(const struct hosts *h, const char *host, struct address *out, size_t most);

/* The resolvers of resolv.conf in their order; without one that of this host (127.0.0.1). Returns their number. */
size_t resolv_conf_read(struct slice text, struct net_address *out, size_t most);

#endif
