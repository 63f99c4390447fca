import { expect, test } from 'vitest';
import { perkRun } from '../chaos/perks.ts';
import { clonePool } from '../support/database.ts';
import { timeLimit } from '../support/time-limit.ts';

/** Smaller version of `npm run chaos -- --scenario perks`. It has fewer wraps, but kills processes in the same way. */
const size = { kills: 3, parallel: 16 };

// The test kills and restarts processes under load.
test(`no code is lost or assigned twice, and no mail is lost, in ${size.kills} kills of two processes`, {
  timeout: timeLimit(240_000),
}, async () => {
  const { url: databaseUrl, pool, close } = await clonePool(2);
  const { ok, ...result } = await perkRun(5, { ...size, databaseUrl, pool });
  await close();
  expect(result).toMatchObject({ twice: 0, lost: 0, wrong: 0, afterHold: 0, missing: 0, phantom: 0 });
  expect(result.wraps).toBeGreaterThan(size.kills * size.parallel);
  expect(ok, JSON.stringify(result)).toBe(true);
});
