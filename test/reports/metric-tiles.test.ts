import { expect, test } from 'vitest';
import { asReader } from '../../src/platform/i18n/reader.ts';
import { metricTiles, type RowsOf, todayTiles } from '../../src/reports/metric-tiles.ts';
import { sumOf } from '../../src/reports/metrics.ts';

/** Shows numbers without links to their rows. */
const plain: RowsOf = (_metric, value) => value;

const tilesOf = (counts: Partial<ReturnType<typeof sumOf>>): Record<string, string> => {
  const { markup } = metricTiles({ ...sumOf([]), ...counts }, String, plain);
  return Object.fromEntries([...markup.matchAll(/<span>([^<]*)<\/span><strong>([^<]*)</g)].map(([, a, b]) => [a, b]));
};

test('a rate with a denominator of 0 is shown as a dash, and any other as a number, including 0%', () => {
  expect(tilesOf({})).toMatchObject({ Sessions: '0', CTR: '–', 'Fill rate': '–' });
  expect(tilesOf({ sessions: 2, filled_sessions: 1 })).toMatchObject({ CTR: '–', 'Fill rate': '50%' });
  expect(tilesOf({ sessions: 2, impressions: 4 })).toMatchObject({ CTR: '0%', 'Fill rate': '0%' });
});

test('a dash shows no change below it', () => {
  const lastWeek = { ...sumOf([]), impressions: 100, clicks: 5 };
  const tileOf = (counts: object): string =>
    /<span>CTR<.*?<\/div>/.exec(
      todayTiles({ today: { ...sumOf([]), ...counts }, lastWeek }, String, plain).markup,
    )?.[0] ?? '';
  expect(tileOf({ impressions: 100 })).toContain('<small');
  expect(tileOf({})).not.toContain('<small');
});

test('revenue is shown as risen if voids made it negative last week and it is positive now', () => {
  const [today, lastWeek] = [10, -5].map((units) => ({ ...sumOf([]), revenue_micros: units * 1e6 }));
  const { markup } = todayTiles({ today: today ?? sumOf([]), lastWeek: lastWeek ?? sumOf([]) }, String, plain);
  expect(/<span>Revenue<[\s\S]*?<\/div>/.exec(markup)?.[0]).toMatch(/class="up"[\s\S]*300\.0%/);
});

test.each([
  ['en', 'en-GB', '▲ 6,780%', '8,600%'],
  ['de', 'de-DE', '▲ 6.780\u00a0%', '8.600\u00a0%'],
] as const)('large percentages are grouped like other numbers in %s', (language, locale, growth, rate) => {
  const week = { today: { ...sumOf([]), clicks: 6880, impressions: 80 }, lastWeek: { ...sumOf([]), clicks: 100 } };
  const { markup } = asReader({ language, locale }, () => todayTiles(week, String, plain));
  expect(markup.replaceAll(/<[^>]*>/g, '')).toContain(growth);
  expect(markup).toContain(`<strong>${rate}</strong>`);
});

test('without activity last week, the page says so instead of marking each number as new', () => {
  const today = { ...sumOf([]), sessions: 4, impressions: 4, clicks: 1 };
  const { markup } = todayTiles({ today, lastWeek: sumOf([]) }, String, plain);
  expect(markup).toContain('No comparison, because there is no data for the same day last week.');
  expect(markup).not.toMatch(/new|vs\./);
});
