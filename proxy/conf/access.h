/* SPDX-License-Identifier: MIT */
/* The rules of an [access NAME] section. Included by conf.h. */
#ifndef PUSHGATE_CONF_ACCESS_H
#define PUSHGATE_CONF_ACCESS_H

#include "policy/policy.h"
#include "proxy/base/cidr.h"

enum conf_access_deed { CONF_ACCESS_ALLOW, CONF_ACCESS_DENY, CONF_ACCESS_ASK };

/* One line allow, deny or ask; an empty list takes everything, or what is usual (docs/FORWARD.md). */
struct conf_access_rule {
	enum conf_access_deed deed;
	const char *text; /* as written, with its deed */
	uint32_t line;
};

struct conf_access {
	const char *name;
	struct conf_access_rule *rules; /* in the order of the file; the first that takes a request decides */
	size_t rule_count;
	const char *users; /* path of an htpasswd file; NULL: nobody has a password */
	const char *realm;
	uint32_t index;
};

#endif
