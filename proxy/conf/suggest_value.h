/* SPDX-License-Identifier: MIT */
/*
 * Private to conf/: suggestions of addresses, servers, hosts and paths. Each writes a value and
 * returns true, or knows none. The value is not empty.
 */
#ifndef PUSHGATE_CONF_SUGGEST_VALUE_H
#define PUSHGATE_CONF_SUGGEST_VALUE_H

#include "proxy/base/slice.h"

bool suggest_address(struct slice value, char *text, size_t size);
bool suggest_server(struct slice value, char *text, size_t size);
bool suggest_host(struct slice value, char *text, size_t size);
bool suggest_path(struct slice value, char *text, size_t size);
bool suggest_cidr(struct slice value, char *text, size_t size);

#endif
