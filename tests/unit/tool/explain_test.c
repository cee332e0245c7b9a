/* SPDX-License-Identifier: MIT */
/* What `pushgate explain` prints for a configuration, a client and what an origin says; and a log decided again. */
#include "proxy/tool/explain.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define BASE                                                                                       \
	"[listen front]\naddress = 127.0.0.1:1\n[origin app]\nserver = h2c://127.0.0.1:2\n"        \
	"[origin other]\nserver = h2c://127.0.0.1:3\n[route all]\norigin = app\n"                  \
	"[route other]\npath = /other\norigin = other\n"

static struct conf *load(const char *more)
{
	char text[4096];
	snprintf(text, sizeof(text), BASE "%s", more);
	struct conf *conf = conf_load_text(slice_of_string(text), "t.ini", false, stderr);
	assert_non_null(conf);
	return conf;
}

/* What is printed, the caller's to free. */
static char *printed(const char *configuration, const struct explain_options *o)
{
	char *text = NULL;
	size_t size;
	struct conf *conf = load(configuration);
	FILE *out = open_memstream(&text, &size);
	int status = explain_url(o, conf, out, out);
	fclose(out);
	conf_free(conf);
	assert_int_equal(status, EXPLAIN_OK);
	return text;
}

/* The same for these words. */
static char *said(const char *configuration, const char *const *words)
{
	static char storage[16][256];
	char *argv[17];
	int argc = 0;
	for (; words[argc]; argc++) {
		strcpy(storage[argc], words[argc]);
		argv[argc] = storage[argc];
	}
	argv[argc] = NULL;
	struct explain_options o;
	assert_int_equal(explain_parse(&o, argc, argv), EXPLAIN_OK);
	return printed(configuration, &o);
}

static void prints(const char *configuration, const char *const *words, const char *expected)
{
	char *text = said(configuration, words);
	assert_string_equal(text, expected);
	free(text);
}

static void has(const char *configuration, const char *const *words, const char *expected)
{
	char *text = said(configuration, words);
	if (!strstr(text, expected))
		fail_msg("%s\n... has no\n%s", text, expected);
	free(text);
}

#define WORDS(...) ((const char *const[]){"explain", __VA_ARGS__, NULL})

/* ---- whole answers ---- */

static void a_promise_to_a_client_that_takes_pushes(void **state)
{
	(void)state;
	prints("[push pictures]\ntype = image\naction = drop\n",
	    WORDS("http://example.com/", "--promise", "/a.css"),
	    "GET http://example.com/\n"
	    "client 192.0.2.1: HTTP/2, accepts pushes\n"
	    "listen front, route all, origin app\n"
	    "\n"
	    "1. relayed GET http://example.com/a.css\n"
	    "   guards   malformed ... promise-rate: all 11 pass\n"
	    "   rule     pictures (t.ini:12): type does not hold\n"
	    "   guards   authority ... bytes-cap: all 18 pass\n"
	    "   verdict  forward\n"
	    "   reason   default: No rule matched; the default action applied.\n"
	    "   advice   Add a [push] rule if something else should happen.\n"
	    "   client   PUSH_PROMISE GET http://example.com/a.css\n"
	    "\n"
	    "1 offer: 1 forward\n");
}

static void a_browser_gets_hints_and_what_is_held(void **state)
{
	(void)state;
	prints("[push browsers]\naction = hint+hold\n[preload all]\nadd = /a.css as=style\n",
	    WORDS("http://example.com/", "--client", "chrome", "--client", "203.0.113.9"),
	    "GET http://example.com/\n"
	    "client 203.0.113.9: HTTP/2, ENABLE_PUSH=0, navigates\n"
	    "listen front, route all, origin app\n"
	    "\n"
	    "1. config GET http://example.com/a.css as=style\n"
	    "   guards   malformed ... promise-rate: all 11 pass\n"
	    "   rule     browsers (t.ini:12): matches\n"
	    "   guards   authority ... parent-cap: all 15 pass\n"
	    "   verdict  hint+hold, rule browsers\n"
	    "   reason   rule: A rule of the configuration decided.\n"
	    "   advice   See the named rule.\n"
	    "   client   103 with Link: </a.css>; rel=preload; as=style; held for its own request\n"
	    "\n"
	    "1 offer: 1 hint+hold\n"
	    "\n"
	    "A held response answers a later request only if it has Cache-Control: max-age,\n"
	    "Last-Modified or ETag.\n");
}

static void half_of_hint_and_hold_for_a_client_that_does_not_navigate(void **state)
{
	(void)state;
	has("[push browsers]\naction = hint+hold\n[preload all]\nadd = /a.css as=style\n",
	    WORDS("http://example.com/", "--client", "curl"),
	    "   guard    hint-client allows only half of hint+hold\n"
	    "   guards   parent-life-cap ... parent-cap: all 3 pass\n"
	    "   verdict  hold, rule browsers\n"
	    "   reason   rule: A rule of the configuration decided.\n"
	    "   advice   See the named rule.\n"
	    "   but      hint-client: The request is not a navigation over HTTP/2: browsers ignore "
	    "hints for it.\n"
	    "   client   nothing yet: held for its own request\n");
}

/* TLS cannot be opened: the files are none. What they are asked for is known all the same. */
static void a_name_of_a_certificate_counts_where_the_listener_asks_for_one(void **state)
{
	(void)state;
	static const char asks[] =
	    "[listen site]\naddress = 127.0.0.1:5\ncertificate = a\nkey = a\naccess = home\n"
	    "client-ca = /ca required host=closed.test\nclient-ca = /ca optional host=open.test\n"
	    "[access home]\ndeny = cert=cn:bob\nallow = all\n"
	    "[route alice]\norigin = other\ncert = subject:CN=alice*\n"
	    "[push alice]\ncert = cn:al*\naction = drop\n";
	has(asks, WORDS("https://closed.test/"),
	    "listen site\n\nThe TLS handshake fails by client-ca = /ca: peer did not return a "
	    "certificate (--cert FILE "
	    "shows one).\nNothing is sent to an origin.\n");
	has(asks, WORDS("https://closed.test/", "--cert", "cn:bob"),
	    "its certificate: cn:bob\naccess home: denied by deny = cert=cn:bob at t.ini:20\n");
	has(asks, WORDS("https://closed.test/", "--cert", "subject:CN=alice,O=Example"),
	    "its certificate: CN=alice,O=Example\naccess home: allowed by allow = all at t.ini:21\n"
	    "listen site, route alice, origin other\n");
	static const char drops[] = "rule     alice (t.ini:25): matches", *const promise =
									      "--promise";
	has(asks, WORDS("https://open.test/", promise, "/a.css", "--cert", "cn:alice"), drops);
	has(asks, WORDS("https://open.test/", promise, "/a.css"),
	    "rule     alice (t.ini:25): cert does not hold");
	has(asks, WORDS("https://open.test/", "--cert", "dns:x", "--cert", "subject:CN=alice"),
	    "its certificate: CN=alice\naccess home: allowed by allow = all at t.ini:21\n"
	    "listen site, route alice, origin other\n");
	has(asks, WORDS("https://other.test/", promise, "/a.css", "--cert", "subject:CN=alice"),
	    "the listener asks this client for no certificate, so that it shows none\n"
	    "access home: allowed by allow = all at t.ini:21\nlisten site, route all, origin "
	    "app\n");
}

static void a_route_that_answers_from_a_folder_is_named(void **state)
{
	(void)state;
	has("[route known]\npath = /.well-known\nfiles = /var/www\n", WORDS("http://example.com/.well-known/x"),
	    "listen front, route known\nanswered from the folder /var/www by the route\n");
}

static void an_admin_listener_has_no_routes_to_explain(void **state)
{
	(void)state;
	const char *const admin = "[listen admin]\naddress = 127.0.0.1:5\nmode = admin\naccess = "
				  "x\n[access x]\nallow = path=/readyz\n";
	has(admin, WORDS("http://example.com/", "--client", "192.0.2.7"),
	    "listen front, route all");
	has(admin, WORDS("--listen", "admin", "http://example.com/readyz"),
	    "listen admin\nmode is admin: pushgate answers by itself, and no route is used\n");
	has(admin, WORDS("--listen", "admin", "http://example.com/"),
	    "listen admin\nanswered 403 by the gateway itself: path");
	/* It is not what answers a scheme that no other listener serves. */
	has(admin, WORDS("https://example.com/"),
	    "listen front\nanswered 421 by the gateway itself: ");
}

/* The first listener that serves the scheme; where TLS ends before it, only what `trusted` names. */
static void the_scheme_chooses_the_listener_and_must_be_allowed(void **state)
{
	(void)state;
	const char *const inside =
	    "[listen inside]\naddress = 127.0.0.1:4\ntrusted = 192.0.2.7 unix\n";
	has("", WORDS("https://example.com/"),
	    "answered 421 by the gateway itself: https in cleartext, and the peer is not in "
	    "trusted\n\n"
	    "This listener has no certificate: a client with https cannot use it.");
	has(inside, WORDS("https://example.com/"), "answered 421 by the gateway itself: ");
	has(inside, WORDS("https://example.com/", "--client", "192.0.2.7"),
	    "listen inside, route all");
	has(inside, WORDS("https://example.com/", "--client", "unix"),
	    "client -: HTTP/2, accepts pushes\nlisten inside, route all");
	has(inside, WORDS("http://example.com/", "--client", "192.0.2.7"),
	    "listen front, route all");
	has(inside, WORDS("https://example.com/", "--client", "192.0.2.7", "--listen", "front"),
	    "answered 421 by the gateway itself: ");
	/* What a field claims does not count. */
	has(inside, WORDS("https://example.com/", "-H", "X-Forwarded-For: 192.0.2.7"),
	    "answered 421 by the gateway itself: ");
}

static void links_of_a_103_and_what_is_taken_out_of_it(void **state)
{
	(void)state; /* covers: P-hint-filtered */
	static const char rules[] = "[push old]\nuser-agent = old*\naction = drop\ninterim = no\n"
				    "[push no]\ntype = script\naction = drop\n"
				    "[push hints]\naction = hint\n[preload all]\nlink = yes\n";
	const char *const *words =
	    WORDS("http://example.com/", "--client", "curl", "--status", "103", "--response-header",
		"Link: </a.css>; rel=preload; as=style, </b.js>; rel=preload; as=script");
	has(rules, words, "   client   the link in the 103 of the origin\n");
	has(rules, words, "   client   no push; the link is taken out of the 103\n");
	/* Only a rule takes it out: a client that takes no pushes gets the origin's hint as it is. */
	has("[preload all]\nlink = yes\n", words,
	    "   client   no push; the link stays in the 103\n");
	has(rules,
	    WORDS("http://example.com/", "--status", "103", "-H", "user-agent: old/1",
		"--response-header", "Link: </a.css>; rel=preload; as=style"),
	    "\nA rule with interim = no: the client does not get the interim response.\n\n"
	    "1. link GET http://example.com/a.css as=style\n");
	has("[preload all]\nlink = yes\n",
	    WORDS("http://example.com/", "--status", "103", "-H", "user-agent: okhttp/4.9.3",
		"--response-header", "Link: </a.css>; rel=preload; as=style"),
	    "\nClients with this User-Agent are known to mishandle a 103 (Early Hints).\n"
	    "This one gets none, unless a rule has interim = yes.\n");
	has(rules,
	    WORDS("http://example.com/", "--status", "103", "-H", "user-agent: old/1",
		"--response-header", "Link: </a.css>; rel=preload; as=style"),
	    "   client   no push\n");
	has("[route feed]\npath = /feed\norigin = app\nsubscription = yes\n",
	    WORDS("http://example.com/feed"),
	    "\nThe request is a subscription: it gets an origin connection of its own, and any "
	    "number of pushes.\n");
}

static void links_that_no_verdict_could_use_are_said_to_be_unread(void **state)
{
	(void)state; /* covers: P-src-link-unread */
	has("[preload all]\nlink = yes\n",
	    WORDS("http://example.com/", "--client", "chrome", "--response-header",
		"Link: </a.css>; rel=preload; as=style"),
	    "   reason   push-disabled: The client announced ENABLE_PUSH=0, or speaks HTTP/1.1, "
	    "which has no pushes.\n"
	    "   advice   None needed: browsers announce this; hold or hint for them.\n"
	    "   client   nothing\n"
	    "\n"
	    "The gateway does not read these links, and neither logs nor counts them: no verdict "
	    "could use "
	    "them.\n"
	    "\n"
	    "There are no offers.\n");
	has("[preload all]\nlink = yes\n",
	    WORDS("http://example.com/", "--client", "chrome", "--response-header",
		"Link: </a.css>; rel=preload; as=style"),
	    "1. link GET http://example.com/a.css as=style: is not read\n");
}

static void links_of_the_response_and_why_they_are_no_offers(void **state)
{
	(void)state;
	const char *const *words = WORDS("http://example.com/", "--response-header",
	    "Link: </a.css>; rel=preload; as=style, </b.css>; rel=preload; nopush");
	has("[preload all]\nlink = yes\n", words,
	    "2. link GET /b.css\n"
	    "   verdict  drop\n"
	    "   reason   link-nopush: The link has the parameter nopush.\n"
	    "   advice   None needed: the origin asks for this.\n"
	    "   client   nothing\n"
	    "\n"
	    "2 offers: 1 forward, 1 drop\n");
	has("", words,
	    "Link fields offer nothing here: no [preload] section with link = yes matches the "
	    "request.\n\nThere are no offers.\n");
}

static void what_a_manifest_offers(void **state)
{
	(void)state;
	char name[] = "/tmp/pushgate-explain-XXXXXX", configuration[200];
	static const char manifest[] = "{\"index.html\": {\"/a.css\": {\"type\": \"style\"}}}";
	int fd = mkstemp(name);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, manifest, strlen(manifest)), (ssize_t)strlen(manifest));
	close(fd);
	snprintf(configuration, sizeof(configuration), "[preload p]\nmanifest = %s\n", name);
	has(configuration, WORDS("http://example.com/"),
	    "1. manifest GET http://example.com/a.css as=style\n");
	unlink(name);
	has(configuration, WORDS("http://example.com/"), "continuing without manifests\n");
}

static void an_origin_that_will_not_be_asked_for_pushes(void **state)
{
	(void)state;
	has("", WORDS("http://example.com/", "--client", "curl", "--promise", "/a.css"),
	    "\nThe origin is asked with ENABLE_PUSH=0, since every push for this request would be "
	    "dropped:\nit makes no promises. If it made one all the same, pushgate would end that "
	    "connection to\nthe origin with PROTOCOL_ERROR.\n"
	    "\n"
	    "1. relayed GET http://example.com/a.css: does not come\n"
	    "   guards   malformed ... client-going-away: all 18 pass\n"
	    "   guard    push-disabled refuses\n"
	    "   verdict  drop\n"
	    "   reason   push-disabled: The client announced ENABLE_PUSH=0, or speaks HTTP/1.1, "
	    "which has no pushes.\n"
	    "   advice   None needed: browsers announce this; hold or hint for them.\n"
	    "   client   nothing\n"
	    "\n"
	    "There are no offers.\n");
	has("", WORDS("http://example.com/", "--client", "curl"),
	    "dropped:\nit makes no promises.\n\nThere are");
}

static void an_origin_with_push_refuse_makes_no_promises_whatever_the_rules_say(void **state)
{
	(void)state;
	const char *const *words =
	    WORDS("http://example.com/quiet", "--client", "chrome", "--promise", "/a.css");
	static const char rules[] = "[origin quiet]\nserver = h2c://127.0.0.1:4\npush = refuse\n"
				    "[route quiet]\npath = /quiet\norigin = quiet\n"
				    "[push browsers]\naction = hint+hold\n";
	has(rules, words,
	    "\nThe origin is asked with ENABLE_PUSH=0, since [origin quiet] has push = refuse:\n"
	    "it makes no promises. If it made one all the same, pushgate would end that connection "
	    "to\n"
	    "the origin with PROTOCOL_ERROR.\n"
	    "\n"
	    "1. relayed /a.css: does not come\n"
	    "\n"
	    "There are no offers.\n");
}

/* With push = accept the promise comes although nobody can use it. */
static void an_origin_with_push_accept_has_its_promise_reset(void **state)
{
	(void)state;
	has("[origin eager]\nserver = h2c://127.0.0.1:4\npush = accept\n[route eager]\npath = "
	    "/eager\n"
	    "origin = eager\n",
	    WORDS("http://example.com/eager", "--client", "curl", "--promise", "/eager.css"),
	    "   client   nothing; the origin's promised stream is reset\n\n1 offer: 1 drop\n");
}

static void a_route_says_which_tunnels_may_be_opened(void **state)
{
	(void)state;
	has("[route chat]\npath = /chat\norigin = app\nupgrade = websocket\n",
	    WORDS("http://example.com/chat"),
	    "listen front, route chat, origin app\n"
	    "tunnels may be opened here: websocket\n");
	has("[route chat]\npath = /chat\norigin = app\nupgrade = websocket mqtt\n",
	    WORDS("http://example.com/chat"), "tunnels may be opened here: websocket, mqtt\n");
}

/* The first [listen] of the file is BASE's; this one is named. */
#define WITH_ACCESS(rules)                                                                         \
	"[listen site]\naddress = 127.0.0.1:5\naccess = home\n[access home]\nusers = /u\n" rules

static void the_line_that_decided_is_named(void **state)
{
	(void)state;
	static const char rules[] =
	    WITH_ACCESS("deny = path=/a*\nask = path=/b\nallow = client=192.0.2.0/24\n");
	prints(rules, WORDS("--listen", "site", "http://a.test/a/b"),
	    "GET http://a.test/a/b\nclient 192.0.2.1: HTTP/2, accepts pushes\n"
	    "access home: denied by deny = path=/a* at t.ini:17\n"
	    "listen site\nanswered 403 by the gateway itself: rule\n");
	has(rules, WORDS("--listen", "site", "http://a.test/b"),
	    "access home: needs a user (--user NAME) by ask = path=/b at t.ini:18\n"
	    "listen site\nanswered 401 by the gateway itself: ask\n");
	has(rules, WORDS("--listen", "site", "--user", "alice", "http://a.test/b"),
	    "access home: allowed by allow = client=192.0.2.0/24 at t.ini:19\nlisten site, route "
	    "all");
	has(rules, WORDS("--listen", "site", "--client", "198.51.100.1", "http://a.test/"),
	    "access home: denied: no line takes the request (client)\n");
	static const char forward[] = "[listen proxy]\naddress = 127.0.0.1:5\nmode = forward\n";
	has(forward, WORDS("--listen", "proxy", "--client", "10.0.0.1", "http://a.test/"),
	    "access (built in): allowed by the usual rule of forward mode\n"
	    "the host is not looked up here: the gateway judges each of its addresses, and may "
	    "refuse one\n"
	    "listen proxy, route forward");
	/* Unless it is said, a client that may use a proxy. */
	has(forward, WORDS("--listen", "proxy", "http://a.test/"),
	    "client 10.0.0.1: HTTP/2, accepts pushes\naccess (built in): allowed");
	has(forward, WORDS("--listen", "proxy", "--client", "10.0.0.1", "http://127.0.0.1/"),
	    "access (built in): denied: no line takes the request (address-not-global)\n"
	    "listen proxy\nanswered 403 by the gateway itself: address-not-global\n");
	has(forward, WORDS("--listen", "proxy", "--client", "10.0.0.1", "https://8.8.8.8/"),
	    "access (built in): allowed by the usual rule of forward mode\nlisten proxy, route "
	    "forward");
}

static void a_connect_is_explained_as_the_proxy_answers_it(void **state)
{
	(void)state;
	static const char forward[] = "[listen proxy]\naddress = 127.0.0.1:5\nmode = forward\n";
	/* The first listener that is a proxy takes it. */
	prints(forward, WORDS("CONNECT a.test:443"),
	    "CONNECT a.test:443\n"
	    "client 10.0.0.1: HTTP/2, accepts pushes\n"
	    "access (built in): allowed by the usual rule of forward mode\n"
	    "the host is not looked up here: the gateway judges each of its addresses, and may "
	    "refuse one\n"
	    "listen proxy, route forward, origin forward\n"
	    "a tunnel is opened: what is in it, pushes too, the gateway does not see\n");
	has(forward, WORDS("CONNECT a.test:80"), "answered 403 by the gateway itself: port\n");
	has(forward, WORDS("CONNECT 10.0.0.9:443"),
	    "answered 403 by the gateway itself: address-not-global\n");
	has(forward, WORDS("CONNECT 127.1:443"),
	    "answered 403 by the gateway itself: host-strange\n");
	has("", WORDS("CONNECT a.test:443"), "answered 501 by the gateway itself");
}

static void a_route_says_which_limits_count_a_request(void **state)
{
	(void)state;
	has("[route api]\npath = /api\norigin = app\nlimit-requests = 10/s "
	    "by=field:x-key\nlimit-requests = concurrent=5 shadow\n",
	    WORDS("http://example.com/api"),
	    "listen front, route api, origin app\n"
	    "counted by limit-requests = 10/s by=field:x-key\n"
	    "counted by limit-requests = concurrent=5 shadow\n");
}

static void a_client_with_http1_is_promised_nothing_and_hinted_by_a_rule_alone(void **state)
{
	(void)state;
	has("", WORDS("http://example.com/", "--client", "h1", "--promise", "/a.css"),
	    "client 192.0.2.1: HTTP/1.1\n"
	    "listen front, route all, origin app\n"
	    "\n"
	    "The origin is asked with ENABLE_PUSH=0, since every push for this request would be "
	    "dropped:\n");
	has("[push r]\naction = hold\nversion = 1.1\n",
	    WORDS("http://example.com/", "--client", "h1", "--promise", "/a.css"),
	    "   verdict  hold, rule r\n");
	/* It navigates, and hints are the default action: no rule says so. */
	static const char *const navigates[] = {"explain", "http://example.com/", "--client", "h1",
	    "-H", "Sec-Fetch-Mode: navigate", NULL};
	has("[preload p]\nadd = /a.css\n[push r]\naction = hint\n", navigates,
	    "   reason   hint-client: ");
	has("[preload p]\nadd = /a.css\n[push r]\naction = hint\nhint-clients = all\n", navigates,
	    "   client   103 with Link: ");
}

static void the_origins_103_goes_to_a_client_with_http1_unless_a_rule_keeps_it_back(void **state)
{
	(void)state;
	static const char *const words[] = {"explain", "http://example.com/", "--client", "h1",
	    "--status", "103", "--response-header",
	    "Link: </a.css>; rel=preload; as=style, </b.js>; rel=preload; as=script", NULL};
	has("[preload p]\nlink = yes\n[push r]\ntype = style\naction = hint\n", words,
	    "   client   the link in the 103 of the origin");
	has("[preload p]\nlink = yes\n[push r]\ntype = style\naction = drop\n", words,
	    "   client   no push; the link is taken out of the 103\n");
	has("[push r]\naction = drop\ninterim = no\n", words,
	    "\nA rule with interim = no: the client does not get the interim response.\n");
}

static void a_version_that_the_listener_does_not_speak_is_told(void **state)
{
	(void)state;
	static const struct {
		const char *protocols, *client, *expected;
	} rows[] = {
	    {"h2", "h1",
		"The listener has protocols = h2. A client with HTTP/1.1 gets\n"
		"\"505 HTTP Version Not Supported\" and the end of the connection.\n"
		"Nothing is sent to an origin.\n"},
	    {"http/1.1", "curl",
		"The listener has protocols = http/1.1. A client with HTTP/2 gets no answer in "
		"it.\n"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char configuration[200];
		snprintf(configuration, sizeof(configuration),
		    "[listen other]\naddress = 127.0.0.1:9\nprotocols = %s\n", rows[i].protocols);
		has(configuration,
		    WORDS("http://example.com/", "--listen", "other", "--client", rows[i].client),
		    rows[i].expected);
	}
}

static void an_origin_with_http1_makes_no_promises(void **state)
{
	(void)state;
	has("[origin old]\nserver = http://127.0.0.1:4\n[route old]\npath = /old\norigin = old\n",
	    WORDS("http://example.com/old", "--promise", "/old.css"),
	    "\n[origin old] speaks HTTP/1.1, which has no pushes: it makes no promises.\n"
	    "\n"
	    "1. relayed /old.css: does not come\n");
}

static void host_field_takes_the_place_of_the_urls_host(void **state)
{
	(void)state;
	has("", WORDS("http://example.com/", "-H", "Host: b.example", "--promise", "/a.css"),
	    "1. relayed GET http://b.example/a.css\n");
}

static void a_request_that_is_answered_here(void **state)
{
	(void)state;
	struct conf *conf = conf_load_text(
	    SLICE("[listen l]\naddress = 127.0.0.1:1\n[origin o]\nserver = h2c://127.0.0.1:2\n"
		  "[route r]\nhost = example.com\norigin = o\n"),
	    "t.ini", false, stderr);
	const struct explain_options o = {.url = "http://example.org/", .status = 200};
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	assert_int_equal(explain_url(&o, conf, out, out), EXPLAIN_OK);
	fclose(out);
	conf_free(conf);
	assert_non_null(strstr(text,
	    "answered 421 by the gateway itself: no route for this host\n\n"
	    "A [route] section with this host, or one without host, would take it.\n"));
	free(text);
}

/* ---- reasons ---- */

static void each_guard_gives_its_reason(void **state)
{
	(void)state;
	static const struct {
		const char *reason, *configuration, *words[7];
	} rows[] = {
	    {"method", "", {"--promise", "POST /a"}},
	    {"authority", "", {"--promise", "/other/a.css"}},
	    {"authority", "", {"--promise", "https://example.com/a.css"}},
	    {"push-disabled", "", {"--promise", "/a.css", "--client", "curl"}},
	    {"duplicate", "[server]\ndiary-entries = 0\n", {"--promise", "/a", "--promise", "/a"}},
	    {"duplicate", "", {"--promise", "/a", "--promise", "/a"}},
	    {"known", "[preload p]\nadd = /x\nlink = yes\n",
		{"--response-header", "Link: </x>; rel=preload"}},
	    {"parent-cap", "[server]\nmax-pushes-per-parent = 1\n",
		{"--promise", "/a", "--promise", "/b"}},
	    {"parent-cap", "[push r]\nmax-per-parent = 1\naction = forward\n",
		{"--promise", "/a", "--promise", "/b"}},
	    {"connection-cap", "[server]\nmax-pushes-per-connection = 1\n",
		{"--promise", "/a", "--promise", "/b"}},
	    {"head", "[push r]\naction = hold\n", {"--promise", "HEAD /a"}},
	    {"hold-forwarded", "[push r]\naction = hold\n", {"--promise", "/a", "-H", "Via: 2 x"}},
	    {"hint-client", "[push r]\naction = hint\n", {"--promise", "/a"}},
	    {"hint-late", "[push r]\naction = hint\n[preload p]\nadd = /x\n",
		{"--promise", "/a", "--client", "chrome"}},
	    {"hint-late", "[push r]\naction = hint\n[preload p]\nlink = yes\n",
		{"--client", "chrome", "--response-header", "Link: </x>; rel=preload"}},
	    {"no-interim", "[push r]\naction = hint\nhint-clients = all\ninterim = no\n",
		{"--promise", "/a"}},
	    {"link-push-only",
		"[push r]\naction = hint\nhint-clients = all\n[preload p]\nlink = yes\n",
		{"--status", "103", "--response-header",
		    "Link: </x>; rel=preload; x-http2-push-only"}},
	    {"speculative", "[push r]\naction = forward\n",
		{"--promise", "/a", "-H", "Sec-Purpose: prefetch"}},
	    {"hint-mishandled", "[push r]\naction = hint\nhint-clients = all\n",
		{"--promise", "/a", "-H", "User-Agent: okhttp/4.9.3"}},
	    {"revalidation", "[preload p]\nadd = /x\n", {"-H", "Cache-Control: no-cache"}},
	    {"cross-origin", "[preload p]\nlink = yes\n",
		{"--response-header", "Link: <http://b.example/x>; rel=preload"}},
	    {"link-target", "[preload p]\nlink = yes\n",
		{"--response-header", "Link: <mailto:a@b.example>; rel=preload"}},
	    {"link-anchor", "[preload p]\nlink = yes\n",
		{"--response-header", "Link: </x>; rel=preload; anchor=\"/y\""}},
	    {"link-self", "[preload p]\nlink = yes\n",
		{"--response-header", "Link: </>; rel=preload"}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *words[10] = {"explain", "http://example.com/"};
		memcpy(words + 2, rows[i].words, sizeof(rows[i].words));
		const struct policy_reason *reason = policy_reason_find(rows[i].reason);
		char expected[400];
		snprintf(expected, sizeof(expected),
		    "   verdict  drop%s\n   reason   %s: %s\n   advice   %s\n   client   %s",
		    strncmp(rows[i].configuration, "[push r]", 8) == 0 ? ", rule r" : "",
		    reason->code, reason->sentence, reason->advice,
		    reason == &policy_reason_LINK_PUSH_ONLY ? "no push" : "nothing");
		has(rows[i].configuration, words, expected);
	}
}

static void the_condition_that_fails_is_named(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
	    {"source", "source = link"},
	    {"client", "client = 10.0.0.0/8"},
	    {"host", "host = b.example"},
	    {"path", "path = /x*"},
	    {"promised-path", "promised-path = /x*"},
	    {"user-agent", "user-agent = *Bot*"},
	    {"type", "type = image"},
	    {"method", "method = HEAD"},
	    {"version", "version = 1.1"},
	    {"push-enabled", "push-enabled = no"},
	    {"save-data", "save-data = yes"},
	    {"navigation", "navigation = yes"},
	    {"purpose", "purpose = prerender"},
	    {"rtt", "rtt = >100ms"},
	    {"user", "user = *"},
	    {"destination", "destination = *.com:8080"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char configuration[200], expected[200];
		snprintf(configuration, sizeof(configuration), "[push r]\n%s\naction = drop\n",
		    rows[i][1]);
		snprintf(expected, sizeof(expected), "   rule     r (t.ini:12): %s does not hold\n",
		    rows[i][0]);
		has(configuration, WORDS("http://example.com/", "--promise", "/a.css"), expected);
	}
	has("[push r]\nrtt = >100ms\naction = drop\n",
	    WORDS("http://example.com/", "--promise", "/a.css", "--rtt", "250"),
	    "   rule     r (t.ini:12): matches\n");
	has("[push r]\nuser = alice\ndestination = *.com:80\naction = drop\n",
	    WORDS("http://example.com/", "--promise", "/a.css", "--user", "alice"),
	    "   rule     r (t.ini:12): matches\n");
}

/* ---- forward mode ---- */

#define FORWARD "[listen proxy]\naddress = 127.0.0.1:9\nmode = forward\n"
#define ASK(url, ...) WORDS(url, "--listen", "proxy", "--client", "10.0.0.1", __VA_ARGS__)

static void promises_through_a_forward_proxy(void **state)
{
	(void)state;
	has(FORWARD, ASK("https://a.example/", "--promise", "/a.css"),
	    "   client   PUSH_PROMISE GET https://a.example/a.css\n");
	has(FORWARD, ASK("https://a.example/", "--promise", "https://b.example/b.css"),
	    "   guard    authority refuses\n");
	has(FORWARD, ASK("https://a.example/", "--promise", "https://a.example:8443/b.css"),
	    "   guard    authority refuses\n");
	has(FORWARD "access = r\n[access r]\ndeny = path=/b*\nallow = client=any\n",
	    ASK("https://a.example/", "--promise", "/b.css"),
	    "   guard    access-denied refuses\n");
	has(FORWARD, ASK("http://a.example/", "--promise", "/a.css"),
	    "are spoken to in HTTP/1.1, which has no pushes");
}

/* ---- a log ---- */

#define LINE(id, more)                                                                             \
	"{\"time\":\"2026-01-01T00:00:00Z\",\"worker\":0,\"id\":" id                               \
	",\"client\":\"198.51.100.7\",\"listen\":\"front\",\"method\":\"GET\",\"scheme\":"         \
	"\"http\","                                                                                \
	"\"authority\":\"example.com\"," more "}\n"
#define PUSH(parent, path, more)                                                                   \
	LINE("0", "\"path\":\"" path "\",\"push\":true,\"parent\":" parent                         \
		  ",\"source\":\"relayed\"," more)

static char *replayed(const char *configuration, const char *log, int expected)
{
	char *text = NULL, copy[8192];
	size_t size;
	struct conf *conf = load(configuration);
	snprintf(copy, sizeof(copy), "%s", log);
	FILE *in = fmemopen(copy, strlen(copy), "r"), *out = open_memstream(&text, &size);
	assert_int_equal(explain_log(conf, in, out, out), expected);
	fclose(in);
	fclose(out);
	conf_free(conf);
	return text;
}

static const char a_log[] = PUSH("4", "/a.css", "\"verdict\":\"drop\",\"reason\":\"push-disabled\"")
    LINE("4", "\"path\":\"/\",\"status\":200,\"user_agent\":\"Mozilla/5.0\"")
	PUSH("5", "/b.png", "\"verdict\":\"forward\",\"reason\":\"default\"")
	    PUSH("5", "/c.css", "\"verdict\":\"drop\",\"reason\":\"bytes-cap\"") PUSH("5", "/d.css",
		"\"verdict\":\"drop\",\"reason\":\"status\",\"end_reason\":\"status\"")
		LINE("5", "\"path\":\"/\",\"status\":200,\"user_agent\":\"fetch\"") PUSH("9",
		    "/e.css", "\"verdict\":\"forward\",\"reason\":\"default\"") "half a line {\n";

static void a_log_under_the_same_rules_differs_in_nothing(void **state)
{
	(void)state;
	char *text = replayed("", a_log, EXPLAIN_OK);
	assert_string_equal(text, "4 pushes decided again, 0 differ\n"
				  "1 left out: their request is not in the log\n"
				  "1 lines left out: not understood, or not served any more\n");
	free(text);
}

static void a_log_under_other_rules_shows_what_changes(void **state)
{
	(void)state;
	char *text = replayed("[push pictures]\ntype = image\naction = drop\n"
			      "[push browsers]\npush-enabled = no\naction = hint+hold\n",
	    a_log, EXPLAIN_DIFFERS);
	assert_string_equal(text, "relayed http://example.com/a.css for /\n"
				  "    drop (push-disabled) -> hint+hold (rule browsers)  line 1\n"
				  "relayed http://example.com/b.png for /\n"
				  "    forward (default) -> drop (rule pictures)  line 3\n"
				  "4 pushes decided again, 2 differ\n"
				  "1 left out: their request is not in the log\n"
				  "1 lines left out: not understood, or not served any more\n");
	free(text);
}

#define SITE(id, more)                                                                             \
	"{\"time\":\"2026-01-01T00:00:00Z\",\"worker\":0,\"id\":" id                               \
	",\"client\":\"198.51.100.7\",\"listen\":\"site\",\"method\":\"GET\",\"scheme\":\"https\","    \
	"\"authority\":\"example.com\"," more "}\n"
#define SITE_PUSH(parent, path)                                                                    \
	SITE("0", "\"path\":\"" path "\",\"push\":true,\"parent\":" parent                           \
		  ",\"source\":\"relayed\",\"verdict\":\"forward\",\"reason\":\"default\"")

static void a_log_has_of_a_certificate_what_rules_look_at(void **state)
{
	(void)state;
	static const char log[] = SITE_PUSH("1", "/a.css") SITE("1", "\"path\":\"/\",\"client_cert\":\"CN=alice,O=Example\",\"client_cert_sha256\":\"0a\"")
	    SITE_PUSH("2", "/b.css") SITE("2", "\"path\":\"/\"")
		SITE_PUSH("3", "/c.css") SITE("3", "\"path\":\"/\",\"client_cert\":\"CN=bob\",\"client_cert_sha256\":\"0b\"");
	char *text = replayed("[listen site]\naddress = 127.0.0.1:5\ncertificate = a\nkey = a\nclient-ca = /ca optional\n"
			      "[push name]\ncert = subject:CN=alice*\naction = drop\n[push print]\ncert = sha256:0b\naction = drop\n",
	    log, EXPLAIN_DIFFERS);
	assert_string_equal(text, "relayed https://example.com/a.css for /\n"
				  "    forward (default) -> drop (rule name)  line 1\n"
				  "relayed https://example.com/c.css for /\n"
				  "    forward (default) -> drop (rule print)  line 5\n"
				  "3 pushes decided again, 2 differ\n");
	free(text);
}

static void a_sampled_log_says_what_its_pushes_stand_for(void **state)
{
	(void)state;
	static const char log[] =
	    PUSH("1", "/a.css", "\"verdict\":\"forward\",\"reason\":\"default\",\"sample\":100")
		PUSH("1", "/b.png", "\"verdict\":\"forward\",\"reason\":\"default\",\"sample\":100")
		    LINE("1", "\"path\":\"/\",\"status\":200,\"sample\":100")
			PUSH("2", "/c.png", "\"verdict\":\"forward\",\"reason\":\"default\"")
			    LINE("2", "\"path\":\"/\",\"status\":503");
	char *text = replayed("[push r]\ntype = image\naction = drop\n", log, EXPLAIN_DIFFERS);
	assert_non_null(strstr(text, "3 pushes decided again, 2 differ\n"
				     "the log is a sample: these stand for about 201 and 101\n"));
	free(text);
}

static void a_log_without_a_field_that_is_needed_is_refused(void **state)
{
	(void)state;
	static const struct {
		const char *lack, *log;
	} rows[] = {
	    {"'worker'", "{\"time\":\"2026-01-01T00:00:00Z\",\"status\":200}\n"},
	    {"'path'", LINE("1", "\"status\":200")},
	    {"'verdict'",
		LINE("1", "\"path\":\"/\"") PUSH("1", "/a.css", "\"reason\":\"default\"")},
	    {"'push'",
		LINE("1", "\"path\":\"/\",\"parent\":1,\"source\":\"relayed\",\"verdict\":\"drop\","
			  "\"reason\":\"default\"")},
	    {"'rule'", LINE("1", "\"path\":\"/\"")
			   PUSH("1", "/a.css", "\"verdict\":\"drop\",\"reason\":\"rule\"")},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = replayed("", rows[i].log, EXPLAIN_USAGE);
		if (!strstr(text, rows[i].lack) || !strstr(text, "log-fields"))
			fail_msg("no %s in %s", rows[i].lack, text);
		free(text);
	}
	/* With one listener it does not matter that no line names it. */
	static const char unnamed[] =
	    "{\"worker\":0,\"id\":1,\"client\":\"198.51.100.7\",\"method\":\"GET\","
	    "\"scheme\":\"http\",\"authority\":\"example.com\",\"path\":\"/\"}\n";
	char *text = replayed("[listen other]\naddress = 127.0.0.1:4\n", unnamed, EXPLAIN_USAGE);
	assert_non_null(strstr(text, "'listen'"));
	free(text);
	free(replayed("", unnamed, EXPLAIN_OK));
}

static void a_worker_that_counts_anew_is_not_mixed_up(void **state)
{
	(void)state;
	static const char log[] =
	    PUSH("1", "/a.css", "\"verdict\":\"forward\",\"reason\":\"default\"")
		LINE("1", "\"path\":\"/one\",\"status\":200")
		    LINE("2", "\"path\":\"/\",\"status\":200")
			LINE("1", "\"path\":\"/two\",\"status\":200")
			    PUSH("1", "/b.css", "\"verdict\":\"forward\",\"reason\":\"default\"");
	char *text = replayed("[push r]\npath = /one\naction = drop\n", log, EXPLAIN_DIFFERS);
	assert_string_equal(text, "relayed http://example.com/a.css for /one\n"
				  "    forward (default) -> drop (rule r)  line 1\n"
				  "2 pushes decided again, 1 differ\n");
	free(text);
}

/* Several requests of one name: the nearest line asked, of two as near the one before. */
static void the_nearest_request_of_a_name_is_the_parent(void **state)
{
	(void)state;
#define DECIDED "\"verdict\":\"forward\",\"reason\":\"default\""
	static const char log[] = LINE("1", "\"path\":\"/one\"") PUSH("1", "/a.css", DECIDED)
	    PUSH("1", "/b.css", DECIDED) PUSH("1", "/c.css", DECIDED) LINE("1", "\"path\":\"/two\"")
		LINE("1", "\"path\":\"/three\"") PUSH("1", "/d.css", DECIDED);
#undef DECIDED
	char *text = replayed("[push r]\naction = drop\n", log, EXPLAIN_DIFFERS);
	static const char *const pairs[] = {
	    "/a.css for /one\n", "/b.css for /one\n", "/c.css for /two\n", "/d.css for /three\n"};
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (!strstr(text, pairs[i]))
			fail_msg("no %s in %s", pairs[i], text);
	free(text);
}

static void what_a_terminal_would_obey_is_not_printed(void **state)
{
	(void)state;
	static const char log[] =
	    PUSH("1", "/a.css", "\"verdict\":\"\\u001b[2J\",\"reason\":\"default\"")
		LINE("1", "\"path\":\"/\",\"status\":200");
	char *text = replayed("", log, EXPLAIN_DIFFERS);
	assert_null(strchr(text, 0x1b));
	free(text);
}

/* ---- wrong use ---- */

#define WITH_FIELDS                                                                                \
	"[listen ids]\naddress = 127.0.0.1:5\nrequest-id = make\n[route keys]\npath = /keys\n"     \
	"origin = app\nrequest-set = X-Auth: secret\nrequest-set = X-Client: <{client}>\n"         \
	"request-add = X-User: {user}\nrequest-remove = X-Debug\nresponse-set = X-Id: "            \
	"{request-id}\n"

static void what_a_route_writes_is_told(void **state)
{
	(void)state;
	has(WITH_FIELDS, WORDS("--listen", "ids", "--client", "2001:db8::1", "http://a.test/keys"),
	    "listen ids, route keys, origin app\n"
	    "the origin gets x-auth: secret\n"
	    "the origin gets x-client: <2001:db8::1>\n"
	    "the origin gets no x-user: all that its value stands for is unknown\n"
	    "the origin gets no x-debug\n"
	    "the client gets x-id: 0123456789abcdef0123456789abcdef\n\n");
	has(WITH_FIELDS, WORDS("--user", "ada lovelace", "http://a.test/keys"),
	    "the origin gets x-user: ada%20lovelace\n");
	has(WITH_FIELDS, WORDS("http://a.test/keys"), "the client gets no x-id: all");
}

static void pages_of_admin_listeners_show_no_keys(void **state)
{
	(void)state;
	const struct explain_served served = {0};
	struct explain_options o;
	char words[3][32] = {"explain", "http://a.test/keys"};
	assert_int_equal(explain_parse(&o, 2, (char *[]){words[0], words[1], NULL}), EXPLAIN_OK);
	o.served = &served;
	char *text = printed(WITH_FIELDS, &o);
	assert_non_null(strstr(text, "route keys, origin app\n"));
	assert_null(strstr(text, "secret"));
	free(text);
}

static void wrong_words_are_refused(void **state)
{
	(void)state;
	static const char *const rows[][5] = {
	    {"explain", NULL},
	    {"explain", "http://a/", "http://b/", NULL},
	    {"explain", "http://a/", "--log", "x", NULL},
	    {"explain", "http://a/", "--client", "ie6", NULL},
	    {"explain", "http://a/", "--status", "99", NULL},
	    {"explain", "http://a/", "-H", ":path: /", NULL},
	    {"explain", "http://a/", "--rtt", "-1", NULL},
	    {"explain", "http://a/", "--nothing", NULL},
	    {"explain", "http://a/", "--promise", NULL},
	    {"explain", "http://a/", "--cert=cn:a", "--cert=/a", NULL},
	    {"explain", "http://a/", "--cert=/a", "--cert=cn:a", NULL},
	};
	FILE *kept = stderr;
	stderr = fopen("/dev/null", "w");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char storage[5][32], *argv[6] = {0};
		int argc = 0;
		for (; argc < 5 && rows[i][argc]; argc++)
			argv[argc] = strcpy(storage[argc], rows[i][argc]);
		struct explain_options o;
		assert_int_equal(explain_parse(&o, argc, argv), EXPLAIN_USAGE);
	}
	fclose(stderr);
	stderr = kept;
}

static void a_page_load_is_in_an_arm(void **state)
{
	(void)state;
	static const char conf[] =
	    "[push b]\naction = hint\n[preload p]\nadd = /a.css\nshare = 50%\n";
	has(conf, WORDS("--client", "chrome", "--client", "192.0.2.1", "http://example.com/"),
	    "\narm p=on: by its address this client gets the offers of [preload] sections with "
	    "share\n");
	has(conf, WORDS("--client", "chrome", "--client", "192.0.2.2", "http://example.com/"),
	    "\narm p=off: by its address this client gets no offers of [preload] sections with "
	    "share\n");
	has(conf, WORDS("--client", "chrome", "--client", "192.0.2.2", "http://example.com/"),
	    "\nThere are no offers.\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_page_load_is_in_an_arm),
	    cmocka_unit_test(a_promise_to_a_client_that_takes_pushes),
	    cmocka_unit_test(a_browser_gets_hints_and_what_is_held),
	    cmocka_unit_test(half_of_hint_and_hold_for_a_client_that_does_not_navigate),
	    cmocka_unit_test(the_scheme_chooses_the_listener_and_must_be_allowed),
	    cmocka_unit_test(a_route_that_answers_from_a_folder_is_named),
	    cmocka_unit_test(an_admin_listener_has_no_routes_to_explain),
	    cmocka_unit_test(links_of_a_103_and_what_is_taken_out_of_it),
	    cmocka_unit_test(links_that_no_verdict_could_use_are_said_to_be_unread),
	    cmocka_unit_test(links_of_the_response_and_why_they_are_no_offers),
	    cmocka_unit_test(what_a_manifest_offers),
	    cmocka_unit_test(an_origin_that_will_not_be_asked_for_pushes),
	    cmocka_unit_test(an_origin_with_push_refuse_makes_no_promises_whatever_the_rules_say),
	    cmocka_unit_test(an_origin_with_push_accept_has_its_promise_reset),
	    cmocka_unit_test(a_route_says_which_tunnels_may_be_opened),
	    cmocka_unit_test(a_connect_is_explained_as_the_proxy_answers_it),
	    cmocka_unit_test(a_route_says_which_limits_count_a_request),
	    cmocka_unit_test(a_client_with_http1_is_promised_nothing_and_hinted_by_a_rule_alone),
	    cmocka_unit_test(
		the_origins_103_goes_to_a_client_with_http1_unless_a_rule_keeps_it_back),
	    cmocka_unit_test(a_version_that_the_listener_does_not_speak_is_told),
	    cmocka_unit_test(an_origin_with_http1_makes_no_promises),
	    cmocka_unit_test(host_field_takes_the_place_of_the_urls_host),
	    cmocka_unit_test(a_request_that_is_answered_here),
	    cmocka_unit_test(each_guard_gives_its_reason),
	    cmocka_unit_test(the_condition_that_fails_is_named),
	    cmocka_unit_test(promises_through_a_forward_proxy),
	    cmocka_unit_test(a_log_under_the_same_rules_differs_in_nothing),
	    cmocka_unit_test(a_log_under_other_rules_shows_what_changes),
	    cmocka_unit_test(a_log_has_of_a_certificate_what_rules_look_at),
	    cmocka_unit_test(a_sampled_log_says_what_its_pushes_stand_for),
	    cmocka_unit_test(a_log_without_a_field_that_is_needed_is_refused),
	    cmocka_unit_test(a_worker_that_counts_anew_is_not_mixed_up),
	    cmocka_unit_test(the_nearest_request_of_a_name_is_the_parent),
	    cmocka_unit_test(what_a_terminal_would_obey_is_not_printed),
	    cmocka_unit_test(the_line_that_decided_is_named),
	    cmocka_unit_test(a_name_of_a_certificate_counts_where_the_listener_asks_for_one),
	    cmocka_unit_test(what_a_route_writes_is_told),
	    cmocka_unit_test(pages_of_admin_listeners_show_no_keys),
	    cmocka_unit_test(wrong_words_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
