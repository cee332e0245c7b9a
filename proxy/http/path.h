/* SPDX-License-Identifier: MIT */
/* Prefixes of paths (RFC 3986 3.3), which end at the end of a segment. */
#ifndef PUSHGATE_HTTP_PATH_H
#define PUSHGATE_HTTP_PATH_H

#include "proxy/base/slice.h"

/* Whether the path, with or without a query, is the prefix or below it. The prefix has no final "/":
 * the root is empty. */
bool http_path_is_below(struct slice path, struct slice prefix);

/*
 * Whether a server that removes dot segments may find a place above where the path begins. Sees what
 * some servers take for a dot, for the end of a segment or for that of the path: %2e, %2f, a backslash,
 * parameters ("..;x"), and all that is decoded more than once or in ways of its own: %252e, %u002e,
 * %c0%ae (overlong UTF-8), %00. The query is not looked at.
 */
bool http_path_climbs(struct slice path);

/*
 * The path as a server may read it: percent-encoding decoded, a backslash as "/", without parameters (";x"), empty
 * segments and dot segments. The query is left out. `out` has room for path.len bytes. A path that does not begin
 * with "/" comes back as it is.
 */
struct slice http_path_plain(struct slice path, char *out);

/*
 * Whether servers may read the path in more ways than as it is and as http_path_plain reads it. They do not agree on
 * what ".." takes away when it is not among plain segments ("/a%2fb/../c", "/a//../c"), nor on where a parameter ends
 * ("/;%2fa/b"), and some take what follows "//" for a host, as in a relative reference (RFC 3986 4.2). Some decode
 * twice ("%2561"), end a path at "%00", or decode "%u0061" and overlong UTF-8.
 */
bool http_path_is_ambiguous(struct slice path);

#endif
