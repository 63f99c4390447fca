import { expect, test } from 'vitest';
import { checkTargeting } from '../../../src/offers/targeting/check.ts';
import { contextOf, publisherWith } from '../../decision/support.ts';
import { longestTurnMs, slownessNow } from '../../support/longest-turn.ts';

test('a check of the most complex rules never blocks other requests for long', async () => {
  const all = Array.from({ length: 100 }, (_, list) => ({
    key: 'plan',
    op: 'in' as const,
    value: Array.from({ length: 500 }, (_, at) => `plan-${list}-${at}`.padEnd(12, '.')),
  }));
  const custom = new Map([['plan', 'plan-unknown']]);
  const contexts = Array.from({ length: 600 }, () => contextOf({ custom }));
  const draft = { rules: { conditions: { all } }, isLoyalty: false };
  let slowness = slownessNow();
  const turnMs = await longestTurnMs(async () => {
    const check = await checkTargeting({ contexts, share: 1 }, draft, publisherWith([]));
    expect([check.sessions, check.matching, check.conditions.length]).toEqual([600, 0, 100]);
  });
  slowness = Math.max(1, slowness, slownessNow());
  expect(turnMs).toBeLessThan(50 * slowness);
});
