/* SPDX-License-Identifier: MIT */
/* See host.h. */
#include "proxy/http/host.h"

#include "proxy/base/ascii.h"

enum http_host_kind http_host_read(
    struct slice host, char name[HTTP_HOST_TEXT], struct address *address)
{
	bool is_bracketed = host.len > 2 && host.ptr[0] == '[';
	if (is_bracketed)
		host = slice_sub(host, 1, host.len - 2);
	if (!is_bracketed && host.len > 0 && host.ptr[host.len - 1] == '.')
		host.len--;
	if (host.len == 0 || host.len >= HTTP_HOST_TEXT)
		return HTTP_HOST_STRANGE;
	ascii_lower_copy(name, host);
	name[host.len] = '\0';
	if (address_parse(host, address))
		return HTTP_HOST_ADDRESS;
	return is_bracketed ? HTTP_HOST_STRANGE : HTTP_HOST_NAME;
}
