/* SPDX-License-Identifier: MIT */
/* The wrappers of sys.h. "inline": link-time optimisation inlines them in the release build. */
#include "proxy/net/sys.h"
#include <unistd.h>

#define DEFINE(type, call, parameters, arguments)                                                  \
	inline type net_sys_##call parameters                                                      \
	{                                                                                          \
		return call arguments;                                                             \
	}
NET_SYS_CALLS(DEFINE)
