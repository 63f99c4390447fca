import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createManagementApp, type ManagementApp } from '../catalog/resources/support.ts';
import { ensureBuilt } from '../support/resources.ts';
import { timeLimit } from '../support/time-limit.ts';

let t: ManagementApp;
let folder: string;
beforeAll(async () => {
  [t] = await Promise.all([createManagementApp(), ensureBuilt()]);
  await t.app.listen({ port: 0, host: '127.0.0.1' });
  folder = await mkdtemp(join(tmpdir(), 'perkwire-guide-'));
});
afterAll(async () => {
  await t?.close();
  await rm(folder, { recursive: true, force: true });
});

const perkwire = fileURLToPath(new URL('../../dist/perkwire.js', import.meta.url));

// Long timeout: each command starts a process.
test('the commands of the guide work when they are pasted one after another', {
  timeout: timeLimit(240_000),
}, async () => {
  const guide = await readFile(new URL('../../docs/guides/management-api.md', import.meta.url), 'utf8');
  const blocks = [...guide.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, text]) => text as string);
  const { port } = t.app.server.address() as AddressInfo;
  const commands = blocks
    .join('echo\n')
    .replace('http://localhost:8080', `http://127.0.0.1:${port}`)
    .replaceAll('npm run perkwire --', `${process.execPath} ${perkwire}`)
    .replaceAll('demo-operator-key', t.operator.key);
  const { code, out } = await new Promise<{ code: number; out: string }>((resolve) => {
    execFile('bash', ['-eu', '-c', commands], { cwd: folder }, (err, stdout) =>
      resolve({ code: err === null ? 0 : 1, out: stdout }),
    );
  });
  expect(code, out).toBe(0);
  // Only the second call returns an error.
  expect(
    [...out.matchAll(/"code":"(\w+)"/g)].map(([, name]) => name),
    out,
  ).toEqual(['precondition_failed']);
  const { rows } = await t.pool.query(
    `select o.active, count(c.id)::int as images
    from offers o join creatives c on c.offer_id = o.id
    where o.title = 'Half off your first box' group by o.id`,
  );
  // Two offers match: the original and its copy.
  expect(rows).toEqual(Array(2).fill({ active: false, images: 2 }));
  expect(JSON.parse(await readFile(join(folder, 'catalogue.json'), 'utf8'))).toMatchObject({ perkwire_catalogue: 1 });
});
