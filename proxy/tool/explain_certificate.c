/* SPDX-License-Identifier: MIT */
/*
 * The certificate of an explained client: of a file, or names alone, which conditions with cert= look at. Whether the
 * listener asks for one; and of a file, whether its authorities would take it.
 */
#include "proxy/base/memory.h"
#include "proxy/http/authority.h"
#include "proxy/tool/explain.h"

bool explain_is_cert_name(const char *text)
{
	struct slice name = slice_of_string(text);
	/* A line feed would begin another one. */
	return client_certificate_pattern_is_valid(name) && !slice_equal(name, SLICE("*")) &&
	       slice_find(name, '\n') == name.len;
}

static const char *file_of(const struct explain_options *o)
{
	for (size_t i = 0; i < o->cert_count; i++)
		if (!explain_is_cert_name(o->certs[i]))
			return o->certs[i];
	return NULL;
}

struct client_certificate *explain_certificate(
    const struct explain_options *o, const char **wrong, const char **why)
{
	const char *file = file_of(o);
	char *names = NULL;
	size_t length = 0;
	*wrong = *why = NULL;
	if (file) {
		struct client_certificate *read = net_client_certificate_read(file, why);
		*wrong = read ? NULL : file;
		return read;
	}
	if (o->cert_count == 0)
		return NULL;
	FILE *out = open_memstream(&names, &length);
	for (size_t i = 0; out && i < o->cert_count; i++)
		fprintf(out, "%s\n", o->certs[i]);
	if (!out || fclose(out) != 0)
		length = 0; /* uncovered: memory is short */
	struct client_certificate *made =
	    client_certificate_new(slice_of(names, length), SLICE(""), SLICE(""));
	free(names);
	return made;
}

struct net_tls *explain_tls(const struct conf *conf, const struct conf_listen *l, FILE *errors)
{
	char error[256];
	if (!l || l->certificate_count == 0)
		return NULL;
	const struct net_tls_server_options options = {
	    .certificates = l->certificates,
	    .certificate_count = l->certificate_count,
	    .alpn = "h2",
	    .files = conf->sealed,
	};
	struct net_tls *tls = net_tls_server_new(&options, error, sizeof(error));
	if (tls && (!l->client_auth || net_tls_ask_clients(tls, &l->client_auth->net, conf->sealed,
					   error, sizeof(error))))
		return tls;
	net_tls_free(tls);
	fprintf(errors,
	    "pushgate explain: %s; assuming that the certificate covers all promised names\n",
	    error);
	return NULL;
}

/* Clients of a proxy ask for the proxy's own name, which is not known here. */
static struct slice name_of(const struct conf_listen *l, const struct http_head *request)
{
	struct http_authority a;
	bool has_host = !conf_listen_is_forward(l) &&
			http_authority_parse(request->authority, request->scheme, &a);
	return has_host ? a.host : SLICE("");
}

const struct net_client_ca *explain_client_ca(
    const struct conf_listen *l, const struct http_head *request)
{
	if (!l || !l->client_auth)
		return NULL;
	size_t row = conf_client_ca_of_name(l->client_auth, name_of(l, request));
	if (row == l->client_auth->net.count && conf_listen_is_forward(l))
		row = 0;
	return row < l->client_auth->net.count ? &l->client_auth->authorities[row] : NULL;
}

static void print_certificate(FILE *out, const struct client_certificate *c)
{
	struct slice rest = c->names, name = slice_cut(&rest, '\n');
	struct slice subject = client_certificate_name(c, SLICE("subject:"));
	fputs("its certificate: ", out);
	explain_print(out, subject.len > 0 ? subject : name);
	fputc('\n', out);
}

bool explain_handshake(FILE *out, const struct explain_scene *s, const struct explain_options *o,
    const struct net_tls *tls, const struct http_head *request)
{
	const struct conf_listen *l = s->listen;
	const struct net_client_ca *ca = explain_client_ca(l, request);
	const struct client_certificate *shown = s->who.certificate;
	const char *file = file_of(o), *wrong;
	if (!ca) {
		if (shown)
			fputs("the listener asks this client for no certificate, so that it shows "
			      "none\n",
			    out);
		return true;
	}
	if (shown)
		print_certificate(out, shown);
	if (!shown && ca->is_required)
		wrong = "peer did not return a certificate (--cert FILE shows one)";
	else
		wrong = shown && file && tls ? net_tls_refuses_client(tls,
						   (size_t)(ca - l->client_auth->authorities), file)
					     : NULL;
	if (wrong)
		fprintf(out,
		    "listen %s\n\nThe TLS handshake fails by client-ca = %s: %s.\nNothing is sent "
		    "to an origin.\n",
		    l->name, ca->ca_file, wrong);
	return !wrong;
}
