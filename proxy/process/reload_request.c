/* SPDX-License-Identifier: MIT */
/* See reload_request.h. The command is reload_command.c. */
#include "proxy/process/reload_request.h"

#include "proxy/base/descriptor.h"
#include "proxy/base/memory.h"
#include "proxy/process/answer.h"
#include <stdlib.h>
#include <string.h>

bool reload_is_request(struct slice name)
{
	return slice_starts_with(name, SLICE(RELOAD_REQUEST));
}

bool upgrade_is_request(struct slice name)
{
	return slice_starts_with(name, SLICE(UPGRADE_REQUEST));
}

void reload_askers_init(struct reload_askers *a)
{
	for (size_t i = 0; i < RELOAD_ASKERS; i++)
		a->all[i].socket = -1;
}

static void answer(struct reload_asker *a, const char *text, size_t length, enum process_status s)
{
	answer_send(a->socket, text, length, s);
	descriptor_close(&a->socket);
}

static struct reload_asker *find_place(struct reload_askers *a)
{
	for (size_t i = 0; i < RELOAD_ASKERS; i++) {
		struct reload_asker *place = &a->all[i];
		if (place->socket >= 0 && answer_is_unwanted(place->socket))
			descriptor_close(&place->socket);
		if (place->socket < 0)
			return place;
	}
	return NULL;
}

void reload_askers_add(struct reload_askers *a, int socket)
{
	static const char too_many[] = "too many commands wait for a reload\n";
	struct reload_asker fresh = {socket, true};
	struct reload_asker *place = find_place(a);
	if (place)
		*place = fresh;
	else
		answer(&fresh, too_many, sizeof(too_many) - 1, PROCESS_FAILED);
}

static void forget_text(struct reload_askers *a)
{
	free(a->text);
	a->text = NULL;
	a->length = 0;
	a->is_cut = false;
}

void reload_askers_begin(struct reload_askers *a)
{
	forget_text(a);
	for (size_t i = 0; i < RELOAD_ASKERS; i++)
		a->all[i].is_next = false;
}

void reload_askers_tell(struct reload_askers *a, const char *text)
{
	size_t length = strlen(text), room = RELOAD_TEXT_BYTES - a->length;
	if (a->is_cut)
		return;
	a->is_cut = length > room;
	while (a->is_cut && room > 0 && text[room - 1] != '\n')
		room--;
	if (a->is_cut)
		length = room;
	a->text = memory_resize(a->text, a->length + length + 1, 1);
	memcpy(a->text + a->length, text, length);
	a->length += length;
}

void reload_askers_end(struct reload_askers *a, enum process_status status)
{
	static const char more[] = "more does not fit here; the error log has all\n";
	if (a->is_cut) {
		a->text = memory_resize(a->text, a->length + sizeof(more), 1);
		memcpy(a->text + a->length, more, sizeof(more));
		a->length += sizeof(more) - 1;
	}
	for (size_t i = 0; i < RELOAD_ASKERS; i++)
		if (a->all[i].socket >= 0 && !a->all[i].is_next)
			answer(&a->all[i], a->text, a->length, status);
	forget_text(a);
}

void reload_askers_dismiss(struct reload_askers *a, const char *why)
{
	reload_askers_begin(a);
	reload_askers_tell(a, why);
	reload_askers_end(a, PROCESS_FAILED);
}

void reload_askers_close(struct reload_askers *a)
{
	forget_text(a);
	for (size_t i = 0; i < RELOAD_ASKERS; i++)
		descriptor_close(&a->all[i].socket);
}
