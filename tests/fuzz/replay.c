/* SPDX-License-Identifier: MIT */
/*
 * Runs a fuzz target once on each input of its corpus, without a fuzzer: what was found once stays
 * found. Inputs are the files that are named, or else those in tests/fuzz/corpus/NAME, where the
 * program is NAME_replay. An input that fails ends the program; its name is the last line.
 */
#include "proxy/base/ensure.h"
#include "proxy/base/memory.h"
#include "tests/fuzz/input.h"
#include <dirent.h>
#include <stdio.h>

static void replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	ensure(file && fseek(file, 0, SEEK_END) == 0);
	size_t size = (size_t)ftell(file);
	rewind(file);
	/* Of just this size, so that a read beyond the input is seen. */
	uint8_t *data = memory_alloc(size ? size : 1);
	ensure(fread(data, 1, size, file) == size);
	fclose(file);
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

static int is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static int replay_corpus(const char *program)
{
	char folder[256], path[1024];
	struct dirent **entries;
	const char *slash = strrchr(program, '/');
	const char *name = slash ? slash + 1 : program;
	snprintf(folder, sizeof(folder), "tests/fuzz/corpus/%.*s",
	    (int)(strlen(name) - strlen("_replay")), name);
	int count = scandir(folder, &entries, is_input, alphasort);
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
		free(entries[i]);
		replay(path);
	}
	if (count >= 0)
		free(entries);
	return count;
}

int main(int argc, char **argv)
{
	int count = argc - 1;
	for (int i = 1; i < argc; i++)
		replay(argv[i]);
	if (argc == 1)
		count = replay_corpus(argv[0]);
	bool is_empty = count <= 0;
	printf("%d passed, %d failed\n", is_empty ? 0 : count, is_empty);
	return is_empty;
}
