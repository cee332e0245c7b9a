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
	    [H2_NO_ERROR] = "without naming an error",
	    [H2_PROTOCOL_ERROR] = "it says that fetch broke the protocol",
	    [H2_INTERNAL_ERROR] = "something failed inside of it",
	    [H2_FLOW_CONTROL_ERROR] = "it says that fetch broke the flow control",
	    [H2_SETTINGS_TIMEOUT] = "it waited too long for the answer to its SETTINGS",
	    [H2_STREAM_CLOSED] = "it got a frame for a stream that was closed",
	    [H2_FRAME_SIZE_ERROR] = "it got a frame of a wrong size",
	    [H2_REFUSED_STREAM] = "it did not process the request, which may be sent again",
	    [H2_CANCEL] = "it gave up on the response",
	    [H2_COMPRESSION_ERROR] = "it could not decode the fields",
	    [H2_CONNECT_ERROR] = "its tunnel was reset",
	    [H2_ENHANCE_YOUR_CALM] = "it was asked for too much, or too fast",
	    [H2_INADEQUATE_SECURITY] = "the TLS connection is not safe enough for it",
	    [H2_HTTP_1_1_REQUIRED] = "it wants this request over HTTP/1.1",
	};
	size_t count = sizeof(words) / sizeof(words[0]);
	return code < count ? words[code] : "a code that HTTP/2 does not define";
}
