/* SPDX-License-Identifier: MIT */
/* `pushgate help-config` and `help-config example` say all that the option table says. */
#include "proxy/conf/option.h"
#include "tests/unit/conf/load.h"

/* Words with single spaces between them; without the marks of comments. */
static char *words_of(const char *text)
{
	char *words = malloc(strlen(text) + 2);
	size_t n = 0;
	while (*text) {
		size_t gap = strspn(text, " \n;"), word = strcspn(text + gap, " \n");
		memcpy(words + n, text + gap, word);
		n += word;
		words[n++] = ' ';
		text += gap + word;
	}
	words[n] = '\0';
	return words;
}

static void assert_has_each_sentence(char *text)
{
	char *words = words_of(text);
	for (size_t i = 0; i < conf_option_count; i++) {
		char *sentence = words_of(conf_options[i].sentence);
		if (!strstr(words, sentence))
			fail_msg("%s: '%s'", conf_options[i].key, sentence);
		free(sentence);
	}
	free(words);
	free(text);
}

static void the_help_has_each_sentence_to_its_end(void **state)
{
	(void)state;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	conf_print_help(out, NULL);
	fclose(out);
	assert_has_each_sentence(text);
}

static void the_example_has_each_sentence_to_its_end(void **state)
{
	(void)state;
	char *text;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	conf_print_help(out, "example");
	fclose(out);
	assert_has_each_sentence(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_help_has_each_sentence_to_its_end),
	    cmocka_unit_test(the_example_has_each_sentence_to_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
