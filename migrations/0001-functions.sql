-- Functions used by the tables of the other migrations. Their bodies are resolved when they run.

-- Partitions ----------------------------------------------------------------------------------------------------------

create function create_partition(
  parent text, first_day date, lower_bound text, upper_bound text, options text default ''
) returns void language plpgsql as $$
declare
  child text := parent || '_p' || to_char(first_day, 'YYYYMMDD');
begin
  -- Attaching lets others read and write the parent meanwhile; `create table … partition of` would lock them out, and
  -- deadlock with transactions that use several of these tables.
  if to_regclass(child) is null then
    execute format('create table %I (like %I including all) %s', child, parent, options);
    execute format('alter table %I attach partition %I for values from (%L) to (%L)',
      parent, child, lower_bound, upper_bound);
  end if;
end $$;
comment on function create_partition is
  'Creates the partition of `parent` that begins on `first_day`, unless it exists.';

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
comment on function create_day_partitions is
  'Creates the missing partitions of [from_day, to_day] of every table that is partitioned by `day`.';

create function create_report_partitions(from_day date, to_day date) returns void language plpgsql as $$
declare
  parent text;
  d date;
begin
  perform pg_advisory_xact_lock(hashtext('perkwire_partitions'));
  foreach parent in array array['bookings', 'custom_values'] loop
    for d in select generate_series(from_day, to_day, interval '1 day')::date loop
      perform create_partition(parent, d, d::text, (d + 1)::text);
    end loop;
  end loop;
  foreach parent in array array['rollups', 'custom_rollups'] loop
    for d in select generate_series(date_trunc('month', from_day), to_day, interval '1 month')::date loop
      perform create_partition(parent, d, (d::timestamp at time zone 'UTC')::text,
        ((d + interval '1 month') at time zone 'UTC')::text, 'with (fillfactor = 80)');
    end loop;
  end loop;
end $$;
comment on function create_report_partitions is
  'Creates the missing partitions of [from_day, to_day] of the report tables: by day, and by month for the rollups.';

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
comment on function drop_day_partitions is
  'Drops the partitions of `parent` that begin before `keep_from`; returns how many.';

-- Catalog -------------------------------------------------------------------------------------------------------------

create function bump_catalog_version() returns trigger language plpgsql as $$
declare
  kept_after bigint;
begin
  -- Once for each transaction: an import of 10,000 offers would otherwise leave as many dead rows behind.
  if coalesce(current_setting('perkwire.catalog_bumped', true), '') = '' then
    perform set_config('perkwire.catalog_bumped', 'yes', true); -- until the end of the transaction
    update catalog_version
      set version = version + 1, listed_after = greatest(listed_after, version + 1 - 500)
      returning listed_after into kept_after;
    delete from catalog_changes where version <= kept_after;
    notify perkwire_catalog;
  end if;
  -- A truncate names no rows, so the versions up to this one cannot be listed.
  if tg_op = 'TRUNCATE' then
    update catalog_version set listed_after = version;
  end if;
  return null;
end $$;
comment on function bump_catalog_version is
  'Trigger: increments the catalog version and notifies the processes that hold a snapshot. The changes of the last 500
versions stay listed; a process that is further behind reads the whole catalog.';

create function list_catalog_changes() returns trigger language plpgsql as $$
begin
  execute format('insert into catalog_changes (version, campaign_id)
    select distinct version, found.campaign_id from catalog_version, (%s) found on conflict do nothing', tg_argv[0]);
  return null;
end $$;
comment on function list_catalog_changes is
  'Trigger: lists the campaigns that the query in its argument finds for the rows in `touched`. Triggers of one event
run in the order of their names, so bump_catalog_version has set the version of the transaction before.';

create function provision_to_owner() returns trigger language plpgsql as $$
begin
  insert into campaign_publishers (campaign_id, publisher_id)
    select id, publisher_id from added on conflict do nothing;
  return null;
end $$;
comment on function provision_to_owner is 'Trigger: provisions a new campaign to the publisher that owns it.';

-- Webhooks ------------------------------------------------------------------------------------------------------------

create function reset_endpoint_health() returns trigger language plpgsql as $$
begin
  delete from endpoint_health where endpoint_id = new.id;
  insert into endpoint_health (endpoint_id) values (new.id);
  return null;
end $$;
comment on function reset_endpoint_health is
  'Trigger: gives an endpoint the health of a new one, so that every endpoint has a row and workers only update it.';

create function merge_delivery_counts() returns void language plpgsql as $$
begin
  if pg_try_advisory_xact_lock(hashtext('perkwire_delivery_counts')) then
    with taken as (delete from delivery_count_changes returning *)
    insert into delivery_counts as c
      select u.publisher_id, u.day, sum(u.created), sum(u.delivered), sum(u.failed), sum(u.held)
      from taken t
      cross join lateral unnest(t.publisher_ids, t.days, t.created, t.delivered, t.failed, t.held)
        as u (publisher_id, day, created, delivered, failed, held)
      group by u.publisher_id, u.day
    on conflict (publisher_id, day) do update set
      created = c.created + excluded.created,
      delivered = c.delivered + excluded.delivered,
      failed = c.failed + excluded.failed,
      held = c.held + excluded.held;
  end if;
end $$;
comment on function merge_delivery_counts is
  'Adds the rows of delivery_count_changes to delivery_counts; does nothing while another session does.';

create function recount_deliveries() returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('perkwire_delivery_counts'));
  with changes as (delete from delivery_count_changes),
  counts as (
    select publisher_id, day, count(*) as created,
      count(*) filter (where status = 'delivered') as delivered,
      count(*) filter (where status = 'failed') as failed,
      count(*) filter (where status = 'held') as held
    from deliveries group by publisher_id, day
  ), gone as (
    delete from delivery_counts c
      where not exists (select from counts n where n.publisher_id = c.publisher_id and n.day = c.day)
  )
  insert into delivery_counts select * from counts
  on conflict (publisher_id, day) do update set
    created = excluded.created,
    delivered = excluded.delivered,
    failed = excluded.failed,
    held = excluded.held;
end $$;
comment on function recount_deliveries is
  'Counts all deliveries again. Exact while others write: what is not committed yet, neither delivery nor change, is
added later.';

-- Reports -------------------------------------------------------------------------------------------------------------

create aggregate sum_exact(bigint)
  (sfunc = int8pl, stype = bigint, combinefunc = int8pl, initcond = '0', parallel = safe);
comment on aggregate sum_exact (bigint) is
  'The sum as a bigint; fails beyond 2^63. sum() of bigints is a numeric, ten times as expensive to add and to write.';

create function time_zone_or_utc(zone text) returns text language plpgsql stable as $$
begin
  perform now() at time zone zone;
  return zone;
exception when invalid_parameter_value then
  return 'UTC';
end $$;
comment on function time_zone_or_utc is 'The time zone if this server knows it, else UTC.';
