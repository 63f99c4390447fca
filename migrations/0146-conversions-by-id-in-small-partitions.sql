-- The index on conversion IDs for existing partitions that are small. The export of data files builds it for large ones
-- without blocking conversions.

do $$
declare
  part record;
begin
  for part in
    select c.oid::regclass as name, left(c.relname, 48) || '_id' as index_name
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'conversions'::regclass and pg_table_size(c.oid) < 1024 * 1024
      and not exists (
        select from pg_index x join pg_inherits attached on attached.inhrelid = x.indexrelid
        where x.indrelid = c.oid and attached.inhparent = 'conversions_id'::regclass
      )
  loop
    execute format('drop index if exists %I', part.index_name);
    execute format('create index %I on %s (id)', part.index_name, part.name);
    execute format('alter index conversions_id attach partition %I', part.index_name);
  end loop;
end $$;
