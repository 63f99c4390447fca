import { afterAll, beforeAll, expect, test } from 'vitest';
import { compactDataFiles } from '../../src/data-files/compact.ts';
import { dayMs, dayOf } from '../../src/platform/lib/time.ts';
import { askErasure, eraseNext } from '../privacy/support.ts';
import { createTimedApp } from '../tracking/conversions/support.ts';
import { showOffer } from '../tracking/journey.ts';
import { createTestFolder, duckdb, exportAll, verifyAll } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
let folder: Awaited<ReturnType<typeof createTestFolder>>;
beforeAll(async () => {
  [t, folder] = await Promise.all([createTimedApp(), createTestFolder()]);
});
afterAll(async () => {
  await t?.close();
  await folder?.remove();
});

const read = (table: string): string => `read_parquet('${folder.path}/${table}/*/*/*.parquet')`;

test('an erased user gets a tombstone for each exported session, and a compaction removes the user', async () => {
  const user = { pub_user_id: 'erase-me', ad_fp: 'device', plan: 'plus-of-erased' };
  const { sessionId } = await showOffer(t, user);
  await showOffer(t, { pub_user_id: 'somebody-else', plan: 'plus' });
  await exportAll(t, folder.storage);
  await askErasure(t, { pub_user_id: 'erase-me' });
  await eraseNext(t);
  await exportAll(t, folder.storage);
  const keys = `select user_key from ${read('sessions')} where session_id = '${sessionId}'`;
  const [before] = await duckdb(keys);
  expect(await duckdb(`select distinct session_id, user_key from ${read('erasures')}`)).toEqual([
    { session_id: sessionId, user_key: before?.user_key },
  ]);
  const count = `select count(*) as sessions, count(user_key) as users from ${read('sessions')}`;
  const [all] = await duckdb(count);
  await compactDataFiles(folder.storage, { before: dayOf(Date.now() + 2 * dayMs), openRun: null });
  expect(await duckdb(keys)).toEqual([{ user_key: null }]);
  expect(await duckdb(count)).toEqual([{ sessions: all?.sessions, users: String(Number(all?.users) - 1) }]);
  expect((await duckdb(`select attributes from ${read('sessions')}`)).join()).not.toContain('plus-of-erased');
  expect(await verifyAll(t, folder.storage)).toEqual([]);
});
