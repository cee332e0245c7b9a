/* SPDX-License-Identifier: MIT */
/*
 * gRPC with npm's grpc-js as client and as server: calls of all four kinds, metadata, deadlines, cancellation from
 * either side, health checks; and what a client is told when pushgate answers in the server's place.
 *
 * covers: R204 R205 R207
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { createRequire } from 'node:module';
import { setTimeout as wait } from 'node:timers/promises';
import { certs, freePort, scenario, section, until } from '../support/gate.mjs';

const skip = process.env.PUSHGATE_NO_BROWSER === '1' ? 'PUSHGATE_NO_BROWSER=1: no npm packages' : false;
const grpc = skip ? null : createRequire(new URL('../browser/package.json', import.meta.url))('@grpc/grpc-js');
const status = grpc?.status;

/* ---- services, without protobuf: messages are bytes ---- */

const same = (bytes) => bytes;
const method = (path, requestStream, responseStream) => ({
	path, requestStream, responseStream, requestSerialize: same, requestDeserialize: same, responseSerialize: same, responseDeserialize: same,
});
const CALLS = {
	unary: method('/test.Calls/Unary', false, false),
	gather: method('/test.Calls/Gather', true, false),
	scatter: method('/test.Calls/Scatter', false, true),
	talk: method('/test.Calls/Talk', true, true),
};
/* HealthCheckRequest has a string as field 1, HealthCheckResponse an enum. */
const HEALTH = {
	check: method('/grpc.health.v1.Health/Check', false, false),
	watch: method('/grpc.health.v1.Health/Watch', false, true),
};
const healthOf = (service) => Buffer.concat([Buffer.from([0x0a, service.length]), Buffer.from(service)]);
const SERVING = Buffer.from([0x08, 1]);
const NOT_SERVING = Buffer.from([0x08, 2]);

const refuse = (call, done) => done({ code: grpc.status.INTERNAL, details: 'not in this test' });
const refuseStream = (call) => call.emit('error', { code: grpc.status.INTERNAL, details: 'not in this test' });

async function serve(s, port, { calls = {}, health = null }) {
	const server = new grpc.Server();
	server.addService(CALLS, { unary: refuse, gather: refuse, scatter: refuseStream, talk: refuseStream, ...calls });
	if (health)
		server.addService(HEALTH, health);
	await new Promise((resolve, reject) => {
		server.bindAsync(`127.0.0.1:${port}`, grpc.ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve()));
	});
	s.cleanups.push(() => server.forceShutdown());
	return server;
}

function connect(s, definition = CALLS) {
	const Client = grpc.makeGenericClientConstructor(definition, 'test');
	const client = new Client(`127.0.0.1:${s.port}`, grpc.credentials.createInsecure(), { 'grpc.enable_retries': 0 });
	s.cleanups.push(() => client.close());
	return client;
}

/* The outcome of a call with one response: {error, message}. */
const unary = (client, message, metadata = new grpc.Metadata(), options = {}) => new Promise((resolve) => {
	client.unary(Buffer.from(message), metadata, options, (error, reply) => resolve({ error, message: reply && String(reply) }));
});
/* The end of a stream: {code, details, metadata}. */
function over(call) {
	call.on('error', () => {});
	return new Promise((resolve) => { call.on('status', resolve); });
}
function failed({ error }, code, pattern = /./) {
	assert.ok(error, 'the call has failed');
	assert.equal(error.code, code, error.message);
	assert.match(error.details, pattern);
	return error;
}

/* A gate before a server of `calls`. */
async function calls(name, { calls: handlers, health, ...options }, body) {
	const port = await freePort();
	scenario(name, { skip, origins: { main: { server: `h2c://127.0.0.1:${port}` } }, ...options }, async (s) => {
		s.calls = handlers || health ? await serve(s, port, { calls: handlers, health }) : null;
		await body(s, port);
	});
}

/* ---- the four kinds of calls ---- */

await calls('a unary call: message, metadata both ways, binary too, and trailers', {
	calls: {
		unary(call, done) {
			const m = call.metadata;
			const head = new grpc.Metadata();
			head.set('x-head', `${m.get('x-asked')}`);
			head.set('x-head-bin', m.get('x-asked-bin')[0]);
			call.sendMetadata(head);
			const trailers = new grpc.Metadata();
			trailers.set('x-last', 'after the message');
			trailers.set('x-last-bin', Buffer.from([255, 0, 1]));
			done(null, Buffer.concat([call.request, Buffer.from(` by ${call.getPath()}`)]), trailers);
		},
	},
}, async (s) => {
	const asked = new grpc.Metadata();
	asked.set('x-asked', 'a word');
	asked.set('x-asked-bin', Buffer.from([0, 128, 255]));
	let head;
	let last;
	const reply = await new Promise((resolve, reject) => {
		const call = connect(s).unary(Buffer.from('asked'), asked, (error, message) => (error ? reject(error) : resolve(message)));
		call.on('metadata', (m) => { head = m; });
		call.on('status', (m) => { last = m.metadata; });
	});
	await until('the status', () => last);
	assert.equal(String(reply), 'asked by /test.Calls/Unary');
	assert.deepEqual(head.get('x-head'), ['a word']);
	assert.deepEqual(head.get('x-head-bin'), [Buffer.from([0, 128, 255])]);
	assert.deepEqual(last.get('x-last'), ['after the message']);
	assert.deepEqual(last.get('x-last-bin'), [Buffer.from([255, 0, 1])]);
	const line = await s.gate.access();
	assert.equal(line.status, 200);
	assert.equal(line.outcome, 'complete');
});

await calls('a stream of messages to the server, one from it, and none', {
	calls: {
		gather(call, done) {
			let bytes = 0;
			call.on('data', (message) => { bytes += message.length; });
			call.on('end', () => done(null, Buffer.from(String(bytes))));
		},
		scatter(call) {
			for (let i = 0; i < Number(call.request); i++)
				call.write(Buffer.from(`message ${i}`));
			call.end();
		},
	},
}, async (s) => {
	const client = connect(s);
	const sum = await new Promise((resolve, reject) => {
		const call = client.gather((error, message) => (error ? reject(error) : resolve(message)));
		for (let i = 0; i < 100; i++)
			call.write(Buffer.alloc(1000));
		call.end();
	});
	assert.equal(String(sum), '100000');
	for (const n of [100, 0]) {
		const got = [];
		const call = client.scatter(Buffer.from(String(n)));
		call.on('data', (message) => got.push(String(message)));
		assert.equal((await over(call)).code, status.OK);
		assert.deepEqual(got, Array.from({ length: n }, (_, i) => `message ${i}`));
	}
});

await calls('in a dialogue each message arrives before the next one is sent', {
	calls: { talk(call) { call.on('data', (message) => call.write(message)); call.on('end', () => call.end()); } },
}, async (s) => {
	const call = connect(s).talk();
	const end = over(call);
	for (let i = 0; i < 50; i++) {
		call.write(Buffer.from(`${i}`));
		assert.equal(String((await once(call, 'data'))[0]), `${i}`);
	}
	call.end();
	assert.equal((await end).code, status.OK);
});

/* grpc-js itself takes ten times as long when many messages wait in it: at most 50 are on their way. */
await calls('100,000 messages each way', {
	calls: { talk(call) { call.on('data', (message) => call.write(message)); call.on('end', () => call.end()); } },
}, async (s) => {
	const MESSAGES = 100000;
	const call = connect(s).talk();
	const end = over(call);
	let sent = 0;
	let came = 0;
	const fill = () => {
		for (; sent < MESSAGES && sent - came < 50; sent++) {
			const message = Buffer.alloc(8);
			message.writeUInt32BE(sent);
			call.write(message);
		}
		if (came === MESSAGES)
			call.end();
	};
	call.on('data', (message) => {
		assert.equal(message.readUInt32BE(0), came++);
		fill();
	});
	fill();
	assert.equal((await end).code, status.OK);
	assert.equal(came, MESSAGES);
	const line = await s.gate.access();
	assert.equal(line.outcome, 'complete');
	assert.equal(line.request_bytes, 13 * MESSAGES);
	assert.equal(line.response_bytes, 13 * MESSAGES);
});

/* ---- how calls end ---- */

await calls('an error without a message: the status and its metadata arrive', {
	calls: {
		unary(call, done) {
			const metadata = new grpc.Metadata();
			metadata.set('x-why', 'because');
			done({ code: grpc.status.FAILED_PRECONDITION, details: 'ä % not now', metadata });
		},
	},
}, async (s) => {
	const error = failed(await unary(connect(s), ''), status.FAILED_PRECONDITION, /^ä % not now$/);
	assert.deepEqual(error.metadata.get('x-why'), ['because']);
	assert.equal((await s.gate.access()).outcome, 'complete');
});

let ended;
await calls('a deadline: the client is told, and the server sees the end of the call', {
	calls: {
		unary(call) { ended = once(call, 'cancelled'); },
		talk(call) { ended = once(call, 'cancelled'); call.write(Buffer.from('begun')); },
	},
}, async (s) => {
	const client = connect(s);
	failed(await unary(client, '', undefined, { deadline: Date.now() + 300 }), status.DEADLINE_EXCEEDED);
	await ended;
	const call = client.talk({ deadline: Date.now() + 2000 });
	const end = over(call);
	await once(call, 'data');
	assert.equal((await end).code, status.DEADLINE_EXCEEDED);
	await ended;
});

await calls('a client that cancels: the server sees it, and the connection goes on', {
	calls: {
		unary(call, done) { done(null, call.request); },
		gather(call) { ended = once(call, 'cancelled'); call.once('data', () => call.sendMetadata(new grpc.Metadata())); },
		talk(call) { ended = once(call, 'cancelled'); call.on('data', (message) => call.write(message)); },
	},
}, async (s) => {
	const client = connect(s);
	const talk = client.talk();
	let end = over(talk);
	talk.write(Buffer.from('x'));
	await once(talk, 'data');
	talk.cancel();
	assert.equal((await end).code, status.CANCELLED);
	await ended;
	const gather = client.gather(() => {});
	end = over(gather);
	gather.write(Buffer.from('x'));
	await once(gather, 'metadata');
	gather.cancel();
	assert.equal((await end).code, status.CANCELLED);
	await ended;
	assert.equal((await unary(client, 'still there')).message, 'still there');
});

await calls('a server that ends a call while the client still sends', {
	calls: {
		talk(call) { call.once('data', () => call.emit('error', { code: grpc.status.ABORTED, details: 'enough' })); },
		gather(call, done) { call.once('data', () => done({ code: grpc.status.ABORTED, details: 'enough' })); },
	},
}, async (s) => {
	const client = connect(s);
	for (const call of [client.talk(), client.gather(() => {})]) {
		const end = over(call);
		call.write(Buffer.from('first'));
		const { code, details } = await end;
		assert.equal(code, status.ABORTED);
		assert.equal(details, 'enough');
	}
});

await calls('a server that is lost in the middle of a call', {
	calls: { talk(call) { call.write(Buffer.from('begun')); } },
}, async (s) => {
	const call = connect(s).talk();
	const end = over(call);
	await once(call, 'data');
	s.calls.forceShutdown();
	assert.notEqual((await end).code, status.OK);
	assert.equal((await s.gate.access()).outcome, 'origin-lost');
});

/* ---- health ---- */

await calls('a health check, and a watch that stays silent between changes', {
	health: {
		check(call, done) {
			assert.deepEqual(call.request, healthOf('test.Calls'));
			done(null, SERVING);
		},
		watch(call) {
			call.write(SERVING);
			wait(300).then(() => { call.write(NOT_SERVING); });
		},
	},
	/* none of these counts for a call */
	listen: { 'body-timeout': '100ms' }, origin: { 'body-timeout': '100ms', 'response-timeout': '100ms' },
}, async (s) => {
	const client = connect(s, HEALTH);
	const reply = await new Promise((resolve, reject) => {
		client.check(healthOf('test.Calls'), (error, message) => (error ? reject(error) : resolve(message)));
	});
	assert.deepEqual(reply, SERVING);
	const watch = client.watch(healthOf('test.Calls'));
	const end = over(watch);
	assert.deepEqual((await once(watch, 'data'))[0], SERVING);
	assert.deepEqual((await once(watch, 'data'))[0], NOT_SERVING);
	watch.cancel();
	assert.equal((await end).code, status.CANCELLED);
});

/* ---- answers of pushgate's own ---- */

await calls('no route', { routes: section('route main', { origin: 'main', path: '/other' }) }, async (s) => {
	const error = failed(await unary(connect(s), ''), status.UNIMPLEMENTED, /^no route for this path$/);
	assert.match(error.metadata.get('proxy-status')[0], /error=destination_not_found/);
	const line = await s.gate.access();
	assert.equal(line.status, 200);
	assert.equal(line.outcome, 'refused');
	assert.equal(line.detail, 'no route for this path');
});
await calls('an origin that is down', {}, async (s) => {
	failed(await unary(connect(s), ''), status.UNAVAILABLE, /^origin-unreachable$/);
	assert.equal((await s.gate.access()).outcome, 'origin-lost');
});
await calls('an origin that is too slow, and a client that has no deadline', {
	calls: { unary() {} }, routes: section('route main', { origin: 'main', 'stream-idle-timeout': '300ms' }),
}, async (s) => {
	failed(await unary(connect(s), ''), status.DEADLINE_EXCEEDED, /^stream-idle$/);
	assert.equal((await s.gate.access()).outcome, 'timeout');
});
await calls('a queue that is full', { calls: { unary() {} }, origin: { 'max-queue': 0 } }, async (s) => {
	failed(await unary(connect(s), ''), status.UNAVAILABLE, /^queue-full$/);
});
await calls('a message that is too large for the listener', {
	calls: { unary() {} }, listen: { 'max-request-body': '10K' },
}, async (s) => {
	failed(await unary(connect(s), 'x'.repeat(100000)), status.RESOURCE_EXHAUSTED, /^request-too-large$/);
});

/* Whether pushgate knows it beforehand (http) or by ALPN alone (https). */
for (const scheme of ['http', 'https']) {
	const tls = scheme === 'https';
	scenario(`an origin that speaks HTTP/1.1 (${scheme}): a call fails, gRPC-Web and others pass`, {
		skip, origins: { main: { server: `${scheme}://localhost:${await freePort()}`, config: tls ? { 'tls-ca': certs().file('ca.pem') } : {} } },
	}, async (s) => {
		const asked = [];
		const answer = (request, response) => {
			asked.push(request.headers['content-type']);
			request.resume().on('end', () => response.end('answered'));
		};
		const server = tls ? https.createServer(certs().server, answer) : http.createServer(answer);
		server.listen(Number(s.gate.read('pushgate.ini').match(/server = .*:(\d+)/)[1]), '127.0.0.1');
		await once(server, 'listening');
		s.cleanups.push(() => { server.closeAllConnections(); server.close(); });
		for (let i = 0; i < 2; i++) {
			const error = failed(await unary(connect(s), 'asked'), status.UNIMPLEMENTED, /^gRPC needs HTTP\/2, and the origin speaks HTTP\/1\.1$/);
			assert.match(error.metadata.get('proxy-status')[0], /error=http_protocol_error/);
		}
		assert.match((await s.gate.access()).detail, /gRPC needs HTTP\/2/);
		for (const type of ['application/grpc-web+proto', 'application/json']) {
			const reply = await fetch(`http://127.0.0.1:${s.port}/test.Calls/Unary`, { method: 'POST', headers: { 'content-type': type }, body: 'asked' });
			assert.equal(await reply.text(), 'answered');
		}
		assert.deepEqual(asked, ['application/grpc-web+proto', 'application/json']);
	});
}
