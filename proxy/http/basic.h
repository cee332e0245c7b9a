/* SPDX-License-Identifier: MIT */
/* Credentials of the Basic scheme (RFC 7617): "Basic " and the base64 of NAME:PASSWORD. */
#ifndef PUSHGATE_HTTP_BASIC_H
#define PUSHGATE_HTTP_BASIC_H

#include "proxy/base/slice.h"

/* Of NAME:PASSWORD; a longer text is malformed. */
#define HTTP_BASIC_BYTES 511u

/*
 * The value of Authorization or Proxy-Authorization. Decodes it into buffer, in which name and password lie. False: it
 * is of another scheme, or malformed: base64 (RFC 4648 4) is read strictly, with its padding, and neither part may have
 * a control character.
 */
bool http_basic_parse(
    struct slice value, char buffer[HTTP_BASIC_BYTES], struct slice *name, struct slice *password);

#endif
