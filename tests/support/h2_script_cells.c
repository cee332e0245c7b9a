/* SPDX-License-Identifier: MIT */
/* See h2_script_cells.h. */
#include "tests/support/h2_script_cells.h"

#define PROMISED_IN_CELL 100u

static const char *const input_names[INPUT_COUNT] = {"DATA", "DATA+END_STREAM", "HEADERS",
    "HEADERS+END_STREAM", "PRIORITY", "RST_STREAM", "PUSH_PROMISE", "WINDOW_UPDATE", "CONTINUATION",
    "PRIORITY_UPDATE", "unknown"};

static void sends_block(struct script *s, const struct script_row *row, unsigned flags)
{
	switch (row->block) {
	case SCRIPT_BLOCK_TRAILERS:
		script_sends_headers(s, row->id, flags, "x-trailer", "t", NULL);
		break;
	case SCRIPT_BLOCK_REQUEST:
		script_sends_headers(s, row->id, flags, ":method", "GET", ":scheme", "https",
		    ":authority", "example.org", ":path", "/", NULL);
		break;
	case SCRIPT_BLOCK_RESPONSE:
		script_sends_headers(s, row->id, flags, ":status", "200", NULL);
		break;
	}
}

static void sends_input(struct script *s, const struct script_row *row, enum script_input input)
{
	uint8_t block[64];
	// clang-format off
	switch (input) {
	case INPUT_DATA: script_sends_data(s, row->id, 0, 4); break;
	case INPUT_DATA_END: script_sends_data(s, row->id, H2_END_STREAM, 4); break;
	case INPUT_HEADERS: sends_block(s, row, 0); break;
	case INPUT_HEADERS_END: sends_block(s, row, H2_END_STREAM); break;
	case INPUT_PRIORITY: script_sends_priority(s, row->id, 0); break;
	case INPUT_RST: script_sends_rst(s, row->id, 0x77); break;
	case INPUT_PROMISE: script_sends_good_promise(s, row->id, PROMISED_IN_CELL); break;
	case INPUT_WINDOW_UPDATE: script_sends_window_update(s, row->id, 5); break;
	case INPUT_CONTINUATION:
		script_sends_raw(s, H2_CONTINUATION, H2_END_HEADERS, row->id, block,
		    script_encodes(s, block, sizeof block, "x-trailer", "t", NULL));
		break;
	case INPUT_PRIORITY_UPDATE: script_sends_priority_update(s, row->id, "u=2"); break;
	case INPUT_UNKNOWN: script_sends_raw(s, 0xee, 0xff, row->id, "what", 4); break;
	case INPUT_COUNT: break;
	}
	// clang-format on
}

/* The result as a letter: P C p c for errors, '.' for events without an error, '-' for nothing. */
static char judge(struct script *s, uint32_t id)
{
	script_pumps(s);
	uint32_t code = 0;
	char scope = 0;
	for (size_t i = s->frames_head; i < s->frames_tail; i++) {
		const struct script_frame *f = s->frames[i];
		if (f->type == H2_RST_STREAM && f->id == PROMISED_IN_CELL)
			return f->code == SESSION_REFUSED_STREAM || f->code == SESSION_CANCEL ? 'f' : '?';
		if (f->type == H2_RST_STREAM || f->type == H2_GOAWAY) {
			if (scope || (f->type == H2_RST_STREAM && f->id != id))
				return '?';
			code = f->code;
			scope = f->type == H2_GOAWAY ? 'c' : 's';
		}
	}
	if (session_has_failed(s->conn) != (scope == 'c'))
		return '?';
	if (scope && code == SESSION_PROTOCOL_ERROR)
		return scope == 'c' ? 'P' : 'p';
	if (scope && code == SESSION_STREAM_CLOSED)
		return scope == 'c' ? 'C' : 'c';
	if (scope)
		return '!';
	if (s->events_head == s->events_tail)
		return '-';
	const struct script_event *e = s->events[s->events_head];
	if (e->kind == SESSION_EVENT_RESET)
		return e->id == id && e->code == 0x77 && !e->fault ? 'r' : '?';
	return '.';
}

static const char *allowed(char letter)
{
	// clang-format off
	switch (letter) {
	case '.': return ".";
	case '-': return "-";
	case 'r': return "r";
	case 'p': return "p";
	case 'c': return "c";
	case 'P': return "P";
	case 'C': return "C";
	case 'x': return "cC";
	case 'Q': return "PC";
	case 'y': return "PpCc";
	case '*': return "-cC";
	case 'a': return "-PpCc";
	case 'f': return "f";
	}
	// clang-format on
	return "";
}

static bool walk_cell(const struct script_row *row, enum script_input input)
{
	struct script *s = script_open(row->role);
	row->drive(s);
	script_clears(s);
	sends_input(s, row, input);
	char got = judge(s, row->id);
	bool fine = strchr(allowed(row->letters[input]), got) != NULL;
	if (!fine)
		print_error("%s, stream %u, %s: expected %c, got %c\n%s", row->name, row->id,
		    input_names[input], row->letters[input], got,
		    s->transcript_bytes > 1200 ? s->transcript + s->transcript_bytes - 1200
					       : s->transcript);
	if (!strchr("PC?", got)) {
		script_clears(s);
		script_expects_alive(s);
	}
	script_close(s);
	return fine;
}

void script_walks(const struct script_row *rows, size_t count)
{
	int wrong = 0;
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(strlen(rows[i].letters), INPUT_COUNT);
		for (int input = 0; input < INPUT_COUNT; input++)
			wrong += !walk_cell(&rows[i], (enum script_input)input);
	}
	assert_int_equal(wrong, 0);
}
