/* SPDX-License-Identifier: MIT */
/*
 * An authority of ACME that answers as it likes. The input has answers, which a line "--" parts: a line
 * "STATUS RETRY NONCE LOCATION", and the body. The first byte chooses an order over HTTP or TLS, or a window. Each task must end,
 * ask the authority alone, and fail with a reason that can be printed.
 */
#include "tests/fuzz/input.h"

#include "proxy/acme/acme.h"
#include "proxy/base/ascii.h"
#include "proxy/base/ensure.h"
#include <stdlib.h>
#include <string.h>

#define CA "https://ca.test"
/* Far more than the steps of an order, each with all its questions. */
#define REQUESTS_MOST 20000u

static struct slice next_answer(struct slice *input)
{
	static const struct slice border = SLICE_INIT("\n--\n");
	size_t end = 0;
	while (end < input->len && !slice_starts_with(slice_from(*input, end), border))
		end++;
	struct slice one = slice_sub(*input, 0, end);
	*input = end < input->len ? slice_from(*input, end + border.len) : SLICE("");
	return one;
}

static void answer(struct acme_task *t, struct slice *input)
{
	struct acme_answer a = {.why = "the input has no more"};
	uint64_t status = 0, retry = 0;
	if (input->len > 0) {
		a.body = next_answer(input);
		struct slice line = slice_cut(&a.body, '\n');
		(void)!slice_to_number(slice_cut(&line, ' '), 999, &status);
		(void)!slice_to_number(slice_cut(&line, ' '), UINT32_MAX, &retry);
		a.nonce = slice_cut(&line, ' ');
		a.location = slice_cut(&line, ' ');
		a.status = (unsigned)status;
		a.retry_after = (uint32_t)retry;
	}
	acme_task_take(t, &a);
}

static void run(struct acme_task *t, struct slice input)
{
	unsigned requests = 0;
	while (t->state == ACME_REQUEST || t->state == ACME_WAITING) {
		struct acme_request r;
		ensure(requests++ < REQUESTS_MOST);
		if (t->state == ACME_WAITING) {
			ensure(t->wait_seconds > 0 && t->wait_seconds <= 300);
			acme_task_waited(t);
			continue;
		}
		acme_task_request(t, &r);
		struct slice url = slice_of_string(r.url), ca = SLICE(CA "/");
		ensure(slice_equal_nocase(slice_sub(url, 0, ca.len), ca) && ascii_is_visible(url));
		free(r.body);
		answer(t, &input);
	}
	for (const char *c = t->problem; *c; c++)
		ensure(*c >= ' ' && *c <= '~');
	ensure((t->state == ACME_FAILED) == (t->problem[0] != '\0'));
	ensure(t->state == ACME_FAILED || t->chain || t->window.end > t->window.start);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct net_key *key;
	static const char *const names[] = {"a.test", "b.test"};
	struct acme_task t;
	struct acme_ca ca;
	if (size == 0)
		return 0;
	if (!key)
		key = net_key_new();
	const struct acme_wish wish = {.names = names,
	    .count = 2,
	    .key = key,
	    .challenge = data[0] % 2 ? ACME_CHALLENGE_HTTP : ACME_CHALLENGE_TLS,
	    .replaces = data[0] % 4 == 3 ? "aki.serial" : NULL};
	acme_ca_init(&ca, CA "/dir", NULL, key);
	if (data[0] == 'w')
		acme_window_begin(&t, &ca, "aki.serial");
	else
		acme_order_begin(&t, &ca, &wish);
	run(&t, slice_of(data + 1, size - 1));
	acme_task_fini(&t);
	acme_ca_fini(&ca);
	return 0;
}
