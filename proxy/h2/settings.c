/* SPDX-License-Identifier: MIT */
/* The settings table. conn_settings.c decides when a value takes effect. */
#include "proxy/h2/settings.h"
#include "proxy/h2/frame.h"

#include <stddef.h>

const struct h2_settings h2_settings_initial = {
    .header_table_size = 4096,
    .enable_push = 1,
    .max_concurrent_streams = UINT32_MAX,
    .initial_window_size = 65535,
    .max_frame_size = 16384,
    .max_header_list_size = UINT32_MAX,
    .enable_connect_protocol = 0,
    .no_rfc7540_priorities = 0,
};

#define AT(member) offsetof(struct h2_settings, member)

// clang-format off
const struct h2_setting_row h2_setting_rows[H2_SETTING_COUNT] = {
	{0x1, AT(header_table_size), 0, {UINT32_MAX, UINT32_MAX}, H2_FAULT_COUNT},
	{0x2, AT(enable_push), 0, {[H2_SERVER] = 0, [H2_CLIENT] = 1}, H2_FAULT_SETTINGS_PUSH},
	{0x3, AT(max_concurrent_streams), 0, {UINT32_MAX, UINT32_MAX}, H2_FAULT_COUNT},
	{0x4, AT(initial_window_size), 0, {H2_WINDOW_MAX, H2_WINDOW_MAX}, H2_FAULT_SETTINGS_WINDOW},
	{0x5, AT(max_frame_size), 16384, {16777215, 16777215}, H2_FAULT_SETTINGS_FRAME},
	{0x6, AT(max_header_list_size), 0, {UINT32_MAX, UINT32_MAX}, H2_FAULT_COUNT},
	{0x8, AT(enable_connect_protocol), 0, {1, 1}, H2_FAULT_SETTINGS_CONNECT}, /* RFC 8441 3 */
	{0x9, AT(no_rfc7540_priorities), 0, {1, 1}, H2_FAULT_SETTINGS_PRIORITIES}, /* RFC 9218 2.1 */
};
// clang-format on

const struct h2_setting_row *h2_setting_find(uint16_t id)
{
	for (size_t i = 0; i < H2_SETTING_COUNT; i++)
		if (h2_setting_rows[i].id == id)
			return &h2_setting_rows[i];
	return NULL;
}

uint32_t h2_setting_get(const struct h2_settings *s, const struct h2_setting_row *row)
{
	uint32_t value;
	memcpy(&value, (const char *)s + row->offset, sizeof(value));
	return value;
}

void h2_setting_set(struct h2_settings *s, const struct h2_setting_row *row, uint32_t value)
{
	memcpy((char *)s + row->offset, &value, sizeof(value));
}

size_t h2_settings_write(
    uint8_t *out, const struct h2_settings *now, const struct h2_settings *before)
{
	size_t n = 0;
	for (size_t i = 0; i < H2_SETTING_COUNT; i++) {
		const struct h2_setting_row *row = &h2_setting_rows[i];
		uint32_t value = h2_setting_get(now, row);
		if (value == h2_setting_get(before, row))
			continue;
		out[n] = (uint8_t)(row->id >> 8);
		out[n + 1] = (uint8_t)row->id;
		h2_write32(out + n + 2, value);
		n += H2_SETTING_LEN;
	}
	return n;
}
