import { createHash } from 'node:crypto';
import type pg from 'pg';
import { type Executor, transaction } from '../../platform/db/pool.ts';
import { allPublishers, type Reader, type SuppressionReason, suppress } from '../addresses.ts';
import type { ReaderKeys } from '../outbox.ts';
import type { AddressChange, AddressReport } from './reports.ts';

type ApplyDeps = { pool: pg.Pool; readerKeys: ReaderKeys; now: () => number };

export type FeedbackCall = {
  provider: string;
  reports: readonly AddressReport[];
  /**
   * Signed content of the call. It is used to recognise the call, so that the call is applied only once. Null if the
   * provider does not sign calls.
   */
  signed: string | null;
};

/** Maximum number of readers per statement. */
const maxReaders = 1000;

/** SQL for a lock that lets only one call at a time change suppressions. This prevents deadlocks between calls. */
const lockSql = "select pg_advisory_xact_lock(hashtext('perkwire_message_feedback'))";

/**
 * Applies a provider's reports in order.
 * - Bounces and complaints apply to all publishers. A bounced address works for none of them, and a complaint concerns
 *   the sender that they share.
 * - An unsubscription applies to the publisher of the message. If the message is unknown, it applies to each publisher
 *   that sends messages, and each of them can revert it.
 */
export async function applyFeedback({ pool, readerKeys, now }: ApplyDeps, call: FeedbackCall): Promise<void> {
  const { provider, reports, signed } = call;
  if (reports.length === 0) return;
  await transaction(pool, async (executor) => {
    await executor.query(lockSql);
    if (signed !== null && !(await claimCall(executor, `${provider} ${signed}`, now()))) return;
    const scopes = await loadScopes(executor, reports);
    for (const { change, part } of runsOf(reports)) {
      const readers = part.flatMap((report) => readersOf(readerKeys, scopes, report));
      for (let start = 0; start < readers.length; start += maxReaders)
        await applyChange(executor, { change, provider, readers: readers.slice(start, start + maxReaders) }, now());
    }
  });
}

/**
 * Records that a call has been applied.
 * @returns false if the call was already recorded
 */
async function claimCall(executor: Executor, signed: string, nowMs: number): Promise<boolean> {
  const id = createHash('sha256').update(signed).digest('hex').slice(0, 32);
  const { rowCount } = await executor.query(
    'insert into message_feedback_calls (id, received_at) values ($1, $2) on conflict do nothing',
    [id, new Date(nowMs)],
  );
  return rowCount === 1;
}

type Scopes = {
  /** Publisher IDs, keyed by message ID. */
  publisherOf: ReadonlyMap<string, number>;
  /** IDs of all publishers that send messages or have done so before. */
  senders: readonly number[];
};

async function loadScopes(executor: Executor, reports: readonly AddressReport[]): Promise<Scopes> {
  const ids = reports.flatMap(({ messageId }) => messageId ?? []);
  const messages = await executor.query<{ id: string; publisher_id: number }>(
    'select id, publisher_id from perk_messages where id = any($1::uuid[])',
    [ids],
  );
  const senders = await executor.query<{ publisher_id: number }>(
    'select publisher_id from perk_message_settings order by publisher_id',
  );
  return {
    publisherOf: new Map(messages.rows.map(({ id, publisher_id: publisherId }) => [id, publisherId])),
    senders: senders.rows.map(({ publisher_id: publisherId }) => publisherId),
  };
}

const ofOnePublisher: readonly AddressChange[] = ['unsubscribed', 'resubscribed'];

/**
 * Returns the readers to whom a report applies. Suppressing an address needs only one of its keys. Lifting a
 * suppression needs all of them.
 */
function readersOf(readerKeys: ReaderKeys, scopes: Scopes, { email, change, messageId }: AddressReport): Reader[] {
  const { publisherOf, senders } = scopes;
  const publisher = messageId === null ? undefined : publisherOf.get(messageId);
  const publishers = publisher === undefined ? senders : [publisher];
  const scopesOfChange =
    change === 'reactivated'
      ? [allPublishers, ...senders]
      : ofOnePublisher.includes(change)
        ? publishers
        : [allPublishers];
  const isEnd = change === 'reactivated' || change === 'resubscribed';
  return scopesOfChange.flatMap((publisherId) => {
    const readers = readerKeys(publisherId, { email }).filter((reader) => reader.publisherId === publisherId);
    return isEnd ? readers : readers.slice(0, 1);
  });
}

/** Groups consecutive reports of the same kind of change. */
function runsOf(reports: readonly AddressReport[]): { change: AddressChange; part: AddressReport[] }[] {
  const runs: { change: AddressChange; part: AddressReport[] }[] = [];
  for (const report of reports) {
    const last = runs.at(-1);
    if (last?.change === report.change) last.part.push(report);
    else runs.push({ change: report.change, part: [report] });
  }
  return runs;
}

type Change = { change: AddressChange; provider: string; readers: readonly Reader[] };

async function applyChange(executor: Executor, { change, provider, readers }: Change, nowMs: number): Promise<void> {
  if (change !== 'reactivated' && change !== 'resubscribed')
    return void (await suppress(executor, readers, change satisfies SuppressionReason, nowMs, provider));
  await executor.query(
    `delete from message_suppressions
    where (publisher_id, address_key) in (select * from unnest($1::integer[], $2::uuid[]))
      and case when $4 then provider = $3 and reason = 'unsubscribed'
        else reason = 'bounced' or (provider = $3 and reason <> 'complained') end`,
    [
      readers.map(({ publisherId }) => publisherId),
      readers.map(({ addressKey }) => addressKey),
      provider,
      change === 'resubscribed',
    ],
  );
}
