import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Fastify from 'fastify';
import { expect, test } from 'vitest';
import { listen } from '../../src/runtime/process.ts';

test('a port in use causes an error message that says what to change', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  await expect(listen(Fastify(), { host: '127.0.0.1', port })).rejects.toThrow(
    `127.0.0.1:${port} is in use by another program. Set PORT`,
  );
  other.close();
});

test('the error for a port in use says if Perkwire itself is running on it', async () => {
  const other = createServer((_request, response) => response.end('{"status":"ok","catalog_version":7}'));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as AddressInfo;
  await expect(listen(Fastify(), { host: '127.0.0.1', port })).rejects.toThrow(
    `Perkwire already runs on port ${port}. To run it twice, set PORT to a free port`,
  );
  other.close();
});

test("another machine's address causes an error message that says what to change", async () => {
  await expect(listen(Fastify(), { host: '192.0.2.1', port: 0 })).rejects.toThrow(
    '192.0.2.1:0 is not an address of this host. Correct HOST',
  );
});
