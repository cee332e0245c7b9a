/* SPDX-License-Identifier: MIT */
/* Jupyter Server with trust_xheaders below a path of its own: its log-in, and a kernel that is used over a WebSocket. */
import assert from 'node:assert/strict';
import { certs, freePort, until } from '../support/gate.mjs';
import { daemon } from '../support/programs.mjs';
import { BALANCED, DIRECT, GATE, HOST, PROXIES, VISITOR, application, assertSecure } from './applications.mjs';
import { Client, skip } from './websocket-client.mjs';

const BASE = '/jupyter';
const PASSWORD = 'sesame';
/* sha1 of PASSWORD and the salt, as jupyter_server.auth.passwd writes it. */
const HASH = 'sha1:15ab83c98a56:dc47f00cf539bb7612dbbcb3e84adb6214ba9464';

async function start(s) {
	const port = await freePort();
	const home = ['HOME', 'JUPYTER_CONFIG_DIR', 'JUPYTER_DATA_DIR', 'JUPYTER_RUNTIME_DIR', 'IPYTHONDIR'].map((name) => `${name}=${s.dir}`);
	s.jupyter = await daemon(s, 'env', [...home, 'PYTHONDONTWRITEBYTECODE=1', '/usr/bin/jupyter-server', '--no-browser', '--allow-root', '--debug',
		...Object.entries({
			ip: GATE, port, base_url: BASE, root_dir: s.dir, password: HASH, trust_xheaders: true, local_hostnames: `['${HOST}']`, allow_remote_access: false,
		}).map(([name, value]) => `--ServerApp.${name}=${value}`)], port);
	return port;
}

async function logIn(visitor) {
	const { origin } = visitor;
	assert.equal((await visitor.ask(`${BASE}/tree`)).status, 404, 'not in Jupyter Server');
	const first = await visitor.ask(`${BASE}/view/a`);
	assert.equal(first.status, 302);
	assert.equal(first.headers.location, `${BASE}/login?next=${encodeURIComponent(`${BASE}/view/a`)}`);
	const page = await visitor.page(first.headers.location);
	const [, _xsrf] = page.body.match(/name="_xsrf" value="([^"]+)"/);
	const answer = await visitor.ask(`${BASE}/login?next=${BASE}/api/status`, { form: { _xsrf, password: PASSWORD }, fields: { Origin: origin } });
	assert.equal(answer.status, 302, answer.body);
	assert.equal(answer.headers.location, `${BASE}/api/status`);
	assertSecure({ cookies: answer.cookies.filter((cookie) => cookie.startsWith('username-')) }, 'username-');
	assert.equal(typeof (await visitor.json(answer.headers.location)).kernels, 'number');
}

/* Whom Jupyter has served: its log has the address with what is not there. */
async function assertAddress(visitor, s) {
	const path = `${BASE}/nothing-${visitor.number}`;
	assert.equal((await visitor.ask(path)).status, 404);
	const [, address] = await until(() => `a line about ${path}\n${s.jupyter.output}`, () => s.jupyter.output.match(new RegExp(`404 GET ${path} \\(([^)]*)\\)`)));
	assert.equal(address, visitor.address);
}

async function kernelOf(visitor) {
	const fields = { 'X-XSRFToken': visitor.cookies()._xsrf, Origin: visitor.origin };
	const [running] = await visitor.json(`${BASE}/api/kernels`);
	if (running)
		return running.id;
	const made = await visitor.ask(`${BASE}/api/kernels`, { form: { '': '' }, fields });
	assert.equal(made.status, 201, made.body);
	return JSON.parse(made.body).id;
}

const execute = (code) => JSON.stringify({
	channel: 'shell', parent_header: {}, metadata: {}, buffers: [],
	header: { msg_id: 'm1', msg_type: 'execute_request', username: 'ada', session: 's1', date: new Date().toISOString(), version: '5.3' },
	content: { code, silent: false, store_history: false, user_expressions: {}, allow_stdin: false, stop_on_error: true },
});

function socketsOf(visitor) {
	const client = new Client(visitor.way.http1 ? 'h1s' : 'h2', visitor.port);
	client.authority = visitor.authority;
	client.secure = {
		ca: certs().ca, servername: HOST, localAddress: VISITOR,
		lookup: (_, { all }, found) => (all ? found(null, [{ address: GATE, family: 4 }]) : found(null, GATE, 4)),
	};
	return client;
}

async function compute(visitor) {
	const channels = `${BASE}/api/kernels/${await kernelOf(visitor)}/channels?session_id=`;
	const cookie = Object.entries(visitor.cookies()).map(([name, value]) => `${name}=${value}`).join('; ');
	const client = socketsOf(visitor);
	/* Each with a session of its own: Jupyter does not answer in one whose last WebSocket it has refused. */
	const peer = await client.open(`${channels}${visitor.number}`, { headers: { cookie, origin: visitor.origin } });
	assert.equal(peer.refused, undefined);
	peer.ws.send(execute('6 * 7'));
	for (let message; message?.msg_type !== 'execute_result';) {
		message = JSON.parse(await peer.text());
		if (message.msg_type === 'execute_result')
			assert.equal(message.content.data['text/plain'], '42');
	}
	peer.ws.close();
	await peer.over();
	const { refused } = await client.open(`${channels}other-${visitor.number}`, { headers: { cookie, origin: 'https://evil.example' } });
	assert.equal(refused?.status, 403);
	client.close();
}

/* The name of Jupyter's cookie has the port in it: these ways have it in the URL, as the WebSockets have. */
const withPort = (ways) => Object.fromEntries(Object.entries(ways).map(([name, way]) => [`${name}, with the port`, { ...way, hasPort: true }]));

/* Jupyter believes one proxy, and no more. */
const { behind, route } = PROXIES['1, and pushgate the balancer'];
/* Forged fields come first: once Jupyter has made one cookie for https, all that it makes are. */
// covers: R640 R641 R497
application('Jupyter trusts what it is told', {
	start, skip, ways: { 'with forged fields': DIRECT['with forged fields'], ...DIRECT, ...BALANCED, ...withPort({ ...DIRECT, ...BALANCED }) },
	behind, route: { ...route, path: BASE, upgrade: 'websocket', 'request-remove': 'X-Scheme' },
}, async (visitor, s) => {
	await logIn(visitor);
	await assertAddress(visitor, s);
	if (visitor.way.hasPort && !visitor.way.six)
		await compute(visitor);
});
