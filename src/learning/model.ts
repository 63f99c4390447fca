import { createDelays, type Delays } from './delays.ts';
import type { Effects } from './model/effects.ts';
import { createTable, type Table } from './model/table.ts';

/** Model of one rate: clicks of impressions, or conversions of clicks. */
export type RateModel = {
  /** Assumed rate while nothing is known. */
  startRate: number;
  /**
   * Whether the tables contain a logistic regression (`publish.ts`), or the counts of an earlier release (`rates.ts`).
   */
  isLogistic: boolean;
  /** Effects of offers and placements. */
  rates: Table;
  /** Effects of the properties of a request. */
  effects: Effects;
  /** Time from a trial to its success. */
  delays: Delays;
};

/**
 * A version of the ranking model. Each version is a separate object, so that derived values can be cached by it. The
 * tables are shared, and change when the next version is applied.
 */
export type Model = {
  /** Number of the version; 0 if nothing is learned. */
  version: number;
  /** Clicks of impressions at the first position. */
  click: RateModel;
  /** Conversions of clicks. */
  conversion: RateModel;
  /** Sales by campaign id, for `cps`. */
  sales: Map<number, Sales>;
  /** Requests of publishers by hour of the week. */
  traffic: Table;
};

/** Total value of sales in millionths, and their number. */
export type Sales = { micros: number; count: number };

/** Assumed success rates before any success: 1 click in 50 impressions, 1 conversion in 20 clicks. */
export const startRates = { click: 1 / 50, conversion: 1 / 20 } as const;

/** Creates a model without any data. */
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

/** Name of a publisher's placement. */
export const placeOf = (publisherId: number, placement: string): string => `${publisherId} ${placement}`;
