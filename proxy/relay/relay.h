/* SPDX-License-Identifier: MIT */
/* The public header of relay/: exchanges and pushes. */
#ifndef PUSHGATE_RELAY_RELAY_H
#define PUSHGATE_RELAY_RELAY_H

#include "proxy/relay/exchange.h"

#endif
