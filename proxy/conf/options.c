/* SPDX-License-Identifier: MIT */
/*
 * The option table: every section and option, with its default, range and meaning. Defaults stand
 * nowhere else. The sentences are written for the operator; help-config and docs/CONFIG.md print
 * them.
 */
#include "proxy/conf/option.h"
#include "proxy/conf/setters.h"
#include "proxy/limits.h"
#include <assert.h>

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define DAY (86400 * USEC_PER_SEC)
/* Linux takes no longer times (TCP_KEEPIDLE). */
#define KEEPALIVE_MOST (9 * 3600 * USEC_PER_SEC)

#define SERVER(field) .section = CONF_SECTION_SERVER, .offset = offsetof(struct conf, field)
#define LISTEN(field) .section = CONF_SECTION_LISTEN, .offset = offsetof(struct conf_listen, field)
#define ACCESS(field) .section = CONF_SECTION_ACCESS, .offset = offsetof(struct conf_access, field)
#define ORIGIN(field) .section = CONF_SECTION_ORIGIN, .offset = offsetof(struct conf_origin, field)
#define ITEMS(kind, object, items, count)                                                          \
	.section = CONF_SECTION_##kind, .offset = offsetof(struct object, items),                  \
	.count_offset = offsetof(struct object, count), .repeats = true
#define ROUTE(items, count) ITEMS(ROUTE, conf_route, items, count)
#define CLIENTS .type = CONF_TYPE_CIDRS, .form = "ADDRESS[/BITS] ..."
#define USERS .type = CONF_TYPE_LIST, .check = conf_check_user, .form = "NAME ... | *"
#define CERTS .type = CONF_TYPE_LIST, .check = conf_check_cert, .form = "KIND:PATTERN ... | *"
#define DESTINATIONS                                                                               \
	.type = CONF_TYPE_LIST, .check = conf_check_destination, .form = "PATTERN[:PORT] ..."
#define ROUTE_OPTION(field)                                                                        \
	.section = CONF_SECTION_ROUTE, .offset = offsetof(struct conf_route, field)
#define PUSH(field) .section = CONF_SECTION_PUSH, .offset = offsetof(struct policy_rule, field)
#define PRELOAD(field)                                                                             \
	.section = CONF_SECTION_PRELOAD, .offset = offsetof(struct conf_preload, field)
#define LIST_FILE(member_check) .type = CONF_TYPE_LIST_FILE, .form = "FILE", .check = (member_check)
#define FIELDS(field, change)                                                                      \
	.section = CONF_SECTION_ROUTE, .offset = offsetof(struct conf_route, field),               \
	.repeats = true, .type = CONF_TYPE_FIELDS, .min = (change)
#define PATTERNS .type = CONF_TYPE_PATTERNS, .repeats = true
#define PATTERNS_NOCASE PATTERNS, .min = 1
#define NUMBER(least, most) .type = CONF_TYPE_NUMBER, .min = (least), .max = (most)
#define SIZE(least, most) .type = CONF_TYPE_SIZE, .min = (least), .max = (most)
#define WINDOW(least, most) .type = CONF_TYPE_WINDOW, .min = (least), .max = (most)
#define RATE .type = CONF_TYPE_RATE, .min = 1, .max = 100000000
#define TIME(least) .type = CONF_TYPE_TIME, .min = (least), .max = DAY
#define SWITCH(words) .type = CONF_TYPE_SWITCH, .choices = (words)
#define CHOICE(words) .type = CONF_TYPE_CHOICE, .choices = (words)
#define BITS(words, first)                                                                         \
	.type = CONF_TYPE_BITS, .choices = (words), .min = (first), .repeats = true
#define OTHER(syntax, setter) .type = CONF_TYPE_OTHER, .form = (syntax), .set = (setter)
#define WORDS(syntax, adder) .type = CONF_TYPE_OTHER, .form = (syntax), .add = (adder)
#define READ(syntax, reader, what_is_right)                                                        \
	.type = CONF_TYPE_OTHER, .form = (syntax), .read = (reader), .right = (what_is_right)
#define STATUSES                                                                                   \
	READ("STATUS | STATUS-STATUS ...", conf_read_statuses,                                     \
	    "write up to 16 final statuses (200 to 599) or ranges of them, such as 500 502-504")
#define SHARE(syntax, least) .type = CONF_TYPE_SHARE, .form = (syntax), .min = (least)
#define TEXT_OR(word, syntax) .type = CONF_TYPE_TEXT, .form = (syntax), .none = (word)
#define FILE_OR(word, syntax) .type = CONF_TYPE_FILE, .form = (syntax), .none = (word)
#define ACCESS_RULE                                                                                \
	.section = CONF_SECTION_ACCESS, .type = CONF_TYPE_OTHER,                                   \
	.form = "all | CONDITION=VALUE[,VALUE] ...", .repeats = true, .set = conf_set_access_rule
#define ERRORS(status, when)                                                                       \
	{                                                                                          \
		.section = CONF_SECTION_ERRORS, .key = (status),                                   \
		.example = "/etc/pushgate/errors/" status ".html", .type = CONF_TYPE_OTHER,        \
		.form = "FILE", .set = conf_set_error_body,                                        \
		.right = "write a file whose name ends with .html, .txt or .json",                 \
		.sentence = (when),                                                                \
	}

/*
 * CONF_TYPE_CHOICE stores a choice's position as an unsigned; CONF_TYPE_BITS relies on these
 * orders.
 */
static_assert(sizeof(enum policy_tristate) == sizeof(unsigned), "an enum is an unsigned");
static_assert(CONF_HTTP2 == 1 && CONF_HTTP1 == 2, "protocols");
static_assert(CONF_PUSH_AUTO == 0 && CONF_PUSH_ACCEPT == 1 && CONF_PUSH_REFUSE == 2, "push");
static_assert(CONF_RECORD_AUTO == 0 && CONF_RECORD_YES == 1 && CONF_RECORD_NO == 2, "record-pages");
static_assert(CONF_BALANCE_LEAST == 0 && CONF_BALANCE_ROUND_ROBIN == 1, "balance");
static_assert(CONF_REQUEST_ID_OFF == 0 && CONF_REQUEST_ID_MAKE == 1 && CONF_REQUEST_ID_KEEP == 2,
    "request-id");
static_assert(CONF_SCHEME_KEEP == 0 && CONF_SCHEME_HOP == 1, "scheme");
static_assert(SPECULATION_OFF == 0 && SPECULATION_PREFETCH == 1 && SPECULATION_PRERENDER == 2 &&
		  SPECULATION_CONSERVATIVE == 0 && SPECULATION_IMMEDIATE == 3,
    "speculation");
static_assert(CONF_FORWARDED_AUTO == 0 && CONF_FORWARDED_KEEP == 1 && CONF_FORWARDED_REMOVE == 2 &&
		  CONF_FORWARDED_APPEND == 3 && CONF_FORWARDED_REPLACE == 4,
    "forwarded");
static_assert(
    CONF_UNDERSCORES_AUTO == 0 && CONF_UNDERSCORES_PASS == 1 && CONF_UNDERSCORES_DROP == 2,
    "underscores");
static_assert(CONF_CLIENT_CERT_YES == 0 && CONF_CLIENT_CERT_CHAIN == 1 && CONF_CLIENT_CERT_NO == 2,
    "client-cert");
static_assert(CONF_SANDBOX_ON == 0 && CONF_SANDBOX_OFF == 1 && CONF_SANDBOX_LOG == 2, "sandbox");
static_assert(
    CONF_TRACING_TRUSTED == 0 && CONF_TRACING_FOLLOW == 1 && CONF_TRACING_IGNORE == 2, "tracing");
static_assert(CONF_ACME_AUTO == 0 && CONF_ACME_HTTP == 1 && CONF_ACME_TLS == 2, "acme-challenge");
static_assert(POLICY_ANY == 0 && POLICY_NO == 1 && POLICY_YES == 2, "push-enabled");
static_assert(POLICY_RELAYED == 0 && POLICY_SOURCE_COUNT == 5, "source");
static_assert(POLICY_FORWARD == 0 && POLICY_DROP == 1 && POLICY_HOLD == 2 && POLICY_HINT == 3 &&
		  POLICY_HINT_HOLD == 4 && POLICY_ACTION_COUNT == 5,
    "action");
static_assert(
    CONF_REMEMBERED_OFF == 0 && CONF_REMEMBERED_PROPOSE == 1 && CONF_REMEMBERED_APPLY == 2,
    "remembered");
static_assert(CONF_SCRIPTS_BLOCKING == 0 && CONF_SCRIPTS_ALL == 1, "remembered-scripts");
static_assert(POLICY_TYPE_UNKNOWN == 0 && POLICY_TYPE_COUNT == 8, "type");
static_assert(
    HTTP_VERSION_1_1 == HTTP_VERSION_1_0 + 1 && HTTP_VERSION_2 == HTTP_VERSION_1_0 + 2, "version");
static_assert(HTTP_METHOD_HEAD == HTTP_METHOD_GET + 1, "method");

// clang-format off
/*
 * What one connection's peer may do before the connection is ended: of clients and origins, of clients alone, of
 * origins alone. docs/LIMITS.md lists all limits and what happens beyond them.
 */
#define LIMITS_OF_BOTH(SECTION, who) \
    {SECTION(limits.faults), .key = "limit-faults", RATE, .preset = "100/s burst 200", \
        .sentence = "Stream errors of the " who " on one connection. Beyond this rate the connection ends with " \
        "ENHANCE_YOUR_CALM, as with the other limits."}, \
    {SECTION(limits.pings), .key = "limit-pings", RATE, .preset = "500/s burst 1000", \
        .sentence = "PING frames on one connection. Each exchange and each DATA frame sent to the " who " allows half of one more."}, \
    {SECTION(limits.settings), .key = "limit-settings", RATE, .preset = "20/s burst 100", \
        .sentence = "SETTINGS and GOAWAY frames, and unexpected acknowledgements."}, \
    {SECTION(limits.priorities), .key = "limit-priorities", RATE, .preset = "1000/s burst 2000", \
        .sentence = "PRIORITY and PRIORITY_UPDATE frames and frames of unknown types. Each exchange allows three more."}, \
    {SECTION(limits.empty_frames), .key = "limit-empty-frames", RATE, .preset = "200/s burst 1000", \
        .sentence = "Empty DATA and CONTINUATION frames that end nothing. Each exchange allows one more."}, \
    {SECTION(limits.window_updates), .key = "limit-window-updates", RATE, .preset = "50000/s burst 100000", \
        .sentence = "WINDOW_UPDATE frames on one connection. Each DATA frame sent to the " who " allows four more, each exchange " \
        "three."}, \
    {SECTION(limits.field_blocks), .key = "limit-field-blocks", RATE, .preset = "10000/s burst 20000", \
        .sentence = "Field blocks without a completed exchange. Each completed exchange allows three more; each request " \
        "sent to an origin allows 32 more, for promises and their responses."}, \
    {SECTION(limits.field_block_bytes), .key = "max-field-block", WINDOW(4 * KIB, LIMIT_FIELD_BLOCK_BYTES), \
        .preset = "128k", \
        .sentence = "Largest field block, in bytes as sent (HPACK). A larger one ends the connection, because it cannot be " \
        "skipped: set max-header-list to a smaller size, which refuses only the stream."}, \
    {SECTION(limits.continuations), .key = "max-continuations", NUMBER(0, LIMIT_CONTINUATIONS), .preset = "32", \
        .sentence = "CONTINUATION frames in one field block. More end the connection."}, \
    /*
     * At least what the frames of one loop pass may ask for: the peer cannot read the replies
     * before they are sent.
     */ \
    {SECTION(limits.control_bytes), .key = "max-control-output", WINDOW(LIMIT_READ_PER_PASS_BYTES, 16 * MIB), .preset = "256k", \
        .sentence = "Bytes of replies (acknowledgements, resets) that may be queued while the " who " does not read " \
        "them. More end the connection. Requests, responses and promises do not count."}, \
    {SECTION(limits.min_rate), .key = "min-rate", NUMBER(0, 1000000), .preset = "100", \
        .sentence = "Least rate, in bytes a second, at which the " who " must send a body that it owes (with pauses of up to " \
        "body-timeout) and read a body (with pauses of up to write-timeout). Time in which pushgate itself delays the body " \
        "does not count. 0: one byte per timeout is enough."}

#define LIMITS_OF_CLIENTS(SECTION) \
    {SECTION(limits.resets), .key = "limit-resets", RATE, .preset = "100/s burst 200", \
        .sentence = "Requests that the client resets (RST_STREAM) on one connection. Each completed exchange allows half of one " \
        "more, each promise sent allows one more. Beyond this rate the connection ends with ENHANCE_YOUR_CALM. Set the " \
        "burst to at least max-concurrent-streams: a user who leaves a page resets all its requests."}, \
    {SECTION(limits.expansion), .key = "limit-expansion", RATE, .preset = "4096/s burst 4096", \
        .sentence = "KiB that the fields of the client's requests on one connection have beyond what was sent for them: in " \
        "HTTP/2 a byte may stand for a field that came before. Each completed exchange allows 8 more."}

#define LIMITS_OF_ORIGINS(SECTION) \
    {SECTION(limits.promises), .key = "limit-promises", RATE, .preset = "400000/s burst 400000", \
        .sentence = "Promises on one connection, refused ones included. Each request allows 32 more. Beyond this rate the " \
        "connection ends; promise-rate refuses single promises and promise-refusals turns push off earlier."}, \
    {SECTION(limits.reserved_pushes), .key = "max-reserved-pushes", NUMBER(1, LIMIT_RESERVED_STREAMS), .preset = "4096", \
        .sentence = "Promises on one connection whose responses have not begun yet. More are refused."}, \
    {SECTION(limits.interim_responses), .key = "max-interim-responses", NUMBER(0, LIMIT_INTERIM_RESPONSES), .preset = "32", \
        .sentence = "Interim (1xx) responses to one request. With more the request ends with 502."}

const struct conf_option conf_options[] = {
    /* ---- [server] ---- */
    {SERVER(server.workers), .key = "workers", NUMBER(1, 256), .none = "auto", .form = "auto | 1 ... 256", .right = "write auto or a number from 1 to 256", .example = "4", .preset = "auto",
        .sentence = "Number of worker processes. auto: one for each processor."},
    {SERVER(server.user), .key = "user", .example = "pushgate", .type = CONF_TYPE_TEXT, .form = "NAME", .set = conf_set_user,
        .sentence = "The user that workers and helpers run as when root starts pushgate. Not given: the user pushgate if it exists, else "
        "nobody. root: they stay root, without its capabilities. This user must be able to read the manifests and to write in the folder "
        "of remembered-file."},
    {SERVER(server.sandbox), .key = "sandbox", CHOICE("on off log"), .preset = "on",
        .sentence = "Whether a filter (seccomp) allows workers and helpers only the system calls that they need. A process that makes "
        "another call is killed and restarted.\n"
        "off: no filter.\n"
        "log: other calls are allowed and written to the kernel's log."},
    {SERVER(server.access_log), .key = "access-log", READ("FILE | - | off", conf_read_log, "write -, off or the path of a file"),
        .example = "/var/log/pushgate/access.log", .preset = "off",
        .sentence = "File for one line of JSON for each request and each push. -: standard output."},
    {SERVER(server.log_left_out), .key = "log-fields", OTHER("FIELD ... | all [-FIELD ...]", conf_set_log_fields),
        .example = "all -user_agent -referer", .preset = "all",
        .sentence = "The fields that a line of the access log has: those named, or all but those with a '-' before them, such as all "
        "-user_agent -referer. docs/LOG.md explains them."},
    {SERVER(server.log_sample), .key = "log-sample", READ("1/NUMBER", conf_read_log_sample, "write 1/1 for all lines, or a share from 1/2 to 1/1000000"), .example = "1/100", .preset = "1/1",
        .sentence = "The share of the requests that have lines in the access log, such as 1/100. A page is written with all of its pushes, "
        "or without any of them. Failures are always written. What is left out is counted."},
    {SERVER(server.error_log), .key = "error-log", READ("FILE | - | off", conf_read_log, "write -, off or the path of a file"),
        .example = "/var/log/pushgate/error.log", .preset = "-",
        .sentence = "File for errors and events. -: standard error. Lines for systemd's journal begin with their level (sd-daemon) and "
        "have no time."},
    {SERVER(server.status_socket), .key = "status-socket", FILE_OR("off", "FILE | off"), .check = conf_check_socket, .set = conf_set_status_socket,
        .example = "/run/pushgate/status.sock", .preset = "off",
        .sentence = "The unix socket for `pushgate status`, `pushgate trace` and `pushgate reload`. Only the user and the group that start "
        "pushgate may use it (mode 0660). A pushgate that drains gives it up, so that the next one may start with it."},
    {ITEMS(SERVER, conf, server.traced, server.traced_count), .key = "trace", .example = "192.0.2.0/24 2001:db8::/32", CLIENTS,
        .sentence = "Clients whose connections are traced: each HTTP/2 frame, or head in HTTP/1.1, is a line in the error log, with "
        "stream, type and length, without its content. Each worker writes at most 500 such lines a second on average. Connections to "
        "origins are not traced. `pushgate trace` does the same for a while and without the log."},
    {SERVER(server.remembered.file), .key = "remembered-file", FILE_OR("off", "FILE | off"),
        .example = "/var/lib/pushgate/pages.json", .preset = "off",
        .sentence = "File that keeps over restarts what is remembered of pages (option remembered of [preload]). One that is no such file "
        "is a warning at the start, and is replaced. It is written once a minute and at the end."},
    {SERVER(server.remembered.clients), .key = "remembered-clients", NUMBER(2, 8), .preset = "3",
        .sentence = "How many clients must have got the same resource with a page before it is offered to others, if the page is private, "
        "sets cookies or varies by Cookie, and for what clients requested after any page. For other pages it is 2."},
    {SERVER(server.remembered), .key = "remembered-ignored-query", OTHER("NAME | BEGINNING* ... | none", conf_set_ignored_query),
        .example = "utm_* ref", .preset = "utm_* fbclid gclid gbraid wbraid dclid msclkid yclid ttclid twclid li_fat_id mc_cid mc_eid _ga _gl",
        .right = "write names of members, such as ref, or beginnings, such as utm_*",
        .sentence = "Members of queries that make no other page: URLs that differ in these alone are one page. What is given replaces the "
        "default. A response says the same of its own URL with No-Vary-Search. none: all members matter."},
    {SERVER(server.pseudonym), .key = "pseudonym", .example = "edge1", .type = CONF_TYPE_TEXT, .preset = "pushgate", .form = "NAME",
        .check = conf_check_pseudonym,
        .sentence = "The name of this proxy in Via and Proxy-Status (RFC 9110 7.6.3). A request whose Via already has the name is in a "
        "loop and gets 508, so proxies in a chain need different names: the default gets a random suffix at each start."},
    {SERVER(server), .key = "resolver", WORDS("ADDRESS[:PORT] ...", conf_add_resolver),
        .right = "write ADDRESS or ADDRESS:PORT", .example = "192.0.2.53 [2001:db8::53]:5353", .repeats = true,
        .sentence = "Resolvers that are asked for the names of servers, at most 8, over UDP and TCP. The one that answered last is asked "
        "first. Not given: those of resolv-conf. Names are complete: search domains are not tried."},
    {SERVER(server.dns_min_ttl), .key = "dns-min-ttl", .type = CONF_TYPE_TIME, .min = 100 * USEC_PER_MSEC, .max = DAY, .example = "5s",
        .sentence = "How long the addresses of a name count at least, whatever their TTL. Not given: 5s, and 1s for hosts that requests "
        "name in forward mode. A name that no resolver answers is asked for again after this time, then after twice as long each time, up "
        "to 30s; its last addresses stay."},
    {SERVER(server.dns_max_ttl), .key = "dns-max-ttl", .type = CONF_TYPE_TIME, .min = 100 * USEC_PER_MSEC, .max = 7 * DAY, .preset = "1h",
        .sentence = "How long they count at most."},
    {SERVER(server.dns_negative_ttl), .key = "dns-negative-ttl", .type = CONF_TYPE_TIME, .min = 100 * USEC_PER_MSEC, .max = DAY,
        .preset = "5s", .sentence = "How long an answer counts at most that says that a name has no address."},
    {SERVER(server.dns_timeout), .key = "dns-timeout", .type = CONF_TYPE_TIME, .min = 100 * USEC_PER_MSEC, .max = 60 * USEC_PER_SEC,
        .preset = "2s", .sentence = "How long a resolver may take for an answer; then the next one is asked. Each is asked twice."},
    {SERVER(server.hosts_file), .key = "hosts-file", .type = CONF_TYPE_FILE, .preset = "/etc/hosts", .form = "FILE",
        .sentence = "The file whose names need no resolver (hosts(5)). Read again when it changes; lines behind its first 64 KiB are left "
        "out."},
    {SERVER(server.resolv_conf), .key = "resolv-conf", .type = CONF_TYPE_FILE, .preset = "/etc/resolv.conf", .form = "FILE",
        .sentence = "The file that names the resolvers (resolv.conf(5)) if resolver is not given: its lines nameserver alone. Read again "
        "when it changes. Without such a line: 127.0.0.1."},
    {SERVER(server.memory_bytes), .key = "memory", SIZE(16 * MIB, 1024 * GIB), .preset = "256M",
        .sentence = "Memory that one worker may use for its peers. Beyond it new streams are refused."},
    {SERVER(server.connection_memory_bytes), .key = "connection-memory", SIZE(1 * MIB, 64 * GIB), .preset = "16M",
        .sentence = "The part of memory that one connection may use."},
    {SERVER(server.ready_when), .key = "ready-when", CHOICE("start servers"), .example = "servers", .preset = "start",
        .sentence = "When /readyz of a listener with mode = admin says 200 for the first time (docs/ADMIN.md). start: as soon as a worker "
        "accepts. servers: as soon as a server of some origin has passed its health-check; the demo site always does. Once it has said "
        "so, it does not look at servers any more: of several gateways with the same servers all would else be left at once."},
    {SERVER(server.page_records), .key = "page-records", NUMBER(0, LIMIT_PAGE_RECORDS), .preset = "256",
        .sentence = "How many of the last pages each worker remembers, with what was decided about their pushes, for the pages of a "
        "listener with mode = admin (docs/ADMIN.md). Each takes 26 KiB at most, in memory that does not count as that of memory. So many "
        "are begun at once, and a quarter of it each second after that. Without such a listener nothing is remembered. 0: none."},
    {SERVER(server.drain_delay), .key = "drain-delay", TIME(0), .example = "10s", .preset = "0",
        .sentence = "How long pushgate goes on as before when it is stopped (SIGTERM, SIGINT), while /readyz of a listener with mode = admin "
        "says 503: balancers in front send new clients elsewhere before the ports close. Then draining begins, at once with a second "
        "signal. As long as a balancer needs to notice: its interval of checks, times its number of failures. 0: no delay."},
    {SERVER(server.drain_timeout), .key = "drain-timeout", TIME(0), .preset = "30s",
        .sentence = "How long open requests may take to finish when pushgate is stopped. 0: no limit."},
    {SERVER(server.tunnel_drain_timeout), .key = "tunnel-drain-timeout", TIME(0), .preset = "10s",
        .sentence = "The same for tunnels, which often end only when somebody ends them. 0: as drain-timeout."},
    {SERVER(server.max_generations), .key = "max-generations", NUMBER(2, LIMIT_GENERATIONS), .preset = "8",
        .sentence = "How many generations of workers may live at once. A reload begins another one, and those before it end with their last "
        "request, tunnel or subscription. With one more the oldest is ended, with the connections that it still has. Each has processes "
        "and memory of its own."},
    {SERVER(server.access_recheck), .key = "access-recheck", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: after a reload, tunnels (CONNECT, WebSocket and other upgrades) that were opened before it and that the new "
        "access rules of their listener deny end at once. The others go on by tunnel-drain-timeout, and so do all with no."},
    {SERVER(server.watch_files), .key = "watch-files", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: when a file that options name changes (a certificate, a key, tls-ca, a host-file, an error page), it is read "
        "again after a few seconds, as by pushgate reload. The configuration's own files are not: a reload reads them."},
    {SERVER(policy.fallback), .key = "default-action", CHOICE("forward drop hold hint hint+hold"), .preset = "forward",
        .sentence = "What happens to a push that no [push] rule matches."},
    {SERVER(policy.caps.per_parent), .key = "max-pushes-per-parent", NUMBER(1, 100000), .preset = "100",
        .sentence = "Most open pushes of one request: promised, and not delivered yet. More are refused; in a subscription the origin is "
        "held back instead."},
    {SERVER(policy.caps.per_parent_life), .key = "max-pushes-per-parent-life", NUMBER(1, 100000000), .preset = "1000",
        .sentence = "Most pushes of one request, however long it lives. More are refused. Does not count in routes with subscription = yes."},
    {SERVER(policy.caps.per_connection), .key = "max-pushes-per-connection", NUMBER(1, 100000), .preset = "256",
        .sentence = "Most open pushes on one client connection. More are refused."},
    {SERVER(policy.caps.bytes_in_flight), .key = "max-push-bytes", SIZE(64 * KIB, 1 * GIB), .preset = "4M",
        .sentence = "Pushed bytes that may be queued for one client connection, heads and promises included. While more are queued, pushes "
        "are refused."},
    {SERVER(server.promise_rate), .key = "promise-rate", NUMBER(1, 1000000), .preset = "100000",
        .sentence = "Most promises a second from one origin connection. More are refused."},
    {SERVER(server.promise_refusals), .key = "promise-refusals", NUMBER(1, 1000000), .preset = "1000",
        .sentence = "Refused promises a minute on one origin connection. Beyond it push is turned off on the connection."},
    {SERVER(server.reset_rate), .key = "reset-rate", NUMBER(1, 1000000), .preset = "100",
        .sentence = "Refused promises a second on one origin connection. Beyond it the routes that cause them use connections without "
        "push, so that the origin does not mistake the resets for an attack."},
    {SERVER(server.push_start_timeout), .key = "push-start-timeout", TIME(0), .preset = "10s",
        .sentence = "How long a promise may wait for its response to begin; then it is cancelled. 0: no limit."},
    {SERVER(server.diary_entries), .key = "diary-entries", NUMBER(0, POLICY_DIARY_MOST), .preset = "256",
        .sentence = "Size of the diary: how many resources pushgate remembers for one client connection, so that it does not push them "
        "again while they are fresh or unchanged. 0: no diary."},
    {SERVER(server.diary_cookie), .key = "diary-cookie", TEXT_OR("off", "NAME | off"), .check = conf_check_cookie, .example = "pushgate-diary",
        .preset = "off", .sentence = "Name of a cookie that carries the diary to the client's next connection."},
    {SERVER(server), .key = "diary-cookie-key", OTHER("FILE", conf_set_diary_cookie_key), .example = "/etc/pushgate/diary.key",
        .repeats = true,
        .sentence = "File with the secret that signs the cookie, 16 bytes or more. The first secret signs; cookies signed with a second "
        "one are still accepted, so that the secret can be changed."},
    {SERVER(server.ticket_file), .key = "ticket-keys", .type = CONF_TYPE_FILE, .form = "FILE", .set = conf_set_ticket_keys, .example = "/etc/pushgate/tickets.keys",
        .sentence = "A file of secrets from which the keys of TLS session tickets are made, so that several machines resume each other's "
        "sessions. Each line has a secret of 43 to 1024 characters (openssl rand -hex 32). The first one makes tickets, up to seven "
        "others are accepted (docs/TLS.md). Not given: keys that only the workers of this machine have, and that change every 12 hours."},
    {SERVER(server.keylog_file), .key = "keylog-file", FILE_OR("off", "FILE | off"), .set = conf_set_keylog_file, .example = "/root/pushgate.keys",
        .preset = "off",
        .sentence = "For debugging: a file for the secrets of all TLS connections, with clients and with origins, by which Wireshark decrypts "
        "what it has recorded (the key log format of NSS, SSLKEYLOGFILE). Only its owner may read it (mode 0600). The start warns of it."},
    {SERVER(server.diary_cookie_age), .key = "diary-cookie-age", .type = CONF_TYPE_TIME, .min = 60 * USEC_PER_SEC, .max = 365 * DAY,
        .preset = "168h", .sentence = "How long the cookie is valid."},
    {SERVER(server.hold_max_count), .key = "hold-max-count", NUMBER(1, 10000), .preset = "32",
        .sentence = "Most responses held for one client connection. More pushes are dropped."},
    {SERVER(server.hold_max_bytes), .key = "hold-max-bytes", SIZE(64 * KIB, 1 * GIB), .preset = "2M",
        .sentence = "Most bytes held for one client connection."},
    {SERVER(server.hold_max_age), .key = "hold-max-age", .type = CONF_TYPE_TIME, .min = 100 * USEC_PER_MSEC, .max = DAY, .preset = "30s",
        .sentence = "How long a response is held if no request for it comes."},
    {SERVER(server.hold_shared), .key = "hold-shared", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: a held response that a shared cache may store (RFC 9111) is served to all clients of the worker."},
    {SERVER(server.hint_wait), .key = "hint-wait", .example = "20ms", .type = CONF_TYPE_TIME, .min = 0, .max = 1 * USEC_PER_SEC,
        .preset = "0", .sentence = "How long a 103 (Early Hints) from pushgate waits for more hints. 0: it does not wait."},
    {SERVER(server.limit_table_keys), .key = "limit-table", NUMBER(1024, 16777216), .preset = "65536",
        .sentence = "How many clients or values of a field each line of limit-requests can tell apart, in each worker, with 16 bytes for "
        "each, 20 with concurrent. When there are more, the one that has the most of its burst left is forgotten; what has open requests that concurrent "
        "counts never is."},
    {SERVER(server.max_series), .key = "max-series", NUMBER(0, LIMIT_SERIES), .preset = "500",
        .sentence = "How many combinations of listener, route, origin and server histograms of times have series for (COUNTERS.md). Each takes "
        "128 bytes in each worker, and 17 lines in what monitoring reads. Further combinations are counted together, with the labels (other)."},
    {SERVER(server.user_failures), .key = "user-failures", NUMBER(0, 100000), .preset = "10",
        .sentence = "How many wrong passwords each client address (IPv4, or IPv6 /64) may try in a minute, where [access NAME] sections "
        "have users; further ones are answered 429 without being checked. Passwords that are known to be right, and others that are known "
        "to be wrong, do not count. Each worker counts on its own. 0: no limit."},
    {SERVER(server.users_cache_time), .key = "users-cache-time", TIME(1 * USEC_PER_SEC), .preset = "5m",
        .sentence = "For so long after its last use a right password is known, so that it is not hashed again. It is forgotten at once "
        "when the file of users changes."},
    {SERVER(server.tracing), .key = "tracing", OTHER("[http://]HOST:PORT[/PATH] | off", conf_set_tracing), .example = "http://127.0.0.1:4318",
        .right = "write off, or HOST:PORT of a collector", .secrets = CONF_SECRET_USER | CONF_SECRET_QUERY, .preset = "off",
        .sentence = "The collector that gets spans of requests and pushes: OTLP over HTTP/1.1 as JSON (docs/TRACING.md). Without a path: "
        "/v1/traces. The origins get traceparent with pushgate's span as parent. off: traceparent and tracestate pass as they came. Listeners "
        "with mode = forward never take part."},
    {SERVER(server.tracing.ratio), .key = "tracing-ratio", SHARE("0% ... 100%", 0), .suggest = suggest_percent, .right = "give a share from 0% to 100%", .example = "10%", .preset = "1%",
        .sentence = "The share of the requests without a parent that are recorded, each with its pushes."},
    {SERVER(server.tracing.parent), .key = "tracing-parent", CHOICE("trusted follow ignore"), .preset = "trusted",
        .sentence = "Which requests go on with the trace that their traceparent names, and are recorded if it says so. Others begin a trace "
        "of their own, whose span has a link to the client's.\n"
        "trusted: those of peers in the listener's trusted.\n"
        "follow: all, so that each client chooses what is recorded.\n"
        "ignore: none."},
    {SERVER(server.acme.dir), .key = "acme-dir", .example = "/var/lib/pushgate/acme", .type = CONF_TYPE_FILE, .form = "FOLDER",
        .sentence = "The folder of the account's key and of what listeners with acme get: a file LISTENER.pem for each, with its key and "
        "its certificate. It must be there and belong to the user; the files are readable for that user alone."},
    {SERVER(server.acme.email), .key = "acme-email", .example = "admin@example.com", .type = CONF_TYPE_TEXT, .form = "ADDRESS", .check = conf_check_email,
        .sentence = "Where the authority that acme names may write to."},
    {SERVER(server.acme.challenge), .key = "acme-challenge", CHOICE("auto http tls"), .example = "tls", .preset = "auto",
        .sentence = "How the authority of acme sees that a host leads here.\n"
        "http: it asks port 80 of the host for a file (HTTP-01), which a [listen NAME] without certificate answers.\n"
        "tls: it asks port 443 for a certificate of its own kind (TLS-ALPN-01), which the [listen NAME] with acme answers.\n"
        "auto: http if there is a [listen NAME] without certificate, else tls."},
    {SERVER(server.acme.ca_file), .key = "acme-ca", .example = "/etc/pushgate/acme-ca.pem", .type = CONF_TYPE_FILE, .form = "FILE",
        .set = conf_set_acme_ca, .sentence = "Certificate authorities (PEM) that verify the server of the directory. Not given: the system's."},

    /* ---- [listen NAME] ---- */
    {.section = CONF_SECTION_LISTEN, .key = "address", OTHER("IP:PORT | *:PORT | unix:/PATH", conf_set_address), .suggest = suggest_address, .example = "127.0.0.1:8443",
        .right = "write IP:PORT, *:PORT or unix:/PATH", .is_required = true, .sentence = "The address to listen on, such as 127.0.0.1:8443, [::1]:8443 or *:8443."},
    {LISTEN(backlog), .key = "backlog", NUMBER(1, 4096), .preset = "4096",
        .sentence = "Most connections that wait to be accepted, in each worker (listen(2)); the system has a bound of its own, "
        "net.core.somaxconn. A socket that the service manager opens has the manager's."},
    {LISTEN(may_come_later), .key = "free-bind", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: the address may be one that this machine does not have yet, such as one that keepalived brings later "
        "(IP_FREEBIND). no: the start fails without it."},
    {LISTEN(mode), .key = "mode", CHOICE("gateway forward admin"), .example = "forward", .preset = "gateway",
        .sentence = "gateway: serves the hosts that have routes. forward: a proxy for clients that are configured to use it "
        "(docs/FORWARD.md); requests go where they say themselves. admin: serves no route, but pages about pushgate itself: /livez and "
        "/readyz, for balancers and orchestrators, /metrics, for Prometheus, and / for people (docs/ADMIN.md). Its address is a loopback one or a unix socket, or it has access."},
    {LISTEN(recording), .key = "record-pages", CHOICE("auto yes no"), .example = "no", .preset = "auto",
        .sentence = "Whether pages that clients of this listener ask for are remembered (page-records), with host, path, address of the "
        "client and User-Agent. auto: yes in a gateway, no in forward mode, where it would tell which sites people visit."},
    {LISTEN(access_name), .key = "access", .example = "home", .type = CONF_TYPE_TEXT, .form = "NAME",
        .sentence = "The [access NAME] whose rules say which requests are taken. Not given: a gateway takes all of them; a forward proxy "
        "takes those of clients in private networks to globally reachable addresses, ports 80 and 443 (CONNECT: 443)."},
    {LISTEN(serves_pac), .key = "pac", SWITCH("no yes"), .example = "yes", .preset = "no",
        .sentence = "For mode = forward. yes: http://PROXY:PORT/proxy.pac (https:// with a certificate) is a proxy auto-configuration file "
        "that makes browsers use this listener, by the name or address that they have asked. The listener's clients may have it, without a "
        "password. Plain names, addresses of private networks, and what no-proxy of the origins names, are not asked of the proxy."},
    {LISTEN(certificates), .key = "certificate", OTHER("FILE", conf_set_pem_file), .example = "/etc/pushgate/example.com.pem",
        .repeats = true,
        .sentence = "A certificate with its chain (PEM); each needs a key. Of several, the one for the name that the client asks for (SNI) "
        "is used; the first is the default, for clients that ask for none or for an unknown one. None: cleartext HTTP/1.1, and HTTP/2 with "
        "prior knowledge (h2c)."},
    {LISTEN(certificates), .key = "key", OTHER("FILE", conf_set_pem_file), .example = "/etc/pushgate/example.com.key", .repeats = true,
        .sentence = "The private key (PEM) of a certificate; the first belongs to the first certificate."},
    {.section = CONF_SECTION_LISTEN, .key = "client-ca", OTHER("FILE [required | optional] [host=NAME,...] [crl=FILE]", conf_set_client_ca),
        .example = "/etc/pushgate/clients.pem required host=api.example.com", .repeats = true,
        .sentence = "Only with certificates. Clients must show a certificate that these authorities (PEM) have signed; optional: those that "
        "have none are let in without. host: for these hosts alone, by the name that the client asks for (SNI); the first line with the host "
        "counts, else the one without host. crl: lists of revoked certificates (PEM), one of each authority. The origin gets the certificate "
        "in Client-Cert, and cert= of access rules, routes and pushes is about it (docs/CLIENTS.md)."},
    {LISTEN(certificates), .key = "certificates", OTHER("FOLDER", conf_set_certificate_folder), .example = "/etc/letsencrypt/live",
        .repeats = true,
        .sentence = "A folder of certificates with their keys, and the folders in it, two levels deep: fullchain.pem with privkey.pem "
        "(certbot), NAME.crt, NAME.cer or NAME.pem with NAME.key (Caddy and others), or both in one NAME.pem. They are as good as "
        "those of certificate lines, which go before them: each client gets one for the name that it asks for, an exact name before a "
        "wildcard (docs/TLS.md)."},
    {LISTEN(tls.least), .key = "tls-min", CHOICE("1.2 1.3"), .example = "1.3", .preset = "1.2",
        .sentence = "The lowest version of TLS that clients may use. HTTP/2 requires 1.2 (RFC 9113 9.2)."},
    {LISTEN(tls.most), .key = "tls-max", CHOICE("1.2 1.3"), .example = "1.2", .preset = "1.3",
        .sentence = "The highest version of TLS that clients may use."},
    {LISTEN(tls.suites), .key = "ciphers", WORDS("SUITE ...", conf_add_suite), .example = "ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-RSA-AES128-GCM-SHA256",
        .repeats = true,
        .sentence = "The cipher suites of TLS 1.2, the preferred one first, by the names of OpenSSL or of IANA. Not given: all six that "
        "RFC 9113 allows, AES128 before AES256 before ChaCha20. TLS 1.3 has suites of its own, of which all three are accepted."},
    {LISTEN(tls.groups), .key = "groups", WORDS("GROUP ...", conf_add_group), .example = "X25519 P-256", .repeats = true,
        .sentence = "The groups of the key exchange, the preferred one first, such as X25519, P-256, P-384 and P-521. Not given: "
        "X25519MLKEM768 if the linked BoringSSL has it (pushgate version says so), X25519, P-256, P-384."},
    {LISTEN(tls.strict_sni), .key = "strict-sni", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: the handshake of a client that names no host (SNI), or one that no certificate covers, is refused, by the alert "
        "unrecognized_name or missing_extension. no: such a client gets the first certificate."},
    {LISTEN(tls.ech_file), .key = "ech-keys", .type = CONF_TYPE_FILE, .form = "FILE", .set = conf_set_ech_keys, .example = "/etc/pushgate/ech.pem",
        .sentence = "Encrypted ClientHello: a file with one to eight private keys (X25519), each with its ECHConfigList behind it, as pushgate ech-key "
        "and other programs write them (RFC 9934). Clients that learn of the first one by an HTTPS record hide which host they ask for. A certificate must cover the outer "
        "name, which everybody sees. Read again like a certificate (docs/TLS.md)."},
    {LISTEN(acme), .key = "acme", OTHER("https://HOST[:PORT]/PATH", conf_set_acme), .example = "https://acme-v02.api.letsencrypt.org/directory",
        .right = "write the URL of an authority's directory",
        .sentence = "In place of certificate and key: the authority with this directory makes a certificate for all hosts of the routes, and "
        "it is renewed in time (docs/ACME.md). By this option you agree to the authority's terms. Until the first certificate comes, clients get one that "
        "nobody has signed."},
    {LISTEN(protocols), .key = "protocols", .example = "h2", .type = CONF_TYPE_BITS, .choices = "h2 http/1.1", .preset = "h2 http/1.1",
        .sentence = "What clients may speak. Over TLS, ALPN decides, and a client without ALPN speaks HTTP/1.1; in cleartext the first "
        "bytes do. http/1.1 stands for HTTP/1.0 too."},
    {.section = CONF_SECTION_LISTEN, .key = "redirect-to-https", .example = "yes", .preset = "no",
        READ("no | yes | PORT", conf_read_redirect, "write no, yes or the port of the listener with the certificate"),
        .sentence = "Only without certificates. yes: each request is answered 308 (Permanent Redirect) to https with the same host, path "
        "and query; no origin is asked. PORT: the same, to this port; yes is 443."},
    {LISTEN(hsts), .key = "hsts", OTHER("off | TIME [include-subdomains] [preload]", conf_set_hsts), .suggest = suggest_hsts, .example = "365d include-subdomains",
        .preset = "off", .right = "write off, or a time from 0s to 3650d with or without include-subdomains and preload",
        .sentence = "Only with certificates. Responses without a Strict-Transport-Security field (RFC 6797) get one: for this time, such "
        "as 365d, browsers use https alone for the host. include-subdomains: for the names below it too. preload: the owner agrees to the "
        "lists that browsers are shipped with. 0s: browsers forget it. Begin with a short time, since no browser asks again before it is "
        "over."},
    {LISTEN(clients_shared), .key = "clients", SWITCH("single shared"), .preset = "single",
        .sentence = "shared: one connection may carry requests of several users, such as one from a CDN or another proxy. single: each "
        "connection belongs to one user."},
    {LISTEN(shares), .key = "shares", SWITCH("no yes"), .example = "yes", .preset = "no",
        .sentence = "Only with mode = forward. no: what one client asks for has no effect on what another one gets, and nothing of it "
        "outlives its connection: [preload] remembers nothing of these clients and offers them nothing remembered, hold-shared and "
        "diary-cookie are not for them, and the latest version of a resource is not learned from them. yes: all this is as it is with mode "
        "= gateway."},
    {ITEMS(LISTEN, conf_listen, trusted, trusted_count), .key = "trusted", .example = "192.0.2.10 2001:db8::/64 unix",
        .type = CONF_TYPE_CIDRS, .choices = "unix", .form = "ADDRESS[/BITS] | unix ...",
        .sentence = "Peers that speak for their clients, such as a load balancer that ends TLS in front of pushgate: addresses of TCP "
        "connections, or those that a PROXY header claims, and unix for those through a unix socket. The scheme of their requests may be https or http. Requests of others get "
        "421 unless it is that of the connection: https over TLS, http in cleartext. A request in HTTP/1.1 names no scheme unless its "
        "target is in absolute form."},
    {LISTEN(proxy_protocol.is_required), .key = "proxy-protocol", SWITCH("off required"), .example = "required", .preset = "off",
        .sentence = "required: each connection begins with a PROXY header of version 1 or 2, before TLS, and comes from a peer in trusted; "
        "others are closed. From then on the address in the header is the peer's: for rules, limits, the log, the forwarding fields, and for "
        "trusted itself. off: bytes of a PROXY header are no request."},
    {LISTEN(proxy_protocol.timeout), .key = "proxy-protocol-timeout", TIME(0), .preset = "10s",
        .sentence = "How long the PROXY header may take, from the accepted connection on. 0: no limit."},
    {LISTEN(proxy_protocol.https_port), .key = "proxy-protocol-https-port", NUMBER(0, 65535), .example = "443", .preset = "0",
        .sentence = "Requests of connections whose PROXY header has this port as the destination are for https URIs: the balancer has ended "
        "their TLS. A header in version 2 may say so itself (PP2_TYPE_SSL). 0: only then."},
    {LISTEN(client_address), .key = "client-address", READ("peer | FIELD", conf_read_client_address, "write peer or the name of a field, such as x-forwarded-for"),
        .example = "x-forwarded-for", .preset = "peer",
        .sentence = "The field in which peers in trusted name the client of a request: forwarded (RFC 7239), x-forwarded-for, or another one "
        "with an address, such as cf-connecting-ip. Rules, limits, the log and the forwarding fields are about this client. Its address is "
        "counted from the right (client-hops); one that is no address is a client of its own, whom no rule for addresses names. Requests of "
        "other peers, and those without the field, are of the peer. peer: all requests are."},
    {LISTEN(client_address.hops), .key = "client-hops", NUMBER(1, 16), .preset = "1",
        .sentence = "How many proxies a request has come through, of which each adds an address at the right end of the field: the client's is "
        "number client-hops from there, or the first one if there are fewer. All ways to pushgate must lead through so many, since a client "
        "can write the addresses before those."},
    {LISTEN(request_id), .key = "request-id", CHOICE("off make keep"), .example = "make", .preset = "off",
        .sentence = "Whether each request has an id, which its origin gets in X-Request-Id, and which is request_id in the access log and "
        "{request-id} in fields that a route sets.\n"
        "off: X-Request-Id is a field like any other.\n"
        "make: pushgate makes the id, 32 hexadecimal digits, and what the client sends in X-Request-Id is removed.\n"
        "keep: the same, but one id that a client in trusted sends stays, if it has at most 64 letters, digits and marks of -._~:+/=@."},
    {LISTEN(max_connections), .key = "max-connections", NUMBER(1, 1000000), .preset = "10000",
        .sentence = "Most client connections in each worker. More are closed at once."},
    {LISTEN(max_connections_per_client), .key = "max-connections-per-client", NUMBER(0, 1000000), .preset = "1000",
        .sentence = "Most connections of one client (an IPv4 address or an IPv6 /64) in each worker. Connections over unix sockets do not "
        "count. 0: no limit."},
    {LISTEN(max_concurrent_streams), .key = "max-concurrent-streams", NUMBER(1, 65536), .preset = "100",
        .sentence = "Most open requests on one connection (SETTINGS_MAX_CONCURRENT_STREAMS). In HTTP/1.1 it is one: requests behind it "
        "wait unread."},
    {LISTEN(stream_window_bytes), .key = "stream-window", WINDOW(16 * KIB, 1 * GIB), .preset = "256k",
        .sentence = "Flow-control window of one upload (SETTINGS_INITIAL_WINDOW_SIZE). In HTTP/1.1: while so many bytes of an upload wait "
        "for the origin, the connection is not read from."},
    {LISTEN(connection_window_bytes), .key = "connection-window", WINDOW(64 * KIB, 1 * GIB), .preset = "1M",
        .sentence = "Flow-control window of all uploads of a connection."},
    {LISTEN(header_table_bytes), .key = "header-table", WINDOW(0, 64 * KIB), .preset = "4k",
        .sentence = "Size of the HPACK table that the client may use (SETTINGS_HEADER_TABLE_SIZE)."},
    {LISTEN(max_header_list_bytes), .key = "max-header-list", WINDOW(4 * KIB, LIMIT_FIELD_BLOCK_BYTES), .preset = "64k",
        .sentence = "Largest size of a request's fields, its target among them (SETTINGS_MAX_HEADER_LIST_SIZE), and of its trailers. "
        "Larger ones get 431. A target in HTTP/1.1 that is larger by itself gets 414."},
    {LISTEN(max_request_body_bytes), .key = "max-request-body", .example = "10M", SIZE(0, 1024 * GIB), .preset = "0",
        .sentence = "Largest size of a request's body. Larger ones get 413. 0: no limit."},
    {LISTEN(tls_timeout), .key = "tls-timeout", TIME(0), .preset = "10s",
        .sentence = "How long the TLS handshake may take. 0: no limit, as with the other timeouts."},
    {LISTEN(preface_timeout), .key = "preface-timeout", TIME(0), .preset = "10s",
        .sentence = "How long the client may take to begin after the handshake: to send its HTTP/2 preface, or the first byte of a request "
        "in HTTP/1.1."},
    {LISTEN(settings_timeout), .key = "settings-timeout", TIME(0), .preset = "10s",
        .sentence = "How long the client may take to acknowledge SETTINGS."},
    {LISTEN(header_timeout), .key = "header-timeout", TIME(0), .preset = "10s",
        .sentence = "How long a request's field block, or its head in HTTP/1.1, may take from its first byte to its last. In HTTP/1.1 a "
        "head that takes longer gets 408; the first one's time begins with the connection."},
    {LISTEN(idle_timeout), .key = "idle-timeout", TIME(0), .preset = "3m",
        .sentence = "How long a connection without open requests stays open. In HTTP/1.1 it is the wait for the next request (keep-alive)."},
    {LISTEN(keepalive), .key = "keepalive", .type = CONF_TYPE_TIME, .min = 0, .max = KEEPALIVE_MOST, .preset = "60s",
        .sentence = "How long the client may be silent before its TCP is probed. It is gone when it has answered nothing for as long "
        "again. While requests are open and nothing comes, it also gets a PING every five minutes, and 30 seconds to answer. 0: neither."},
    {LISTEN(write_timeout), .key = "write-timeout", TIME(0), .preset = "60s",
        .sentence = "How long the client may read nothing, or less than min-rate, of the data queued for it."},
    {LISTEN(body_timeout), .key = "body-timeout", TIME(0), .preset = "30s",
        .sentence = "How long the client may send nothing, or less than min-rate, of an upload that has a content-length or that the "
        "origin waits for before it answers. For others the route's stream-idle-timeout counts."},
    LIMITS_OF_CLIENTS(LISTEN),
    LIMITS_OF_BOTH(LISTEN, "client"),

    /* ---- [access NAME] ---- */
    {ACCESS_RULE, .key = "deny", .example = "path=/admin/*",
        .sentence = "Requests that are answered 403, with conditions as those of allow. What a line does not name it does not look at."},
    {ACCESS_RULE, .key = "ask", .example = "path=/private/*",
        .sentence = "Requests that need a user: one without is answered 401, or 407 in forward mode. With a user the next lines decide."},
    {ACCESS_RULE, .key = "allow", .example = "client=192.0.2.0/24 path=/admin/*",
        .sentence = "Requests that are taken. In forward mode a line has usual conditions in place of those that it does not name: "
        "client=private; address=global; port=80,443, and of CONNECT 443 alone. So a host that is allowed opens no private address."},
    {ACCESS(users), .key = "users", .example = "/etc/pushgate/users", .type = CONF_TYPE_FILE, .form = "FILE",
        .sentence = "The users and the hashes of their passwords, lines NAME:HASH as htpasswd -B writes them: bcrypt, or yescrypt, SHA-512 "
        "or SHA-256 of mkpasswd(1). A changed file is used within seconds, one with a mistake never. The user that workers run as must be "
        "able to read it."},
    {ACCESS(realm), .key = "realm", .example = "home", .type = CONF_TYPE_TEXT, .preset = "pushgate", .form = "TEXT", .check = conf_check_realm,
        .sentence = "What browsers show when they ask for a password."},

    /* ---- [origin NAME] ---- */
    {.section = CONF_SECTION_ORIGIN, .key = "server",
        OTHER("https://HOST:PORT | http://HOST:PORT | https1://HOST:PORT | h2://HOST:PORT | h2c://HOST:PORT | h1+unix:/PATH | h2c+unix:/PATH | [SCHEME+]srv:NAME | demo: | forward: [weight=NUMBER] [backup] [down]", conf_set_server), .suggest = suggest_server,
        .repeats = true, .example = "http://127.0.0.1:8080", .is_required = true,
        .right = "write https://HOST:PORT, http://HOST:PORT, https1://HOST:PORT, h2://HOST:PORT, h2c://HOST:PORT, h1+unix:/PATH, "
        "h2c+unix:/PATH, srv:NAME, demo: or forward:, and behind it weight=NUMBER, backup or down",
        .sentence = "A server of the origin; several lines, all with the same scheme, are a fleet. https: over TLS; ALPN decides whether "
        "HTTP/2 or HTTP/1.1 is spoken, and a server that demands HTTP/1.1 of a request (HTTP_1_1_REQUIRED) gets that for five minutes. "
        "http, and h1+unix for a unix socket: cleartext HTTP/1.1. https1: HTTP/1.1 alone, over TLS. h2: HTTP/2 alone, over TLS. h2c, and "
        "h2c+unix: cleartext HTTP/2. The port is 443 over TLS and 80 in cleartext by default. A name is looked up while pushgate runs, and "
        "each of its addresses is a server. srv: the servers and ports of the name's SRV records; srv:_http._tcp.NAME is spoken to as "
        "http, srv:_https._tcp.NAME as https, and others say how, such as h2c+srv:_grpc._tcp.NAME. demo: the built-in demo site; "
        "demo:?think=150ms&rtt=40ms: it takes 150 ms to make its page, and is a round trip of 40 ms away. forward: for listeners with mode "
        "= forward: each request goes where it says itself. weight=NUMBER: its share of the requests, from 1 to 256; 1 if not given. "
        "backup: used while no other server is up. down: not used."},
    {ORIGIN(chain), .key = "upstream-proxy",
        OTHER("http[s]://[USER[:PASSWORD]@]HOST:PORT [password-file=FILE] [NAME | *.NAME ...]", conf_set_upstream_proxy), .secrets = CONF_SECRET_USER, .repeats = true,
        .example = "http://proxy.example.com:3128",
        .right = "write http://HOST:PORT or https://HOST:PORT, USER@ or USER:PASSWORD@ before HOST if the proxy asks for it, and behind "
        "it password-file=FILE or the names of destinations",
        .sentence = "For server = forward: a proxy that the requests go through. http://HOST:PORT is spoken to in cleartext, https:// over "
        "TLS, in HTTP/1.1. It gets http requests in absolute-form, and a CONNECT for tunnels and https. With names behind it, it is for "
        "these destinations alone; the first line that matches is used. The proxy resolves the names: rules of [access NAME] about "
        "addresses do not hold for names that go through it. password-file: the password is the first line of the file."},
    {ORIGIN(chain), .key = "no-proxy", WORDS("NAME | *.NAME | ADDRESS | ADDRESS/BITS ...", conf_add_no_proxy), .repeats = true,
        .example = "*.internal.example.com 10.0.0.0/8", .right = "write NAME, *.NAME, ADDRESS or ADDRESS/BITS",
        .sentence = "Destinations that no upstream-proxy is used for. A range takes destinations that are written as addresses; names are "
        "not looked up for it. localhost, 127.0.0.0/8, ::1, 0.0.0.0 and :: never go through a proxy."},
    {ORIGIN(source), .key = "source-address", WORDS("ADDRESS [ADDRESS]", conf_add_source), .example = "192.0.2.7 2001:db8::7",
        .right = "write an IP address of this machine, or one of IPv4 and one of IPv6",
        .sentence = "The address of this machine that connections to the servers, also those of checks and tunnels, and to an "
        "upstream-proxy, begin at: one of IPv4, one of IPv6, or both. Of a name, addresses of a family that has none here are not used. "
        "Not given: the kernel chooses."},
    {ORIGIN(balance.kind), .key = "balance", CHOICE("least round-robin"), .preset = "least",
        .sentence = "Which server gets a request, when there are several. least: of two drawn by weight the one with fewer open requests "
        "for its weight; round-robin: in turns, each as often as its weight says. Each worker counts its own."},
    {ORIGIN(balance), .key = "hash", .example = "client", .preset = "off",
        READ("off | client | path | cookie NAME | header NAME", conf_read_hash, "write off, client, path, cookie NAME or header NAME"),
        .sentence = "Not off: in place of balance, requests with the same client address (IPv6: the same /64), path without query, cookie, "
        "or field of the request go to the same server, in all workers and after a restart. When a server leaves, only its requests move. "
        "A server that has a quarter more open requests than its share gets no more: they go to the next one, for each key always the "
        "same. A request without the cookie or field goes to a server as with balance = least."},
    {ORIGIN(balance.slow_start), .key = "slow-start", .example = "30s", TIME(0), .preset = "0",
        .sentence = "A server that joins, or comes back, gets a tenth of its share at first, and all of it after this time. 0: all of it "
        "at once. What is there at the start begins with its whole share."},
    {ORIGIN(balance.affinity_cookie), .key = "affinity-cookie", TEXT_OR("off", "NAME | off"), .check = conf_check_cookie, .example = "pushgate-server",
        .preset = "off",
        .sentence = "Name of a cookie that keeps a client at the server that it had, while that one is in use, whatever balance and hash "
        "say. The first response sets it, and becomes private to its client (Cache-Control). Origins do not see it; give those that serve "
        "the same host different names."},
    {ORIGIN(tls_ca), .key = "tls-ca", .example = "/etc/pushgate/origin-ca.pem", .type = CONF_TYPE_FILE, .form = "FILE",
        .set = conf_set_tls_ca, .sentence = "Certificate authorities (PEM) that verify the origin's certificate. Not given: the system's."},
    {ORIGIN(tls_verify), .key = "tls-verify", SWITCH("no yes"), .preset = "yes",
        .sentence = "no: accept any certificate. Only for tests: it makes TLS useless."},
    {ORIGIN(tls_name), .key = "tls-name", .example = "origin.example.com", .type = CONF_TYPE_TEXT, .form = "NAME", .check = conf_check_tls_name,
        .sentence = "The name to send as SNI and to verify. Not given: the host of each server."},
    {.section = CONF_SECTION_ORIGIN, .key = "client-certificate", OTHER("FILE [KEY-FILE]", conf_set_client_certificate),
        .example = "/etc/pushgate/gate.pem /etc/pushgate/gate.key",
        .sentence = "Over TLS: the certificate with its chain (PEM) that pushgate shows to servers that ask for one, and its private key; "
        "without KEY-FILE the key is in FILE too."},
    {ORIGIN(push), .key = "push", CHOICE("auto accept refuse"), .preset = "auto",
        .sentence = "The SETTINGS_ENABLE_PUSH sent to an origin that speaks HTTP/2. auto: 1 on connections for requests whose pushes could "
        "be used, 0 on the others; accept: always 1; refuse: always 0."},
    {ORIGIN(scheme), .key = "scheme", CHOICE("keep hop"), .preset = "keep",
        .sentence = "Scheme of requests to the origin (:scheme). keep: as the client sent it; hop: https over TLS, http in cleartext. A "
        "request in HTTP/1.1 carries no scheme."},
    {ORIGIN(host_override), .key = "host", TEXT_OR("keep", "keep | NAME[:PORT]"), .check = conf_check_host, .example = "app.internal:8080", .preset = "keep",
        .sentence = "Host of requests to the origin (:authority, or Host in HTTP/1.1). keep: as the client sent it."},
    {ORIGIN(is_private), .key = "connections", SWITCH("shared private"), .example = "private", .preset = "shared",
        .sentence = "shared: a connection to the origin may carry the requests of all clients. private: it carries those of one client "
        "alone, in HTTP/1.1: of one address and port, or of one address if client-address names the client. When there are "
        "max-http1-connections, the one that has been idle for the longest is closed for the next client."},
    {ORIGIN(send_proxy), .key = "send-proxy", CHOICE("off v1 v2"), .example = "v2", .preset = "off",
        .sentence = "The version of the PROXY header with which each connection to the origin begins, before TLS. It has the address of "
        "the client and the one that the client came to. A client without an IP address is UNKNOWN. Health checks send LOCAL, or UNKNOWN "
        "in version 1. Needs connections = private."},
    {ORIGIN(max_concurrent_pushes), .key = "max-concurrent-pushes", NUMBER(1, 100000), .preset = "1000",
        .sentence = "Most open pushed responses on one origin connection (SETTINGS_MAX_CONCURRENT_STREAMS)."},
    {ORIGIN(max_connections), .key = "max-connections", NUMBER(1, 10000), .preset = "4",
        .sentence = "Most HTTP/2 connections to each server in each worker, for each of its two pools (with push and without). "
        "Subscriptions have theirs beside these."},
    {ORIGIN(max_http1_connections), .key = "max-http1-connections", NUMBER(1, 100000), .preset = "128",
        .sentence = "Most HTTP/1.1 connections to each server in each worker: each carries one request at a time."},
    {ORIGIN(slow_share), .key = "slow-share", NUMBER(1, 100), .preset = "75",
        .sentence = "The share in percent of a server's HTTP/1.1 connections, and of max-requests, that requests may take whose body has "
        "not wholly come. More of them wait, and no other request waits for them. 100: all."},
    {ORIGIN(fetch_share), .key = "fetch-share", SHARE("0% ... 100%", 0), .right = "give a share from 0% to 100%", .example = "10%", .preset = "25%",
        .sentence = "The share of a server's room (streams, HTTP/1.1 connections, max-requests) that fetches may take: requests of "
        "pushgate's own for responses that are held. More of them wait until others end, and are not made while clients have taken all "
        "the room. A fetch that a client's request joins does not count any more. 0%: nothing is fetched."},
    {ORIGIN(speculation_share), .key = "speculation-share", SHARE("1% ... 100%", 100), .right = "give a share from 1% to 100%", .example = "80%", .preset = "50%",
        .sentence = "When requests have taken this share of a server's room (streams, HTTP/1.1 connections, max-requests), loads that browsers "
        "make ahead of a navigation get 503, in routes with speculation."},
    {ORIGIN(fetch_budget_bytes), .key = "fetch-budget", SIZE(0, 1024 * GIB), .example = "10m", .preset = "64m",
        .sentence = "How many bytes of fetched responses a minute may be asked for by no client, in each worker; each such response "
        "counts 1k more. Above it nothing is fetched for a while. 0: no limit."},
    {ORIGIN(max_destinations), .key = "max-destinations", NUMBER(16, 1000000), .preset = "10000",
        .sentence = "Only with server = forward:. How many hosts with their ports each worker knows at a time, with about 2 KiB for each. "
        "When there are more, the one that nobody has used for the longest is forgotten; when all are in use, a request for another is "
        "answered 503."},
    {ORIGIN(max_requests), .key = "max-requests", .example = "500", NUMBER(0, 1000000), .preset = "0",
        .sentence = "Most requests that each server has at a time from each worker, pushes and tunnels among them. More wait, and the next "
        "server with room takes them. 0: as many as the connections carry."},
    {ORIGIN(max_subscriptions), .key = "max-subscriptions", NUMBER(1, 1000000), .preset = "100",
        .sentence = "Most subscriptions at a time to each server in each worker; each has a connection of its own. More get 503."},
    {ORIGIN(max_tunnels), .key = "max-tunnels", NUMBER(1, 1000000), .preset = "1000",
        .sentence = "Most tunnels (upgrade of a route) to each server at a time in each worker, those that wait for its answer included. "
        "More get 503. They have connections of their own, so that they take none from requests."},
    {ORIGIN(spare_connections), .key = "spare-connections", .example = "1", NUMBER(0, 10000), .preset = "0",
        .sentence = "Connections to open in advance once the origin is in use."},
    {ORIGIN(max_queue), .key = "max-queue", NUMBER(0, 1000000), .preset = "10000",
        .sentence = "Most requests that may wait for a stream, or for an HTTP/1.1 connection, of any of the servers. More get 503."},
    {ORIGIN(retry_budget), .key = "retry-budget", SHARE("0% ... 100%", 0), .right = "give a share from 0% to 100%", .example = "10%", .preset = "20%",
        .sentence = "The share of the origin's requests in each worker that may be sent again by a route's retry-on, so that retries do "
        "not multiply the load of servers that have too much; three a second may be beside. 0%: none. What no server has processed does "
        "not count, but for the third try of an origin with one server."},
    {ORIGIN(stream_window_bytes), .key = "stream-window", WINDOW(16 * KIB, 1 * GIB), .preset = "64k",
        .sentence = "Initial flow-control window of one response; it grows to four times this size if the client reads fast enough. In "
        "HTTP/1.1: while so many bytes of a response wait for the client, the connection is not read from."},
    {ORIGIN(max_stream_window_bytes), .key = "max-stream-window", WINDOW(16 * KIB, 1 * GIB), .preset = "4M",
        .sentence = "The size to which stream-window may grow if the round trip to the origin is long."},
    {ORIGIN(connection_window_bytes), .key = "connection-window", WINDOW(64 * KIB, 1 * GIB), .preset = "16M",
        .sentence = "Flow-control window of all responses of a connection."},
    {ORIGIN(max_header_list_bytes), .key = "max-header-list", WINDOW(4 * KIB, LIMIT_FIELD_BLOCK_BYTES), .preset = "64k",
        .sentence = "Largest size of the fields of a response or a promise."},
    {ORIGIN(max_request_list_bytes), .key = "max-request-list", WINDOW(4 * KIB, LIMIT_FIELD_BLOCK_BYTES), .preset = "64k",
        .sentence = "Largest size of the fields of a request, its target among them, that a server in HTTP/2 is sent if it announces no "
        "limit itself (SETTINGS_MAX_HEADER_LIST_SIZE). Larger ones get 431. Servers built on nghttp2, such as Apache httpd, announce none "
        "and end the connection, with all its requests, above 64k."},
    {ORIGIN(connect_timeout), .key = "connect-timeout", TIME(0), .preset = "5s",
        .sentence = "How long connecting may take, TLS handshake included. 0: no limit, as with the other timeouts."},
    {ORIGIN(settings_timeout), .key = "settings-timeout", TIME(0), .preset = "10s",
        .sentence = "How long the origin may take to acknowledge SETTINGS."},
    {ORIGIN(queue_timeout), .key = "queue-timeout", TIME(0), .preset = "10s",
        .sentence = "How long a request may wait for a stream or a connection; then it gets 504."},
    {ORIGIN(response_timeout), .key = "response-timeout", TIME(0), .preset = "60s",
        .sentence = "How long the final response may take to begin after the request; then the client gets 504. Calls of gRPC have their "
        "own deadline, and the route's stream-idle-timeout."},
    {ORIGIN(idle_timeout), .key = "idle-timeout", TIME(0), .preset = "60s",
        .sentence = "How long a connection without open requests stays open. With server = forward: one to a host that was asked once "
        "stays for 5s. An HTTP/1.1 connection is closed earlier if its origin announces a shorter time (Keep-Alive)."},
    {ORIGIN(keepalive), .key = "keepalive", .type = CONF_TYPE_TIME, .min = 0, .max = KEEPALIVE_MOST, .preset = "60s",
        .sentence = "How long the origin may be silent before its TCP is probed. It is gone when it has answered nothing for as long "
        "again. While requests are open and nothing comes, it also gets a PING every five minutes, and 30 seconds to answer. 0: neither."},
    {ORIGIN(write_timeout), .key = "write-timeout", TIME(0), .preset = "60s",
        .sentence = "How long the origin may read nothing, or less than min-rate, of the data queued for it."},
    {ORIGIN(body_timeout), .key = "body-timeout", TIME(0), .preset = "60s",
        .sentence = "How long the origin may send nothing, or less than min-rate, of a response with content-length. For others the "
        "route's stream-idle-timeout counts."},
    {ORIGIN(upload_linger), .key = "upload-linger", TIME(USEC_PER_MSEC), .preset = "10s",
        .sentence = "How long an upload may continue after the response is complete. What the origin does not want of it is read and "
        "dropped, since many clients lose a response whose stream is reset while they send."},
    {ORIGIN(eject.failures), .key = "eject-failures", NUMBER(0, 10000), .preset = "5",
        .sentence = "After so many failures in a row a server is ejected: it gets no requests for eject-time. A failure is a status of "
        "failure-status, a response that does not come in time or is malformed, and a lost connection. Two failed connects in a row eject "
        "too. When the server returns, the first failure ejects it again. Each worker ejects by itself; an origin's only server is never "
        "ejected. 0: neither ejects."},
    {ORIGIN(eject.percent), .key = "eject-percent", NUMBER(0, 100), .preset = "50",
        .sentence = "A server is ejected too when of its requests of the last 10 seconds so many percent have failed, and there were at "
        "least 20. 0: off."},
    {ORIGIN(eject.time), .key = "eject-time", TIME(USEC_PER_SEC), .preset = "10s",
        .sentence = "How long a server stays ejected the first time. Each further time doubles it; each time that the server works as long "
        "as it was ejected halves it again."},
    {ORIGIN(eject.time_max), .key = "eject-time-max", TIME(USEC_PER_SEC), .preset = "5m",
        .sentence = "The longest time that a server stays ejected."},
    {ORIGIN(eject.most), .key = "eject-most", NUMBER(1, 100), .preset = "50",
        .sentence = "Most servers of an origin that may be ejected at a time, in percent; of several servers one may be in any case."},
    {ORIGIN(eject.failure_status), .key = "failure-status", STATUSES,
        .example = "500 502-504", .preset = "502 503 504",
        .sentence = "Statuses of responses that count as failures of the server. A status that clients can cause at will, such as 500 by a "
        "broken page, lets them eject servers."},
    {ORIGIN(check), .key = "health-check", .example = "/health", .secrets = CONF_SECRET_QUERY, .preset = "off",
        READ("off | connect | /PATH", conf_read_health_check, "write off, connect or the path to ask for, such as /health"),
        .sentence = "How pushgate finds out by itself whether a server works. connect: it connects, over TLS with the handshake; /PATH: it "
        "also sends a GET for this path. A server that fails gets no requests while another works. One worker checks, for all. Not for the "
        "demo site."},
    {ORIGIN(check.host), .key = "health-host", .type = CONF_TYPE_TEXT, .form = "NAME[:PORT]", .check = conf_check_health_host, .example = "app.example.com",
        .sentence = "Host of the requests of health-check. Not given: host, if that names one, else the host of server."},
    {ORIGIN(check.interval), .key = "health-interval", TIME(100 * USEC_PER_MSEC), .preset = "5s",
        .sentence = "Time between two checks of a server, give or take a tenth."},
    {ORIGIN(check.timeout), .key = "health-timeout", TIME(10 * USEC_PER_MSEC), .preset = "2s",
        .sentence = "How long a check may take until the response begins; then it has failed."},
    {ORIGIN(check.rise), .key = "health-rise", NUMBER(1, 100), .preset = "2",
        .sentence = "After so many passed checks in a row a server that failed gets requests again."},
    {ORIGIN(check.fall), .key = "health-fall", NUMBER(1, 100), .preset = "3",
        .sentence = "After so many failed checks in a row a server gets no requests."},
    {ORIGIN(check.statuses), .key = "health-status", STATUSES, .example = "200 204", .preset = "200-399",
        .sentence = "Statuses with which a server passes a check."},
    LIMITS_OF_BOTH(ORIGIN, "origin"),
    LIMITS_OF_ORIGINS(ORIGIN),

    /* ---- [route NAME] ---- */
    {ROUTE(hosts, host_count), .key = "host", .example = "example.com *.example.com", .type = CONF_TYPE_LIST,
        .check = conf_check_route_host, .suggest = suggest_host, .form = "NAME | *.NAME | * ...",
        .sentence = "Hosts of the requests. *.example.com: all names below example.com. Not given: any host."},
    {ROUTE(hosts, host_count), .key = "host-file", LIST_FILE(conf_check_route_host), .example = "hosts.txt",
        .sentence = "More hosts, one on each line of the file; # begins a comment. At most 100000 lines and 8 MiB. A reload reads it again."},
    {ROUTE(paths, path_count), .key = "path", .example = "/", .type = CONF_TYPE_LIST, .check = conf_check_route_path, .suggest = suggest_path,
        .form = "/PATH ...", .sentence = "Path prefixes of whole segments: /api matches /api and /api/x, not /apix. Not given: /."},
    {ROUTE(paths, path_count), .key = "path-file", LIST_FILE(conf_check_route_path), .example = "paths.txt",
        .sentence = "More path prefixes, one on each line of the file, as in host-file."},
    {ROUTE(methods, method_count), .key = "method", .example = "GET HEAD", .type = CONF_TYPE_LIST,
        .check = conf_check_method, .form = "METHOD ...",
        .sentence = "A condition: the request has one of these methods. Routes with conditions are tried before those of the same host and "
        "path that have none, in the order of the file. A request that does not meet them goes to the next route that matches."},
    {ROUTE(certs, cert_count), .key = "cert", .example = "dns:*.example.com", CERTS,
        .sentence = "A condition: the client has shown a certificate (client-ca) with one of these names (docs/CLIENTS.md); *: any one."},
    {.section = CONF_SECTION_ROUTE, .key = "field", OTHER("NAME: PATTERN | NAME | !NAME", conf_set_route_field),
        .example = "Cookie: *beta=1*", .secrets = CONF_SECRET_FIELD, .repeats = true,
        .sentence = "A condition: the request has a field of this name with a value that matches the pattern (* and ?, or a regular "
        "expression after ~); has the field; or does not have it. All lines must hold."},
    {.section = CONF_SECTION_ROUTE, .key = "origin", OTHER("NAME | NAME WEIGHT, ...", conf_set_route_origin), .example = "app",
        .is_required = true,
        .sentence = "The [origin NAME] that the requests are sent to. Several with weights (a 90, b 10): each gets its part of the "
        "clients, by their addresses; a client stays with its origin. Not with redirect, answer or files."},
    {ROUTE_OPTION(rewrite), .key = "rewrite", .example = "/ /app",
        READ("/FROM /TO", conf_read_rewrite, "write the beginning of the clients' paths, and that of the origin's in its place"),
        .sentence = "The origin gets paths that begin with /TO where the client's begin with /FROM; /TO may be /. Mapped back in Location, "
        "Content-Location, Link, Refresh, Path and Domain of Set-Cookie, and promised requests."},
    {ROUTE_OPTION(maps_referer), .key = "map-referer", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: the origin gets Referer with its own scheme, host and path where it names the client's host, as it always gets "
        "Destination (COPY and MOVE of WebDAV). no: as the client sent it."},
    {ROUTE_OPTION(redirect), .key = "redirect", OTHER("[STATUS] TARGET", conf_set_route_redirect),
        .example = "301 https://www.example.com{path}{query}",
        .sentence = "In place of origin: requests are answered with this Location, and with 301, 302, 303, 307 or 308 (the default). "
        "{host}, {path}, {query} (with its ?) and {rest} (what follows the route's path, with the query) are those of the request."},
    {ROUTE_OPTION(answer), .key = "answer", OTHER("STATUS [FILE]", conf_set_route_answer), .example = "503",
        .sentence = "In place of origin: requests are answered with this status, and with the file, of at most 64 KiB, read at the start. "
        "Its ending tells its type: .html, .txt or .json."},
    {ROUTE_OPTION(folder.path), .key = "files", .type = CONF_TYPE_FILE, .form = "FOLDER", .example = "/var/www/example",
        .sentence = "In place of origin: requests are answered with the file of this folder that has their path, and index.html where "
        "the path ends with a slash. For small files: at most 256 of 256 KiB each, 4 MiB together. They are read at the start, and again "
        "when they change; names that begin with a dot, but for .well-known, and what lies outside of the folder are left out. The "
        "ending tells the type."},
    {ROUTE_OPTION(retry_on), .key = "retry-on", OTHER("off | lost | late | 500 ... 599 ...", conf_set_retry_on), .example = "lost 502 503",
        .preset = "lost", .right = "write off, or any of lost, late and 500 to 599",
        .sentence = "After what a request is sent again, to another server, though the first one may have processed it: only with an "
        "idempotent method (not POST or PATCH), and while nothing of its body has left. What no server has processed is always sent again. "
        "Calls of gRPC, tunnels and subscriptions are not sent again otherwise.\n"
        "lost: the connection was lost, or the stream reset, before the response.\n"
        "late: response-timeout.\n"
        "500 ... 599: the response has this status; if no other server may be asked, the client gets it."},
    {ROUTE_OPTION(retries), .key = "retries", .example = "1", NUMBER(0, 7), .preset = "2",
        .sentence = "How often one request may be sent again by retry-on. 0: never."},
    {ROUTE_OPTION(connect_timeout), .key = "connect-timeout", .example = "2s", TIME(USEC_PER_MSEC),
        .sentence = "How long a request may wait until it is sent to a server: for a connection to open, or for room on one; then it gets "
        "504. Each retry has as long. Not given: queue-timeout of the origin."},
    {ROUTE_OPTION(response_timeout), .key = "response-timeout", .example = "5s", TIME(USEC_PER_MSEC),
        .sentence = "How long the final response may take to begin after the request, in place of response-timeout of the origin. Not "
        "given: as that says."},
    {ROUTE_OPTION(request_timeout), .key = "request-timeout", .example = "30s", TIME(0), .preset = "0",
        .sentence = "How long a request may take in all, from its arrival to the end of the response, retries included. Then the client "
        "gets 504, or a reset if the response has begun. Does not count for tunnels and subscriptions. 0: no limit."},
    {ROUTE_OPTION(stream_idle_timeout), .key = "stream-idle-timeout", TIME(0), .preset = "10m",
        .sentence = "How long nothing may move, in either direction, while a response without content-length (events, messages) or a "
        "streaming upload is open, or a call of gRPC is not answered. body-timeout does not count for these. 0: no limit."},
    {ROUTE_OPTION(streaming), .key = "streaming", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: uploads without content-length are streams of messages: the client may be silent before the end. "
        "response-timeout counts from the end of the upload. Calls of gRPC always stream."},
    {ROUTE_OPTION(request_buffer), .key = "request-buffer", READ("off | SIZE", conf_read_request_buffer, "write off, or a size of at most 1G"), .example = "128k",
        .sentence = "A request to a server in HTTP/1.1 is sent when its body has wholly come, if that has at most this size; a larger one "
        "as it comes. So a slow upload takes no connection. At most stream-window of the listener counts. Not given: 64k, and only with "
        "content-length and without Expect: 100-continue, which the origin answers; with this option pushgate does. Calls of gRPC, uploads "
        "that stream (streaming) and tunnels are always sent as they come. off: all are."},
    {ROUTE_OPTION(max_request_body), .key = "max-request-body", READ("off | SIZE", conf_read_body_limit, "write off, or a size of at most 1024G"), .example = "10M",
        .sentence = "Largest size of a request's body here, in place of max-request-body of the listener. Larger ones get 413. off: no "
        "limit."},
    {ROUTE(upgrades, upgrade_count), .key = "upgrade", .example = "websocket", .type = CONF_TYPE_LIST,
        .check = conf_check_upgrade, .suggest = suggest_upgrade, .form = "PROTOCOL ...",
        .sentence = "Protocols of the tunnels that clients may open here: by Upgrade in HTTP/1.1, by an extended CONNECT (RFC 8441) in "
        "HTTP/2, whichever version the origin speaks. Not given: none; an Upgrade is not passed on."},
    {ROUTE_OPTION(tunnel_idle_timeout), .key = "tunnel-idle-timeout", TIME(0), .preset = "1h",
        .sentence = "How long nothing may move in a tunnel, in either direction. 0: no limit."},
    {ROUTE_OPTION(tunnel_half_closed_timeout), .key = "tunnel-half-closed-timeout", TIME(0), .preset = "1m",
        .sentence = "The same for a tunnel of which one direction has ended. 0: as tunnel-idle-timeout."},
    {ROUTE_OPTION(tunnel_age), .key = "tunnel-age", TIME(0), .preset = "0", .sentence = "How long a tunnel may be open. 0: no limit."},
    {ROUTE_OPTION(tunnel_bytes), .key = "tunnel-bytes", SIZE(0, 1ll << 50), .preset = "0",
        .sentence = "How many bytes a tunnel may carry, both directions together. 0: no limit."},
    {ROUTE_OPTION(matches_sni), .key = "tunnel-sni", SWITCH("any match"), .preset = "any",
        .sentence = "For forward mode. match: a tunnel of CONNECT goes on only if it begins with a ClientHello of TLS that names the host of "
        "the CONNECT (of one to an address: no host), within 16 KiB and 10 seconds. Else it is ended, as is one without TLS. So no client "
        "asks for one host and speaks to another behind the same addresses (domain fronting). Encrypted Client Hello, which hides the name "
        "behind another one, is ended too. any: whatever the client sends."},
    {ROUTE_OPTION(max_tunnels_per_client), .key = "max-tunnels-per-client", .example = "100", NUMBER(0, 1000000), .preset = "0",
        .sentence = "How many tunnels each client may have here at a time, those among them that are only asked for; more are answered 429 "
        "with Retry-After. A client is an IPv4 address, or an IPv6 /64. Each worker counts on its own. 0: no limit; the [route forward] "
        "that pushgate makes itself has 1000."},
    {ROUTE_OPTION(max_tunnels_per_user), .key = "max-tunnels-per-user", .example = "100", NUMBER(0, 1000000), .preset = "0",
        .sentence = "The same for each user whose password was right (access of the listener), from whichever addresses. 0: no limit."},
    {ROUTE_OPTION(tunnel_rate), .key = "tunnel-rate", .example = "1M", SIZE(0, 1ll << 40), .preset = "0",
        .sentence = "How many bytes a second all tunnels of one user carry here together, or of one client if there is no user; both "
        "directions count. Whoever sends more is read from later: nothing is lost. Each worker counts on its own. 0: as many as come."},
    {.section = CONF_SECTION_ROUTE, .key = "limit-requests",
        OTHER("[NUMBER/s | NUMBER/m | NUMBER/h [burst NUMBER]] [concurrent=NUMBER] [by=client | by=field:NAME | by=all] [shadow]", conf_set_limit_requests), .suggest = suggest_rate,
        .example = "100/s burst 200 by=client", .min = 1, .max = LIMIT_REQUEST_RATE, .repeats = true,
        .sentence = "How many requests in a second, a minute or an hour, and how many open at a time (tunnels included), each client may "
        "have here; more are answered 429 with Retry-After. Each worker counts on its own, so all together allow at most as many times the "
        "number as there are workers. Several lines, at most 16, count all. Not counted: requests that pushgate refuses for another "
        "reason, and pushes.\n"
        "burst: so many at once; not given: as many as the rate's number.\n"
        "by=client: each IPv4 address, or IPv6 /64, of a client (client-address of the listener). A client on a unix socket is not "
        "limited.\n"
        "by=field:NAME: each value of a field of the request; a request without the field counts by client.\n"
        "by=all: all requests of the route together.\n"
        "shadow: nothing is refused; what would be is counted and logged."},
    {ROUTE_OPTION(subscription), .key = "subscription", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: a GET here waits for pushes (RFC 8030, event feeds). It may be answered late or never while its pushes come, it "
        "may have any number of them, and it gets an origin connection of its own, which is not read from while the client is slow, so "
        "that no push is lost."},
    {ROUTE_OPTION(server_timing), .key = "server-timing", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: responses of the origin, and held ones, tell the client in a Server-Timing field what pushgate did for them, and "
        "how long they waited for a connection and for the origin. Scripts of the page and its monitoring can read it, and so can everybody "
        "who asks (docs/TIMING.md)."},
    {ROUTE_OPTION(speculation.kind), .key = "speculation", CHOICE("off prefetch prerender"), .example = "prefetch", .preset = "off",
        .sentence = "Whether browsers load pages of this route before their links are followed: speculation rules name the pages that most "
        "clients have opened next (docs/SPECULATION.md). Loads of this kind get 503 when the origin has no room for them.\n"
        "prefetch: browsers fetch the page.\n"
        "prerender: they fetch what the page needs too, and run its scripts."},
    {ROUTE_OPTION(speculation.eagerness), .key = "speculation-eagerness", CHOICE("conservative moderate eager immediate"),
        .example = "moderate", .preset = "conservative",
        .sentence = "When browsers do that. conservative: when a link is pressed, so that hardly any page is loaded in vain. moderate: when the "
        "pointer rests on a link. eager: sooner, as the browser likes. immediate: as soon as the page with the link is there."},
    {ROUTE_OPTION(speculation.deny), .key = "speculation-deny", .example = "/shop/offers/* *.php", PATTERNS, .check = conf_check_path_glob,
        .suggest = suggest_path, .form = "PATTERN ...",
        .sentence = "Paths that rules never name, beside those that look as if they did something, such as /logout, /cart and /admin."},
    {ROUTE_OPTION(forwarded), .key = "forwarded", CHOICE("auto keep remove append replace"), .example = "remove", .preset = "auto",
        .sentence = "What the origin is told of the client, in Forwarded, X-Real-IP and all fields that begin with X-Forwarded-.\n"
        "auto: as append; on listeners with mode = forward as remove.\n"
        "keep: the fields go on as they came.\n"
        "remove: the origin gets none of them.\n"
        "replace: what the client sends of them is removed. The origin gets the client's address in Forwarded, X-Forwarded-For and "
        "X-Real-IP, and what it asked for in X-Forwarded-Proto, X-Forwarded-Host and X-Forwarded-Port.\n"
        "append: as replace, but if trusted of [listen] names the client, its fields stay: its address is added to its lists, and the "
        "scheme and the host where they are missing."},
    {ROUTE_OPTION(client_cert), .key = "client-cert", CHOICE("yes chain no"), .example = "chain", .preset = "yes",
        .sentence = "What the origin gets of the certificate that the client has shown (RFC 9440). yes: it, in Client-Cert; chain: the "
        "certificates that it came with too, in Client-Cert-Chain; no: neither. These fields of clients' requests never go on."},
    {ROUTE_OPTION(underscores), .key = "underscores", CHOICE("auto pass drop"), .example = "drop", .preset = "auto",
        .sentence = "What becomes of a request's fields whose names have an underscore, or any other mark than '-': CGI, WSGI, PHP and the "
        "like read X_Auth as X-Auth. Other spellings of what the route sets or removes, and of Forwarded and the like, never go on; this "
        "is for all others.\n"
        "auto: as drop if the route has request-set or request-remove, or sets forwarded to remove, append or replace; else as pass.\n"
        "pass: they go on.\n"
        "drop: the origin gets none of them."},
    {FIELDS(request_fields, CONF_FIELD_SET), .key = "request-set", .example = "X-Gate: pushgate", .form = "NAME: VALUE",
        .sentence = "Sets a field of the requests to the origin; replaces all fields of this name. All changes are made in the order of "
        "the file. In the value, as in the values of request-add, response-set and response-add, {client}, {host}, {port}, {scheme}, "
        "{path}, {query}, {protocol}, {tls}, {user} and {request-id} stand for what is known of the request (docs/ROUTES.md), and {{ for "
        "a brace before a letter."},
    {FIELDS(request_fields, CONF_FIELD_ADD), .key = "request-add", .example = "X-Environment: staging", .form = "NAME: VALUE",
        .sentence = "Adds a field to the requests to the origin; fields of this name stay."},
    {FIELDS(request_fields, CONF_FIELD_REMOVE), .key = "request-remove", .example = "X-Debug", .form = "NAME",
        .sentence = "Removes all fields of this name from the requests to the origin."},
    {FIELDS(response_fields, CONF_FIELD_SET), .key = "response-set", .example = "Referrer-Policy: same-origin", .form = "NAME: VALUE",
        .sentence = "Sets a field of the responses to the client; replaces all fields of this name."},
    {FIELDS(response_fields, CONF_FIELD_ADD), .key = "response-add", .example = "X-Served-For: example.com", .form = "NAME: VALUE",
        .sentence = "Adds a field to the responses to the client; fields of this name stay."},
    {FIELDS(response_fields, CONF_FIELD_REMOVE), .key = "response-remove", .example = "X-Powered-By", .form = "NAME",
        .sentence = "Removes all fields of this name from the responses to the client."},

    /* ---- [push NAME] ---- */
    {PUSH(sources), .key = "source", .example = "relayed", BITS("relayed link config manifest remembered", POLICY_RELAYED),
        .sentence = "The source of the push.\n"
        "relayed: a promise of the origin.\n"
        "link: a Link field of the response.\n"
        "config: add of [preload].\n"
        "manifest: manifest of [preload].\n"
        "remembered: what the page needed before, for earlier clients."},
    {ITEMS(PUSH, policy_rule, clients, client_count), .key = "client", .example = "192.0.2.0/24 2001:db8::/32", CLIENTS,
        .sentence = "The client's address, such as 192.0.2.0/24 or 2001:db8::/32."},
    {ITEMS(PUSH, policy_rule, users, user_count), .key = "user", .example = "alice bob", USERS,
        .sentence = "The user of the client's request, whose password was right ([access NAME]). *: any user that is known."},
    {ITEMS(PUSH, policy_rule, certs, cert_count), .key = "cert", .example = "dns:*.example.com", CERTS,
        .sentence = "A name of the certificate that the client has shown (client-ca); *: any certificate."},
    {ITEMS(PUSH, policy_rule, destinations, destination_count), .key = "destination", .example = "*.example.com example.net:8443", DESTINATIONS,
        .sentence = "Where the client's request goes, as its URI says: the host, in which * and ? are as in host, and the port if one is "
        "given. Mostly for mode = forward, where each request names its destination itself."},
    {PUSH(hosts), .key = "host", .example = "example.com *.example.com", PATTERNS_NOCASE, .check = conf_check_host_glob, .suggest = suggest_host,
        .form = "PATTERN ...",
        .sentence = "The host of the client's request, without port. In patterns * matches any characters and ? any one. A pattern that "
        "begins with ~ is a regular expression (PCRE2); write it in double quotes if it has commas or spaces."},
    {PUSH(paths), .key = "path", .example = "/app/* *.html", PATTERNS, .check = conf_check_path_glob, .suggest = suggest_path, .form = "PATTERN ...",
        .sentence = "The path of the client's request, without its query."},
    {PUSH(promised_paths), .key = "promised-path", .example = "*.css /img/* \"~^/fonts/[a-z]{1,20}[.]woff2$\"", PATTERNS,
        .check = conf_check_path_glob, .suggest = suggest_path, .form = "PATTERN ...", .sentence = "The path of the pushed resource, without its query."},
    {PUSH(user_agents), .key = "user-agent", .example = "curl/* \"*Example Browser 1.*\"", PATTERNS_NOCASE,
        .check = conf_check_user_agent_glob, .form = "PATTERN | \"PATTERN\" ...",
        .sentence = "The client's User-Agent, as far as its first 2,048 bytes; case does not matter. Write a pattern with spaces or commas "
        "in double quotes."},
    {PUSH(types), .key = "type", .example = "style script image",
        BITS("unknown document style script image font json media", POLICY_TYPE_UNKNOWN),
        .sentence = "The type of the pushed resource, from the extension of its path."},
    {PUSH(methods), .key = "method", .example = "GET HEAD", BITS("GET HEAD", HTTP_METHOD_GET),
        .sentence = "The method of the promised request."},
    {PUSH(versions), .key = "version", .example = "1.0 1.1", BITS("1.0 1.1 2", HTTP_VERSION_1_0),
        .sentence = "The version of HTTP of the client's request: 1.0, 1.1 or 2."},
    {PUSH(push_enabled), .key = "push-enabled", CHOICE("any no yes"), .preset = "any",
        .sentence = "Whether the client accepts pushes (its SETTINGS_ENABLE_PUSH). HTTP/1.1 has none: no."},
    {PUSH(save_data), .key = "save-data", CHOICE("any no yes"), .preset = "any", .sentence = "Whether the request has Save-Data: on."},
    {PUSH(navigation), .key = "navigation", CHOICE("any no yes"), .preset = "any",
        .sentence = "Whether the request loads a page (Sec-Fetch-Dest: document; without that field Sec-Fetch-Mode: navigate, which frames "
        "send too). A request without both fields matches neither yes nor no."},
    {PUSH(purposes), .key = "purpose", .example = "prerender", BITS("none prefetch prerender", POLICY_PURPOSE_NONE),
        .sentence = "Whether a browser loads the page before its user asks for it (Sec-Purpose; Purpose and X-Moz of older browsers). A "
        "rule without this condition pushes, holds and hints nothing for such a request (reason speculative).\n"
        "none: the user has asked for it.\n"
        "prefetch: the response alone is loaded, none of its resources.\n"
        "prerender: the page is shown out of sight, with its resources."},
    {.section = CONF_SECTION_PUSH, .key = "rtt", READ("<TIME | >TIME", conf_read_rtt, NULL), .suggest = suggest_rtt, .example = "<80ms",
        .sentence = "The round-trip time of the client's connection, such as <80ms; at most 60s."},
    {PUSH(share), .key = "share", SHARE("0.01% ... 100%", 1), .suggest = suggest_percent, .example = "10%", .preset = "100%",
        .sentence = "The share of requests that the rule applies to. It depends on client, host and path, so that a repeated request gets "
        "the same decision."},
    {PUSH(action), .key = "action", .example = "forward", CHOICE("forward drop hold hint hint+hold"), .is_required = true,
        .sentence = "forward: the push is sent to the client.\n"
        "drop: the push is refused.\n"
        "hold: the response is kept for the client's own request.\n"
        "hint: the client gets a 103 (Early Hints) with a link.\n"
        "hint+hold: both."},
    {PUSH(shadow), .key = "shadow", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: the rule has no effect, but its decisions are counted."},
    {PUSH(max_per_parent), .key = "max-per-parent", .example = "20", NUMBER(0, 100000), .preset = "0",
        .sentence = "Most pushes of one request that the rule allows, all of its pushes counted. 0: only max-pushes-per-parent and "
        "max-pushes-per-parent-life apply."},
    {PUSH(max_bytes), .key = "max-bytes", .example = "256k", SIZE(0, 1024 * GIB), .preset = "0",
        .sentence = "A push with a larger content-length is cancelled. 0: no limit."},
    {PUSH(statuses_allowed), .key = "status", .example = "2xx 3xx", BITS("2xx 3xx 4xx 5xx", 2),
        .sentence = "A push whose response has another status is cancelled. Not given: any status."},
    {PUSH(media_types), .key = "content-type", .example = "text/css image/*", PATTERNS_NOCASE, .check = conf_check_media_glob, .suggest = suggest_media_type,
        .form = "TYPE/SUBTYPE ...", .sentence = "A push whose response has another content-type, or none, is cancelled. Not given: any."},
    {PUSH(urgency), .key = "urgency", READ("auto | after | before | interleaved | 0 ... 7", conf_read_urgency, NULL), .example = "1",
        .preset = "auto",
        .sentence = "The urgency of the pushed response (RFC 9218): 0 is the most urgent, 7 the least.\n"
        "auto: after its parent.\n"
        "after: one step less urgent than its parent.\n"
        "before: one step more urgent than its parent.\n"
        "interleaved: as urgent as its parent, both at the same time."},
    {PUSH(cross_origin), .key = "cross-origin", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: pushes that pushgate offers may have another scheme or host than the request."},
    {PUSH(on_revalidation), .key = "on-revalidation", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: pushgate also offers pushes for conditional requests (a reload)."},
    {PUSH(hint_anyone), .key = "hint-clients", SWITCH("navigating all"), .preset = "navigating",
        .sentence = "Which requests get hints. navigating: only HTTP/2 requests that load a page, as browsers ignore hints for others.\n"
        "all: all requests but those in HTTP/1.0. Over HTTP/1.1 a 103 (Early Hints) of pushgate's own goes out by a rule that says all, "
        "and not otherwise: many clients mishandle it there. That of the origin is passed on; interim = no keeps it back."},
    {PUSH(min_used), .key = "min-used", SHARE("0% ... 100%", 0), .suggest = suggest_percent, .example = "20%", .preset = "0%",
        .sentence = "The rule pauses if clients use a smaller share of its pushes than this; later it tries a few pushes again. 0%: it "
        "never pauses."},
    {PUSH(min_sample), .key = "min-sample", NUMBER(1, 1000000), .preset = "100",
        .sentence = "How many pushes must have ended before min-used applies."},
    {PUSH(interim), .key = "interim", CHOICE("auto no yes"), .preset = "auto",
        .sentence = "Whether the clients that the rule matches get interim (1xx) responses but 100 (Continue), of the origin and of pushgate. "
        "A rule that says no or yes has no conditions on the pushed resource or its source.\n"
        "auto: all but a 103 (Early Hints) for a client that is known to mishandle it, by its User-Agent (docs/EARLY-HINTS.md).\n"
        "no: none.\n"
        "yes: all."},

    /* ---- [preload NAME] ---- */
    {PRELOAD(when.hosts), .key = "host", .example = "example.com *.example.com", PATTERNS_NOCASE, .check = conf_check_host_glob, .suggest = suggest_host,
        .form = "PATTERN ...", .sentence = "The host of the client's request, without port; patterns are those of [push]."},
    {PRELOAD(when.paths), .key = "path", .example = "/app/* *.html", PATTERNS, .check = conf_check_path_glob, .suggest = suggest_path, .form = "PATTERN ...",
        .sentence = "The path of the client's request, without its query."},
    {ITEMS(PRELOAD, conf_preload, when.clients, when.client_count), .key = "client", .example = "192.0.2.0/24 2001:db8::/32", CLIENTS,
        .sentence = "The client's address."},
    {ITEMS(PRELOAD, conf_preload, when.users, when.user_count), .key = "user", .example = "alice bob", USERS,
        .sentence = "The user of the client's request, as in [push]."},
    {ITEMS(PRELOAD, conf_preload, when.certs, when.cert_count), .key = "cert", .example = "dns:*.example.com", CERTS,
        .sentence = "A name of the client's certificate, as in [push]."},
    {ITEMS(PRELOAD, conf_preload, when.destinations, when.destination_count), .key = "destination", .example = "*.example.com example.net:8443", DESTINATIONS,
        .sentence = "Where the client's request goes, as in [push]."},
    {PRELOAD(when.user_agents), .key = "user-agent", .example = "curl/* \"*Example Browser 1.*\"", PATTERNS_NOCASE,
        .check = conf_check_user_agent_glob, .form = "PATTERN | \"PATTERN\" ...", .sentence = "The client's User-Agent, as in [push]."},
    {PRELOAD(when.versions), .key = "version", .example = "2", BITS("1.0 1.1 2", HTTP_VERSION_1_0),
        .sentence = "The version of HTTP of the client's request: 1.0, 1.1 or 2."},
    {PRELOAD(when.navigation), .key = "navigation", CHOICE("any no yes"), .preset = "any",
        .sentence = "Whether the request loads a page, as in [push]."},
    {PRELOAD(when.purposes), .key = "purpose", .example = "none prerender", BITS("none prefetch prerender", POLICY_PURPOSE_NONE),
        .sentence = "Whether a browser loads the page before its user asks for it, as in [push]."},
    {PRELOAD(share), .key = "share", READ("off | 0% ... 100%", conf_read_arm_share, "write off, or a share of the clients from 0% to 100%"),
        .suggest = suggest_percent, .example = "50%", .preset = "off",
        .sentence = "The share of the clients whose requests get the section's offers, and teach what it remembers; the others do neither, so "
        "that both can be compared (docs/RECIPES.md). A client's address decides, so that a client stays in its arm. Each page load gets a Server-Timing entry "
        "pushgate-arm that names the arm, and the log has it as arm. Where several such sections match, the first one decides for all. off: "
        "all clients get the offers, and no response says so."},
    {PRELOAD(link), .key = "link", SWITCH("no yes"), .preset = "no",
        .sentence = "yes: offers the Link fields of the response that have rel=preload. From a 103 (Early Hints) of the origin, the links "
        "that a [push] rule drops are removed; to refuse pushes alone, give that rule source = relayed. Where no verdict could use them, "
        "the fields of the final response are not read."},
    {PRELOAD(remembered), .key = "remembered", CHOICE("off propose apply"), .preset = "off",
        .sentence = "Remembers what a page needs: by its Link fields and those of the origin's 103 (Early Hints), by its <head>, by its style "
        "sheets, and by what several clients requested right after it.\n"
        "propose: remembers it and shows it.\n"
        "apply: also offers it when the page is requested."},
    {PRELOAD(scripts), .key = "remembered-scripts", CHOICE("blocking all"), .preset = "blocking",
        .sentence = "Which scripts of a page's <head> are remembered.\n"
        "blocking: those that the page waits for, and modules.\n"
        "all: also those with async or defer. Fetched early, they take from what the page waits for."},
    {ITEMS(PRELOAD, conf_preload, manifests, manifest_count), .key = "manifest", .example = "/etc/pushgate/manifest.json",
        .type = CONF_TYPE_FILES, .form = "FILE",
        .sentence = "A push manifest (JSON). It is reread when it changes. One that cannot be used is a warning at the start and empty "
        "until it is good; later what was read before stays."},
    {.section = CONF_SECTION_PRELOAD, .key = "add",
        OTHER("/PATH [as=WORD] [type=TYPE] [crossorigin=WORD] [fetchpriority=WORD] [\"media=QUERY\"]", conf_set_add), .has_words = true,
        .example = "/app.css as=style", .repeats = true,
        .sentence = "A resource to offer with each request, before the origin has answered."},

    /* ---- [errors] ---- */
    ERRORS("default", "Sent with each error status that has no file of its own."),
    ERRORS("400", "The request is malformed."),
    ERRORS("401", "The request needs a user's name and password."),
    ERRORS("403", "No rule of [access NAME] allows the request."),
    ERRORS("404", "No route has the path."),
    ERRORS("407", "The same as 401, from a listener with mode = forward."),
    ERRORS("408", "The request, or its body, did not come in time."),
    ERRORS("411", "The origin speaks HTTP/1.0 and takes no body of unknown length."),
    ERRORS("413", "The request's body is larger than max-request-body."),
    ERRORS("414", "The request's target is too long."),
    ERRORS("421", "No route has the host, or the scheme is not served here."),
    ERRORS("429", "The client has reached a limit of limit-requests."),
    ERRORS("431", "The request's fields are larger than max-header-list, or than its server takes (max-request-list)."),
    ERRORS("501", "A method or a transfer coding that pushgate does not serve."),
    ERRORS("502", "The origin's response was malformed or broken off."),
    ERRORS("503", "The origin cannot be reached, or pushgate is too busy."),
    ERRORS("504", "The origin did not answer in time."),
    ERRORS("505", "A version of HTTP that the listener does not speak."),
    ERRORS("508", "The request has been here before."),
};
// clang-format on
const size_t conf_option_count = sizeof conf_options / sizeof *conf_options;
