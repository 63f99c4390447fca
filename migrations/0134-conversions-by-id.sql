-- The search finds the conversion with the ID that postbacks and data files contain. Existing partitions get the index
-- only if they are small, because conversions wait until this migration ends. The export of data files builds it for
-- large ones without blocking conversions.

create index conversions_id on only conversions (id);

do $$
declare
  part record;
begin
  for part in
    select c.oid::regclass as name, left(c.relname, 48) || '_id' as index_name
    from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'conversions'::regclass and pg_table_size(c.oid) < 1024 * 1024
  loop
    execute format('create index %I on %s (id)', part.index_name, part.name);
    execute format('alter index conversions_id attach partition %I', part.index_name);
  end loop;
end $$;
