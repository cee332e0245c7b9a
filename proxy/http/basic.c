/* SPDX-License-Identifier: MIT */
/* See basic.h. */
#include "proxy/http/basic.h"

#include "proxy/base/ascii.h"
#include "proxy/base/base64.h"

bool http_basic_parse(
    struct slice value, char buffer[HTTP_BASIC_BYTES], struct slice *name, struct slice *password)
{
	size_t length, space = slice_find(value, ' ');
	if (!slice_equal_nocase(slice_sub(value, 0, space), SLICE("basic")) ||
	    !base64_decode(
		slice_trim(slice_from(value, space)), buffer, HTTP_BASIC_BYTES, &length) ||
	    length == 0)
		return false;
	struct slice both = slice_of(buffer, length);
	size_t colon = slice_find(both, ':');
	*name = slice_sub(both, 0, colon);
	*password = slice_from(both, colon + 1);
	return colon < length && !ascii_has(both, ASCII_CONTROL) &&
	       slice_find(both, '\t') == length;
}
