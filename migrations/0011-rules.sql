-- Rules of campaigns, what they pay, whom they are provisioned to, and the order of offers by placement and position.

alter table campaigns
  add column rules jsonb not null default '{}' check (jsonb_typeof(rules) = 'object'),
  add column payout_kind text not null default 'cpc' check (payout_kind in ('cpc', 'cpa', 'cpm', 'cps')),
  -- money for a click, a conversion or 1,000 impressions; cps: percent of the sale
  add column payout_amount numeric(18, 6) not null default 0 check (payout_amount between 0 and 1000000),
  add column payout_currency char(3) not null default 'USD' check (payout_currency ~ '^[A-Z]{3}$'),
  add check (payout_kind <> 'cps' or payout_amount <= 100);

-- A campaign is served only to publishers it is provisioned to. Rows are switched off rather than removed: links shown
-- before stay good for as long as their tokens.
create table campaign_publishers (
  campaign_id integer not null references campaigns on delete cascade,
  publisher_id integer not null references publishers on delete cascade,
  active boolean not null default true,
  -- Overrides for this publisher; null: as the campaign says.
  payout_amount numeric(18, 6) check (payout_amount between 0 and 1000000),
  priority integer check (priority between 0 and 10000),
  frequency_caps jsonb check (jsonb_typeof(frequency_caps) = 'array'),
  total_caps jsonb check (jsonb_typeof(total_caps) = 'array'), -- hold beside the campaign's own, counted over this publisher alone
  primary key (campaign_id, publisher_id)
);
create index campaign_publishers_publisher on campaign_publishers (publisher_id);

insert into campaign_publishers (campaign_id, publisher_id) select id, publisher_id from campaigns;

create function provision_to_owner() returns trigger language plpgsql as $$
begin
  insert into campaign_publishers (campaign_id, publisher_id) select id, publisher_id from added on conflict do nothing;
  return null;
end $$;
create trigger provision_to_owner after insert on campaigns
  referencing new table as added for each statement execute function provision_to_owner();

alter table publishers
  add column delivery_percentage smallint not null default 100 check (delivery_percentage between 0 and 100), -- of users who get offers
  add column test_mode boolean not null default false;
-- null: as the theme, else the publisher
alter table themes
  add column delivery_percentage smallint check (delivery_percentage between 0 and 100),
  add column unit_enabled boolean;
alter table placements
  add column delivery_percentage smallint check (delivery_percentage between 0 and 100),
  add column unit_enabled boolean;

create table sequence_rules (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers on delete cascade,
  placement text check (char_length(placement) between 1 and 128), -- null: all placements
  positions smallint[] check (cardinality(positions) between 1 and 10 and 1 <= all (positions) and 10 >= all (positions)), -- null: all positions
  effect text not null check (effect in ('allow', 'deny')),
  match jsonb not null check (jsonb_typeof(match) = 'object'), -- offers, campaigns, advertisers (ids), categories, tags (names)
  weight integer not null default 100 check (weight between 0 and 1000000), -- higher first
  active boolean not null default true
);
create index sequence_rules_publisher on sequence_rules (publisher_id);

do $$
declare name text;
begin
  foreach name in array array['campaign_publishers', 'sequence_rules'] loop
    execute format('create trigger bump_catalog_version after insert or update or delete or truncate on %I
      for each statement execute function bump_catalog_version()', name);
  end loop;
end $$;
