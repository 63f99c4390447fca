import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sealedColumns } from '../../../src/commands.ts';
import { checkSecrets } from '../../../src/platform/security/canary.ts';
import type { SealedCounts } from '../../../src/platform/security/sealed-column.ts';
import { createSecretBox } from '../../../src/platform/security/secret-box.ts';
import { walkAllSealed } from '../../../src/runtime/commands/secrets.ts';
import { openHeaders, openSecrets } from '../../../src/webhooks/signature.ts';
import { addCatalogue, type Caller, createManagementApp, type ManagementApp } from '../../catalog/resources/support.ts';

const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
const boxes = {
  old: createSecretBox(oldKey),
  both: createSecretBox(newKey, [oldKey]),
  new: createSecretBox(newKey),
};
const pepper = 'p'.repeat(32);
const path = '/webhook-endpoints/usp.selection';

let t: ManagementApp;
let me: Caller;
beforeAll(async () => {
  t = await createManagementApp({ config: { secretsKey: oldKey, earlierSecretsKeys: [newKey], userPepper: pepper } });
  me = await t.caller(await t.addPublisher());
  await checkSecrets(t.pool, boxes.old, pepper);
});
afterAll(() => t.close());

const put = (token: string) =>
  me.call('PUT', path, {
    url: 'https://shop.example/hook',
    method: 'POST',
    headers: { 'x-token': token, 'x-other': 'o' },
    signature_v1a: true,
  });

async function walk(box: (typeof boxes)['old'], reseal: boolean): Promise<SealedCounts> {
  const sum: SealedCounts = { byKey: [], unreadable: 0 };
  for await (const { byKey, unreadable } of walkAllSealed(t.pool, box, sealedColumns, { reseal })) {
    for (const [index, count] of byKey.entries()) sum.byKey[index] = (sum.byKey[index] ?? 0) + count;
    sum.unreadable += unreadable;
  }
  return sum;
}

test('the list contains every sealed column of the schema', async () => {
  const { rows } = await t.pool.query<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns
    where table_schema = 'public' and column_name ~ '(^|_)sealed$' order by 1`,
  );
  const others = ['installation.canary', 'webhook_endpoints.headers'];
  const columns = (await Promise.all(sealedColumns.map((load) => load()))).flat();
  expect(columns.map(({ name }) => name).sort()).toEqual([...rows.map(({ name }) => name), ...others].sort());
});

describe('a rotation of SECRETS_KEY', () => {
  test('loses nothing during concurrent writes, and counts values under the old key', async () => {
    const { advertiser } = await addCatalogue(me);
    const created = await put('first');
    await me.call('POST', `${path}/rotate-secret`, { overlap_s: 3600 });
    await me.call('POST', `/advertisers/${advertiser}/conversion-secret`);
    await me.call('POST', '/themes', { name: 'T', unit: 'sou' }, { 'idempotency-key': 'one' });
    await me.call('POST', '/privacy/erasure', { pub_user_id: 'u-1' });
    const before = await walk(boxes.both, false);
    expect(before).toEqual({ byKey: [0, expect.any(Number)], unreadable: 0 });
    expect(before.byKey[1]).toBeGreaterThanOrEqual(9);

    // Processes of the first step (old,new) still write while the command runs. The command must not overwrite their
    // data.
    const walking = walk(boxes.both, true);
    for (const token of ['second', 'third']) expect((await put(token)).status).toBe(200);
    await walking;
    const after = await walk(boxes.both, true);
    expect(after).toEqual({ byKey: [before.byKey[1], 0], unreadable: 0 });

    const { rows } = await t.pool.query(
      `select headers, secret_sealed as current, previous_secret_sealed as previous from webhook_endpoints
      where publisher_id = $1`,
      [me.publisherId],
    );
    expect(openHeaders(boxes.new, rows[0].headers)).toEqual({ 'x-token': 'third', 'x-other': 'o' });
    const secrets = openSecrets(boxes.new, rows[0]).map((bytes) => `whsec_${bytes.toString('base64')}`);
    expect(secrets[1]).toBe(created.body.data.secret);
    await checkSecrets(t.pool, boxes.new, pepper);
    await expect(checkSecrets(t.pool, boxes.old, pepper)).rejects.toThrow(/^SECRETS_KEY/);
  });

  test('counts values that no key can open and leaves them unchanged', async () => {
    const otherBox = createSecretBox(randomBytes(32));
    const { unreadable, byKey } = await walk(otherBox, true);
    expect([unreadable > 0, byKey]).toEqual([true, [0]]);
    expect((await walk(boxes.new, false)).unreadable).toBe(0);
  });
});
