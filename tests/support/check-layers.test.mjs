// SPDX-License-Identifier: MIT
// scripts/check-layers: a tree that keeps the six rules passes, and one that breaks a rule is refused with file and line.
import test from 'node:test';
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = path.join(path.dirname(fileURLToPath(import.meta.url)), '../..');
const script = path.join(root, 'scripts/check-layers');

/* A small tree in which every folder that the mistakes name has its public header and a private one. */
const folders = ['base', 'http', 'net', 'h2', 'relay', 'conf', 'session', 'protocols', 'offer', 'client', 'origin', 'upstream', 'gateway'];
const clean = Object.fromEntries(folders.flatMap((f) => [[`proxy/${f}/${f}.h`, ''], [`proxy/${f}/inner.h`, '']]));
Object.assign(clean, {
	'policy/policy.h': '#include "proxy/http/inner.h"\n',
	'proxy/client/client.c': '#include "proxy/client/inner.h"\n#include "proxy/protocols/protocols.h"\n#include "proxy/base/inner.h"\n',
	'proxy/protocols/protocols.c': '#include "proxy/h2/h2.h"\n\nvoid f(void)\n{\n\th2_free(0);\n}\n',
	'proxy/client/inner.h': 'struct client_conn {\n\tint fd;\n};\n',
	'proxy/hold/hold.h': '',
	'proxy/hold/inner.h': 'struct __attribute__((may_alias)) hold_store {\n\tint count;\n};\n\nvoid f(struct hold_store *s);\n',
	'proxy/net/tls.c': '#include <openssl/ssl.h>\n',
	'proxy/gateway/gateway.c': '#include "proxy/client/client.h"\n#include "proxy/upstream/upstream.h"\n',
});

function check(files) {
	const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'pushgate-layers-'));
	try {
		for (const [name, text] of Object.entries(files)) {
			fs.mkdirSync(path.dirname(path.join(dir, name)), { recursive: true });
			fs.writeFileSync(path.join(dir, name), text);
		}
		return spawnSync(script, [dir], { encoding: 'utf8' });
	} finally {
		fs.rmSync(dir, { recursive: true });
	}
}

test('a tree that keeps the rules passes', () => {
	const { status, stdout, stderr } = check(clean);
	assert.equal(stdout + stderr, '');
	assert.equal(status, 0);
});

test('the tree of the project keeps the rules', () => {
	const { status, stdout } = spawnSync(script, [root], { encoding: 'utf8' });
	assert.equal(stdout, '');
	assert.equal(status, 0);
});

const mistakes = [
	['an include that points upward', 'proxy/relay/exchange.c', '\n#include "proxy/gateway/gateway.h"\n',
		'proxy/relay/exchange.c:2: relay may not include gateway ("proxy/gateway/gateway.h")'],
	['a client that knows upstream', 'proxy/client/leg.c', '#include "proxy/upstream/upstream.h"\n',
		'proxy/client/leg.c:1: client may not include upstream ("proxy/upstream/upstream.h")'],
	['an upstream that knows client', 'proxy/upstream/leg.c', '#include "proxy/client/client.h"\n',
		'proxy/upstream/leg.c:1: upstream may not include client ("proxy/client/client.h")'],
	['an origin that knows upstream', 'proxy/origin/leg.c', '#include "proxy/upstream/upstream.h"\n',
		'proxy/origin/leg.c:1: origin may not include upstream ("proxy/upstream/upstream.h")'],
	['an admission that knows upstream', 'proxy/admission/users.c', '#include "proxy/upstream/upstream.h"\n',
		'proxy/admission/users.c:1: admission may not include upstream ("proxy/upstream/upstream.h")'],
	['an explain that knows the data plane', 'proxy/tool/explain.c', '#include "proxy/gateway/gateway.h"\n',
		'proxy/tool/explain.c:1: tool may not include gateway ("proxy/gateway/gateway.h")'],
	['an engine behind the session', 'proxy/client/leg.c', '#include "proxy/h2/h2.h"\n',
		'proxy/client/leg.c:1: client may not include h2 ("proxy/h2/h2.h")'],
	['a private header of another folder', 'proxy/gateway/drain.c', '\n\n#include "proxy/client/inner.h"\n',
		'proxy/gateway/drain.c:3: "proxy/client/inner.h" is private to client/: include its public header'],
	['a library outside its folder', 'proxy/client/tls.c', '#include <openssl/ssl.h>\n',
		'proxy/client/tls.c:1: <openssl/ssl.h> may be named in net/ alone'],
	['a library that only tests may name', 'proxy/h2/other.c', '#include <nghttp2/nghttp2.h>\n',
		'proxy/h2/other.c:1: <nghttp2/nghttp2.h> may be named by tests alone'],
	['a call into the engine', 'proxy/upstream/conn.c', 'void f(void)\n{\n\th2_reset(0);\n}\n',
		'proxy/upstream/conn.c:3: upstream may not call an engine: \th2_reset(0);'],
	['a route that asks an exchange', 'proxy/route/access.c', '\nbool f(const struct exchange *x);\n',
		'proxy/route/access.c:2: route may not know an exchange: bool f(const struct exchange *x);'],
	['an exchange that knows its client', 'proxy/relay/exchange.h', '\nstruct client_conn;\n',
		'proxy/relay/exchange.h:2: relay may not name client_conn, a type of client/'],
	['a hold that knows its client', 'proxy/hold/hold.h', 'void f(struct client_conn *c); /* struct gateway */\n',
		'proxy/hold/hold.h:1: hold may not name client_conn, a type of client/'],
	['a relay that knows what is held', 'proxy/relay/push.c', '/*\n * struct hold_store\n */\n\tstruct hold_store *s;\n',
		'proxy/relay/push.c:4: relay may not name hold_store, a type of hold/'],
	['a folder that is not in the table', 'proxy/extra/extra.c', '#include "proxy/base/base.h"\n',
		'proxy/extra/extra.c:1: module extra is not in the table of layers'],
	['a header that is not there', 'proxy/client/leg.c', '#include "proxy/base/gone.h"\n',
		'proxy/client/leg.c:1: "proxy/base/gone.h" is not there'],
	['a name that is not written from the root', 'proxy/client/leg.c', '#include "client.h"\n',
		'proxy/client/leg.c:1: "client.h" is not written from the root'],
];

for (const [name, file, text, expected] of mistakes) {
	test(`${name} is refused`, () => {
		const { status, stdout } = check({ ...clean, [file]: text });
		assert.equal(stdout, `${expected}\n`);
		assert.equal(status, 1);
	});
}
