import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../command-line/support.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
let env: Record<string, string>;
beforeAll(async () => {
  t = await createTestApp();
  await t.app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = t.app.server.address() as AddressInfo;
  env = { PERKWIRE_URL: `http://127.0.0.1:${port}`, PERKWIRE_KEY: t.publisher.key };
});
afterAll(() => t?.close());

test('explains a session in plain sentences, or as JSON for scripts', async () => {
  const answer = await t.app.inject({
    method: 'POST',
    url: `/native/v4/offers.json?api_key=${t.publisher.key}`,
    payload: { placement: 'checkout' },
  });
  const { session_id: session, offers } = answer.json().data as { session_id: string; offers: { id: number }[] };
  const { code, out } = await runCommand(['explain', session], env);
  expect(code).toBe(0);
  expect(out).not.toMatch(/[{}]/);
  const [first = '', ...lines] = out.trimEnd().split('\n');
  expect(first).toContain(session);
  expect(lines).toHaveLength(offers.length + 1);
  for (const [index, { id }] of offers.entries())
    expect(lines[index]).toContain(` ${index + 1}  offer ${id} of campaign`);
  expect(lines.at(-1)).toBe('Repeated decision: The decision is the same, bit for bit.');
  const json = await runCommand(['explain', session, '--json'], env);
  expect(JSON.parse(json.out)).toMatchObject({ session_id: session, identical: true });
});

test('reports an unknown event with a list of the existing ones', async () => {
  const { code, err } = await runCommand(['trigger', 'no.event'], env);
  expect([code, err]).toEqual([
    3,
    expect.stringMatching(/^Unknown event type\. Use one of: .*usp\.selection.*conversion/),
  ]);
});
