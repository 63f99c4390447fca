import type { DimensionName } from '../metrics.ts';

/** Bits of `rollups.grain`: the dimensions a row has. Device and os go together; a campaign is found by its offers. */
export const dimensionBits: Record<DimensionName, number> = {
  placement: 1,
  offer: 2,
  campaign: 2,
  country: 4,
  device: 8,
  os: 8,
};

/** Set where the bucket is a day of the publisher's time zone; else it is an hour. */
export const dayBit = 16;

const columnsOfBit: readonly (readonly [bit: number, columns: readonly string[]])[] = [
  [1, ['placement']],
  [2, ['offer_id']],
  [4, ['country']],
  [8, ['device', 'os']],
];

const masks = Array.from({ length: 16 }, (_, mask) => mask);
const dimensionsOf = (mask: number): number => columnsOfBit.filter(([bit]) => mask & bit).length;

/**
 * The grains that are kept: up to two dimensions by the hour, and from one on by the day, which is 24 times less to
 * read. Three by the hour would be nearly as many rows as events.
 */
export const keptGrains: readonly number[] = masks.flatMap((mask) => [
  ...(dimensionsOf(mask) <= 2 ? [mask] : []),
  ...(dimensionsOf(mask) >= 1 ? [mask | dayBit] : []),
]);

/** The columns of the statement that a grain groups by. */
export const grainColumns = (grain: number): string =>
  [
    'publisher_id',
    grain & dayBit ? 'day_start' : 'hour_start',
    ...columnsOfBit.filter(([bit]) => grain & bit).flatMap(([, columns]) => columns),
  ].join(', ');

/** The grain of a group, in a statement that groups by the columns of all kept grains. */
export const grainOfGroupSql = [...columnsOfBit.map(([bit, [column]]) => [bit, column]), [dayBit, 'day_start']]
  .map(([bit, column]) => `case when grouping(${column}) = 0 then ${bit} else 0 end`)
  .join(' + ');
