import { afterAll, beforeAll, expect, test } from 'vitest';
import { isKnownZone, namesInstead, zoneNames } from '../../../src/platform/lib/zone-names.ts';
import { createTestApp, type TestApp } from '../../support/test-app.ts';

let t: TestApp;
beforeAll(async () => {
  t = await createTestApp();
});
afterAll(() => t.close());

const instants = [Date.UTC(2026, 0, 15, 12), Date.UTC(2026, 6, 15, 12)];

const nodeOffset = (timeZone: string, atMs: number): number => {
  const format = new Intl.DateTimeFormat('en-CA', {
    ...({ timeZone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' } as const),
    ...({ hour: '2-digit', minute: '2-digit', second: '2-digit' } as const),
  });
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const { year, month, day, hour, minute, second } = parts;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`) - atMs;
};

test('PostgreSQL and Node interpret every accepted time zone in the same way', async () => {
  const { rows } = await t.pool.query<{ zone: string; at: string; offset: number }>(
    `select zone, at::text, 1000 * extract(epoch from
       (to_timestamp(at / 1000) at time zone zone) - (to_timestamp(at / 1000) at time zone 'UTC'))::int as offset
     from unnest($1::text[]) zone, unnest($2::bigint[]) at`,
    [zoneNames, instants],
  );
  expect(rows).toHaveLength(zoneNames.length * instants.length);
  const different = rows.filter(({ zone, at, offset }) => nodeOffset(zone, Number(at)) !== offset);
  expect(different).toEqual([]);
});

test('every time zone of Node is accepted, except those that older supported versions lack', () => {
  const tooNew = ['America/Coyhaique'];
  const lacking = Intl.supportedValuesOf('timeZone').filter((zone) => !isKnownZone(zone) && !tooNew.includes(zone));
  expect(lacking).toEqual([]);
  for (const zone of ['UTC', 'utc', 'europe/berlin', 'Asia/Kolkata', 'Europe/Kyiv', 'US/Eastern', 'Etc/GMT+5'])
    expect([zone, namesInstead(zone)]).toEqual([zone, null]);
});

test.each([
  ['IST', 'Asia/Kolkata, Europe/Dublin, Asia/Jerusalem'],
  ['BST', 'Europe/London, Asia/Dhaka'],
  ['AET', 'Australia/Sydney, Australia/Brisbane'],
  ['ECT', 'Europe/Paris, America/Guayaquil'],
  ['cet', 'Europe/Berlin, Europe/Paris, Europe/Warsaw'],
  ['GMT', 'UTC, Europe/London, Africa/Abidjan'],
  ['Japan', 'Asia/Tokyo'],
  ['NZ', 'Pacific/Auckland'],
  ['Berlin', 'Europe/Berlin'],
  ['Europe/Berln', 'Europe/Berlin'],
  ['America/NewYork', 'America/New_York'],
  ['America/Berlin', 'Europe/Berlin'],
  ['Etc/UTC+2', null],
  ['+02:00', 'Europe/Berlin'],
  ['', 'Europe/Berlin'],
  ['x'.repeat(100_000), 'Europe/Berlin'],
  ['constructor', 'Europe/Berlin'],
])('%s is rejected with suggestions of the nearest names', (zone, names) => {
  const instead = namesInstead(zone);
  if (names === null) expect(instead).not.toBeNull();
  else expect(instead).toBe(names);
});

test.each([
  ['a publisher', 'PATCH', '/manage/v1/publishers/1', { time_zone: 'IST' }],
  ['a schedule', 'PATCH', '/manage/v1/campaigns/1', { rules: { schedule: { time_zone: 'IST' } } }],
  ['a report', 'GET', '/native/activity.json?timezone=IST', undefined],
])(
  'an abbreviation with different meanings in two programs is rejected as the time zone of %s',
  async (_of, method, url, body) => {
    const answer = await t.app.inject({
      method: method as 'GET',
      url,
      headers: { authorization: `Bearer ${t.publisher.key}` },
      ...(body !== undefined && { payload: body }),
    });
    expect(answer.statusCode, answer.body).toBe(400);
    expect(answer.json().error.details[0].message).toContain('Asia/Kolkata, Europe/Dublin, Asia/Jerusalem');
  },
);
