import { createDelays, type Delays } from './delays.ts';
import type { Effects } from './model/effects.ts';
import { createTable, type Table } from './model/table.ts';

/** Model of one rate: the click rate of impressions, or the conversion rate of clicks. */
export type RateModel = {
  /** Rate to assume until something is learned. */
  startRate: number;
  /**
   * Whether the tables contain a logistic regression (`publish.ts`) rather than counts from an earlier release
   * (`rates.ts`).
   */
  isLogistic: boolean;
  /** Effects of offers and placements on the rate. */
  rates: Table;
  /** Effects of request properties on the rate. */
  effects: Effects;
  /** Distribution of the time from a trial to its success. */
  delays: Delays;
};

/**
 * A version of the ranking model. Each version is a new object, so that it can be used as a cache key for derived
 * values. Versions share the same tables, which are modified when the next version is applied.
 */
export type Model = {
  /** Version number; 0 if nothing has been learned yet. */
  version: number;
  /** Click rate for impressions at the first position. */
  click: RateModel;
  /** Conversion rate for clicks. */
  conversion: RateModel;
  /** Sales totals by campaign ID, for `cps` payouts. */
  sales: Map<number, Sales>;
  /** Number of requests per publisher and hour of the week. */
  traffic: Table;
};

/** Total sales value, in millionths, and number of sales. */
export type Sales = { micros: number; count: number };

/** Assumed success rates before any success is known: 1 click per 50 impressions, and 1 conversion per 20 clicks. */
export const startRates = { click: 1 / 50, conversion: 1 / 20 } as const;

/** Creates an empty model. */
export const createModel = (): Model => ({
  version: 0,
  click: createRateModel('click'),
  conversion: createRateModel('conversion'),
  sales: new Map(),
  traffic: createTable(),
});

const createRateModel = (kind: 'click' | 'conversion'): RateModel => ({
  startRate: startRates[kind],
  isLogistic: true,
  rates: createTable(),
  effects: { weights: createTable(), priors: new Map() },
  delays: createDelays(kind),
});

export const emptyModel: Model = createModel();

/** Returns the name that a publisher's placement has in the model. */
export const placeOf = (publisherId: number, placement: string): string => `${publisherId} ${placement}`;
