/* SPDX-License-Identifier: MIT */
/*
 * Clients that are known to mishandle a 103 (Early Hints): most take it for the final response, whatever RFC 9110 15.2
 * says of unexpected interim responses. They get none unless a rule says interim = yes.
 *
 * A row has the product that such a client's User-Agent begins with, the first version with the mistake, and the first
 * without; both may be empty. Clients whose User-Agent does not tell good versions from bad ones are not in the table.
 * docs/EARLY-HINTS.md has the rows, which scripts/make-docs writes there.
 */
#ifndef PUSHGATE_POLICY_HINT_CLIENTS_H
#define PUSHGATE_POLICY_HINT_CLIENTS_H

#include "policy/policy.h"

/* X("product", "from", "below", "what happens", "source") */
// clang-format off
#define POLICY_HINT_CLIENTS(X)                                                                     \
	X("okhttp", "", "4.12.0", "the call fails; in 4.11 it hangs",                              \
	    "[change log](https://square.github.io/okhttp/changelogs/changelog_4x/)")              \
	X("Java-http-client", "", "11.0.25", "the 103 is the response",                            \
	    "[JDK-8292044](https://github.com/openjdk/jdk11u-dev/pull/2896)")                      \
	X("Java-http-client", "12", "17.0.13", "the 103 is the response",                          \
	    "[JDK-8292044](https://github.com/openjdk/jdk17u-dev/pull/2753)")                      \
	X("Java-http-client", "18", "20", "the 103 is the response",                               \
	    "[JDK-8292044](https://github.com/openjdk/jdk/pull/10169)")                            \
	X("Java", "", "20", "HttpURLConnection waits for a body; seen with 17.0.15",               \
	    "[JDK-8170305](https://github.com/openjdk/jdk/pull/10229)")                            \
	X("Python-urllib", "", "", "the 103 is the response; seen with 3.11",                      \
	    "[http.client](https://github.com/urllib3/urllib3/pull/3319)")                         \
	X("python-urllib3", "", "", "the 103 is the response",                                     \
	    "[http.client](https://github.com/urllib3/urllib3/pull/3319)")                         \
	X("python-requests", "", "", "the 103 is the response; seen with 2.34.2",                  \
	    "[requests](https://github.com/psf/requests/issues/5190)")                             \
	X("hackney", "", "2.0.0", "the 103 is the response",                                       \
	    "[hackney](https://github.com/benoitc/hackney/issues/695)")                            \
	X("mint", "", "1.8.0", "HTTP/1.1: the connection fails; before 1.4.2 in HTTP/2 too",       \
	    "[change log](https://hex.pm/packages/mint/1.8.0/files/CHANGELOG.md)")                 \
	X("Debian APT-HTTP", "", "", "the file is not fetched", "seen with apt 2.6.1")
// clang-format on

/* By the first bytes of the User-Agent, whatever programs add behind them. */
bool policy_hint_client_is_known(struct slice user_agent);
/* The same of the offer's parent, found out once for each request. */
bool policy_mishandles_hints(const struct policy_offer *offer);

#endif
