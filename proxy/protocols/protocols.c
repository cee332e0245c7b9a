/* SPDX-License-Identifier: MIT */
/* The table of protocols, their plans, and the choice of one for a connection. */
#include "proxy/protocols/h2_options.h"
#include "proxy/protocols/http1_options.h"

#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"

#include <stdio.h>

/* RFC 9113 3.4. */
static enum session_match h2_match(const uint8_t *bytes, size_t n)
{
	size_t compared = n < H2_PREFACE_LEN ? n : H2_PREFACE_LEN;
	if (memcmp(bytes, H2_PREFACE, compared) != 0)
		return SESSION_MATCH_NO;
	return n < H2_PREFACE_LEN ? SESSION_MATCH_MORE : SESSION_MATCH_YES;
}

/* All bytes that begin no HTTP/2: a request that cannot be read gets an answer that says why. */
static enum session_match h1_match(const uint8_t *bytes, size_t n)
{
	bool may_be_h2 = h2_match(bytes, n) == SESSION_MATCH_MORE;
	return may_be_h2 ? SESSION_MATCH_MORE : SESSION_MATCH_YES;
}

const struct session_protocol session_h2 = {
    .alpn = "h2",
    .name = "HTTP/2",
    .origin_capabilities = H2_CAPABILITIES,
    .fault_name = h2_fault_name,
    .match = h2_match,
    .for_clients = h2_options_for_clients,
    .for_origin = h2_options_for_origin,
    .begin = h2_new,
};

const struct session_protocol session_http1 = {
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

const struct session_protocol *const session_protocols[] = {&session_h2, &session_http1, NULL};

/* ---- faults ---- */

static size_t rows_of(const struct session_protocol *protocol)
{
	size_t rows = 0;
	while (protocol->fault_name(rows))
		rows++;
	return rows;
}

size_t session_fault_count(const struct session_protocol *const *protocols)
{
	size_t count = 0;
	for (size_t i = 0; protocols[i]; i++)
		count += rows_of(protocols[i]);
	return count;
}

const char *session_fault_name(size_t index)
{
	for (size_t i = 0; session_protocols[i]; i++) {
		size_t rows = rows_of(session_protocols[i]);
		if (index < rows)
			return session_protocols[i]->fault_name(index);
		index -= rows;
	}
	return NULL;
}

/* ---- plans ---- */

/* With room for a plan of each protocol. */
static struct session_plan *new_plans(const struct session_protocol *const *protocols)
{
	size_t count = 0;
	while (protocols[count])
		count++;
	return memory_zalloc((count + 1) * sizeof(struct session_plan));
}

/* Adds the plan of protocol i, unless it has no configuration: then the protocol is not spoken. */
static struct session_plan *add_plan(struct session_plan *at,
    const struct session_protocol *const *protocols, size_t i, void *config)
{
	if (!config)
		return at;
	*at = (struct session_plan){.protocol = protocols[i], .config = config};
	for (size_t before = 0; before < i; before++)
		at->first_fault += rows_of(protocols[before]);
	return at + 1;
}

struct session_plan *session_plans_for_clients(
    const struct session_protocol *const *protocols, const struct conf_listen *conf)
{
	struct session_plan *plans = new_plans(protocols), *at = plans;
	for (size_t i = 0; protocols[i]; i++)
		at = add_plan(at, protocols, i, protocols[i]->for_clients(conf));
	return plans;
}

struct session_plan *session_plans_for_origin(
    const struct session_protocol *const *protocols, const struct conf_origin *conf, bool push)
{
	struct session_plan *plans = new_plans(protocols), *at = plans;
	for (size_t i = 0; protocols[i]; i++)
		at = add_plan(at, protocols, i, protocols[i]->for_origin(conf, push));
	return plans;
}

void session_plans_free(struct session_plan *plans)
{
	for (struct session_plan *p = plans; p && p->protocol; p++)
		free(p->config);
	free(plans);
}

/* ---- which one ---- */

const struct session_plan *session_match(
    const struct session_plan *plans, const uint8_t *bytes, size_t n, bool *more)
{
	*more = false;
	for (const struct session_plan *p = plans; p->protocol; p++) {
		switch (p->protocol->match(bytes, n)) {
		case SESSION_MATCH_YES:
			return p;
		case SESSION_MATCH_MORE:
			*more = true;
			break;
		case SESSION_MATCH_NO:
			break;
		}
	}
	return NULL;
}

const struct session_plan *session_by_alpn(const struct session_plan *plans, struct slice alpn)
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

void session_alpn_list(const struct session_plan *plans, bool for_clients, char *text, size_t size)
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

size_t session_refusal(const struct session_plan *plans, char *text, size_t size)
{
	char names[SESSION_REFUSAL_BYTES / 4];
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
