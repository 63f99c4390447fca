import fc from 'fast-check';
import type pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  bigints,
  booleans,
  dates,
  integers,
  smallints,
  texts,
  timestamps,
  uuids,
} from '../../../src/platform/db/binary-array.ts';
import { clonePool } from '../../support/database.ts';

let database: Awaited<ReturnType<typeof clonePool>>;
let pool: pg.Pool;
beforeAll(async () => {
  database = await clonePool(1);
  pool = database.pool;
});
afterAll(() => database?.close());

const itself = <Value>(value: Value): Value => value;

/** Returns the elements of a binary array as PostgreSQL reads them, as text. */
const stored = async (type: string, array: Buffer, element = 'element'): Promise<(string | null)[]> =>
  (
    await pool.query(
      `select (${element})::text as text
       from unnest($1::${type}[]) with ordinality as given (element, place) order by place`,
      [array],
    )
  ).rows.map(({ text }) => text);

const text = (value: number | string | null): string | null => (value === null ? null : String(value));

const checkEach = <Value>(
  values: fc.Arbitrary<Value>,
  check: (values: (Value | null)[]) => Promise<void>,
): Promise<void> => fc.assert(fc.asyncProperty(fc.array(fc.option(values), { maxLength: 30 }), check), { numRuns: 40 });

test('integers of 2, 4 and 8 bytes and NULL are stored unchanged', async () => {
  await checkEach(fc.integer({ min: -(2 ** 15), max: 2 ** 15 - 1 }), async (values) => {
    expect(await stored('smallint', smallints(values, itself))).toEqual(values.map(text));
  });
  await checkEach(fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }), async (values) => {
    expect(await stored('integer', integers(values, itself))).toEqual(values.map(text));
  });
  await checkEach(fc.maxSafeInteger(), async (values) => {
    expect(await stored('bigint', bigints(values, itself))).toEqual(values.map(text));
  });
});

test('a number that is too large for its column is rejected rather than truncated', () => {
  expect(() => integers([2 ** 31], itself)).toThrow(RangeError);
  expect(() => smallints([2 ** 15], itself)).toThrow(RangeError);
});

test('UUIDs are stored unchanged', () =>
  checkEach(fc.uuid(), async (values) => {
    expect(await stored('uuid', uuids(values, itself))).toEqual(values);
  }));

test('texts and booleans are stored unchanged, whatever characters they contain', async () => {
  const characters = fc.string({ unit: 'binary' }).filter((value) => !value.includes('\0'));
  await checkEach(characters, async (values) => {
    expect(await stored('text', texts(values, itself))).toEqual(values);
  });
  await checkEach(fc.boolean(), async (values) => {
    expect(await stored('boolean', booleans(values, itself))).toEqual(
      values.map((value) => (value === null ? null : String(value))),
    );
  });
});

test('timestamps keep milliseconds, and dates are in UTC, even before 1970 and 2000', () =>
  checkEach(
    fc.date({ min: new Date('1970-01-01'), max: new Date('2999-12-31'), noInvalidDate: true }),
    async (values) => {
      const ms = values.map((value) => value?.getTime() ?? null);
      const iso = `to_char(element at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
      expect(await stored('timestamptz', timestamps(ms, itself), iso)).toEqual(
        values.map((value) => value?.toISOString() ?? null),
      );
      expect(await stored('date', dates(ms, itself))).toEqual(
        values.map((value) => value?.toISOString().slice(0, 10) ?? null),
      );
    },
  ));
