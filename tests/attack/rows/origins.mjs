/* SPDX-License-Identifier: MIT */
/* Attacks by an origin, over the connections that requests of a client have opened to it. */
import { FLAG, frame, settingsPayload, u32 } from '../../support/frames.mjs';
import { Encoder } from '../../support/hpack.mjs';
import { Raw, Tally, addressOf, originOn, request, sleep } from '../raw.mjs';

const head = new Encoder().encode({ ':status': 200 });

/* Answers a request with reply(stream, n) for n = 0, 1, … in parts, as long as that gives something. */
const answering = (reply) => (env) => originOn(env.evil, async (c, stream) => {
	for (let n = 0; ; n++) {
		const part = reply(stream, n, c);
		if (!part || !c.send(part.octets, part.frames))
			return;
		await sleep(1);
	}
});
const times = (count, make) => {
	const frames = Array.from({ length: count }, (_, i) => make(i)).flat();
	return { octets: Buffer.concat(frames), frames: frames.length };
};
/* The same frames again and again. */
const forever = (frames, size = 100) => {
	const part = times(Math.ceil(size / frames.length), () => frames);
	return () => part;
};

/* A client that asks the origin for one page after the other; what counts is what its connections went through. */
async function visit(env, clock) {
	const tally = new Tally();
	const before = env.server.length;
	const evil = { ...env, authority: 'evil.test' };
	const c = new Raw(env, { from: addressOf(0) });
	await c.begin();
	for (let id = 1; !c.over && clock.goesOn && id < 2000; id += 2) {
		c.send(request(evil, id, { path: '/' }));
		await Promise.race([c.gone, sleep(20)]);
	}
	await c.close();
	for (const up of env.server.slice(before)) {
		tally.add(up);
		up.socket.destroy();
	}
	return tally;
}

/* covers: what the first argument names. */
const row = (covers, name, what, reply, expect) => ({
	covers, name: `origin: ${name}`, what, side: 'origin', listen: answering(reply), attack: visit, expect: { log: /origin evil|route evil/, ...expect },
});
const calm = (fault) => ({ end: [`GOAWAY ENHANCE_YOUR_CALM ${fault}`, 'closed'] });

export const origins = [
	row('R65', 'PING flood', 'instead of an answer', forever([frame('PING', 0, 0, Buffer.alloc(8))]), { ...calm('ping-flood'), cpu: 5 }),
	row('R65', 'SETTINGS flood', 'instead of an answer', forever([frame('SETTINGS', 0, 0, settingsPayload({ initialWindowSize: 65535 }))], 20),
		{ ...calm('settings-flood'), cpu: 40 }),
	row('R64', 'interim responses', '103 without end',
		(stream) => times(10, () => frame('HEADERS', FLAG.END_HEADERS, stream, new Encoder().encode({ ':status': 103, link: '</a>' }))),
		{ resets: ['ENHANCE_YOUR_CALM'], faults: ['interim-flood'], end: null, cpu: 40 }),
	row('R64', 'CONTINUATION flood', 'a response whose fields never end',
		(stream, n, c) => {
			c.begun ??= stream;
			if (c.begun !== stream)
				return null; /* another request on this connection: one block at a time */
			return n ? times(20, () => frame('CONTINUATION', 0, stream, Buffer.from([0x88]))) : times(1, () => frame('HEADERS', 0, stream, head));
		},
		{ ...calm('continuation-flood'), cpu: 100 }),
	row('R60', 'more than the window', 'DATA that does not wait for WINDOW_UPDATE',
		(stream, n) => (n ? times(4, () => frame('DATA', 0, stream, Buffer.alloc(16384))) : times(1, () => frame('HEADERS', FLAG.END_HEADERS, stream, head))),
		{ end: null, resets: ['FLOW_CONTROL_ERROR', 'CANCEL'], faults: ['window-overrun'], cpu: 100 }),
	row('R64', 'promises', 'thousands for each request, none of them kept',
		(stream, n, c) => (n > 20 ? null : times(200, () => {
			c.promised = (c.promised ?? 0) + 2;
			return frame('PUSH_PROMISE', FLAG.END_HEADERS, stream, Buffer.concat([u32(c.promised),
				new Encoder().encode({ ':method': 'GET', ':scheme': 'http', ':authority': 'evil.test', ':path': `/${c.promised}` })]));
		})), { end: null, resets: ['REFUSED_STREAM', 'CANCEL'], cpu: 40 }),
];
