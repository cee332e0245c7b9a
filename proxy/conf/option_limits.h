/* SPDX-License-Identifier: MIT */
/*
 * Private to options.c: the rows for what one connection's peer may do before the connection is
 * ended. Rows that hold for clients only or for origins only have lists of their own.
 * docs/LIMITS.md lists all limits and what happens beyond them.
 */
#ifndef PUSHGATE_CONF_OPTION_LIMITS_H
#define PUSHGATE_CONF_OPTION_LIMITS_H

#define RATE .type = CONF_TYPE_RATE, .min = 1, .max = 100000000

// clang-format off
#define LIMITS_OF_BOTH(SECTION, who) \
    {SECTION(limits.faults), .key = "limit-faults", RATE, .preset = "100/s burst 200", \
        .sentence = "Stream errors of the " who " on one connection. Beyond this rate the connection ends with " \
        "ENHANCE_YOUR_CALM, as with the other limits."}, \
    {SECTION(limits.pings), .key = "limit-pings", RATE, .preset = "500/s burst 1000", \
        .sentence = "PING frames on one connection. Each exchange and each DATA frame sent to the " who " allows half of one more."}, \
    {SECTION(limits.settings), .key = "limit-settings", RATE, .preset = "20/s burst 100", \
        .sentence = "SETTINGS and GOAWAY frames, and unexpected acknowledgements."}, \
    {SECTION(limits.priorities), .key = "limit-priorities", RATE, .preset = "1000/s burst 2000", \
        .sentence = "PRIORITY and PRIORITY_UPDATE frames and frames of unknown types. Each exchange allows three more."}, \
    {SECTION(limits.empty_frames), .key = "limit-empty-frames", RATE, .preset = "200/s burst 1000", \
        .sentence = "Empty DATA and CONTINUATION frames that end nothing. Each exchange allows one more."}, \
    {SECTION(limits.window_updates), .key = "limit-window-updates", RATE, .preset = "50000/s burst 100000", \
        .sentence = "WINDOW_UPDATE frames on one connection. Each DATA frame sent to the " who " allows four more, each exchange " \
        "three."}, \
    {SECTION(limits.field_blocks), .key = "limit-field-blocks", RATE, .preset = "10000/s burst 20000", \
        .sentence = "Field blocks without a completed exchange. Each completed exchange allows three more; each request " \
        "sent to an origin allows 32 more, for promises and their responses."}, \
    {SECTION(limits.field_block_bytes), .key = "max-field-block", WINDOW(4 * KIB, LIMIT_FIELD_BLOCK_BYTES), \
        .preset = "128k", \
        .sentence = "Largest field block, in bytes as sent (HPACK). A larger one ends the connection, because it cannot be " \
        "skipped: set max-header-list to a smaller size, which refuses only the stream."}, \
    {SECTION(limits.continuations), .key = "max-continuations", NUMBER(0, LIMIT_CONTINUATIONS), .preset = "32", \
        .sentence = "CONTINUATION frames in one field block. More end the connection."}, \
    /*
     * At least what the frames of one loop pass may ask for: the peer cannot read the replies
     * before they are sent.
     */ \
    {SECTION(limits.control_bytes), .key = "max-control-output", WINDOW(LIMIT_READ_PER_PASS_BYTES, 16 * MIB), .preset = "256k", \
        .sentence = "Bytes of replies (acknowledgements, resets) that may be queued while the " who " does not read " \
        "them. More end the connection. Requests, responses and promises do not count."}, \
    {SECTION(limits.min_rate), .key = "min-rate", NUMBER(0, 1000000), .preset = "100", \
        .sentence = "Least rate, in bytes a second, at which the " who " must send a body that it owes (with pauses of up to " \
        "body-timeout) and read a body (with pauses of up to write-timeout). Time in which pushgate itself delays the body " \
        "does not count. 0: one byte per timeout is enough."}

#define LIMITS_OF_CLIENTS(SECTION) \
    {SECTION(limits.resets), .key = "limit-resets", RATE, .preset = "100/s burst 200", \
        .sentence = "Requests that the client resets (RST_STREAM) on one connection. Each completed exchange allows half of one " \
        "more, each promise sent allows one more. Beyond this rate the connection ends with ENHANCE_YOUR_CALM. Set the " \
        "burst to at least max-concurrent-streams: a user who leaves a page resets all its requests."}, \
    {SECTION(limits.expansion), .key = "limit-expansion", RATE, .preset = "4096/s burst 4096", \
        .sentence = "KiB that the fields of the client's requests on one connection have beyond what was sent for them: in " \
        "HTTP/2 a byte may stand for a field that came before. Each completed exchange allows 8 more."}

#define LIMITS_OF_ORIGINS(SECTION) \
    {SECTION(limits.promises), .key = "limit-promises", RATE, .preset = "400000/s burst 400000", \
        .sentence = "Promises on one connection, refused ones included. Each request allows 32 more. Beyond this rate the " \
        "connection ends; promise-rate refuses single promises and promise-refusals turns push off earlier."}, \
    {SECTION(limits.reserved_pushes), .key = "max-reserved-pushes", NUMBER(1, LIMIT_RESERVED_STREAMS), .preset = "4096", \
        .sentence = "Promises on one connection whose responses have not begun yet. More are refused."}, \
    {SECTION(limits.interim_responses), .key = "max-interim-responses", NUMBER(0, LIMIT_INTERIM_RESPONSES), .preset = "32", \
        .sentence = "Interim (1xx) responses to one request. With more the request ends with 502."}
// clang-format on

#endif
