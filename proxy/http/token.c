/* SPDX-License-Identifier: MIT */
/*
 * Known names as numbers, by a perfect hash. Four properties of a name, which no two known names
 * share, are combined and multiplied; the product's top byte is the name's slot. After adding a
 * name, run scripts/token-slots.mjs to print the new table; a test fails if it is outdated.
 */
#include "proxy/http/token.h"

#include "proxy/base/ensure.h"

#define MULTIPLIER UINT32_C(0x9e8e33e7)

_Static_assert(HTTP_TOKEN_COUNT <= UINT8_MAX, "a slot is one byte");

// clang-format off
static const struct slice names[HTTP_TOKEN_COUNT] = {
	[HTTP_TOKEN_NONE] = SLICE_INIT(""),
#define NAME_ROW(symbol, name) [HTTP_TOKEN_##symbol] = SLICE_INIT(name),
	HTTP_TOKENS(NAME_ROW)
#undef NAME_ROW
};

static const uint8_t slots[256] = {
	[1] = HTTP_TOKEN_RETRY_AFTER,
	[3] = HTTP_TOKEN_IF_RANGE,
	[4] = HTTP_TOKEN_ACCEPT_ENCODING,
	[8] = HTTP_TOKEN_HTTP2_SETTINGS,
	[10] = HTTP_TOKEN_PROXY_AUTHENTICATION_INFO,
	[12] = HTTP_TOKEN_LOCATION,
	[21] = HTTP_TOKEN_ALLOW,
	[23] = HTTP_TOKEN_EARLY_DATA,
	[24] = HTTP_TOKEN_PRAGMA,
	[25] = HTTP_TOKEN_KEEP_ALIVE,
	[26] = HTTP_TOKEN_RANGE,
	[27] = HTTP_TOKEN_PSEUDO_SCHEME,
	[31] = HTTP_TOKEN_PSEUDO_AUTHORITY,
	[32] = HTTP_TOKEN_SEC_FETCH_MODE,
	[33] = HTTP_TOKEN_VARY,
	[36] = HTTP_TOKEN_EXPECT,
	[40] = HTTP_TOKEN_CONTENT_ENCODING,
	[42] = HTTP_TOKEN_SEC_FETCH_DEST,
	[45] = HTTP_TOKEN_PSEUDO_METHOD,
	[46] = HTTP_TOKEN_ACCEPT_CHARSET,
	[50] = HTTP_TOKEN_SET_COOKIE,
	[52] = HTTP_TOKEN_IF_MATCH,
	[55] = HTTP_TOKEN_HOST,
	[64] = HTTP_TOKEN_CONTENT_LOCATION,
	[69] = HTTP_TOKEN_TE,
	[72] = HTTP_TOKEN_ACCEPT_RANGES,
	[73] = HTTP_TOKEN_CONTENT_TYPE,
	[74] = HTTP_TOKEN_CONTENT_DISPOSITION,
	[77] = HTTP_TOKEN_ACCEPT,
	[80] = HTTP_TOKEN_ALT_SVC,
	[84] = HTTP_TOKEN_SEC_FETCH_USER,
	[93] = HTTP_TOKEN_CONTENT_RANGE,
	[94] = HTTP_TOKEN_SEC_FETCH_SITE,
	[97] = HTTP_TOKEN_UPGRADE,
	[103] = HTTP_TOKEN_VIA,
	[105] = HTTP_TOKEN_PROXY_CONNECTION,
	[107] = HTTP_TOKEN_X_FORWARDED_PORT,
	[109] = HTTP_TOKEN_PRIORITY,
	[116] = HTTP_TOKEN_COOKIE,
	[118] = HTTP_TOKEN_CONTENT_LENGTH,
	[123] = HTTP_TOKEN_TRANSFER_ENCODING,
	[124] = HTTP_TOKEN_ACCEPT_LANGUAGE,
	[127] = HTTP_TOKEN_DATE,
	[128] = HTTP_TOKEN_REFERER,
	[132] = HTTP_TOKEN_STRICT_TRANSPORT_SECURITY,
	[136] = HTTP_TOKEN_UPGRADE_INSECURE_REQUESTS,
	[139] = HTTP_TOKEN_CACHE_CONTROL,
	[144] = HTTP_TOKEN_REFRESH,
	[157] = HTTP_TOKEN_X_REAL_IP,
	[159] = HTTP_TOKEN_X_FORWARDED_HOST,
	[160] = HTTP_TOKEN_CONTENT_LANGUAGE,
	[163] = HTTP_TOKEN_AUTHORIZATION,
	[167] = HTTP_TOKEN_FORWARDED,
	[169] = HTTP_TOKEN_SERVER,
	[170] = HTTP_TOKEN_ORIGIN,
	[171] = HTTP_TOKEN_USER_AGENT,
	[172] = HTTP_TOKEN_EXPIRES,
	[175] = HTTP_TOKEN_X_FORWARDED_FOR,
	[182] = HTTP_TOKEN_ETAG,
	[184] = HTTP_TOKEN_ACCESS_CONTROL_ALLOW_ORIGIN,
	[186] = HTTP_TOKEN_X_FORWARDED_PROTO,
	[190] = HTTP_TOKEN_CACHE_STATUS,
	[193] = HTTP_TOKEN_LAST_MODIFIED,
	[195] = HTTP_TOKEN_WWW_AUTHENTICATE,
	[196] = HTTP_TOKEN_IF_MODIFIED_SINCE,
	[197] = HTTP_TOKEN_X_HTTP2_PUSH_ONLY,
	[201] = HTTP_TOKEN_PROXY_AUTHORIZATION,
	[204] = HTTP_TOKEN_PROXY_STATUS,
	[213] = HTTP_TOKEN_PSEUDO_PATH,
	[214] = HTTP_TOKEN_CONNECTION,
	[215] = HTTP_TOKEN_PSEUDO_STATUS,
	[220] = HTTP_TOKEN_SAVE_DATA,
	[221] = HTTP_TOKEN_PROXY,
	[225] = HTTP_TOKEN_AGE,
	[229] = HTTP_TOKEN_PROXY_AUTHENTICATE,
	[231] = HTTP_TOKEN_LINK,
	[232] = HTTP_TOKEN_IF_UNMODIFIED_SINCE,
	[239] = HTTP_TOKEN_MAX_FORWARDS,
	[240] = HTTP_TOKEN_IF_NONE_MATCH,
	[242] = HTTP_TOKEN_FROM,
	[246] = HTTP_TOKEN_TRAILER,
	[251] = HTTP_TOKEN_PSEUDO_PROTOCOL,
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
