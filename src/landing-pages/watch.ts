import type pg from 'pg';
import type { Counter } from 'prom-client';
import type { Resource } from '../management/resource.ts';
import { pauseRow } from '../management/restore.ts';
import { getRow } from '../management/rows.ts';
import type { Actor, Management, Work } from '../management/unit-of-work.ts';
import { transaction } from '../platform/db/pool.ts';
import { getOrInsert } from '../platform/lib/get-or-insert.ts';
import { dayMs, hourMs } from '../platform/lib/time.ts';
import { timeOf } from '../platform/lib/time-zone.ts';
import { parseUrl } from '../platform/lib/url.ts';
import type { Logger } from '../platform/logger.ts';
import type { Webhooks } from '../webhooks/module.ts';
import type { Sender } from '../webhooks/sender.ts';
import { checkPage, checkStartUrl, checkTimeoutMs, type PageCheck, type Result, resultOf } from './page-check.ts';

export type WatchDeps = {
  pool: pg.Pool;
  management: Management;
  raiseFacts: Webhooks['raiseFacts'];
  kinds: { campaigns: Resource; offers: Resource };
  sender: Sender;
  /** Timeout for each HTTP call, in milliseconds. */
  callMs: number;
  checks: Counter<'result'>;
  logger: Logger;
  now: () => number;
  /** Returns a random number in [0, 1). */
  random: () => number;
};

/** Maximum number of URLs to check per run, each on a different host. */
export const maxBatch = 20;
/** Number of consecutive `gone` or `moved` results after which the campaign or offer is paused. */
export const checksToPause = 3;
/** Delay before an unsuccessful or inconclusive check is repeated, in milliseconds. */
const againMs = hourMs;

/** Landing page of a campaign, or of an offer's secondary action. */
type WatchedPage = {
  subject: string;
  campaign_id: number | null;
  offer_id: number | null;
  publisher_id: number;
  url: string;
  known_host: string | null;
  result: Result | null;
  failures: number;
  failing_since: Date | null;
  paused_at: Date | null;
  end_at: string | null;
};

/** SQL condition for campaigns `c` that are being served, as far as the database rows show. */
const shownSql = `c.active and c.stopped_at is null and c.deleted_at is null and p.landing_pages_checked`;

/**
 * SQL that claims the URLs that are due for a check, one per host, with all pages that share the URL. Notes:
 * - Hosts that another process is checking are skipped, and pages added later wait for the next check.
 * - If the URL of a campaign or offer has changed, the new URL is checked from scratch.
 * - A URL with macros counts as a separate page for each campaign.
 * - Names reserved for examples and tests are excluded, because they don't resolve (RFC 6761).
 */
const claimSql = `
with pages as (
  select 'campaign ' || c.id as subject, c.id as campaign_id, null::integer as offer_id, c.publisher_id,
    c.landing_url as url, case when c.landing_url like '%{%' then c.id end as macros_of,
    c.rules #>> '{schedule,end_at}' as end_at
  from campaigns c join publishers p on p.id = c.publisher_id
  where ${shownSql} and exists (select from offers o where o.campaign_id = c.id and o.active and o.deleted_at is null)
  union all
  select 'offer ' || o.id, null, o.id, c.publisher_id, o.useraction_url, null, c.rules #>> '{schedule,end_at}'
  from offers o join campaigns c on c.id = o.campaign_id join publishers p on p.id = c.publisher_id
  where ${shownSql} and o.active and o.stopped_at is null and o.deleted_at is null and o.useraction_url <> ''
), addresses as (
  select lower(substring(pages.url from '^[^:]+://([^/?#]*)')) as host, pages.url, macros_of,
    min(l.next_look_at) as due_at
  from pages left join landing_pages l on l.subject = pages.subject and l.url = pages.url
  group by pages.url, macros_of
), due as (
  select distinct on (host) * from addresses
  where (due_at is null or due_at <= $1) and host !~ '\\.(example|invalid|localhost|test)\\.?(:\\d+)?$' and not exists (
    select from landing_pages other where other.host = addresses.host and other.looking_until > $1
  )
  order by host, due_at nulls first, url, macros_of
), taken as (
  insert into landing_pages as l (campaign_id, offer_id, publisher_id, url, host, next_look_at, looking_until)
  select campaign_id, offer_id, publisher_id, url, host, $2, $3
  from (select * from due order by due_at nulls first limit ${maxBatch}) d join pages using (url)
  where pages.macros_of is not distinct from d.macros_of order by subject
  on conflict (subject) do update set url = excluded.url, host = excluded.host,
    next_look_at = excluded.next_look_at, looking_until = excluded.looking_until,
    known_host = case when l.url = excluded.url then l.known_host end,
    failures = case when l.url = excluded.url then l.failures else 0 end,
    failing_since = case when l.url = excluded.url then l.failing_since end,
    paused_at = case when l.url = excluded.url then l.paused_at end
  returning *
)
select taken.*, pages.end_at from taken join pages using (subject) order by subject`;

/**
 * Checks the pages that are due. Each URL is checked only once, even if several pages share it.
 * @returns number of URLs checked
 */
export async function checkDuePages(deps: WatchDeps): Promise<number> {
  const { pool, now } = deps;
  const nowMs = now();
  const { rows } = await transaction(pool, async (executor) => {
    await executor.query("select pg_advisory_xact_lock(hashtext('perkwire_landing_pages'))");
    return executor.query<WatchedPage>(claimSql, [
      new Date(nowMs),
      new Date(nowMs + againMs),
      new Date(nowMs + checkTimeoutMs + callTailMs),
    ]);
  });
  const byUrl = new Map<string, WatchedPage[]>();
  for (const row of rows) getOrInsert(byUrl, row.url, (): WatchedPage[] => []).push(row);
  await Promise.all([...byUrl.values()].map((pages) => checkUrl(deps, pages)));
  return byUrl.size;
}

/** Additional lease time for storing the result after a check has timed out, in milliseconds. */
const callTailMs = 30_000;

/**
 * Checks a URL and stores the result for all pages that share it.
 * @param rows pages with the same URL
 */
async function checkUrl(deps: WatchDeps, rows: readonly WatchedPage[]): Promise<void> {
  const { sender, callMs, logger, now } = deps;
  const over = rows.filter((row) => isOver(row, now()));
  const live = rows.filter((row) => !over.includes(row));
  try {
    if (over.length > 0) await leave(deps, over, dayMs);
    const start = startOf(live[0]);
    const check = start === null ? null : await checkPage(start, { sender, callMs, now: () => performance.now() });
    // An error on our own side says nothing about the page, so leave the result unchanged.
    if (check === null || check.problem === 'local') return await leave(deps, live, againMs);
    const isOffline = check.problem === 'dns' && !(await isAnyAnswering(deps, live, now()));
    const results: Result[] = [];
    for (const row of live) results.push(await settle(deps, row, check, isOffline));
    if (results[0] !== undefined) deps.checks.inc({ result: results[0] });
  } catch (err) {
    logger.warn({ err, subject: rows[0]?.subject }, 'landing page check failed');
    await leave(deps, live, againMs);
  }
}

/** Returns the URL at which the check of a page starts. URLs of secondary actions contain no macros. */
function startOf(row: WatchedPage | undefined): URL | null {
  if (row === undefined) return null;
  const { campaign_id: id, publisher_id, url } = row;
  return id === null ? parseUrl(url) : checkStartUrl(url, { campaign_id: id, publisher_id });
}

/** Whether the campaign has ended. Its page may then be gone for good reason. */
const isOver = ({ end_at: end }: WatchedPage, nowMs: number): boolean => (timeOf(end ?? undefined) ?? nowMs) < nowMs;

/** Keeps the stored results and postpones the next check. */
const leave = async ({ pool, now }: WatchDeps, rows: readonly WatchedPage[], laterMs: number): Promise<void> =>
  void (await pool.query(
    `update landing_pages set looking_until = null, next_look_at = $2
    where subject = any($1::text[]) and looking_until is not null`,
    [rows.map(({ subject }) => subject), new Date(now() + laterMs)],
  ));

/** Stores the result, and pauses the campaign or offer if the page was lost in enough consecutive checks. */
async function settle(deps: WatchDeps, row: WatchedPage, check: PageCheck, isOffline: boolean): Promise<Result> {
  const nowMs = deps.now();
  // If a paused campaign or offer is active again, someone has resumed it and knows where the page leads.
  const isResumed = row.paused_at !== null;
  const foundResult = isOffline ? 'unreachable' : await resultOf(check, row.known_host);
  const result = isResumed && foundResult === 'moved' ? 'found' : foundResult;
  const isLost = result === 'gone' || result === 'moved';
  const failures = isLost ? 1 + (result === row.result ? row.failures : 0) : result === 'found' ? 0 : row.failures;
  const next = isLost && failures < checksToPause ? againMs : dayMs * (5 / 6 + deps.random() / 3);
  await deps.management.write(watcher, row.publisher_id, async (work) => {
    const failing = result === 'found' ? null : (row.failing_since ?? new Date(nowMs));
    const pauses = failures >= checksToPause && !isResumed && (await pause(deps, work, row, check, result, failing));
    const pausedAt = pauses ? new Date(nowMs) : result === 'found' ? null : row.paused_at;
    await work.executor.query(
      `update landing_pages set looking_until = null, looked_at = $3, next_look_at = $4, result = $5, problem = $6,
        status = $7, redirects = $8, leads_to = $9, known_host = $10, failures = $11, failing_since = $12,
        paused_at = $13
      where subject = $1 and url = $2`,
      [
        ...[row.subject, row.url, new Date(nowMs), new Date(nowMs + next), result, check.problem, check.status],
        ...[check.redirects, check.host, result === 'found' ? check.host : row.known_host, failures, failing, pausedAt],
      ],
    );
  });
  return result;
}

/**
 * Whether any other page has responded recently. If none has, an unresolved host name may only mean that the network is
 * down.
 */
async function isAnyAnswering({ pool }: WatchDeps, pages: readonly WatchedPage[], nowMs: number): Promise<boolean> {
  const { rows } = await pool.query(
    'select 1 from landing_pages where url <> $1 and status is not null and looked_at > $2 limit 1',
    [pages[0]?.url, new Date(nowMs - 2 * dayMs)],
  );
  return rows.length > 0;
}

/** Actor for automatic pauses in the audit log. */
const watcher: Actor = {
  kind: 'system',
  id: 0,
  label: 'landing pages',
  permissions: new Set<string>(),
  expiresAtMs: null,
  ratePerS: null,
  restrictions: null,
  publisherId: null,
};

/**
 * Pauses the campaign, or only the offer, unless its URL has changed since the check.
 * @returns whether it was paused
 */
async function pause(
  { kinds, raiseFacts }: WatchDeps,
  work: Work,
  { campaign_id: campaignId, offer_id: offerId, url, known_host: knownHost }: WatchedPage,
  check: PageCheck,
  reason: Result,
  since: Date | null,
): Promise<boolean> {
  const [kind, id, field] =
    offerId === null
      ? ([kinds.campaigns, campaignId, 'landing_url'] as const)
      : ([kinds.offers, offerId, 'useraction_url'] as const);
  const current = await getRow(kind, work, String(id), 'for update');
  if (current[field] !== url || !(await pauseRow(kind, work, current))) return false;
  const details = {
    url: url.split('?')[0],
    reason,
    status: check.status,
    leads_to: check.host,
    led_to: knownHost,
    since: since?.toISOString(),
  };
  const [event, data] =
    offerId === null
      ? (['campaign.landing_page_lost', { campaign_id: id, name: current.name }] as const)
      : (['offer.action_page_lost', { offer_id: id, campaign_id: current.campaign_id, name: current.title }] as const);
  const fact = { publisherId: work.publisherId, subject: `${id} ${details.since}`, data: { ...data, ...details } };
  await raiseFacts(work.executor, event, [fact]);
  return true;
}
