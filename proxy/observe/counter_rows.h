/* SPDX-License-Identifier: MIT */
/* The rows of the counters, from which docs/COUNTERS.md is made. Included by observe.h. */
#ifndef PUSHGATE_OBSERVE_COUNTER_ROWS_H
#define PUSHGATE_OBSERVE_COUNTER_ROWS_H

/*
 * X(member, "name", "what it counts"): totals since the start. `pushgate status` prints a row as pushgate_NAME_total. A
 * name ends with its unit, if it has one. "name{label=value,label=value}": a sample of a family. The rows of a family
 * follow each other; the text of the first is the family's HELP, those of the others are about their labels alone.
 */
// clang-format off
#define OBSERVE_COUNTERS(X) \
	X(connections, "connections{side=client}", "connections: accepted from clients, and opened to origins") \
	X(upstream_connections, "connections{side=origin}", "those to origins") \
	X(connections_refused, "connections_refused{cause=max-connections}", "client connections closed at once, by the limit that they met") \
	X(connections_refused_client, "connections_refused{cause=max-connections-per-client}", "that of their client") \
	X(connections_refused_memory, "connections_refused{cause=memory}", "that of the memory") \
	X(connections_refused_untrusted, "connections_refused{cause=proxy-protocol}", "of peers that `trusted` does not name, on a listener with proxy-protocol") \
	X(accept_paused, "accept_pauses", "times that accepting paused because descriptors or memory ran out") \
	X(upstream_failed, "origin_connections_failed", "connections to origins that failed to open or ended with an error") \
	X(tls_failed, "tls_failures", "client connections whose TLS failed, in the handshake or after it") \
	X(proxy_headers_bad, "proxy_headers_refused", "client connections ended because their PROXY header was wrong or missing") \
	X(preface_late, "connection_timeouts{side=client,timeout=preface-timeout}", "connections that a time limit ended; preface-timeout: the client began no protocol") \
	X(tls_late, "connection_timeouts{side=client,timeout=tls-timeout}", "the TLS handshake took too long") \
	X(proxy_headers_late, "connection_timeouts{side=client,timeout=proxy-protocol-timeout}", "the PROXY header took too long") \
	X(idle_closed, "connection_timeouts{side=client,timeout=idle-timeout}", "no request came") \
	X(write_late_down, "connection_timeouts{side=client,timeout=write-timeout}", "the client read too slowly") \
	X(ping_late_down, "connection_timeouts{side=client,timeout=ping-timeout}", "the client did not answer a PING") \
	X(connect_late, "connection_timeouts{side=origin,timeout=connect-timeout}", "the origin could not be connected to in time") \
	X(settings_late, "connection_timeouts{side=origin,timeout=settings-timeout}", "the origin sent no SETTINGS") \
	X(write_late_up, "connection_timeouts{side=origin,timeout=write-timeout}", "the origin read too slowly") \
	X(ping_late_up, "connection_timeouts{side=origin,timeout=ping-timeout}", "the origin did not answer a PING") \
	X(not_http2, "protocols_unknown", "client connections that began no protocol spoken here, answered 505") \
	X(requests, "requests", "requests received") \
	X(responses_1xx, "responses{code=1xx}", "responses sent, by class of status; 1xx: interim ones") \
	X(responses_2xx, "responses{code=2xx}", "final ones, as the next") \
	X(responses_3xx, "responses{code=3xx}", "") \
	X(responses_4xx, "responses{code=4xx}", "") \
	X(responses_5xx, "responses{code=5xx}", "") \
	X(responses_own, "responses_own", "responses made by pushgate itself") \
	X(requests_limited, "requests_limited{verdict=refused}", "requests above a limit of limit-requests; refused: answered 429") \
	X(requests_limited_shadow, "requests_limited{verdict=shadow}", "those that a line with shadow would have refused") \
	X(requests_speculative, "requests_speculative", "requests by which browsers load pages ahead of a navigation, in routes with speculation; those that get 503 end with speculation-no-room") \
	X(limit_table_full, "limit_table_full", "times that limit-table was too small: a client or a value was forgotten before its time, or not counted") \
	X(password_hashes, "password_hashes", "passwords that workers asked the password process about ([access NAME] users); it hashes those that it has not just found right for another worker") \
	X(passwords_wrong, "passwords_wrong", "of these, wrong: the user is not known, or has another password") \
	X(requests_retried, "requests_retried", "requests tried more than once") \
	X(retries_unprocessed, "retries{cause=unprocessed}", "times that a request was tried again; unprocessed: no server had processed it, since it could not be connected to, or refused the request") \
	X(retries_lost, "retries{cause=lost}", "the connection was lost (retry-on = lost)") \
	X(retries_late, "retries{cause=late}", "the response came too late (retry-on = late)") \
	X(retries_status, "retries{cause=status}", "the status of the response (retry-on)") \
	X(retries_over_budget, "retries_over_budget", "times that a request was not sent again because retry-budget was used up") \
	X(requests_aborted, "requests_aborted", "exchanges that ended by a reset") \
	X(down_in_bytes, "body_received_bytes{side=client}", "bytes of bodies received: of requests from clients") \
	X(up_in_bytes, "body_received_bytes{side=origin}", "of responses from origins") \
	X(down_out_bytes, "body_sent_bytes{side=client}", "bytes of bodies sent: of responses to clients, forwarded pushes included") \
	X(up_out_bytes, "body_sent_bytes{side=origin}", "of requests to origins") \
	X(subscriptions, "subscriptions", "connections to origins opened for one subscription each") \
	X(subscriptions_held_back, "subscriptions_held_back", "times that an origin was held back because a subscriber was slow") \
	X(tunnels, "tunnels", "tunnels opened") \
	X(destinations_made, "destinations_made", "hosts with their ports that requests in forward mode have named for the first time") \
	X(destinations_evicted, "destinations_evicted", "of these, forgotten because max-destinations was reached, or because half of the descriptors were connections to them") \
	X(tunnels_refused, "tunnels_refused", "requests for a tunnel that opened none") \
	X(tunnels_slowed, "tunnels_slowed", "ended tunnels that had to wait for the tunnel-rate of their client or user") \
	X(tunnel_up_bytes, "tunnel_sent_bytes{side=origin}", "bytes that ended tunnels have carried: to origins") \
	X(tunnel_down_bytes, "tunnel_sent_bytes{side=client}", "to clients") \
	X(server_ejections, "server_ejections", "times that a worker ejected a server (eject-failures, eject-percent)") \
	X(health_checks, "health_checks", "checks of servers made (health-check)") \
	X(health_checks_failed, "health_checks_failed", "of these, failed") \
	X(peer_faults_down, "peer_faults{side=client}", "protocol faults of peers") \
	X(peer_faults_up, "peer_faults{side=origin}", "of origins") \
	X(guard_down, "guard_closes{side=client}", "connections ended with ENHANCE_YOUR_CALM because of a flood") \
	X(guard_up, "guard_closes{side=origin}", "those to origins") \
	X(pushes_offered, "pushes_offered", "pushes offered") \
	X(pushes_forwarded, "pushes_forwarded", "pushes promised to clients") \
	X(pushes_hinted, "pushes_hinted", "pushes turned into Early Hints") \
	X(pushes_held, "pushes_held", "pushes held for the client's own request") \
	X(holds_claimed, "holds_claimed", "requests answered with a held response, HEAD included") \
	X(holds_joined, "holds_joined", "of these, answered while the response was still arriving") \
	X(holds_missed, "holds_missed", "requests whose held response could not be used for them: the sum of pushgate_holds_missed_by_cause_total") \
	X(holds_expired, "holds_expired", "held responses that answered no request in time") \
	X(holds_evicted, "holds_evicted", "held responses dropped unclaimed to make room, or because memory was short") \
	X(holds_invalidated, "holds_invalidated", "held responses dropped unclaimed because their resource was changed") \
	X(holds_failed, "holds_failed", "held responses that the origin did not complete, dropped unclaimed") \
	X(fetches, "fetches", "responses that pushgate has asked origins for by itself, to hold them") \
	X(fetches_refused_share, "fetches_refused{cause=share}", "offers whose response was not fetched; share: clients had the room of the origin, or fetches their share of it (fetch-share)") \
	X(fetches_refused_budget, "fetches_refused{cause=budget}", "too many bytes were fetched that no client asked for (fetch-budget)") \
	X(fetches_left, "fetches_left", "fetches given up because the client left their page") \
	X(hold_wasted_bytes, "hold_wasted_bytes", "bytes of held responses that no client received") \
	X(pushes_dropped, "pushes_dropped", "pushes dropped") \
	X(push_off_routes, "push_off_routes", "times that a route was moved to connections without push for a minute (reset-rate, promise-refusals)") \
	X(push_off_connections, "push_off_connections", "times that push was turned off on a connection to an origin (promise-refusals)") \
	X(pushes_completed, "pushes_completed", "pushed responses delivered completely") \
	X(pushes_reset, "pushes_reset", "pushes reset by the client") \
	X(pushes_failed, "pushes_failed", "pushes that failed for other reasons") \
	X(pushes_withdrawn, "pushes_withdrawn", "pushes, forwarded or held, given up because of the head of their response") \
	X(push_out_bytes, "push_sent_bytes", "pushed body bytes to clients") \
	X(push_reset_bytes, "push_reset_bytes", "pushed body bytes sent on streams that the client then reset") \
	X(memory_trims, "memory_trims", "times that a worker returned memory to the system after a peak") \
	X(memory_refused, "memory_refused", "requests, pushes and connections that a memory budget refused") \
	X(streams_refused_memory, "streams_refused_memory", "requests refused (REFUSED_STREAM) because memory was short") \
	X(memory_refusals, "memory_system_refusals", "times that the system gave no memory below the configured limit") \
	X(shed_holds, "shed{kind=hold}", "what was given up because the worker's memory was short; hold: held responses") \
	X(shed_offers, "shed{kind=offer}", "pushes not made, or ended before they began") \
	X(shed_connections, "shed{kind=connection}", "client connections: idle ones, and ones with much unread data") \
	X(shed_streams, "shed{kind=stream}", "exchanges: ones that used too much, or stalled") \
	X(lessons_taken, "lessons{result=taken}", "what pages and requests taught the memory of pages (remembered), in messages; taken: by the process that owns it") \
	X(lessons_lost, "lessons{result=lost}", "not taken: that process was down or behind, or the message malformed") \
	X(page_readings, "page_readings{result=read}", "pages and style sheets read while they passed, for the memory of pages; read: as far as is of use") \
	X(page_readings_given_up, "page_readings{result=given-up}", "the body broke off, could not be decoded or named too much, or memory was short") \
	X(manifests_taken, "manifests_taken", "manifests that workers took in from the files process after the start") \
	X(tls_renewed, "tls_renewed", "times that workers took in certificates, keys or authorities that had changed") \
	X(lists_renewed, "lists_renewed", "times that workers took in lists, pages or passwords of files that had changed") \
	X(files_unusable, "files_unusable", "times that a manifest or the remembered-file could not be read, or had mistakes; the contents before stay in use, at the start none") \
	X(files_refused, "files_refused", "contents and messages of the files process that workers refused as malformed; what it refuses of a worker is in the error log alone") \
	X(loop_passes_over_5ms, "loop_passes_over_5ms", "loop passes of workers that took longer than 5 ms, and so delayed every connection of the worker; a busy machine causes them too") \
	X(scrapes, "scrapes", "answers to /metrics that workers have begun") \
	X(spans_sent, "spans{result=sent}", "spans of traces (tracing); sent: the collector has taken them") \
	X(spans_dropped, "spans{result=dropped}", "lost: the tracer was down or behind, memory was short, or the collector did not take them") \
	X(acme_certificates, "acme_certificates", "certificates that the authority of acme has made") \
	X(acme_orders_failed, "acme_orders_failed", "orders that brought no certificate; the error log says why") \
	X(span_posts_failed, "span_posts_failed", "requests to the collector that failed, those that were tried again included") \
	X(access_lines_dropped, "log_lines_lost{log=access,cause=pipe}", "log lines lost; pipe: the pipe to the logger was full") \
	X(access_lines_lost, "log_lines_lost{log=access,cause=file}", "file: the log could not be written: the disk is full, a FIFO has no reader") \
	X(error_lines_dropped, "log_lines_lost{log=error,cause=pipe}", "") \
	X(error_lines_lost, "log_lines_lost{log=error,cause=file}", "") \
	X(key_lines_dropped, "log_lines_lost{log=keys,cause=pipe}", "") \
	X(key_lines_lost, "log_lines_lost{log=keys,cause=file}", "") \
	X(log_sampled_out, "log_lines_left_out{log=access}", "log lines left out; access: because of log-sample") \
	X(log_left_out, "log_lines_left_out{log=error}", "there were too many of the same kind") \
	X(reloads_done, "reloads{result=done}", "reloads: another generation has taken over, or the workers have the changed files") \
	X(reloads_same, "reloads{result=same}", "nothing had changed") \
	X(reloads_refused, "reloads{result=refused}", "what serves has stayed as it was")

/* The same for gauges, which go up and down; printed as pushgate_NAME. */
#define OBSERVE_GAUGES(X) \
	X(connections_open, "connections_open{side=client}", "connections open now") \
	X(upstream_connections_open, "connections_open{side=origin}", "those to origins") \
	X(sessions_client_h2, "sessions_open{side=client,protocol=h2}", "open connections whose protocol is known, by its name in ALPN") \
	X(sessions_client_http1, "sessions_open{side=client,protocol=http/1.1}", "") \
	X(sessions_origin_h2, "sessions_open{side=origin,protocol=h2}", "") \
	X(sessions_origin_http1, "sessions_open{side=origin,protocol=http/1.1}", "") \
	X(sessions_origin_tcp, "sessions_open{side=origin,protocol=tcp}", "each is one tunnel") \
	X(requests_open, "requests_open", "exchanges open now") \
	X(subscriptions_open, "subscriptions_open", "connections for one subscription each that are open now") \
	X(destinations, "destinations", "hosts with their ports that requests in forward mode have named, now") \
	X(tunnels_open, "tunnels_open", "tunnels open now") \
	X(pushes_open, "pushes_open", "pushes open now") \
	X(memory_used_bytes, "memory_used_bytes", "bytes charged to the memory budget now")

/*
 * Families with labels whose values are known at run time, and those that the workers do not count: X(symbol, "name",
 * "type", "labels", "what it says"). A sample is printed once it is not 0, but for those of the processes.
 */
#define OBSERVE_FAMILIES(X) \
	X(BUILD, "pushgate_build_info", "gauge", "version, tls_library", "always 1; its labels say what this program is") \
	X(START_TIME, "pushgate_start_time_seconds", "gauge", "", "when this pushgate was started, in seconds since 1970; reloads do not change it, an upgrade does") \
	X(LAST_RELOAD, "pushgate_last_reload_timestamp_seconds", "gauge", "", "when the last reload came to its result, in seconds since 1970") \
	X(LAST_RELOAD_SUCCESSFUL, "pushgate_last_reload_successful", "gauge", "", "1: it was done, or nothing had changed; 0: it was refused, and `pushgate status` says why") \
	X(SERIES, "pushgate_series", "gauge", "", "combinations of labels that histograms have a series for; max-series bounds them") \
	X(SERIES_LEFT_OUT, "pushgate_series_left_out", "gauge", "", "further combinations, which are counted together, with the labels (other)") \
	X(MEMORY_LIMIT, "pushgate_memory_limit_bytes", "gauge", "", "bytes that the memory budgets of the workers allow together (memory)") \
	X(DRAINING_WORKERS, "pushgate_draining_workers", "gauge", "", "workers of older generations that still end what they have; together they are the process draining below") \
	X(PROCESS_UP, "pushgate_process_up", "gauge", "process", "1: this process runs") \
	X(PROCESS_PID, "pushgate_process_pid", "gauge", "process", "its process id; 0: it is down") \
	X(PROCESS_STARTS, "pushgate_process_starts_total", "counter", "process", "times that it was started") \
	X(PROCESS_START_TIME, "process_start_time_seconds", "gauge", "process", "when it was started last, in seconds since 1970; as what follows, with several processes and while it runs") \
	X(PROCESS_CPU, "process_cpu_seconds_total", "counter", "process", "processor time that it has used, in user and system mode") \
	X(PROCESS_RESIDENT, "process_resident_memory_bytes", "gauge", "process", "its memory that is in use, shared memory included") \
	X(PROCESS_VIRTUAL, "process_virtual_memory_bytes", "gauge", "process", "its address space") \
	X(PROCESS_OPEN_FDS, "process_open_fds", "gauge", "process", "its open descriptors; a pushgate that root has not started may not see those of its workers") \
	X(PROCESS_MAX_FDS, "process_max_fds", "gauge", "process", "the most that it may have") \
	X(CERTIFICATE, "pushgate_certificate_expiry_timestamp_seconds", "gauge", "listen, file", "when a certificate of a listener expires, or one of those in its file that signed it, in seconds since 1970") \
	X(ACME_STATE, "pushgate_acme_certificate_state", "gauge", "listen, state", "always 1; what clients of a listener with acme get. good: a certificate for all hosts; lacking: one without some of them; missing: one that nobody has signed") \
	X(ACME_NEXT, "pushgate_acme_next_order_timestamp_seconds", "gauge", "listen", "when the next order of a certificate begins, in seconds since 1970: to renew it, or to try again") \
	X(ACME_FAILURES, "pushgate_acme_failures_in_a_row", "gauge", "listen", "orders since the last certificate that brought none; `pushgate status` says why") \
	X(ROUTE_PUSH_OFF, "pushgate_route_push_off_seconds", "gauge", "route, origin", "time for which a route will still use connections without push (reset-rate, promise-refusals)") \
	X(ROUTE_LIMITED, "pushgate_route_limited_total", "counter", "route, verdict", "requests that limit-requests refused, or in shadow would have refused; of the first 64 routes of the file") \
	X(ORIGIN_PUSH_OFF, "pushgate_origin_push_off_connections", "gauge", "origin", "open connections to an origin on which push was turned off (promise-refusals)") \
	X(SERVER_UP, "pushgate_server_up", "gauge", "origin, server", "1: the server may get requests, unless `pushgate server` keeps them from it; 0: its checks fail, or a worker has ejected it. Of origins with several servers or health-check; at most 128, those with 0 first") \
	X(SERVER_EJECTED, "pushgate_server_ejected_workers", "gauge", "origin, server", "number of workers in which a server is ejected now") \
	X(SERVER_ORDER, "pushgate_server_order_requests", "gauge", "origin, server, order", "requests that are still open at a server that `pushgate server` has taken out of use; order: drain, down; server: as the configuration has it; at most 128") \
	X(SERVER_WEIGHT, "pushgate_server_order_weight", "gauge", "origin, server", "the weight that `pushgate server` has given a server in place of the configured one") \
	X(PUSH, "pushgate_push_total", "counter", "source, verdict, reason", "offers of pushes. Links that no verdict could use are not read and not counted") \
	X(ARM_PAGES, "pushgate_arm_pages_total", "counter", "preload, arm", "page loads in the arms of a [preload] section with share; of the first 64 sections of the file") \
	X(RULE, "pushgate_rule_total", "counter", "rule, event", "outcomes of each rule's pushes; (other): the rules behind the 64th together") \
	X(RULE_BYTES, "pushgate_rule_bytes_total", "counter", "rule, outcome", "body bytes of these pushes, used or wasted") \
	X(RULE_RESET, "pushgate_rule_reset_seconds_total", "counter", "rule", "sum of the times from a promise to the client's reset") \
	X(RULE_USED, "pushgate_rule_used_ratio", "gauge", "rule", "share of these pushes that clients used, 0 to 1") \
	X(FAULT, "pushgate_peer_faults_by_fault_total", "counter", "side, fault", "protocol faults of peers") \
	X(DENIED, "pushgate_access_denied_total", "counter", "reason", "requests answered 403 because of an [access NAME]; the reasons are below") \
	X(END, "pushgate_end_total", "counter", "cause", "exchanges that did not end with the origin's response") \
	X(HOLD_MISSED, "pushgate_holds_missed_by_cause_total", "counter", "cause", "requests that found a held response which could not answer them")

/*
 * Histograms of spans of time, in seconds: X(symbol, "name", labels, "what it says"). labels: of enum series_labels
 * (series.h), objects of the configuration. (none): there is no such object: no route took the request; a server that a
 * request has named in forward mode. (other): what max-series has left out.
 */
#define OBSERVE_HISTOGRAMS(X) \
	X(REQUEST, "pushgate_request_duration_seconds", LISTEN_ROUTE, "from the head of a request to the end of its exchange; tunnels, pushes and requests to admin listeners are left out") \
	X(CLAIM, "pushgate_claim_wait_seconds", ROUTE, "from the head of a request that a held response answers to the head of its response") \
	X(PUSH, "pushgate_push_duration_seconds", ROUTE, "from the promise of a push to a client to its end") \
	X(QUEUE, "pushgate_queue_wait_seconds", ORIGIN, "time that a request waited for a connection to its origin, over all attempts") \
	X(FIRST_BYTE, "pushgate_origin_first_byte_seconds", ORIGIN_SERVER, "from sending a request to the head of its final response, in the last attempt") \
	X(CONNECT, "pushgate_origin_connect_seconds", ORIGIN_SERVER, "time that connecting to a server took, without TLS, when it succeeded") \
	X(ORIGIN_TLS, "pushgate_origin_tls_handshake_seconds", ORIGIN_SERVER, "time that a TLS handshake with a server took, when it succeeded") \
	X(TLS, "pushgate_tls_handshake_seconds", LISTEN, "time from accepting a client to the end of its TLS handshake, when it succeeded")

// clang-format on

#endif
