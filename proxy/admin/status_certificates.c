/* SPDX-License-Identifier: MIT */
/* The part of `pushgate status` about the certificates of acme, from the table that the ACME process writes. */
#include "proxy/admin/status.h"
#include "proxy/base/ascii.h"

static bool read_report(const struct status *s, size_t i, struct certificate_report *r)
{
	return s->conf->listens[i].acme && certificate_entry_read(&s->certificates[i], r);
}

/* The text comes from an authority, by way of a process that may have been taken over. */
static void print_why(const char *why, FILE *out)
{
	fputs(": ", out);
	for (; *why; why++)
		fputc(ascii_is_visible(slice_of(why, 1)) ? *why : ' ', out);
}

static void print_note(const char *name, const struct certificate_report *r, FILE *out)
{
	static const char *const served[] = {
	    [CERTIFICATE_MISSING] = "there is none yet, clients get one of our own",
	    [CERTIFICATE_LACKING] = "it lacks a host of the routes",
	    [CERTIFICATE_GOOD] = "good"};
	char date[CLOCK_DATE_BYTES];
	fprintf(out, "# certificate of listen %s: %s; ", name, served[r->state]);
	if (r->open > 0)
		fputs("another one is ordered now", out);
	else
		fprintf(out, "the next order is due at %s", clock_date(r->next_at, date));
	if (r->failures > 0)
		fprintf(out, "; %u order%s failed, the last", r->failures,
		    r->failures == 1 ? " has" : "s have");
	if (r->failures > 0)
		print_why(r->why, out);
	fputc('\n', out);
}

void status_certificate_notes(const struct status *s, FILE *out)
{
	struct certificate_report r;
	for (size_t i = 0; i < s->conf->listen_count; i++)
		if (read_report(s, i, &r))
			print_note(s->conf->listens[i].name, &r, out);
}

void status_certificates_print(const struct status *s, FILE *out)
{
	struct observe_family state = {.out = out, .id = OBSERVE_FAMILY_ACME_STATE};
	struct observe_family next = {.out = out, .id = OBSERVE_FAMILY_ACME_NEXT};
	struct observe_family failures = {.out = out, .id = OBSERVE_FAMILY_ACME_FAILURES};
	struct observe_family *const families[] = {&state, &next, &failures};
	for (size_t f = 0; f < 3; f++)
		for (size_t i = 0; i < s->conf->listen_count; i++) {
			struct certificate_report r;
			const char *name = s->conf->listens[i].name;
			if (!read_report(s, i, &r))
				continue;
			if (families[f] == &state)
				observe_sample(&state,
				    OBSERVE_LABELS({"listen", name},
					{"state", certificate_state_text(r.state)}),
				    "1");
			else if (families[f] == &next)
				observe_sample(&next, OBSERVE_LABELS({"listen", name}), "%lld",
				    (long long)r.next_at);
			else
				observe_sample(
				    &failures, OBSERVE_LABELS({"listen", name}), "%u", r.failures);
		}
}
