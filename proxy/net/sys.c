/* SPDX-License-Identifier: MIT */
/*
 * The wrappers that call the C library; see sys.h. "inline" lets link-time optimisation inline them
 * into their callers in the release build.
 */
#include "proxy/net/sys.h"
#include <unistd.h>

#define DEFINE(type, call, parameters, arguments)                                                  \
	inline type net_sys_##call parameters                                                      \
	{                                                                                          \
		return call arguments;                                                             \
	}
NET_SYS_CALLS(DEFINE)
