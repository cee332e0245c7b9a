/* SPDX-License-Identifier: MIT */
/*
 * Private to conf/: what a bad value probably meant, for rows of the option table. Each function
 * writes a value and returns true, or knows none. The value given is not empty.
 */
#ifndef PUSHGATE_CONF_SUGGEST_VALUE_H
#define PUSHGATE_CONF_SUGGEST_VALUE_H

#include "proxy/conf/option.h"

/* suggest_net.c */
conf_suggester suggest_address, suggest_server, suggest_host, suggest_path, suggest_cidr;
/* suggest_value.c */
conf_suggester suggest_workers, suggest_percent, suggest_rate, suggest_rtt, suggest_hsts,
    suggest_media_type, suggest_upgrade;

#endif
