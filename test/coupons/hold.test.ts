import { afterAll, beforeAll, expect, test } from 'vitest';
import { uspCalls } from '../perks/usp/calls.ts';
import { createTimedApp } from '../tracking/conversions/support.ts';
import { couponCalls } from './support.ts';

let t: Awaited<ReturnType<typeof createTimedApp>>;
beforeAll(async () => {
  t = await createTimedApp();
});
afterAll(() => t.close());

test('a selected offer holds a code until it times out, and then another user gets the code', async () => {
  const [usp, coupons] = [uspCalls(t), couponCalls(t)];
  const offer = (await usp.fetch()).offers[0] as { id: number; campaign_id: number };
  await coupons.add(offer.id, { codes: ['ONLY-ONE'] });
  await coupons.change(offer.id, { hold_minutes: 10 });
  const sessionOf = async (user: string) => (await usp.fetch({ pub_user_id: user })).id;
  const wrap = async (id: string, user: string) => {
    const body = { action: 'wrap', selected: [offer.campaign_id], pub_user_id: user };
    const { data } = await usp.call('POST', `session/${id}.json`, { body });
    return (data as unknown as { campaigns: { coupon: { code: string } | null }[] }).campaigns[0]?.coupon?.code;
  };
  const users = ['holder', 'waiter', 'later'] as const;
  const [holder, waiter, later] = (await Promise.all(users.map(sessionOf))) as [string, string, string];
  await usp.select(holder, offer.campaign_id, { user: 'holder' });
  expect((await coupons.count(offer.id)).data).toMatchObject({ total: 1, given: 0, held: 1, left: 0 });
  expect(await wrap(waiter, 'waiter')).toBeUndefined();
  t.clock.ms += 11 * 60_000;
  expect((await coupons.count(offer.id)).data).toMatchObject({ given: 0, held: 0, left: 1 });
  expect(await wrap(later, 'later')).toBe('ONLY-ONE');
  expect(await wrap(holder, 'holder')).toBeUndefined();
  expect((await coupons.count(offer.id)).data).toMatchObject({ total: 1, given: 1, held: 0, left: 0 });

  await coupons.add(offer.id, { codes: ['SECOND'] });
  const [first, second] = [await sessionOf('one'), await sessionOf('two')];
  await usp.select(first, offer.campaign_id, { user: 'one' });
  await usp.unselect(first, offer.campaign_id, { user: 'one' });
  expect(await wrap(second, 'two')).toBe('SECOND');

  // A user who selects the offer again holds the code again.
  await coupons.add(offer.id, { codes: ['THIRD'] });
  const [again, other, third] = [await sessionOf('again'), await sessionOf('other'), await sessionOf('third')];
  await usp.select(again, offer.campaign_id, { user: 'again' });
  await usp.unselect(again, offer.campaign_id, { user: 'again' });
  await usp.select(again, offer.campaign_id, { user: 'again' });
  expect(await wrap(other, 'other')).toBeUndefined();
  t.clock.ms += 11 * 60_000;
  await usp.select(again, offer.campaign_id, { user: 'again' });
  expect(await wrap(third, 'third')).toBeUndefined();
  expect(await wrap(again, 'again')).toBe('THIRD');
});
