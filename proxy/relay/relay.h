/* SPDX-License-Identifier: MIT */
/* The public header of relay/: exchanges and pushes (exchange.h), held responses (hold.h). */
#ifndef PUSHGATE_RELAY_RELAY_H
#define PUSHGATE_RELAY_RELAY_H

#include "proxy/relay/exchange.h"
#include "proxy/relay/hold.h"

#endif
