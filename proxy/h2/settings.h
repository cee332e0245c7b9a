/* SPDX-License-Identifier: MIT */
/* The settings as a table (RFC 9113 6.5.2, RFC 8441 3, RFC 9218 2.1) and their wire form. */
#ifndef PUSHGATE_H2_SETTINGS_H
#define PUSHGATE_H2_SETTINGS_H

#include "proxy/h2/h2_fault.h"

#define H2_SETTING_LEN 6u
#define H2_SETTING_COUNT 8u

struct h2_setting_row {
	uint16_t id;
	size_t offset; /* of the member in struct h2_settings */
	uint32_t min;
	uint32_t max[2];        /* by the sender's role: [H2_SERVER], [H2_CLIENT] */
	enum h2_fault_id fault; /* outside the range; H2_FAULT_COUNT: no value is outside */
};

extern const struct h2_setting_row h2_setting_rows[H2_SETTING_COUNT];

/* NULL: an unknown setting, to be ignored. */
const struct h2_setting_row *h2_setting_find(uint16_t id);

uint32_t h2_setting_get(const struct h2_settings *s, const struct h2_setting_row *row);
void h2_setting_set(struct h2_settings *s, const struct h2_setting_row *row, uint32_t value);

/* Writes each setting in which `now` differs from `before` (H2_SETTING_COUNT × H2_SETTING_LEN
 * bytes at most) and returns the length. */
size_t h2_settings_write(
    uint8_t *out, const struct h2_settings *now, const struct h2_settings *before);

#endif
