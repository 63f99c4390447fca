import { expect, test } from 'vitest';
import { mix } from '../../src/decision/random.ts';
import { apiInfluence, influenceText, type ReasonFormat } from '../../src/offers/fetch/reason-text.ts';
import { inLanguage } from '../../src/platform/i18n/reader.ts';
import { simulateLearner, startMs } from '../learning/support.ts';
import { campaignOf, explainAtOnce, inputOf, offersOf, pays, publisherWith } from './support.ts';

test('an explanation names the request properties that changed the score most, and by how much', () => {
  const offers = offersOf(campaignOf(1, { payout: pays('cpc', 1) }), campaignOf(2, { payout: pays('cpc', 1) }));
  const publisher = publisherWith(offers);
  const learner = simulateLearner();
  for (let at = 0; at < 6000; at++) {
    const device = at % 2 === 0 ? 'mobile' : 'desktop';
    const plan = ['gold', 'free'][Math.floor(at / 2) % 2] as string;
    const offer = offers[mix(at, 1) % 2] as (typeof offers)[number];
    const rate = device === 'mobile' && offer.id === 1 ? 0.3 : 0.05;
    learner.show({ offer, atMs: startMs + 10 * at, rate, device, custom: { plan } });
    if (at % 200 === 199) learner.learn(startMs + 10 * at);
  }
  const inputFor = (device: string, plan: string) =>
    inputOf(publisher, { model: { ...learner.model }, context: { device, custom: new Map([['plan', plan]]) } });
  const own = explainAtOnce(inputFor('mobile', 'gold')).find(({ offer }) => offer.id === 1);
  expect(own?.influences[0]).toMatchObject({ property: 'device', value: 'mobile' });
  expect(own?.influences[0]?.factor).toBeGreaterThan(1.1);
  expect(own?.influences.length).toBeLessThanOrEqual(3);
  expect(apiInfluence({ property: 'device', value: 'mobile', factor: 1.5 })).toBe(
    'device mobile: expected revenue 50% higher',
  );
  expect(apiInfluence({ property: 'plan', value: 'gold', factor: 0.5 })).toBe('plan gold: expected revenue 50% lower');
});

test("an influence is described in the reader's language", () => {
  const format = { share: () => '50 %', weekday: () => 'Samstag' } as unknown as ReasonFormat;
  const texts = [
    { property: 'weekday', value: '5', factor: 0.5 },
    { property: 'device', value: 'mobile', factor: 1.5 },
    { property: 'plan', value: 'gold', factor: 1.5 },
  ].map((influence) => inLanguage('de', () => influenceText(influence, format)));
  expect(texts).toEqual([
    'Wochentag Samstag: erwarteter Umsatz 50 % niedriger',
    'Gerät mobile: erwarteter Umsatz 50 % höher',
    'plan gold: erwarteter Umsatz 50 % höher',
  ]);
});
