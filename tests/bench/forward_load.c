/* SPDX-License-Identifier: MIT */
/*
 * A load client for forward proxies, in HTTP/1.1 over cleartext: each connection has one request under way, and is
 * used again as long as the proxy leaves it open. It shares no code with the program under test.
 *
 *   forward_load [-t] [-c connections] [-n requests] PROXY-IP:PORT http://HOST:PORT/PATH
 *
 * Requests are in absolute-form. With -t each connection opens a tunnel with CONNECT first, and the requests in
 * origin-form go through that. A response must have status 200 and a Content-Length.
 * Prints one JSON object; exit status 1 when a request had no complete response.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CONNECTIONS 4096
/* In a row, without a response between them: the proxy does not serve. */
#define MAX_FAILURES 100

struct link {
	int fd;
	bool is_open;   /* the tunnel is open, or there is none to open */
	bool in_body;
	bool must_close;
	size_t head_bytes;
	uint64_t body_left;
	char head[8192];
};

static struct {
	struct sockaddr_in proxy;
	char request[2048], connect[1024];
	bool has_tunnels;
	unsigned long requests, started, finished, connections;
	unsigned failures;
	unsigned long long bytes;
	int epoll;
	struct link links[MAX_CONNECTIONS];
} load = {.requests = 1000};

static char buffer[1 << 18];

static void die(const char *text)
{
	fprintf(stderr, "forward_load: %s: %s\n", text, strerror(errno));
	exit(1);
}

static void say(struct link *l, const char *text)
{
	size_t bytes = strlen(text);
	l->head_bytes = 0;
	/* A request fits into an empty socket. A connection that has ended is seen when it is read from. */
	if (send(l->fd, text, bytes, MSG_NOSIGNAL) != (ssize_t)bytes && errno != EPIPE && errno != ECONNRESET)
		die("send");
}

static void open_link(struct link *l)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = l};
	int one = 1;
	*l = (struct link){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .is_open = !load.has_tunnels};
	if (l->fd < 0 || connect(l->fd, (struct sockaddr *)&load.proxy, sizeof(load.proxy)) < 0)
		die("connect");
	setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (epoll_ctl(load.epoll, EPOLL_CTL_ADD, l->fd, &event) < 0)
		die("epoll_ctl");
	load.connections++;
	say(l, load.has_tunnels ? load.connect : load.request);
}

static void response_ended(struct link *l)
{
	load.finished++;
	load.failures = 0;
	l->in_body = false;
	if (load.started == load.requests) {
		close(l->fd);
		l->fd = -1;
		return;
	}
	load.started++;
	if (l->must_close) {
		close(l->fd);
		open_link(l);
		return;
	}
	say(l, load.request);
}

static void lost(struct link *l)
{
	if (++load.failures > MAX_FAILURES || l->in_body) {
		fprintf(stderr, "forward_load: a response did not come: %.*s\n", (int)l->head_bytes, l->head);
		exit(1);
	}
	close(l->fd);
	open_link(l);
}

/* The value of a field, or NULL. */
static const char *field(const char *head, const char *name)
{
	size_t length = strlen(name);
	for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
		line += 2;
		if (strncasecmp(line, name, length) == 0 && line[length] == ':')
			return line + length + 1 + strspn(line + length + 1, " ");
	}
	return NULL;
}

static bool says(const char *value, const char *word)
{
	return value && strncasecmp(value, word, strlen(word)) == 0;
}

/* The head is complete. */
static void read_head(struct link *l)
{
	const char *length = field(l->head, "content-length");
	bool is_old = strncmp(l->head, "HTTP/1.0", 8) == 0;
	if (strncmp(l->head + 8, " 200", 4) != 0) {
		fprintf(stderr, "forward_load: %.*s\n", (int)strcspn(l->head, "\r"), l->head);
		exit(1);
	}
	if (!l->is_open) {
		l->is_open = true;
		say(l, load.request);
		return;
	}
	if (!length) {
		fprintf(stderr, "forward_load: no Content-Length\n");
		exit(1);
	}
	l->must_close = says(field(l->head, "connection"), "close") || says(field(l->head, "proxy-connection"), "close")
	    || (is_old && !says(field(l->head, "connection"), "keep-alive"));
	l->body_left = strtoull(length, NULL, 10);
	l->in_body = true;
}

static void received(struct link *l, const char *bytes, size_t count)
{
	while (!l->in_body && count > 0) {
		char *end;
		size_t before = l->head_bytes, n = sizeof(l->head) - 1 - before;
		n = count < n ? count : n;
		memcpy(l->head + before, bytes, n);
		l->head[before + n] = 0;
		end = strstr(l->head, "\r\n\r\n");
		if (!end) {
			l->head_bytes = before + n;
			if (l->head_bytes == sizeof(l->head) - 1)
				lost(l);
			return;
		}
		end[2] = 0;
		n = (size_t)(end + 4 - l->head) - before;
		bytes += n;
		count -= n;
		read_head(l);
	}
	if (!l->in_body)
		return;
	load.bytes += count;
	l->body_left -= count < l->body_left ? count : l->body_left;
	if (l->body_left == 0)
		response_ended(l);
}

static void run(void)
{
	struct epoll_event events[64];
	while (load.finished < load.requests) {
		int count = epoll_wait(load.epoll, events, 64, 10000);
		if (count == 0 || (count < 0 && errno != EINTR)) {
			fprintf(stderr, "forward_load: nothing comes: %lu of %lu responses\n", load.finished, load.requests);
			exit(1);
		}
		for (int i = 0; i < count; i++) {
			struct link *l = events[i].data.ptr;
			ssize_t n = recv(l->fd, buffer, sizeof(buffer), 0);
			if (n > 0)
				received(l, buffer, (size_t)n);
			else if (n == 0 || errno == ECONNRESET)
				lost(l);
		}
	}
}

static void usage(void)
{
	fprintf(stderr, "usage: forward_load [-t] [-c connections] [-n requests] PROXY-IP:PORT http://HOST:PORT/PATH\n");
	exit(2);
}

static void read_targets(char *proxy, const char *url)
{
	char *colon = strrchr(proxy, ':');
	char authority[256], path[512] = "";
	if (!colon || sscanf(url, "http://%255[^/]%511s", authority, path) < 2)
		usage();
	*colon = 0;
	load.proxy = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(colon + 1))};
	if (inet_pton(AF_INET, proxy, &load.proxy.sin_addr) != 1)
		usage();
	snprintf(load.connect, sizeof(load.connect), "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", authority, authority);
	snprintf(load.request, sizeof(load.request), "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: forward-load\r\nAccept: */*\r\n\r\n",
	    load.has_tunnels ? path : url, authority);
}

int main(int argc, char **argv)
{
	unsigned connections = 1;
	for (int option; (option = getopt(argc, argv, "tc:n:")) != -1;) {
		if (option == 't')
			load.has_tunnels = true;
		else if (option == 'c')
			connections = (unsigned)atoi(optarg);
		else if (option == 'n')
			load.requests = strtoul(optarg, NULL, 10);
		else
			usage();
	}
	if (argc - optind != 2 || connections < 1 || connections > MAX_CONNECTIONS)
		usage();
	read_targets(argv[optind], argv[optind + 1]);
	load.epoll = epoll_create1(EPOLL_CLOEXEC);
	for (unsigned i = 0; i < connections && load.started < load.requests; i++) {
		load.started++;
		open_link(&load.links[i]);
	}
	run();
	printf("{\"requests\": %lu, \"connections\": %lu, \"bytes\": %llu}\n", load.finished, load.connections, load.bytes);
	return 0;
}
