/* SPDX-License-Identifier: MIT */
/*
 * Private to conf/: what a bad value probably meant, for rows of the option table. Each function
 * writes a value and returns true, or knows none. The value given is not empty.
 */
#ifndef PUSHGATE_CONF_SUGGEST_VALUE_H
#define PUSHGATE_CONF_SUGGEST_VALUE_H

#include "proxy/base/slice.h"

/* suggest_net.c */
bool suggest_address(struct slice value, char *text, size_t size);
bool suggest_server(struct slice value, char *text, size_t size);
bool suggest_host(struct slice value, char *text, size_t size);
bool suggest_path(struct slice value, char *text, size_t size);
bool suggest_cidr(struct slice value, char *text, size_t size);
/* suggest_value.c */
bool suggest_workers(struct slice value, char *text, size_t size);
bool suggest_percent(struct slice value, char *text, size_t size);
bool suggest_rate(struct slice value, char *text, size_t size);
bool suggest_rtt(struct slice value, char *text, size_t size);
bool suggest_hsts(struct slice value, char *text, size_t size);
bool suggest_media_type(struct slice value, char *text, size_t size);
bool suggest_upgrade(struct slice value, char *text, size_t size);

#endif
