/* SPDX-License-Identifier: MIT */
/* How a response ended, and what a server's HTTP/2 error codes (RFC 9113 7) mean, in plain words. */
#include "proxy/h2/h2.h"
#include "proxy/tool/fetch_state.h"

const char *fetch_state_name(enum fetch_state state)
{
	static const char *const names[] = {
	    [FETCH_STARTED] = "lost",
	    [FETCH_RECEIVING] = "lost",
	    [FETCH_COMPLETE] = "complete",
	    [FETCH_RESET] = "reset",
	    [FETCH_REFUSED] = "refused",
	    [FETCH_LOST] = "lost",
	};
	return names[state];
}

const char *fetch_code_words(uint32_t code)
{
	static const char *const words[] = {
	    [SESSION_NO_ERROR] = "without naming an error",
	    [SESSION_PROTOCOL_ERROR] = "it says that fetch broke the protocol",
	    [SESSION_INTERNAL_ERROR] = "something failed inside of it",
	    [SESSION_FLOW_CONTROL_ERROR] = "it says that fetch broke the flow control",
	    [SESSION_SETTINGS_TIMEOUT] = "it waited too long for the answer to its SETTINGS",
	    [SESSION_STREAM_CLOSED] = "it got a frame for a stream that was closed",
	    [SESSION_FRAME_SIZE_ERROR] = "it got a frame of a wrong size",
	    [SESSION_REFUSED_STREAM] = "it did not process the request, which may be sent again",
	    [SESSION_CANCEL] = "it gave up on the response",
	    [SESSION_COMPRESSION_ERROR] = "it could not decode the fields",
	    [SESSION_CONNECT_ERROR] = "its tunnel was reset",
	    [SESSION_ENHANCE_YOUR_CALM] = "it was asked for too much, or too fast",
	    [SESSION_INADEQUATE_SECURITY] = "the TLS connection is not safe enough for it",
	    [SESSION_HTTP_1_1_REQUIRED] = "it wants this request over HTTP/1.1",
	};
	size_t count = sizeof(words) / sizeof(words[0]);
	return code < count ? words[code] : "a code that HTTP/2 does not define";
}
