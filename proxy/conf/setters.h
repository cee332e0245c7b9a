/* SPDX-License-Identifier: MIT */
/*
 * Private to conf/: setters and checks that the option table calls for values that need more than
 * their type.
 */
#ifndef PUSHGATE_CONF_SETTERS_H
#define PUSHGATE_CONF_SETTERS_H

#include "proxy/conf/load.h"

/* [server] */
bool conf_set_workers(struct conf_loader *l, void *object, struct slice value);
bool conf_set_user(struct conf_loader *l, void *object, struct slice value);
bool conf_set_access_log(struct conf_loader *l, void *object, struct slice value);
bool conf_set_log_fields(struct conf_loader *l, void *object, struct slice value);
bool conf_set_log_sample(struct conf_loader *l, void *object, struct slice value);
bool conf_set_error_log(struct conf_loader *l, void *object, struct slice value);
bool conf_set_learned_file(struct conf_loader *l, void *object, struct slice value);
bool conf_set_status_socket(struct conf_loader *l, void *object, struct slice value);
bool conf_set_pseudonym(struct conf_loader *l, void *object, struct slice value);
bool conf_set_resolver(struct conf_loader *l, void *object, struct slice value);
bool conf_set_diary_cookie(struct conf_loader *l, void *object, struct slice value);
bool conf_set_diary_cookie_key(struct conf_loader *l, void *object, struct slice value);
/* [listen] */
bool conf_set_address(struct conf_loader *l, void *object, struct slice value);
bool conf_set_certificate(struct conf_loader *l, void *object, struct slice value);
bool conf_set_key(struct conf_loader *l, void *object, struct slice value);
bool conf_set_redirect(struct conf_loader *l, void *object, struct slice value);
bool conf_set_hsts(struct conf_loader *l, void *object, struct slice value);
/* [origin] */
bool conf_set_server(struct conf_loader *l, void *object, struct slice value);
bool conf_set_hash(struct conf_loader *l, void *object, struct slice value);
bool conf_set_affinity_cookie(struct conf_loader *l, void *object, struct slice value);
bool conf_set_tls_ca(struct conf_loader *l, void *object, struct slice value);
bool conf_set_tls_name(struct conf_loader *l, void *object, struct slice value);
bool conf_set_host(struct conf_loader *l, void *object, struct slice value);
bool conf_set_failure_status(struct conf_loader *l, void *object, struct slice value);
bool conf_set_health_check(struct conf_loader *l, void *object, struct slice value);
bool conf_set_health_host(struct conf_loader *l, void *object, struct slice value);
bool conf_set_health_status(struct conf_loader *l, void *object, struct slice value);
bool conf_set_upstream_proxy(struct conf_loader *l, void *object, struct slice value);
bool conf_set_no_proxy(struct conf_loader *l, void *object, struct slice value);
bool conf_set_request_buffer(struct conf_loader *l, void *object, struct slice value);
bool conf_set_retry_budget(struct conf_loader *l, void *object, struct slice value);
/* [route] */
bool conf_set_route_origin(struct conf_loader *l, void *object, struct slice value);
bool conf_set_route_redirect(struct conf_loader *l, void *object, struct slice value);
bool conf_set_route_answer(struct conf_loader *l, void *object, struct slice value);
bool conf_set_route_field(struct conf_loader *l, void *object, struct slice value);
bool conf_set_rewrite(struct conf_loader *l, void *object, struct slice value);
bool conf_set_host_file(struct conf_loader *l, void *object, struct slice value);
bool conf_set_path_file(struct conf_loader *l, void *object, struct slice value);
bool conf_set_limit_requests(struct conf_loader *l, void *object, struct slice value);
bool conf_set_retry_on(struct conf_loader *l, void *object, struct slice value);
/* [access] */
bool conf_set_access_rule(struct conf_loader *l, void *object, struct slice value);
bool conf_set_realm(struct conf_loader *l, void *object, struct slice value);
/* [push] */
bool conf_set_rtt(struct conf_loader *l, void *object, struct slice value);
bool conf_set_share(struct conf_loader *l, void *object, struct slice value);
bool conf_set_min_used(struct conf_loader *l, void *object, struct slice value);
bool conf_set_urgency(struct conf_loader *l, void *object, struct slice value);
/* [preload] */
bool conf_set_add(struct conf_loader *l, void *object, struct slice value);
/* [errors] */
bool conf_set_error_body(struct conf_loader *l, void *object, struct slice value);
/* CONF_TYPE_FIELDS */
bool conf_store_field(
    struct conf_loader *l, const struct conf_option *o, void *object, struct slice value);

/* lists.c: what the lines of a file are added to. */
struct conf_list {
	struct slice **items;
	size_t *count;
	const char *(*check)(struct slice member);
	const char *what;   /* "host" */
	const char *key;    /* "host-file" */
	const char *owners; /* "routes": among which a long file can be divided */
};
bool conf_read_list(struct conf_loader *l, const struct conf_list *list, struct slice path);

/* host_set.c: fills an empty set with patterns that conf_check_access_host accepts. */
void conf_host_set_fill(struct conf_loader *l, struct conf_host_set *s, uint64_t seed,
    const struct slice *patterns, size_t count);

/* Members of lists. */
const char *conf_check_access_host(struct slice member);
const char *conf_check_route_host(struct slice member);
const char *conf_check_upgrade(struct slice member);
const char *conf_check_route_path(struct slice member);
const char *conf_check_method(struct slice member);
const char *conf_check_path_glob(struct slice member);
const char *conf_check_host_glob(struct slice member);
const char *conf_check_user(struct slice member);
const char *conf_check_destination(struct slice member);
const char *conf_check_user_agent_glob(struct slice member);
const char *conf_check_media_glob(struct slice member);

/* setters_balance.c: what the balance of an [origin] cannot have at the same time. */
void conf_check_balance(struct conf_loader *l, const struct conf_section *s);

/* servers.c: reads HOST:PORT into a server. Returns NULL, or what is wrong with the text. The scheme has a default
 * port; without a scheme the text must name a port. */
const char *conf_read_host_port(
    struct conf_loader *l, struct conf_origin_server *s, struct slice text, struct slice scheme);
/* setters_proxies.c: the value with an asterisk for each byte of a user and a password, for messages. */
struct slice conf_hide_user(struct conf_loader *l, struct slice value);
/* What upstream-proxy cannot be together with the rest of the file. */
void conf_check_proxies(struct conf_loader *l, const struct conf_section *s);

/* The field ends at this hop (RFC 9110 7.6.1): origins and rules never see it. */
bool conf_is_of_one_hop(enum http_token token);
/* RFC 9110 5.5: a field value without control characters but HTAB. */
bool conf_is_text(struct slice text);

#endif
