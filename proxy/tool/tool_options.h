/* SPDX-License-Identifier: MIT */
/* What the command lines of fetch and explain have in common. Private to tool/. */
#ifndef PUSHGATE_TOOL_TOOL_OPTIONS_H
#define PUSHGATE_TOOL_TOOL_OPTIONS_H

#include "proxy/base/slice.h"
#include "proxy/command/command.h"

/* A field of a request or a response. */
struct tool_field {
	struct slice name, value; /* name in lower case */
};

enum { TOOL_FIELDS_MAX = 64 };

struct tool_fields {
	struct tool_field list[TOOL_FIELDS_MAX];
	size_t count;
};

/* Sets an option that is a struct tool_fields: puts "Name: value" behind the others. Borrows and changes the text. */
const char *tool_add_field(void *fields, char *text);
/* The first one of this name; NULL: there is none. */
const struct tool_field *tool_find_field(const struct tool_fields *fields, struct slice name);
/* A number above 0 and at most a million. False: it is none. */
bool tool_read_number(const char *text, double *number);

/* Rows of the tables of options: AT(member) is where a value is stored. */
#define TEXT(what, member) .value = (what), .at = AT(member)
#define FILE_NAME(member) .value = "FILE", .kind = COMMAND_FILE, .at = AT(member)
#define SET(what, setter) .value = (what), .set = (setter)
#define SET_EACH(what, setter) .value = (what), .rules = COMMAND_REPEATS, .set = (setter)

#endif
