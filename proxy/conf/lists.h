/* SPDX-License-Identifier: MIT */
/* Lists, bodies and passwords that may change while a configuration is used. Included by conf.h. */
#ifndef PUSHGATE_CONF_LISTS_H
#define PUSHGATE_CONF_LISTS_H

#include "proxy/base/slice.h"

struct conf;

/*
 * Visits each set of hosts, body and credential that a file may have filled; the visitor may replace its bytes, which are
 * aligned for any type. For all loads of the same text the order is the same.
 */
void conf_visit_lists(
    const struct conf *c, void (*visit)(void *context, struct slice *bytes), void *context);
/* Both are loads of the same text: whether nothing else of `now` depends on what the files of lists have in `next`. */
bool conf_lists_may_change(const struct conf *now, const struct conf *next);

#endif
