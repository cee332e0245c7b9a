/* SPDX-License-Identifier: MIT */
/* The parameters of a request for a page: "host=a&path=%2Fb". Private to admin/. */
#ifndef PUSHGATE_ADMIN_QUERY_H
#define PUSHGATE_ADMIN_QUERY_H

#include "proxy/base/slice.h"

/* The decoded value of the first parameter of this name, cut at size - 1 bytes. False: there is none; value is "". */
bool query_value(struct slice query, const char *name, char *value, size_t size);

#endif
