import type { DimensionName } from '../metrics.ts';

/**
 * Bits of `rollups.grain`, which indicate the dimensions that a row has. Device and OS share a bit. Campaigns need no
 * bit, because they are derived from their offers.
 */
export const dimensionBits: Record<DimensionName, number> = {
  placement: 1,
  offer: 2,
  campaign: 2,
  country: 4,
  device: 8,
  os: 8,
};

/**
 * Grain bit for buckets that are a day in the publisher's time zone. Without this bit, the bucket is an hour or a week.
 */
export const dayBit = 16;

/** Grain bit for buckets that are a week (`weeks.ts`). */
export const weekBit = 32;

const columnsOfBit: readonly (readonly [bit: number, columns: readonly string[]])[] = [
  [1, ['placement']],
  [2, ['offer_id']],
  [4, ['country']],
  [8, ['device', 'os']],
];

const masks = Array.from({ length: 16 }, (_, mask) => mask);
const dimensionsOf = (mask: number): number => columnsOfBit.filter(([bit]) => mask & bit).length;

/**
 * Stored grains: up to two dimensions by the hour, and one or more dimensions by the day. Reports read 24 times fewer
 * rows from daily grains. Three dimensions by the hour would produce nearly as many rows as there are events. A
 * publisher may have thousands of offers, so offers are also stored by the week, either on their own or with one other
 * dimension.
 */
export const keptGrains: readonly number[] = masks.flatMap((mask) => [
  ...(dimensionsOf(mask) <= 2 ? [mask] : []),
  ...(dimensionsOf(mask) >= 1 ? [mask | dayBit] : []),
  ...((mask & dimensionBits.offer) !== 0 && dimensionsOf(mask) <= 2 ? [mask | weekBit] : []),
]);

const timeColumnOf = (grain: number): string => {
  if (grain & weekBit) return 'week_start';
  return grain & dayBit ? 'day_start' : 'hour_start';
};

/** Returns the columns that a grain groups by. */
export const grainColumns = (grain: number): string =>
  [
    'publisher_id',
    timeColumnOf(grain),
    ...columnsOfBit.filter(([bit]) => grain & bit).flatMap(([, columns]) => columns),
  ].join(', ');

/** SQL for the grain of a group, in a statement that groups by the columns of all stored grains. */
export const grainOfGroupSql = [
  ...columnsOfBit.map(([bit, [column]]) => [bit, column]),
  [dayBit, 'day_start'],
  [weekBit, 'week_start'],
]
  .map(([bit, column]) => `case when grouping(${column}) = 0 then ${bit} else 0 end`)
  .join(' + ');
