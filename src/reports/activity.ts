import type { Executor } from '../platform/db/pool.ts';
import { hourMs } from '../platform/lib/time.ts';
import {
  addMoney,
  type MetricName,
  type Metrics,
  type MoneySum,
  metricColumns,
  metricNames,
  moneyColumns,
  sumOf,
  withMoney,
} from './metrics.ts';
import { moneyOf } from './query/query.ts';
import { dimensionBits } from './rollup/grains.ts';

/** Metrics of a publisher during one minute. */
export type LiveMinute = { startMs: number; metrics: Metrics };

/**
 * Returns a publisher's metrics for each of the last minutes, up to and including the current one. Minutes without
 * activity are omitted. Minutes are stored for two hours.
 */
export async function queryLiveMinutes(
  executor: Executor,
  { publisherId, minutes, nowMs }: { publisherId: number; minutes: number; nowMs: number },
): Promise<LiveMinute[]> {
  const { rows } = await executor.query<Record<string, string>>({
    name: 'live_minutes',
    text: `select extract(epoch from minute)::bigint as start_s, ${metricColumns} from minute_rollups
where publisher_id = $1 and minute > $2::timestamptz and minute <= $3::timestamptz order by minute`,
    values: [publisherId, new Date(nowMs - minutes * 60_000), new Date(nowMs)],
  });
  const paid = await executor.query<Record<string, string>>({
    name: 'live_money',
    text: `select extract(epoch from minute)::bigint as start_s, currency, ${moneyColumns} from minute_money
where publisher_id = $1 and minute > $2::timestamptz and minute <= $3::timestamptz`,
    values: [publisherId, new Date(nowMs - minutes * 60_000), new Date(nowMs)],
  });
  const money = new Map<string, MoneySum[]>();
  for (const row of paid.rows)
    money.set(String(row.start_s), addMoney([money.get(String(row.start_s)) ?? [], [moneyOf(row)]]));
  return rows.map((row) => ({
    startMs: Number(row.start_s) * 1000,
    metrics: withMoney(
      { ...sumOf([]), ...Object.fromEntries(metricNames.map((name) => [name, Number(row[name])])) },
      money.get(String(row.start_s)) ?? [],
    ),
  }));
}

/**
 * Returns which of the given metrics have been non-zero for a publisher since a given time, which is rounded to the
 * hour.
 */
export async function recordedMetrics<Name extends MetricName>(
  executor: Executor,
  publisherId: number,
  metrics: readonly Name[],
  sinceMs: number,
): Promise<Set<Name>> {
  const { rows } = await executor.query<Record<Name, boolean | null>>(
    `select ${metrics.map((name) => `bool_or(${name} > 0) as ${name}`).join(', ')} from rollups
    where publisher_id = $1 and grain = ${dimensionBits.placement} and bucket > $2`,
    [publisherId, new Date(sinceMs - hourMs)],
  );
  return new Set(metrics.filter((name) => rows[0]?.[name] === true));
}

/** Returns a publisher's sessions by hour since a given time, oldest first. Hours without sessions are left out. */
export async function hourlySessions(
  executor: Executor,
  publisherId: number,
  sinceMs: number,
): Promise<{ startMs: number; sessions: number }[]> {
  const { rows } = await executor.query<{ start_s: number; sessions: number }>(
    `select extract(epoch from bucket)::float8 as start_s, sum(sessions)::float8 as sessions from rollups
    where publisher_id = $1 and grain = 0 and bucket >= $2 group by bucket order by bucket`,
    [publisherId, new Date(sinceMs)],
  );
  return rows.map(({ start_s: startS, sessions }) => ({ startMs: startS * 1000, sessions }));
}

/** Events of a campaign at a publisher. `spendMicros` is in millionths of the payout currency. */
export type CampaignEvents = { impressions: number; clicks: number; conversions: number; spendMicros: number };

/**
 * Returns the events of a campaign in a period, which must begin and end at full hours.
 * @param currency currency of the amounts to add up
 */
export async function campaignEvents(
  executor: Executor,
  { publisherId, campaignId, currency }: { publisherId: number; campaignId: number; currency: string },
  { fromMs, untilMs }: { fromMs: number; untilMs: number },
): Promise<CampaignEvents> {
  // Empty dimensions and the offers allow PostgreSQL to use the filter index.
  const ofCampaign = `publisher_id = $1 and grain = ${dimensionBits.offer} and device = '' and country = ''
    and offer_id = any(array(select id from offers where campaign_id = $2)) and bucket >= $3 and bucket < $4`;
  const { rows } = await executor.query<CampaignEvents>(
    `select coalesce(sum(impressions), 0)::float8 as impressions, coalesce(sum(clicks), 0)::float8 as clicks,
      coalesce(sum(conversions), 0)::float8 as conversions,
      (select coalesce(sum(revenue_micros), 0)::float8 from rollup_money where ${ofCampaign} and currency = $5)
        as "spendMicros"
    from rollups where ${ofCampaign}`,
    [publisherId, campaignId, new Date(fromMs), new Date(untilMs), currency],
  );
  return rows[0] as CampaignEvents;
}
