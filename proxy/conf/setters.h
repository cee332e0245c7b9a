/* SPDX-License-Identifier: MIT */
/*
 * Private to conf/: setters and checks that the option table calls for values that need more than
 * their type.
 */
#ifndef PUSHGATE_CONF_SETTERS_H
#define PUSHGATE_CONF_SETTERS_H

#include "proxy/conf/load.h"

/* RFC 1035 2.3.4, in text. */
enum { CONF_HOST_BYTES = 253 };

/* Setters that report by themselves. */
/* [server] */
conf_setter conf_set_user, conf_set_log_fields, conf_set_status_socket, conf_add_resolver,
    conf_set_diary_cookie_key, conf_set_tracing, conf_set_ticket_keys, conf_set_keylog_file,
    conf_set_acme_ca;
/* [listen] */
conf_setter conf_set_address, conf_set_pem_file, conf_set_ech_keys, conf_set_client_ca,
    conf_set_hsts, conf_add_suite, conf_add_group, conf_set_certificate_folder, conf_set_acme;
/* [origin] */
conf_setter conf_set_server, conf_set_tls_ca, conf_add_source, conf_set_client_certificate,
    conf_set_upstream_proxy, conf_add_no_proxy;
/* [route] */
conf_setter conf_set_route_origin, conf_set_route_redirect, conf_set_route_answer,
    conf_set_route_field, conf_set_limit_requests, conf_set_retry_on;
/* [access], [preload], [errors] */
conf_setter conf_set_access_rule, conf_set_ignored_query, conf_set_add, conf_set_error_body;
/* Readers: they report no mistake themselves; the option's row has the text of it. */
conf_setter conf_read_log, conf_read_log_sample, conf_read_redirect, conf_read_client_address,
    conf_read_hash, conf_read_statuses, conf_read_health_check, conf_read_rewrite,
    conf_read_request_buffer, conf_read_body_limit, conf_read_rtt, conf_read_urgency,
    conf_read_arm_share;
/* CONF_TYPE_FIELDS */
conf_setter conf_store_field;

/*
 * files.c: reads a file into the arena, at most `most` bytes and one more. False: it cannot be read, which has been
 * reported, with `what` as the name of its kind.
 */
bool conf_read_bytes(
    struct conf_loader *l, const char *what, const char *path, size_t most, struct slice *bytes);
/* The same for a plain file alone. key: the option that names it. */
bool conf_read_plain_file(struct conf_loader *l, const char *what, const char *key,
    const char *path, size_t most, struct slice *bytes);

/* files.c: what the lines of a file are added to. */
struct conf_list {
	struct slice **items;
	size_t *count;
	conf_member_check *check;
	const char *what;   /* "host" */
	const char *key;    /* "host-file" */
	const char *owners; /* "routes": among which a long file can be divided */
	uint64_t *digest;   /* of the files of this kind, beside conf.lists_digest; NULL: none */
};
bool conf_read_list(struct conf_loader *l, const struct conf_list *list, struct slice path);

/* Texts, and members of lists. */
conf_member_check conf_check_email, conf_check_socket, conf_check_pseudonym, conf_check_cookie,
    conf_check_tls_name, conf_check_host, conf_check_health_host, conf_check_realm;
conf_member_check conf_check_route_host, conf_check_upgrade, conf_check_route_path,
    conf_check_method, conf_check_path_glob, conf_check_host_glob, conf_check_user,
    conf_check_destination, conf_check_user_agent_glob, conf_check_media_glob, conf_check_cert;

/*
 * suggest_value.c: what a bad value probably meant. Each writes a value and returns true, or knows none. The value given is
 * not empty.
 */
conf_suggester suggest_address, suggest_server, suggest_host, suggest_path, suggest_cidr,
    suggest_percent, suggest_rate, suggest_rtt, suggest_hsts, suggest_media_type, suggest_upgrade;

/* setters_origins.c: what the balance of an [origin] cannot have at the same time. */
void conf_check_balance(struct conf_loader *l, const struct conf_section *s);
/* Servers and upstream proxies that no connection from source-address can reach. */
void conf_check_source(struct conf_loader *l, const struct conf_section *s);

/* server_lines.c: reads HOST:PORT into a server. Returns NULL or the mistake. The scheme has a default port; without a
 * scheme the text must name a port. */
const char *conf_read_host_port(
    struct conf_loader *l, struct conf_origin_server *s, struct slice text, struct slice scheme);
/* setters_proxies.c: the value with an asterisk for each byte of a user and a password, for messages. */
struct slice conf_hide_user(struct conf_loader *l, struct slice value);
/* Checks upstream-proxy against the rest of the file. */
void conf_check_proxies(struct conf_loader *l, const struct conf_section *s);

/* The field ends at this hop (RFC 9110 7.6.1): origins and rules never see it. */
bool conf_is_of_one_hop(enum http_token token);
/* RFC 9110 5.5: a field value without control characters but HTAB. */
bool conf_is_text(struct slice text);
/* The same, for a quoted string (RFC 9110 5.6.4) that needs no backslash. */
bool conf_is_quotable(struct slice text);

#endif
