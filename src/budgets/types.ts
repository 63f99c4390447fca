import type { CapEvent, CapMetric, CapPeriod, TotalCap } from '../catalog/rules.ts';

/** An event of the user, or an impression reserved by another answer in progress. */
export type Exposure = {
  event: CapEvent;
  offerId: number;
  campaignId: number;
  advertiserId: number;
  /** Epoch milliseconds. */
  atMs: number;
  /** Number of events, where old ones are aggregated; absent: 1. */
  count?: number;
};

export type UserHistory = {
  /** By campaign id: end of the opt-out in epoch seconds, or null for no end. */
  optOuts: OptOuts;
  /** In any order. */
  exposures: readonly Exposure[];
};

export type OptOuts = Readonly<Record<string, number | null>>;

export const noHistory: UserHistory = { optOuts: {}, exposures: [] };

/** Use of a metric in the current hour, day and month (time zone of the campaign's owner), and in all. */
export type PeriodUse = Readonly<Record<CapPeriod, number>>;

/** Use of a campaign, reservations included; `budget` in millionths of the payout's currency. */
export type CapUsage = Readonly<Record<CapMetric, PeriodUse>>;

/** By `totalsKey`; missing: no use. */
export type Totals = ReadonlyMap<string, CapUsage>;

export const noTotals: Totals = new Map();

/** Key of a campaign's use at all publishers (`publisherId` null), or at one whose provisioning sets total caps. */
export const totalsKey = (campaignId: number, publisherId: number | null): string =>
  publisherId === null ? String(campaignId) : `${campaignId} ${publisherId}`;

/** A total cap ready to be compared; `limit` as it is counted: budgets in millionths. */
export type CompiledTotalCap = { cap: TotalCap; limit: number; key: string; zone: string };

/** Windows in minutes since Monday 00:00; `zone` null: the user's. */
export type Hours = { zone: string | null; windows: readonly { start: number; end: number }[]; wholeHours: boolean };
