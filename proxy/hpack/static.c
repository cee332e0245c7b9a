/* SPDX-License-Identifier: MIT */
/* The static table (RFC 7541 appendix A), in its order. */
#include "proxy/hpack/static.h"

// clang-format off
/* FIRST(index, symbol, name, value): the first row with this name; MORE: a further one. */
#define STATIC_ROWS(FIRST, MORE) \
	FIRST(1, PSEUDO_AUTHORITY, ":authority", "") \
	FIRST(2, PSEUDO_METHOD, ":method", "GET") \
	MORE(3, PSEUDO_METHOD, ":method", "POST") \
	FIRST(4, PSEUDO_PATH, ":path", "/") \
	MORE(5, PSEUDO_PATH, ":path", "/index.html") \
	FIRST(6, PSEUDO_SCHEME, ":scheme", "http") \
	MORE(7, PSEUDO_SCHEME, ":scheme", "https") \
	FIRST(8, PSEUDO_STATUS, ":status", "200") \
	MORE(9, PSEUDO_STATUS, ":status", "204") \
	MORE(10, PSEUDO_STATUS, ":status", "206") \
	MORE(11, PSEUDO_STATUS, ":status", "304") \
	MORE(12, PSEUDO_STATUS, ":status", "400") \
	MORE(13, PSEUDO_STATUS, ":status", "404") \
	MORE(14, PSEUDO_STATUS, ":status", "500") \
	FIRST(15, ACCEPT_CHARSET, "accept-charset", "") \
	FIRST(16, ACCEPT_ENCODING, "accept-encoding", "gzip, deflate") \
	FIRST(17, ACCEPT_LANGUAGE, "accept-language", "") \
	FIRST(18, ACCEPT_RANGES, "accept-ranges", "") \
	FIRST(19, ACCEPT, "accept", "") \
	FIRST(20, ACCESS_CONTROL_ALLOW_ORIGIN, "access-control-allow-origin", "") \
	FIRST(21, AGE, "age", "") \
	FIRST(22, ALLOW, "allow", "") \
	FIRST(23, AUTHORIZATION, "authorization", "") \
	FIRST(24, CACHE_CONTROL, "cache-control", "") \
	FIRST(25, CONTENT_DISPOSITION, "content-disposition", "") \
	FIRST(26, CONTENT_ENCODING, "content-encoding", "") \
	FIRST(27, CONTENT_LANGUAGE, "content-language", "") \
	FIRST(28, CONTENT_LENGTH, "content-length", "") \
	FIRST(29, CONTENT_LOCATION, "content-location", "") \
	FIRST(30, CONTENT_RANGE, "content-range", "") \
	FIRST(31, CONTENT_TYPE, "content-type", "") \
	FIRST(32, COOKIE, "cookie", "") \
	FIRST(33, DATE, "date", "") \
	FIRST(34, ETAG, "etag", "") \
	FIRST(35, EXPECT, "expect", "") \
	FIRST(36, EXPIRES, "expires", "") \
	FIRST(37, FROM, "from", "") \
	FIRST(38, HOST, "host", "") \
	FIRST(39, IF_MATCH, "if-match", "") \
	FIRST(40, IF_MODIFIED_SINCE, "if-modified-since", "") \
	FIRST(41, IF_NONE_MATCH, "if-none-match", "") \
	FIRST(42, IF_RANGE, "if-range", "") \
	FIRST(43, IF_UNMODIFIED_SINCE, "if-unmodified-since", "") \
	FIRST(44, LAST_MODIFIED, "last-modified", "") \
	FIRST(45, LINK, "link", "") \
	FIRST(46, LOCATION, "location", "") \
	FIRST(47, MAX_FORWARDS, "max-forwards", "") \
	FIRST(48, PROXY_AUTHENTICATE, "proxy-authenticate", "") \
	FIRST(49, PROXY_AUTHORIZATION, "proxy-authorization", "") \
	FIRST(50, RANGE, "range", "") \
	FIRST(51, REFERER, "referer", "") \
	FIRST(52, REFRESH, "refresh", "") \
	FIRST(53, RETRY_AFTER, "retry-after", "") \
	FIRST(54, SERVER, "server", "") \
	FIRST(55, SET_COOKIE, "set-cookie", "") \
	FIRST(56, STRICT_TRANSPORT_SECURITY, "strict-transport-security", "") \
	FIRST(57, TRANSFER_ENCODING, "transfer-encoding", "") \
	FIRST(58, USER_AGENT, "user-agent", "") \
	FIRST(59, VARY, "vary", "") \
	FIRST(60, VIA, "via", "") \
	FIRST(61, WWW_AUTHENTICATE, "www-authenticate", "")

#define ROW(index, symbol, name, value) \
	[index] = {SLICE_INIT(name), SLICE_INIT(value), HTTP_TOKEN_##symbol},
#define INDEX(index, symbol, name, value) [HTTP_TOKEN_##symbol] = (index),
#define NO_INDEX(index, symbol, name, value)
// clang-format on

const struct static_entry static_table[STATIC_ENTRIES + 1] = {STATIC_ROWS(ROW, ROW)};
const uint8_t static_name_index[HTTP_TOKEN_COUNT] = {STATIC_ROWS(INDEX, NO_INDEX)};

uint32_t static_find(enum http_token token, struct slice value)
{
	uint32_t index = static_name_index[token];

	if (index == 0)
		return 0;
	/* Rows with the same name are adjacent; only :status has more than two. */
	for (; index <= STATIC_ENTRIES && static_table[index].token == token; index++)
		if (slice_equal(static_table[index].value, value))
			return index;
	return 0;
}
