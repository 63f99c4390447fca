import type pg from 'pg';
import type { Counter } from 'prom-client';
import type { Resource } from '../management/resource.ts';
import { pauseRow } from '../management/restore.ts';
import { getRow } from '../management/rows.ts';
import type { Actor, Management, Work } from '../management/unit-of-work.ts';
import { transaction } from '../platform/db/pool.ts';
import { dayMs, hourMs } from '../platform/lib/time.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import type { Logger } from '../platform/logger.ts';
import { raiseFacts } from '../webhooks/raise-events.ts';
import type { Sender } from '../webhooks/sender.ts';
import { type Look, lookAt, lookMs, type Result, resultOf, urlToLookAt } from './look.ts';

export type WatchDeps = {
  pool: pg.Pool;
  management: Pick<Management, 'write'>;
  /** The kind of campaigns. */
  campaigns: Resource;
  sender: Sender;
  /** Limit of each call (milliseconds). */
  callMs: number;
  looks: Counter<'result'>;
  logger: Logger;
  now: () => number;
  /** Of [0, 1). */
  random: () => number;
};

/** Pages looked at by one run (count): each of another host. */
export const maxBatch = 20;
/** Looks in a row that must find a page gone or moved before its campaign is paused (count). */
export const looksToPause = 3;
/** Until what one look says is looked at again (milliseconds). */
const againMs = hourMs;

type Row = {
  campaign_id: number;
  publisher_id: number;
  url: string;
  known_host: string | null;
  result: Result | null;
  failures: number;
  failing_since: Date | null;
  paused_at: Date | null;
  end_at: string | null;
};

/**
 * Takes the pages that are due, one of each host, and none of a host that a process looks at. What campaigns lead to
 * by now counts: another URL begins anew. Names that are reserved for examples and tests lead nowhere (RFC 6761).
 */
const takeSql = `
with due as (
  select distinct on (host) * from (
    select c.id as campaign_id, c.publisher_id, c.landing_url as url, c.rules #>> '{schedule,end_at}' as end_at,
      lower(substring(c.landing_url from '^[^:]+://([^/?#]*)')) as host,
      case when l.url = c.landing_url then l.next_look_at end as due_at
    from campaigns c join publishers p on p.id = c.publisher_id left join landing_pages l on l.campaign_id = c.id
    where c.active and c.stopped_at is null and c.deleted_at is null and p.landing_pages_checked
      and exists (select from offers o where o.campaign_id = c.id and o.active and o.deleted_at is null)
  ) pages
  where (due_at is null or due_at <= $1) and host !~ '\\.(example|invalid|localhost|test)\\.?(:\\d+)?$' and not exists (
    select from landing_pages other where other.host = pages.host and other.looking_until > $1
  )
  order by host, due_at nulls first, campaign_id
), taken as (
  insert into landing_pages as l (campaign_id, publisher_id, url, host, next_look_at, looking_until)
  select campaign_id, publisher_id, url, host, $2, $3 from (
    select * from due order by due_at nulls first limit ${maxBatch}
  ) d order by campaign_id
  on conflict (campaign_id) do update set url = excluded.url, host = excluded.host,
    next_look_at = excluded.next_look_at, looking_until = excluded.looking_until,
    known_host = case when l.url = excluded.url then l.known_host end,
    failures = case when l.url = excluded.url then l.failures else 0 end,
    failing_since = case when l.url = excluded.url then l.failing_since end,
    paused_at = case when l.url = excluded.url then l.paused_at end
  returning *
)
select taken.*, due.end_at from taken join due using (campaign_id)`;

/** Looks at the pages that are due. @returns how many */
export async function lookAtDuePages(deps: WatchDeps): Promise<number> {
  const { pool, now } = deps;
  const nowMs = now();
  const { rows } = await transaction(pool, async (executor) => {
    await executor.query("select pg_advisory_xact_lock(hashtext('perkwire_landing_pages'))");
    return executor.query<Row>(takeSql, [
      new Date(nowMs),
      new Date(nowMs + againMs),
      new Date(nowMs + lookMs + callTailMs),
    ]);
  });
  await Promise.all(rows.map((row) => lookAtOne(deps, row)));
  return rows.length;
}

/** What a look may take beyond its limit, to be stored (milliseconds). */
const callTailMs = 30_000;

async function lookAtOne(deps: WatchDeps, row: Row): Promise<void> {
  const { sender, callMs, logger, now } = deps;
  const { campaign_id: campaignId, publisher_id: publisherId } = row;
  try {
    const ids = { campaign_id: campaignId, publisher_id: publisherId };
    const start = isOver(row, now()) ? null : urlToLookAt(row.url, ids);
    const look = start === null ? null : await lookAt(start, { sender, callMs, now: () => performance.now() });
    // A failure of our own says nothing of the page.
    if (look === null || look.problem === 'local') return await leave(deps, row);
    await settle(deps, row, look);
  } catch (err) {
    logger.warn({ err, campaignId }, 'a landing page could not be looked at');
    await leave(deps, row);
  }
}

/** Whether the schedule of the campaign has ended: its page may be gone. */
const isOver = ({ end_at: end }: Row, nowMs: number): boolean => (timeOf(end ?? undefined) ?? nowMs) < nowMs;

const leave = async ({ pool }: WatchDeps, { campaign_id: id }: Row): Promise<void> =>
  void (await pool.query('update landing_pages set looking_until = null where campaign_id = $1', [id]));

/** Stores what was found, and pauses the campaign when it was found often enough. */
async function settle(deps: WatchDeps, row: Row, look: Look): Promise<void> {
  const nowMs = deps.now();
  // A campaign that was paused and is active again was resumed by someone who knows where its page leads.
  const isResumed = row.paused_at !== null;
  const isOffline = look.problem === 'dns' && !(await isAnyAnswering(deps, row, nowMs));
  const found = isOffline ? 'unreachable' : await resultOf(look, row.known_host);
  const result = isResumed && found === 'moved' ? 'found' : found;
  const isLost = result === 'gone' || result === 'moved';
  const failures = isLost ? 1 + (result === row.result ? row.failures : 0) : result === 'found' ? 0 : row.failures;
  const next = isLost && failures < looksToPause ? againMs : dayMs * (5 / 6 + deps.random() / 3);
  deps.looks.inc({ result });
  await deps.management.write(watcher, row.publisher_id, async (work) => {
    const failing = result === 'found' ? null : (row.failing_since ?? new Date(nowMs));
    const pauses = failures >= looksToPause && !isResumed && (await pause(deps, work, row, look, result, failing));
    const pausedAt = pauses ? new Date(nowMs) : result === 'found' ? null : row.paused_at;
    await work.executor.query(
      `update landing_pages set looking_until = null, looked_at = $3, next_look_at = $4, result = $5, problem = $6,
        status = $7, redirects = $8, leads_to = $9, known_host = $10, failures = $11, failing_since = $12,
        paused_at = $13
      where campaign_id = $1 and url = $2`,
      [
        ...[row.campaign_id, row.url, new Date(nowMs), new Date(nowMs + next), result, look.problem, look.status],
        ...[look.redirects, look.host, result === 'found' ? look.host : row.known_host, failures, failing, pausedAt],
      ],
    );
  });
}

/** Whether another page answered lately. Where none does, a name may be unknown for want of a connection. */
async function isAnyAnswering({ pool }: WatchDeps, { campaign_id: id }: Row, nowMs: number): Promise<boolean> {
  const { rows } = await pool.query(
    'select 1 from landing_pages where campaign_id <> $1 and status is not null and looked_at > $2 limit 1',
    [id, new Date(nowMs - 2 * dayMs)],
  );
  return rows.length > 0;
}

/** As the audit log names it. */
const watcher: Actor = {
  ...{ kind: 'system', id: 0, label: 'landing pages', permissions: new Set<string>(), expiresAtMs: null },
  ...{ ratePerS: null, restrictions: null, publisherId: null },
};

/** Pauses the campaign, as long as it leads there. @returns whether it did */
async function pause(
  { campaigns }: WatchDeps,
  work: Work,
  { campaign_id: id, url, known_host: knownHost }: Row,
  look: Look,
  reason: Result,
  since: Date | null,
): Promise<boolean> {
  const campaign = await getRow(campaigns, work, String(id), 'for update');
  if (campaign.landing_url !== url || !(await pauseRow(campaigns, work, campaign))) return false;
  const data = {
    ...{ campaign_id: id, name: campaign.name, url: url.split('?')[0], reason, status: look.status },
    ...{ leads_to: look.host, led_to: knownHost, since: since?.toISOString() },
  };
  const subject = `${id} ${since?.toISOString()}`;
  await raiseFacts(work.executor, 'campaign.landing_page_lost', [{ publisherId: work.publisherId, subject, data }]);
  return true;
}
