import type pg from 'pg';

/**
 * Simulates a dump that was restored into another cluster, where the stored transaction IDs are higher than those of
 * new transactions.
 */
export async function moveAhead(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ table_name: string; column_name: string }>(
    `select table_name, column_name from information_schema.columns join pg_class on oid = table_name::regclass
    where table_schema = 'public' and udt_name = 'xid8' and relkind in ('r', 'p') and not relispartition`,
  );
  for (const { table_name: table, column_name: column } of rows)
    await pool.query(`update ${table} set ${column} = (${column}::text::numeric + 1e9)::text::xid8`);
}
