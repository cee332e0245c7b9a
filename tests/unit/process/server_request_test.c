/* SPDX-License-Identifier: MIT */
/* The request of `pushgate server`, which server it means, and the list of orders. */
#include "proxy/process/server_request.h"
#include "proxy/process/status.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct conf *conf_of(const char *origins)
{
	char text[2048];
	snprintf(text, sizeof(text), "[listen l]\naddress = 127.0.0.1:0\n%s[route r]\norigin = shop\n", origins);
	struct conf *c = conf_load_text(slice_of_string(text), "test.ini", true, stderr);
	assert_non_null(c);
	return c;
}

#define SHOP                                                                                       \
	"[origin shop]\nserver = http://192.0.2.1:80\nserver = http://192.0.2.1:81 weight=3\n"       \
	"server = http://app.example:82\nserver = http://192.0.2.4:80 down\n"

/* Gives the order; what was answered is in `said`. */
static char said[4096];
static enum process_status give(struct server_orders_list *l, const struct conf *conf, const char *origin, const char *url, const char *order)
{
	struct server_change c;
	char name[SERVER_REQUEST_BYTES];
	assert_null(server_change_parse(slice_of_string(order), &c));
	size_t length = server_request_write(origin, url, &c, UINT64_MAX, name);
	assert_in_range(length, 1, SERVER_REQUEST_BYTES - 2); /* the kernel's room for a name */
	assert_true(server_is_request(slice_of(name, length)));
	FILE *out = fmemopen(said, sizeof(said), "w");
	enum process_status status = server_orders_list_change(l, conf, slice_of(name, length), out);
	fclose(out);
	return status;
}

static void orders_are_parsed(void **state)
{
	(void)state;
	struct server_change c;
	static const char *const bad[] = {"", "up", "drain ", "weight", "weight=", "weight=0", "weight=257", "weight=1x", "weight=-1", "DRAIN"};
	assert_null(server_change_parse(SLICE("ready"), &c));
	assert_int_equal(c.order, SERVER_READY);
	assert_int_equal(c.weight, 0);
	assert_null(server_change_parse(SLICE("down"), &c));
	assert_int_equal(c.order, SERVER_TAKEN_DOWN);
	assert_null(server_change_parse(SLICE("weight=256"), &c));
	assert_int_equal(c.weight, 256);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_non_null(server_change_parse(slice_of_string(bad[i]), &c));
}

static void a_server_is_meant_by_its_url_or_a_part_that_is_its_own(void **state)
{
	(void)state;
	struct conf *conf = conf_of(SHOP);
	struct server_orders_list l = {0};
	assert_int_equal(give(&l, conf, "shop", "http://192.0.2.1:80", "drain"), PROCESS_DONE);
	assert_string_equal(said, "origin shop: server http://192.0.2.1:80 gets no new requests; those that are open end; weight 1\n");
	assert_int_equal(give(&l, conf, "shop", "192.0.2.1:81", "down"), PROCESS_DONE);
	assert_int_equal(give(&l, conf, "shop", "app.example", "weight=7"), PROCESS_DONE);
	assert_string_equal(said, "origin shop: server http://app.example:82 is used again, if its checks pass; weight 7 by command\n");
	assert_int_equal(give(&l, conf, "shop", "http://app.example:82/", "drain"), PROCESS_DONE);
	assert_string_equal(said, "origin shop: server http://app.example:82 gets no new requests; those that are open end; weight 7 by command\n"
				  "origin shop: no server gets requests now\n");
	assert_int_equal(give(&l, conf, "shop", "192.0.2.4", "ready"), PROCESS_DONE);
	assert_non_null(strstr(said, "stays down, as the configuration says"));
	assert_int_equal(l.count, 3);
	assert_int_equal(give(&l, conf, "shop", "192.0.2.1", "drain"), PROCESS_BAD_CONF);
	assert_non_null(strstr(said, "this names several servers; write the URL of one of: http://192.0.2.1:80 http://192.0.2.1:81 "));
	assert_int_equal(give(&l, conf, "shop", "http://192.0.2.9:80", "drain"), PROCESS_BAD_CONF);
	assert_non_null(strstr(said, "it has no such server; it has: http://192.0.2.1:80 "));
	assert_int_equal(give(&l, conf, "ship", "http://192.0.2.1:80", "drain"), PROCESS_BAD_CONF);
	assert_string_equal(said, "there is no such origin; there are: shop\n");
	assert_int_equal(l.count, 3);
	server_orders_list_free(&l);
	conf_free(conf);
}

static void what_is_as_configured_is_no_order(void **state)
{
	(void)state;
	struct conf *conf = conf_of(SHOP);
	struct server_orders_list l = {0};
	give(&l, conf, "shop", "192.0.2.1:81", "weight=9");
	give(&l, conf, "shop", "192.0.2.1:81", "drain");
	assert_int_equal(l.count, 1);
	give(&l, conf, "shop", "192.0.2.1:81", "ready");
	assert_int_equal(l.all[0].row.weight, 9);
	give(&l, conf, "shop", "192.0.2.1:81", "weight=3");
	assert_string_equal(said, "origin shop: server http://192.0.2.1:81 is used again, if its checks pass; weight 3\n");
	assert_int_equal(l.count, 0);
	server_orders_list_free(&l);
	conf_free(conf);
}

static void malformed_requests_change_nothing(void **state)
{
	(void)state;
	struct conf *conf = conf_of(SHOP);
	struct server_orders_list l = {0};
	static const char *const bad[] = {"pushgate server ", "pushgate server drain", "pushgate server drain 0123456789abcdef",
	    "pushgate server drain 0123456789abcdef 0123456789abcdef", "pushgate server drain 0123456789abcdef 0123456789abcdef 0123456789abcde",
	    "pushgate server drain 0123456789abcdef 0123456789abcdeg 0123456789abcdef", "pushgate server stop 0123456789abcdef 0123456789abcdef 0123456789abcdef",
	    "pushgate server drain 0123456789abcdef 0123456789abcdef 0123456789abcdef more"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		FILE *out = fmemopen(said, sizeof(said), "w");
		assert_true(server_is_request(slice_of_string(bad[i])));
		assert_int_equal(server_orders_list_change(&l, conf, slice_of_string(bad[i]), out), PROCESS_FAILED);
		fclose(out);
	}
	assert_false(server_is_request(SLICE("pushgate reload 0123456789abcdef")));
	assert_int_equal(l.count, 0);
	server_orders_list_free(&l);
	conf_free(conf);
}

static void count_gone(void *context, const struct server_orders_kept *k)
{
	(void)k;
	++*(unsigned *)context;
}

static void orders_go_with_their_names(void **state)
{
	(void)state;
	struct conf *old = conf_of(SHOP);
	struct conf *next = conf_of("[origin first]\nserver = demo:\n[origin shop]\nserver = http://app.example:82\nserver = http://192.0.2.1:80\n");
	struct server_orders_list l = {0};
	unsigned gone = 0;
	void *memory = calloc(1, server_orders_bytes(server_orders_rows(next), 1));
	struct server_orders *o = server_orders_new(memory, server_orders_rows(next), 1);
	server_orders_list_give(&l, next, next, o);
	assert_int_equal(atomic_load(o->version), 0); /* none was ever given */
	give(&l, old, "shop", "192.0.2.1:80", "drain");
	give(&l, old, "shop", "192.0.2.1:81", "down");
	give(&l, old, "shop", "app.example", "weight=5");
	server_orders_list_give(&l, next, next, o);
	server_orders_list_give(&l, next, next, NULL);
	assert_int_equal(server_orders_get(o, 0).order, SERVER_READY);
	assert_int_equal(server_orders_get(o, 1).weight, 5);
	assert_int_equal(server_orders_get(o, 2).order, SERVER_DRAIN);
	server_orders_list_prune(&l, next, count_gone, &gone);
	assert_int_equal(gone, 1);
	assert_int_equal(l.count, 2);
	give(&l, next, "shop", "192.0.2.1:80", "ready");
	server_orders_list_give(&l, next, next, o);
	assert_int_equal(server_orders_get(o, 2).order, SERVER_READY);

	/* As `pushgate status` shows them. */
	give(&l, next, "shop", "192.0.2.1:80", "down");
	server_orders_list_give(&l, next, next, o);
	server_orders_tell_open(o, 0, 2, 1);
	const struct status s = {.conf = next, .orders = o};
	FILE *out = fmemopen(said, sizeof(said), "w");
	status_order_notes(&s, out);
	status_orders_print(&s, out);
	fclose(out);
	assert_non_null(strstr(said, "# origin shop: server http://app.example:82 has weight 5 by command\n"
				     "# origin shop: server http://192.0.2.1:80: down by command, 1 request open\n"));
	assert_non_null(strstr(said, "pushgate_server_order_requests{origin=\"shop\",server=\"http://192.0.2.1:80\",order=\"down\"} 1\n"));
	assert_non_null(strstr(said, "pushgate_server_order_weight{origin=\"shop\",server=\"http://app.example:82\"} 5\n"));
	server_orders_list_free(&l);
	free(o);
	free(memory);
	conf_free(old);
	conf_free(next);
}

/* The list forgets orders for a server that has gone; older workers still have it, and send it nothing new. */
static void older_workers_keep_orders_for_servers_that_are_gone(void **state)
{
	(void)state;
	struct conf *old = conf_of(SHOP);
	struct conf *next = conf_of("[origin shop]\nserver = http://app.example:82\nserver = http://192.0.2.4:80\n");
	struct server_orders_list l = {0};
	unsigned gone = 0;
	void *memory = calloc(1, server_orders_bytes(4, 1)), *fresh = calloc(1, server_orders_bytes(2, 1));
	struct server_orders *theirs = server_orders_new(memory, 4, 1), *own = server_orders_new(fresh, 2, 1);
	give(&l, old, "shop", "192.0.2.1:80", "drain");
	give(&l, old, "shop", "app.example", "drain");
	server_orders_list_give(&l, old, old, theirs);
	server_orders_list_prune(&l, next, count_gone, &gone);
	assert_int_equal(gone, 1);
	give(&l, next, "shop", "192.0.2.4:80", "down");
	server_orders_list_give(&l, old, next, theirs);
	server_orders_list_give(&l, next, next, own);
	assert_int_equal(server_orders_get(theirs, 0).order, SERVER_DRAIN);
	assert_int_equal(server_orders_get(theirs, 2).order, SERVER_DRAIN);
	assert_int_equal(server_orders_get(theirs, 3).order, SERVER_TAKEN_DOWN);
	/* What both have open is told together. */
	server_orders_tell_open(own, 0, 0, 2);
	server_orders_tell_open(theirs, 0, 0, 7);
	server_orders_tell_open(theirs, 0, 2, 3);
	const struct status_orders others[] = {{old, theirs}};
	const struct status s = {.conf = next, .orders = own, .other_orders = others, .other_orders_count = 1};
	FILE *out = fmemopen(said, sizeof(said), "w");
	status_order_notes(&s, out);
	fclose(out);
	assert_non_null(strstr(said, "# origin shop: server http://app.example:82: drain by command, 5 requests open\n"));
	assert_non_null(strstr(said, "http://192.0.2.4:80: down by command, 0 requests open\n"));
	give(&l, next, "shop", "app.example", "ready");
	server_orders_list_give(&l, old, next, theirs);
	assert_int_equal(server_orders_get(theirs, 0).order, SERVER_DRAIN);
	assert_int_equal(server_orders_get(theirs, 2).order, SERVER_READY);
	server_orders_list_free(&l);
	free(theirs);
	free(own);
	free(memory);
	free(fresh);
	conf_free(old);
	conf_free(next);
}

static void orders_are_read_as_they_were_written(void **state)
{
	(void)state;
	struct conf *conf = conf_of(SHOP);
	struct server_orders_list l = {0}, read = {0};
	give(&l, conf, "shop", "192.0.2.1:80", "drain");
	give(&l, conf, "shop", "192.0.2.1:81", "weight=9");
	memset(said, 0, sizeof(said));
	FILE *out = fmemopen(said, sizeof(said), "w");
	server_orders_list_write(&l, out);
	fclose(out);
	assert_string_equal(said, "drain\t0\thttp://192.0.2.1:80\tshop\nready\t9\thttp://192.0.2.1:81\tshop\n");
	server_orders_list_read(&read, slice_of_string(said));
	server_orders_list_read(&read, SLICE("\n\t\nstop\t0\ta\tb\ndrain\tx\ta\tb\ndrain\t257\ta\tb\nweight=1\t0\ta\tb\ndrain\t0\t\tb\ndrain\t0\ta\t\ndrain\t0\ta"));
	assert_int_equal(read.count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(read.all[i].origin, l.all[i].origin);
		assert_string_equal(read.all[i].url, l.all[i].url);
		assert_int_equal(read.all[i].row.order, l.all[i].row.order);
		assert_int_equal(read.all[i].row.weight, l.all[i].row.weight);
	}
	server_orders_list_free(&read);
	server_orders_list_free(&l);
	conf_free(conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(orders_are_parsed),
	    cmocka_unit_test(a_server_is_meant_by_its_url_or_a_part_that_is_its_own),
	    cmocka_unit_test(what_is_as_configured_is_no_order),
	    cmocka_unit_test(malformed_requests_change_nothing),
	    cmocka_unit_test(orders_go_with_their_names),
	    cmocka_unit_test(older_workers_keep_orders_for_servers_that_are_gone),
	    cmocka_unit_test(orders_are_read_as_they_were_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
