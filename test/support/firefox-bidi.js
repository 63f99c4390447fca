#!/usr/bin/env node
// Firefox for Playwright, by WebDriver BiDi (npm run test:browsers). Starts the installed Firefox and passes everything
// on, but for commands that Playwright sends without need and that the extended support release does not know yet:
// these are answered here.
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { connect } from 'node:net';

const answeredHere = new Set(['emulation.setMediaFeaturesOverride']);

const textFrame = 1;

/** Calls `onFrame` with each whole WebSocket frame: its bytes, opcode, and unmasked payload. */
function frameReader(onFrame) {
  let waiting = Buffer.alloc(0);
  return (chunk) => {
    waiting = Buffer.concat([waiting, chunk]);
    for (let frame = readFrame(waiting); frame !== null; frame = readFrame(waiting)) {
      waiting = waiting.subarray(frame.bytes.length);
      onFrame(frame);
    }
  };
}

/** The first frame (RFC 6455, 5.2); null where it is not there as a whole. */
function readFrame(bytes) {
  if (bytes.length < 2) return null;
  const [first, second] = bytes;
  const short = second & 127;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const masked = (second & 128) !== 0;
  const start = 2 + lengthBytes + (masked ? 4 : 0);
  if (bytes.length < start) return null;
  const length =
    lengthBytes === 2 ? bytes.readUInt16BE(2) : lengthBytes === 8 ? Number(bytes.readBigUInt64BE(2)) : short;
  if (bytes.length < start + length) return null;
  const mask = masked ? bytes.subarray(start - 4, start) : Buffer.alloc(4);
  const payload = bytes.subarray(start, start + length).map((byte, at) => byte ^ mask[at % 4]);
  return { bytes: bytes.subarray(0, start + length), opcode: first & 15, payload: Buffer.from(payload) };
}

/** An unmasked text frame of less than 126 bytes. */
const shortFrame = (text) => Buffer.concat([Buffer.from([128 | textFrame, text.length]), Buffer.from(text)]);

/** The handshake of the client, for another host, and without compression, so that frames can be read. */
function handshakeOf({ method, url, rawHeaders }, host) {
  const lines = [`${method} ${url} HTTP/1.1`, `Host: ${host}`];
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (!/^(host|sec-websocket-extensions)$/i.test(rawHeaders[at]))
      lines.push(`${rawHeaders[at]}: ${rawHeaders[at + 1]}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function relay(request, client, target) {
  const firefox = connect(Number(target.port), target.hostname);
  firefox.write(handshakeOf(request, target.host));
  const read = frameReader(({ bytes, opcode, payload }) => {
    const command = opcode === textFrame ? JSON.parse(payload.toString()) : {};
    if (!answeredHere.has(command.method)) firefox.write(bytes);
    else client.write(shortFrame(JSON.stringify({ type: 'success', id: command.id, result: {} })));
  });
  client.on('data', read);
  firefox.pipe(client);
  for (const [socket, other] of [
    [client, firefox],
    [firefox, client],
  ])
    socket.on('error', () => {}).on('close', () => other.destroy());
}

const firefox = spawn(process.env.FIREFOX ?? 'firefox-esr', process.argv.slice(2), {
  stdio: ['inherit', 'inherit', 'pipe'],
});
firefox.on('error', (err) => {
  process.stderr.write(`${err.message}\n`);
  process.exit(1);
});
firefox.on('exit', (code) => process.exit(code ?? 0));
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => firefox.kill(signal));

let target = null;
const server = createServer().on('upgrade', (request, client) => relay(request, client, target));
server.listen(0, '127.0.0.1', () => {
  let line = '';
  firefox.stderr.on('data', (chunk) => {
    line += chunk;
    const lines = line.split('\n');
    line = lines.pop() ?? '';
    for (const one of lines) process.stderr.write(`${withOwnAddress(one)}\n`);
  });
});

/** Firefox says where it listens; the client must come here. */
function withOwnAddress(line) {
  const [, url] = /^WebDriver BiDi listening on (ws:\/\/.*)$/.exec(line) ?? [];
  if (url === undefined) return line;
  target = new URL(url);
  return `WebDriver BiDi listening on ws://127.0.0.1:${server.address().port}`;
}
