import { expect, test } from 'vitest';
import { decide } from '../../../src/decision/decide.ts';
import { explain } from '../../../src/decision/explain/explain.ts';
import { mix } from '../../../src/decision/random.ts';
import { campaignOf, inputOf, offersOf, pays, publisherWith } from '../support.ts';

const many = 400;
const publisher = publisherWith(
  offersOf(
    ...Array.from({ length: many }, (_, at) =>
      campaignOf(at + 1, { advertiserId: at + 1, payout: pays('cpc', 0.5 + (at % 5) / 10) }),
    ),
  ),
);

test('where hundreds compete, all of them come by what they drew, each once, also those that no draw remembers', () => {
  for (let seed = 0; seed < 5; seed++) {
    const ranked = explain(inputOf(publisher, { seed: mix(7, seed), context: { count: 5 } }))
      .filter(({ rank }) => rank !== null)
      .sort((a, b) => (a.rank as number) - (b.rank as number));
    expect(ranked.map(({ rank }) => rank)).toEqual(Array.from({ length: many }, (_, at) => at + 1));
    expect(new Set(ranked.map(({ offer }) => offer.id)).size).toBe(many);
    const scores = ranked.map(({ score }) => score as number);
    expect(scores.slice(2)).toEqual(scores.slice(2).sort((a, b) => b - a)); // the first may be there to be explored
  }
});

test('where hundreds compete, every one of them leads now and then, and no two minutes draw alike', () => {
  const nowMs = Date.UTC(2026, 10, 21, 12);
  const leads = new Map<number, number>();
  const firstOf = (seed: number, atMs: number) =>
    decide(inputOf(publisher, { seed, context: { count: 1, nowMs: atMs } })).offers[0]?.offer.id as number;
  for (let run = 0; run < 12_000; run++) {
    const id = firstOf(mix(11, run), nowMs + Math.floor(run / 300) * 60_000);
    leads.set(id, (leads.get(id) ?? 0) + 1);
  }
  expect(leads.size).toBeGreaterThan(many * 0.95);
  expect(Math.max(...leads.values())).toBeLessThan(12_000 * 0.03);
  const seeds = Array.from({ length: 50 }, (_, at) => mix(13, at));
  const differing = seeds.filter((seed) => firstOf(seed, nowMs) !== firstOf(seed, nowMs + 60_000));
  expect(differing.length).toBeGreaterThan(40);
});

test('a decision of an earlier minute is made as it was, whatever was decided since', () => {
  const nowMs = Date.UTC(2026, 10, 21, 12);
  const of = (atMs: number) =>
    decide(inputOf(publisher, { seed: 77, context: { count: 5, nowMs: atMs } })).offers.map(({ offer, score }) => [
      offer.id,
      score,
    ]);
  const then = of(nowMs);
  of(nowMs + 600_000);
  expect(of(nowMs)).toEqual(then);
});
