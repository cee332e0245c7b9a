/* SPDX-License-Identifier: MIT */
/* The static table (RFC 7541 appendix A), in its order. */
#include "proxy/hpack/static.h"

#define STATIC_TABLE(X)                                                                            \
	X(1, PSEUDO_AUTHORITY, ":authority", "")                                                   \
	X(2, PSEUDO_METHOD, ":method", "GET") X(3, PSEUDO_METHOD, ":method", "POST") X(            \
	    4, PSEUDO_PATH, ":path", "/") X(5, PSEUDO_PATH, ":path", "/index.html") X(6,           \
	    PSEUDO_SCHEME, ":scheme", "http") X(7, PSEUDO_SCHEME, ":scheme", "https") X(8,         \
	    PSEUDO_STATUS, ":status", "200") X(9, PSEUDO_STATUS, ":status", "204") X(10,           \
	    PSEUDO_STATUS, ":status", "206") X(11, PSEUDO_STATUS, ":status", "304") X(12,          \
	    PSEUDO_STATUS, ":status", "400") X(13, PSEUDO_STATUS, ":status", "404") X(14,          \
	    PSEUDO_STATUS, ":status", "500") X(15, ACCEPT_CHARSET, "accept-charset", "") X(16,     \
	    ACCEPT_ENCODING, "accept-encoding",                                                    \
	    "gzip, deflate") X(17, ACCEPT_LANGUAGE, "accept-language", "") X(18, ACCEPT_RANGES,    \
	    "accept-ranges", "") X(19, ACCEPT, "accept", "") X(20, ACCESS_CONTROL_ALLOW_ORIGIN,    \
	    "access-control-allow-origin", "") X(21, AGE, "age", "") X(22, ALLOW, "allow",         \
	    "") X(23, AUTHORIZATION, "authorization", "") X(24, CACHE_CONTROL, "cache-control",    \
	    "") X(25, CONTENT_DISPOSITION, "content-disposition", "") X(26, CONTENT_ENCODING,      \
	    "content-encoding", "") X(27, CONTENT_LANGUAGE, "content-language", "") X(28,          \
	    CONTENT_LENGTH, "content-length", "") X(29, CONTENT_LOCATION, "content-location", "")  \
	    X(30, CONTENT_RANGE, "content-range", "") X(31, CONTENT_TYPE, "content-type", "")      \
		X(32, COOKIE, "cookie", "") X(33, DATE, "date", "") X(34, ETAG, "etag", "") X(     \
		    35, EXPECT, "expect", "") X(36, EXPIRES,                                       \
		    "expires", "") X(37, FROM, "from", "") X(38, HOST, "host", "") X(39,           \
		    IF_MATCH, "if-match", "") X(40, IF_MODIFIED_SINCE, "if-modified-since", "")    \
		    X(41, IF_NONE_MATCH, "if-none-match", "") X(42, IF_RANGE, "if-range", "") X(   \
			43, IF_UNMODIFIED_SINCE, "if-unmodified-since", "") X(44, LAST_MODIFIED,   \
			"last-modified", "") X(45, LINK, "link", "") X(46, LOCATION, "location",   \
			"") X(47, MAX_FORWARDS, "max-forwards",                                    \
			"") X(48, PROXY_AUTHENTICATE, "proxy-authenticate", "") X(49,              \
			PROXY_AUTHORIZATION, "proxy-authorization", "") X(50, RANGE, "range",      \
			"") X(51, REFERER, "referer", "") X(52, REFRESH, "refresh", "")            \
			X(53, RETRY_AFTER, "retry-after", "") X(54, SERVER, "server", "")          \
			    X(55, SET_COOKIE, "set-cookie", "")                                    \
				X(56, STRICT_TRANSPORT_SECURITY, "strict-transport-security", "")  \
				    X(57, TRANSFER_ENCODING, "transfer-encoding", "")              \
					X(58, USER_AGENT, "user-agent", "")                        \
					    X(59, VARY, "vary", "") X(60, VIA, "via", "")          \
						X(61, WWW_AUTHENTICATE, "www-authenticate", "")

const struct static_entry static_table[STATIC_ENTRIES + 1] = {
#define ROW(index, symbol, name, value)                                                            \
	[index] = {SLICE_INIT(name), SLICE_INIT(value), HTTP_TOKEN_##symbol},
    STATIC_TABLE(ROW)
#undef ROW
};

const uint8_t static_name_index[HTTP_TOKEN_COUNT] = {
    [HTTP_TOKEN_PSEUDO_AUTHORITY] = 1,
    [HTTP_TOKEN_PSEUDO_METHOD] = 2,
    [HTTP_TOKEN_PSEUDO_PATH] = 4,
    [HTTP_TOKEN_PSEUDO_SCHEME] = 6,
    [HTTP_TOKEN_PSEUDO_STATUS] = 8,
    [HTTP_TOKEN_ACCEPT_CHARSET] = 15,
    [HTTP_TOKEN_ACCEPT_ENCODING] = 16,
    [HTTP_TOKEN_ACCEPT_LANGUAGE] = 17,
    [HTTP_TOKEN_ACCEPT_RANGES] = 18,
    [HTTP_TOKEN_ACCEPT] = 19,
    [HTTP_TOKEN_ACCESS_CONTROL_ALLOW_ORIGIN] = 20,
    [HTTP_TOKEN_AGE] = 21,
    [HTTP_TOKEN_ALLOW] = 22,
    [HTTP_TOKEN_AUTHORIZATION] = 23,
    [HTTP_TOKEN_CACHE_CONTROL] = 24,
    [HTTP_TOKEN_CONTENT_DISPOSITION] = 25,
    [HTTP_TOKEN_CONTENT_ENCODING] = 26,
    [HTTP_TOKEN_CONTENT_LANGUAGE] = 27,
    [HTTP_TOKEN_CONTENT_LENGTH] = 28,
    [HTTP_TOKEN_CONTENT_LOCATION] = 29,
    [HTTP_TOKEN_CONTENT_RANGE] = 30,
    [HTTP_TOKEN_CONTENT_TYPE] = 31,
    [HTTP_TOKEN_COOKIE] = 32,
    [HTTP_TOKEN_DATE] = 33,
    [HTTP_TOKEN_ETAG] = 34,
    [HTTP_TOKEN_EXPECT] = 35,
    [HTTP_TOKEN_EXPIRES] = 36,
    [HTTP_TOKEN_FROM] = 37,
    [HTTP_TOKEN_HOST] = 38,
    [HTTP_TOKEN_IF_MATCH] = 39,
    [HTTP_TOKEN_IF_MODIFIED_SINCE] = 40,
    [HTTP_TOKEN_IF_NONE_MATCH] = 41,
    [HTTP_TOKEN_IF_RANGE] = 42,
    [HTTP_TOKEN_IF_UNMODIFIED_SINCE] = 43,
    [HTTP_TOKEN_LAST_MODIFIED] = 44,
    [HTTP_TOKEN_LINK] = 45,
    [HTTP_TOKEN_LOCATION] = 46,
    [HTTP_TOKEN_MAX_FORWARDS] = 47,
    [HTTP_TOKEN_PROXY_AUTHENTICATE] = 48,
    [HTTP_TOKEN_PROXY_AUTHORIZATION] = 49,
    [HTTP_TOKEN_RANGE] = 50,
    [HTTP_TOKEN_REFERER] = 51,
    [HTTP_TOKEN_REFRESH] = 52,
    [HTTP_TOKEN_RETRY_AFTER] = 53,
    [HTTP_TOKEN_SERVER] = 54,
    [HTTP_TOKEN_SET_COOKIE] = 55,
    [HTTP_TOKEN_STRICT_TRANSPORT_SECURITY] = 56,
    [HTTP_TOKEN_TRANSFER_ENCODING] = 57,
    [HTTP_TOKEN_USER_AGENT] = 58,
    [HTTP_TOKEN_VARY] = 59,
    [HTTP_TOKEN_VIA] = 60,
    [HTTP_TOKEN_WWW_AUTHENTICATE] = 61,
};

uint32_t static_find(enum http_token token, struct slice value)
{
	uint32_t index = static_name_index[token];

	if (index == 0)
		return 0;
	/* Rows of one name stand together; no name but :status has more than two values. */
	for (; index <= STATIC_ENTRIES && static_table[index].token == token; index++)
		if (slice_equal(static_table[index].value, value))
			return index;
	return 0;
}
