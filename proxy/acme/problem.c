/* SPDX-License-Identifier: MIT */
/*
 * Error answers of an authority (RFC 8555 6.7, RFC 9457): after some the request is sent again at once, the others
 * become the text of a failed order.
 */
#include "proxy/acme/acme_private.h"

/* An authority may refuse any nonce (RFC 8555 6.5.1); one that refuses so many in a row is at fault. */
enum { REPEATS_MOST = 24 };
/* Pebble and others have no longer detail that helps. */
enum { DETAIL_SHOWN = 240 };

static const char type_prefix[] = "urn:ietf:params:acme:error:";

/* The type without what all types begin with; "": it has none. */
static const char *type_of(const json_t *problem)
{
	const char *type = acme_text(problem, "type");
	if (!type)
		return "";
	size_t length = sizeof(type_prefix) - 1;
	return strncmp(type, type_prefix, length) == 0 ? type + length : type;
}

/* Whether the same is to be asked again at once, in another way. */
static bool may_be_repaired(struct acme_task *t, const struct acme_answer *a, const char *type)
{
	if (++t->repeats > REPEATS_MOST)
		return false;
	if (strcmp(type, "badNonce") == 0)
		return true;
	/* The authority has forgotten the account: it is made again. */
	if (strcmp(type, "accountDoesNotExist") == 0 && t->ca->account &&
	    t->asked != ACME_STEP_ACCOUNT) {
		acme_set(&t->ca->account, NULL);
		return true;
	}
	/* RFC 9773 5: an order is the same without "replaces". */
	if (t->asked == ACME_STEP_ORDER && t->wish.replaces && !t->replaces_nothing &&
	    a->status >= 400 && a->status < 500 && a->status != 429) {
		t->replaces_nothing = true;
		return true;
	}
	return false;
}

void acme_take_problem(struct acme_task *t, const struct acme_answer *a, const json_t *json)
{
	const char *type = type_of(json), *detail = acme_text(json, "detail");
	if (a->status == 0) {
		acme_fail(t, "%s", a->why);
		return;
	}
	if (may_be_repaired(t, a, type))
		return;
	t->wait_seconds = a->retry_after;
	acme_fail(t, "status %u%s%s%s%.*s", a->status, *type ? ", " : "", type, detail ? ": " : "",
	    DETAIL_SHOWN, detail ? detail : "");
}
