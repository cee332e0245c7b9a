/* SPDX-License-Identifier: MIT */
/*
 * Visitors of pages in the soak, and the origin of these pages; both ends are in this process. The memory of pages learns
 * what the pages need, hints it and holds it. Pages change, break off, come encoded and in small pieces; visitors come
 * from many addresses, ask for all that the page needs, for a part, or leave.
 *
 * A request is *owed* its answer if its visitor stays and its page does not break off.
 */
import http from 'node:http';
import http2 from 'node:http2';
import zlib from 'node:zlib';
import { Random } from './random.mjs';

const { seed, rate, maxMs } = JSON.parse(process.argv[2]);
const random = new Random(seed);
const accounts = { begun: 0, ended: 0, owed: 0, left: 0, hinted: 0, claimed: 0, bytes: 0, atOrigin: 0, endedAtOrigin: 0, broken: [] };
/* More than one path may have variants of, and more names than resources of a page. */
const PAGES = 40, ASSETS = 30;
let isOver = false;
process.on('message', (message) => { isOver ||= message === 'over'; });
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function complain(what, more) {
	if (accounts.broken.length < 50)
		accounts.broken.push({ what, at: new Date().toISOString(), ...more });
}

/* ---- the origin: /page/N is a page, /asset/N.css|js|woff2 what it needs ---- */

let version = 0;
const changing = setInterval(() => { version++; }, 20000);
const asset = (n) => `/asset/${n}.${['css', 'js', 'woff2'][n % 3]}`;
const bodyOfAsset = (path) => (path.endsWith('.css') ? `@font-face{font-family:f;src:url(${asset(3 * (path.length % 9) + 2)})}` : '') + `/* ${path} */`.repeat(40);

/* The version is part of the page: what the visitor gets tells what it should be. */
function htmlOf(page, of) {
	const mine = new Random(page * 1000 + (page % 4 ? of : 0));
	const names = Array.from({ length: mine.int(0, 12) }, () => asset(mine.int(0, ASSETS)));
	const tags = names.map((n) => (n.endsWith('.css') ? `<link rel=stylesheet href="${n}">` : n.endsWith('.js') ? `<script defer src=${n}></script>` : `<link rel=preload as=font crossorigin href='${n}'>`));
	return `<!doctype html><html><head><title>${page}</title><!-- ${'-'.repeat(mine.int(0, 3000))} -->${tags.join('\n')}</head><body data-version=${of}>${'text '.repeat(mine.int(0, 8000))}</body></html>`;
}

const codings = { gzip: zlib.gzipSync, br: (text) => zlib.brotliCompressSync(text, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } }) };

async function answerPage(request, response, page) {
	const coding = random.pick(['', '', 'gzip', 'br']);
	const breaks = request.headers['x-breaks'] !== undefined;
	const text = Buffer.from(htmlOf(page, version));
	const bytes = coding ? codings[coding](text) : text;
	response.setHeader('content-type', 'text/html; charset=utf-8');
	response.setHeader('cache-control', page % 5 ? 'max-age=0' : 'private');
	if (page % 3 === 0)
		response.setHeader('etag', `"${page}-${version}"`);
	if (page % 7 === 0)
		response.setHeader('link', `<${asset(page % ASSETS)}>; rel=preload; as=script`);
	if (coding)
		response.setHeader('content-encoding', coding);
	const step = random.pick([1, 100, 5000, bytes.length]);
	/* Small pieces at the beginning alone. */
	for (let at = 0, n = 0; at < bytes.length; n++) {
		const end = n < 50 ? at + step : bytes.length;
		response.write(bytes.subarray(at, end));
		at = end;
		if (breaks && at > bytes.length / 2)
			return response.destroy();
		if (n % 10 === 9)
			await sleep(0);
	}
	return response.end();
}

const origin = http.createServer({ keepAliveTimeout: 3000 }, async (request, response) => {
	accounts.atOrigin++;
	response.once('close', () => { accounts.endedAtOrigin++; });
	request.on('error', () => {});
	response.on('error', () => {});
	request.resume();
	const [, kind, name] = request.url.split(/[/?]/);
	if (random.chance(0.3))
		await sleep(random.int(0, 100));
	if (kind === 'page')
		return answerPage(request, response, Number(name));
	if (random.chance(0.02)) {
		response.statusCode = random.pick([404, 410, 503]);
		return response.end();
	}
	response.setHeader('content-type', name.endsWith('css') ? 'text/css' : name.endsWith('js') ? 'text/javascript' : 'font/woff2');
	response.setHeader('cache-control', 'max-age=60');
	return response.end(bodyOfAsset(request.url));
});
await new Promise((resolve) => { origin.listen(0, '127.0.0.1', resolve); });

/* ---- the visitors ---- */

const decoded = { gzip: zlib.gunzipSync, br: zlib.brotliDecompressSync };

/* Resolves with {status, headers, body, links, isWhole}. */
function get(session, path, fields, leavesMs) {
	accounts.begun++;
	return new Promise((resolve) => {
		const stream = session.request({ ':path': path, ':authority': 'pages.test', ':scheme': 'https', ...fields });
		const seen = { links: [], chunks: [], isWhole: false };
		const timer = setTimeout(() => complain('a request for a page or its assets did not end in time', { path, fields }), maxMs);
		stream.on('headers', (headers) => { seen.links.push(...(headers.link ?? '').match(/<[^>]*>/g) ?? []); });
		stream.once('response', (headers) => { seen.status = headers[':status']; seen.headers = headers; });
		stream.on('data', (bytes) => { accounts.bytes += bytes.length; seen.chunks.push(bytes); });
		stream.once('end', () => { seen.isWhole = seen.status !== undefined; });
		stream.on('error', () => {});
		stream.once('close', () => {
			clearTimeout(timer);
			accounts.ended++;
			resolve({ ...seen, isWhole: seen.isWhole && stream.rstCode === 0, body: Buffer.concat(seen.chunks) });
		});
		if (leavesMs !== undefined)
			setTimeout(() => stream.close(8), leavesMs);
	});
}

/* The page is one of its versions, byte for byte. */
function isRight(page, got) {
	try {
		const text = (decoded[got.headers['content-encoding']] ?? String)(got.body).toString();
		const of = Number(/<body data-version=(\d+)>/.exec(text)?.[1]);
		return got.status === 200 && text === htmlOf(page, of);
	} catch {
		return false;
	}
}

async function visit(session) {
	const page = random.int(0, PAGES - 1), path = `/page/${page}${random.chance(0.2) ? `?utm_source=${random.int(0, 99)}` : ''}`;
	const how = random.weighted({ stays: 80, leaves: 12, breaks: 8 });
	const fields = { 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate', 'user-agent': `Mozilla/5.0 Chrome/${random.int(120, 140)}.0`, ...(how === 'breaks' && { 'x-breaks': '1' }), ...(random.chance(0.3) && { cookie: `id=${random.int(0, 1e6)}` }) };
	const got = await get(session, path, fields, how === 'leaves' ? random.int(0, 60) : undefined);
	accounts.hinted += got.links.length;
	if (how !== 'stays') {
		accounts.left++;
		return;
	}
	accounts.owed++;
	if (session.destroyed || session.closed)
		return;
	if (!got.isWhole || !isRight(page, got))
		return complain('a page went wrong', { path, status: got.status, bytes: got.body.length, isWhole: got.isWhole });
	const text = (decoded[got.headers['content-encoding']] ?? String)(got.body).toString();
	const wanted = [...new Set([...text.matchAll(/\/asset\/\d+\.\w+/g)].map(([name]) => name))].filter(() => random.chance(0.8));
	await Promise.all(wanted.map(async (name) => {
		const leavesMs = random.chance(0.05) ? random.int(0, 20) : undefined;
		const { status, headers, body, isWhole } = await get(session, name, { 'sec-fetch-dest': 'style', referer: `https://pages.test${path}` }, leavesMs);
		accounts.claimed += /pushgate; (hit|fwd=miss; collapsed)/.test(headers?.['cache-status'] ?? '');
		if (leavesMs !== undefined || session.destroyed || session.closed)
			return;
		accounts.owed++;
		if (!isWhole || ![200, 404, 410, 503].includes(status) || (status === 200 && body.toString() !== bodyOfAsset(name)))
			complain('an asset went wrong', { name, status, bytes: body.length, isWhole });
	}));
}

const connect = (port) => new Promise((resolve) => {
	const session = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, localAddress: `127.0.${random.int(1, 9)}.${random.int(1, 254)}`, settings: { enablePush: false } });
	session.on('error', () => {});
	session.once('connect', () => resolve(session));
	session.once('close', () => resolve(null));
});

async function visitor(port) {
	while (!isOver) {
		const session = await connect(port);
		for (let left = random.int(1, 6); session && left > 0 && !isOver; left--) {
			await visit(session);
			await sleep(random.next() * 60000 / rate);
		}
		if (random.chance(0.2))
			session?.destroy();
		else
			session?.close();
	}
}

/* ---- the run ---- */

process.on('message', (message) => {
	if (message === 'accounts')
		process.send({ accounts });
});
const begins = new Promise((resolve) => { process.on('message', (message) => message.ports && resolve(message.ports)); });
process.send({ ready: true, port: origin.address().port });
const ports = await begins;
await Promise.all(Array.from({ length: 4 }, () => visitor(ports.tls)));
clearInterval(changing);
origin.close();
origin.closeAllConnections?.();
process.send({ accounts, finished: true });
process.disconnect();
