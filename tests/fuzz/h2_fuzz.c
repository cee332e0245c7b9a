/* SPDX-License-Identifier: MIT */
/*
 * The engine under arbitrary bytes, arbitrarily split, with an owner that does arbitrary (but
 * legal) things in between. The invariants are walked after each step.
 *
 * Input: one byte of options, then steps of one byte. Below 0x60: so many bytes (and one) of
 * what follows come from the peer. Below 0x80: a frame does, of which the input says type, flags,
 * stream and content, and the target the length. Any other is an action of the owner's, with one
 * byte of argument.
 */
#include "tests/fuzz/input.h"
#include "tests/support/h2_owner.h"

#include "proxy/base/ensure.h"

enum {
	OPTION_CLIENT = 1,
	OPTION_BARE = 2, /* the peer has said nothing yet */
	OPTION_NARROW = 4,
	OPTION_POOR = 8,
	OPTION_CREDIT = 16,
	OPTION_NO_TABLE = 32,
	OPTION_LONG_FRAMES = 64,
	OPTION_STRICT = 128, /* about floods */
};

/* Actions that are not the owner's: what the transport and the clock do. */
enum { TURN = H2_OWNER_ACTION_COUNT, CONTROL, TIME, ACTIONS };

static void receive_frame(struct h2_owner *o, struct input *in, uint8_t step)
{
	uint8_t frame[9 + 256] = {0};
	uint8_t type = step & 0x1f;
	frame[3] = type == 0x1f ? input_byte(in) : type;
	frame[4] = input_byte(in);
	frame[8] = input_byte(in);
	struct slice content = input_take(in, input_byte(in));
	frame[2] = (uint8_t)content.len;
	memcpy(frame + 9, content.ptr, content.len);
	h2_owner_receive(o, frame, 9 + content.len);
}

static void act(struct h2_owner *o, uint8_t step, uint8_t argument)
{
	struct session_output frame;
	unsigned action = step % ACTIONS;
	if (action == TURN) {
		h2_next_data(o->conn, (uint32_t)argument * 100, &frame);
	} else if (action == CONTROL) {
		struct slice control = h2_control(o->conn);
		h2_control_taken(o->conn, argument < 128 ? control.len : control.len / 2);
	} else if (action == TIME) {
		session_tick(o->conn, o->now += (usec)argument * argument * 100);
	} else {
		h2_owner_act(o, (enum h2_owner_action)action, step >> 4 & 7, argument);
		return;
	}
	h2_owner_check(o);
	h2_owner_drain(o);
}

static void run(struct h2_owner *o, struct input *in)
{
	while (in->left > 0) {
		uint8_t step = input_byte(in);
		if (step < 0x60) {
			struct slice bytes = input_take(in, (size_t)step + 1);
			h2_owner_receive(o, bytes.ptr, bytes.len);
		} else if (step < 0x80) {
			receive_frame(o, in, step);
		} else {
			act(o, step, input_byte(in));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	uint8_t options = input_byte(&in);
	bool is_client = options & OPTION_CLIENT;
	struct h2_owner o = {.chunks = chunk_pool_new(16384, 1), .heads = http_head_pool_new(4)};
	struct h2_settings settings = h2_settings_initial;
	settings.max_concurrent_streams = 8;
	settings.enable_connect_protocol = !is_client;
	settings.max_header_list_size = 4096;
	settings.initial_window_size = options & OPTION_NARROW ? 100 : 65535;
	settings.header_table_size = options & OPTION_NO_TABLE ? 0 : 4096;
	settings.max_frame_size = options & OPTION_LONG_FRAMES ? 20000 : 16384;
	struct h2_limits limits = h2_limits_default;
	limits.reserved_streams = 8;
	if (options & OPTION_STRICT) {
		const struct rate rate = {1, 4};
		limits.resets_received = limits.resets_provoked = limits.pings = rate;
		limits.settings = limits.priorities = limits.empty_frames = rate;
		limits.promises = limits.field_blocks = limits.window_updates = rate;
		limits.expansion = rate;
		limits.control_bytes = 200;
		limits.output_bytes = 1000;
	}
	o.gives_credit = options & OPTION_CREDIT;
	h2_owner_init(&o, is_client ? H2_CLIENT : H2_SERVER, &settings, &limits,
	    options & OPTION_POOR ? 20000 : 1u << 20, 1);
	if (!(options & OPTION_BARE)) {
		if (!is_client)
			h2_owner_receive(&o, H2_PREFACE, H2_PREFACE_LEN);
		h2_owner_receive(&o, "\0\0\0\4\0\0\0\0\0", 9);
	}
	run(&o, &in);
	session_check(o.conn);
	h2_owner_fini(&o);
	http_head_pool_free(o.heads);
	chunk_pool_free(o.chunks);
	return 0;
}
