/* SPDX-License-Identifier: MIT */
/* For the tests of policy/: an offer that every guard lets pass, to be changed in one place. */
#ifndef PUSHGATE_TESTS_POLICY_OFFER_H
#define PUSHGATE_TESTS_POLICY_OFFER_H

#include "policy/policy.h"
#include "tests/support/decide.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct scene {
	struct http_head_pool *pool;
	struct http_head *parent, *promised;
	struct policy_offer offer;
	struct policy_rule rules[4];
	struct policy_rules set;
};

static inline struct http_head *head_request(
    struct http_head_pool *pool, const char *method, const char *authority, const char *path)
{
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE(":method"), slice_of_string(method));
	http_head_add(head, SLICE(":scheme"), SLICE("https"));
	http_head_add(head, SLICE(":authority"), slice_of_string(authority));
	http_head_add(head, SLICE(":path"), slice_of_string(path));
	return head;
}

static inline struct http_head *head_response(
    struct http_head_pool *pool, const char *status, const char *length)
{
	struct http_head *head = http_head_new(pool);
	http_head_add(head, SLICE(":status"), slice_of_string(status));
	if (length)
		http_head_add(head, SLICE("content-length"), slice_of_string(length));
	assert_null(http_head_validate(head, HTTP_RESPONSE));
	return head;
}

static inline void scene_promise(struct scene *s, const char *method, const char *path)
{
	http_head_free(s->promised);
	s->promised = head_request(s->pool, method, "www.example.com", path);
	/* As a request: what a guard refuses would not settle as a promise. */
	assert_null(http_head_validate(s->promised, HTTP_REQUEST));
	s->offer.promised = s->promised;
}

static inline void scene_init(struct scene *s)
{
	memset(s, 0, sizeof *s);
	s->pool = http_head_pool_new(4);
	s->parent = head_request(s->pool, "GET", "www.example.com:8443", "/shop/index.html?id=1");
	http_head_add(s->parent, SLICE("user-agent"), SLICE("Example/1.0 (X; Y)"));
	assert_null(http_head_validate(s->parent, HTTP_REQUEST));
	s->offer = (struct policy_offer){
	    .source = POLICY_RELAYED,
	    .parent = s->parent,
	    .origin_may_promise = true,
	    .listener_covers = true,
	    .client = {{192, 0, 2, 7}, 4},
	    .client_push_enabled = true,
	    .client_accepts_streams = true,
	    .now = 1,
	};
	scene_promise(s, "GET", "/css/a.css?v=2");
	s->set = (struct policy_rules){s->rules, 0, {100, 1000, 256, 4 << 20}, POLICY_FORWARD};
}

/* A rule without conditions, behind those that there are. */
static inline struct policy_rule *scene_rule(
    struct scene *s, const char *name, enum policy_action action)
{
	struct policy_rule *rule = &s->rules[s->set.count];
	rule->name = name;
	rule->action = action;
	rule->urgency = -1;
	rule->index = (uint32_t)s->set.count++;
	return rule;
}

static inline void scene_fini(struct scene *s)
{
	http_head_free(s->parent);
	http_head_free(s->promised);
	http_head_pool_free(s->pool);
}

static inline void assert_decided(const struct scene *s, enum policy_action action,
    const struct policy_reason *reason, const struct policy_rule *rule)
{
	struct policy_verdict v = policy_decide(&s->set, &s->offer);
	assert_string_equal(v.reason->code, reason->code);
	assert_int_equal(v.action, action);
	assert_ptr_equal(v.rule, rule);
}

#endif
