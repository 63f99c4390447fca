import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { parseNets } from '../../../../src/config/nets.ts';
import { createSender } from '../../../../src/webhooks/sender.ts';

/*
 * As a process of its own: `receiver` answers each connection in one of the hostile ways, and prints its port; `sender
 * <port>`
 * makes 500 calls at once that are answered well, then 500 that are not, and prints how much its memory grew by those.
 */
const calls = 500;
const deadlineMs = 4000;
const sampleMs = 10;

const head = 'HTTP/1.1 200 OK\r\n';
const chunk = Buffer.alloc(65_536, 'x');
const bomb = gzipSync(Buffer.alloc(20_000_000));

type Write = (text: string | Buffer) => boolean;
const ways: ((write: Write, forever: (step: () => void, everyMs: number) => void) => void)[] = [
  // An endless body.
  (write, forever) => {
    write(`${head}\r\n`);
    forever(() => void write(chunk), 1);
  },
  // Endless headers.
  (write, forever) => {
    write(head);
    forever(() => void write(`x-filler: ${'y'.repeat(1000)}\r\n`), 1);
  },
  // A small body that decompresses to 20 MB.
  (write) =>
    void write(
      Buffer.concat([Buffer.from(`${head}content-encoding: gzip\r\ncontent-length: ${bomb.length}\r\n\r\n`), bomb]),
    ),
  // Endless interim responses.
  (write, forever) => forever(() => void write('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(100)), 1),
  // Headers that are sent one byte at a time.
  (write, forever) => {
    const slow = `${head}content-length: 2\r\n\r\nok`;
    let at = 0;
    forever(() => void write(slow[at++] ?? ''), 100);
  },
];

function receive(): void {
  let turn = 0;
  const server = createServer((socket) => {
    let timer: NodeJS.Timeout | undefined;
    socket.on('error', () => {});
    socket.on('close', () => clearInterval(timer));
    const write: Write = (text) => socket.writable && !socket.writableNeedDrain && socket.write(text);
    socket.once('data', (request: Buffer) => {
      if (request.includes('/good')) return void socket.end(`${head}connection: close\r\ncontent-length: 0\r\n\r\n`);
      ways[turn++ % ways.length]?.(write, (step, everyMs) => {
        timer = setInterval(step, everyMs);
      });
    });
  });
  server.listen(0, '127.0.0.1', 1024, () => process.send?.((server.address() as { port: number }).port));
}

async function send(port: number): Promise<void> {
  const sender = createSender({
    allowNets: parseNets('127.0.0.0/8'),
    allowHttp: true,
    userAgent: 'Perkwire/test',
    now: () => performance.now(),
  });
  const call = (path: string) =>
    sender.send({
      url: `http://127.0.0.1:${port}/${path}`,
      method: 'POST',
      headers: {},
      body: Buffer.from('{"a":1}'),
      deadlineMs,
    });
  const all = (path: string) => Promise.all(Array.from({ length: calls }, () => call(path)));
  await all('good');
  const before = process.memoryUsage.rss();
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, sampleMs);
  const results = await all('bad');
  clearInterval(timer);
  const bodyLengths = results.map((result) => (result.kind === 'response' ? result.body.length : 0));
  process.send?.({
    grownMb: (most - before) / 2 ** 20,
    mostKept: Math.max(...bodyLengths),
    kinds: countBy(results.map(kindOf)),
  });
  await sender.close();
}

const kindOf = (result: { kind: string; class?: string }): string => result.class ?? result.kind;

function countBy(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

const [role = '', port = ''] = process.argv.slice(2);
if (role === 'receiver') receive();
else await send(Number(port));
