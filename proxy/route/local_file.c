/* SPDX-License-Identifier: MIT */
/* Which file of its folder a route with `files` answers with. The file system is not asked: the files were read before. */
#include "proxy/route/route.h"

#include "proxy/base/ascii.h"
#include "proxy/limits.h"

#define INDEX "index.html"

/* Decodes percent-encoding, once. False: no file has such a name. "%2f" is no separator of the path (RFC 3986 2.2). */
static bool decode(struct slice path, char out[LIMIT_FOLDER_NAME_BYTES], size_t *length)
{
	*length = 0;
	for (size_t i = 0; i < path.len; i++) {
		int byte = (unsigned char)path.ptr[i];
		if (byte == '%') {
			byte = ascii_percent_byte(slice_from(path, i));
			i += 2;
			if (byte <= 0 || byte == '/')
				return false;
		}
		if (*length == LIMIT_FOLDER_NAME_BYTES)
			return false;
		out[(*length)++] = (char)byte;
	}
	return true;
}

enum route_file route_find_file(
    const struct conf_route *route, const struct http_head *request, struct http_file *file)
{
	char name[LIMIT_FOLDER_NAME_BYTES + sizeof("/" INDEX)];
	size_t length;
	struct slice path = slice_sub(request->path, 0, slice_find(request->path, '?'));
	struct slice set = route->folder.files;
	if (slice_peek(path) != '/' || !decode(slice_from(path, 1), name, &length))
		return ROUTE_FILE_NONE;
	bool is_folder = length == 0 || name[length - 1] == '/';
	if (!is_folder && http_file_set_find(set, slice_of(name, length), file))
		return ROUTE_FILE_FOUND;
	if (!is_folder)
		name[length++] = '/';
	memcpy(name + length, INDEX, strlen(INDEX));
	if (!http_file_set_find(set, slice_of(name, length + strlen(INDEX)), file))
		return ROUTE_FILE_NONE;
	return is_folder ? ROUTE_FILE_FOUND : ROUTE_FILE_FOLDER;
}
