/* SPDX-License-Identifier: MIT */
/* What each path of the honest origin has as its body: the origin sends it, the honest client compares. */
const SIZES = { '/large': 65536, '/huge': 8 << 20 };
const made = new Map();

export function bodyOf(path) {
	if (!made.has(path))
		made.set(path, Buffer.alloc(SIZES[path] ?? 1024, `${path} `));
	return made.get(path);
}
