-- Management: when a row was made and changed, removal that keeps the row, who changed what, and answers kept for repeated calls.

alter table publishers
  add column privacy_text text not null default '' check (char_length(privacy_text) <= 10000), -- shown on the privacy page of the service
  add column updated_at timestamptz not null default now();
alter table api_keys
  add column hint text not null default '' check (char_length(hint) <= 16), -- the first characters, to tell keys apart
  add column updated_at timestamptz not null default now();
alter table themes
  add column created_at timestamptz not null default now(),
  add column updated_at timestamptz not null default now(),
  add column deleted_at timestamptz;
alter table placements add column updated_at timestamptz not null default now();
alter table advertisers
  add column created_at timestamptz not null default now(),
  add column updated_at timestamptz not null default now(),
  add column deleted_at timestamptz;
alter table campaigns
  add column created_at timestamptz not null default now(),
  add column updated_at timestamptz not null default now();
alter table offers
  add column created_at timestamptz not null default now(),
  add column updated_at timestamptz not null default now();
alter table creatives
  add column created_at timestamptz not null default now(),
  add column updated_at timestamptz not null default now(),
  add column deleted_at timestamptz;
alter table sequence_rules
  add column created_at timestamptz not null default now(),
  add column updated_at timestamptz not null default now(),
  add column deleted_at timestamptz;

create index campaigns_publisher on campaigns (publisher_id, id);
create index campaigns_advertiser on campaigns (advertiser_id);
create index offers_publisher on offers (publisher_id, id);
create index themes_publisher on themes (publisher_id, id);
create index advertisers_publisher on advertisers (publisher_id, id);
create index api_keys_publisher on api_keys (publisher_id, id);
create index placements_theme on placements (theme_id) where theme_id is not null;

-- Written in the transaction of the change it tells of.
create table audit_log (
  publisher_id integer not null,
  id bigint generated always as identity,
  at timestamptz not null,
  actor_kind text not null check (actor_kind in ('key', 'user', 'system')),
  actor_id integer not null,
  actor_label text not null, -- name of the key, e-mail address of the user
  actor_publisher_id integer, -- null: an operator who belongs to no publisher
  action text not null, -- create, update, remove
  resource text not null,
  resource_id text not null,
  changes jsonb not null, -- field → {"old", "new"}; secrets never
  primary key (publisher_id, id)
);
create index audit_log_resource on audit_log (publisher_id, resource, resource_id, id);

-- Answers of POST calls that named an Idempotency-Key; kept a day.
create table idempotent_answers (
  publisher_id integer not null,
  actor text not null, -- kind and id
  key text not null,
  request_hash bytea not null,
  status smallint, -- null only inside the transaction that makes the answer
  answer_sealed bytea,
  created_at timestamptz not null,
  primary key (publisher_id, actor, key)
);
create index idempotent_answers_age on idempotent_answers (created_at);
