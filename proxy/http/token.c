/* SPDX-License-Identifier: MIT */
/*
 * Known names as numbers, by a perfect hash. Four properties of a name, which no two known names
 * share, are combined and multiplied; the product's top byte is the name's slot. After adding a
 * name, run scripts/token-slots.mjs to print the new table; a test fails if it is outdated.
 */
#include "proxy/http/token.h"

#include "proxy/base/ensure.h"

#define MULTIPLIER UINT32_C(0xa07b0d2b)

_Static_assert(HTTP_TOKEN_COUNT <= UINT8_MAX, "a slot is one byte");

// clang-format off
static const struct slice names[HTTP_TOKEN_COUNT] = {
	[HTTP_TOKEN_NONE] = SLICE_INIT(""),
#define NAME_ROW(symbol, name) [HTTP_TOKEN_##symbol] = SLICE_INIT(name),
	HTTP_TOKENS(NAME_ROW)
#undef NAME_ROW
};

static const uint8_t slots[256] = {
	[0] = HTTP_TOKEN_PSEUDO_METHOD,
	[2] = HTTP_TOKEN_CONTENT_LENGTH,
	[3] = HTTP_TOKEN_SERVER,
	[9] = HTTP_TOKEN_CONNECTION,
	[14] = HTTP_TOKEN_TRACEPARENT,
	[15] = HTTP_TOKEN_HOST,
	[21] = HTTP_TOKEN_DATE,
	[22] = HTTP_TOKEN_IF_RANGE,
	[23] = HTTP_TOKEN_STRICT_TRANSPORT_SECURITY,
	[24] = HTTP_TOKEN_UPGRADE_INSECURE_REQUESTS,
	[25] = HTTP_TOKEN_PROXY_AUTHORIZATION,
	[29] = HTTP_TOKEN_X_FORWARDED_PROTO,
	[30] = HTTP_TOKEN_AGE,
	[31] = HTTP_TOKEN_ACCEPT,
	[33] = HTTP_TOKEN_PSEUDO_SCHEME,
	[34] = HTTP_TOKEN_IF_UNMODIFIED_SINCE,
	[35] = HTTP_TOKEN_RETRY_AFTER,
	[39] = HTTP_TOKEN_EXPIRES,
	[43] = HTTP_TOKEN_AUTHORIZATION,
	[44] = HTTP_TOKEN_SEC_FETCH_MODE,
	[45] = HTTP_TOKEN_PSEUDO_STATUS,
	[48] = HTTP_TOKEN_PROXY_AUTHENTICATE,
	[51] = HTTP_TOKEN_SAVE_DATA,
	[57] = HTTP_TOKEN_SEC_FETCH_USER,
	[61] = HTTP_TOKEN_IF_MODIFIED_SINCE,
	[64] = HTTP_TOKEN_X_FORWARDED_FOR,
	[68] = HTTP_TOKEN_ALLOW,
	[69] = HTTP_TOKEN_FORWARDED,
	[73] = HTTP_TOKEN_MAX_FORWARDS,
	[76] = HTTP_TOKEN_CONTENT_RANGE,
	[77] = HTTP_TOKEN_VARY,
	[78] = HTTP_TOKEN_USER_AGENT,
	[81] = HTTP_TOKEN_PRIORITY,
	[85] = HTTP_TOKEN_PRAGMA,
	[86] = HTTP_TOKEN_PSEUDO_PROTOCOL,
	[88] = HTTP_TOKEN_VIA,
	[89] = HTTP_TOKEN_REFRESH,
	[92] = HTTP_TOKEN_PSEUDO_AUTHORITY,
	[94] = HTTP_TOKEN_CONTENT_LOCATION,
	[95] = HTTP_TOKEN_CACHE_STATUS,
	[97] = HTTP_TOKEN_REFERER,
	[100] = HTTP_TOKEN_HTTP2_SETTINGS,
	[105] = HTTP_TOKEN_PROXY_AUTHENTICATION_INFO,
	[110] = HTTP_TOKEN_CONTENT_DISPOSITION,
	[111] = HTTP_TOKEN_LAST_MODIFIED,
	[115] = HTTP_TOKEN_KEEP_ALIVE,
	[117] = HTTP_TOKEN_UPGRADE,
	[120] = HTTP_TOKEN_X_HTTP2_PUSH_ONLY,
	[121] = HTTP_TOKEN_RANGE,
	[123] = HTTP_TOKEN_PROXY_CONNECTION,
	[128] = HTTP_TOKEN_ORIGIN,
	[131] = HTTP_TOKEN_LOCATION,
	[133] = HTTP_TOKEN_PROXY_STATUS,
	[134] = HTTP_TOKEN_SET_COOKIE,
	[136] = HTTP_TOKEN_ACCEPT_ENCODING,
	[137] = HTTP_TOKEN_ACCEPT_LANGUAGE,
	[138] = HTTP_TOKEN_CACHE_CONTROL,
	[143] = HTTP_TOKEN_TRAILER,
	[145] = HTTP_TOKEN_TE,
	[147] = HTTP_TOKEN_PROXY,
	[151] = HTTP_TOKEN_EARLY_DATA,
	[152] = HTTP_TOKEN_CONTENT_TYPE,
	[153] = HTTP_TOKEN_ETAG,
	[164] = HTTP_TOKEN_TRACESTATE,
	[165] = HTTP_TOKEN_IF_NONE_MATCH,
	[167] = HTTP_TOKEN_ACCESS_CONTROL_ALLOW_ORIGIN,
	[173] = HTTP_TOKEN_FROM,
	[174] = HTTP_TOKEN_ALT_SVC,
	[195] = HTTP_TOKEN_X_REAL_IP,
	[202] = HTTP_TOKEN_PSEUDO_PATH,
	[204] = HTTP_TOKEN_WWW_AUTHENTICATE,
	[208] = HTTP_TOKEN_ACCEPT_RANGES,
	[215] = HTTP_TOKEN_X_FORWARDED_PORT,
	[220] = HTTP_TOKEN_TRANSFER_ENCODING,
	[226] = HTTP_TOKEN_IF_MATCH,
	[229] = HTTP_TOKEN_X_FORWARDED_HOST,
	[230] = HTTP_TOKEN_COOKIE,
	[232] = HTTP_TOKEN_LINK,
	[240] = HTTP_TOKEN_ACCEPT_CHARSET,
	[241] = HTTP_TOKEN_SEC_FETCH_DEST,
	[244] = HTTP_TOKEN_CONTENT_ENCODING,
	[245] = HTTP_TOKEN_CONTENT_LANGUAGE,
	[246] = HTTP_TOKEN_EXPECT,
	[254] = HTTP_TOKEN_SEC_FETCH_SITE,
};
// clang-format on

static uint32_t slot_of(struct slice name)
{
	const unsigned char *p = (const unsigned char *)name.ptr;
	uint32_t key = p[0] | (uint32_t)p[name.len / 2] << 8 | (uint32_t)p[name.len - 2] << 16 |
		       (uint32_t)(name.len & 0xff) << 24;
	return key * MULTIPLIER >> 24;
}

enum http_token http_token_find(struct slice name)
{
	if (name.len < 2)
		return HTTP_TOKEN_NONE;
	enum http_token token = slots[slot_of(name)];
	return slice_equal(names[token], name) ? token : HTTP_TOKEN_NONE;
}

struct slice http_token_name(enum http_token token)
{
	ensure(token < HTTP_TOKEN_COUNT);
	return names[token];
}

static enum http_method method_if(struct slice method, struct slice name, enum http_method found)
{
	return slice_equal(method, name) ? found : HTTP_METHOD_OTHER;
}

enum http_method http_method_find(struct slice method)
{
	switch (method.len) {
	case 3:
		return method.ptr[0] == 'G' ? method_if(method, SLICE("GET"), HTTP_METHOD_GET)
					    : method_if(method, SLICE("PUT"), HTTP_METHOD_PUT);
	case 4:
		return method.ptr[0] == 'H' ? method_if(method, SLICE("HEAD"), HTTP_METHOD_HEAD)
					    : method_if(method, SLICE("POST"), HTTP_METHOD_POST);
	case 5:
		return method.ptr[0] == 'P' ? method_if(method, SLICE("PATCH"), HTTP_METHOD_PATCH)
					    : method_if(method, SLICE("TRACE"), HTTP_METHOD_TRACE);
	case 6:
		return method_if(method, SLICE("DELETE"), HTTP_METHOD_DELETE);
	case 7:
		return method.ptr[0] == 'C'
			   ? method_if(method, SLICE("CONNECT"), HTTP_METHOD_CONNECT)
			   : method_if(method, SLICE("OPTIONS"), HTTP_METHOD_OPTIONS);
	}
	return HTTP_METHOD_OTHER;
}

bool http_method_is_safe(enum http_method method)
{
	return method == HTTP_METHOD_GET || method == HTTP_METHOD_HEAD ||
	       method == HTTP_METHOD_OPTIONS || method == HTTP_METHOD_TRACE;
}

bool http_method_is_idempotent(enum http_method method)
{
	return http_method_is_safe(method) || method == HTTP_METHOD_PUT ||
	       method == HTTP_METHOD_DELETE;
}
