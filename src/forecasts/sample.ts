import { type DecisionRow, decisionColumns, toStoredDecision } from '../offers/re-decide.ts';
import { sampleShare } from '../platform/db/partitions.ts';
import type { Executor } from '../platform/db/pool.ts';
import { runInSlices } from '../platform/lib/slices.ts';
import { dayMs, dayOf } from '../platform/lib/time.ts';
import { hourlySessions } from '../reports/activity.ts';
import type { PublisherSample, SampledSession } from './engine/types.ts';

/** Maximum number of sessions in a sample, and the number below which a larger part of the table is read. */
const [maxSessions, enoughSessions] = [2000, 1000];

/** Number of past days from which sessions are drawn, and from which the visits of their users are read. */
const [sampledDays, maxVisitDays] = [7, 28];

/** Number of weeks of traffic used to fit weekdays, hours and the trend. */
const trafficDays = 56;

/** Maximum number of visits read for a user. Shared user keys, such as that of "guest", may have millions. */
const maxVisits = 200;

/** Reads the data about a publisher that a forecast needs. */
export async function readSample(executor: Executor, publisherId: number, nowMs: number): Promise<PublisherSample> {
  const hours = await hourlySessions(executor, publisherId, nowMs - trafficDays * dayMs);
  const rows = await readSessions(executor, publisherId, nowMs - sampledDays * dayMs);
  const sessions = await runInSlices(toSessions(rows));
  const firstMs = hours[0]?.startMs ?? nowMs;
  const visitDays = Math.max(1, Math.min(maxVisitDays, Math.floor((nowMs - firstMs) / dayMs)));
  const keys = new Set(sessions.flatMap(({ context }) => context.userKey ?? []));
  const visits = await readVisits(executor, publisherId, { keys, sinceMs: nowMs - visitDays * dayMs });
  return { sessions, visits, visitDays, hours };
}

type SessionRow = DecisionRow & {
  id: string;
  seen_ids: number[] | null;
  clicked_ids: number[] | null;
  declined_ids: number[] | null;
};

/** Reads a random sample of a publisher's sessions. Sessions of testers and erased users are excluded. */
async function readSessions(executor: Executor, publisherId: number, sinceMs: number): Promise<SessionRow[]> {
  const share = await sampleShare(executor, 'sessions', sinceMs);
  const read = async (part: number): Promise<SessionRow[]> => {
    const { rows } = await executor.query<SessionRow>(
      `with sampled as materialized (
        select day, id, ${decisionColumns} from sessions tablesample system ($4)
        where day >= $2::date and created_at >= $3 and publisher_id = $1 and decision is not null and not dev
        order by random() limit ${maxSessions}
      )
      select s.*, e.seen_ids, e.clicked_ids, e.declined_ids from sampled s left join lateral (
        select array_agg(offer_id) filter (where kind = 'impression') as seen_ids,
          array_agg(offer_id) filter (where kind = 'click') as clicked_ids,
          array_agg(offer_id) filter (where kind = 'no_thanks') as declined_ids
        from events where day = s.day and session_id = s.id and suspicious is null
      ) e on true`,
      [publisherId, dayOf(sinceMs), new Date(sinceMs), part * 100],
    );
    return rows;
  };
  const rows = await read(share);
  // A small publisher among large ones has few sessions on the pages that were read.
  return rows.length >= enoughSessions || share === 1 ? rows : read(Math.min(1, share * 10));
}

/** Reasons why a session got no offers although some were eligible. */
const emptied: ReadonlySet<string | null> = new Set(['deadline', 'held_out']);

/** Number of rows to convert before yielding to the event loop. */
const sliceSize = 100;

function* toSessions(rows: readonly SessionRow[]): Generator<void, SampledSession[]> {
  const sessions: SampledSession[] = [];
  for (const row of rows) {
    const { context, inputs, themeId, seed, offerIds } = toStoredDecision(row, row.id);
    sessions.push({
      context,
      themeId,
      seed,
      history: { optOuts: inputs.optOuts ?? {}, exposures: inputs.exposures ?? [] },
      totals: new Map(inputs.totals ?? []),
      isEmptied: emptied.has(row.empty_reason),
      offers: offerIds.map((offerId) => ({
        offerId,
        isSeen: row.seen_ids?.includes(offerId) === true,
        isClicked: row.clicked_ids?.includes(offerId) === true,
        isDeclined: row.declined_ids?.includes(offerId) === true,
      })),
    });
    if (sessions.length % sliceSize === 0) yield;
  }
  return sessions;
}

/** Reads the times of the sessions of users, by user key. */
async function readVisits(
  executor: Executor,
  publisherId: number,
  { keys, sinceMs }: { keys: ReadonlySet<string>; sinceMs: number },
): Promise<Map<string, number[]>> {
  const { rows } = await executor.query<{ user_key: string; times: number[] }>(
    `select k.user_key, v.times from unnest($2::uuid[]) as k (user_key) cross join lateral (
      select array_agg(at) as times from (
        select (extract(epoch from created_at) * 1000)::float8 as at from sessions s
        where s.user_key = k.user_key and s.publisher_id = $1 and s.day >= $3::date and s.created_at >= $4 and not s.dev
        limit ${maxVisits}
      ) found
    ) v`,
    [publisherId, [...keys], dayOf(sinceMs), new Date(sinceMs)],
  );
  return new Map(rows.flatMap(({ user_key: key, times }) => (times === null ? [] : [[key, times] as const])));
}
