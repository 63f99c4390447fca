import type { DimensionName } from './metrics.ts';

/** Bits of `rollups.grain`: the dimensions a row has. Device and os go together; a campaign is found by its offers. */
export const dimensionBits: Record<DimensionName, number> = { placement: 1, offer: 2, campaign: 2, country: 4, device: 8, os: 8 };

/** Set where the bucket is a day of the publisher's time zone. */
export const dayBit = 16;

const columnsOfBit: readonly (readonly [number, string])[] = [
  [1, 'placement'],
  [2, 'offer_id'],
  [4, 'country'],
  [8, 'device, os'],
];

const masks = Array.from({ length: 15 }, (_, index) => index + 1);
const sizeOf = (mask: number): number => columnsOfBit.filter(([bit]) => mask & bit).length;

/**
 * The grains that are kept. One dimension: by the quarter, right for every time zone. Two: also by the day, which is 96
 * times less to read. More: by the day only, because by the quarter they would be nearly as many as the events.
 */
export const keptGrains: readonly number[] = masks.flatMap((mask) => {
  if (sizeOf(mask) === 1) return [mask];
  return sizeOf(mask) === 2 ? [mask, mask | dayBit] : [mask | dayBit];
});

/** The columns a grain groups by. */
export const columnsOf = (grain: number): string =>
  [
    'publisher_id',
    grain & dayBit ? 'day_start' : 'quarter',
    ...columnsOfBit.filter(([bit]) => grain & bit).map(([, columns]) => columns),
  ].join(', ');
