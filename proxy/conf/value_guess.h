/* SPDX-License-Identifier: MIT */
/*
 * Private to conf/: guesses of addresses, servers, hosts and paths. Each writes a value and returns
 * true, or knows none. The text is not empty.
 */
#ifndef PUSHGATE_CONF_VALUE_GUESS_H
#define PUSHGATE_CONF_VALUE_GUESS_H

#include "proxy/base/slice.h"

/* A port behind a colon, an address or a URL: "https://example.com:8443"; else yes or no. */
bool value_guess_port(struct slice value, char *guess, size_t size);
bool value_guess_address(struct slice value, char *guess, size_t size);
bool value_guess_server(struct slice value, char *guess, size_t size);
bool value_guess_host(struct slice value, char *guess, size_t size);
bool value_guess_path(struct slice value, char *guess, size_t size);
bool value_guess_cidr(struct slice value, char *guess, size_t size);

#endif
