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

-- Lists the publishers of the changed rows, after bump_catalog_version has set the version. The argument names the
-- column that contains the publisher.
create function list_catalog_publisher_changes() returns trigger language plpgsql as $$
begin
  if exists (select from touched) then
    delete from catalog_publisher_changes where version <= (select listed_after from catalog_version);
    execute format('insert into catalog_publisher_changes (version, publisher_id)
      select distinct catalog_version.version, touched.%I from catalog_version, touched
      on conflict do nothing', tg_argv[0]);
  end if;
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
