-- Lists the publishers whose settings changed, so that a process reads only these again instead of all publishers,
-- keys, placements and themes.

create table catalog_publisher_changes (
  version bigint not null,
  publisher_id integer not null,
  primary key (version, publisher_id)
);
comment on table catalog_publisher_changes is
  'Publishers whose settings changed in each version of the catalog: the publisher itself, or its keys, themes,
placements, audiences, sequence rules, experiments or exchange rates.';

-- The same as before, except that it also removes old rows of the new table.
create or replace function bump_catalog_version() returns trigger language plpgsql as $$
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
    delete from catalog_publisher_changes where version <= kept_after;
    notify perkwire_catalog;
  end if;
  -- A truncate names no rows, so the versions up to this one cannot be listed.
  if tg_op = 'TRUNCATE' then
    update catalog_version set listed_after = version;
  end if;
  return null;
end $$;

-- Lists the publishers of the changed rows. The argument names the column that contains the publisher.
create function list_catalog_publisher_changes() returns trigger language plpgsql as $$
begin
  execute format('insert into catalog_publisher_changes (version, publisher_id)
    select distinct catalog_version.version, touched.%I from catalog_version, touched
    on conflict do nothing', tg_argv[0]);
  return null;
end $$;

do $$
declare
  source record;
  event record;
begin
  for source in
    select * from (values
      ('publishers', 'id'), ('api_keys', 'publisher_id'), ('themes', 'publisher_id'), ('placements', 'publisher_id'),
      ('audiences', 'publisher_id'), ('sequence_rules', 'publisher_id'), ('experiments', 'publisher_id'),
      ('exchange_rates', 'publisher_id')
    ) sources (name, publisher)
  loop
    for event in
      select * from (values ('insert', 'new'), ('update', 'old'), ('update', 'new'), ('delete', 'old')) e (name, rows)
    loop
      execute format('create trigger %I after %s on %I referencing %s table as touched
        for each statement execute function list_catalog_publisher_changes(%L)',
        format('list_publisher_%s_%s', event.name, event.rows), event.name, source.name, event.rows, source.publisher);
    end loop;
  end loop;
end $$;
