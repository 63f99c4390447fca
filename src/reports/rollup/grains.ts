import type { DimensionName } from '../metrics.ts';

/** Bits of `rollups.grain`: the dimensions of a row. Device and os go together; a campaign is found by its offers. */
export const dimensionBits: Record<DimensionName, number> = {
  placement: 1,
  offer: 2,
  campaign: 2,
  country: 4,
  device: 8,
  os: 8,
};

/** Set if the bucket is a day of the publisher's time zone; otherwise it is an hour, or a week. */
export const dayBit = 16;

/** Set if the bucket is a week (`weeks.ts`). */
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
 * Stored grains: up to two dimensions by the hour, and one or more by the day, which is 24 times less to read. Three
 * dimensions by the hour would be nearly as many rows as events. Offers, of which there may be thousands, are also
 * stored by the week, with and without one other dimension.
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

/** Columns that a grain groups by. */
export const grainColumns = (grain: number): string =>
  [
    'publisher_id',
    timeColumnOf(grain),
    ...columnsOfBit.filter(([bit]) => grain & bit).flatMap(([, columns]) => columns),
  ].join(', ');

/** SQL of the grain of a group, in a statement that groups by the columns of all stored grains. */
export const grainOfGroupSql = [
  ...columnsOfBit.map(([bit, [column]]) => [bit, column]),
  [dayBit, 'day_start'],
  [weekBit, 'week_start'],
]
  .map(([bit, column]) => `case when grouping(${column}) = 0 then ${bit} else 0 end`)
  .join(' + ');
