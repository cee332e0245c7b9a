/* SPDX-License-Identifier: MIT */
/* What is always true of destinations between two loop passes; an invariant that does not hold ends the process. */
#ifndef PUSHGATE_TESTS_DESTINATION_CHECK_H
#define PUSHGATE_TESTS_DESTINATION_CHECK_H

#include "proxy/origin/origin_private.h"
#include "proxy/upstream/destination.h"

/* Counts match what is counted, for all destinations. */
void destinations_check(const struct upstream *u);
/* Nothing waits, and no server has anything to do. */
void destinations_check_idle(const struct upstream *u);

#endif
