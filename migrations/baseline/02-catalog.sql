-- The catalog: publishers, advertisers, campaigns and offers. Every process holds it in memory as one snapshot.
-- Text limits of offers are those of docs/interface.md.

-- Change feed --------------------------------------------------------------------------------------------------------

create table catalog_version (
  singleton boolean primary key default true check (singleton),
  version bigint not null default 1,
  -- catalog_changes lists the changes of all versions after this one.
  listed_after bigint not null default 1
);
comment on table catalog_version is
  'Version of the catalog. Every transaction that changes the catalog updates the row and holds it until the
commit: versions are committed in order, and a reader who sees a version sees its changes. One row.';
insert into catalog_version default values;

create table catalog_changes (
  version bigint not null,
  campaign_id integer not null,
  primary key (version, campaign_id)
);
comment on table catalog_changes is
  'Campaigns that changed in each version, so that a process reads only these again. A campaign also changes with
its provisioning, offers, creatives, coupons or advertiser.';

-- Trigger: increments the catalog version and notifies the processes that hold a snapshot. The changes of the last 500
-- versions stay listed. A process that is further behind reads the whole catalog.
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

-- Trigger: lists the campaigns that the query in its argument returns for the rows in `touched`. It runs after
-- bump_catalog_version has set the version of the transaction: triggers of one event run in the order of their names.
create function list_catalog_changes() returns trigger language plpgsql as $$
begin
  execute format('insert into catalog_changes (version, campaign_id)
    select distinct version, found.campaign_id from catalog_version, (%s) found on conflict do nothing', tg_argv[0]);
  return null;
end $$;

-- Tables -------------------------------------------------------------------------------------------------------------

create table publishers (
  id integer generated always as identity primary key,
  name text not null check (char_length(name) between 1 and 200),
  -- Public id in the URLs of the web SDK.
  sdk_id text not null unique check (sdk_id ~ '^[0-9a-f]{16}$'),
  unit_enabled boolean not null default true,
  offers_per_response smallint not null default 3 check (offers_per_response between 1 and 10),
  -- IANA name. Report buckets and caps use its hours and days.
  time_zone text not null default 'UTC',
  -- Name of the loyalty currency.
  currency_name text not null default 'points',
  -- Units of the loyalty currency for one unit of money.
  currency_multiplier numeric(12, 4) not null default 1 check (currency_multiplier >= 0),
  -- usp: User Selected Perks.
  usp_enabled boolean not null default false,
  wallet_enabled boolean not null default false,
  offerwall_enabled boolean not null default false,
  -- Share of users who get offers.
  delivery_percentage smallint not null default 100 check (delivery_percentage between 0 and 100),
  test_mode boolean not null default false,
  privacy_url text check (privacy_url ~ '^https?://'),
  -- Text of the privacy page that this service serves.
  privacy_text text not null default '' check (char_length(privacy_text) <= 10000),
  -- CSP host sources, such as https://*.shop.example, whose pages may show the offerwall in a frame.
  frame_hosts text[] not null default '{}' check (cardinality(frame_hosts) <= 50),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Normalised name of the placement of fetches that name none; null: such fetches are refused. The first fetch creates
  -- the placement.
  default_placement text check (default_placement <> ''),
  -- Custom attributes that ranking does not learn from.
  learning_excluded_keys text[] not null default '{}',
  -- Blocked categories, brands, advertisers, domains, offers and words, competitor separation, and payout floors by
  -- placement; null: no rules.
  controls jsonb,
  -- Whether the publisher has ever set attributes of users. Fetches of other publishers do not look for any.
  keeps_attributes boolean not null default false,
  -- Maximum lifetime of new API keys; null: keys may have no end.
  key_max_days integer check (key_max_days between 1 and 3650),
  -- BCP 47 tag: the language of fetches that name none, and of offers without a language.
  language text not null default 'en',
  -- Names of the publisher's own events. Offers have a beacon for each.
  own_events text[] not null default '{}',
  -- Whether material changes by people without the approval permission become drafts.
  approval_required boolean not null default false,
  -- Whether drafts of advertisers that change only the dates of a campaign are approved automatically.
  dates_approved boolean not null default false,
  -- Whether landing pages and pages of secondary actions are checked. A campaign or offer whose page is lost is paused.
  landing_pages_checked boolean not null default true
);
comment on table publishers is 'Tenants: shops and apps that show offers.';

create table themes (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  name text not null check (char_length(name) between 1 and 200),
  -- Single (sou) or multi (mou) offer unit.
  unit text not null check (unit in ('sou', 'mou')),
  is_default boolean not null default false,
  usp_enabled boolean not null default false,
  -- Whether all offers are selected at first.
  usp_check_all boolean not null default false,
  offers_per_response smallint check (offers_per_response between 1 and 10),
  delivery_percentage smallint check (delivery_percentage between 0 and 100),
  unit_enabled boolean,
  settings jsonb not null default '{}',
  styles jsonb not null default '{}',
  appearance jsonb not null default '{}',
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- Name of the theme in requests and pages. Digits only would be read as an id.
  key text not null default 'theme-' || left(gen_random_uuid()::text, 8),
  check (unit = 'mou' or not usp_enabled),
  constraint themes_key_form check (key ~ '^[^A-Z\s_]{1,64}$' and key !~ '^[0-9]+$')
);
comment on table themes is 'Appearance and settings of an offer unit. Null settings inherit from the publisher.';
create unique index themes_default on themes (publisher_id) where is_default;
create index themes_publisher on themes (publisher_id, id);
create unique index themes_key on themes (publisher_id, key) where deleted_at is null;

create table placements (
  publisher_id integer not null references publishers,
  name text not null check (name ~ '^[^A-Z\s_]{1,128}$'),
  display_name text not null default '' check (char_length(display_name) <= 200),
  theme_id integer references themes,
  offers_per_response smallint check (offers_per_response between 1 and 10),
  delivery_percentage smallint check (delivery_percentage between 0 and 100),
  unit_enabled boolean,
  -- Whether the first request that named the placement created it.
  auto_created boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (publisher_id, name)
);
comment on table placements is
  'Places in a publisher''s pages that show offers. Null settings inherit from the theme, then from the publisher.';
create index placements_theme on placements (theme_id) where theme_id is not null;

create table sequence_rules (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers on delete cascade,
  -- Null: all placements.
  placement text check (char_length(placement) between 1 and 128),
  -- Null: all positions.
  positions smallint[]
    check (cardinality(positions) between 1 and 10 and 1 <= all (positions) and 10 >= all (positions)),
  effect text not null check (effect in ('allow', 'deny')),
  -- Ids of offers, campaigns and advertisers, and names of categories and tags.
  match jsonb not null check (jsonb_typeof(match) = 'object'),
  -- Rules of higher weight apply first.
  weight integer not null default 100 check (weight between 0 and 1000000),
  active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
comment on table sequence_rules is 'Rules about which offers may be shown at which positions of a placement.';
create index sequence_rules_publisher on sequence_rules (publisher_id);

create table advertisers (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  name text not null check (char_length(name) between 1 and 200),
  -- Encrypted secret that signs reported conversions; null: conversions need no signature.
  conversion_secret_sealed bytea,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- Start of the kill switch, which keeps the advertiser's offers from being shown; null: not stopped. Separate from
  -- the active columns, so that ending it restores the previous state.
  stopped_at timestamptz,
  -- Name of the API key or e-mail address of the user that stopped it.
  stopped_by text,
  -- Names of own events, as in publishers, for the offers of this advertiser only.
  own_events text[] not null default '{}',
  -- Whether drafts of the advertiser's accounts are approved automatically.
  trusted boolean not null default false,
  check ((stopped_at is null) = (stopped_by is null))
);
comment on table advertisers is 'Owners of campaigns. They report conversions.';
create index advertisers_publisher on advertisers (publisher_id, id);

create table campaigns (
  id integer generated always as identity primary key,
  -- Publisher that owns the campaign. campaign_publishers lists those that show it.
  publisher_id integer not null references publishers,
  advertiser_id integer not null references advertisers,
  name text not null check (char_length(name) between 1 and 200),
  category text not null default '' check (char_length(category) <= 100),
  tags text[] not null default '{}',
  active boolean not null default true,
  -- Lower is shown first.
  priority integer not null default 100 check (priority between 0 and 10000),
  -- Higher is shown first among equal priorities.
  weight integer not null default 100 check (weight between 0 and 1000000),
  is_product boolean not null default false,
  is_loyalty boolean not null default false,
  offer_description text not null default '' check (char_length(offer_description) <= 2000),
  landing_url text not null check (landing_url ~ '^https://' and char_length(landing_url) <= 2000),
  -- Query parameter of the landing URL that carries the click id.
  click_id_param text not null default 'click_id' check (click_id_param ~ '^[A-Za-z0-9_.-]{1,64}$'),
  -- How long "no thanks" lasts; null: permanently.
  opt_out_days integer check (opt_out_days between 1 and 3650),
  -- Targeting, schedule, caps and pacing.
  rules jsonb not null default '{}' check (jsonb_typeof(rules) = 'object'),
  payout_kind text not null default 'cpc' check (payout_kind in ('cpc', 'cpa', 'cpm', 'cps')),
  -- Money for a click (cpc), a conversion (cpa) or 1,000 impressions (cpm), or percent of the sale (cps).
  payout_amount numeric(18, 6) not null default 0 check (payout_amount between 0 and 1000000),
  payout_currency char(3) not null default 'USD' check (payout_currency ~ '^[A-Z]{3}$'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- learned: by expected revenue; fixed: by weight only.
  ranking text not null default 'learned' check (ranking in ('learned', 'fixed')),
  -- How far booked money may exceed a budget.
  overspend_percent integer not null default 0 check (overspend_percent between 0 and 100),
  -- When the campaign was first active; null: never. Pacing plans without a start date begin here.
  activated_at timestamptz,
  -- Kill switch, as in advertisers.
  stopped_at timestamptz,
  stopped_by text,
  -- Delivery goal: metric (impressions, clicks, conversions), count and date; null: no goal.
  goal jsonb,
  -- When the metric of the goal was set. Earlier deliveries do not count for the goal.
  goal_since timestamptz,
  check (payout_kind <> 'cps' or payout_amount <= 100),
  check ((stopped_at is null) = (stopped_by is null))
);
comment on table campaigns is
  'What an advertiser pays for, and the users that it targets. The offers of a campaign are its texts and images.';
create index campaigns_publisher on campaigns (publisher_id, id);
create index campaigns_advertiser on campaigns (advertiser_id);

create table campaign_publishers (
  campaign_id integer not null references campaigns on delete cascade,
  publisher_id integer not null references publishers on delete cascade,
  active boolean not null default true,
  payout_amount numeric(18, 6) check (payout_amount between 0 and 1000000),
  priority integer check (priority between 0 and 10000),
  frequency_caps jsonb check (jsonb_typeof(frequency_caps) = 'array'),
  -- Caps over this publisher only. They apply in addition to those of the campaign.
  total_caps jsonb check (jsonb_typeof(total_caps) = 'array'),
  primary key (campaign_id, publisher_id)
);
comment on table campaign_publishers is
  'Provisioning: only these publishers show a campaign. Null settings inherit from the campaign. A row is
deactivated rather than removed: links that were shown before stay valid for as long as their tokens.';
create index campaign_publishers_publisher on campaign_publishers (publisher_id);

create table offers (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  campaign_id integer not null references campaigns,
  active boolean not null default true,
  weight integer not null default 100 check (weight between 0 and 1000000),
  title text not null default '' check (char_length(title) <= 90),
  description text not null default '' check (char_length(description) <= 220),
  mini_text text not null default '' check (char_length(mini_text) <= 160),
  short_headline text not null default '' check (char_length(short_headline) <= 60),
  short_description text not null default '' check (char_length(short_description) <= 140),
  terms_and_conditions text not null default '' check (char_length(terms_and_conditions) <= 20000),
  cta_yes text not null default '' check (char_length(cta_yes) <= 25),
  cta_no text not null default '' check (char_length(cta_no) <= 25),
  loyalty_requirements text not null default '' check (char_length(loyalty_requirements) <= 160),
  -- Label and URL of a secondary action.
  useraction_cta text check (char_length(useraction_cta) <= 100),
  useraction_url text check (useraction_url = '' or useraction_url ~ '^https://'),
  -- The browser calls it with every impression.
  adv_pixel_url text not null default '' check (adv_pixel_url = '' or adv_pixel_url ~ '^https://'),
  wallet_enabled boolean not null default true,
  offerwall_enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- Kill switch, as in advertisers.
  stopped_at timestamptz,
  stopped_by text,
  -- BCP 47 tag of the texts above; null: the language of the publisher.
  language text,
  -- Texts in other languages, by BCP 47 tag and column.
  translations jsonb not null default '{}' check (jsonb_typeof(translations) = 'object'),
  check ((stopped_at is null) = (stopped_by is null))
);
comment on table offers is 'Texts of a campaign, as users see them.';
create index offers_campaign on offers (campaign_id);
create index offers_publisher on offers (publisher_id, id);

create table creatives (
  id integer generated always as identity primary key,
  offer_id integer not null references offers,
  creative_type text not null check (creative_type in ('icon_image', 'offer_image', 'hero_image')),
  is_primary boolean not null default false,
  type text not null check (type in ('png', 'jpg', 'webp', 'gif', 'avif')),
  -- Size in pixels.
  width integer not null check (width between 1 and 20000),
  height integer not null check (height between 1 and 20000),
  -- Null: this service serves the image from creative_images.
  url text check (url ~ '^https://'),
  -- User who uploaded the image; 0: an API key.
  user_id integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  -- BCP 47 tag of the readers that the image is for; null: all readers.
  language text
);
comment on table creatives is 'Images of offers.';
create index creatives_offer on creatives (offer_id);
create unique index creatives_primary on creatives (offer_id) where is_primary;

create table creative_images (
  creative_id integer primary key references creatives on delete cascade,
  -- Null: the image store outside the database keeps the bytes by their digest.
  bytes bytea check (octet_length(bytes) <= 5 * 1024 * 1024),
  sha256 bytea not null check (octet_length(sha256) = 32)
);
comment on table creative_images is 'Uploaded images.';

-- Triggers -----------------------------------------------------------------------------------------------------------

-- Trigger: provisions a new campaign to the publisher that owns it.
create function provision_to_owner() returns trigger language plpgsql as $$
begin
  insert into campaign_publishers (campaign_id, publisher_id)
    select id, publisher_id from added on conflict do nothing;
  return null;
end $$;
create trigger provision_to_owner after insert on campaigns
  referencing new table as added for each statement execute function provision_to_owner();

-- Trigger: sets campaigns.activated_at.
create function note_activation() returns trigger language plpgsql as $$
begin
  if new.active and new.activated_at is null then
    new.activated_at := now();
  end if;
  return new;
end $$;
create trigger note_activation before insert or update of active on campaigns
  for each row execute function note_activation();

-- Trigger: sets campaigns.goal_since.
create function note_goal() returns trigger language plpgsql as $$
begin
  if new.goal is null then
    new.goal_since := null;
  elsif tg_op = 'INSERT' or old.goal is null or old.goal->>'metric' is distinct from new.goal->>'metric' then
    new.goal_since := coalesce(new.updated_at, now());
  end if;
  return new;
end $$;
create trigger note_goal before insert or update of goal on campaigns
  for each row execute function note_goal();

-- Triggers of the change feed. Tables of later modules that belong to the catalog have them too.
do $$
declare
  name text;
  source record;
  event record;
begin
  -- For each row, because a statement that changes no row does not change the catalog.
  foreach name in array array[
    'publishers', 'themes', 'placements', 'sequence_rules', 'advertisers', 'campaigns', 'campaign_publishers', 'offers',
    'creatives'
  ] loop
    execute format('create trigger bump_catalog_version after insert or update or delete on %I
      for each row execute function bump_catalog_version()', name);
    execute format('create trigger bump_catalog_version_truncated after truncate on %I
      for each statement execute function bump_catalog_version()', name);
  end loop;
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
    for event in
      select * from (values ('insert', 'new'), ('update', 'old'), ('update', 'new'), ('delete', 'old')) e (name, rows)
    loop
      execute format('create trigger %I after %s on %I referencing %s table as touched
        for each statement execute function list_catalog_changes(%L)',
        format('list_%s_%s', event.name, event.rows), event.name, source.name, event.rows, source.query);
    end loop;
  end loop;
end $$;
