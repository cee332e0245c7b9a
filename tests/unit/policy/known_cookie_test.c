/* SPDX-License-Identifier: MIT */
/* The diary as a cookie: there and back, and what is refused on the way back. */
#include "policy/known_cookie.h"
#include "proxy/base/hash.h"
#include "tests/unit/policy/offer.h"

static const uint64_t now = 1700000000, week = 7 * 86400;

/* Keyed well enough for a test. context: one seed for each key. */
static void digest(void *context, unsigned key, struct slice text, uint8_t out[POLICY_COOKIE_MAC])
{
	const uint64_t *seeds = context;
	for (unsigned i = 0; i < POLICY_COOKIE_MAC / 8; i++) {
		uint64_t hash = hash_bytes(seeds[key] + i, text.ptr, text.len);
		memcpy(out + 8 * i, &hash, 8);
	}
}

static uint64_t seeds_now[] = {11, 22}, seeds_before[] = {22, 33}, seeds_elsewhere[] = {44, 55};
static const struct policy_cookie_keys keys = {2, digest, seeds_now};

static uint64_t key_of(unsigned n)
{
	return hash_bytes(5, &n, sizeof n);
}

static struct slice written(
    char text[POLICY_COOKIE_TEXT], unsigned count, const struct policy_cookie_keys *by)
{
	struct policy_cookie_set set = {.count = 0};
	for (unsigned i = 0; i < count; i++)
		policy_cookie_add(&set, key_of(i), 0);
	return slice_of(text, policy_cookie_write(&set, by, now + week, text));
}

static bool is_read(struct slice text)
{
	struct policy_cookie_set set;
	bool is_good = policy_cookie_read(&set, &keys, text, now, week);
	assert_true(is_good || set.count == 0);
	return is_good;
}

static void set_comes_back_as_it_was(void **state)
{
	(void)state;
	static const unsigned counts[] = {0, 1, 2, 3, 17, 100, 200};
	char text[POLICY_COOKIE_TEXT];
	for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
		struct policy_cookie_set set;
		struct slice value = written(text, counts[c], &keys);
		assert_true(policy_cookie_read(&set, &keys, value, now, week));
		assert_int_equal(set.count, counts[c]);
		for (unsigned i = 0; i < counts[c]; i++)
			assert_true(policy_cookie_has(&set, key_of(i), 0));
		for (unsigned i = 1000; i < 1100; i++)
			assert_false(policy_cookie_has(&set, key_of(i), 0));
	}
}

static void removed_key_is_gone_and_others_stay(void **state)
{
	(void)state;
	struct policy_cookie_set set = {.count = 0};
	assert_false(policy_cookie_remove(&set, key_of(0), 0));
	for (unsigned i = 0; i < POLICY_COOKIE_MOST; i++)
		assert_true(policy_cookie_add(&set, key_of(i), 0));
	for (unsigned gone = 0; gone < POLICY_COOKIE_MOST; gone++) {
		assert_true(policy_cookie_remove(&set, key_of(gone), 0));
		assert_false(policy_cookie_remove(&set, key_of(gone), 0));
		assert_int_equal(set.count, POLICY_COOKIE_MOST - gone - 1);
		for (unsigned i = 0; i < POLICY_COOKIE_MOST; i++)
			assert_int_equal(policy_cookie_has(&set, key_of(i), 0), i > gone);
	}
}

static void extreme_hashes_come_back(void **state)
{
	(void)state;
	char text[POLICY_COOKIE_TEXT];
	struct policy_cookie_set set = {.count = 0}, back;
	static const uint64_t extremes[] = {
	    0, UINT64_C(1) << 40, UINT64_MAX, UINT64_MAX - (UINT64_C(1) << 40)};
	for (size_t i = 0; i < 4; i++)
		assert_true(policy_cookie_add(&set, extremes[i], 0));
	assert_false(policy_cookie_add(&set, 1, 0)); /* the same as 0, cut */
	size_t length = policy_cookie_write(&set, &keys, now + 1, text);
	assert_true(policy_cookie_read(&back, &keys, slice_of(text, length), now, week));
	assert_memory_equal(&back, &set, 4 * sizeof(uint32_t));
	assert_int_equal(back.count, 4);
}

static void value_is_made_of_cookie_bytes_and_bounded(void **state)
{
	(void)state;
	char text[POLICY_COOKIE_TEXT];
	/* Far apart, so that each difference is as long as it can be. */
	struct policy_cookie_set set = {.count = 0};
	for (uint64_t i = 0; i < POLICY_COOKIE_MOST; i++)
		assert_true(policy_cookie_add(&set, i << 56, 0));
	size_t length = policy_cookie_write(&set, &keys, now + week, text);
	assert_in_range(length, 900, POLICY_COOKIE_TEXT);
	for (size_t i = 0; i < length; i++)
		assert_true(strchr(
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", text[i]));
	assert_true(is_read(slice_of(text, length)));
}

static void set_that_does_not_fit_is_shortened(void **state)
{
	(void)state;
	char text[POLICY_COOKIE_TEXT];
	struct policy_cookie_set set = {.count = 0}, back;
	/* Evenly spread, each difference takes three bytes: more than there is room for. */
	for (uint64_t i = 0; i < POLICY_COOKIE_MOST; i++)
		assert_true(policy_cookie_add(&set, i << 56, 0));
	assert_false(policy_cookie_add(&set, UINT64_MAX, 0));
	size_t length = policy_cookie_write(&set, &keys, now + week, text);
	assert_true(policy_cookie_read(&back, &keys, slice_of(text, length), now, week));
	assert_in_range(back.count, 240, POLICY_COOKIE_MOST - 1);
	assert_int_equal(back.count, set.count);
	assert_memory_equal(back.hashes, set.hashes, set.count * sizeof set.hashes[0]);
}

static void every_changed_byte_is_noticed(void **state)
{
	(void)state;
	char text[POLICY_COOKIE_TEXT];
	struct slice value = written(text, 50, &keys);
	assert_true(is_read(value));
	for (size_t i = 0; i < value.len; i++) {
		char old = text[i];
		text[i] = old == 'A' ? 'B' : 'A';
		assert_false(is_read(value));
		text[i] = '=';
		assert_false(is_read(value));
		text[i] = old;
	}
}

static void cut_or_extended_values_are_refused(void **state)
{
	(void)state;
	char text[POLICY_COOKIE_TEXT + 8];
	struct slice value = written(text, 50, &keys);
	for (size_t n = 0; n < value.len; n++)
		assert_false(is_read(slice_sub(value, 0, n)));
	memset(text + value.len, 'A', sizeof text - value.len);
	for (size_t n = value.len + 1; n <= sizeof text; n++)
		assert_false(is_read(slice_of(text, n)));
	assert_false(is_read((struct slice){NULL, 0}));
	memset(text + value.len, '!', sizeof text - value.len);
	for (size_t n = value.len + 1; n <= sizeof text; n++)
		assert_false(is_read(slice_of(text, n)));
}

static void keys_may_be_changed_once_without_loss(void **state)
{
	(void)state;
	char text[POLICY_COOKIE_TEXT];
	const struct policy_cookie_keys before = {2, digest, seeds_before},
					elsewhere = {2, digest, seeds_elsewhere};
	assert_true(is_read(written(text, 5, &before))); /* its first key is our second */
	assert_false(is_read(written(text, 5, &elsewhere)));
	const struct policy_cookie_keys alone = {1, digest, seeds_now};
	struct policy_cookie_set set;
	assert_false(policy_cookie_read(&set, &alone, written(text, 5, &before), now, week));
	assert_true(policy_cookie_read(&set, &alone, written(text, 5, &keys), now, week));
}

static void expiry_is_obeyed(void **state)
{
	(void)state;
	char text[POLICY_COOKIE_TEXT];
	struct policy_cookie_set set;
	struct slice value = written(text, 5, &keys); /* until now + week */
	assert_true(policy_cookie_read(&set, &keys, value, now + week - 1, week));
	assert_false(policy_cookie_read(&set, &keys, value, now + week, week));
	assert_false(policy_cookie_read(&set, &keys, value, now + 10 * week, week));
	/* Longer than is given now: from before the configuration was changed. */
	assert_false(policy_cookie_read(&set, &keys, value, now, week - 1));
}

/* Signs n bytes; raw has room for the MAC. */
static bool signed_is_read(uint8_t *raw, size_t n)
{
	static const char letters[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint8_t mac[POLICY_COOKIE_MAC];
	char text[POLICY_COOKIE_TEXT];
	size_t out = 0;
	digest(seeds_now, 0, slice_of(raw, n), mac);
	memcpy(raw + n, mac, 16);
	n += 16;
	for (size_t bit = 0; bit < 8 * n; bit += 6) {
		unsigned value = 0;
		for (size_t b = bit; b < bit + 6; b++)
			value = value << 1 | (b < 8 * n && raw[b / 8] & 0x80u >> b % 8);
		text[out++] = letters[value];
	}
	return is_read(slice_of(text, out));
}

/* Signed well, and still not what we write. */
static bool raw_is_read(const uint8_t *body, size_t length)
{
	uint8_t raw[512];
	size_t n = 0;
	uint64_t expires = now + 1;
	raw[n++] = 2;
	for (int i = 3; i >= 0; i--)
		raw[n++] = (uint8_t)(expires >> (8 * i));
	memcpy(raw + n, body, length);
	return signed_is_read(raw, n + length);
}

static void signed_nonsense_is_refused(void **state)
{
	(void)state;
	assert_true(raw_is_read((const uint8_t *)"", 0));
	assert_true(raw_is_read((const uint8_t *)"\x00\x00", 2));
	assert_true(raw_is_read((const uint8_t *)"\xff\xff\xff\x07", 4)); /* 2^24 - 1 */
	assert_false(
	    raw_is_read((const uint8_t *)"\xff\xff\xff\x07\x00", 5)); /* one more than that */
	assert_false(raw_is_read((const uint8_t *)"\xff\xff\xff\x08", 4));
	assert_false(raw_is_read((const uint8_t *)"\x80", 1));     /* cut off */
	assert_false(raw_is_read((const uint8_t *)"\x80\x00", 2)); /* not the shortest */
	assert_false(raw_is_read((const uint8_t *)"\xff\xff\xff\xff\x00", 5));
}

static struct policy_diary_note note_of(uint32_t validator, bool is_common, uint32_t fresh_until_sec)
{
	return (struct policy_diary_note){.state = POLICY_DIARY_HAD,
	    .validator = validator,
	    .is_common = is_common,
	    .fresh_until_sec = fresh_until_sec};
}

static void newest_of_the_diary_go_before_what_was_in_the_cookie(void **state)
{
	(void)state;
	struct policy_diary diary;
	struct policy_cookie_set set = {.count = 0};
	const struct policy_diary_note note = note_of(0, false, 100);
	for (unsigned i = 0; i < POLICY_COOKIE_MOST; i++)
		assert_true(policy_cookie_add(&set, key_of(i), 0));
	policy_diary_init(&diary, 1000);
	for (unsigned i = 1000; i < 1010; i++)
		policy_diary_put(&diary, key_of(i), &note);
	assert_true(policy_cookie_merge(&set, &diary, 100));
	assert_int_equal(set.count, POLICY_COOKIE_MOST);
	for (unsigned i = 1000; i < 1010; i++)
		assert_true(policy_cookie_has(&set, key_of(i), 0));
	for (unsigned i = 2000; i < 3000; i++)
		policy_diary_put(&diary, key_of(i), &note);
	assert_false(policy_cookie_merge(&set, &diary, 100));
	for (unsigned i = 3000 - POLICY_COOKIE_MOST; i < 3000; i++)
		assert_true(policy_cookie_has(&set, key_of(i), 0));
	policy_diary_fini(&diary);
}

static void only_what_can_be_known_later_is_taken_from_the_diary(void **state)
{
	(void)state;
	const struct {
		struct policy_diary_note note;
		bool with_version, without;
	} rows[] = {
	    {note_of(5, true, 0), true, false},
	    {note_of(5, true, 1000), true, false},
	    {note_of(5, false, 99), false, false},
	    {note_of(5, false, 100), false, true},
	    {note_of(0, false, 99), false, false},
	    {note_of(0, false, 100), false, true},
	    {{.state = POLICY_DIARY_PUSHED_ONCE, .page = 5, .fresh_until_sec = 1000}, false, false},
	    {{.state = POLICY_DIARY_PUSHED_UNANSWERED, .coding = 5, .fresh_until_sec = 1000}, false, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct policy_cookie_set set = {.count = 0};
		struct policy_diary diary;
		policy_diary_init(&diary, 10);
		policy_diary_put(&diary, key_of(1), &rows[i].note);
		assert_false(policy_cookie_merge(&set, &diary, 100));
		assert_int_equal(set.count, rows[i].with_version || rows[i].without);
		assert_int_equal(policy_cookie_has(&set, key_of(1), 5), rows[i].with_version);
		assert_false(policy_cookie_has(&set, key_of(1), 6));
		assert_int_equal(policy_cookie_has(&set, key_of(1), 0), rows[i].without);
		policy_diary_fini(&diary);
	}
}

static void cookie_of_the_format_before_is_not_believed(void **state)
{
	(void)state;
	uint8_t raw[5 + POLICY_COOKIE_MAC] = {1, (uint8_t)((now + 1) >> 24), (uint8_t)((now + 1) >> 16),
	    (uint8_t)((now + 1) >> 8), (uint8_t)(now + 1)};
	assert_false(signed_is_read(raw, 5));
	raw[0] = 2;
	assert_true(signed_is_read(raw, 5));
}

/* Bytes that stand where a letter would if its range went on: they are no other way to write it. */
static void letters_beyond_the_alphabet_are_refused(void **state)
{
	(void)state;
	static const char *const letters[] = {"ab", "0123", "-_"}, *const beyond[] = {"[\\", "{|}~", ":;"};
	char text[POLICY_COOKIE_TEXT];
	unsigned tried = 0;
	struct slice value = written(text, 200, &keys);
	assert_true(is_read(value));
	for (size_t i = 0; i < value.len; i++) {
		char before = text[i];
		for (size_t range = 0; range < 3; range++) {
			const char *letter = strchr(letters[range], before);
			if (!letter)
				continue;
			text[i] = beyond[range][letter - letters[range]];
			assert_false(is_read(value));
			text[i] = before;
			tried |= 1u << range;
		}
	}
	assert_int_equal(tried, 7);
	assert_true(is_read(value));
}

/* Nobody could have written more: what is signed is not believed for that alone. */
static void more_resources_than_there_may_be_are_refused(void **state)
{
	(void)state;
	uint8_t body[POLICY_COOKIE_MOST + 1] = {0}; /* each is one above the one before */
	assert_true(raw_is_read(body, POLICY_COOKIE_MOST));
	assert_false(raw_is_read(body, POLICY_COOKIE_MOST + 1));
}

static void expiry_is_cut_to_what_the_cookie_can_say(void **state)
{
	(void)state;
	char text[POLICY_COOKIE_TEXT];
	struct policy_cookie_set set = {.count = 0}, back;
	size_t length = policy_cookie_write(&set, &keys, UINT64_C(1) << 40, text);
	struct slice value = slice_of(text, length);
	assert_true(policy_cookie_read(&back, &keys, value, UINT32_MAX - 1u, week));
	assert_false(policy_cookie_read(&back, &keys, value, UINT32_MAX, week));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(set_comes_back_as_it_was),
	    cmocka_unit_test(removed_key_is_gone_and_others_stay),
	    cmocka_unit_test(extreme_hashes_come_back),
	    cmocka_unit_test(value_is_made_of_cookie_bytes_and_bounded),
	    cmocka_unit_test(set_that_does_not_fit_is_shortened),
	    cmocka_unit_test(every_changed_byte_is_noticed),
	    cmocka_unit_test(cut_or_extended_values_are_refused),
	    cmocka_unit_test(keys_may_be_changed_once_without_loss),
	    cmocka_unit_test(expiry_is_obeyed),
	    cmocka_unit_test(signed_nonsense_is_refused),
	    cmocka_unit_test(newest_of_the_diary_go_before_what_was_in_the_cookie),
	    cmocka_unit_test(only_what_can_be_known_later_is_taken_from_the_diary),
	    cmocka_unit_test(cookie_of_the_format_before_is_not_believed),
	    cmocka_unit_test(letters_beyond_the_alphabet_are_refused),
	    cmocka_unit_test(more_resources_than_there_may_be_are_refused),
	    cmocka_unit_test(expiry_is_cut_to_what_the_cookie_can_say),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
