/* SPDX-License-Identifier: MIT */
/*
 * Known names as numbers, by a perfect hash. Four properties of a name, which no two known names
 * share, are combined and multiplied; the product's top byte is the name's slot. After adding a
 * name, run scripts/token-slots.mjs to print the new table; a test fails if it is outdated.
 */
#include "proxy/http/token.h"

#include "proxy/base/ensure.h"

#define MULTIPLIER UINT32_C(0xa08c0dd5)

_Static_assert(HTTP_TOKEN_COUNT <= UINT8_MAX, "a slot is one byte");

// clang-format off
static const struct slice names[HTTP_TOKEN_COUNT] = {
	[HTTP_TOKEN_NONE] = SLICE_INIT(""),
#define NAME_ROW(symbol, name) [HTTP_TOKEN_##symbol] = SLICE_INIT(name),
	HTTP_TOKENS(NAME_ROW)
#undef NAME_ROW
};

static const uint8_t slots[256] = {
	[3] = HTTP_TOKEN_PROXY_AUTHENTICATION_INFO,
	[5] = HTTP_TOKEN_FROM,
	[7] = HTTP_TOKEN_REFERER,
	[12] = HTTP_TOKEN_CONTENT_LANGUAGE,
	[14] = HTTP_TOKEN_ACCESS_CONTROL_ALLOW_ORIGIN,
	[15] = HTTP_TOKEN_CACHE_CONTROL,
	[16] = HTTP_TOKEN_EXPIRES,
	[19] = HTTP_TOKEN_ALLOW,
	[23] = HTTP_TOKEN_AUTHORIZATION,
	[25] = HTTP_TOKEN_ACCEPT_CHARSET,
	[26] = HTTP_TOKEN_X_FORWARDED_FOR,
	[28] = HTTP_TOKEN_MAX_FORWARDS,
	[30] = HTTP_TOKEN_TRACEPARENT,
	[32] = HTTP_TOKEN_SERVER,
	[33] = HTTP_TOKEN_ACCEPT,
	[35] = HTTP_TOKEN_IF_RANGE,
	[36] = HTTP_TOKEN_SEC_FETCH_DEST,
	[40] = HTTP_TOKEN_CLIENT_CERT_CHAIN,
	[43] = HTTP_TOKEN_X_REQUEST_ID,
	[46] = HTTP_TOKEN_LINK,
	[50] = HTTP_TOKEN_SEC_FETCH_SITE,
	[62] = HTTP_TOKEN_AGE,
	[64] = HTTP_TOKEN_TRACESTATE,
	[69] = HTTP_TOKEN_IF_NONE_MATCH,
	[74] = HTTP_TOKEN_COOKIE,
	[78] = HTTP_TOKEN_CACHE_STATUS,
	[82] = HTTP_TOKEN_PSEUDO_PROTOCOL,
	[85] = HTTP_TOKEN_SEC_FETCH_MODE,
	[86] = HTTP_TOKEN_CONTENT_DISPOSITION,
	[96] = HTTP_TOKEN_X_FORWARDED_PROTO,
	[97] = HTTP_TOKEN_PROXY_AUTHENTICATE,
	[99] = HTTP_TOKEN_SEC_FETCH_USER,
	[102] = HTTP_TOKEN_RANGE,
	[111] = HTTP_TOKEN_X_FORWARDED_PORT,
	[116] = HTTP_TOKEN_TRANSFER_ENCODING,
	[117] = HTTP_TOKEN_PROXY_STATUS,
	[118] = HTTP_TOKEN_STRICT_TRANSPORT_SECURITY,
	[119] = HTTP_TOKEN_WWW_AUTHENTICATE,
	[120] = HTTP_TOKEN_PRAGMA,
	[121] = HTTP_TOKEN_TRAILER,
	[123] = HTTP_TOKEN_CONTENT_LOCATION,
	[124] = HTTP_TOKEN_X_REAL_IP,
	[125] = HTTP_TOKEN_X_FORWARDED_HOST,
	[126] = HTTP_TOKEN_SAVE_DATA,
	[130] = HTTP_TOKEN_X_HTTP2_PUSH_ONLY,
	[131] = HTTP_TOKEN_ACCEPT_ENCODING,
	[135] = HTTP_TOKEN_PRIORITY,
	[140] = HTTP_TOKEN_EARLY_DATA,
	[144] = HTTP_TOKEN_CONNECTION,
	[149] = HTTP_TOKEN_CONTENT_TYPE,
	[150] = HTTP_TOKEN_PSEUDO_STATUS,
	[153] = HTTP_TOKEN_CONTENT_ENCODING,
	[154] = HTTP_TOKEN_UPGRADE_INSECURE_REQUESTS,
	[156] = HTTP_TOKEN_PROXY,
	[157] = HTTP_TOKEN_VIA,
	[159] = HTTP_TOKEN_CONTENT_LENGTH,
	[160] = HTTP_TOKEN_ORIGIN,
	[166] = HTTP_TOKEN_ALT_SVC,
	[168] = HTTP_TOKEN_PSEUDO_METHOD,
	[173] = HTTP_TOKEN_HOST,
	[176] = HTTP_TOKEN_PSEUDO_AUTHORITY,
	[177] = HTTP_TOKEN_HTTP2_SETTINGS,
	[180] = HTTP_TOKEN_USER_AGENT,
	[184] = HTTP_TOKEN_RETRY_AFTER,
	[185] = HTTP_TOKEN_ACCEPT_RANGES,
	[186] = HTTP_TOKEN_PROXY_CONNECTION,
	[187] = HTTP_TOKEN_LAST_MODIFIED,
	[197] = HTTP_TOKEN_DATE,
	[201] = HTTP_TOKEN_IF_MODIFIED_SINCE,
	[207] = HTTP_TOKEN_IF_UNMODIFIED_SINCE,
	[215] = HTTP_TOKEN_SET_COOKIE,
	[216] = HTTP_TOKEN_LOCATION,
	[219] = HTTP_TOKEN_VARY,
	[220] = HTTP_TOKEN_CLIENT_CERT,
	[221] = HTTP_TOKEN_KEEP_ALIVE,
	[222] = HTTP_TOKEN_PSEUDO_PATH,
	[230] = HTTP_TOKEN_REFRESH,
	[236] = HTTP_TOKEN_IF_MATCH,
	[238] = HTTP_TOKEN_CONTENT_RANGE,
	[239] = HTTP_TOKEN_TE,
	[240] = HTTP_TOKEN_EXPECT,
	[241] = HTTP_TOKEN_PROXY_AUTHORIZATION,
	[246] = HTTP_TOKEN_ACCEPT_LANGUAGE,
	[248] = HTTP_TOKEN_UPGRADE,
	[250] = HTTP_TOKEN_ETAG,
	[251] = HTTP_TOKEN_FORWARDED,
	[252] = HTTP_TOKEN_PSEUDO_SCHEME,
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
