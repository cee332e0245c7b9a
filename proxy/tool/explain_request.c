/* SPDX-License-Identifier: MIT */
/* Explains one request of a client that the command line describes, and all its offers. */
#include "proxy/base/ensure.h"
#include "proxy/http/link.h"
#include "proxy/tool/explain.h"
#include "proxy/tool/fetch.h"

/* Of a private network (RFC 1918). */
#define PROXY_CLIENT SLICE("10.0.0.1")

struct request {
	const struct explain_options *o;
	const struct conf *conf;
	FILE *out, *errors;
	struct explain_scene scene;
	struct manifests *manifests; /* owned; NULL: a manifest cannot be read */
	struct net_tls *tls;         /* the listener's certificates; NULL: none, or unreadable */
	unsigned shown, offers, actions[POLICY_ACTION_COUNT]; /* actions: of the offers that come */
};

static void on_decided(void *context, const struct explain_offer *e)
{
	struct request *r = context;
	struct explain_offer offer = *e;
	if (!r->scene.wants_pushes && e->offer->source == POLICY_RELAYED)
		offer.absence = "does not come";
	else if (r->scene.ignores_links && e->offer->source == POLICY_LINK)
		offer.absence = "is not read";
	explain_show(r->out, ++r->shown, &r->conf->policy, &offer);
	if (offer.absence)
		return;
	r->offers++;
	r->actions[e->verdict.action]++;
}

/* ---- the client ---- */

static const struct conf_listen *find_listen(const struct request *r, bool is_https)
{
	const struct conf *c = r->conf;
	struct slice scheme = is_https ? SLICE("https") : SLICE("http");
	bool is_connect = explain_connect(r->o->url).len > 0;
	const struct conf_listen *first = NULL;
	for (size_t i = 0; i < c->listen_count; i++) {
		const struct conf_listen *l = &c->listens[i];
		bool is_named = r->o->listen && strcmp(l->name, r->o->listen) == 0;
		if (is_named)
			return l;
		if (r->o->listen || l->mode == CONF_MODE_ADMIN)
			continue;
		const struct request_facts facts = {.listener = l, .peer = r->o->address};
		if (is_connect
			? conf_listen_is_forward(l)
			: l->proxy_protocol.is_required || route_may_use_scheme(&facts, scheme))
			return l;
		first = first ? first : l;
	}
	return first;
}

/* A proxy without a rule for it refuses the address for examples. */
static void choose_address(struct explain_options *o, const struct conf_listen *l)
{
	if (!o->has_address && conf_listen_is_forward(l))
		address_parse(PROXY_CLIENT, &o->address);
}

static void open_manifests(struct request *r)
{
	char error[512];
	r->manifests = manifests_open(r->conf, error, sizeof(error));
	if (!r->manifests)
		fprintf(r->errors, "pushgate explain: %s; continuing without manifests\n", error);
}

/* Without certificates every name counts as covered. */
static bool covers(const void *tls, struct slice host)
{
	return !tls || net_tls_covers(tls, host);
}

static struct client_facts client_of(const struct explain_options *o, const struct net_tls *tls)
{
	bool accepts_pushes = o->kind == EXPLAIN_PUSH;
	bool is_http1 = o->kind == EXPLAIN_HTTP1;
	return (struct client_facts){
	    .address = o->address,
	    .covers = covers,
	    .listener = tls,
	    .push_enabled = accepts_pushes,
	    .accepts_streams = true,
	    .takes_interim = true,
	    .hints_expected = !is_http1,
	    .rtt_usec = o->rtt_usec,
	};
}

static const char *const kind_texts[] = {
    [EXPLAIN_PUSH] = "HTTP/2, accepts pushes",
    [EXPLAIN_CHROME] = "HTTP/2, ENABLE_PUSH=0, navigates",
    [EXPLAIN_CURL] = "HTTP/2, ENABLE_PUSH=0",
    [EXPLAIN_HTTP1] = "HTTP/1.1",
};

/* Fields that such a client sends unless the command line gives them. */
static const struct {
	enum explain_kind kind;
	struct slice name, value;
} usual_fields[] = {
    {EXPLAIN_CHROME, SLICE_INIT("user-agent"),
	SLICE_INIT("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
		   "Chrome/131.0.0.0 Safari/537.36")},
    {EXPLAIN_CHROME, SLICE_INIT("sec-fetch-site"), SLICE_INIT("none")},
    {EXPLAIN_CHROME, SLICE_INIT("sec-fetch-mode"), SLICE_INIT("navigate")},
    {EXPLAIN_CHROME, SLICE_INIT("sec-fetch-user"), SLICE_INIT("?1")},
    {EXPLAIN_CHROME, SLICE_INIT("sec-fetch-dest"), SLICE_INIT("document")},
    {EXPLAIN_CURL, SLICE_INIT("user-agent"), SLICE_INIT("curl/8.5.0")},
};

/* As for `fetch`, -H host takes the place of the URL's host. */
static struct slice authority_of(const struct explain_options *o, const struct fetch_request *url)
{
	const struct tool_field *host = tool_find_field(&o->fields, SLICE("host"));
	return host ? host->value : url->authority;
}

static struct http_head *make_request(struct request *r, const struct fetch_request *url)
{
	const struct explain_options *o = r->o;
	struct http_head *head = http_head_new(r->scene.heads);
	head->version = o->kind == EXPLAIN_HTTP1 ? HTTP_VERSION_1_1 : HTTP_VERSION_2;
	struct slice connect = explain_connect(o->url);
	if (connect.len > 0) {
		http_head_add_token(head, HTTP_TOKEN_PSEUDO_METHOD, SLICE("CONNECT"));
		http_head_add_token(head, HTTP_TOKEN_PSEUDO_AUTHORITY, connect);
	} else {
		http_head_add_token(head, HTTP_TOKEN_PSEUDO_METHOD, SLICE("GET"));
		http_head_add_token(
		    head, HTTP_TOKEN_PSEUDO_SCHEME, url->is_https ? SLICE("https") : SLICE("http"));
		http_head_add_token(head, HTTP_TOKEN_PSEUDO_AUTHORITY, authority_of(o, url));
		http_head_add_token(head, HTTP_TOKEN_PSEUDO_PATH, url->path);
	}
	for (size_t i = 0; i < sizeof(usual_fields) / sizeof(usual_fields[0]); i++)
		if (usual_fields[i].kind == o->kind &&
		    !tool_find_field(&o->fields, usual_fields[i].name))
			http_head_add(head, usual_fields[i].name, usual_fields[i].value);
	for (size_t i = 0; i < o->fields.count; i++)
		if (!slice_equal(o->fields.list[i].name, SLICE("host")))
			http_head_add(head, o->fields.list[i].name, o->fields.list[i].value);
	return head;
}

/* ---- the origin ---- */

static int print_error(struct request *r, const char *what, const char *text, const char *why)
{
	fprintf(r->errors, "pushgate explain: %s %s: %s\n", what, text, why);
	return EXPLAIN_USAGE;
}

/* text: "/a.css" or "https://host/a.css", with an optional method before it ("HEAD /a.css"). */
static int promise(struct request *r, const char *text)
{
	const struct exchange *x = r->scene.x;
	struct slice reference = slice_of_string(text), method = SLICE("GET");
	size_t blank = slice_find(reference, ' ');
	if (blank < reference.len) {
		method = slice_sub(reference, 0, blank);
		reference = slice_trim(slice_from(reference, blank));
	}
	struct http_head *base = http_head_new(r->scene.heads),
			 *head = http_head_new(r->scene.heads);
	struct http_target target;
	base->scheme = x->request->scheme;
	base->authority = x->request->authority;
	/* The origin names it, by the paths that it knows. */
	base->path = route_origin_path(x->place.route, x->request->path, &base->arena);
	const char *wrong = "not a path or URL";
	if (http_target_resolve(&head->arena, base, reference, &target)) {
		http_head_add_token(head, HTTP_TOKEN_PSEUDO_METHOD, method);
		http_head_add_token(head, HTTP_TOKEN_PSEUDO_SCHEME, target.scheme);
		http_head_add_token(head, HTTP_TOKEN_PSEUDO_AUTHORITY, target.authority);
		http_head_add_token(head, HTTP_TOKEN_PSEUDO_PATH, target.path);
		/*
		 * Validate as a request only: the policy refuses promises with a wrong method or a
		 * body.
		 */
		wrong = http_head_validate(head, HTTP_REQUEST);
	}
	http_head_free(base);
	if (wrong) {
		http_head_free(head);
		return print_error(r, "--promise", text, wrong);
	}
	if (x->place.origin->push == CONF_PUSH_REFUSE || x->place.origin->protocols == CONF_HTTP1) {
		fprintf(r->out, "\n%u. relayed ", ++r->shown);
		explain_print_string(r->out, text);
		fputs(": does not come\n", r->out);
		http_head_free(head);
	} else {
		explain_promise(&r->scene, head);
	}
	return EXPLAIN_OK;
}

static int answer(struct request *r)
{
	const struct explain_options *o = r->o;
	struct http_head *head = http_head_new(r->scene.heads);
	http_head_add_token(
	    head, HTTP_TOKEN_PSEUDO_STATUS, arena_printf(&head->arena, "%u", o->status));
	for (size_t i = 0; i < o->response_fields.count; i++)
		http_head_add(
		    head, o->response_fields.list[i].name, o->response_fields.list[i].value);
	const char *wrong = http_head_validate(head, HTTP_RESPONSE);
	if (wrong) {
		http_head_free(head);
		return print_error(r, "the response", "is malformed", wrong);
	}
	if (tool_find_field(&o->response_fields, SLICE("link")) && !r->scene.x->pushes.takes_links)
		fputs("\nLink fields offer nothing here: no [preload] section with link = yes "
		      "matches the request.\n",
		    r->out);
	if (o->status < 200)
		explain_interim(r->out, &r->scene, o->status);
	exchange_on_response(r->scene.x, head, true);
	if (r->scene.ignores_links)
		fputs(
		    "\nThe gateway does not read these links, and neither logs nor counts them: no "
		    "verdict could use them.\n",
		    r->out);
	return EXPLAIN_OK;
}

/* ---- the run ---- */

static void print_request(struct request *r, const struct http_head *head)
{
	char address[64];
	const struct explain_options *o = r->o;
	struct request_facts facts = {
	    .listener = r->scene.listen, .head = head, .client = o->address, .peer = o->address};
	route_find_client(&facts);
	fputs(explain_connect(o->url).len > 0 ? "" : "GET ", r->out);
	explain_print_string(r->out, o->url);
	fputs("\n", r->out);
	if (facts.is_named)
		fprintf(r->out, "peer %s, ", address_format(&facts.peer, address, sizeof(address)));
	fprintf(r->out, "client %s: %s\n", address_format(&facts.client, address, sizeof(address)),
	    kind_texts[o->kind]);
}

static void print_route(struct request *r)
{
	struct exchange *x = r->scene.x;
	const struct conf_route *route = x->place.route;
	fprintf(r->out, "listen %s, route %s, origin %s\n",
	    r->scene.listen ? r->scene.listen->name : "-", route->name, x->place.origin->name);
	explain_upstream_proxy(r->out, x);
	if (route->side_count > 1)
		fprintf(r->out,
		    "the route's origins are %s; this client's address is on the side of %s\n",
		    route->origin_text, x->place.origin->name);
	if (route_rewrites(route, x->request->path)) {
		struct http_head *sent =
		    route_origin_request(&r->scene.routes, &x->facts, &x->place);
		fputs("the origin gets the path ", r->out);
		explain_print(r->out, sent->path);
		fputc('\n', r->out);
		http_head_free(sent);
	}
	for (size_t i = 0; i < route->upgrade_count; i++)
		fprintf(r->out, "%s%.*s%s", i == 0 ? "tunnels may be opened here: " : ", ",
		    SLICE_ARG(route->upgrades[i]), i + 1 == route->upgrade_count ? "\n" : "");
	for (size_t i = 0; i < route->request_limit_count; i++)
		fprintf(r->out, "counted by limit-requests = %s\n", route->request_limits[i].text);
	if (!r->o->served)
		explain_fields(r->out, x);
}

/* A route without origin. */
static void print_own_answer(struct request *r)
{
	struct exchange *x = r->scene.x;
	const struct conf_route *route = x->place.route;
	fprintf(r->out, "listen %s, route %s\n", r->scene.listen ? r->scene.listen->name : "-",
	    route->name);
	if (route->answer.status) {
		fprintf(r->out, "answered %u by the route\n", route->answer.status);
		return;
	}
	if (route->folder.path) {
		fprintf(r->out, "answered from the folder %s by the route\n", route->folder.path);
		return;
	}
	fprintf(r->out, "redirected with %u by the route, to ", route->redirect.status);
	explain_print(
	    r->out, route_redirect_target(&r->scene.routes, &x->facts, exchange_arena(x)));
	fputc('\n', r->out);
}

/* The gateway answers under any name that has a route; the client looks at the certificate before. Clients of a proxy
 * look for the proxy's own name there. */
static void print_certificate(struct request *r, const struct fetch_request *url)
{
	ensure(url->host != NULL); /* it is no CONNECT */
	struct slice host = slice_of_string(url->host);
	if (!r->tls || conf_listen_is_forward(r->scene.listen) || net_tls_covers(r->tls, host))
		return;
	fprintf(r->out, "no certificate of [listen %s] covers ", r->scene.listen->name);
	explain_print(r->out, host);
	fputs(": a client that verifies it ends the connection\n", r->out);
}

static void print_sum(struct request *r)
{
	if (r->offers == 0) {
		fputs("\nThere are no offers.\n", r->out);
		return;
	}
	fprintf(r->out, "\n%u offer%s:", r->offers, r->offers == 1 ? "" : "s");
	const char *mark = "";
	for (unsigned i = 0; i < POLICY_ACTION_COUNT; i++) {
		if (r->actions[i] == 0)
			continue;
		fprintf(r->out, "%s %u %s", mark, r->actions[i], policy_action_name(i));
		mark = ",";
	}
	fputc('\n', r->out);
	if (r->actions[POLICY_HOLD] + r->actions[POLICY_HINT_HOLD] > 0)
		fputs("\nA held response answers a later request only if it has Cache-Control: "
		      "max-age,\nLast-Modified or ETag.\n",
		    r->out);
}

static int play(struct request *r, const struct fetch_request *url)
{
	const char *detail;
	struct http_head *head = make_request(r, url);
	const char *wrong = http_head_validate(head, HTTP_REQUEST);
	if (wrong) {
		http_head_free(head);
		return print_error(r, "the request", "is malformed", wrong);
	}
	print_request(r, head);
	if (explain_unspoken(r->out, r->scene.listen, head->version) ||
	    !explain_handshake(r->out, &r->scene, r->o, r->tls, head)) {
		http_head_free(head);
		return EXPLAIN_OK;
	}
	const struct relay_cause *refusal = explain_ask(&r->scene, head, &detail);
	if (refusal == &relay_cause_ROUTE_REDIRECT || refusal == &relay_cause_FIXED_ANSWER ||
	    refusal == &relay_cause_FILE) {
		print_own_answer(r);
		return EXPLAIN_OK;
	}
	if (refusal == &relay_cause_ADMIN_PAGE) {
		fprintf(r->out,
		    "listen %s\nmode is admin: pushgate answers by itself, and no route is used\n",
		    r->scene.listen->name);
		return EXPLAIN_OK;
	}
	if (refusal) {
		explain_refusal(r->out, r->scene.x, refusal, detail);
		return EXPLAIN_OK;
	}
	if (explain_connect(r->o->url).len > 0) {
		explain_tunnel(r->out, r->scene.x);
		return EXPLAIN_OK;
	}
	print_route(r);
	print_certificate(r, url);
	explain_remembered(r->out, &r->scene, r->o->served);
	explain_dispatch(&r->scene);
	explain_arm(r->out, r->scene.x);
	if (!r->scene.wants_pushes || explain_is_without_pushes(r->scene.x))
		explain_no_pushes(r->out, r->scene.x, r->o->promise_count > 0);
	if (r->scene.x->pushes.is_subscription)
		fputs(
		    "\nThe request is a subscription: it gets an origin connection of its own, and "
		    "any number of pushes.\n",
		    r->out);
	int status = EXPLAIN_OK;
	for (size_t i = 0; i < r->o->promise_count && status == EXPLAIN_OK; i++)
		status = promise(r, r->o->promises[i]);
	if (status == EXPLAIN_OK)
		status = answer(r);
	if (status == EXPLAIN_OK)
		print_sum(r);
	return status;
}

int explain_url(
    const struct explain_options *given, const struct conf *conf, FILE *out, FILE *errors)
{
	struct explain_options own = *given, *o = &own;
	struct request r = {.o = o, .conf = conf, .out = out, .errors = errors};
	struct fetch_request url = {0};
	const char *wrong = explain_connect(o->url).len > 0 ? NULL : fetch_parse_url(&url, o->url);
	const char *cert, *why;
	struct client_certificate *certificate = explain_certificate(o, &cert, &why);
	int status = EXPLAIN_USAGE;
	const struct conf_listen *listen = find_listen(&r, url.is_https);
	if (wrong) {
		print_error(&r, "the URL", o->url, wrong);
	} else if (o->listen && !listen) {
		print_error(&r, "--listen", o->listen, "there is no such [listen] section");
	} else if (cert) {
		print_error(&r, "--cert", cert, why);
	} else {
		choose_address(o, listen);
		if (!o->served) {
			r.tls = explain_tls(conf, listen, errors);
			open_manifests(&r);
		}
		r.scene = (struct explain_scene){
		    .conf = conf,
		    .peer = o->address,
		    .listen = listen,
		    .client = client_of(o, r.tls),
		    .manifests = o->served ? o->served->manifests : r.manifests,
		    .tables = o->served ? o->served->tables : NULL,
		    .decided = on_decided,
		    .access = out,
		    .context = &r,
		};
		explain_scene_init(&r.scene);
		explain_set_user(&r.scene, o->user);
		explain_set_certificate(&r.scene, client_certificate_hold(certificate));
		status = play(&r, &url);
		explain_scene_fini(&r.scene);
		manifests_close(r.manifests);
		net_tls_free(r.tls);
	}
	client_certificate_release(certificate);
	fetch_request_fini(&url);
	return status;
}
