/* SPDX-License-Identifier: MIT */
/* Which samples of `pushgate status` top shows, and where: the only place that names any. A figure without a sample is left out. */
#include "proxy/top/top_private.h"

const struct slice top_version = SLICE_INIT("pushgate_build_info");
const struct slice top_version_label = SLICE_INIT("version");
const struct slice top_start = SLICE_INIT("pushgate_start_time_seconds");

#define FIGURES(...)                                                                               \
	(const struct top_figure[])                                                                \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			0                                                                          \
		}                                                                                  \
	}

const struct top_line top_lines[] = {
    {"requests", FIGURES({"/s", "pushgate_requests_total", TOP_RATE},
		     {"open", "pushgate_requests_open", TOP_NUMBER},
		     {"retried/s", "pushgate_requests_retried_total", TOP_RATE},
		     {"aborted/s", "pushgate_requests_aborted_total", TOP_RATE},
		     {"tunnels", "pushgate_tunnels_open", TOP_NUMBER})},
    {"responses/s", FIGURES({"1xx", "pushgate_responses_total{code=\"1xx\"}", TOP_RATE},
			{"2xx", "pushgate_responses_total{code=\"2xx\"}", TOP_RATE},
			{"3xx", "pushgate_responses_total{code=\"3xx\"}", TOP_RATE},
			{"4xx", "pushgate_responses_total{code=\"4xx\"}", TOP_RATE},
			{"5xx", "pushgate_responses_total{code=\"5xx\"}", TOP_RATE},
			{"own", "pushgate_responses_own_total", TOP_RATE})},
    {"latency", FIGURES({"p50", "pushgate_request_duration_seconds", TOP_P50},
		    {"p90", "pushgate_request_duration_seconds", TOP_P90},
		    {"p99", "pushgate_request_duration_seconds", TOP_P99},
		    {"origin p50", "pushgate_origin_first_byte_seconds", TOP_P50},
		    {"p99", "pushgate_origin_first_byte_seconds", TOP_P99})},
    {"bytes/s",
	FIGURES({"client in", "pushgate_body_received_bytes_total{side=\"client\"}", TOP_BYTE_RATE},
	    {"client out", "pushgate_body_sent_bytes_total{side=\"client\"}", TOP_BYTE_RATE},
	    {"origin in", "pushgate_body_received_bytes_total{side=\"origin\"}", TOP_BYTE_RATE},
	    {"origin out", "pushgate_body_sent_bytes_total{side=\"origin\"}", TOP_BYTE_RATE})},
    {"connections", FIGURES({"clients", "pushgate_connections_open{side=\"client\"}", TOP_NUMBER},
			{"new/s", "pushgate_connections_total{side=\"client\"}", TOP_RATE},
			{"refused/s", "pushgate_connections_refused_total", TOP_RATE},
			{"origins", "pushgate_connections_open{side=\"origin\"}", TOP_NUMBER},
			{"new/s", "pushgate_connections_total{side=\"origin\"}", TOP_RATE},
			{"failed/s", "pushgate_origin_connections_failed_total", TOP_RATE})},
    {"pushes/s", FIGURES({"offered", "pushgate_pushes_offered_total", TOP_RATE},
		     {"forwarded", "pushgate_pushes_forwarded_total", TOP_RATE},
		     {"held", "pushgate_pushes_held_total", TOP_RATE},
		     {"hinted", "pushgate_pushes_hinted_total", TOP_RATE},
		     {"dropped", "pushgate_pushes_dropped_total", TOP_RATE},
		     {"reset", "pushgate_pushes_reset_total", TOP_RATE},
		     {"open", "pushgate_pushes_open", TOP_NUMBER})},
    {"holds/s", FIGURES({"claimed", "pushgate_holds_claimed_total", TOP_RATE},
		    {"joined", "pushgate_holds_joined_total", TOP_RATE},
		    {"missed", "pushgate_holds_missed_total", TOP_RATE},
		    {"expired", "pushgate_holds_expired_total", TOP_RATE},
		    {"evicted", "pushgate_holds_evicted_total", TOP_RATE},
		    {"wasted bytes", "pushgate_hold_wasted_bytes_total", TOP_BYTE_RATE})},
    {"memory", FIGURES({"budget used", "pushgate_memory_used_bytes", TOP_BYTES},
		   {"long passes/s", "pushgate_loop_passes_over_5ms_total", TOP_RATE})},
    {0},
};

const struct top_table top_tables[] = {
    {"rule", "rule", "pushgate_rule_used_ratio", NULL,
	FIGURES({"events/s", "pushgate_rule_total", TOP_RATE},
	    {"bytes/s", "pushgate_rule_bytes_total", TOP_BYTE_RATE},
	    {"used ratio", "pushgate_rule_used_ratio", TOP_NUMBER})},
    {"server", "server", "pushgate_server_up", "origin",
	FIGURES({"up", "pushgate_server_up", TOP_NUMBER},
	    {"ejected in", "pushgate_server_ejected_workers", TOP_NUMBER})},
    {"process", "process", "pushgate_process_up", NULL,
	FIGURES({"pid", "pushgate_process_pid", TOP_NUMBER},
	    {"up", "process_start_time_seconds", TOP_AGE},
	    {"starts", "pushgate_process_starts_total", TOP_NUMBER},
	    {"cpu %", "process_cpu_seconds_total", TOP_PERCENT_RATE},
	    {"memory", "process_resident_memory_bytes", TOP_BYTES})},
    {0},
};
