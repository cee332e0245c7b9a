/* SPDX-License-Identifier: MIT */
/* `pushgate check`: the configuration, and what a start needs of the machine. Changes nothing. */
#include "proxy/base/hash.h"
#include "proxy/offer/offer.h"
#include "proxy/process/process.h"
#include "proxy/process/start.h"
#include "proxy/process/start_needs.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Everything from here on is as if this user had started pushgate. */
static bool become(const char *user)
{
	struct identity identity;
	char error[256];
	if (identity_find(&identity, user, error, sizeof(error)) &&
	    identity_assume(&identity, error, sizeof(error)))
		return true;
	fprintf(stderr, "pushgate check: --as %s: %s\n", user, error);
	return false;
}

static void print_number(FILE *out, const char *before, size_t n, const char *what)
{
	if (n > 0)
		fprintf(out, "%s%zu %s%s", before, n, what, n == 1 ? "" : "s");
}

static void print_sum(const char *path, const struct conf_findings *findings, bool is_good)
{
	size_t mistakes = findings->count[CONF_ERROR];
	FILE *out = is_good ? stdout : stderr;
	fprintf(out, "%s: ", path);
	if (is_good)
		fputs("ok", out);
	print_number(out, "", mistakes, "mistake");
	print_number(
	    out, is_good || mistakes > 0 ? ", " : "", findings->count[CONF_WARNING], "warning");
	fputc('\n', out);
}

static void examine(const char *conf_path, struct conf_findings *findings)
{
	struct conf *conf = conf_load(conf_path, true, findings);
	if (!conf)
		return;
	struct start_needs needs = {
	    .conf = conf,
	    .findings = findings,
	    .is_check = true,
	    .workers = outfit_count_workers(conf, false),
	};
	(void)start_needs_walk(&needs);
	conf_free(conf);
}

int process_check(const char *conf_path, const char *as_user, bool strict, bool as_json)
{
	struct conf_findings findings = {.text = as_json ? NULL : stderr};
	if (as_user && !become(as_user))
		return PROCESS_BAD_CONF;
	signal(SIGPIPE, SIG_IGN);
	offer_seed(hash_random_seed());
	if (as_json)
		conf_findings_keep(&findings);
	examine(conf_path, &findings);
	bool is_good =
	    findings.count[CONF_ERROR] == 0 && !(strict && findings.count[CONF_WARNING] > 0);
	if (as_json)
		conf_findings_print_json(&findings, conf_path, is_good, stdout);
	else
		print_sum(conf_path, &findings, is_good);
	return is_good ? PROCESS_DONE : PROCESS_BAD_CONF;
}
