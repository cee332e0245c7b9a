/* SPDX-License-Identifier: MIT */
/* A Node application with express, its `trust proxy` and sessions of express-session, whose cookies are for https alone. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { BALANCED, BALANCER, DIRECT, GATE, PROXIES, application, assertSecure } from './applications.mjs';
import { skip } from './websocket-client.mjs';

const require = skip ? null : createRequire(new URL('../browser/package.json', import.meta.url));
const PASSWORD = 'sesame';

function shop(trust) {
	const express = require('express');
	const app = express();
	app.set('trust proxy', trust);
	app.use(express.urlencoded({ extended: false }));
	app.use(require('express-session')({ secret: 'for tests', resave: false, saveUninitialized: false, cookie: { secure: true } }));
	app.get('/where', ({ protocol, secure, ip, hostname, originalUrl, headers }, response) => response.json({
		url: `${protocol}://${headers.host}${originalUrl}`, secure, ip, hostname,
	}));
	app.post('/login', (request, response) => {
		if (request.body.password !== PASSWORD)
			return void response.status(403).end();
		request.session.user = request.body.user;
		response.redirect(`${request.protocol}://${request.headers.host}/account`);
	});
	app.get('/account', ({ session }, response) => (session.user ? response.send(`Hello ${session.user}`) : response.redirect('/login')));
	return app;
}

const started = (trust) => async (s) => {
	const server = shop(trust).listen(0, GATE);
	s.cleanups.push(() => server.closeAllConnections?.(), () => new Promise((resolve) => { server.close(resolve); }));
	await new Promise((resolve) => { server.once('listening', resolve); });
	return server.address().port;
};

async function visited(visitor) {
	const { url, secure, ip, hostname } = await visitor.json('/where?a=b');
	assert.deepEqual({ url, secure, ip, hostname }, { url: `${visitor.origin}/where?a=b`, secure: true, ip: visitor.address, hostname: 'www.a.test' });
	assert.equal((await visitor.ask('/account')).headers.location, '/login');
	const answer = await visitor.ask('/login', { form: { user: 'Ada', password: PASSWORD } });
	assert.equal(answer.status, 302, answer.body);
	assert.equal(answer.headers.location, `${visitor.origin}/account`);
	assertSecure(answer, 'connect.sid=');
	assert.equal((await visitor.page(answer.headers.location)).body, 'Hello Ada');
}

// covers: R640 R641 R497
for (const [proxies, more] of Object.entries(PROXIES))
	application(`express believes ${proxies}`, { ...more, start: started(parseInt(proxies)), skip }, visited);
application('express believes proxies by their addresses', { start: started([GATE, BALANCER]), ways: { ...DIRECT, ...BALANCED }, skip }, visited);
