-- Partitions by day, and tables about the installation as a whole.

-- Creates the partition of `parent` that begins on `first_day`, unless it exists.
create function create_partition(
  parent text, first_day date, lower_bound text, upper_bound text, options text default ''
) returns void language plpgsql as $$
declare
  child text := parent || '_p' || to_char(first_day, 'YYYYMMDD');
begin
  -- Attaching a table lets others read and write the parent meanwhile. `create table … partition of` would lock them
  -- out, and deadlock with transactions that use several of these tables.
  if to_regclass(child) is null then
    execute format('create table %I (like %I including all) %s', child, parent, options);
    execute format('alter table %I attach partition %I for values from (%L) to (%L)',
      parent, child, lower_bound, upper_bound);
  end if;
end $$;

-- Creates the missing partitions of [from_day, to_day] of every table that is partitioned by `day`.
create function create_day_partitions(from_day date, to_day date) returns void language plpgsql as $$
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
      perform create_partition(parent, d, d::text, (d + 1)::text);
    end loop;
  end loop;
end $$;

-- Drops the partitions of `parent` that begin before `keep_from`. Returns how many.
create function drop_day_partitions(parent text, keep_from date) returns integer language plpgsql as $$
declare
  child text;
  dropped integer := 0;
begin
  perform pg_advisory_xact_lock(hashtext('perkwire_partitions'));
  for child in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = parent::regclass and c.relname < parent || '_p' || to_char(keep_from, 'YYYYMMDD')
  loop
    execute format('drop table %I', child);
    dropped := dropped + 1;
  end loop;
  return dropped;
end $$;

create table installation (
  id boolean primary key default true check (id),
  -- Digest keyed by USER_PEPPER and sealed with SECRETS_KEY: a process with other secrets does not start.
  canary bytea not null,
  -- Signature made with the secret of each TOKEN_KEYS entry, by its id. Kept when the key is removed, so that its id is
  -- not used for another secret.
  token_key_marks jsonb not null default '{}'
);
comment on table installation is 'The secrets of the installation, in a form that cannot be used. At most one row.';

create table space_probe (filler text not null default repeat('x', 1000));
comment on table space_probe is
  'Tells when there is disk space again. After a write failed for lack of space, the health check truncates the
table and inserts a row, which needs a new page.';
