-- The catalog: publishers and what they show. Small tables that every process holds in memory as one snapshot.

create table publishers (
  id integer generated always as identity primary key,
  name text not null check (char_length(name) between 1 and 200),
  sdk_id text not null unique check (sdk_id ~ '^[0-9a-f]{16}$'),
  unit_enabled boolean not null default true,
  offers_per_response smallint not null default 3 check (offers_per_response between 1 and 10),
  time_zone text not null default 'UTC',
  currency_name text not null default 'points',
  currency_multiplier numeric(12, 4) not null default 1 check (currency_multiplier >= 0),
  usp_enabled boolean not null default false,
  wallet_enabled boolean not null default false,
  offerwall_enabled boolean not null default false,
  delivery_percentage smallint not null default 100 check (delivery_percentage between 0 and 100),
  test_mode boolean not null default false,
  privacy_url text check (privacy_url ~ '^https?://'),
  privacy_text text not null default '' check (char_length(privacy_text) <= 10000),
  frame_hosts text[] not null default '{}' check (cardinality(frame_hosts) <= 50),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
comment on table publishers is 'Tenants: shops and apps that show offers.';
comment on column publishers.usp_enabled is 'User Selected Perks';
comment on column publishers.currency_multiplier is 'Units of the publisher''s loyalty currency for one unit of money.';
comment on column publishers.delivery_percentage is 'Share of users who get offers.';
comment on column publishers.privacy_text is 'Shown on the privacy page of this service.';
comment on column publishers.frame_hosts is
  'CSP host sources, such as https://*.shop.example, whose pages may show the offerwall in a frame.';

create table themes (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  name text not null check (char_length(name) between 1 and 200),
  unit text not null check (unit in ('sou', 'mou')),
  is_default boolean not null default false,
  usp_enabled boolean not null default false,
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
  check (unit = 'mou' or not usp_enabled)
);
create unique index themes_default on themes (publisher_id) where is_default;
create index themes_publisher on themes (publisher_id, id);
comment on table themes is 'How an offer unit looks. Columns that are null inherit from the publisher.';
comment on column themes.unit is 'Single (sou) or multi (mou) offer unit.';
comment on column themes.usp_check_all is 'All offers are selected at first.';

create table placements (
  publisher_id integer not null references publishers,
  name text not null check (name ~ '^[^A-Z\s_]{1,128}$'),
  display_name text not null default '' check (char_length(display_name) <= 200),
  theme_id integer references themes,
  offers_per_response smallint check (offers_per_response between 1 and 10),
  delivery_percentage smallint check (delivery_percentage between 0 and 100),
  unit_enabled boolean,
  auto_created boolean not null default false,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (publisher_id, name)
);
create index placements_theme on placements (theme_id) where theme_id is not null;
comment on table placements is
  'Places in a publisher''s pages that show offers. Columns that are null inherit from the theme, then the publisher.';
comment on column placements.auto_created is 'Created by the first request that named it.';

create table sequence_rules (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers on delete cascade,
  placement text check (char_length(placement) between 1 and 128),
  positions smallint[]
    check (cardinality(positions) between 1 and 10 and 1 <= all (positions) and 10 >= all (positions)),
  effect text not null check (effect in ('allow', 'deny')),
  match jsonb not null check (jsonb_typeof(match) = 'object'),
  weight integer not null default 100 check (weight between 0 and 1000000),
  active boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index sequence_rules_publisher on sequence_rules (publisher_id);
comment on table sequence_rules is 'Which offers may be shown at which positions of a placement.';
comment on column sequence_rules.placement is 'Null: all placements.';
comment on column sequence_rules.positions is 'Null: all positions.';
comment on column sequence_rules.match is 'Ids of offers, campaigns and advertisers, and names of categories and tags.';
comment on column sequence_rules.weight is 'Rules of higher weight apply first.';

create table advertisers (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  name text not null check (char_length(name) between 1 and 200),
  conversion_secret_sealed bytea,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index advertisers_publisher on advertisers (publisher_id, id);
comment on table advertisers is 'Owners of campaigns; they report conversions.';
comment on column advertisers.conversion_secret_sealed is
  'Secret, encrypted, that signs reported conversions; null: they need no signature.';

create table campaigns (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  advertiser_id integer not null references advertisers,
  name text not null check (char_length(name) between 1 and 200),
  category text not null default '' check (char_length(category) <= 100),
  tags text[] not null default '{}',
  active boolean not null default true,
  priority integer not null default 100 check (priority between 0 and 10000),
  weight integer not null default 100 check (weight between 0 and 1000000),
  is_product boolean not null default false,
  is_loyalty boolean not null default false,
  offer_description text not null default '' check (char_length(offer_description) <= 2000),
  landing_url text not null check (landing_url ~ '^https://' and char_length(landing_url) <= 2000),
  click_id_param text not null default 'click_id' check (click_id_param ~ '^[A-Za-z0-9_.-]{1,64}$'),
  opt_out_days integer check (opt_out_days between 1 and 3650),
  rules jsonb not null default '{}' check (jsonb_typeof(rules) = 'object'),
  payout_kind text not null default 'cpc' check (payout_kind in ('cpc', 'cpa', 'cpm', 'cps')),
  payout_amount numeric(18, 6) not null default 0 check (payout_amount between 0 and 1000000),
  payout_currency char(3) not null default 'USD' check (payout_currency ~ '^[A-Z]{3}$'),
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz,
  check (payout_kind <> 'cps' or payout_amount <= 100)
);
create index campaigns_publisher on campaigns (publisher_id, id);
create index campaigns_advertiser on campaigns (advertiser_id);
comment on table campaigns is
  'What an advertiser pays for and to whom it is shown; the offers of a campaign are its copy.';
comment on column campaigns.priority is 'Lower is shown first.';
comment on column campaigns.weight is 'Higher is shown first among equals.';
comment on column campaigns.opt_out_days is 'How long "no thanks" lasts; null: for good.';
comment on column campaigns.rules is 'Targeting, schedule, caps and pacing.';
comment on column campaigns.payout_amount is
  'Money for a click (cpc), a conversion (cpa) or 1,000 impressions (cpm); percent of the sale (cps).';

create table campaign_publishers (
  campaign_id integer not null references campaigns on delete cascade,
  publisher_id integer not null references publishers on delete cascade,
  active boolean not null default true,
  payout_amount numeric(18, 6) check (payout_amount between 0 and 1000000),
  priority integer check (priority between 0 and 10000),
  frequency_caps jsonb check (jsonb_typeof(frequency_caps) = 'array'),
  total_caps jsonb check (jsonb_typeof(total_caps) = 'array'),
  primary key (campaign_id, publisher_id)
);
create index campaign_publishers_publisher on campaign_publishers (publisher_id);
create trigger provision_to_owner after insert on campaigns
  referencing new table as added for each statement execute function provision_to_owner();
comment on table campaign_publishers is
  'Provisioning: a campaign is served only to these publishers. Columns that are null inherit from the campaign. Rows
are switched off rather than removed: links shown before stay valid for as long as their tokens.';
comment on column campaign_publishers.total_caps is
  'Counted over this publisher alone; they apply beside those of the campaign.';

-- The text limits are those of docs/interface.md.
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
  useraction_cta text check (char_length(useraction_cta) <= 100),
  useraction_url text check (useraction_url = '' or useraction_url ~ '^https://'),
  adv_pixel_url text not null default '' check (adv_pixel_url = '' or adv_pixel_url ~ '^https://'),
  wallet_enabled boolean not null default true,
  offerwall_enabled boolean not null default true,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index offers_campaign on offers (campaign_id);
create index offers_publisher on offers (publisher_id, id);
comment on table offers is 'Copy of a campaign, as users see it.';
comment on column offers.adv_pixel_url is 'Called by the browser with every impression.';

create table creatives (
  id integer generated always as identity primary key,
  offer_id integer not null references offers,
  creative_type text not null check (creative_type in ('icon_image', 'offer_image', 'hero_image')),
  is_primary boolean not null default false,
  type text not null check (type in ('png', 'jpg', 'webp', 'gif', 'avif')),
  width integer not null check (width between 1 and 20000),
  height integer not null check (height between 1 and 20000),
  url text check (url ~ '^https://'),
  user_id integer not null default 0,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  deleted_at timestamptz
);
create index creatives_offer on creatives (offer_id);
create unique index creatives_primary on creatives (offer_id) where is_primary;
comment on table creatives is 'Images of offers.';
comment on column creatives.url is 'Null: this service serves the image from creative_images.';
comment on column creatives.user_id is 'Who uploaded it; 0: an API key.';

create table creative_images (
  creative_id integer primary key references creatives on delete cascade,
  bytes bytea check (octet_length(bytes) <= 5 * 1024 * 1024),
  sha256 bytea not null check (octet_length(sha256) = 32)
);
comment on table creative_images is 'Uploaded images.';
comment on column creative_images.bytes is 'Null: the image store outside of the database keeps them by their digest.';

create table api_keys (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  name text not null check (char_length(name) between 1 and 200),
  key_hash bytea not null unique check (octet_length(key_hash) = 32),
  hint text not null default '' check (char_length(hint) <= 16),
  permissions text[] not null check (
    permissions <@ array['ads/offers', 'reports', 'configurations', 'offers/management', 'wallet', 'accounts']
  ),
  rate_limit_per_s integer check (rate_limit_per_s > 0),
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create index api_keys_publisher on api_keys (publisher_id, id);
comment on table api_keys is 'API keys of publishers.';
comment on column api_keys.key_hash is 'SHA-256 of the key; the key itself is shown once and not stored.';
comment on column api_keys.hint is 'First characters of the key, to tell keys apart.';

-- Change feed --------------------------------------------------------------------------------------------------------

create table catalog_version (
  singleton boolean primary key default true check (singleton),
  version bigint not null default 1,
  listed_after bigint not null default 1
);
insert into catalog_version default values;
comment on table catalog_version is
  'Grows with every transaction that changes the catalog, which holds the row until its commit: versions are committed
in order, and a reader who sees a version sees its changes.';
comment on column catalog_version.listed_after is 'catalog_changes lists the changes of all versions after this one.';

create table catalog_changes (
  version bigint not null,
  campaign_id integer not null,
  primary key (version, campaign_id)
);
comment on table catalog_changes is
  'Campaigns changed by each version (themselves, their provisioning, offers, creatives or advertiser), so that a
process reads only those again.';

do $$
declare
  name text;
  source record;
  event record;
begin
  foreach name in array array[
    'publishers', 'api_keys', 'themes', 'placements', 'sequence_rules', 'advertisers', 'campaigns',
    'campaign_publishers', 'offers', 'creatives'
  ] loop
    execute format('create trigger bump_catalog_version after insert or update or delete or truncate on %I
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
