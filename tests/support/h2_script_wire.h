/* SPDX-License-Identifier: MIT */
/* Private to the h2_script_*.c files. */
#ifndef PUSHGATE_TESTS_SUPPORT_H2_SCRIPT_WIRE_H
#define PUSHGATE_TESTS_SUPPORT_H2_SCRIPT_WIRE_H

#include "tests/support/h2_script.h"

void script_notes(struct script *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *script_event_name(enum session_event_kind kind);
const char *script_frame_name(uint8_t type);
uint32_t script_random(struct script *s);
/* Splits the engine's output into frames, checks and queues them. */
void script_takes_output(struct script *s, const void *bytes, size_t length);
/* Pairs ended by 0; NULL: none. */
void script_sends_settings_list(struct script *s, const uint32_t *pairs);
uint32_t script_get32(const uint8_t *at);

#endif
