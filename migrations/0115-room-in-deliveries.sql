-- Leaves room in the pages of deliveries, so that the update with the outcome usually stays in the page of its row and
-- writes no index. Without it, three of four updates wrote the whole row with its payload to the WAL again.

create or replace function create_day_partitions(from_day date, to_day date) returns void language plpgsql as $$
declare
  parent text;
  d date;
begin
  perform pg_advisory_xact_lock(hashtext('perkwire_partitions'));
  for parent in
    select c.relname
    from pg_partitioned_table p
    join pg_class c on c.oid = p.partrelid
    join pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0]
    where p.partstrat = 'r' and a.attname = 'day' and c.relnamespace = current_schema()::regnamespace
    order by c.relname
  loop
    for d in select generate_series(from_day, to_day, interval '1 day')::date loop
      perform create_partition(parent, d, d::text, (d + 1)::text,
        case parent when 'deliveries' then 'with (fillfactor = 70)' else '' end);
    end loop;
  end loop;
end $$;

do $$
declare
  child text;
begin
  for child in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'deliveries'::regclass
      and c.relname >= 'deliveries_p' || to_char(now() at time zone 'UTC', 'YYYYMMDD')
  loop
    execute format('alter table %I set (fillfactor = 70)', child);
  end loop;
end $$;
