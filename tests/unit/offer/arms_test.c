/* SPDX-License-Identifier: MIT */
/* Which clients get the offers of a [preload] section with share, and which page loads are compared. */
#include "proxy/base/memory.h"
#include "proxy/offer/offer.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct conf *load(const char *preloads)
{
	char text[2048];
	snprintf(text, sizeof(text),
	    "[listen l]\naddress = 127.0.0.1:1\n[origin o]\nserver = h2c://127.0.0.1:2\n[route "
	    "r]\norigin = o\n%s",
	    preloads);
	struct conf *conf = conf_load_text(slice_of_string(text), "t.ini", false, stderr);
	assert_non_null(conf);
	return conf;
}

#define SECTION(name, share) "[preload " name "]\nadd = /a.css\nshare = " share "\n"
#define PLAIN "[preload plain]\nadd = /b.css\n"

static struct address numbered(unsigned i)
{
	return (struct address){{192, 0, (uint8_t)(i >> 8), (uint8_t)i}, 4};
}

static struct address parsed(const char *text)
{
	struct address a;
	assert_true(address_parse(slice_of_string(text), &a));
	return a;
}

enum { CLIENTS = 20000 };

static unsigned on_of(const struct conf_preload *p)
{
	unsigned on = 0;
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct address a = numbered(i);
		on += offer_arm(p, &a)->is_on;
	}
	return on;
}

static void as_many_clients_get_the_offers_as_the_share_says(void **state)
{
	(void)state;
	static const struct {
		const char *section;
		unsigned least, most;
	} rows[] = {
	    {SECTION("p", "0%"), 0, 0},
	    {SECTION("p", "100%"), CLIENTS, CLIENTS},
	    {SECTION("p", "50%"), CLIENTS / 2 - 300,
		CLIENTS / 2 + 300}, /* four standard deviations */
	    {SECTION("p", "2.5%"), CLIENTS / 40 - 90, CLIENTS / 40 + 90},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct conf *conf = load(rows[i].section);
		unsigned on = on_of(conf->preloads);
		if (on < rows[i].least || on > rows[i].most)
			fail_msg("%s: %u of %u clients", rows[i].section, on, CLIENTS);
		conf_free(conf);
	}
}

/* Nothing else than the client and the section's name decides: not the process, not the number of sections before it. */
static void client_stays_in_its_arm(void **state)
{
	(void)state;
	struct conf *first = load(SECTION("p", "50%")),
		    *later =
			load(PLAIN SECTION("q", "50%") SECTION("p", "50%") SECTION("p2", "80%"));
	unsigned alike = 0;
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct address a = numbered(i);
		bool is_on = offer_arm(&first->preloads[0], &a)->is_on;
		assert_int_equal(is_on, offer_arm(&later->preloads[2], &a)->is_on);
		alike += is_on == offer_arm(&later->preloads[1], &a)->is_on;
	}
	/* What another section compares is another draw. */
	assert_in_range(alike, CLIENTS / 2 - 300, CLIENTS / 2 + 300);
	/* A known one, so that a change of the hash is noticed: it would move the clients of a comparison that runs. */
	struct address a = parsed("192.0.2.1"), b = parsed("192.0.2.2");
	assert_string_equal(offer_arm(&first->preloads[0], &a)->text, "p=on");
	assert_string_equal(offer_arm(&first->preloads[0], &b)->text, "p=off");
	conf_free(first);
	conf_free(later);
}

static void larger_share_keeps_those_that_had_the_offers(void **state)
{
	(void)state;
	struct conf *few = load(SECTION("p", "10%")), *many = load(SECTION("p", "60%"));
	for (unsigned i = 0; i < CLIENTS; i++) {
		struct address a = numbered(i);
		if (offer_arm(few->preloads, &a)->is_on)
			assert_true(offer_arm(many->preloads, &a)->is_on);
	}
	conf_free(few);
	conf_free(many);
}

static void addresses_of_one_subscriber_are_one_client(void **state)
{
	(void)state;
	struct conf *conf = load(SECTION("p", "50%"));
	unsigned on = 0;
	for (unsigned i = 0; i < 64; i++) {
		char text[48];
		snprintf(text, sizeof(text), "2001:db8:%x::1", i);
		struct address one = parsed(text), other;
		snprintf(text, sizeof(text), "2001:db8:%x:0:ffff::%x", i, i);
		other = parsed(text);
		on += offer_arm(conf->preloads, &one)->is_on;
		assert_ptr_equal(
		    offer_arm(conf->preloads, &one), offer_arm(conf->preloads, &other));
	}
	assert_in_range(on, 16, 48);
	conf_free(conf);
}

/* ---- requests ---- */

static struct exchange *exchange_of(bool is_on, const struct conf_preload *p)
{
	struct exchange *x = memory_new(struct exchange);
	for (unsigned i = 0;; i++) {
		x->facts.client = numbered(i);
		if (offer_arm(p, &x->facts.client)->is_on == is_on)
			return x;
	}
}

static void section_without_share_is_used_in_both_arms(void **state)
{
	(void)state;
	struct conf *conf = load(PLAIN SECTION("p", "50%"));
	for (unsigned is_on = 0; is_on < 2; is_on++) {
		bool takes[2] = {true, true};
		struct exchange *x = exchange_of(is_on, &conf->preloads[1]);
		offer_choose_arm(conf, x, true, takes);
		assert_true(takes[0]);
		assert_int_equal(takes[1], is_on);
		assert_string_equal(offer_part(x)->arm->text, is_on ? "p=on" : "p=off");
		assert_int_equal(offer_part(x)->arm->preload, 1);
		free(x);
	}
	conf_free(conf);
}

static void first_section_that_matches_decides_for_all(void **state)
{
	(void)state;
	struct conf *conf = load(SECTION("p", "0%") SECTION("q", "50%") SECTION("r", "100%"));
	for (unsigned is_on = 0; is_on < 2; is_on++) {
		bool takes[3] = {false, true, true};
		struct exchange *x = exchange_of(is_on, &conf->preloads[1]);
		offer_choose_arm(conf, x, true, takes);
		assert_false(takes[0]);
		assert_int_equal(takes[1], is_on);
		assert_int_equal(takes[2], is_on);
		assert_string_equal(offer_part(x)->arm->text, is_on ? "q=on" : "q=off");
		free(x);
	}
	conf_free(conf);
}

static void request_for_an_asset_is_in_the_arm_and_no_page_load(void **state)
{
	(void)state;
	struct conf *conf = load(SECTION("p", "50%"));
	for (unsigned is_on = 0; is_on < 2; is_on++) {
		bool takes[1] = {true};
		struct exchange *x = exchange_of(is_on, conf->preloads);
		offer_choose_arm(conf, x, false, takes);
		assert_int_equal(takes[0], is_on);
		assert_null(offer_part(x)->arm);
		free(x);
	}
	conf_free(conf);
}

static void request_that_no_section_with_share_takes_is_in_no_arm(void **state)
{
	(void)state;
	struct conf *conf = load(PLAIN SECTION("p", "50%"));
	bool takes[2] = {true, false};
	struct exchange *x = memory_new(struct exchange);
	offer_choose_arm(conf, x, true, takes);
	assert_true(takes[0] && !takes[1]);
	assert_null(offer_part(x)->arm);
	free(x);
	conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(as_many_clients_get_the_offers_as_the_share_says),
	    cmocka_unit_test(client_stays_in_its_arm),
	    cmocka_unit_test(larger_share_keeps_those_that_had_the_offers),
	    cmocka_unit_test(addresses_of_one_subscriber_are_one_client),
	    cmocka_unit_test(section_without_share_is_used_in_both_arms),
	    cmocka_unit_test(first_section_that_matches_decides_for_all),
	    cmocka_unit_test(request_for_an_asset_is_in_the_arm_and_no_page_load),
	    cmocka_unit_test(request_that_no_section_with_share_takes_is_in_no_arm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
