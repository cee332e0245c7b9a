/* SPDX-License-Identifier: MIT */
/* For the tests of conf/: loads a text, keeps what was complained of. */
#ifndef PUSHGATE_TESTS_CONF_LOAD_H
#define PUSHGATE_TESTS_CONF_LOAD_H

#include "proxy/conf/conf.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

/* What most files need besides what a test is about. */
#define LOAD_ORIGIN "[origin o]\nserver = demo:\n"
#define LOAD_ROUTE "[route r]\norigin = o\n"
#define LOAD_LISTEN "[listen l]\naddress = 127.0.0.1:8443\n"
#define LOAD_REST LOAD_LISTEN LOAD_ORIGIN LOAD_ROUTE

struct load {
	struct conf *conf;
	char *errors; /* "" when there were none */
	size_t errors_length;
};

static inline struct load load_bytes(struct slice text, bool opens_files)
{
	struct load load = {0};
	FILE *errors = open_memstream(&load.errors, &load.errors_length);
	load.conf = conf_load_text(text, "test.ini", opens_files, errors);
	fclose(errors);
	return load;
}

static inline struct load load_text(const char *text)
{
	return load_bytes(slice_of_string(text), false);
}

static inline struct load load_file(const char *path, bool opens_files)
{
	struct load load = {0};
	FILE *errors = open_memstream(&load.errors, &load.errors_length);
	load.conf = conf_load(path, opens_files, &(struct conf_findings){.text = errors});
	fclose(errors);
	return load;
}

static inline void load_free(struct load *load)
{
	conf_free(load->conf);
	free(load->errors);
}

/* The text is refused with exactly these lines. */
static inline void assert_refused(const char *text, const char *errors)
{
	struct load load = load_text(text);
	assert_string_equal(load.errors, errors);
	assert_null(load.conf);
	load_free(&load);
}

/* The text is fine but for these warnings ("" = none). */
static inline struct load load_fine(const char *text, const char *warnings)
{
	struct load load = load_text(text);
	assert_string_equal(load.errors, warnings);
	assert_non_null(load.conf);
	return load;
}

#endif
