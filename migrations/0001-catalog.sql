-- Configuration: small reference tables. Every change bumps catalog_version and wakes the processes that hold a snapshot.

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
  privacy_url text check (privacy_url ~ '^https?://'),
  created_at timestamptz not null default now()
);

create table api_keys (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  name text not null check (char_length(name) between 1 and 200),
  key_hash bytea not null unique check (octet_length(key_hash) = 32), -- sha256 of the key; the key itself is shown once and not kept
  permissions text[] not null check (
    permissions <@ array['ads/offers', 'reports', 'configurations', 'offers/management', 'wallet', 'accounts']
  ),
  rate_limit_per_s integer check (rate_limit_per_s > 0),
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now()
);

create table themes (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  name text not null check (char_length(name) between 1 and 200),
  unit text not null check (unit in ('sou', 'mou')), -- single or multi offer unit
  is_default boolean not null default false,
  usp_enabled boolean not null default false,
  usp_check_all boolean not null default false,
  offers_per_response smallint check (offers_per_response between 1 and 10),
  settings jsonb not null default '{}',
  styles jsonb not null default '{}',
  check (unit = 'mou' or not usp_enabled)
);
create unique index themes_default on themes (publisher_id) where is_default;

create table placements (
  publisher_id integer not null references publishers,
  name text not null check (name ~ '^[^A-Z\s_]{1,128}$'),
  display_name text not null default '' check (char_length(display_name) <= 200),
  theme_id integer references themes,
  offers_per_response smallint check (offers_per_response between 1 and 10),
  auto_created boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (publisher_id, name)
);

create table advertisers (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  name text not null check (char_length(name) between 1 and 200)
);

create table campaigns (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  advertiser_id integer not null references advertisers,
  name text not null check (char_length(name) between 1 and 200),
  category text not null default '' check (char_length(category) <= 100),
  tags text[] not null default '{}',
  active boolean not null default true,
  priority integer not null default 100 check (priority between 0 and 10000), -- lower is shown first
  weight integer not null default 100 check (weight between 0 and 1000000), -- higher is shown first among equals
  is_product boolean not null default false,
  is_loyalty boolean not null default false,
  offer_description text not null default '' check (char_length(offer_description) <= 2000),
  landing_url text not null check (landing_url ~ '^https://' and char_length(landing_url) <= 2000),
  click_id_param text not null default 'click_id' check (click_id_param ~ '^[A-Za-z0-9_.-]{1,64}$'),
  opt_out_days integer check (opt_out_days between 1 and 3650), -- null: for good
  deleted_at timestamptz
);

-- Text limits: specification section 8.
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
  deleted_at timestamptz
);
create index offers_campaign on offers (campaign_id);

create table creatives (
  id integer generated always as identity primary key,
  offer_id integer not null references offers,
  creative_type text not null check (creative_type in ('icon_image', 'offer_image', 'hero_image')),
  is_primary boolean not null default false,
  type text not null check (type in ('png', 'jpg', 'webp', 'gif', 'avif')),
  width integer not null check (width between 1 and 20000),
  height integer not null check (height between 1 and 20000),
  url text check (url ~ '^https://'), -- null: served by this service from creative_images
  user_id integer not null default 0 -- who uploaded it
);
create index creatives_offer on creatives (offer_id);
create unique index creatives_primary on creatives (offer_id) where is_primary;

create table creative_images (
  creative_id integer primary key references creatives on delete cascade,
  bytes bytea not null check (octet_length(bytes) <= 5 * 1024 * 1024),
  sha256 bytea not null check (octet_length(sha256) = 32)
);

create table webhook_endpoints (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  event text not null check (event in ('usp.selection')),
  url text not null check (url ~ '^https?://' and char_length(url) <= 2000),
  method text not null check (method in ('POST', 'GET')),
  enabled boolean not null default true,
  disabled_reason text,
  secret_sealed bytea not null,
  previous_secret_sealed bytea, -- signs beside the new one until previous_secret_until
  previous_secret_until timestamptz,
  deadline_ms integer not null default 15000 check (deadline_ms between 1000 and 30000),
  retry_steps_s integer[] check (cardinality(retry_steps_s) between 1 and 20), -- null: the default schedule
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (publisher_id, event)
);

create table catalog_version (
  singleton boolean primary key default true check (singleton),
  version bigint not null default 1
);
insert into catalog_version default values;

create function bump_catalog_version() returns trigger language plpgsql as $$
begin
  update catalog_version set version = version + 1;
  notify perkwire_catalog;
  return null;
end $$;

do $$
declare name text;
begin
  foreach name in array array['publishers', 'api_keys', 'themes', 'placements', 'advertisers', 'campaigns', 'offers', 'creatives'] loop
    execute format('create trigger bump_catalog_version after insert or update or delete or truncate on %I
      for each statement execute function bump_catalog_version()', name);
  end loop;
end $$;
