import { dayBit } from './grains.ts';

/** Columns of the primary key, which precede the metric columns in a row. */
export const rollupKey = 'publisher_id, grain, bucket, placement, offer_id, country, device, os';
export const customRollupKey = 'publisher_id, key, grain, bucket, value';
export const moneyKey = `${rollupKey}, currency`;
export const customMoneyKey = `${customRollupKey}, currency`;

/** Grains of the custom attribute rollups, which are stored by the hour and by the day. */
export const customGrains = `(values (0::smallint, 'hour'), (${dayBit}::smallint, 'day')) as grains (grain, unit)`;
