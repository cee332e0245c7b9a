#!/usr/bin/env node
// The origin and the client of scripts/bench's tunnel works, each a process of its own on the peers' processor.
//
//   tunnel_peers.mjs origin http1|h2c PORT
//   tunnel_peers.mjs tunnel|download 1.1|2 PORT tls|plain COUNT
//   tunnel_peers.mjs connect 2 PORT tls|plain COUNT ORIGIN-PORT
//
// All carry the same bytes: binary WebSocket messages of 64 KiB, COUNT times 64 MiB of them, one after the other.
// A download is the body of a GET; connect sends that GET through a tunnel to the origin that a CONNECT opens.
// Exit status 1 when a byte is missing.
import { tunnelOrigin, openTunnel, session2 } from '../support/tunnel_ends.mjs';
import http from 'node:http';
import https from 'node:https';

const MESSAGE = 65536;
const MESSAGES = 1024;
/* FIN, binary; a length of 64 bits. */
const frame = Buffer.concat([Buffer.from([0x82, 127]), Buffer.alloc(8), Buffer.alloc(MESSAGE, 'y')]);
frame.writeBigUInt64BE(BigInt(MESSAGE), 2);
const BYTES = frame.length * MESSAGES;

function send(stream) {
  let left = MESSAGES;
  const more = () => {
    while (left > 0) {
      left--;
      if (left === 0)
        return stream.end(frame);
      if (!stream.write(frame))
        return stream.once('drain', more);
    }
    return undefined;
  };
  stream.on('error', () => {});
  more();
}

async function origin(kind, port) {
  await tunnelOrigin(kind === 'h2c' ? '2' : '1.1', {
    port,
    tunnel: (stream) => { stream.resume(); send(stream); },
    // Written as the tunnel's bytes are: in HTTP/1.1 straight into the socket, which ends with them.
    request: (response) => {
      if (response.respond) {
        response.respond({ ':status': 200, 'content-length': BYTES });
        return send(response);
      }
      response.writeHead(200, { 'content-length': BYTES, connection: 'close' });
      response.flushHeaders();
      return send(response.socket);
    },
  });
}

/* Counts what comes until the end. */
function receive(stream) {
  return new Promise((resolve, reject) => {
    let got = 0;
    stream.on('data', (bytes) => {
      got += bytes.length;
      if (got === BYTES) resolve();
    });
    stream.once('error', reject);
    stream.once('close', () => (got === BYTES ? resolve() : reject(new Error(`${got} of ${BYTES} bytes came`))));
    stream.resume();
  });
}

function get1(port, secure) {
  const agent = new (secure ? https : http).Agent({ keepAlive: false });
  return new Promise((resolve, reject) => {
    (secure ? https : http).get({ port, host: '127.0.0.1', path: '/bulk', agent, rejectUnauthorized: false, headers: { host: 'localhost' } }, resolve).once('error', reject);
  });
}

/* Opens a tunnel with CONNECT, asks the origin in it, and gives what comes behind the head of its response. */
function getThrough(session, originPort) {
  const stream = session.request({ ':method': 'CONNECT', ':authority': `127.0.0.1:${originPort}` }, { endStream: false });
  stream.write('GET /bulk HTTP/1.1\r\nHost: localhost\r\n\r\n');
  return new Promise((resolve, reject) => {
    let head = Buffer.alloc(0);
    stream.once('response', (fields) => (fields[':status'] === 200 ? undefined : reject(new Error(`the CONNECT got ${fields[':status']}`))));
    stream.once('close', () => reject(new Error('the tunnel ended before the response')));
    stream.on('data', function read(bytes) {
      head = Buffer.concat([head, bytes]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      stream.pause();
      stream.off('data', read);
      stream.unshift(head.subarray(end + 4));
      resolve(stream);
    });
    stream.on('error', reject);
  });
}

async function client(what, version, port, secure, count, originPort) {
  const host = 'localhost';
  const session = version === '2' ? await session2({ port, secure, host }) : null;
  for (let i = 0; i < count; i++) {
    let stream;
    if (what === 'tunnel') stream = await openTunnel(version, { port, secure, host, session });
    else if (what === 'connect') stream = await getThrough(session, originPort);
    else if (session) stream = session.request({ ':path': '/bulk', ':authority': host });
    else stream = await get1(port, secure);
    await receive(stream);
    if (what !== 'download') stream.end();
    if (version === '1.1') stream.destroy();
  }
  session?.destroy();
}

const [what, ...rest] = process.argv.slice(2);
try {
  if (what === 'origin') await origin(rest[0], Number(rest[1]));
  else {
    await client(what, rest[0], Number(rest[1]), rest[2] === 'tls', Number(rest[3]), Number(rest[4]));
    process.exit(0);
  }
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
