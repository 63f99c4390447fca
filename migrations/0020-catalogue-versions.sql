-- Which campaigns each version of the configuration changed, so that a process reads those again and not everything.
-- Whoever changes the configuration holds the row of catalog_version until the commit: versions are committed in their
-- order, and who sees a version sees its list.

alter table catalog_version add column listed_after bigint not null default 0; -- the changes of the versions behind this one are listed
update catalog_version set listed_after = version;

create table catalog_changes (
  version bigint not null,
  campaign_id integer not null, -- changed itself, or anything of it: provisioning, offers, creatives, the advertiser
  primary key (version, campaign_id)
);

-- The lists of the last 500 versions are kept; who is further behind reads everything.
create or replace function bump_catalog_version() returns trigger language plpgsql as $$
declare
  kept_after bigint;
begin
  if coalesce(current_setting('perkwire.catalog_bumped', true), '') = '' then
    perform set_config('perkwire.catalog_bumped', 'yes', true); -- until the end of the transaction
    update catalog_version set version = version + 1, listed_after = greatest(listed_after, version + 1 - 500)
      returning listed_after into kept_after;
    delete from catalog_changes where version <= kept_after;
    notify perkwire_catalog;
  end if;
  -- What is emptied at once names no rows.
  if tg_op = 'TRUNCATE' then
    update catalog_version set listed_after = version;
  end if;
  return null;
end $$;

-- Lists the campaigns that the query of its argument finds for the rows in `touched`. Triggers of one event run by name,
-- so the version is the transaction's by then.
create function list_catalog_changes() returns trigger language plpgsql as $$
begin
  execute format('insert into catalog_changes (version, campaign_id)
    select distinct version, found.campaign_id from catalog_version, (%s) found on conflict do nothing', tg_argv[0]);
  return null;
end $$;

do $$
declare
  source record;
  event record;
begin
  for source in
    select * from (values
      ('campaigns', 'select id as campaign_id from touched'),
      ('campaign_publishers', 'select campaign_id from touched'),
      ('offers', 'select campaign_id from touched'),
      ('creatives', 'select o.campaign_id from touched join offers o on o.id = touched.offer_id'),
      ('advertisers', 'select c.id as campaign_id from touched join campaigns c on c.advertiser_id = touched.id')
    ) sources (name, query)
  loop
    -- An update may move a row from one campaign to another: both are listed.
    for event in select * from (values ('insert', 'new'), ('update', 'old'), ('update', 'new'), ('delete', 'old')) events (name, rows) loop
      execute format('create trigger %I after %s on %I referencing %s table as touched
        for each statement execute function list_catalog_changes(%L)',
        format('list_%s_%s', event.name, event.rows), event.name, source.name, event.rows, source.query);
    end loop;
  end loop;
end $$;
