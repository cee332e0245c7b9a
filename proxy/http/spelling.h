/* SPDX-License-Identifier: MIT */
/*
 * Names of fields that an origin may read as one. CGI (RFC 3875 4.1.18), and WSGI, Rack, PHP and others after it, give
 * a program HTTP_X_AUTH for X-Auth and for X_Auth: "-" becomes "_". Some servers do that with every byte that is no
 * letter and no digit (X.Auth), and so do the comparisons here.
 *
 * Names are in lower case, as in every head. A name with a token has no mark but "-", so that only names without one
 * can be another spelling; http_head_validate notes the heads that have such names (HTTP_NOTED_NAMES).
 */
#ifndef PUSHGATE_HTTP_SPELLING_H
#define PUSHGATE_HTTP_SPELLING_H

#include "proxy/http/head.h"

/* What all names X-Forwarded-… begin with. */
#define HTTP_X_FORWARDED "x-forwarded-"

/* Whether programs may read both as one. */
bool http_names_alike(struct slice a, struct slice b);
/* Whether the name has a mark other than "-". */
bool http_name_is_marked(struct slice name);
/* The token of the known name that programs may read this one as; HTTP_TOKEN_NONE: there is none. */
enum http_token http_token_alike(struct slice name);
/* Whether the name, which has no token, is one of X-Forwarded-…, or another spelling of a forwarding field. */
bool http_name_is_forwarding(struct slice name);

#endif
