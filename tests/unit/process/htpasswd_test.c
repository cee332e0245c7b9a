/* SPDX-License-Identifier: MIT */
/* Files of users: which lines are good, which hashes, and whose password is right. */
#include "proxy/process/htpasswd.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Of the password "secret". */
#define YESCRYPT "$y$j75$wqlfEb4nWZ0dAGfVE0RhN/$lADL71Qg.J9x2fKNQJfzKzuULAkUnWJ3bgvwj1ugdc7"
#define BCRYPT "$2b$04$CCCCCCCCCCCCCCCCCCCCC.4K7lyz.nKATbsiu/RcZjqWyDNnj87qG"
#define SHA512 "$6$rounds=1000$salt$HNxBeBnDfSfUrTj6KiLnmd7tGCvHEmcExh8kl/S0cZ5WrCciNZgfhbpkeFQ4JfkHX.8vPq45lY0iINnCx1Lkm."
#define SHA512_USUAL "$6$saltsalt$TVLlQcbpFVof5W3Yz4DTP6gRstiNuHwwTt6GLc1E5n0U0aDehy0S5knV8wiOQSpT0Y77vwPZN.Pq.H91p5hVO1"
#define SHA256 "$5$saltsalt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA"

static struct htpasswd *good(const char *text)
{
	struct htpasswd_mistake m;
	struct htpasswd *h = htpasswd_parse(slice_of_string(text), &m);
	if (!h)
		fail_msg("%u: %s", m.line, m.text);
	return h;
}

static bool is_right(const struct htpasswd *h, const char *name, const char *password)
{
	return htpasswd_is_right(h, slice_of_string(name), slice_of_string(password));
}

static void password_is_right_by_each_kind_of_hash(void **state)
{
	(void)state;
	struct htpasswd *h = good("y:" YESCRYPT "\n\n# a comment\nb:" BCRYPT "\r\ns:" SHA512 "\nu:" SHA512_USUAL "\nt:" SHA256);
	static const char *const names[] = {"y", "b", "s", "u", "t"};
	assert_int_equal(htpasswd_count(h), 5);
	for (size_t i = 0; i < 5; i++) {
		assert_true(is_right(h, names[i], "secret"));
		assert_false(is_right(h, names[i], "Secret"));
		assert_false(is_right(h, names[i], "secret "));
		assert_false(is_right(h, names[i], ""));
	}
	assert_false(is_right(h, "Y", "secret"));
	assert_false(is_right(h, "", "secret"));
	assert_false(is_right(h, "nobody", "secret"));
	assert_false(htpasswd_is_right(h, SLICE("y"), slice_of("secret\0", 7)));
	htpasswd_free(h);
}

static void bcrypt_is_known_by_its_three_names(void **state)
{
	(void)state;
	struct htpasswd *h = good("a:$2a$04$CCCCCCCCCCCCCCCCCCCCC.4K7lyz.nKATbsiu/RcZjqWyDNnj87qG\n"
				  "b:$2y$04$CCCCCCCCCCCCCCCCCCCCC.4K7lyz.nKATbsiu/RcZjqWyDNnj87qG\n");
	assert_true(is_right(h, "a", "secret"));
	assert_true(is_right(h, "b", "secret"));
	htpasswd_free(h);
}

static void long_passwords_are_wrong(void **state)
{
	(void)state;
	char password[HTPASSWD_TEXT_BYTES + 2];
	memset(password, 'x', sizeof(password));
	struct htpasswd *h = good("b:" BCRYPT);
	assert_false(htpasswd_is_right(h, SLICE("b"), slice_of(password, HTPASSWD_TEXT_BYTES)));
	assert_false(htpasswd_is_right(h, SLICE("b"), slice_of(password, HTPASSWD_TEXT_BYTES + 1)));
	htpasswd_free(h);
}

static void file_without_users_knows_nobody(void **state)
{
	(void)state;
	static const char *const texts[] = {"", "\n", "# nobody\n", "\r\n\r\n"};
	for (size_t i = 0; i < 4; i++) {
		struct htpasswd *h = good(texts[i]);
		assert_int_equal(htpasswd_count(h), 0);
		assert_false(is_right(h, "a", "secret"));
		htpasswd_free(h);
	}
}

static void names_may_be_any_text_but_controls(void **state)
{
	(void)state;
	struct htpasswd *h = good("J\xc3\xb6rg M\xc3\xbcller:" BCRYPT "\n\"a, b\\\":" BCRYPT);
	assert_true(is_right(h, "J\xc3\xb6rg M\xc3\xbcller", "secret"));
	assert_true(is_right(h, "\"a, b\\\"", "secret"));
	htpasswd_free(h);
}

static void mistake_names_its_line(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t line;
		const char *what;
	} rows[] = {
	    {"a:" BCRYPT "\nb", 2, "there is no colon"},
	    {"\n:" BCRYPT, 2, "the name is empty"},
	    {"a\x01:" BCRYPT, 1, "control character"},
	    {"a\tb:" BCRYPT, 1, "control character"},
	    {"a:" BCRYPT "\n\na:" SHA256, 3, "line 1 has it too"},
	    {"a:secret", 1, "is no hash"},
	    {"a:", 1, "is no hash"},
	    {"a:$apr1$x$y", 1, "htpasswd -B"},
	    {"a:{SHA}abc", 1, "mkpasswd"},
	    {"a:rqXexS6ZhobKA", 1, "is no hash"},
	    {"a:$1$salt$hash", 1, "is no hash"},
	    {"a:$2y$03$CCCCCCCCCCCCCCCCCCCCC.4K7lyz.nKATbsiu/RcZjqWyDNnj87qG", 1, "cost 3"},
	    {"a:$2y$16$CCCCCCCCCCCCCCCCCCCCC.4K7lyz.nKATbsiu/RcZjqWyDNnj87qG", 1, "cost from 4 to 15"},
	    {"a:$2y$12$CCCC", 1, "bcrypt hash is malformed"},
	    {"a:$2y$1$CCCCCCCCCCCCCCCCCCCCC.4K7lyz.nKATbsiu/RcZjqWyDNnj87qG", 1, "bcrypt hash is malformed"},
	    {"a:$2b$04$CCCCCCCCCCCCCCCCCCCCC.4K7lyz.nKATbsiu/RcZjqWyDNnj87q:", 1, "bcrypt hash is malformed"},
	    {"a:$5$saltsaltsaltsalts$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA", 1, "SHA hash is malformed"},
	    {"a:$5$rounds=x$salt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA", 1, "SHA hash is malformed"},
	    {"a:$5$rounds=1000001$salt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA", 1, "1000001 rounds"},
	    {"a:$6$salt$0IyaXrmV7.sGNS6tirgqHLqX/G.FBvgkYA.lpPdS5sA", 1, "SHA hash is malformed"},
	    {"a:$y$jFT$wqlfEb4nWZ0dAGfVE0RhN/$lADL71Qg.J9x2fKNQJfzKzuULAkUnWJ3bgvwj1ugdc7", 1, "parameters jFT"},
	    {"a:$y$j9U$wqlfEb4nWZ0dAGfVE0RhN/$lADL71Qg.J9x2fKNQJfzKzuULAkUnWJ3bgvwj1ugdc7", 1, "parameters j9U"},
	    {"a:$y$j9T0$wqlfEb4nWZ0dAGfVE0RhN/$lADL71Qg.J9x2fKNQJfzKzuULAkUnWJ3bgvwj1ugdc7", 1, "parameters j9T0"},
	    {"a:$y$j9T$salt$short", 1, "yescrypt hash is malformed"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct htpasswd_mistake m;
		if (htpasswd_parse(slice_of_string(rows[i].text), &m))
			fail_msg("accepted: %s", rows[i].text);
		if (m.line != rows[i].line || !strstr(m.text, rows[i].what))
			fail_msg("%s: %u: %s", rows[i].text, m.line, m.text);
	}
}

static void files_are_bounded(void **state)
{
	(void)state;
	struct htpasswd_mistake m;
	size_t size = HTPASSWD_FILE_BYTES + 1, at = 0;
	char *text = malloc(size);
	memset(text, '\n', size);
	assert_null(htpasswd_parse(slice_of(text, size), &m));
	assert_string_equal(m.text, "the file is larger than 8 MiB");
	assert_null(htpasswd_parse(slice_of("a\0", 2), &m));
	assert_int_equal(m.line, 0);
	for (unsigned i = 0; i <= HTPASSWD_USERS; i++)
		at += (size_t)sprintf(text + at, "%u:%s\n", i, BCRYPT);
	assert_null(htpasswd_parse(slice_of(text, at), &m));
	assert_int_equal(m.line, HTPASSWD_USERS + 1);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(password_is_right_by_each_kind_of_hash),
	    cmocka_unit_test(bcrypt_is_known_by_its_three_names),
	    cmocka_unit_test(long_passwords_are_wrong),
	    cmocka_unit_test(file_without_users_knows_nobody),
	    cmocka_unit_test(names_may_be_any_text_but_controls),
	    cmocka_unit_test(mistake_names_its_line),
	    cmocka_unit_test(files_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
