/* SPDX-License-Identifier: MIT */
/* Sockets that wait for their PROXY header: what they cost, and what becomes of them when the gateway ends. */
#include "tests/support/gateway_world.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUIRED "proxy-protocol = required\ntrusted = 127.0.0.1\n"
#define HEADER "PROXY TCP4 192.0.2.1 198.51.100.2 1234 80\r\n"
#define LONG (60 * USEC_PER_SEC)

static size_t count_of(const struct list *list)
{
	size_t n = 0;
	for (const struct list *at = list->next; at != list; at = at->next)
		n++;
	return n;
}

static size_t arrivals(const struct gate_world *w)
{
	return count_of(&w->gateway->clients.arrivals);
}

static const struct client_conn *only_conn(const struct gate_world *w)
{
	assert_int_equal(count_of(&w->gateway->clients.conns), 1);
	return container_of(w->gateway->clients.conns.next, struct client_conn, link);
}

static void tell(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

static bool is_closed(int fd)
{
	char byte;
	ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
	assert_true(n <= 0);
	return n == 0 || errno == ECONNRESET;
}

static void arrival_is_no_connection_before_its_header(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, REQUIRED, NULL, NULL);
	size_t before = w->gateway->env.budget.used_bytes;
	int fd = gate_raw(w);
	UNTIL(w, arrivals(w) == 1);
	assert_int_equal(w->counters.connections, 0);
	assert_true(w->gateway->env.budget.used_bytes > before + LIMIT_PROXY_HEADER_BYTES);
	tell(fd, "PROXY TCP4 192.0.2.1 ");
	gate_passes(w);
	assert_int_equal(arrivals(w), 1);
	tell(fd, "198.51.100.2 1234 80\r\nGET");
	UNTIL(w, w->counters.connections == 1);
	assert_int_equal(arrivals(w), 0);
	const struct client_conn *c = only_conn(w);
	const struct address claimed = {{192, 0, 2, 1}, 4}, tcp = {{127, 0, 0, 1}, 4};
	assert_memory_equal(&c->address, &claimed, sizeof(claimed));
	assert_memory_equal(&c->ends->tcp, &tcp, sizeof(tcp));
	assert_int_equal(c->port, 1234);
	assert_int_equal(c->listener->connections, 1);
	close(fd);
	UNTIL(w, count_of(&w->gateway->clients.conns) == 0);
	gate_passes(w);
	assert_int_equal(w->gateway->env.budget.used_bytes, before);
	gate_world_free(w);
}

static void arrivals_count_as_connections_of_the_listener(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, REQUIRED "max-connections = 1\n", NULL, NULL);
	int first = gate_raw(w);
	UNTIL(w, arrivals(w) == 1);
	int second = gate_raw(w);
	UNTIL(w, is_closed(second));
	assert_int_equal(w->counters.connections_refused, 1);
	/* Its own place is no other one's when it becomes a connection. */
	tell(first, HEADER);
	UNTIL(w, w->counters.connections == 1);
	close(first);
	UNTIL(w, count_of(&w->gateway->clients.conns) == 0);
	int third = gate_raw(w);
	UNTIL(w, arrivals(w) == 1);
	close(second);
	close(third);
	UNTIL(w, arrivals(w) == 0);
	assert_int_equal(w->counters.proxy_headers_bad, 0);
	gate_world_free(w);
}

static void refused_connection_leaves_no_claim_behind(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, REQUIRED "max-connections-per-client = 1\n", NULL, NULL);
	int fd[2] = {gate_raw(w), gate_raw(w)};
	UNTIL(w, arrivals(w) == 2);
	tell(fd[0], HEADER);
	UNTIL(w, w->counters.connections == 1);
	tell(fd[1], HEADER);
	UNTIL(w, is_closed(fd[1]));
	assert_int_equal(w->counters.connections_refused_client, 1);
	close(fd[0]);
	close(fd[1]);
	gate_world_free(w);
}

static void drain_waits_for_a_header_that_has_begun(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, REQUIRED, NULL, NULL);
	int fd = gate_raw(w);
	UNTIL(w, arrivals(w) == 1);
	gate_world_drain(w, LONG);
	gate_passes(w);
	assert_int_equal(w->drained, 0);
	tell(fd, HEADER);
	UNTIL(w, w->counters.connections == 1);
	assert_true(only_conn(w)->is_leaving);
	close(fd);
	UNTIL(w, w->drained == 1);
	gate_world_free(w);
}

static void drain_ends_when_the_last_arrival_has_left(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, REQUIRED, NULL, NULL);
	int fd = gate_raw(w);
	UNTIL(w, arrivals(w) == 1);
	gate_world_drain(w, LONG);
	tell(fd, "GET / HTTP/1.1\r\n");
	UNTIL(w, w->drained == 1);
	assert_int_equal(w->counters.proxy_headers_bad, 1);
	close(fd);
	gate_world_free(w);
}

static void end_of_the_gateway_closes_arrivals(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, REQUIRED, NULL, NULL);
	int fd = gate_raw(w);
	UNTIL(w, arrivals(w) == 1);
	gate_world_free_gateway(w);
	assert_true(is_closed(fd));
	close(fd);
	gate_world_free(w);
}

static void header_that_is_late_ends_its_socket_alone(void **state)
{
	(void)state;
	struct gate_world *w = gate_world_new(NULL, REQUIRED "proxy-protocol-timeout = 200ms\n", NULL, NULL);
	int whole = gate_raw(w), late = gate_raw(w);
	tell(whole, HEADER);
	tell(late, "PROXY");
	UNTIL(w, w->counters.proxy_headers_late == 1);
	assert_true(is_closed(late));
	assert_int_equal(count_of(&w->gateway->clients.conns), 1);
	close(whole);
	close(late);
	gate_world_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(arrival_is_no_connection_before_its_header),
	    cmocka_unit_test(arrivals_count_as_connections_of_the_listener),
	    cmocka_unit_test(refused_connection_leaves_no_claim_behind),
	    cmocka_unit_test(drain_waits_for_a_header_that_has_begun),
	    cmocka_unit_test(drain_ends_when_the_last_arrival_has_left),
	    cmocka_unit_test(end_of_the_gateway_closes_arrivals),
	    cmocka_unit_test(header_that_is_late_ends_its_socket_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
