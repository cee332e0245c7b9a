/* SPDX-License-Identifier: MIT */
/*
 * The cases of the matrix. Each has a name of its column, a path behind the origin's prefix, and arguments of curl.
 *   down      only for clients of these versions
 *   input     what curl reads from stdin
 *   check     (run, seen, direct): more than "as without the gate"
 *   cut       the response must not look complete, whatever curl calls it
 *   started   (child, seen): what is done to curl while it runs; there is no answer to compare
 *   mayBeKnown  the body is empty, and its end may come with its head or behind it, as it happens: with it the gate
 *             sends content-length: 0 where curl sends no length
 *   differs   what curl gets without the gate is something else; isEarly: the origin sees part of the body
 *   mayFail   an exit status of curl over HTTP/2 that is its own fault
 *   times     how often the path is asked for by this one curl: over one connection
 */
import assert from 'node:assert/strict';
import { until } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';
import { bytes, digest, pieces } from './matrix-origin.mjs';

const MIB = 1 << 20;
const HTTP1 = ['h1', 'h1s'];
/* Over TLS it offers http/1.0 by ALPN. */
const OLD = ['--http1.0'];
/* curl would write the head to stdout too. */
const HEAD = ['-I', '-o', '/dev/null'];
const received = (size) => (run) => {
	assert.equal(run.length, size);
	assert.equal(run.digest, digest(size));
};
const uploaded = (size) => (run, [seen]) => {
	assert.equal(seen.bytes, size);
	assert.equal(seen.digest, digest(size));
	assert.equal(run.start, `${size} ${digest(size)}\n`);
};
const data = (size) => ({ args: ['-X', 'POST', '--data-binary', '@-', '-H', 'expect:'], input: () => pieces(size), check: uploaded(size) });
const statuses = (...list) => (run) => assert.deepEqual(run.heads.map((h) => h.status), list);
/* The origin has noticed that its client has gone, and never saw the end of the request's body. */
async function abandoned(seen, isUpload) {
	await until(() => `the origin sees that the client has gone: ${JSON.stringify(seen)}`, () => seen[0]?.closed, 20000 * SCALE);
	if (isUpload)
		assert.ok(seen[0].aborted, 'a part of a body must not look complete');
}
const killed = async (child, seen) => {
	await until('the origin reads the body', () => seen[0]?.bytes > 0, 20000 * SCALE);
	child.kill('SIGKILL');
};

/* `file(size)`: the name of a file with so many bytes. */
export const matrixCases = (file) => [
	{ name: 'get', path: '/page?x=1&y=%20', args: ['-H', 'x-twice: one', '-H', 'x-twice: two', '-H', 'x-empty;', '-b', 'a=1; b=2', '-H', 'accept: a/b, c/d;q=0.5'] },
	{ name: 'path', path: '/page//a/../%2e%2e/;p=1/[x]|?', args: [] },
	{ name: 'head', path: '/page', args: HEAD },
	{ name: 'headlen', path: '/length/100000', args: HEAD },
	{ name: 'headchnk', path: '/chunked/100000', args: HEAD },
	{ name: 'options', path: '/page', args: ['-X', 'OPTIONS'] },
	{ name: 'delete', path: '/page', args: ['-X', 'DELETE'] },
	{ name: 'propfind', path: '/upload', args: ['-X', 'PROPFIND', '--data-binary', '@-'], input: () => ['<propfind/>'] },
	{ name: 'len0', path: '/length/0', args: [], check: received(0) },
	{ name: 'len8M', path: `/length/${8 * MIB}`, args: [], check: received(8 * MIB) },
	{ name: 'chunk0', path: '/chunked/0', args: [], check: received(0) },
	{ name: 'chunk1', path: '/chunked/1', args: [], check: received(1) },
	{ name: 'chunk3M', path: '/chunked/3000001', args: [], check: received(3000001) },
	{ name: 'post0', path: '/upload', ...data(0) },
	{ name: 'post1', path: '/upload', ...data(1) },
	{ name: 'post64K', path: '/upload', ...data(65536) },
	{ name: 'post1M', path: '/upload', ...data(MIB + 1) },
	{ name: 'post32M', path: '/upload', args: ['-X', 'POST', '-H', 'expect:', '-T', file(32 * MIB)], check: uploaded(32 * MIB) },
	{ name: 'put0', path: '/upload', mayBeKnown: true, args: ['-T', '-', '-H', 'expect:'], input: () => [], check: uploaded(0) },
	{ name: 'putchunk', path: '/upload', args: ['-T', '-', '-H', 'expect:'], input: () => pieces(2 * MIB + 5), check: uploaded(2 * MIB + 5) },
	{ name: '100', path: '/upload', args: ['-X', 'POST', '-H', 'expect: 100-continue', '-T', file(200000)], check: (run, seen) => {
		statuses(100, 200)(run);
		uploaded(200000)(run, seen);
	} },
	{ name: '100chunk', path: '/upload', args: ['-T', '-', '-H', 'expect: 100-continue'], input: () => pieces(200000), check: (run, seen) => {
		statuses(100, 200)(run);
		uploaded(200000)(run, seen);
	} },
	/* curl 7.88 over HTTP/2 may lose an answer when RST_STREAM (NO_ERROR) comes with it, without the gate too. */
	{ name: 'no100', path: '/refused', differs: true, mayFail: 92, args: ['-X', 'POST', '-H', 'expect: 100-continue', '-T', file(200000)], check: (run, [seen]) => {
		if (run.code === 0)
			statuses(417)(run);
		assert.equal(seen.bytes, 0);
	} },
	{ name: 'verdict', path: '/verdict', isEarly: true, args: ['-T', '-', '-H', 'expect:'], input: () => pieces(2 * MIB), check: statuses(403) },
	{ name: 'trailers', path: '/trailers/70000', args: ['-H', 'te: trailers'], check: (run) => {
		received(70000)(run);
		assert.deepEqual(run.trailers, ['x-end: yes', 'x-sum: 70000']);
	} },
	{ name: 'trailer0', path: '/trailers/0', args: ['-H', 'te: trailers'], check: (run) => assert.deepEqual(run.trailers, ['x-end: yes', 'x-sum: 0']) },
	{ name: '103', path: '/early', args: [], check: statuses(103, 200) },
	{ name: '204', path: '/none', args: [], check: statuses(204) },
	{ name: '304', path: '/unmodified', args: ['-H', 'if-none-match: "v1"'], check: statuses(304) },
	{ name: '503', path: '/error', args: [], check: statuses(503) },
	{ name: 'field8K', path: '/field/8000', args: ['-H', `x-large: ${'q'.repeat(6000)}`], check: statuses(200) },
	/* curl 7.88 fails with a second request in cleartext. */
	{ name: 'reuse', path: '/page', times: 3, down: ['h1', 'h1s', 'h2'], args: ['-w', '%{stderr}%{num_connects}\n'], check: (run) => assert.equal(run.said, '1\n0\n0\n') },
	{ name: 'noALPN', path: '/page', down: ['h1s'], args: ['--no-alpn'] },
	{ name: 'upgrade', path: '/page', down: ['h1'], args: ['--http2'] },
	{ name: '1.0', path: '/page', down: HTTP1, args: [...OLD] },
	{ name: '1.0post', path: '/upload', down: HTTP1, args: [...OLD, '--data-binary', '@-'], input: () => pieces(65536), check: uploaded(65536) },
	{ name: '1.0chunk', path: '/chunked/300000', down: HTTP1, args: [...OLD], check: received(300000) },
	{ name: '1.0early', path: '/early', down: HTTP1, args: [...OLD], check: statuses(200), differs: true },
	{ name: '1.0cut', path: '/cutchunk/300000', down: HTTP1, args: [...OLD], cut: 300000 },
	{ name: 'cut', path: '/cut/300000', args: [], cut: 300000 },
	{ name: 'cutchunk', path: '/cutchunk/300000', args: [], cut: 300000 },
	{ name: 'slowread', path: `/length/${6 * MIB}`, args: ['--limit-rate', '4M'], check: received(6 * MIB) },
	{ name: 'slowtake', path: '/slow', args: ['-X', 'POST', '-H', 'expect:', '-T', file(4 * MIB)], check: uploaded(4 * MIB) },
	{ name: 'leaves', path: '/endless', args: ['--max-filesize', '1000000'], check: async (run, seen) => {
		assert.equal(run.code, 63);
		await abandoned(seen, false);
	} },
	{ name: 'stopsup', path: '/patient', args: ['-X', 'POST', '-H', 'expect:', '--limit-rate', '500k', '-T', file(8 * MIB)],
		started: killed, check: (run, seen) => abandoned(seen, true) },
	{ name: 'stopschk', path: '/patient', args: ['-T', '-', '-H', 'expect:'], input: () => [bytes(100000)],
		started: killed, check: (run, seen) => abandoned(seen, true) },
];
