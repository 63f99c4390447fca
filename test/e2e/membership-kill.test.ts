import { expect, test } from 'vitest';
import { membershipRun } from '../chaos/memberships.ts';
import { clonePool } from '../support/database.ts';
import { timeLimit } from '../support/time-limit.ts';

/** Fewer changes than `npm run chaos -- --scenario memberships`, with the same kill -9. */
const size = { kills: 3, parallel: 32 };

// The test kills and restarts processes under load.
test(`memberships match the acknowledged changes after ${size.kills} kills of two processes`, {
  timeout: timeLimit(240_000),
}, async () => {
  const { url: databaseUrl, pool, close } = await clonePool(2);
  const { ok, ...result } = await membershipRun(31, { ...size, databaseUrl, pool });
  await close();
  expect(result).toMatchObject({ wrong: 0, half: 0, size: 0 });
  expect(result.changes + result.unanswered).toBe(size.kills * size.parallel);
  expect(ok, JSON.stringify(result)).toBe(true);
});
