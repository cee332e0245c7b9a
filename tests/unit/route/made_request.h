/* SPDX-License-Identifier: MIT */
/* A request for a route of a configuration made for it, and what its origin gets. */
#ifndef PUSHGATE_TESTS_UNIT_ROUTE_MADE_REQUEST_H
#define PUSHGATE_TESTS_UNIT_ROUTE_MADE_REQUEST_H

// clang-format off
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "proxy/route/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct made {
	struct http_head_pool *heads;
	struct conf *conf;
	struct route_env env;
	struct exchange x;
};

/* fields: "name: value\n…". */
static inline void add_fields(struct http_head *head, const char *fields)
{
	char line[4096];
	for (const char *at = fields; *at;) {
		size_t end = strcspn(at, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)end, at);
		char *colon = strchr(line, ':');
		http_head_add(head, slice_of(line, (size_t)(colon - line)), slice_of_string(colon + 2));
		at += end + (at[end] == '\n');
	}
}

/* A request on a listener with more lines, to a route with more lines; fields: "name: value\n…". */
static inline struct made made_new(const char *listen, const char *route, const char *client, const char *fields)
{
	char text[2048];
	struct made m = {.heads = http_head_pool_new(4)};
	snprintf(text, sizeof(text),
	    "[listen l]\naddress = 127.0.0.1:1\n%s\n[origin o]\nserver = h2c://127.0.0.1:2\n[route r]\norigin = o\n%s\n", listen,
	    route);
	m.conf = conf_load_text(slice_of_string(text), "test.ini", false, stderr);
	assert_non_null(m.conf);
	m.env = (struct route_env){.pseudonym = SLICE("gate"), .via = http_via_make(SLICE("gate"))};
	struct http_head *head = http_head_new(m.heads);
	head->version = HTTP_VERSION_2;
	http_head_add(head, SLICE(":method"), SLICE("GET"));
	http_head_add(head, SLICE(":scheme"), SLICE("http"));
	http_head_add(head, SLICE(":authority"), SLICE("a.example:81"));
	http_head_add(head, SLICE(":path"), SLICE("/"));
	add_fields(head, fields);
	assert_null(http_head_validate(head, HTTP_REQUEST));
	m.x.request = m.x.facts.head = head;
	m.x.method = head->method_token;
	m.x.facts.listener = &m.conf->listens[0];
	m.x.place.route = &m.conf->routes[0];
	m.x.place.origin = m.conf->routes[0].origin;
	if (*client)
		assert_true(address_parse(slice_of_string(client), &m.x.facts.client));
	m.x.facts.peer = m.x.facts.client;
	return m;
}

static inline void made_free(struct made *m)
{
	http_head_free((struct http_head *)(uintptr_t)m->x.request);
	conf_free(m->conf);
	http_head_pool_free(m->heads);
}

static inline void text_is(const struct http_head *head, const char *wanted)
{
	char text[4096] = "";
	for (uint32_t i = 0; i < head->count; i++) {
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%.*s: %.*s\n", SLICE_ARG(head->fields[i].name),
		    SLICE_ARG(head->fields[i].value));
	}
	assert_string_equal(text, wanted);
}

/* The origin gets these fields, and Via. */
static inline void origin_gets(const char *listen, const char *route, const char *client, const char *fields, const char *wanted)
{
	char all[2048];
	struct made m = made_new(listen, route, client, fields);
	struct http_head *head = route_origin_request(&m.env, &m.x.facts, &m.x.place);
	http_head_remove(head, HTTP_TOKEN_VIA);
	snprintf(all, sizeof(all), "%s", wanted);
	text_is(head, all);
	http_head_free(head);
	made_free(&m);
}

#endif
