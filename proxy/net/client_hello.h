/* SPDX-License-Identifier: MIT */
/* The first bytes of a TLS that ends elsewhere. Included by net.h. */
#ifndef PUSHGATE_NET_CLIENT_HELLO_H
#define PUSHGATE_NET_CLIENT_HELLO_H

#include "proxy/base/slice.h"

#define NET_HELLO_BYTES 16384u    /* records and message of a ClientHello at most */
#define NET_HELLO_NAME_BYTES 256u /* RFC 1035 2.3.4, and a NUL */
enum net_hello { NET_HELLO_MORE, NET_HELLO_OTHER, NET_HELLO_WHOLE };
/* Reads the first bytes of a TLS client. WHOLE: *name is the server name, in lower case without a final dot; "": it names
 * none. OTHER: they are no ClientHello. */
enum net_hello net_read_hello(struct slice bytes, char name[NET_HELLO_NAME_BYTES]);

#endif
