/* SPDX-License-Identifier: MIT */
/* The table of byte classes; see ascii.h. */
#include "proxy/base/ascii.h"

const uint16_t ascii_classes[256] = {
    [0x00 ... 0x08] = ASCII_CONTROL,
    [0x0a ... 0x1f] = ASCII_CONTROL,
    [0x7f] = ASCII_CONTROL,
    ['0' ... '9'] = ASCII_DIGIT,
    ['A' ... 'F'] = ASCII_UPPER | ASCII_HEX_LETTER,
    ['G' ... 'Z'] = ASCII_UPPER,
    ['a' ... 'f'] = ASCII_LOWER | ASCII_HEX_LETTER,
    ['g' ... 'z'] = ASCII_LOWER,
    ['!'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['#'] = ASCII_TOKEN_MARK,
    ['$'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['%'] = ASCII_TOKEN_MARK,
    ['&'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['\''] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['('] = ASCII_HOST_MARK,
    [')'] = ASCII_HOST_MARK,
    ['*'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['+'] = ASCII_SCHEME_MARK | ASCII_HOST_MARK,
    [','] = ASCII_HOST_MARK,
    ['-'] = ASCII_SCHEME_MARK | ASCII_HOST_MARK | ASCII_DASH,
    ['.'] = ASCII_SCHEME_MARK | ASCII_HOST_MARK,
    [';'] = ASCII_HOST_MARK,
    ['='] = ASCII_HOST_MARK,
    ['^'] = ASCII_TOKEN_MARK,
    ['_'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
    ['`'] = ASCII_TOKEN_MARK,
    ['|'] = ASCII_TOKEN_MARK,
    ['~'] = ASCII_TOKEN_MARK | ASCII_HOST_MARK,
};
