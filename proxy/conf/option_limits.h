/* SPDX-License-Identifier: MIT */
/*
 * Private to options.c: the rows about what one connection's peer may do before it is ended. They
 * are the same in [listen] and [origin]; what a client alone can do, or an origin alone, stands in
 * a list of its own. docs/LIMITS.md has them beside what happens.
 */
#ifndef PUSHGATE_CONF_OPTION_LIMITS_H
#define PUSHGATE_CONF_OPTION_LIMITS_H

#define RATE .type = CONF_TYPE_RATE, .min = 1, .max = 100000000

// clang-format off
#define LIMITS_OF_BOTH(SECTION, who) \
    {SECTION(limits.faults), .key = "limit-faults", RATE, .preset = "100/s burst 200", \
        .sentence = "Streams that we must reset because of what the " who " did wrong on them, in one connection. " \
        "Beyond it the connection is ended with ENHANCE_YOUR_CALM, as with the other limits."}, \
    {SECTION(limits.pings), .key = "limit-pings", RATE, .preset = "500/s burst 1000", \
        .sentence = "PING frames beside the traffic: each exchange and each DATA frame that we send allows half of one more."}, \
    {SECTION(limits.settings), .key = "limit-settings", RATE, .preset = "20/s burst 100", \
        .sentence = "SETTINGS and GOAWAY frames, and acknowledgements that were not asked for."}, \
    {SECTION(limits.priorities), .key = "limit-priorities", RATE, .preset = "1000/s burst 2000", \
        .sentence = "PRIORITY and PRIORITY_UPDATE frames and frames of unknown types; each exchange allows three more."}, \
    {SECTION(limits.empty_frames), .key = "limit-empty-frames", RATE, .preset = "200/s burst 1000", \
        .sentence = "DATA and CONTINUATION frames that neither carry nor end anything; each exchange allows one more."}, \
    {SECTION(limits.window_updates), .key = "limit-window-updates", RATE, .preset = "50000/s burst 100000", \
        .sentence = "WINDOW_UPDATE frames beside the traffic: each DATA frame that we send allows four more, each exchange " \
        "three."}, \
    {SECTION(limits.field_blocks), .key = "limit-field-blocks", RATE, .preset = "10000/s burst 20000", \
        .sentence = "Field blocks that lead to nothing: each exchange that is completed allows three more, and each request " \
        "that we send 32, for its promises and their answers."}, \
    {SECTION(limits.field_block_bytes), .key = "max-field-block", WINDOW(4 * KIB, LIMIT_FIELD_BLOCK_BYTES), \
        .preset = "128k", \
        .sentence = "Bytes of one field block on the wire. A larger one ends the connection, because it cannot be skipped: " \
        "let max-header-list be smaller."}, \
    {SECTION(limits.continuations), .key = "max-continuations", NUMBER(0, LIMIT_CONTINUATIONS), .preset = "32", \
        .sentence = "CONTINUATION frames of one field block; more end the connection."}, \
    /* At least what the frames of one turn may ask for: nobody can read an answer before it has left. */ \
    {SECTION(limits.control_bytes), .key = "max-control-output", WINDOW(LIMIT_READ_PER_PASS_BYTES, 16 * MIB), .preset = "256k", \
        .sentence = "Bytes of answers (acknowledgements, resets) that may wait while the " who " provokes them and does not " \
        "read them; more end the connection. Requests, responses and promises do not count."}, \
    {SECTION(limits.min_rate), .key = "min-rate", NUMBER(0, 1000000), .preset = "100", \
        .sentence = "Bytes a second that the " who " has to send of a body that it owes, and to take of one that waits for it, " \
        "on average over body-timeout and write-timeout. While we hold it back, or others go first, its time does not run. " \
        "0: one byte in that time is enough, as it is for a response without content-length."}

#define LIMITS_OF_CLIENTS(SECTION) \
    {SECTION(limits.resets), .key = "limit-resets", RATE, .preset = "100/s burst 200", \
        .sentence = "Requests that the client resets (RST_STREAM) in one connection: so many a second on average, and so many " \
        "at once. Each exchange that is completed allows half of one more, each promise of ours one. Beyond it the connection " \
        "is ended with ENHANCE_YOUR_CALM. Let the burst be at least max-concurrent-streams: a user who leaves a page " \
        "resets them all."}

#define LIMITS_OF_ORIGINS(SECTION) \
    {SECTION(limits.promises), .key = "limit-promises", RATE, .preset = "400000/s burst 400000", \
        .sentence = "Promises in one connection, refused ones included; each request allows 32 more. Before this ends the " \
        "connection, promise-rate refuses them one by one, and promise-refusals turns push off."}, \
    {SECTION(limits.reserved_pushes), .key = "max-reserved-pushes", NUMBER(1, LIMIT_RESERVED_STREAMS), .preset = "4096", \
        .sentence = "Promises at a time on one connection whose responses have not begun; more are refused."}, \
    {SECTION(limits.interim_responses), .key = "max-interim-responses", NUMBER(0, LIMIT_INTERIM_RESPONSES), .preset = "32", \
        .sentence = "Interim (1xx) responses to one request; with more it is ended with 502."}
// clang-format on

#endif
