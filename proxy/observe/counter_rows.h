/* SPDX-License-Identifier: MIT */
/* The rows of the counters, from which docs/COUNTERS.md is made. Included by observe.h. */
#ifndef PUSHGATE_OBSERVE_COUNTER_ROWS_H
#define PUSHGATE_OBSERVE_COUNTER_ROWS_H

/*
 * X(name, "what it counts"): totals since the start. `pushgate status` prints a row as
 * pushgate_NAME_total. A name ends with its unit, if it has one.
 */
// clang-format off
#define OBSERVE_COUNTERS(X) \
	X(connections, "downstream connections accepted") \
	X(connections_refused, "downstream connections closed at once because of max-connections or memory") \
	X(connections_refused_client, "of these, because of max-connections-per-client") \
	X(accept_paused, "times that accepting paused because descriptors or memory ran out") \
	X(tls_failed, "downstream TLS handshakes failed") \
	X(tls_late, "downstream TLS handshakes ended by tls-timeout") \
	X(preface_late, "client connections that began no protocol within preface-timeout") \
	X(idle_closed, "client connections closed by idle-timeout") \
	X(write_late_down, "client connections ended by write-timeout: the client read too slowly") \
	X(write_late_up, "connections to origins ended by write-timeout") \
	X(ping_late_down, "client connections ended because a PING was not answered") \
	X(ping_late_up, "connections to origins ended because a PING was not answered") \
	X(connect_late, "connections to origins ended by connect-timeout or settings-timeout") \
	X(not_http2, "client connections that began no protocol spoken here, answered 505") \
	X(requests, "requests received") \
	X(responses_1xx, "interim responses sent") \
	X(responses_2xx, "responses 2xx sent") \
	X(responses_3xx, "responses 3xx sent") \
	X(responses_4xx, "responses 4xx sent") \
	X(responses_5xx, "responses 5xx sent") \
	X(responses_own, "responses made by pushgate itself") \
	X(requests_limited, "requests answered 429 because of limit-requests") \
	X(requests_limited_shadow, "requests that a line of limit-requests with shadow would have refused") \
	X(limit_table_full, "times that limit-table was too small: a client or a value was forgotten before its time, or not counted") \
	X(password_hashes, "passwords that workers asked the password process about ([access NAME] users); it hashes those that it has not just found right for another worker") \
	X(passwords_wrong, "of these, wrong: the user is not known, or has another password") \
	X(requests_retried, "requests tried more than once: the next counters say why") \
	X(retries_unprocessed, "times that a request was tried again because no server had processed it: it could not be connected to, or refused the request") \
	X(retries_lost, "times that a request was sent again because the connection was lost (retry-on = lost)") \
	X(retries_late, "times that a request was sent again because the response came too late (retry-on = late)") \
	X(retries_status, "times that a request was sent again because of the status of the response (retry-on)") \
	X(retries_over_budget, "times that a request was not sent again because retry-budget was used up") \
	X(requests_aborted, "exchanges that ended by a reset") \
	X(down_in_bytes, "request body bytes from clients") \
	X(down_out_bytes, "response body bytes to clients, forwarded pushes included") \
	X(up_in_bytes, "response body bytes from origins") \
	X(up_out_bytes, "request body bytes to origins") \
	X(upstream_connections, "connections to origins opened") \
	X(subscriptions, "of these, for one subscription each") \
	X(subscriptions_held_back, "times that an origin was held back because a subscriber was slow") \
	X(tunnels, "tunnels opened") \
	X(destinations_made, "hosts with their ports that requests in forward mode have named for the first time") \
	X(destinations_evicted, "of these, forgotten because max-destinations was reached, or because half of the descriptors were connections to them") \
	X(tunnels_refused, "requests for a tunnel that opened none") \
	X(tunnels_slowed, "ended tunnels that had to wait for the tunnel-rate of their client or user") \
	X(tunnel_up_bytes, "bytes that ended tunnels have carried to origins") \
	X(tunnel_down_bytes, "bytes that ended tunnels have carried to clients") \
	X(upstream_failed, "connections to origins that failed to open or ended with an error") \
	X(server_ejections, "times that a worker ejected a server (eject-failures, eject-percent)") \
	X(health_checks, "checks of servers made (health-check)") \
	X(health_checks_failed, "of these, failed") \
	X(peer_faults_down, "protocol faults of clients") \
	X(peer_faults_up, "protocol faults of origins") \
	X(guard_down, "client connections ended with ENHANCE_YOUR_CALM") \
	X(guard_up, "origin connections ended with ENHANCE_YOUR_CALM") \
	X(pushes_offered, "pushes offered") \
	X(pushes_forwarded, "pushes promised to clients")           \
	X(pushes_hinted, "pushes turned into Early Hints") \
	X(pushes_held, "pushes held for the client's own request") \
	X(holds_claimed, "requests answered with a held response, HEAD included") \
	X(holds_joined, "of these, answered while the response was still arriving") \
	X(holds_missed, "requests whose held response could not be used for them: the sum of pushgate_hold_missed_total") \
	X(holds_expired, "held responses that answered no request in time") \
	X(holds_evicted, "held responses dropped unclaimed to make room, shed_holds included") \
	X(holds_invalidated, "held responses dropped unclaimed because their resource was changed") \
	X(holds_failed, "held responses that the origin did not complete, dropped unclaimed") \
	X(hold_wasted_bytes, "bytes of held responses that no client received") \
	X(pushes_dropped, "pushes dropped") \
	X(push_off_routes, "times that a route was moved to connections without push for a minute (reset-rate, promise-refusals)") \
	X(push_off_connections, "times that push was turned off on a connection to an origin (promise-refusals)") \
	X(pushes_completed, "pushed responses delivered completely") \
	X(pushes_reset, "pushes reset by the client") \
	X(pushes_failed, "pushes that failed for other reasons") \
	X(pushes_withdrawn, "pushes, forwarded or held, given up because of the head of their response") \
	X(push_out_bytes, "pushed body bytes to clients") \
	X(push_reset_bytes, "pushed body bytes sent on streams that the client then reset") \
	X(memory_trims, "times that a worker returned memory to the system after a peak") \
	X(memory_refused, "requests, pushes and connections that a memory budget refused") \
	X(streams_refused_memory, "requests refused (REFUSED_STREAM) because memory was short") \
	X(memory_refusals, "times that the system gave no memory below the configured limit") \
	X(shed_holds, "held responses dropped because the worker's memory was short") \
	X(shed_offers, "pushes not made, or ended before they began, because memory was short") \
	X(shed_connections, "client connections closed because memory was short: idle ones, and ones with much unread data") \
	X(shed_streams, "exchanges reset because memory was short: ones that used too much, or stalled") \
	X(learned_saves_dropped, "times that the learned table was not saved: the files process was down, or still had the table of a minute before") \
	X(manifests_taken, "manifests that workers took in from the files process after the start") \
	X(tls_renewed, "times that workers took in certificates, keys or authorities that had changed") \
	X(lists_renewed, "times that workers took in lists, pages or passwords of files that had changed") \
	X(files_unusable, "times that a manifest or the learned-file could not be read, or had mistakes; the contents before stay in use, at the start none") \
	X(files_refused, "contents and messages of the files process that workers refused as malformed; what it refuses of a worker is in the error log alone") \
	X(loop_passes_over_5ms, "loop passes of workers that took longer than 5 ms, and so delayed every connection of the worker; a busy machine causes them too") \
	X(spans_sent, "spans that the collector has taken (tracing)") \
	X(spans_dropped, "spans lost: the tracer was down or behind, memory was short, or the collector did not take them") \
	X(span_posts_failed, "requests to the collector that failed, those that were tried again included") \
	X(access_lines_dropped, "access log lines lost because the pipe to the logger was full") \
	X(access_lines_lost, "access log lines lost because the log could not be written: the disk is full, a FIFO has no reader") \
	X(error_lines_dropped, "error log lines lost because the pipe to the logger was full") \
	X(error_lines_lost, "error log lines lost because the log could not be written") \
	X(log_sampled_out, "access log lines left out because of log-sample") \
	X(log_left_out, "error log lines left out because there were too many of the same kind")

/* The same for gauges, which go up and down; printed as pushgate_NAME. */
#define OBSERVE_GAUGES(X) \
	X(connections_open, "downstream connections open now") \
	X(requests_open, "exchanges open now") \
	X(upstream_connections_open, "connections to origins open now") \
	X(subscriptions_open, "connections for one subscription each that are open now") \
	X(destinations, "hosts with their ports that requests in forward mode have named, now") \
	X(tunnels_open, "tunnels open now") \
	X(pushes_open, "pushes open now") \
	X(memory_used_bytes, "bytes charged to the memory budget now")

/*
 * Families with labels, and those that the workers do not count: X(symbol, "name", "type", "labels", "what it
 * says"). A sample is printed once it is not 0, but for those of the processes.
 */
#define OBSERVE_FAMILIES(X) \
	X(INFO, "pushgate_info", "gauge", "version", "always 1; the version is its label") \
	X(UPTIME, "pushgate_uptime_seconds", "gauge", "", "time since the start") \
	X(LAST_RELOAD, "pushgate_last_reload_timestamp_seconds", "gauge", "result, generation, cause", "when the last reload came to its result: done, same (nothing had changed) or refused; the generation that serves since then, and the first line of what was wrong") \
	X(PROCESS_UP, "pushgate_process_up", "gauge", "process", "1: this process runs") \
	X(PROCESS_PID, "pushgate_process_pid", "gauge", "process", "its process id; 0: it is down") \
	X(PROCESS_UPTIME, "pushgate_process_uptime_seconds", "gauge", "process", "time since its last start; 0: it is down") \
	X(PROCESS_STARTS, "pushgate_process_starts_total", "counter", "process", "times that it was started") \
	X(ROUTE_PUSH_OFF, "pushgate_route_push_off_seconds", "gauge", "route, origin", "time for which a route will still use connections without push (reset-rate, promise-refusals)") \
	X(ROUTE_LIMITED, "pushgate_route_limited_total", "counter", "route, verdict", "requests that limit-requests refused, or in shadow would have refused; of the first 64 routes of the file") \
	X(ORIGIN_PUSH_OFF, "pushgate_origin_push_off_connections", "gauge", "origin", "open connections to an origin on which push was turned off (promise-refusals)") \
	X(SERVER_UP, "pushgate_server_up", "gauge", "origin, server", "1: the server may get requests, unless `pushgate server` keeps them from it; 0: its checks fail, or a worker has ejected it. Of origins with several servers or health-check; at most 128, those with 0 first") \
	X(SERVER_EJECTED, "pushgate_server_ejected_workers", "gauge", "origin, server", "number of workers in which a server is ejected now") \
	X(SERVER_ORDER, "pushgate_server_order_requests", "gauge", "origin, server, order", "requests that are still open at a server that `pushgate server` has taken out of use; order: drain, down; server: as the configuration has it; at most 128") \
	X(SERVER_WEIGHT, "pushgate_server_order_weight", "gauge", "origin, server", "the weight that `pushgate server` has given a server in place of the configured one") \
	X(PUSH, "pushgate_push_total", "counter", "source, verdict, reason", "offers of pushes. Links that no verdict could use are not read and not counted") \
	X(RULE, "pushgate_rule_total", "counter", "rule, event", "outcomes of each rule's pushes; (other): the rules behind the 64th together") \
	X(RULE_BYTES, "pushgate_rule_bytes_total", "counter", "rule, outcome", "body bytes of these pushes, used or wasted") \
	X(RULE_RESET, "pushgate_rule_reset_seconds_total", "counter", "rule", "sum of the times from a promise to the client's reset") \
	X(RULE_USED, "pushgate_rule_used_ratio", "gauge", "rule", "share of these pushes that clients used, 0 to 1") \
	X(FAULT, "pushgate_fault_total", "counter", "side, fault", "protocol faults of peers") \
	X(DENIED, "pushgate_access_denied_total", "counter", "reason", "requests answered 403 because of an [access NAME]; the reasons are below") \
	X(END, "pushgate_end_total", "counter", "cause", "exchanges that did not end with the origin's response") \
	X(HOLD_MISSED, "pushgate_hold_missed_total", "counter", "cause", "requests that found a held response which could not answer them")

// clang-format on

#endif
