import { hash } from 'node:crypto';
import type pg from 'pg';
import type { Values } from '../management/resource.ts';
import type { Executor } from '../platform/db/pool.ts';
import type { RetentionStep } from '../platform/db/retention.ts';
import { dayMs, hourMs } from '../platform/lib/time.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import { campaignEvents } from '../reports/activity.ts';
import { horizonDays, type Interval } from './engine/types.ts';
import type { DatedForecast } from './service.ts';

/** Figures of a forecast that are compared with actual results. */
export const comparedFigures = ['impressions', 'clicks', 'spend'] as const;
type Figure = (typeof comparedFigures)[number];

/** Figure in the track record of a publisher. */
type FigureRecord = {
  /** Number of forecasts whose interval contained the actual value. */
  inside: number;
  /** Median deviation of the forecast from the actual value, as a share of the actual value. */
  medianError: number;
};

/** Forecast of a campaign's impressions next to the actual number. */
export type ComparedForecast = { campaignId: number; endMs: number; actual: number } & Interval;

/** Comparison of the latest forecasts with actual results. `compared` contains these forecasts, latest first. */
export type TrackRecord = { compared: readonly ComparedForecast[] } & Record<Figure, FigureRecord>;

/** Number of forecasts in a track record. */
const recordLength = 12;

/** Delay between the end of a forecast and its comparison in milliseconds, so that late events are counted. */
const lateMs = 6 * hourMs;

/** Campaign values that change what is forecast. */
const relevant = [
  ...['rules', 'payout_kind', 'payout_amount', 'payout_currency', 'priority', 'weight', 'ranking', 'goal'],
  ...['is_loyalty', 'advertiser_id', 'overspend_percent', 'opt_out_days', 'category'],
];

export const digestOf = (values: Values): string =>
  hash('sha256', JSON.stringify(relevant.map((name) => values[name] ?? null)), 'base64url');

/**
 * Stores the forecast of a live campaign, unless the campaign has one that is not over yet.
 * @param values campaign row in API format
 */
export async function storeForecast(
  executor: Executor,
  { publisherId, values }: { publisherId: number; values: Values },
  { fromMs, totals, currency }: DatedForecast,
): Promise<void> {
  const endMs =
    timeOf((values.rules as { schedule?: { end_at?: string } }).schedule?.end_at) ?? Number.POSITIVE_INFINITY;
  const untilMs = Math.min(fromMs + horizonDays * dayMs, Math.ceil(endMs / hourMs) * hourMs);
  const predicted = Object.fromEntries(comparedFigures.map((figure) => [figure, totals[figure]]));
  await executor.query(
    `insert into forecasts (publisher_id, campaign_id, digest, currency, starts_at, ends_at, predicted)
    values ($1, $2, $3, $4, $5, $6, $7) on conflict do nothing`,
    [
      ...[publisherId, Number(values.id), digestOf(values), currency],
      ...[new Date(fromMs), new Date(untilMs), JSON.stringify(predicted)],
    ],
  );
}

type OpenForecast = {
  id: number;
  publisher_id: number;
  campaign_id: number;
  digest: string;
  currency: string;
  starts_at: Date;
  ends_at: Date;
};

export const findOpen = async (executor: Executor): Promise<OpenForecast[]> =>
  (
    await executor.query<OpenForecast>(
      `select id, publisher_id, campaign_id, digest, currency, starts_at, ends_at from forecasts
      where closed_at is null order by id`,
    )
  ).rows;

/**
 * Closes forecasts. Compares those that have ended with actual results. Discards those whose campaign was changed or
 * stopped in the meantime, because they are no longer comparable.
 * @param digestNow returns the digest of a live campaign's current values, or null if the campaign is not live
 */
export async function closeForecasts(
  pool: pg.Pool,
  open: readonly OpenForecast[],
  digestNow: (forecast: OpenForecast) => string | null,
  nowMs: number,
): Promise<void> {
  for (const forecast of open) {
    const { id, publisher_id: publisherId, campaign_id: campaignId, currency, ends_at: endsAt } = forecast;
    const isOver = endsAt.getTime() + lateMs <= nowMs;
    // Changes after the forecast period don't affect the comparison.
    const isValid = endsAt.getTime() <= nowMs || digestNow(forecast) === forecast.digest;
    if (isValid && !isOver) continue;
    const period = { fromMs: forecast.starts_at.getTime(), untilMs: endsAt.getTime() };
    const events = isValid ? await campaignEvents(pool, { publisherId, campaignId, currency }, period) : null;
    const actual =
      events === null
        ? null
        : JSON.stringify({ impressions: events.impressions, clicks: events.clicks, spend: events.spendMicros });
    await pool.query('update forecasts set actual = $2, closed_at = $3 where id = $1 and closed_at is null', [
      id,
      actual,
      new Date(nowMs),
    ]);
  }
}

type ClosedForecast = {
  campaign_id: number;
  ends_at: Date;
  predicted: Record<Figure, Interval>;
  actual: Record<Figure, number>;
};

/** Whether an interval contains the actual value. Its bounds are rounded outwards to whole units. */
export const isInside = ({ low, high }: Interval, actual: number): boolean =>
  actual >= Math.floor(low) && actual <= Math.ceil(high);

/** Returns the track record of a publisher, or null if none of its forecasts is over yet. */
export async function readRecord(executor: Executor, publisherId: number): Promise<TrackRecord | null> {
  const { rows } = await executor.query<ClosedForecast>(
    `select campaign_id, ends_at, predicted, actual from forecasts where publisher_id = $1 and actual is not null
    order by ends_at desc, id desc limit ${recordLength}`,
    [publisherId],
  );
  if (rows.length === 0) return null;
  const recordOf = (figure: Figure): FigureRecord => {
    const errors = rows.map(({ predicted, actual }) => {
      const [{ mid }, truth] = [predicted[figure], actual[figure]];
      return mid === truth ? 0 : Math.abs(mid - truth) / Math.max(truth, 1);
    });
    const inside = rows.filter(({ predicted, actual }) => isInside(predicted[figure], actual[figure]));
    return { inside: inside.length, medianError: median(errors) };
  };
  return {
    compared: rows.map(({ campaign_id: campaignId, ends_at: endsAt, predicted, actual }) => ({
      campaignId,
      endMs: endsAt.getTime(),
      actual: actual.impressions,
      ...predicted.impressions,
    })),
    impressions: recordOf('impressions'),
    clicks: recordOf('clicks'),
    spend: recordOf('spend'),
  };
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

/** Maximum age of stored forecasts, in days. */
const keptDays = 730;

export const applyForecastRetention: RetentionStep = async (pool, { retentionRollupDays }, nowMs) => {
  const days = Math.min(keptDays, Math.max(retentionRollupDays, horizonDays));
  const { rowCount } = await pool.query('delete from forecasts where ends_at < $1', [new Date(nowMs - days * dayMs)]);
  return { forecasts: rowCount ?? 0 };
};
