import type { Executor } from './pool.ts';
import { sqlTokens } from './sql-text.ts';

/** Part of a schema, such as a column or a trigger. */
type SchemaPart = {
  kind:
    | 'table'
    | 'columns'
    | 'column'
    | 'default'
    | 'constraint'
    | 'index'
    | 'trigger'
    | 'function'
    | 'sequence'
    | 'type';
  name: string;
  definition: string;
};

/** Definition of each schema part by its kind and name, such as `column offers.title` → `text not null`. */
export type SchemaDescription = ReadonlyMap<string, string>;

/**
 * Selects the parts of the first schema on the search path, which is everything that a migration can create. It
 * excludes migration records, partitions (which are created daily), and everything that extensions, comments and
 * privileges add. The "pretty" functions omit the schema name, and print an expression the same way before and after a
 * dump and restore.
 */
const partsSql = `
with of_extensions as (
  select classid, objid from pg_depend where deptype = 'e'
), relations as (
  select * from pg_class where relnamespace = current_schema::regnamespace and relname <> 'schema_migrations'
    and not relispartition and ('pg_class'::regclass, oid) not in (select * from of_extensions)
), tables as (
  select * from relations where relkind in ('r', 'p')
), functions as (
  select *, format('%I(%s)', proname, pg_get_function_identity_arguments(oid)) as signature
  from pg_proc where pronamespace = current_schema::regnamespace
    and ('pg_proc'::regclass, oid) not in (select * from of_extensions)
), types as (
  select * from pg_type where typnamespace = current_schema::regnamespace and typtype in ('d', 'e', 'r')
    and ('pg_type'::regclass, oid) not in (select * from of_extensions)
)
select 'table' as kind, relname as name,
  concat_ws(' ', relkind, relpersistence, pg_get_partkeydef(oid),
    (select array_agg(o order by o) from unnest(reloptions) o),
    case when relrowsecurity then 'row security' end) as definition
from tables
union all
select 'column', relname || '.' || attname,
  concat_ws(' ', format_type(atttypid, atttypmod),
    case when attnotnull then 'not null' end,
    case when attcollation <> typcollation then 'collate ' || attcollation::regcollation::text end,
    case when attidentity <> '' then 'identity ' || attidentity::text end,
    case when attgenerated <> '' then 'generated ' || attgenerated::text end,
    case when attstorage <> typstorage then 'storage ' || attstorage::text end,
    case when attstattarget >= 0 then 'statistics ' || attstattarget::text end)
from tables t join pg_attribute on attrelid = t.oid and attnum > 0 and not attisdropped
join pg_type y on y.oid = atttypid
union all
select 'columns', relname, string_agg(attname, ', ' order by attnum)
from tables t join pg_attribute on attrelid = t.oid and attnum > 0 and not attisdropped
group by relname
union all
select 'default', relname || '.' || attname, pg_get_expr(adbin, adrelid, true)
from tables t join pg_attrdef d on adrelid = t.oid join pg_attribute on attrelid = t.oid and attnum = adnum
union all
-- Columns have the not-null constraints, which are constraints of their own from PostgreSQL 18 on.
select 'constraint', relname || '.' || conname, pg_get_constraintdef(c.oid, true)
from tables t join pg_constraint c on conrelid = t.oid and contype not in ('n', 't')
union all
select 'index', t.relname || '.' || i.relname,
  pg_get_indexdef(i.oid, 0, true) || case when indisvalid then '' else ' invalid' end
from tables t join pg_index x on indrelid = t.oid join pg_class i on i.oid = indexrelid
union all
select 'trigger', relname || '.' || tgname, pg_get_triggerdef(g.oid, true) || ' ' || tgenabled::text
from tables t join pg_trigger g on tgrelid = t.oid and not tgisinternal
union all
select 'function', signature,
  concat_ws(' ', pg_get_function_arguments(p.oid), 'returns', pg_get_function_result(p.oid), lanname, prokind,
    provolatile, proparallel, case when proisstrict then 'strict' end,
    case when prosecdef then 'security definer' end, proconfig,
    aggtransfn, aggfinalfn, aggcombinefn, aggtranstype::regtype, agginitval, E'\\n' || prosrc)
from functions p join pg_language l on l.oid = prolang left join pg_aggregate on aggfnoid = p.oid
union all
select 'sequence', relname,
  concat_ws(' ', seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle, relpersistence)
from relations join pg_sequence on seqrelid = relations.oid
union all
select 'type', typname, concat_ws(' ', typtype, case when typtype = 'd' then format_type(typbasetype, typtypmod) end,
  (select array_agg(enumlabel order by enumsortorder) from pg_enum where enumtypid = y.oid))
from types y`;

/** Describes the first schema on the connection's search path. Comments in function bodies are ignored. */
export async function describeSchema(executor: Executor): Promise<SchemaDescription> {
  const { rows } = await executor.query<SchemaPart>(partsSql);
  return new Map(
    rows.map(({ kind, name, definition }) => {
      const [head = '', ...body] = definition.split('\n');
      const text = kind === 'function' ? `${head} ${sqlTokens(body.join('\n')).join(' ')}` : definition;
      return [`${kind} ${name}`, text];
    }),
  );
}
