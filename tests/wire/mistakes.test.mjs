/* SPDX-License-Identifier: MIT */
/*
 * Mistakes that people make in a configuration: `check` names each with file and line, what is wrong and what to do,
 * and `run` refuses with the same words. What is only a warning is named as well, and both go on. `check --json` has the
 * same findings.
 * What a start needs of the machine (ports, folders, manifests): check.test.mjs.
 */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { assertSameFindings } from '../support/findings.mjs';
import { BINARY, certs, workDir } from '../support/gate.mjs';
import { SCALE } from '../support/peer.mjs';

const AT_A_TIME = 4;
const DAY = 86400e3;
const LISTEN = '[listen l]\naddress = 127.0.0.1:0\n'; /* lines 1 and 2 */
const ORIGIN = '[origin app]\nserver = demo:\n'; /* lines 3 and 4 */
const ROUTE = '[route r]\norigin = app\n'; /* lines 5 and 6 */
const REST = LISTEN + ORIGIN + ROUTE;
const server = (line) => `${REST}[server]\n${line}\n`;
const push = (line) => `${REST}[push p]\naction = hint+hold\n${line}\n`;
const tls = (certificate, key, more = '') => `${LISTEN}certificate = ${certificate}\nkey = ${key}\n${ORIGIN}${ROUTE}${more}`;

/* ---- files that the rows name: in one folder, which each configuration names by `@` ---- */

const dir = workDir();
after(() => fs.rmSync(dir, { recursive: true, force: true }));
const file = (name) => path.join(dir, name);
const openssl = (...args) => {
	const r = spawnSync('openssl', args, { cwd: dir, encoding: 'utf8' });
	assert.equal(r.status, 0, `openssl ${args.join(' ')}: ${r.stderr}`);
};
const asn1Time = (ms) => new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');

/* A self-signed certificate of good.key that is valid from one day to another, counted from now. */
function certificate(name, from, to, names = 'DNS:a.test') {
	fs.writeFileSync(file('ca.conf'), `[ca]\ndefault_ca = d\n[d]\ndir = .\ndatabase = index\nserial = serial\nnew_certs_dir = .\n`
		+ `default_md = sha256\npolicy = p\nunique_subject = no\n[p]\ncommonName = supplied\n[v]\n`
		+ `${names ? `subjectAltName = ${names}` : 'basicConstraints = CA:FALSE'}\n[req]\ndistinguished_name = n\n[n]\n`);
	fs.writeFileSync(file('index'), '');
	fs.writeFileSync(file('serial'), '01\n');
	openssl('req', '-new', '-config', 'ca.conf', '-key', 'good.key', '-subj', '/CN=test', '-out', 'request.pem');
	openssl('ca', '-batch', '-selfsign', '-config', 'ca.conf', '-keyfile', 'good.key', '-in', 'request.pem', '-notext',
		'-startdate', asn1Time(Date.now() + from * DAY), '-enddate', asn1Time(Date.now() + to * DAY), '-extensions', 'v', '-out', name);
}

fs.copyFileSync(certs().file('ecdsa.key'), file('good.key'));
fs.copyFileSync(certs().file('rsa.pem'), file('rsa.pem'));
fs.copyFileSync(certs().file('rsa.key'), file('rsa.key'));
fs.copyFileSync(certs().file('ca.pem'), file('ca.pem'));
certificate('good.pem', -30, 60);
certificate('expired.pem', -90, -2);
certificate('future.pem', 3, 90);
certificate('soon.pem', -80, 5.5);
certificate('weekly.pem', -1, 6);
certificate('nameless.pem', -30, 60, '');
openssl('pkey', '-in', 'good.key', '-aes128', '-passout', 'pass:secret', '-out', 'encrypted.key');
openssl('pkey', '-in', 'good.key', '-pubout', '-out', 'public.key');
openssl('x509', '-in', 'rsa.pem', '-outform', 'DER', '-out', 'rsa.der');
openssl('pkcs12', '-export', '-in', 'rsa.pem', '-inkey', 'rsa.key', '-passout', 'pass:secret', '-out', 'rsa.p12');
fs.writeFileSync(file('empty.pem'), '');
fs.writeFileSync(file('leaf-last.pem'), fs.readFileSync(file('ca.pem'), 'utf8') + fs.readFileSync(file('rsa.pem'), 'utf8'));
fs.writeFileSync(file('chain.pem'), fs.readFileSync(file('rsa.pem'), 'utf8') + fs.readFileSync(file('ca.pem'), 'utf8'));
fs.writeFileSync(file('both.pem'), fs.readFileSync(file('rsa.key'), 'utf8') + fs.readFileSync(file('rsa.pem'), 'utf8'));
fs.writeFileSync(file('out-of-order.pem'), ['rsa.pem', 'good.pem', 'ca.pem'].map((f) => fs.readFileSync(file(f), 'utf8')).join(''));
for (const name of ['cert.pem', 'fullchain.pem'])
	fs.copyFileSync(file('rsa.pem'), file(name));
fs.writeFileSync(file('manifest.json'), '{}');
fs.writeFileSync(file('short.key'), 'secret');
fs.writeFileSync(file('empty.html'), '');
fs.writeFileSync(file('large.txt'), 'x'.repeat(65537));

/* ---- the mistakes: name, text, line, cause, remedy. `@` in the text is the folder of the files. ---- */

const mistakes = [
	/* the file as a whole */
	['nginx', 'worker_processes auto;\nevents {\n}\n', 1, /looks like a file of another program/, /docs\/MOVING\.md/],
	['HAProxy', '# x\nglobal\n\tdaemon\n', 2, /looks like a file of another program/, /docs\/MOVING\.md/],
	['Apache', '<VirtualHost *:443>\n</VirtualHost>\n', 1, /looks like a file of another program/, /docs\/MOVING\.md/],
	['nghttpx', 'frontend=*,3000;no-tls\n', 1, /looks like a file of another program/, /docs\/MOVING\.md/],
	['h2o', 'hosts:\n  a:\n', 1, /looks like YAML/, /docs\/MOVING\.md/],
	['Envoy', 'static_resources:\n', 1, /looks like YAML/, /docs\/MOVING\.md/],
	['YAML', '---\nserver:\n', 1, /looks like YAML/, /docs\/MOVING\.md/],
	['JSON', '{"listen": {}}\n', 1, /looks like JSON/, /docs\/MOVING\.md/],
	['TOML', '[[listen]]\n', 1, /looks like TOML/, /docs\/MOVING\.md/],
	['a systemd unit', '[Unit]\nDescription=x\n', 1, /unknown section \[Unit\]/, /write \[server\], \[listen NAME\]/],
	['a certificate', fs.readFileSync(file('good.pem'), 'utf8'), 1, /looks like a PEM file/, /write \[section NAME\]/],
	['UTF-16', Buffer.from(`\ufeff${REST}`, 'utf16le'), 1, /is UTF-16/, /save it as UTF-8/],
	['a NUL byte', `${REST}[server]\nworkers = 1\0\n`, 8, /contains a NUL byte/, /save the file as plain text/],
	['a program', fs.readFileSync(BINARY).subarray(0, 5000), 1, /the file is a program/, /help-config example/],
	['random bytes', crypto.randomBytes(1000), 1, /the file is binary/, /help-config example/],
	['an empty file', '', 1, /there is no \[listen NAME\]/, /add one with an address/],
	['an include that is not there', `include = gone.ini\n${REST}`, 1, /gone\.ini' cannot be read: No such file/, /name a readable file/],
	['an included file with a similar name', `include = @/manfest.json\n${REST}`, 1, /manfest\.json' cannot be read/, /did you mean '.*\/manifest\.json'\?/],
	['an include in quotes', `include = "x.ini"\n${REST}`, 1, /value of include is in quotes/, /write include = x\.ini/],
	['an include below a section', `${REST}include = x.ini\n`, 7, /include is inside a section/, /move it above the first section/],

	/* lines and sections */
	['no equals sign', server('workers 2'), 8, /the line has no '='/, /write workers = 2/],
	['no equals sign before a URL', REST.replace('server = demo:', 'server http://127.0.0.1:9'), 4, /the line has no '='/, /write server = http:\/\/127\.0\.0\.1:9/],
	['no equals sign behind the first word', `${REST}request-set X-A: b=c\n`, 7, /there is no '=' behind the first word/, /write request-set = X-A: b=c/],
	['a line that is nothing', server('hello'), 8, /not a section, option or comment/, /write key = value/],
	['a comment of another language', server('// two workers'), 8, /not a section, option or comment/, /begin a comment with ';' or '#'/],
	['an option before any section', `workers = 2\n${REST}`, 1, /'workers' is before the first section/, /put it below \[server\]/],
	['a header without its end', `${REST}[server\n`, 7, /has no '\]'/, /write \[section NAME\]/],
	['a comment behind a header', `${REST}[server] ; mine\n`, 7, /a comment is behind the section header/, /lines of their own/],
	['a header in capitals', `${REST}[Server]\n`, 7, /unknown section \[Server\]/, /did you mean \[server\]\?/],
	['a misspelt section', `${REST}[rout x]\n`, 7, /unknown section \[rout\]/, /did you mean \[route NAME\]\?/],
	['a section of another program', `${REST}[upstream x]\n`, 7, /unknown section \[upstream\]/, /write \[server\], \[listen NAME\]/],
	['a section of nobody', `${REST}[frobnicate]\n`, 7, /unknown section \[frobnicate\]/, /write \[server\], \[listen NAME\]/],
	['a section without its name', `${REST}[push]\n`, 7, /\[push\] has no name/, /write \[push NAME\]/],
	['a name for [server]', `${REST}[server x]\n`, 7, /\[server\] takes no name/, /write \[server\]/],
	['a name with a space', `${REST}[push a b]\n`, 7, /bad name 'a b'/, /use letters, digits/],
	['a section twice', `${REST}${ORIGIN}`, 7, /duplicate section \[origin app\], first at .*:3/, /give it another name/],
	['an option twice', server('workers = 1\nworkers = 2'), 9, /duplicate option 'workers', first at .*:8/, /remove one of them/],
	['a misspelt option', server('acess-log = -'), 8, /no option 'acess-log'/, /did you mean 'access-log'\?/],
	['an option with underscores', server('access_log = -'), 8, /no option 'access_log'/, /did you mean 'access-log'\?/],
	['an option of another program', `${REST.replace('address', 'bind')}`, 2, /no option 'bind'/, /pushgate help-config listen/],
	['an option of another section', server('address = 127.0.0.1:1'), 8, /no option 'address'/, /belongs to \[listen NAME\]/],
	['an option of nobody', server('frobnicate = 1'), 8, /no option 'frobnicate'/, /pushgate help-config server/],
	['a no-break space', server('\u00a0workers = 1'), 8, /a character that is not ASCII/, /type it again/],

	/* values of any type */
	['no value', server('pseudonym ='), 8, /pseudonym has no value/, /such as pseudonym = edge1/],
	['a comment behind a time', push('rtt = <80ms ; fast clients'), 9, /has a comment behind it \('; fast clients'\)/, /write rtt = <80ms$/],
	['a comment behind a path', server('remembered-file = x.json # mine'), 8, /has a comment behind it/, /lines of their own: write remembered-file = x\.json$/],
	['a comment in a list', push('user-agent = curl/* ; tools'), 9, /has a comment behind it/, /write user-agent = curl\/\*$/],
	['quotes', server('remembered-file = "x.json"'), 8, /is in quotes/, /write remembered-file = x\.json$/],
	['single quotes around a list', push("path = '/a'"), 9, /is in quotes/, /write path = \/a$/],
	['typographic quotes', server('user = \u201cx\u201d'), 8, /typographic quotes/, /such as user = /],
	['a semicolon at the end', server('workers = 2;'), 8, /ends with ';'/, /write workers = 2$/],
	['a variable', server('remembered-file = ${DIR}/x.json'), 8, /'\$\{DIR\}' is not replaced/, /write the value itself/],

	/* values of each type */
	['a number that is none', server('promise-rate = many'), 8, /bad value 'many' for promise-rate/, /from 1 to 1000000, such as promise-rate = 100000$/],
	['a number with a comma', server('promise-rate = 1,000'), 8, /bad value '1,000'/, /did you mean promise-rate = 1000\?/],
	['a number out of range', server('workers = 500'), 8, /bad value '500' for workers/, /auto or a number from 1 to 256/],
	['a size with a fraction', server('memory = 1.5G'), 8, /bad value '1\.5G' for memory/, /did you mean memory = 1536M\?/],
	['a size that is too small', server('memory = 1M'), 8, /bad value '1M' for memory/, /from 16M to 1024G .*such as memory = 256M$/],
	['a time without a unit', server('drain-timeout = 30'), 8, /bad value '30' for drain-timeout/, /did you mean drain-timeout = 30s\?/],
	['a time of two units', server('drain-timeout = 1h30m'), 8, /bad value '1h30m'/, /did you mean drain-timeout = 90m\?/],
	['a time in days', server('drain-timeout = 1d'), 8, /bad value '1d'/, /did you mean drain-timeout = 24h\?/],
	['a rate without its unit', `${LISTEN}limit-pings = 100\n${ORIGIN}${ROUTE}`, 3, /bad value '100' for limit-pings/, /did you mean limit-pings = 100\/s\?/],
	['a rate of nginx', `${LISTEN}limit-pings = 100r/s\n${ORIGIN}${ROUTE}`, 3, /bad value '100r\/s'/, /such as limit-pings = 500\/s/],
	['true', server('hold-shared = true'), 8, /bad value 'true' for hold-shared/, /did you mean hold-shared = yes\?/],
	['a misspelt word', server('default-action = forwad'), 8, /bad value 'forwad'/, /did you mean default-action = forward\?/],
	['a word of another program', server('default-action = deny'), 8, /bad value 'deny'/, /write forward, drop, hold, hint or hint\+hold/],
	['a type that is none', push('type = pictures'), 9, /bad value 'pictures' for type/, /such as type = style script image$/],
	['a round trip without < or >', push('rtt = 80ms'), 9, /bad value '80ms' for rtt/, /did you mean rtt = <80ms\?/],
	['a share without %', push('share = 10'), 9, /bad value '10' for share/, /did you mean share = 10%\?/],
	['a status as a number', push('status = 200'), 9, /bad value '200' for status/, /did you mean status = 2xx\?/],
	['a block with host bits', push('client = 192.0.2.7/24'), 9, /bits set behind the prefix/, /did you mean client = 192\.0\.2\.0\/24\?/],
	['a client that is a name', push('client = office'), 9, /not an IPv4 or IPv6 address/, /such as client = 192\.0\.2\.0\/24/],
	['an open quotation', push('user-agent = "curl'), 9, /bad value '"curl'/, /close the quotation/],
	['a bad expression', push('path = ~^/(a'), 9, /missing closing parenthesis, at byte/, /correct it or write a pattern/],
	['a page without its slash', push('path = index.html'), 9, /bad value 'index\.html' for path/, /did you mean path = \/index\.html\?/],
	['a media type with parameters', push('content-type = text/css;q=1'), 9, /bad value 'text\/css;q=1'/, /did you mean content-type = text\/css\?/],
	['an urgency that is none', push('urgency = 8'), 9, /bad value '8' for urgency/, /0 \.\.\. 7, such as urgency = 1$/],
	['a field without a colon', `${REST}request-set = X-A b\n`, 7, /bad value 'X-A b' for request-set/, /write NAME: VALUE, such as/],
	['a field of one hop', `${REST}response-remove = Connection\n`, 7, /pushgate itself sets the fields of one hop/, /name another field/],
	['a resource without its slash', `${REST}[preload p]\nadd = app.css\n`, 8, /bad value 'app\.css' for add/, /such as add = \/app\.css as=style$/],

	/* addresses and servers */
	['localhost as an address', `[listen l]\naddress = localhost:80\n${ORIGIN}${ROUTE}`, 2, /not an IP address/, /did you mean address = 127\.0\.0\.1:80\?/],
	['an address without a port', `[listen l]\naddress = 0.0.0.0\n${ORIGIN}${ROUTE}`, 2, /a port is missing/, /did you mean address = 0\.0\.0\.0:8443\?/],
	['a port alone', `[listen l]\naddress = :8443\n${ORIGIN}${ROUTE}`, 2, /bad value ':8443' for address/, /did you mean address = \*:8443\?/],
	['IPv6 without brackets', `[listen l]\naddress = ::1:8443\n${ORIGIN}${ROUTE}`, 2, /needs brackets/, /did you mean address = \[::1\]:8443\?/],
	['a port that is none', `[listen l]\naddress = 127.0.0.1:70000\n${ORIGIN}${ROUTE}`, 2, /not a number up to 65535/, /such as address = 127\.0\.0\.1:8443$/],
	['a URL as an address', `[listen l]\naddress = https://127.0.0.1:8443/\n${ORIGIN}${ROUTE}`, 2, /bad value 'https:/, /did you mean address = 127\.0\.0\.1:8443\?/],
	['an address twice', `[listen k]\naddress = 127.0.0.1:1\n[listen l]\naddress = 127.0.0.1:1\n${ORIGIN}${ROUTE}`, 4, /already used by \[listen k\] at .*:2/, /choose another address/],
	['a server without a scheme', `${LISTEN}[origin app]\nserver = 127.0.0.1:8080\n${ROUTE}`, 4, /its scheme is missing/, /did you mean server = http:\/\/127\.0\.0\.1:8080\?/],
	['a proxy_pass of nginx', `${LISTEN}[origin app]\nserver = http://unix:/run/app.sock:\n${ROUTE}`, 4, /it must not have a path/, /did you mean server = h1\+unix:\/run\/app\.sock\?/],
	['a version of others', `${REST}[push p]\naction = drop\nversion = h2\n`, 9, /bad value 'h2' for version/, /did you mean version = 2\?/],
	['a protocol of nobody', `${LISTEN}protocols = http/3\n${ORIGIN}${ROUTE}`, 3, /bad value 'http\/3' for protocols/, /write h2 or http\/1\.1/],
	['HSTS as its field has it', `${LISTEN}hsts = max-age=31536000\n${ORIGIN}${ROUTE}`, 3, /bad value 'max-age=31536000' for hsts/, /did you mean hsts = 365d\?/],
	['an error file that is not there', `${REST}[errors]\n502 = @/manfest.json\n`, 8, /the error file '.*\/manfest\.json' cannot be read/, /did you mean '.*\/manifest\.json'\?/],
	['an error file that is empty', `${REST}[errors]\n502 = @/empty.html\n`, 8, /is empty/, /write the text into it/],
	['an error file that is too large', `${REST}[errors]\n502 = @/large.txt\n`, 8, /is larger than 65536 bytes/, /make it smaller/],
	['an error file of no known type', `${REST}[errors]\n502 = @/good.pem\n`, 8, /bad value '.*good\.pem' for 502/, /whose name ends with \.html, \.txt or \.json/],
	['a status that pushgate never sends', `${REST}[errors]\n418 = @/manifest.json\n`, 8, /pushgate never answers 418/, /write one of 400, 401/],
	['a server with a path', `${LISTEN}[origin app]\nserver = h2c://127.0.0.1:1/x\n${ROUTE}`, 4, /it must not have a path/, /did you mean server = h2c:\/\/127\.0\.0\.1:1\?/],
	['a server behind a port that is none', `${LISTEN}[origin app]\nserver = h2c://127.0.0.1:99999\n${ROUTE}`, 4, /it is not HOST:PORT/, /such as server = http:/],
	['a server whose name is none', `${LISTEN}[origin app]\nserver = h2c://no..where:81\n${ROUTE}`, 4, /its host is no name that can be looked up/, /such as server = http:\/\/127\.0\.0\.1:8080/],
	['a route host with a port', `${REST}host = a.test:443\n`, 7, /bad value 'a\.test:443' for host/, /did you mean host = a\.test\?/],
	['a route host of nginx', `${REST}host = .a.test\n`, 7, /bad value '\.a\.test' for host/, /did you mean host = \*\.a\.test\?/],
	['a route path with a star', `${REST}path = /api*\n`, 7, /bad value '\/api\*' for path/, /did you mean path = \/api\?/],
	['a route path without its slash', `${REST}path = api\n`, 7, /bad value 'api' for path/, /did you mean path = \/api\?/],

	/* references and contradictions */
	['an upgrade that is a switch', `${REST}upgrade = on\n`, 7, /bad value 'on' for upgrade/, /did you mean upgrade = websocket\?/],
	['an upgrade to HTTP/2', `${REST}upgrade = h2c\n`, 7, /bad value 'h2c' for upgrade/, /a protocol other than HTTP/],
	['a variable of nginx for the upgrade', `${REST}upgrade = $http_upgrade\n`, 7, /'\$http_upgrade' is not replaced/, /such as upgrade = websocket/],
	['a misspelt origin', `${LISTEN}${ORIGIN}[route r]\norigin = ap\n`, 6, /there is no \[origin ap\]/, /did you mean origin = app\?/],
	['HSTS in cleartext', `${LISTEN}hsts = 365d\n${ORIGIN}${ROUTE}`, 3, /hsts is for TLS, but the section has no certificate/, /put it into the \[listen NAME\] with the certificate/],
	['a redirect to https over TLS', `${LISTEN}certificate = @/good.pem\nkey = @/good.key\nredirect-to-https = yes\n${ORIGIN}${ROUTE}`, 5, /redirect-to-https is for cleartext/, /put it into a \[listen NAME\] without one/],
	['an origin that is not there', `${LISTEN}${ORIGIN}[route r]\norigin = other\n`, 6, /there is no \[origin other\]/, /add the section or name another/],
	['a route without an origin', `${LISTEN}${ORIGIN}[route r]\nhost = a.test\n`, 5, /\[route r\] has no origin/, /such as origin = app$/],
	['a listen section without an address', `[listen l]\n${ORIGIN}${ROUTE}`, 1, /\[listen l\] has no address/, /such as address = 127\.0\.0\.1:8443$/],
	['a rule without an action', `${REST}[push p]\npath = /\n`, 7, /\[push p\] has no action/, /such as action = forward$/],
	['a rule behind one for all', `${REST}[push a]\naction = drop\n[push b]\naction = forward\npath = /a\n`, 9, /\[push b\] is never reached, because \[push a\] at .*:7/, /put it first or remove it/],
	['a cookie without a key', server('diary-cookie = id'), 8, /diary-cookie has no key/, /add diary-cookie-key = FILE/],
	['a budget larger than all', server('connection-memory = 1G'), 8, /connection-memory is larger than memory/, /make it at most as large/],
	['a user that is not there', server('user = no-such-user'), 8, /there is no user 'no-such-user'/, /name an existing user/],
	['a key file of the cookie that is short', server('diary-cookie = id\ndiary-cookie-key = @/short.key'), 9, /has too few bytes/, /write 16 to 1024 random bytes/],

	/* certificates */
	['a certificate that is not there', tls('@/god.pem', '@/good.key'), 3, /god\.pem' cannot be read: No such file/, /did you mean '.*\/good\.pem'\?/],
	['a folder that is not there', tls('@/nowhere/a.pem', '@/good.key'), 3, /there is no folder '.*\/nowhere\/'/, /correct the path/],
	['a certificate that is a folder', tls('@', '@/good.key'), 3, /cannot be read: Is a directory/, /name a PEM file/],
	['a certificate without a key', `${LISTEN}certificate = @/good.pem\n${ORIGIN}${ROUTE}`, 3, /certificate without a key/, /add key = FILE below it/],
	['a key without a certificate', `${LISTEN}key = @/good.key\n${ORIGIN}${ROUTE}`, 3, /key without a certificate/, /add certificate = FILE above it/],
	['swapped files', tls('@/good.key', '@/good.pem'), 3, /certificate and key are swapped/, /exchange the two files/],
	['a certificate as its own key', tls('@/good.pem', '@/good.pem'), 4, /is a certificate and not a private key/, /name the key's file/],
	['a key as its own certificate', tls('@/good.key', '@/good.key'), 3, /is a key and not a certificate/, /name the certificate's file/],
	['a public key', tls('@/good.pem', '@/public.key'), 4, /is a public key/, /name the private one/],
	['an encrypted key', tls('@/good.pem', '@/encrypted.key'), 4, /the key in .* is encrypted/, /openssl pkey -in .*encrypted\.key -out/],
	['a key of another certificate', tls('@/good.pem', '@/rsa.key'), 4, /does not belong to the certificate/, /requested with/],
	['keys in another order', `${LISTEN}certificate = @/good.pem\nkey = @/rsa.key\ncertificate = @/rsa.pem\nkey = @/good.key\n${ORIGIN}${ROUTE}`, 4, /belongs to the certificate of line 5/, /write each key below its certificate/],
	['an empty certificate', tls('@/empty.pem', '@/good.key'), 3, /empty\.pem' is empty/, /put the certificate and its chain there/],
	['an empty key', tls('@/good.pem', '@/empty.pem'), 4, /empty\.pem' is empty/, /put the private key there/],
	['a certificate in DER', tls('@/rsa.der', '@/rsa.key'), 3, /is in the form DER/, /openssl x509 -inform DER -in/],
	['a certificate in PKCS #12', tls('@/rsa.p12', '@/rsa.key'), 3, /is in the form PKCS #12/, /openssl pkcs12 -nodes -in/],
	['a request for a certificate', tls('@/request.pem', '@/good.key'), 3, /is a request for a certificate/, /name the certificate that the authority made/],
	['a certificate that is none', tls('@/manifest.json', '@/good.key'), 3, /there is no certificate in/, /-----BEGIN CERTIFICATE-----/],
	['a chain that begins with the authority', tls('@/leaf-last.pem', '@/rsa.key'), 3, /the certificate of the key is number 2/, /put it first/],
	['authorities that are not there', `${LISTEN}[origin app]\nserver = h2://127.0.0.1:1\ntls-ca = @/cs.pem\n${ROUTE}`, 5, /tls-ca file .* cannot be read/, /did you mean '.*\/ca\.pem'\?/],
	['authorities that are empty', `${LISTEN}[origin app]\nserver = h2://127.0.0.1:1\ntls-ca = @/empty.pem\n${ROUTE}`, 5, /no certificate in the tls-ca file .*: it is empty/, /remove the line for those of the system/],
	['authorities that are a key', `${LISTEN}[origin app]\nserver = h2://127.0.0.1:1\ntls-ca = @/good.key\n${ROUTE}`, 5, /it is a private key/, /name a PEM file of authorities/],
];

/* What does not keep pushgate from starting. */
const warnings = [
	['a certificate that has expired', tls('@/expired.pem', '@/good.key'), 3, /has expired on \d{4}-\d\d-\d\d/, /renew it/],
	['a certificate of tomorrow', tls('@/future.pem', '@/good.key'), 3, /is not valid before \d{4}-\d\d-\d\d/, /check this machine's clock/],
	['a certificate that ends soon', tls('@/soon.pem', '@/good.key'), 3, /ends on \d{4}-\d\d-\d\d, in 5 days/, /renew it/],
	['a certificate without a name', tls('@/nameless.pem', '@/good.key'), 3, /has no name \(subjectAltName\)/, /have it made with its hosts' names/],
	['a chain out of order', tls('@/out-of-order.pem', '@/rsa.key'), 3, /chain in .* is out of order/, /above the one that signed it/],
	['a certificate without those that signed it', tls('@/cert.pem', '@/rsa.key'), 3, /lacks the certificates that signed it/, /name '.*\/fullchain\.pem'/],
	['a host that no certificate covers', tls('@/good.pem', '@/good.key', 'host = b.test\n'), 9, /no certificate covers b\.test/, /add one that has this name/],
	['hosts below a name that no certificate covers', tls('@/good.pem', '@/good.key', 'host = *.b.test\n'), 9, /no certificate covers \*\.b\.test/, /add one that has this name/],
	['a default certificate of no route', `${LISTEN}certificate = @/good.pem\nkey = @/good.key\ncertificate = @/rsa.pem\nkey = @/rsa.key\n${ORIGIN}${ROUTE}host = b.test\n`, 3, /first certificate is the default/, /put that of line 5 first/],
	['an origin that nobody uses', `${REST}[origin other]\nserver = demo:\n`, 7, /\[origin other\] is used by no route/, /add origin = other to one/],
	['a route behind an equal one', `${REST}[route s]\norigin = app\n`, 7, /\[route s\] never matches, because \[route r\] at .*:5/, /remove one of them/],
	['a rule for relayed pushes under push = refuse', `${LISTEN}${ORIGIN}push = refuse\n${ROUTE}[push p]\naction = drop\nsource = relayed\n`, 10, /\[push p\] never matches, because no push has the source relayed/, /set push = auto in one/],
	['a rule for links that nobody reads', `${REST}[push p]\naction = drop\nsource = link\n`, 9, /no \[preload NAME\] has link = yes/, /add one, or remove the rule/],
	['a rule for a host of no route', `${REST}host = a.test\n[push p]\naction = drop\nhost = b.test\n`, 10, /no route has such a host and path/, /correct them or remove/],
	['offers for a path of no route', `${REST}path = /a\n[preload p]\npath = /b/*\nlink = yes\n`, 9, /no route has such a host and path/, /correct them or remove/],
	['offers without a source', `${REST}[preload p]\nhost = *\n`, 7, /\[preload p\] offers nothing/, /add link = yes/],
	['a misspelt manifest', `${REST}[preload p]\nmanifest = @/manfest.json\n`, 8, /there is no manifest '.*\/manfest\.json'/, /did you mean '.*\/manifest\.json'\?/],
	['options of holding without holding', server('hold-max-age = 5s'), 8, /no rule and no default-action holds/, /remove it/],
	['a file of what nobody remembers', server('remembered-file = x.json'), 8, /remembered-file has no effect/, /remove it/],
	['the key of a cookie that is off', server('diary-cookie-key = @/good.key'), 8, /diary-cookie is off/, /remove it/],
	['a limit of a rule that drops', `${REST}[push p]\naction = drop\nmax-bytes = 1k\n`, 9, /the rule drops its pushes/, /remove it/],
	['TLS of a cleartext server', `${LISTEN}[origin app]\nserver = h2c://127.0.0.1:1\ntls-verify = no\n${ROUTE}`, 5, /server is not https:\/\/ or h2:\/\//, /remove it/],
	['pushes of an origin with HTTP/1.1', `${LISTEN}[origin app]\nserver = http://127.0.0.1:1\npush = accept\n${ROUTE}`, 5, /push has no effect, because the origin speaks HTTP\/1\.1 alone/, /remove it/],
	['connections of HTTP/1.1 to an origin with HTTP/2', `${LISTEN}${ORIGIN}max-http1-connections = 3\n${ROUTE}`, 5, /the origin speaks HTTP\/2 alone/, /remove it/],
	['a limit of HTTP/2 for clients with HTTP/1.1', `${LISTEN}protocols = http/1.1\nlimit-pings = 5/s\n${ORIGIN}${ROUTE}`, 4, /limit-pings has no effect, because protocols is http\/1\.1/, /remove it/],
	['a limit of tunnels that no route opens', `${REST}tunnel-age = 1h\n`, 7, /tunnel-age has no effect, because the section has no upgrade/, /remove it/],
	['a tls-name that is an address', `${LISTEN}[origin app]\nserver = h2://127.0.0.1:1\ntls-name = 127.0.0.1\n${ROUTE}`, 5, /tls-name is an IP address/, /write the certificate's host name/],
	['a subscription without pushes', `${LISTEN}${ORIGIN}push = refuse\n${ROUTE}subscription = yes\n`, 8, /pushes that it waits for never come/, /remove it/],
	['a variable in a field', `${REST}request-set = X-A: \${HOME}\n`, 7, /is sent as it stands/, /write the text itself/],
];

/* What looks odd and is right. */
const fine = [
	['line ends of Windows, tabs, a byte order mark', `\ufeff${REST.replace(/\n/g, '\t\r\n').replace(/ = /g, '\t=\t')}`],
	['a colon for the equals sign', REST.replace(/ = /g, ': ')],
	['units of other programs', server('memory = 64MB\nmax-push-bytes = 1MiB\ndrain-timeout = 10 s')],
	['quotes in a list', push('path = "/a" "~^/b[0-9]{1,3}$"')],
	['a chain in order', tls('@/chain.pem', '@/rsa.key')],
	['certificate and key in one file', tls('@/both.pem', '@/both.pem')],
	['a certificate of a few days', tls('@/weekly.pem', '@/good.key')],
	['a wildcard for what the certificate has', tls('@/rsa.pem', '@/rsa.key', 'host = *.a.test a.test\n')],
	['defaults that are written down', server('hold-max-count = 32\nhint-wait = 0')],
];

/* ---- the program ---- */

function pushgate(args) {
	return new Promise((resolve) => {
		const child = spawn(BINARY, args, { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] });
		let out = '', stdout = '', stderr = '';
		child.stdout.setEncoding('utf8').on('data', (text) => { out += text; stdout += text; });
		child.stderr.setEncoding('utf8').on('data', (text) => { out += text; stderr += text; });
		const timer = setTimeout(() => child.kill('SIGKILL'), 20000 * SCALE);
		child.once('close', (status, signal) => { clearTimeout(timer); resolve({ status, signal, out, stdout, stderr }); });
	});
}

/* Does `check` know --strict? Warnings then make its status 2. */
const strict = (async () => {
	fs.writeFileSync(file('strict.ini'), REST);
	return !/unknown option/.test((await pushgate(['check', '--strict', '-c', file('strict.ini')])).out);
})();

let count = 0;
const write = (text) => {
	const ini = file(`${++count}.ini`);
	fs.writeFileSync(ini, typeof text === 'string' ? text.replaceAll('@', dir) : text);
	return ini;
};
/* The lines about this file. */
const about = (out, ini) => out.split('\n').filter((line) => line.startsWith(`${ini}:`) && /^:\d+: /.test(line.slice(ini.length)));

/* `check --json` ends with the same status, and has the findings of `check`. */
async function walkJson(name, ini, check) {
	const json = await pushgate(['check', '--json', '-c', ini]);
	assert.deepEqual([json.status, json.stderr], [check.status, ''], name);
	try {
		assertSameFindings(ini, json.stdout, json.status, check.stderr);
	} catch (error) {
		throw new Error(`${name}: ${error.message}`);
	}
}

async function walkMistake([name, text, line, cause, remedy]) {
	const ini = write(text);
	const [check, run] = await Promise.all([pushgate(['check', '-c', ini]), pushgate(['run', '--single', '-c', ini])]);
	const mistake = about(check.out, ini).find((l) => l.startsWith(`${ini}:${line}: `) && cause.test(l) && remedy.test(l));
	assert.ok(mistake, `${name}: line ${line}, ${cause}, ${remedy}:\n${check.out}`);
	assert.doesNotMatch(mistake, /: warning: /, name);
	assert.equal(check.status, 2, `${name}: status of check`);
	assert.equal(run.status, 2, `${name}: status of run, which says:\n${run.out}`);
	assert.ok(about(run.out, ini).includes(mistake), `${name}: run says something else:\n${run.out}`);
	await walkJson(name, ini, check);
}

async function walkWarning([name, text, line, cause, remedy]) {
	const ini = write(text);
	const check = await pushgate(['check', '-c', ini]);
	const warning = about(check.out, ini).find((l) => l.startsWith(`${ini}:${line}: warning: `) && cause.test(l) && remedy.test(l));
	assert.ok(warning, `${name}: line ${line}, ${cause}, ${remedy}:\n${check.out}`);
	assert.equal(check.status, 0, `${name}: status of check:\n${check.out}`);
	await walkJson(name, ini, check);
	if (await strict)
		assert.equal((await pushgate(['check', '--strict', '-c', ini])).status, 2, `${name}: status of check --strict`);
}

async function walkFine([name, text]) {
	const ini = write(text);
	const check = await pushgate(['check', '-c', ini]);
	assert.deepEqual(about(check.out, ini), [], name);
	await walkJson(name, ini, check);
	assert.equal(check.status, 0, name);
}

/* Some at a time: a row is two starts of the program at most. Reports all rows that fail. */
async function walk(rows, one) {
	const rest = [...rows], failures = [];
	await Promise.all(Array.from({ length: AT_A_TIME }, async () => {
		for (let row; (row = rest.shift());)
			await one(row).catch((error) => failures.push(error.message));
	}));
	assert.deepEqual(failures, []);
}

test(`each of ${mistakes.length} mistakes has its line, cause and remedy, and run refuses it with the same words`, () => walk(mistakes, walkMistake));
test(`each of ${warnings.length} doubtful things is a warning with its line, cause and remedy`, () => walk(warnings, walkWarning));
test('what looks odd and is right is no mistake', () => walk(fine, walkFine));
