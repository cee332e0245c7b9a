/* SPDX-License-Identifier: MIT */
/* A small file system, to be filled. It needs the permission to mount, and goes with this process. */
import { execFileSync, spawnSync } from 'node:child_process';

export function mountTmpfs(folder, size) {
	execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0777`, 'none', folder], { stdio: 'pipe' });
	const end = () => spawnSync('umount', ['-l', folder]);
	process.once('exit', end);
	return end;
}
