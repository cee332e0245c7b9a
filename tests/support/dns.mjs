// SPDX-License-Identifier: MIT
// A name server for tests (RFC 1035), over UDP and TCP on one port of 127.0.0.1. What it says is in `names`, which
// may be changed at any time:
//
//   const dns = await startDns({
//     "www.test": { A: ["127.0.0.1", "127.0.0.2"], AAAA: ["::1"], ttl: 1 },
//     "alias.test": { CNAME: "www.test" },
//     "_http._tcp.test": { SRV: [{ priority: 0, weight: 1, port: 80, target: "www.test" }], ttl: 1 },
//     "broken.test": { rcode: 2 },                       // SERVFAIL; { rcode: 3, A: […] }: NXDOMAIN, with addresses all the same
//     "silent.test": { isSilent: true },
//     "slow.test": { A: ["127.0.0.1"], delay: 1500 },    // ms; { AAAA: 1500 }: of that type alone
//     "lying.test": { A: ["127.0.0.1"], lie: "id" },     // id, question, giant, truncated, garbage, short
//   });
//   dns.names["www.test"] = { A: ["127.0.0.3"], ttl: 1 };
//   dns.isSilent = true;                                 // all names
//   dns.queries                                          // [{ name, type, id, port, transport, at }]
//   await dns.close();
//
// A name that is not there is answered with NXDOMAIN, a type that is not there with NODATA; both have an SOA whose
// minimum is `dns.negativeTtl` (1). A chain of CNAME is followed to its end, 20 steps at most. An answer over UDP of
// more than 512 bytes is truncated.
import dgram from "node:dgram";
import net from "node:net";

const TYPES = { A: 1, CNAME: 5, SOA: 6, AAAA: 28, SRV: 33 };
const typeName = (type) => Object.keys(TYPES).find((name) => TYPES[name] === type) ?? String(type);

const u16 = (n) => Buffer.from([(n >> 8) & 255, n & 255]);
const u32 = (n) => Buffer.concat([u16(Math.floor(n / 65536)), u16(n % 65536)]);

function encodeName(name) {
  const labels = name.replace(/\.$/, "").split(".").filter((label) => label !== "");
  return Buffer.concat([...labels.map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)])), Buffer.from([0])]);
}

function decodeName(message, at) {
  const labels = [];
  while (message[at] !== 0) {
    labels.push(message.toString("latin1", at + 1, at + 1 + message[at]));
    at += 1 + message[at];
  }
  return { name: labels.join("."), end: at + 1 };
}

function ipv6Bytes(text) {
  const [before, after] = text.split("::");
  const groups = (part) => (part ? part.split(":").map((group) => parseInt(group, 16)) : []);
  const first = groups(before), last = after === undefined ? [] : groups(after);
  const middle = new Array(8 - first.length - last.length).fill(0);
  return Buffer.concat([...first, ...middle, ...last].map(u16));
}

function recordData(type, value) {
  switch (type) {
    case "A": return Buffer.from(value.split(".").map(Number));
    case "AAAA": return ipv6Bytes(value);
    case "CNAME": return encodeName(value);
    case "SRV": return Buffer.concat([u16(value.priority ?? 0), u16(value.weight ?? 0), u16(value.port), encodeName(value.target)]);
    case "SOA": return Buffer.concat([encodeName("ns.test"), encodeName("root.test"), ...[1, 60, 60, 60, value].map(u32)]);
  }
  throw new Error(`no record of type ${type}`);
}

function record(name, type, ttl, value) {
  const data = recordData(type, value);
  return Buffer.concat([encodeName(name), u16(TYPES[type]), u16(1), u32(ttl), u16(data.length), data]);
}

// The records that answer a question, and the code.
function answerTo(server, question) {
  const records = [];
  let name = question.name.toLowerCase();
  for (let step = 0; step < 20; step++) {
    const known = server.names[name];
    if (!known)
      return { records, rcode: 3, isNegative: true };
    if (known.rcode)
      return { records: (known[question.type] ?? []).map((value) => record(name, question.type, known.ttl ?? 60, value)), rcode: known.rcode };
    const ttl = known.ttl ?? 60;
    if (!known.CNAME) {
      const own = known[question.type] ?? [];
      records.push(...own.map((value) => record(name, question.type, ttl, value)));
      return { records, rcode: 0, isNegative: own.length === 0 };
    }
    records.push(record(name, "CNAME", ttl, known.CNAME));
    name = known.CNAME.toLowerCase();
  }
  return { records, rcode: 0 };
}

function message(id, flags, question, records, authority = []) {
  return Buffer.concat([
    u16(id), u16(flags), u16(1), u16(records.length), u16(authority.length), u16(0),
    encodeName(question.name), u16(question.typeNumber), u16(1), ...records, ...authority,
  ]);
}

const LIES = {
  id: (bytes) => Buffer.concat([u16(bytes.readUInt16BE(0) ^ 1), bytes.subarray(2)]),
  question: (bytes) => { const copy = Buffer.from(bytes); copy[13] ^= 1; return copy; },
  truncated: (bytes) => { const copy = Buffer.from(bytes); copy[2] |= 2; return copy; },
  garbage: (bytes) => Buffer.concat([bytes.subarray(0, 12), Buffer.alloc(300, 0xc0)]),
  short: (bytes) => bytes.subarray(0, bytes.length - 3),
};

// Records that make a datagram of 40 KiB. Made once for each name: a test must not be slow itself.
const giants = new Map();
function giantOf(name) {
  if (!giants.has(name))
    giants.set(name, Array.from({ length: 1400 }, (_, i) => record(name, "A", 1, `127.1.${i >> 8}.${i & 255}`)));
  return giants.get(name);
}

// Bytes for one query; null: no answer.
function respond(server, query, transport) {
  const known = server.names[query.name.toLowerCase()];
  if (server.isSilent || known?.isSilent)
    return null;
  const { records, rcode, isNegative } = answerTo(server, query);
  const authority = isNegative ? [record("test", "SOA", server.negativeTtl, server.negativeTtl)] : [];
  const lie = known?.lie ?? server.lie;
  let bytes = message(query.id, 0x8180 | rcode, query, lie === "giant" ? giantOf(query.name) : records, authority);
  if (transport === "udp" && bytes.length > (lie === "giant" ? 60000 : 512))
    bytes = message(query.id, 0x8380 | rcode, query, []);
  return LIES[lie]?.(bytes) ?? bytes;
}

function parseQuery(bytes) {
  const { name, end } = decodeName(bytes, 12);
  const typeNumber = bytes.readUInt16BE(end);
  return { id: bytes.readUInt16BE(0), name, typeNumber, type: typeName(typeNumber) };
}

async function bindBoth() {
  for (let attempt = 0; ; attempt++) {
    const tcp = net.createServer();
    await new Promise((resolve) => tcp.listen(0, "127.0.0.1", resolve));
    const udp = dgram.createSocket("udp4");
    try {
      await new Promise((resolve, reject) => {
        udp.once("error", reject);
        udp.bind(tcp.address().port, "127.0.0.1", resolve);
      });
      return { tcp, udp };
    } catch (error) {
      udp.close();
      tcp.close();
      if (attempt === 20)
        throw error;
    }
  }
}

export async function startDns(names = {}) {
  const { tcp, udp } = await bindBoth();
  const server = { names, queries: [], port: tcp.address().port, isSilent: false, lie: undefined, delay: 0, negativeTtl: 1 };
  const sockets = new Set(), timers = new Set();
  server.address = `127.0.0.1:${server.port}`;

  const serve = (bytes, port, transport, send) => {
    const query = parseQuery(bytes);
    server.queries.push({ name: query.name, type: query.type, id: query.id, port, transport, at: Date.now() });
    const reply = respond(server, query, transport);
    if (!reply)
      return;
    const named = server.names[query.name.toLowerCase()]?.delay ?? server.delay;
    const delay = typeof named === "object" ? named[query.type] : named;
    if (!delay)
      return send(reply);
    const timer = setTimeout(() => { timers.delete(timer); send(reply); }, delay);
    timers.add(timer);
  };

  udp.on("error", () => {});
  udp.on("message", (bytes, peer) => serve(bytes, peer.port, "udp", (reply) => udp.send(reply, peer.port, peer.address, () => {})));
  tcp.on("connection", (socket) => {
    let input = Buffer.alloc(0);
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (data) => {
      input = Buffer.concat([input, data]);
      while (input.length >= 2 && input.length >= 2 + input.readUInt16BE(0)) {
        const end = 2 + input.readUInt16BE(0);
        serve(input.subarray(2, end), socket.remotePort, "tcp", (reply) => {
          if (reply.length < 65536)
            socket.write(Buffer.concat([u16(reply.length), reply]));
        });
        input = input.subarray(end);
      }
    });
  });

  server.close = async () => {
    for (const timer of timers)
      clearTimeout(timer);
    for (const socket of sockets)
      socket.destroy();
    await Promise.all([new Promise((resolve) => tcp.close(resolve)), new Promise((resolve) => udp.close(resolve))]);
  };
  return server;
}
