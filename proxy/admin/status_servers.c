/* SPDX-License-Identifier: MIT */
/* The part of `pushgate status` about the health of servers, from the health table that the workers write. */
#include "proxy/admin/status.h"

/* The text stays within a socket's buffer. */
#define SERVERS_MOST 128u

static bool is_up(const struct server_entry *e, usec now)
{
	return server_entry_ejected(e, now) == 0 &&
	       server_entry_check(e).state != SERVER_CHECK_FAILS;
}

/* Calls print for each server, those that are not up first. */
static void each_server(const struct status *s, void *context,
    void (*print)(void *context, const char *origin, const struct server_entry *e, usec now))
{
	usec now = clock_monotonic();
	size_t named = 0;
	for (int wants_up = 0; wants_up < 2; wants_up++)
		for (size_t i = 0; i < s->health_table->capacity && named < SERVERS_MOST; i++) {
			size_t origin;
			const struct server_entry *e =
			    health_table_entry(s->health_table, i, &origin);
			if (!e || origin >= s->conf->origin_count || is_up(e, now) != wants_up)
				continue;
			print(context, s->conf->origins[origin].name, e, now);
			named++;
		}
}

static void print_note(void *context, const char *origin, const struct server_entry *e, usec now)
{
	FILE *out = context;
	uint32_t workers = server_entry_ejected(e, now);
	struct server_check check = server_entry_check(e);
	char text[SERVER_CHECK_TEXT], address[SERVER_ENTRY_TEXT];
	server_entry_text(e, address);
	if (workers > 0) {
		usec until = atomic_load(&e->ejected_until);
		unsigned long long left = until > now ? (until - now) / USEC_PER_SEC : 0;
		fprintf(out,
		    "# origin %s: server %s is ejected for %llu s more by %u worker%s (%s)\n",
		    origin, address, left + 1, workers, workers == 1 ? "" : "s",
		    server_verdict_text((enum server_verdict)atomic_load(&e->verdict)));
	}
	if (check.state == SERVER_CHECK_FAILS)
		fprintf(out, "# origin %s: server %s has failed its checks for %llu s (%s)\n",
		    origin, address, (unsigned long long)((now - check.since) / USEC_PER_SEC),
		    server_check_text(check.result, text));
}

void status_server_notes(const struct status *s, FILE *out)
{
	each_server(s, out, print_note);
}

static void print_up(void *context, const char *origin, const struct server_entry *e, usec now)
{
	char address[SERVER_ENTRY_TEXT];
	observe_sample(context,
	    OBSERVE_LABELS({"origin", origin}, {"server", server_entry_text(e, address)}), "%d",
	    is_up(e, now));
}

static void print_ejected(void *context, const char *origin, const struct server_entry *e, usec now)
{
	char address[SERVER_ENTRY_TEXT];
	observe_count(context,
	    OBSERVE_LABELS({"origin", origin}, {"server", server_entry_text(e, address)}),
	    server_entry_ejected(e, now));
}

void status_servers_print(const struct status *s, FILE *out)
{
	struct observe_family up = {.out = out, .id = OBSERVE_FAMILY_SERVER_UP};
	struct observe_family ejected = {.out = out, .id = OBSERVE_FAMILY_SERVER_EJECTED};
	each_server(s, &up, print_up);
	each_server(s, &ejected, print_ejected);
}
