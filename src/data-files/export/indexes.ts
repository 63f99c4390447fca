import pg from 'pg';
import type { Connection } from '../../platform/db/pool.ts';

const { escapeIdentifier } = pg;

/** Index that the migration left out because its table was large, and how to build it. */
type MissingIndex = {
  name: string;
  /** Table and definition, from the name of the table on. */
  definition: string;
  /** Index of the partitioned table that it becomes a part of, or null if its table is not partitioned. */
  parent: string | null;
  /** State of the index with this name: null if it does not exist, false if its build was interrupted. */
  isValid: boolean | null;
};

const missingSql = `
with wanted as (
  select left(c.relname, 48) || '_' || r.column_name as name, c.relnamespace, c.relname,
    c.oid::regclass || ' ' || substring(pg_get_indexdef(parent.oid) from ' (USING .*)$') as definition,
    parent.relname as parent
  from (values ('conversions', 'written_by'), ('conversions', 'id'), ('usp_sessions', 'wrapped_by'),
    ('deliveries', 'written_by'), ('delivery_attempts', 'written_by')) as r (table_name, column_name)
  join pg_class parent on parent.oid = (r.table_name || '_' || r.column_name)::regclass
  join pg_inherits i on i.inhparent = r.table_name::regclass join pg_class c on c.oid = i.inhrelid
  where not exists (
    select from pg_index part join pg_inherits attached on attached.inhrelid = part.indexrelid
    where part.indrelid = c.oid and attached.inhparent = parent.oid
  )
  union all
  select 'perk_messages_changed_by', relnamespace, relname,
    'perk_messages (xid8send(changed_by)) where changed_by is not null', null
  from pg_class where oid = 'perk_messages'::regclass
)
select w.name, w.definition, w.parent, x.indisvalid as "isValid"
from wanted w left join pg_class c on c.relname = w.name and c.relnamespace = w.relnamespace
left join pg_index x on x.indexrelid = c.oid
where w.parent is not null or x.indisvalid is distinct from true
order by w.relname desc`;

/**
 * Builds the indexes that migrations left out for existing partitions, without blocking writers. Without those on the
 * transactions that wrote rows, every export reads whole tables. New partitions get theirs when they are created. An
 * index whose build was interrupted is built again. A build that has begun is not stopped.
 * @param client connection that holds the lock of the export, outside a transaction
 */
export async function buildIndexes(client: Connection, isStopped: () => boolean): Promise<void> {
  const { rows } = await client.query<MissingIndex>(missingSql);
  for (const { name, definition, parent, isValid } of rows) {
    if (isStopped()) return;
    const index = escapeIdentifier(name);
    if (isValid === false) await client.query(`drop index concurrently ${index}`);
    if (isValid !== true) await client.query(`create index concurrently ${index} on ${definition}`);
    if (parent !== null) await attach(client, escapeIdentifier(parent), index);
  }
}

/**
 * Makes an index a part of that of the partitioned table. This waits at most 2 s for queries of the partition, because
 * others queue behind it. The next export tries again, and the index serves meanwhile.
 */
async function attach(client: Connection, parent: string, index: string): Promise<void> {
  await client.query("set lock_timeout = '2s'");
  try {
    await client.query(`alter index ${parent} attach partition ${index}`);
  } catch (err) {
    if ((err as pg.DatabaseError).code !== '55P03') throw err;
  } finally {
    await client.query('reset lock_timeout');
  }
}
