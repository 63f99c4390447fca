import { expect, test } from 'vitest';
import { writeHistory } from '../../src/demo/write-history.ts';
import { createLearner } from '../../src/learning/learner.ts';
import { findSlot } from '../../src/learning/table.ts';
import { loadVersion, newestVersion } from '../../src/learning/versions.ts';
import { minuteMs } from '../../src/platform/lib/time.ts';
import { createTestApp } from '../support/test-app.ts';

test('two weeks that are learned from at once give rates that are those of the two weeks', async () => {
  let nowMs = Date.now();
  const t = await createTestApp({ now: () => nowMs });
  await writeHistory(t.deps);
  const learn = createLearner(t.deps);
  // Impressions are taken in by shares, the last a minute later.
  for (let round = 0; round < 3; round++) {
    await expect.poll(learn, { timeout: 60_000 }).toMatchObject({ complete: true });
    nowMs += minuteMs;
  }
  const model = await loadVersion(t.pool, await newestVersion(t.pool));
  const { rates, effects } = model?.click ?? {};
  if (rates === undefined || effects === undefined) throw new Error('no model');
  const slot = findSlot(rates, rates.indexOf.get('all') ?? -1, 0);
  const [clicks = 0, seen = 0] = [rates.first[slot], rates.second[slot]];
  const { rows } = await t.pool.query(
    `select count(*) filter (where kind = 'click')::int as clicks,
      count(*) filter (where kind = 'impression')::int as impressions from events`,
  );
  expect(clicks).toBe(rows[0].clicks);
  // Less than all of them: lower positions are looked at less.
  expect(seen).toBeGreaterThan(rows[0].impressions / 4);
  expect(seen).toBeLessThan(rows[0].impressions);
  for (const prior of effects.priors.values()) expect(prior).toBeLessThan(1);
  await t.close();
});
