import type { Executor } from '../platform/db/pool.ts';
import { readOutages } from '../webhooks/last-failure.ts';
import type { SentEvent } from '../webhooks/send-operational.ts';
import { type AlertFact, type AlertKind, defaultKinds, kindOfEvent } from './kinds.ts';
import { addDefaultMailRules } from './rules.ts';

/** SQL condition for mutes of an alert's kind and subject, and for the mute of all alerts. */
const isMuteOf = (mute: string, alert: string): string =>
  `(${mute}.kind, ${mute}.subject) in ((${alert}.kind, ${alert}.subject), ('*', '*'))`;

/**
 * Records an alert for each new cause, and a message for each notification rule that includes the alert's kind. Admins
 * who have not chosen any e-mails get the default ones. Muted alerts get no messages.
 */
export async function recordAlerts(executor: Executor, facts: readonly AlertFact[], nowMs: number): Promise<void> {
  if (facts.length === 0) return;
  const byDefault = facts.filter(({ kind }) => defaultKinds.includes(kind)).map(({ publisherId }) => publisherId);
  if (byDefault.length > 0) await addDefaultMailRules(executor, byDefault, nowMs);
  await executor.query(
    `with recorded as (
      insert into alerts (publisher_id, kind, subject, cause, data, raised_at)
      select publisher_id, kind, subject, cause, data, $6::timestamptz
      from unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::jsonb[])
        as fact (publisher_id, kind, subject, cause, data)
      order by publisher_id, kind, subject, cause
      on conflict do nothing
      returning id, publisher_id, kind, subject
    )
    insert into alert_messages (alert_id, rule_id, next_attempt_at)
    select a.id, r.id, $6::timestamptz
    from recorded a join alert_rules r on r.publisher_id = a.publisher_id and a.kind = any(r.kinds)
    where not exists (
      select from alert_mutes m
      where m.publisher_id = a.publisher_id and ${isMuteOf('m', 'a')} and m.until > $6::timestamptz
    )`,
    [
      facts.map(({ publisherId }) => publisherId),
      facts.map(({ kind }) => kind),
      facts.map(({ subject }) => subject),
      facts.map(({ cause }) => cause),
      facts.map(({ data }) => JSON.stringify(data)),
      new Date(nowMs),
    ],
  );
}

type Lasting = { publisherId: number; kind: AlertKind; subject: string; cause: string };

const keyOf = ({ publisherId, kind, subject }: Lasting): string => `${publisherId} ${kind} ${subject}`;

/**
 * Records an alert for each new fact, and none while its alert is still open. Open alerts of the given kinds end when
 * their fact no longer holds, unless `stays` returns true.
 */
export async function recordLasting(
  executor: Executor,
  kinds: readonly AlertKind[],
  { facts, stays = () => false }: { facts: readonly AlertFact[]; stays?: (alert: Lasting) => boolean },
  nowMs: number,
): Promise<void> {
  const { rows } = await executor.query<Lasting & { id: string }>(
    `select id, publisher_id as "publisherId", kind, subject, cause from alerts
    where kind = any($1::text[]) and ended_at is null`,
    [kinds],
  );
  const currentKeys = new Set(facts.map(keyOf));
  const over = rows.filter((alert) => !currentKeys.has(keyOf(alert)) && !stays(alert));
  const open = new Set(rows.map(keyOf));
  const fresh = facts.filter((fact) => !open.has(keyOf(fact)));
  const endedIds = over.map(({ id }) => id);
  await executor.query('update alerts set ended_at = $2 where id = any($1::bigint[])', [endedIds, new Date(nowMs)]);
  // Coupon codes that were low and are now used up are not resolved: the new alert replaces the old one.
  const isReplaced = (alert: Lasting): boolean =>
    fresh.some(({ publisherId, subject }) => publisherId === alert.publisherId && subject === alert.subject);
  await requestEndMessages(executor, over, { isReplaced, nowMs });
  await recordAlerts(executor, fresh, nowMs);
}

/**
 * Requests a message about the end of each alert for the recipients of its first message, unless the alert is muted or
 * replaced. Messages that have not been sent yet are dropped.
 */
async function requestEndMessages(
  executor: Executor,
  alerts: readonly (Lasting & { id: string })[],
  { isReplaced, nowMs }: { isReplaced: (alert: Lasting) => boolean; nowMs: number },
): Promise<void> {
  if (alerts.length === 0) return;
  const ids = alerts.map(({ id }) => id);
  await executor.query('delete from alert_messages where alert_id = any($1::bigint[]) and attempts = 0', [ids]);
  const resolvedIds = alerts.filter((alert) => !isReplaced(alert)).map(({ id }) => id);
  await executor.query(
    `update alert_messages m set about_end = true, attempts = 0, next_attempt_at = $2, sent_at = null
    from alerts a where a.id = any($1::bigint[]) and m.alert_id = a.id and m.sent_at is not null
      and not exists (
        select from alert_mutes u
        where u.publisher_id = a.publisher_id and ${isMuteOf('u', 'a')} and u.until > $2
      )`,
    [resolvedIds, new Date(nowMs)],
  );
}

/** Creates the event handler that records alerts for operational events, in the transaction that sends the events. */
export const recordOperationalEvents =
  (nowMs: number) =>
  async (executor: Executor, events: readonly SentEvent[]): Promise<void> => {
    const facts = events.flatMap((event) => factOf(event, nowMs));
    await recordAlerts(executor, await withOutages(executor, facts), nowMs);
  };

const kindsWithOutage: ReadonlySet<AlertKind> = new Set(['endpoint.failing', 'endpoint.disabled']);

/**
 * Adds the failed attempt and the start of the outage to facts about endpoints. Only the key of the attempt is stored.
 * Its response stays in the delivery log, so that it is erased and expires there.
 */
async function withOutages(executor: Executor, facts: readonly AlertFact[]): Promise<AlertFact[]> {
  const ofEndpoints = facts.filter(({ kind }) => kindsWithOutage.has(kind));
  if (ofEndpoints.length === 0) return [...facts];
  const outages = await readOutages(
    executor,
    ofEndpoints.map(({ subject }) => Number(subject)),
  );
  return facts.map((fact) => {
    const outage = kindsWithOutage.has(fact.kind) ? outages.get(Number(fact.subject)) : undefined;
    if (outage === undefined) return fact;
    const { key, failures, since } = outage;
    const attempt = key && { failed_delivery_id: key.deliveryId, failed_generation: key.generation };
    const length = since && { failures, failing_since: since.toISOString() };
    return { ...fact, data: { ...length, ...fact.data, ...attempt } };
  });
}

/**
 * Returns the alert facts for an event. All failures of an endpoint between the first failed call and the next success
 * share one cause. For budgets and schedules, the event's subject contains the period or end, so that each period or
 * end has its own cause.
 */
function factOf({ publisherId, event, subject, data }: SentEvent, nowMs: number): AlertFact[] {
  const kind = kindOfEvent[event];
  if (kind === undefined) return [];
  const about = data.offer_id ?? data.campaign_id;
  if (typeof about === 'number') return [{ publisherId, kind, subject: String(about), cause: subject, data }];
  const since = typeof data.failing_since === 'string' ? data.failing_since : new Date(nowMs).toISOString();
  return [{ publisherId, kind, subject: String(data.endpoint_id), cause: since, data }];
}
