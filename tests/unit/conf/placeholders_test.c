/* SPDX-License-Identifier: MIT */
/* Placeholders in the values of request-set and the like, as the configuration is read. */
#include "proxy/conf/conf.h"
#include "tests/unit/conf/load.h"

#include <string.h>

#define START LOAD_LISTEN "request-id = make\n" LOAD_ORIGIN

/* The parts as text: "before<NUMBER>…"; a value without parts as it is. */
static void divided(const char *value, const char *wanted)
{
	char text[1024], made[256] = "";
	snprintf(text, sizeof(text), START "[route r]\norigin = o\nrequest-set = X-A: %s\n", value);
	struct load load = load_fine(text, "");
	const struct conf_field *f = &load.conf->routes[0].request_fields.fields[0];
	size_t n = 0;
	for (size_t i = 0; i < f->parts.count; i++) {
		const struct conf_value_part *p = &f->parts.parts[i];
		n += (size_t)snprintf(made + n, sizeof(made) - n, "%.*s<%u>", SLICE_ARG(p->before), (unsigned)p->placeholder);
	}
	if (f->parts.count == 0)
		snprintf(made, sizeof(made), "%.*s", SLICE_ARG(f->value));
	assert_string_equal(made, wanted);
	load_free(&load);
}

/* covers: R643 */
static void values_are_divided_when_they_are_read(void **state)
{
	(void)state;
	char one[8], two[64];
	snprintf(one, sizeof(one), "<%u>", (unsigned)CONF_PLACEHOLDER_CLIENT);
	snprintf(two, sizeof(two), "for=<%u>;host=\"<%u>\"<0>", (unsigned)CONF_PLACEHOLDER_CLIENT, (unsigned)CONF_PLACEHOLDER_HOST);
	divided("{client}", one);
	divided("for={client};host=\"{host}\"", two);
	snprintf(two, sizeof(two), "<%u><%u>", (unsigned)CONF_PLACEHOLDER_PATH, (unsigned)CONF_PLACEHOLDER_QUERY);
	divided("{path}{query}", two);
	snprintf(two, sizeof(two), "{<%u>}<0>", (unsigned)CONF_PLACEHOLDER_REQUEST_ID);
	divided("{{{request-id}}", two);
}

/* covers: R643 */
static void other_braces_are_text(void **state)
{
	(void)state;
	divided("{\"group\":\"a\",\"max_age\":1,\"endpoints\":[{\"url\":\"https://a.example\"}]}",
	    "{\"group\":\"a\",\"max_age\":1,\"endpoints\":[{\"url\":\"https://a.example\"}]}");
	divided("{{client}", "{client}");
	divided("{}", "{}");
	divided("{ client}", "{ client}");
	divided("a{", "a{");
	divided("a}", "a}");
	divided("$ {", "$ {");
}

/* covers: R643 */
static void mistakes_name_their_line(void **state)
{
	(void)state;
#define ONE_OF                                                                                                           \
	"write one of {client} {host} {port} {scheme} {path} {query} {protocol} {tls} {user} {client-cert} {client-cert-subject} {client-cert-issuer} {client-cert-cn} {client-cert-fingerprint} {request-id} in braces, or {{ " \
	"for a brace itself"
	assert_refused(START "[route r]\norigin = o\nrequest-set = X-A: {clint}\nresponse-add = X-A: {client\nrequest-add = X-A: {Client}\n"
			     "response-set = X-A: {path}{path}{path}{path}{path}{path}{path}{path}{path}\n",
	    "test.ini:8: bad value 'X-A: {clint}' for request-set; " ONE_OF ", such as request-set = X-Gate: pushgate\n"
	    "test.ini:9: bad value 'X-A: {client' for response-add; " ONE_OF ", such as response-add = X-Served-For: example.com\n"
	    "test.ini:10: bad value 'X-A: {Client}' for request-add; " ONE_OF ", such as request-add = X-Environment: staging\n"
	    "test.ini:11: bad value 'X-A: {path}{path}{path}{path}{path}{path}{path}{path}{path}' for response-set; write at most 8 "
	    "placeholders, such as response-set = Referrer-Policy: same-origin\n");
}

/* covers: R643 */
static void placeholders_that_stand_for_nothing_are_warned_of(void **state)
{
	(void)state;
	struct load load = load_fine(
	    LOAD_LISTEN LOAD_ORIGIN "[route r]\norigin = o\nrequest-set = X-A: {request-id}\nresponse-set = X-B: {user} {tls} {client-cert-cn}\n",
	    "test.ini:5: warning: {request-id} of [route r] stands for nothing, because no [listen NAME] that it serves has request-id; add "
	    "request-id = make\n"
	    "test.ini:5: warning: {user} of [route r] stands for nothing, because no [listen NAME] that it serves has access; add one that "
	    "asks for users\n"
	    "test.ini:5: warning: {tls} of [route r] stands for nothing, because no [listen NAME] that it serves has a certificate; remove "
	    "it\n"
	    "test.ini:5: warning: {client-cert-cn} of [route r] stands for nothing, because no [listen NAME] that it serves has client-ca; "
	    "add it, or remove the placeholder\n");
	load_free(&load);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(values_are_divided_when_they_are_read),
	    cmocka_unit_test(other_braces_are_text),
	    cmocka_unit_test(mistakes_name_their_line),
	    cmocka_unit_test(placeholders_that_stand_for_nothing_are_warned_of),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
