/* SPDX-License-Identifier: MIT */
/*
 * The option table: every section and option that there is, with its default, range and meaning.
 * Nothing else knows a default. The sentences are for the operator; help-config and the manual
 * print them.
 */
#include "proxy/conf/option.h"
#include "proxy/conf/option_limits.h"
#include "proxy/conf/setters.h"
#include "proxy/limits.h"
#include <assert.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define DAY (86400 * USEC_PER_SEC)

const struct conf_section_type conf_section_types[CONF_SECTION_COUNT] = {
    [CONF_SECTION_SERVER] = {"server", false, 0,
	"The process as a whole, its memory, and what pushes may take. At most one."},
    [CONF_SECTION_LISTEN] = {"listen", true, sizeof(struct conf_listen),
	"An address that clients connect to, and what is announced to them there."},
    [CONF_SECTION_ORIGIN] = {"origin", true, sizeof(struct conf_origin),
	"A server that requests are sent to, and what is announced to it."},
    [CONF_SECTION_ROUTE] = {"route", true, sizeof(struct conf_route),
	"Which requests go to which origin. The most specific route wins: an exact host before a "
	"wildcard, then the longest path."},
    [CONF_SECTION_PUSH] = {"push", true, sizeof(struct policy_rule),
	"A rule on pushes. Rules are tried in the order in which they stand; the first whose "
	"conditions all hold decides. A condition that is not given always holds; one with "
	"several values holds when one of them does."},
    [CONF_SECTION_PRELOAD] = {"preload", true, sizeof(struct conf_preload),
	"Pushes of our own: for which requests, and where they come from. All sections whose "
	"conditions hold count; the [push] rules decide on each push that they offer."},
};

#define SERVER(field) .section = CONF_SECTION_SERVER, .offset = offsetof(struct conf, field)
#define LISTEN(field) .section = CONF_SECTION_LISTEN, .offset = offsetof(struct conf_listen, field)
#define ORIGIN(field) .section = CONF_SECTION_ORIGIN, .offset = offsetof(struct conf_origin, field)
#define ROUTE(items, count)                                                                        \
	.section = CONF_SECTION_ROUTE, .offset = offsetof(struct conf_route, items),               \
	.count_offset = offsetof(struct conf_route, count)
#define PUSH(field) .section = CONF_SECTION_PUSH, .offset = offsetof(struct policy_rule, field)
#define PRELOAD(field)                                                                             \
	.section = CONF_SECTION_PRELOAD, .offset = offsetof(struct conf_preload, field)
#define FIELDS(field, change)                                                                      \
	.section = CONF_SECTION_ROUTE, .offset = offsetof(struct conf_route, field),               \
	.repeats = true, .type = CONF_TYPE_FIELDS, .min = (change)
#define PATTERNS .type = CONF_TYPE_PATTERNS, .repeats = true
#define PATTERNS_NOCASE PATTERNS, .min = 1
#define NUMBER(least, most) .type = CONF_TYPE_NUMBER, .min = (least), .max = (most)
#define SIZE(least, most) .type = CONF_TYPE_SIZE, .min = (least), .max = (most)
#define WINDOW(least, most) .type = CONF_TYPE_WINDOW, .min = (least), .max = (most)
#define TIME(least) .type = CONF_TYPE_TIME, .min = (least), .max = DAY
#define SWITCH(words) .type = CONF_TYPE_SWITCH, .choices = (words)
#define CHOICE(words) .type = CONF_TYPE_CHOICE, .choices = (words)
#define BITS(words, first)                                                                         \
	.type = CONF_TYPE_BITS, .choices = (words), .min = (first), .repeats = true

/* CONF_TYPE_CHOICE stores a position as an unsigned; CONF_TYPE_BITS counts on these orders. */
static_assert(sizeof(enum policy_tristate) == sizeof(unsigned), "an enum is an unsigned");
static_assert(CONF_PUSH_AUTO == 0 && CONF_PUSH_ACCEPT == 1 && CONF_PUSH_REFUSE == 2, "push");
static_assert(CONF_SCHEME_KEEP == 0 && CONF_SCHEME_HOP == 1, "scheme");
static_assert(CONF_SANDBOX_ON == 0 && CONF_SANDBOX_OFF == 1 && CONF_SANDBOX_LOG == 2, "sandbox");
static_assert(POLICY_ANY == 0 && POLICY_NO == 1 && POLICY_YES == 2, "push-enabled");
static_assert(POLICY_RELAYED == 0 && POLICY_SOURCE_COUNT == 5, "source");
static_assert(POLICY_FORWARD == 0 && POLICY_DROP == 1 && POLICY_HOLD == 2 && POLICY_HINT == 3 &&
		  POLICY_HINT_HOLD == 4 && POLICY_ACTION_COUNT == 5,
    "action");
static_assert(
    CONF_LEARNED_OFF == 0 && CONF_LEARNED_PROPOSE == 1 && CONF_LEARNED_APPLY == 2, "learned");
static_assert(POLICY_TYPE_UNKNOWN == 0 && POLICY_TYPE_COUNT == 8, "type");
static_assert(HTTP_METHOD_HEAD == HTTP_METHOD_GET + 1, "method");

// clang-format off
const struct conf_option conf_options[] = {
    /* ---- [server] ---- */
    {SERVER(server.workers), .key = "workers", .type = CONF_TYPE_OTHER, .form = "auto | 1 ... 256",
        .preset = "auto", .set = conf_set_workers,
        .sentence = "Worker processes. auto: one for each processor."},
    {SERVER(server.user), .key = "user",
        .example = "pushgate", .type = CONF_TYPE_TEXT, .form = "NAME", .set = conf_set_user,
        .sentence = "The user that workers and logger run as when the program was started by root. Not given: "
        "pushgate if there is such a user, else nobody. root: they stay root, without its capabilities. Files "
        "that are read again or written later must be open to it: manifests, and the folder of learned-file."},
    {SERVER(server.sandbox), .key = "sandbox", CHOICE("on off log"), .preset = "on",
        .sentence = "Whether workers and logger give up the system calls that they do not need (seccomp); one "
        "that makes another call is killed and started again.\noff: they keep them.\nlog: such a call is made, and the "
        "kernel's log says so."},
    {SERVER(server.access_log), .key = "access-log", .type = CONF_TYPE_OTHER, .form = "FILE | - | off",
        .preset = "off", .set = conf_set_access_log,
        .sentence = "Where each request and each push gets its line (JSON). -: standard output."},
    {SERVER(server.error_log), .key = "error-log", .type = CONF_TYPE_OTHER, .form = "FILE | - | off",
        .preset = "-", .set = conf_set_error_log,
        .sentence = "Where faults and events are written. -: standard error. Lines for systemd's journal "
			    "carry their level as it reads it, and no time."},
    {SERVER(server.status_socket), .key = "status-socket", .type = CONF_TYPE_OTHER, .form = "FILE | off",
        .preset = "off", .set = conf_set_status_socket,
        .sentence = "The unix socket that `pushgate status` asks."},
    {SERVER(server.learned_file), .key = "learned-file", .type = CONF_TYPE_OTHER, .form = "FILE | off",
        .preset = "off", .set = conf_set_learned_file,
        .sentence = "Where what [preload] sections learn is kept over restarts, as JSON that also shows what is "
        "proposed. The first worker writes it once a minute and at the end."},
    {SERVER(server.pseudonym), .key = "pseudonym", .type = CONF_TYPE_TEXT, .form = "NAME",
        .preset = "pushgate", .set = conf_set_pseudonym,
        .sentence = "Our name in Via and Proxy-Status (RFC 9110 7.6.3). A request that has it already is in a "
        "loop and is refused with 508, so proxies in a chain need different ones: the default gets a "
        "suffix that is drawn at each start."},
    {SERVER(server.memory_bytes), .key = "memory", SIZE(16 * MIB, 1024 * GIB), .preset = "256M",
        .sentence = "What peers may make one worker keep in memory. Beyond it new streams are refused."},
    {SERVER(server.connection_memory_bytes), .key = "connection-memory", SIZE(1 * MIB, 64 * GIB),
        .preset = "16M", .sentence = "The part of it that one connection may take."},
    {SERVER(server.drain_timeout), .key = "drain-timeout", TIME(0), .preset = "30s",
        .sentence = "How long a worker that is told to stop lets requests finish. 0: without limit."},
    {SERVER(policy.fallback), .key = "default-action", CHOICE("forward drop hold hint hint+hold"),
        .preset = "forward", .sentence = "What happens to a push that no [push] rule takes."},
    {SERVER(policy.caps.per_parent), .key = "max-pushes-per-parent", NUMBER(1, 100000), .preset = "100",
        .sentence = "Pushes that one request may have; more are refused."},
    {SERVER(policy.caps.per_connection), .key = "max-pushes-per-connection", NUMBER(1, 100000),
        .preset = "256", .sentence = "Pushes under way at a time on one client connection; more are refused."},
    {SERVER(policy.caps.bytes_in_flight), .key = "max-push-bytes", SIZE(64 * KIB, 1 * GIB), .preset = "4M",
        .sentence = "Pushed bytes that may wait for one client connection, with the heads and promises that it has not "
        "read; while there are more, pushes are refused."},
    {SERVER(server.promise_rate), .key = "promise-rate", NUMBER(1, 1000000), .preset = "100000",
        .sentence = "Promises a second that one origin connection may make; more are refused."},
    {SERVER(server.promise_refusals), .key = "promise-refusals", NUMBER(1, 1000000), .preset = "1000",
        .sentence = "Refused promises a minute on one origin connection after which push is turned off on it."},
    {SERVER(server.reset_rate), .key = "reset-rate", NUMBER(1, 1000000), .preset = "100",
        .sentence = "Refused promises a second to one origin connection after which the routes that cause them "
        "use connections without push, before the origin takes the resets for an attack."},
    {SERVER(server.push_start_timeout), .key = "push-start-timeout", TIME(0), .preset = "10s",
        .sentence = "How long a promise may wait for its response to begin; then it is cancelled. 0: without "
        "limit."},
    {SERVER(server.diary_entries), .key = "diary-entries", NUMBER(0, POLICY_DIARY_MOST), .preset = "256",
        .sentence = "Resources of which it is remembered that a client connection has them; they are not pushed "
        "to it again. 0: none."},
    {SERVER(server.diary_cookie), .key = "diary-cookie", .type = CONF_TYPE_OTHER, .form = "NAME | off",
        .preset = "off", .set = conf_set_diary_cookie,
        .sentence = "A cookie in which clients bring that memory back on their next connection."},
    {SERVER(server.diary_keys), .key = "diary-cookie-key",
        .example = "/etc/pushgate/diary.key", .type = CONF_TYPE_OTHER, .form = "FILE", .repeats = true,
        .set = conf_set_diary_cookie_key,
        .sentence = "A file with the secret that signs it, 16 bytes or more. A second one is still accepted, so that "
        "the secret can be changed."},
    {SERVER(server.diary_cookie_age), .key = "diary-cookie-age", .type = CONF_TYPE_TIME, .min = 60 * USEC_PER_SEC,
        .max = 365 * DAY, .preset = "168h", .sentence = "How long the cookie lasts."},
    {SERVER(server.hold_max_count), .key = "hold-max-count", NUMBER(1, 10000), .preset = "32",
        .sentence = "Responses held at a time for one client connection; more pushes are dropped."},
    {SERVER(server.hold_max_bytes), .key = "hold-max-bytes", SIZE(64 * KIB, 1 * GIB), .preset = "2M",
        .sentence = "Bytes of them."},
    {SERVER(server.hold_max_age), .key = "hold-max-age", .type = CONF_TYPE_TIME, .min = 100 * USEC_PER_MSEC, .max = DAY,
        .preset = "30s", .sentence = "How long a response is held for a request that does not come."},
    {SERVER(server.hold_shared), .key = "hold-shared", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: a held response that a shared cache may store (RFC 9111) answers any client of the worker."},
    {SERVER(server.hint_wait), .key = "hint-wait", .type = CONF_TYPE_TIME, .min = 0, .max = 1 * USEC_PER_SEC,
        .preset = "0", .sentence = "How long a 103 (Early Hints) of our own waits for more hints. 0: not at all."},

    /* ---- [listen NAME] ---- */
    {LISTEN(address), .key = "address",
        .example = "127.0.0.1:8443", .type = CONF_TYPE_OTHER, .form = "IP:PORT | *:PORT | unix:/PATH",
        .is_required = true, .set = conf_set_address,
        .sentence = "Where to listen, such as 127.0.0.1:8443, [::1]:8443 or *:8443."},
    {LISTEN(address), .key = "mode", .type = CONF_TYPE_OTHER, .form = "gateway", .preset = "gateway",
        .set = conf_set_mode, .sentence = "A gateway serves the hosts that it has routes for."},
    {LISTEN(certificates), .key = "certificate",
        .example = "/etc/pushgate/example.com.pem", .type = CONF_TYPE_OTHER, .form = "FILE", .repeats = true,
        .set = conf_set_certificate,
        .sentence = "A certificate with its chain, PEM; each needs a key. Several are told apart by the name "
        "that the client asks for, the first is the default. None: cleartext HTTP/2 (h2c with prior knowledge)."},
    {LISTEN(certificates), .key = "key",
        .example = "/etc/pushgate/example.com.key", .type = CONF_TYPE_OTHER, .form = "FILE", .repeats = true,
        .set = conf_set_key, .sentence = "The private key, PEM; the first belongs to the first certificate."},
    {LISTEN(clients_shared), .key = "clients", SWITCH("single shared"), .preset = "single",
        .sentence = "shared: a connection may carry the requests of several users, as those of a CDN or another "
        "proxy do."},
    {LISTEN(max_connections), .key = "max-connections", NUMBER(1, 1000000), .preset = "10000",
        .sentence = "Client connections at a time in each worker; more are closed at once."},
    {LISTEN(max_connections_per_client), .key = "max-connections-per-client", NUMBER(0, 1000000), .preset = "1000",
        .sentence = "Of these, connections of one client: an IPv4 address or an IPv6 /64. Those of unix sockets are not "
        "counted. 0: without limit."},
    {LISTEN(max_concurrent_streams), .key = "max-concurrent-streams", NUMBER(1, 65536), .preset = "100",
        .sentence = "Requests at a time on one connection (SETTINGS_MAX_CONCURRENT_STREAMS)."},
    {LISTEN(stream_window_bytes), .key = "stream-window", WINDOW(16 * KIB, 1 * GIB), .preset = "256k",
        .sentence = "Bytes of one upload that may be under way (SETTINGS_INITIAL_WINDOW_SIZE)."},
    {LISTEN(connection_window_bytes), .key = "connection-window", WINDOW(64 * KIB, 1 * GIB), .preset = "1M",
        .sentence = "Bytes of all uploads of a connection that may be under way."},
    {LISTEN(header_table_bytes), .key = "header-table", WINDOW(0, 64 * KIB), .preset = "4k",
        .sentence = "The client's HPACK table (SETTINGS_HEADER_TABLE_SIZE)."},
    {LISTEN(max_header_list_bytes), .key = "max-header-list", WINDOW(4 * KIB, LIMIT_FIELD_BLOCK_BYTES),
        .preset = "64k",
        .sentence = "The size of a request's fields (SETTINGS_MAX_HEADER_LIST_SIZE); larger ones get 431."},
    {LISTEN(max_request_body_bytes), .key = "max-request-body", SIZE(0, 1024 * GIB), .preset = "0",
        .sentence = "The size of a request's body; larger ones get 413. 0: without limit."},
    {LISTEN(tls_timeout), .key = "tls-timeout", TIME(0), .preset = "10s",
        .sentence = "For the TLS handshake. 0: without limit, as with the others."},
    {LISTEN(preface_timeout), .key = "preface-timeout", TIME(0), .preset = "10s",
        .sentence = "From there to the client's HTTP/2 preface."},
    {LISTEN(settings_timeout), .key = "settings-timeout", TIME(0), .preset = "10s",
        .sentence = "For the acknowledgement of our SETTINGS."},
    {LISTEN(header_timeout), .key = "header-timeout", TIME(0), .preset = "10s",
        .sentence = "From the first byte of a request's field block to its last."},
    {LISTEN(idle_timeout), .key = "idle-timeout", TIME(0), .preset = "3m",
        .sentence = "How long a connection without a request stays open."},
    {LISTEN(write_timeout), .key = "write-timeout", TIME(0), .preset = "30s",
        .sentence = "How long a client may take nothing of what waits for it, or too little; see min-rate."},
    {LISTEN(body_timeout), .key = "body-timeout", TIME(0), .preset = "30s",
        .sentence = "Between two bytes of an upload that count; see min-rate."},
    LIMITS_OF_CLIENTS(LISTEN),
    LIMITS_OF_BOTH(LISTEN, "client"),

    /* ---- [origin NAME] ---- */
    {ORIGIN(server_text), .key = "server",
        .example = "h2c://127.0.0.1:8080", .type = CONF_TYPE_OTHER,
        .form = "h2://HOST:PORT | h2c://HOST:PORT | h2c+unix:/PATH | demo:", .is_required = true,
        .set = conf_set_server,
        .sentence = "h2: HTTP/2 over TLS, port 443 if none is given. h2c: HTTP/2 in cleartext, port 80 if none "
        "is given. demo: the small site that is built in. Names are looked up once, at the start."},
    {ORIGIN(tls_ca), .key = "tls-ca",
        .example = "/etc/pushgate/origin-ca.pem", .type = CONF_TYPE_FILE, .form = "FILE", .set = conf_set_tls_ca,
        .sentence = "Authorities that the origin's certificate is verified with, PEM. Not given: the system's."},
    {ORIGIN(tls_verify), .key = "tls-verify", SWITCH("no yes"), .preset = "yes",
        .sentence = "no: any certificate will do. Only for tests: it takes all meaning from TLS."},
    {ORIGIN(tls_name), .key = "tls-name",
        .example = "origin.example.com", .type = CONF_TYPE_TEXT, .form = "NAME", .set = conf_set_tls_name,
        .sentence = "The name that is asked for (SNI) and verified. Not given: the host of server."},
    {ORIGIN(push), .key = "push", CHOICE("auto accept refuse"), .preset = "auto",
        .sentence = "What we announce as SETTINGS_ENABLE_PUSH. auto: 1 on connections for requests whose pushes "
        "could be used, 0 on the others; accept: always 1; refuse: always 0."},
    {ORIGIN(scheme), .key = "scheme", CHOICE("keep hop"), .preset = "keep",
        .sentence = ":scheme of requests to the origin. keep: the client's; hop: that of the connection to the "
        "origin."},
    {ORIGIN(host_override), .key = "host", .type = CONF_TYPE_OTHER, .form = "keep | NAME[:PORT]",
        .preset = "keep", .set = conf_set_host,
        .sentence = ":authority of requests to the origin. keep: the client's."},
    {ORIGIN(max_concurrent_pushes), .key = "max-concurrent-pushes", NUMBER(1, 100000), .preset = "1000",
        .sentence = "Pushed responses at a time on one origin connection (SETTINGS_MAX_CONCURRENT_STREAMS)."},
    {ORIGIN(max_connections), .key = "max-connections", NUMBER(1, 10000), .preset = "4",
        .sentence = "Connections to the origin in each worker and pool (with push and without)."},
    {ORIGIN(spare_connections), .key = "spare-connections", NUMBER(0, 10000), .preset = "0",
        .sentence = "Connections that are opened ahead of need once the origin is in use."},
    {ORIGIN(max_queue), .key = "max-queue", NUMBER(0, 1000000), .preset = "10000",
        .sentence = "Requests that may wait for a stream; more get 503."},
    {ORIGIN(stream_window_bytes), .key = "stream-window", WINDOW(16 * KIB, 1 * GIB), .preset = "64k",
        .sentence = "Bytes of one response that may be under way, to begin with; four times that for a client that "
                    "keeps up."},
    {ORIGIN(max_stream_window_bytes), .key = "max-stream-window", WINDOW(16 * KIB, 1 * GIB), .preset = "4M",
        .sentence = "What that may grow to when the distance to the origin asks for it."},
    {ORIGIN(connection_window_bytes), .key = "connection-window", WINDOW(64 * KIB, 1 * GIB), .preset = "16M",
        .sentence = "Bytes of all responses of a connection that may be under way."},
    {ORIGIN(max_header_list_bytes), .key = "max-header-list", WINDOW(4 * KIB, LIMIT_FIELD_BLOCK_BYTES),
        .preset = "64k", .sentence = "The size of a response's or a promise's fields."},
    {ORIGIN(connect_timeout), .key = "connect-timeout", TIME(0), .preset = "5s",
        .sentence = "For connecting, TLS handshake included. 0: without limit, as with the others."},
    {ORIGIN(settings_timeout), .key = "settings-timeout", TIME(0), .preset = "10s",
        .sentence = "For the acknowledgement of our SETTINGS."},
    {ORIGIN(queue_timeout), .key = "queue-timeout", TIME(0), .preset = "10s",
        .sentence = "How long a request may wait for a stream; then it gets 504."},
    {ORIGIN(response_timeout), .key = "response-timeout", TIME(0), .preset = "60s",
        .sentence = "From the request to the head of the final response; then the client gets 504."},
    {ORIGIN(idle_timeout), .key = "idle-timeout", TIME(0), .preset = "60s",
        .sentence = "How long a connection without a request stays open."},
    {ORIGIN(write_timeout), .key = "write-timeout", TIME(0), .preset = "30s",
        .sentence = "How long the origin may take nothing of what waits for it, or too little; see min-rate."},
    {ORIGIN(body_timeout), .key = "body-timeout", TIME(0), .preset = "60s",
        .sentence = "Between two bytes of a response that count; see min-rate."},
    {ORIGIN(upload_linger), .key = "upload-linger", TIME(USEC_PER_MSEC), .preset = "10s",
        .sentence = "How long an upload goes on when the response is complete already."},
    LIMITS_OF_BOTH(ORIGIN, "origin"),
    LIMITS_OF_ORIGINS(ORIGIN),

    /* ---- [route NAME] ---- */
    {ROUTE(hosts, host_count), .key = "host",
        .example = "example.com *.example.com", .type = CONF_TYPE_LIST, .form = "NAME | *.NAME | * ...",
        .repeats = true, .check = conf_check_route_host,
        .sentence = "Hosts of the requests. *.example.com: every name below example.com. Not given: any host."},
    {ROUTE(paths, path_count), .key = "path",
        .example = "/", .type = CONF_TYPE_LIST, .form = "/PATH ...", .repeats = true,
        .check = conf_check_route_path,
        .sentence = "Beginnings of paths, whole segments: /api takes /api and /api/x, not /apix. Not given: /."},
    {.section = CONF_SECTION_ROUTE, .offset = offsetof(struct conf_route, origin), .key = "origin",
        .example = "app",
        .type = CONF_TYPE_OTHER, .form = "NAME", .is_required = true, .set = conf_set_route_origin,
        .sentence = "The [origin NAME] that they go to."},
    {FIELDS(request_fields, CONF_FIELD_SET), .key = "request-set",
        .example = "X-Gate: pushgate", .form = "NAME: VALUE",
        .sentence = "A field that requests go to the origin with, in place of those of that name. All changes happen "
        "in the order in which they stand."},
    {FIELDS(request_fields, CONF_FIELD_ADD), .key = "request-add",
        .example = "X-Environment: staging", .form = "NAME: VALUE",
        .sentence = "A field that is added to requests, beside those of that name."},
    {FIELDS(request_fields, CONF_FIELD_REMOVE), .key = "request-remove",
        .example = "X-Debug", .form = "NAME",
        .sentence = "Fields that are taken from requests."},
    {FIELDS(response_fields, CONF_FIELD_SET), .key = "response-set",
        .example = "Referrer-Policy: same-origin", .form = "NAME: VALUE",
        .sentence = "A field that responses go to the client with, in place of those of that name."},
    {FIELDS(response_fields, CONF_FIELD_ADD), .key = "response-add",
        .example = "X-Served-For: example.com", .form = "NAME: VALUE",
        .sentence = "A field that is added to responses."},
    {FIELDS(response_fields, CONF_FIELD_REMOVE), .key = "response-remove",
        .example = "X-Powered-By", .form = "NAME",
        .sentence = "Fields that are taken from responses."},

    /* ---- [push NAME] ---- */
    {PUSH(sources), .key = "source",
        .example = "relayed", BITS("relayed link config manifest learned", POLICY_RELAYED),
        .sentence = "Where the push comes from.\n"
        "relayed: the origin promised it.\n"
        "link: a Link field of the response.\n"
        "config: an add of [preload].\n"
        "manifest: a manifest of [preload].\n"
        "learned: what earlier clients asked for."},
    {.section = CONF_SECTION_PUSH, .key = "client",
        .example = "192.0.2.0/24 2001:db8::/32", .type = CONF_TYPE_CIDRS, .form = "ADDRESS[/BITS] ...",
        .repeats = true, .offset = offsetof(struct policy_rule, clients),
        .count_offset = offsetof(struct policy_rule, client_count),
        .sentence = "The client's address, such as 192.0.2.0/24 or 2001:db8::/32."},
    {PUSH(hosts), .key = "host",
        .example = "example.com *.example.com", PATTERNS_NOCASE, .form = "PATTERN ...", .check = conf_check_host_glob,
        .sentence = "The host of the client's request, without port. In patterns * is any run of characters, ? any "
        "one; behind a ~ stands a regular expression (PCRE2), in double quotes if it has commas or spaces."},
    {PUSH(paths), .key = "path",
        .example = "/app/* *.html", PATTERNS, .form = "PATTERN ...", .check = conf_check_path_glob,
        .sentence = "The path of the client's request, without its query."},
    {PUSH(promised_paths), .key = "promised-path",
        .example = "*.css /img/* \"~^/fonts/[a-z]{1,20}[.]woff2$\"", PATTERNS, .form = "PATTERN ...", .check = conf_check_path_glob,
        .sentence = "The path of what is pushed, without its query."},
    {PUSH(user_agents), .key = "user-agent",
        .example = "curl/* \"*Example Browser 1.*\"", PATTERNS_NOCASE, .form = "PATTERN | \"PATTERN\" ...",
        .sentence = "The client's User-Agent, in any case; a pattern with spaces or commas stands in double quotes."},
    {PUSH(types), .key = "type",
        .example = "style script image", BITS("unknown document style script image font json media", POLICY_TYPE_UNKNOWN),
        .sentence = "What is pushed, as far as the ending of its path tells."},
    {PUSH(methods), .key = "method",
        .example = "GET HEAD", BITS("GET HEAD", HTTP_METHOD_GET),
        .sentence = "The method of the promised request."},
    {PUSH(push_enabled), .key = "push-enabled", CHOICE("any no yes"), .preset = "any",
        .sentence = "Whether the client accepts pushes (its SETTINGS_ENABLE_PUSH)."},
    {PUSH(save_data), .key = "save-data", CHOICE("any no yes"), .preset = "any",
        .sentence = "Whether the request says Save-Data: on."},
    {PUSH(navigation), .key = "navigation", CHOICE("any no yes"), .preset = "any",
        .sentence = "Whether the request loads a page (Sec-Fetch-Mode: navigate). Without that field it is neither "
        "yes nor no."},
    {PUSH(rtt_usec), .key = "rtt",
        .example = "<80ms", .type = CONF_TYPE_OTHER, .form = "<TIME | >TIME", .set = conf_set_rtt,
        .sentence = "The round-trip time of the client's connection, such as <80ms; at most 60s."},
    {PUSH(share), .key = "share", .type = CONF_TYPE_OTHER, .form = "0.01% ... 100%", .preset = "100%",
        .set = conf_set_share,
        .sentence = "The part of the requests that the rule is for, drawn by client, host and path: a client stays "
        "on its side."},
    {PUSH(action), .key = "action",
        .example = "forward", CHOICE("forward drop hold hint hint+hold"), .is_required = true,
        .sentence = "forward: the client gets the push.\n"
        "drop: the push is refused at the origin.\n"
        "hold: the response is kept for the client's own request.\n"
        "hint: the client is told of it in a 103 (Early Hints).\n"
        "hint+hold: both."},
    {PUSH(shadow), .key = "shadow", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: the rule does nothing; what it would have decided is counted."},
    {PUSH(max_per_parent), .key = "max-per-parent", NUMBER(0, 100000), .preset = "0",
        .sentence = "At most so many pushes for one request. 0: max-pushes-per-parent alone."},
    {PUSH(max_bytes), .key = "max-bytes", SIZE(0, 1024 * GIB), .preset = "0",
        .sentence = "A push whose content-length is larger is withdrawn. 0: without limit."},
    {PUSH(statuses_allowed), .key = "status",
        .example = "2xx 3xx", BITS("2xx 3xx 4xx 5xx", 2),
        .sentence = "A push whose response has another status is withdrawn. Not given: any."},
    {PUSH(media_types), .key = "content-type",
        .example = "text/css image/*", PATTERNS_NOCASE, .form = "TYPE/SUBTYPE ...",
        .check = conf_check_media_glob,
        .sentence = "A push whose response has another content-type, or none, is withdrawn. Not given: any."},
    {PUSH(urgency), .key = "urgency", .type = CONF_TYPE_OTHER, .form = "auto | after | before | interleaved | 0 ... 7",
        .preset = "auto", .set = conf_set_urgency,
        .sentence = "How urgent the pushed response is (RFC 9218): 0 most, 7 least.\n"
        "auto: after its parent.\n"
        "after: one step behind its parent.\n"
        "before: one step ahead of it.\n"
        "interleaved: at the same time."},
    {PUSH(cross_origin), .key = "cross-origin", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: pushes of our own may be of another scheme or host than the request."},
    {PUSH(on_revalidation), .key = "on-revalidation", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: pushes of our own also for requests that check what the client has (a reload)."},
    {PUSH(hint_anyone), .key = "hint-clients", SWITCH("navigating all"), .preset = "navigating",
        .sentence = "Who is sent hints. navigating: requests for a page over HTTP/2, as browsers ignore others."},
    {PUSH(min_used), .key = "min-used", .type = CONF_TYPE_OTHER, .form = "0% ... 100%", .preset = "0%",
        .set = conf_set_min_used,
        .sentence = "The rule pauses while clients use less of its pushes than this; after a while it tries a few "
        "again. 0%: never."},
    {PUSH(min_sample), .key = "min-sample", NUMBER(1, 1000000), .preset = "100",
        .sentence = "Pushes that must have ended before that is judged."},

    /* ---- [preload NAME] ---- */
    {PRELOAD(when.hosts), .key = "host",
        .example = "example.com *.example.com", PATTERNS_NOCASE, .form = "PATTERN ...", .check = conf_check_host_glob,
        .sentence = "The host of the client's request, without port; patterns are those of [push]."},
    {PRELOAD(when.paths), .key = "path",
        .example = "/app/* *.html", PATTERNS, .form = "PATTERN ...", .check = conf_check_path_glob,
        .sentence = "The path of the client's request, without its query."},
    {PRELOAD(when.clients), .key = "client",
        .example = "192.0.2.0/24 2001:db8::/32", .type = CONF_TYPE_CIDRS, .form = "ADDRESS[/BITS] ...", .repeats = true,
        .count_offset = offsetof(struct conf_preload, when.client_count), .sentence = "The client's address."},
    {PRELOAD(when.user_agents), .key = "user-agent",
        .example = "curl/* \"*Example Browser 1.*\"", PATTERNS_NOCASE, .form = "PATTERN | \"PATTERN\" ...",
        .sentence = "The client's User-Agent, in any case."},
    {PRELOAD(when.navigation), .key = "navigation", CHOICE("any no yes"), .preset = "any",
        .sentence = "Whether the request loads a page (Sec-Fetch-Mode: navigate)."},
    {PRELOAD(link), .key = "link", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: Link fields with rel=preload of the response are offers."},
    {PRELOAD(learned), .key = "learned", CHOICE("off propose apply"), .preset = "off",
        .sentence = "What earlier clients asked for right after the page.\n"
        "propose: it is counted and shown.\n"
        "apply: it is offered."},
    {PRELOAD(manifests), .key = "manifest",
        .example = "/etc/pushgate/manifest.json", .type = CONF_TYPE_FILES, .form = "FILE", .repeats = true,
        .count_offset = offsetof(struct conf_preload, manifest_count),
        .sentence = "A push manifest (JSON); read again when it changes."},
    {PRELOAD(adds), .key = "add",
        .example = "/app.css as=style", .type = CONF_TYPE_OTHER, .repeats = true, .set = conf_set_add,
        .form = "/PATH [as=WORD] [type=TYPE] [crossorigin=WORD] [fetchpriority=WORD] [\"media=QUERY\"]",
        .sentence = "A resource that is offered with the request, before the origin has answered."},
};
// clang-format on
const size_t conf_option_count = sizeof conf_options / sizeof *conf_options;
