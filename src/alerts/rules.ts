import { adminsOf } from '../accounts/memberships.ts';
import type { Executor } from '../platform/db/pool.ts';
import { type SealedColumn, sealedColumn } from '../platform/security/sealed-column.ts';
import { type AlertKind, defaultKinds } from './kinds.ts';

export const urlContext = 'alert-url';

export const sealedAlertUrls: SealedColumn = sealedColumn({
  table: 'alert_rules',
  column: 'url_sealed',
  key: ['id'],
  context: () => urlContext,
});

/** Slack-compatible webhook that receives alerts of the selected kinds. */
export type Channel = { id: number; name: string; kinds: readonly AlertKind[]; error: string | null };

/** Maximum number of channels per publisher. */
export const maxChannels = 20;

/** Sets the alert kinds that a user receives by e-mail. An empty list disables the e-mails. */
export async function setMailRule(
  executor: Executor,
  { publisherId, userId, kinds }: { publisherId: number; userId: number; kinds: readonly AlertKind[] },
  nowMs: number,
): Promise<void> {
  await executor.query(
    `insert into alert_rules (publisher_id, user_id, kinds, created_at) values ($1, $2, $3, $4)
    on conflict (publisher_id, user_id) do update set kinds = excluded.kinds`,
    [publisherId, userId, kinds, new Date(nowMs)],
  );
}

/** Returns the alert kinds that a user receives by e-mail. Admins who have not chosen any receive the default kinds. */
export async function findMailKinds(
  executor: Executor,
  { publisherId, userId }: { publisherId: number; userId: number },
): Promise<readonly AlertKind[]> {
  const { rows } = await executor.query<{ kinds: AlertKind[] }>(
    `select coalesce(
      (select kinds from alert_rules where publisher_id = $1 and user_id = $2),
      (select $3::text[] from (${adminsOf('array[$1::integer]')}) admin where user_id = $2),
      '{}'
    ) as kinds`,
    [publisherId, userId, defaultKinds],
  );
  return rows[0]?.kinds ?? [];
}

/** Stores the default e-mails of those admins who have not chosen any. */
export async function addDefaultMailRules(
  executor: Executor,
  publisherIds: readonly number[],
  nowMs: number,
): Promise<void> {
  await executor.query(
    `insert into alert_rules (publisher_id, user_id, kinds, created_at)
    select publisher_id, user_id, $2::text[], $3::timestamptz from (${adminsOf('$1::integer[]')}) admin
    order by publisher_id, user_id on conflict do nothing`,
    [publisherIds, defaultKinds, new Date(nowMs)],
  );
}

/** Lists a publisher's channels, each with the error of its last message. */
export async function listChannels(executor: Executor, publisherId: number): Promise<Channel[]> {
  const { rows } = await executor.query<Channel>(
    `select r.id, r.name, r.kinds, (
      select m.error from alert_messages m where m.rule_id = r.id order by m.alert_id desc limit 1
    ) as error
    from alert_rules r where r.publisher_id = $1 and r.user_id is null order by r.name, r.id`,
    [publisherId],
  );
  return rows;
}

/** Sets the alert kinds that a channel receives. Does nothing if the publisher has no such channel. */
export async function setChannelKinds(
  executor: Executor,
  { publisherId, id, kinds }: { publisherId: number; id: number; kinds: readonly AlertKind[] },
): Promise<void> {
  await executor.query('update alert_rules set kinds = $3 where publisher_id = $1 and id = $2 and user_id is null', [
    publisherId,
    id,
    kinds,
  ]);
}

/** Returns the sealed URL of a publisher's channel. Returns null if the channel does not exist. */
export async function findChannelUrl(executor: Executor, publisherId: number, id: number): Promise<Buffer | null> {
  const { rows } = await executor.query<{ url_sealed: Buffer }>(
    'select url_sealed from alert_rules where publisher_id = $1 and id = $2 and user_id is null',
    [publisherId, id],
  );
  return rows[0]?.url_sealed ?? null;
}

type NewChannel = { publisherId: number; name: string; urlSealed: Buffer; kinds: readonly AlertKind[] };

/**
 * Adds a channel.
 * @returns its ID, or null if the publisher already has the maximum number of channels
 */
export async function addChannel(executor: Executor, channel: NewChannel, nowMs: number): Promise<number | null> {
  const { rows } = await executor.query<{ id: number }>(
    `insert into alert_rules (publisher_id, name, url_sealed, kinds, created_at) select $1, $2, $3, $4, $5
    where (select count(*) from alert_rules where publisher_id = $1 and user_id is null) < ${maxChannels}
    returning id`,
    [channel.publisherId, channel.name, channel.urlSealed, channel.kinds, new Date(nowMs)],
  );
  return rows[0]?.id ?? null;
}

/**
 * Removes a channel.
 * @returns whether the channel existed
 */
export async function removeChannel(executor: Executor, publisherId: number, id: number): Promise<boolean> {
  const { rowCount } = await executor.query(
    'delete from alert_rules where publisher_id = $1 and id = $2 and user_id is null',
    [publisherId, id],
  );
  return rowCount === 1;
}
