import type { Executor } from '../platform/db/pool.ts';
import type { Identifier } from './erasures.ts';

/** Whose data are meant. */
export type Subject = { publisherId: number; namedBy: Identifier; identifier: string; userKey: string };

/** A session of the user. */
export type Trace = { day: string; id: string; userKey: string | null; pubUserId: string | null };

type Row = { day: string; id: string; user_key: string | null; pub_user_id: string | null };

const columns = 'day::text, id, user_key, pub_user_id';

/**
 * Sessions of a user up to a time, at most `limit`. By `pub_user_id`: those that name it, and those of the same
 * fingerprints
 * that name nobody. By `ad_fp`: those of the fingerprint, whoever they name.
 */
export async function findTraces(executor: Executor, subject: Subject, until: Date, limit: number): Promise<Trace[]> {
  const { publisherId, namedBy, identifier, userKey } = subject;
  const byKey = 'publisher_id = $1 and user_key = $2 and created_at <= $3 limit $4';
  const statement =
    namedBy === 'ad_fp'
      ? { text: `select ${columns} from sessions where ${byKey}`, values: [publisherId, userKey, until, limit] }
      : { text: byPubUserIdSql, values: [publisherId, userKey, until, limit, identifier] };
  const { rows } = await executor.query<Row>(statement);
  return rows.map((row) => ({ day: row.day, id: row.id, userKey: row.user_key, pubUserId: row.pub_user_id }));
}

/* Sessions without a name come first: their fingerprints are known only while one that names the user is left. */
const byPubUserIdSql = `
with named as materialized (
  select ${columns} from sessions where publisher_id = $1 and pub_user_id = $5 and created_at <= $3 limit $4
)
select ${columns} from sessions
where publisher_id = $1 and pub_user_id is null and created_at <= $3
  and user_key = any(array(select user_key from named where user_key is not null union select $2::uuid))
union all
select * from named
limit $4`;
