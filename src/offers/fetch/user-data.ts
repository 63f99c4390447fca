import { type EraseWithSessions, exportBySessions, type FindSessions } from '../../platform/user-data.ts';
import { eraseAttributeValues } from '../../reports/corrections.ts';

/**
 * Finds up to `limit` sessions of a user before a given time. How they are found depends on the identifier:
 * - `pub_user_id`: sessions with this user ID, and sessions without a user ID that have the same fingerprints
 * - `ad_fp`: sessions with this fingerprint, whatever their user ID
 * - e-mail address or its hash: sessions with this hash, whatever their user ID
 */
export const findUserSessions: FindSessions = ({ publisherId, namedBy, identifier, userKeys }, until, limit) => {
  const values = [publisherId, userKeys, until, limit ?? null];
  if (namedBy === 'pub_user_id') return { text: byPubUserIdSql, values: [...values, identifier] };
  return { text: namedBy === 'ad_fp' ? byUserKeySql : byEmailKeySql, values };
};

const columns = 'day::text, id, user_key as "userKey", pub_user_id as "pubUserId"';

const byUserKeySql = `
select ${columns} from sessions where publisher_id = $1 and user_key = any($2::uuid[]) and created_at <= $3 limit $4`;

/**
 * Must match the index `sessions_email_key`. Values in requests can't match this string by accident, because JSON
 * escapes their quotes.
 */
const byEmailKeySql = `
select ${columns} from sessions
where publisher_id = $1 and strpos(decision, '"emailKey":"') > 0
  and substring(decision from '"emailKey":"([0-9a-f-]{36})"') = any($2::text[]) and created_at <= $3 limit $4`;

/**
 * Sessions without a user ID come first: they can be found only as long as another session of the user still has their
 * fingerprint.
 */
const byPubUserIdSql = `
with named as materialized (
  select day, id, user_key, pub_user_id from sessions
  where publisher_id = $1 and pub_user_id = $5 and created_at <= $3 limit $4
), keys as materialized (
  select user_key from named where user_key is not null union select unnest($2::uuid[])
)
select ${columns} from sessions
where publisher_id = $1 and pub_user_id is null and created_at <= $3
  and user_key = any(array(
    select user_key from keys union select h.user_key from user_history h join keys k on h.earlier_key = k.user_key
    union select h.earlier_key from user_history h join keys k using (user_key)
  ))
union all
select ${columns} from named
limit $4`;

/**
 * Removes the user's identifiers and custom attributes from sessions. It must be the first step of its transaction,
 * because it may have to wait for a rollup. Rows locked earlier would block other requests during that wait.
 */
export const eraseSessions: EraseWithSessions = async (executor, sessions, { nowMs }) => {
  const days = sessions.map(({ day }) => day);
  const ids = sessions.map(({ id }) => id);
  const keptAttributes = await eraseAttributeValues(executor, [...new Set(days)], ids);
  const { rowCount } = await executor.query(
    `update sessions
    set user_key = null, pub_user_id = null, custom = null, macros = null, language = null, decision = null,
      usp = false, erased_at = $4, erased_attributes = coalesce(given.attributes, erased_attributes)
    from unnest($1::date[], $2::uuid[], $3::jsonb[]) as given (on_day, session_id, attributes)
    where day = any($1::date[]) and id = any($2::uuid[]) and day = on_day and id = session_id`,
    [days, ids, ids.map((id) => keptAttributes.get(id) ?? null), new Date(nowMs)],
  );
  return { sessions: rowCount ?? 0 };
};

/** Exports the user's sessions. */
export const exportSessions = exportBySessions(
  `select id as session_id, created_at, placement, pub_user_id, country,
    decision::json -> 3 ->> 'region' as region, decision::json -> 3 ->> 'city' as city, device, os, language,
    decision::json -> 3 ->> 'browser' as browser, offer_ids, campaign_ids,
    coalesce(custom, '{}') as custom, coalesce(macros, '{}') as macros
  from sessions
  where day = any($1::date[]) and id = any($2::uuid[])
  order by id`,
);
