-- How many deliveries were promised and what became of them, by publisher and day of the promise: counted as it happens, so that the balance of
-- a day with a million deliveries is read at once.

create table delivery_counts (
  publisher_id integer not null,
  day date not null,
  created bigint not null,
  delivered bigint not null,
  failed bigint not null,
  held bigint not null,
  primary key (publisher_id, day)
);

-- What one statement changed of them, written in its transaction: rows are only added, so that nobody waits for anybody. Read with the
-- counts, and added to them once a second.
create table delivery_count_changes (
  publisher_ids integer[] not null,
  days date[] not null,
  created integer[] not null,
  delivered integer[] not null,
  failed integer[] not null,
  held integer[] not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Adds the changes there are to the counts. One at a time; others leave it to the one.
create function fold_delivery_counts() returns void language plpgsql as $$
begin
  if pg_try_advisory_xact_lock(hashtext('perkwire_delivery_counts')) then
    with taken as (delete from delivery_count_changes returning *)
    insert into delivery_counts as c
    select u.publisher_id, u.day, sum(u.created), sum(u.delivered), sum(u.failed), sum(u.held)
    from taken t cross join lateral unnest(t.publisher_ids, t.days, t.created, t.delivered, t.failed, t.held)
      as u (publisher_id, day, created, delivered, failed, held)
    group by u.publisher_id, u.day
    on conflict (publisher_id, day) do update set created = c.created + excluded.created, delivered = c.delivered + excluded.delivered,
      failed = c.failed + excluded.failed, held = c.held + excluded.held;
  end if;
end $$;

-- Counts all deliveries anew. Exact while others work: what is not committed yet, neither row nor change, comes on top.
create function recount_deliveries() returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock(hashtext('perkwire_delivery_counts'));
  with changes as (delete from delivery_count_changes),
  counts as (
    select publisher_id, day, count(*) as created, count(*) filter (where status = 'delivered') as delivered,
      count(*) filter (where status = 'failed') as failed, count(*) filter (where status = 'held') as held
    from deliveries group by publisher_id, day
  ), gone as (
    delete from delivery_counts c where not exists (select from counts n where n.publisher_id = c.publisher_id and n.day = c.day)
  )
  insert into delivery_counts select * from counts
  on conflict (publisher_id, day) do update set created = excluded.created, delivered = excluded.delivered,
    failed = excluded.failed, held = excluded.held;
end $$;

select recount_deliveries();
