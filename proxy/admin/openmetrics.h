/* SPDX-License-Identifier: MIT */
/*
 * Prometheus' text format 0.0.4 as OpenMetrics 1.0: families of counters are named without _total in HELP and TYPE, and quotes
 * in HELP are escaped. https://prometheus.io/docs/specs/om/open_metrics_spec/
 */
#ifndef PUSHGATE_ADMIN_OPENMETRICS_H
#define PUSHGATE_ADMIN_OPENMETRICS_H

#include "proxy/base/slice.h"
#include <stdio.h>

/* Whole lines, as status prints them, without the last "# EOF". */
void openmetrics_write(struct slice text, FILE *out);

#endif
