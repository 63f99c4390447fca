import type { DimensionName } from '../query/metrics.ts';

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

const columnsOfBit: readonly (readonly [number, string])[] = [
  [1, 'placement'],
  [2, 'offer_id'],
  [4, 'country'],
  [8, 'device, os'],
];

const masks = Array.from({ length: 16 }, (_, mask) => mask);
const sizeOf = (mask: number): number => columnsOfBit.filter(([bit]) => mask & bit).length;

/**
 * The grains that are kept. Up to two dimensions: by the hour. From one on: by the day, which is 24 times less to read;
 * three by the
 * hour would be nearly as many as the events.
 */
export const keptGrains: readonly number[] = masks.flatMap((mask) => [
  ...(sizeOf(mask) <= 2 ? [mask] : []),
  ...(sizeOf(mask) >= 1 ? [mask | dayBit] : []),
]);

/** The columns a grain groups by. */
export const columnsOf = (grain: number): string =>
  [
    'publisher_id',
    grain & dayBit ? 'day_start' : 'hour_start',
    ...columnsOfBit.filter(([bit]) => grain & bit).map(([, columns]) => columns),
  ].join(', ');
