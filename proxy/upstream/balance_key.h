/* SPDX-License-Identifier: MIT */
#ifndef PUSHGATE_UPSTREAM_BALANCE_KEY_H
#define PUSHGATE_UPSTREAM_BALANCE_KEY_H
#include "proxy/upstream/balance.h"
struct destination;
struct exchange;
void balance_ask(const struct destination *d, struct exchange *x, struct balance_question *q);
#endif
