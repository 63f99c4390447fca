import type { PerkEvent } from '../../catalog/types.ts';
import {
  type Assignment,
  assignmentSql,
  assignmentValues,
  type OwnedJson,
  ownedJsonSql,
  ownedOf,
} from '../../coupons/plan.ts';
import type { StoredCoupon } from '../../coupons/rows.ts';
import { integers } from '../../platform/db/binary-array.ts';
import type { Executor } from '../../platform/db/pool.ts';
import { insertEventsSql, rowValues } from '../../tracking/event-rows.ts';
import { type Delivery, deliverySql, deliveryValues, targetsSql } from '../../webhooks/outbox.ts';
import { uspSelection } from '../usp-selection.ts';
import { type Wrap, wrapValues } from '../usp-sessions.ts';

/*
 * $1 to $11 are the events, $12 to $24 the deliveries, and $34 to $46 the planned coupon codes, if any.
 *
 * `wrapped` waits for other transactions that change the same sessions, and wraps only those that are still open with
 * the given selection. Events and deliveries of other sessions are not stored. Rows are locked in the same order as by
 * `markWrapped`.
 *
 * With codes, all sessions must be wrapped, because each code is part of a delivery. Otherwise, the division by zero
 * undoes the statement.
 */
const sameEndpoints = 'not exists (select from endpoint_lists where json is distinct from known_json)';

const wrapSql = (hasCodes: boolean): string => `
with endpoint_lists as materialized (
  select known.publisher_id, known.json as known_json,
    coalesce(${targetsSql('known.publisher_id', uspSelection.name)}::text, '[]') as json
  from unnest($25::integer[], $26::text[]) as known (publisher_id, json)
), ${hasCodes ? `${assignmentSql(34, sameEndpoints)}, ` : ''}wrapped as (
  insert into usp_sessions (day, session_id, publisher_id, selected, wrapped_at)
  select day, session_id, publisher_id, ($33::integer[])[first:last], wrapped_at
  from unnest($27::date[], $28::uuid[], $29::integer[], $30::timestamptz[], $31::integer[], $32::integer[])
    as given (day, session_id, publisher_id, wrapped_at, first, last)
  where ${hasCodes ? '(select is_ok from can_assign)' : sameEndpoints}
  order by session_id
  on conflict (day, session_id) do update set wrapped_at = excluded.wrapped_at
  where usp_sessions.wrapped_at is null and usp_sessions.selected = excluded.selected
  returning session_id as id
), selection_events as (
  ${insertEventsSql('session_id in (select id from wrapped)')}
), ${deliverySql(12, 'wrapped')}
select array(select id from wrapped) as session_ids, array(select distinct endpoint_id from queued) as endpoint_ids,
  (select json_agg(json_build_object('publisherId', publisher_id, 'json', json)) from endpoint_lists
    where json is distinct from known_json) as changed_endpoints${hasCodes ? codeColumns : ''}`;

const codeColumns = `,
  exists (select from stale_stocks) as is_stale, ${ownedJsonSql} as owned,
  1 / case when (select count(*) from wrapped) = cardinality($28::uuid[]) or not (select is_ok from can_assign)
    then 1 else 0 end as is_checked`;

const statements = {
  plain: { name: 'wrap_usp_sessions', text: wrapSql(false) },
  withCodes: { name: 'wrap_usp_sessions_with_codes', text: wrapSql(true) },
};

type WrapRow = {
  session_ids: string[];
  endpoint_ids: number[];
  changed_endpoints: { publisherId: number; json: string }[] | null;
  is_stale?: boolean;
  owned?: OwnedJson[] | null;
};

/** Sessions to wrap, with the selection and endpoints that their events and deliveries were made for. */
type AssumedWraps = {
  wraps: readonly Wrap[];
  events: readonly PerkEvent[];
  deliveries: readonly Delivery[];
  /** Endpoints of all publishers, as JSON. Undefined if they are unknown. */
  assumedEndpoints: readonly { publisherId: number; json?: string }[];
  /** Codes to assign, or null if the offers have none or the codes are already assigned. */
  codes: Assignment | null;
};

/**
 * Result of a wrap. Nothing was written if the endpoints differ from `assumedEndpoints` (`changedEndpoints` is not
 * null), if the stock of codes has changed, or if users already have codes for the offers.
 */
type WrapOutcome = {
  sessionIds: readonly string[];
  queuedEndpointIds: readonly number[];
  changedEndpoints: readonly { publisherId: number; json: string }[] | null;
  isStockChanged: boolean;
  ownedCoupons: readonly StoredCoupon[];
};

/**
 * Wraps sessions in one statement, with their events and deliveries. Sessions that are already wrapped, or whose
 * selection has changed, are left unchanged. The lists must contain each session once.
 * @throws 22012 (division by zero) if there are codes and a session could not be wrapped; nothing is then written
 */
export async function wrapUnlessChanged(
  executor: Executor,
  { wraps, events, deliveries, assumedEndpoints, codes }: AssumedWraps,
): Promise<WrapOutcome> {
  const { rows } = await executor.query<WrapRow>({
    ...statements[codes === null ? 'plain' : 'withCodes'],
    values: [
      ...rowValues(events),
      ...deliveryValues(deliveries),
      integers(assumedEndpoints, ({ publisherId }) => publisherId),
      assumedEndpoints.map(({ json }) => json ?? null),
      ...wrapValues(wraps, ({ selected }) => selected),
      ...(codes === null ? [] : assignmentValues(codes)),
    ],
  });
  const row = rows[0] as WrapRow;
  return {
    sessionIds: row.session_ids,
    queuedEndpointIds: row.endpoint_ids,
    changedEndpoints: row.changed_endpoints,
    isStockChanged: row.is_stale ?? false,
    ownedCoupons: ownedOf(row.owned ?? null),
  };
}
