/* SPDX-License-Identifier: MIT */
/* Private to process/: the text of `pushgate status` as JSON (docs/COUNTERS.md has the shape). */
#ifndef PUSHGATE_PROCESS_STATUS_JSON_H
#define PUSHGATE_PROCESS_STATUS_JSON_H

#include <stdio.h>

/* `text` is what status_print prints. */
void status_json(const char *text, FILE *out);

#endif
