/* SPDX-License-Identifier: MIT */
/* The table of protocols, their plans, and the choice of one for a connection. */
#include "proxy/protocols/protocols_private.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdio.h>

/* RFC 9113 3.4. */
static enum protocols_match h2_match(const uint8_t *bytes, size_t n)
{
	size_t compared = n < H2_PREFACE_LEN ? n : H2_PREFACE_LEN;
	if (memcmp(bytes, H2_PREFACE, compared) != 0)
		return PROTOCOLS_MATCH_NO;
	return n < H2_PREFACE_LEN ? PROTOCOLS_MATCH_MORE : PROTOCOLS_MATCH_YES;
}

/* All bytes that begin no HTTP/2: a request that cannot be read gets an answer that says why. */
static enum protocols_match h1_match(const uint8_t *bytes, size_t n)
{
	bool may_be_h2 = h2_match(bytes, n) == PROTOCOLS_MATCH_MORE;
	return may_be_h2 ? PROTOCOLS_MATCH_MORE : PROTOCOLS_MATCH_YES;
}

const struct session_protocol protocols_h2 = {
    .alpn = "h2",
    .name = "HTTP/2",
    .origin_capabilities = H2_CAPABILITIES,
    .fault_name = h2_fault_name,
    .match = h2_match,
    .for_clients = h2_options_for_clients,
    .for_origin = h2_options_for_origin,
    .begin = h2_new,
};

const struct session_protocol protocols_http1 = {
    .alpn = "http/1.1",
    .alpn_old = "http/1.0",
    .name = "HTTP/1.1",
    .origin_capabilities = H1_CAPABILITIES,
    .fault_name = h1_fault_name,
    .match = h1_match,
    .for_clients = http1_options_for_clients,
    .for_origin = http1_options_for_origin,
    .begin = h1_new,
};

const struct session_protocol *const protocols_all[] = {&protocols_h2, &protocols_http1, NULL};

/* ---- faults ---- */

static size_t rows_of(const struct session_protocol *protocol)
{
	size_t rows = 0;
	while (protocol->fault_name && protocol->fault_name(rows))
		rows++;
	return rows;
}

size_t protocols_fault_count(const struct session_protocol *const *protocols)
{
	size_t count = 0;
	for (size_t i = 0; protocols[i]; i++)
		count += rows_of(protocols[i]);
	return count;
}

const char *protocols_fault_name(size_t index)
{
	for (size_t i = 0; protocols_all[i]; i++) {
		size_t rows = rows_of(protocols_all[i]);
		if (index < rows)
			return protocols_all[i]->fault_name(index);
		index -= rows;
	}
	return NULL;
}

/* ---- plans ---- */

/* One of listen and origin is NULL. */
static struct session_plan *plans_new(const struct session_protocol *const *protocols,
    const struct conf_listen *listen, const struct conf_origin *origin, bool push)
{
	size_t count = 0, first_fault = 0;
	while (protocols[count])
		count++;
	struct session_plan *plans = memory_zalloc((count + 1) * sizeof(*plans)), *at = plans;
	for (size_t i = 0; i < count; i++) {
		const struct session_protocol *p = protocols[i];
		void *config = listen ? p->for_clients(listen) : p->for_origin(origin, push);
		if (config) /* else the protocol is not spoken */
			*at++ = (struct session_plan){p, config, first_fault};
		first_fault += rows_of(p);
	}
	return plans;
}

struct session_plan *protocols_plans_for_clients(
    const struct session_protocol *const *protocols, const struct conf_listen *conf)
{
	return plans_new(protocols, conf, NULL, false);
}

struct session_plan *protocols_plans_for_origin(
    const struct session_protocol *const *protocols, const struct conf_origin *conf, bool push)
{
	return plans_new(protocols, NULL, conf, push);
}

void protocols_plans_free(struct session_plan *plans)
{
	for (struct session_plan *p = plans; p && p->protocol; p++)
		free(p->config);
	free(plans);
}

/* ---- which one ---- */

const struct session_plan *protocols_match(
    const struct session_plan *plans, const uint8_t *bytes, size_t n, bool *more)
{
	*more = false;
	for (const struct session_plan *p = plans; p->protocol; p++) {
		switch (p->protocol->match(bytes, n)) {
		case PROTOCOLS_MATCH_YES:
			return p;
		case PROTOCOLS_MATCH_MORE:
			*more = true;
			break;
		case PROTOCOLS_MATCH_NO:
			break;
		}
	}
	return NULL;
}

const struct session_plan *protocols_by_alpn(const struct session_plan *plans, struct slice alpn)
{
	if (alpn.len == 0)
		alpn = SLICE("http/1.1");
	for (const struct session_plan *p = plans; p->protocol; p++)
		if (slice_equal(slice_of_string(p->protocol->alpn), alpn) ||
		    (p->protocol->alpn_old &&
			slice_equal(slice_of_string(p->protocol->alpn_old), alpn)))
			return p;
	return NULL;
}

static size_t add_alpn(char *text, size_t used, size_t size, const char *name)
{
	int n = snprintf(text + used, size - used, "%s%s", used > 0 ? "," : "", name);
	ensure(n > 0 && (size_t)n < size - used);
	return used + (size_t)n;
}

void protocols_alpn_list(
    const struct session_plan *plans, bool for_clients, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	for (const struct session_plan *p = plans; p->protocol; p++) {
		used = add_alpn(text, used, size, p->protocol->alpn);
		if (for_clients && p->protocol->alpn_old)
			used = add_alpn(text, used, size, p->protocol->alpn_old);
	}
}

/* ---- none ---- */

size_t protocols_refusal(const struct session_plan *plans, char *text, size_t size)
{
	char names[PROTOCOLS_REFUSAL_BYTES / 4];
	size_t used = 0;
	names[0] = '\0';
	for (const struct session_plan *p = plans; p->protocol && used < sizeof(names); p++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
		    p > plans ? ", " : "", p->protocol->name);
	int n = snprintf(text, size,
	    "HTTP/1.1 505 HTTP Version Not Supported\r\n"
	    "content-type: text/plain\r\n"
	    "content-length: %zu\r\n"
	    "connection: close\r\n\r\n"
	    "This endpoint speaks %s.\n",
	    strlen("This endpoint speaks .\n") + strlen(names), names);
	ensure(n > 0 && (size_t)n < size);
	return (size_t)n;
}
