/* SPDX-License-Identifier: MIT */
/* The dynamic table against a plain model of it, and the encoder's index over it. */
#include "tests/unit/hpack/kit.h"

#include "proxy/hpack/index.h"
#include "proxy/hpack/static.h"
#include "proxy/hpack/table.h"

#define MODEL_MAX 4096

/* The model: all entries ever put in, oldest first; those from `first` on are still there. */
struct model {
	struct {
		char text[64];
		uint32_t name_len, value_len;
	} entries[MODEL_MAX];
	uint32_t first, end, used;
};

static void model_evict(struct model *m, uint32_t max)
{
	for (; m->used > max; m->first++)
		m->used -= m->entries[m->first].name_len + m->entries[m->first].value_len + 32;
}

static void model_insert(struct model *m, uint32_t max, struct slice name, struct slice value)
{
	uint32_t size = (uint32_t)(name.len + value.len) + 32;

	model_evict(m, size > max ? 0 : max - size);
	if (size > max)
		return;
	assert_true(m->end < MODEL_MAX);
	if (name.len)
		memcpy(m->entries[m->end].text, name.ptr, name.len);
	if (value.len)
		memcpy(m->entries[m->end].text + name.len, value.ptr, value.len);
	m->entries[m->end].name_len = (uint32_t)name.len;
	m->entries[m->end].value_len = (uint32_t)value.len;
	m->end++;
	m->used += size;
}

static void expect_same(const struct table *t, const struct model *m)
{
	table_check(t);
	assert_int_equal(t->count, m->end - m->first);
	assert_int_equal(t->used_bytes, m->used);
	for (uint32_t age = 1; age <= t->count; age++) {
		const struct table_entry *e = table_at(t, age);
		const char *text = m->entries[m->end - age].text;
		uint32_t name_len = m->entries[m->end - age].name_len;
		assert_true(slice_equal(table_name(t, e), slice_of(text, name_len)));
		assert_true(slice_equal(table_value(t, e),
		    slice_of(text + name_len, m->entries[m->end - age].value_len)));
	}
}

static void table_behaves_as_its_model(void **state)
{
	static struct model m;
	(void)state;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint64_t random = seed;
		struct table t;

		memset(&m, 0, sizeof(m));
		table_init(&t, 1000);
		for (int step = 0; step < 1500; step++) {
			if (kit_below(&random, 50) == 0) {
				uint32_t max = kit_below(&random, 3000);
				table_set_max(&t, max);
				model_evict(&m, max);
			}
			char text[64];
			memset(text, 'a' + step % 26, sizeof(text));
			bool known = kit_below(&random, 2);
			struct slice name =
			    known ? SLICE("server") : slice_of(text, kit_below(&random, 20));
			struct slice value = slice_of(text, kit_below(&random, 40));
			table_insert(
			    &t, known ? HTTP_TOKEN_SERVER : HTTP_TOKEN_NONE, name, value, 99);
			model_insert(&m, t.max_bytes, name, value);
			if (step % 16 == 0)
				expect_same(&t, &m);
		}
		table_fini(&t);
	}
}

static void memory_is_bounded_by_the_size(void **state)
{
	(void)state;

	for (uint32_t value_len = 0; value_len < 5000; value_len = value_len * 2 + 1) {
		static char text[5000];
		struct table t;

		table_init(&t, 4096);
		assert_int_equal(table_memory(&t), 0);
		for (int i = 0; i < 1000; i++)
			table_insert(&t, HTTP_TOKEN_NONE, SLICE(""), slice_of(text, value_len), 99);
		/* A quarter more for the bytes, and 128 slots. */
		assert_true(
		    table_memory(&t) <= 4096 + 4096 / 4 + 1 + 128 * sizeof(struct table_entry));
		table_check(&t);
		table_fini(&t);
	}
}

static uint32_t pair_age(const struct index *x, const struct table *t, uint32_t key, uint16_t token, struct slice name,
    struct slice value)
{
	const struct http_field f = {.name = name, .value = value, .token = token};
	return index_find_pair(x, t, key, &f);
}

static void numbers_may_wrap(void **state)
{
	struct table t;
	struct index x = {0};
	(void)state;

	table_init(&t, 400);
	t.next = UINT32_MAX - 20;
	t.base = t.end = UINT32_MAX - 50;
	for (uint32_t i = 0; i < 100; i++) {
		char text[16];
		size_t n = (size_t)snprintf(text, sizeof(text), "v%u", i);
		assert_true(
		    table_insert(&t, HTTP_TOKEN_NONE, SLICE("n"), slice_of(text, n), 100 + i));
		index_insert(&x, &t, 7);
		table_check(&t);
		index_check(&x, &t);
		assert_int_equal(pair_age(&x, &t, 100 + i, HTTP_TOKEN_NONE, SLICE("n"),
				     slice_of(text, n)),
		    1);
		assert_int_equal(index_find_name(&x, &t, 7, HTTP_TOKEN_NONE, SLICE("n")), 1);
	}
	index_fini(&x);
	table_fini(&t);
}

static void index_tells_equal_keys_apart(void **state)
{
	struct table t;
	struct index x = {0};
	(void)state;

	/* The same key for all, as if every hash collided. */
	table_init(&t, 4096);
	assert_int_equal(pair_age(&x, &t, 99, HTTP_TOKEN_NONE, SLICE("a"), SLICE("1")), 0);
	assert_int_equal(index_find_name(&x, &t, 99, HTTP_TOKEN_NONE, SLICE("a")), 0);
	for (char c = 'a'; c <= 'z'; c++) {
		table_insert(&t, HTTP_TOKEN_NONE, slice_of(&c, 1), SLICE("1"), 99);
		index_insert(&x, &t, 99);
	}
	for (char c = 'a'; c <= 'z'; c++) {
		uint32_t age = (uint32_t)('z' - c) + 1;
		struct slice name = slice_of(&c, 1);
		assert_int_equal(
		    pair_age(&x, &t, 99, HTTP_TOKEN_NONE, name, SLICE("1")), age);
		assert_int_equal(pair_age(&x, &t, 99, HTTP_TOKEN_NONE, name, SLICE("2")), 0);
		assert_int_equal(
		    pair_age(&x, &t, 99, HTTP_TOKEN_SERVER, name, SLICE("1")), 0);
		assert_int_equal(index_find_name(&x, &t, 99, HTTP_TOKEN_NONE, name), age);
	}
	index_check(&x, &t);
	index_fini(&x);
	table_fini(&t);
}

static void static_table_and_tokens_agree(void **state)
{
	(void)state;

	for (uint32_t i = 1; i <= STATIC_ENTRIES; i++) {
		const struct static_entry *e = &static_table[i];
		assert_int_equal(http_token_find(e->name), e->token);
		assert_true(slice_equal(http_token_name(e->token), e->name));
		assert_int_equal(static_find(e->token, e->value), i);
		uint32_t first = static_name_index[e->token];
		assert_true(first >= 1 && first <= i);
		assert_true(first == 1 || static_table[first - 1].token != e->token);
	}
	for (int token = 0; token < HTTP_TOKEN_COUNT; token++) {
		if (static_name_index[token] == 0)
			assert_int_equal(static_find((enum http_token)token, SLICE("")), 0);
		else
			assert_int_equal(static_table[static_name_index[token]].token, token);
		assert_int_equal(static_find((enum http_token)token, SLICE("no such value")), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(table_behaves_as_its_model),
	    cmocka_unit_test(memory_is_bounded_by_the_size),
	    cmocka_unit_test(numbers_may_wrap),
	    cmocka_unit_test(index_tells_equal_keys_apart),
	    cmocka_unit_test(static_table_and_tokens_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
