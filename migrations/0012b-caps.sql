-- Who saw what, what campaigns have used up, and the catalogues decisions were made with.

alter table user_history
  -- [event, offer, campaign, advertiser, epoch ms, count] each; only what some frequency cap counts
  add column exposures jsonb not null default '[]',
  -- "session offer" → the same for an impression that is still to come
  add column reservations jsonb not null default '{}';
alter table user_history set (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

-- What campaigns with total caps have used in a period. publisher_id 0: over all publishers.
create table campaign_use (
  campaign_id integer not null,
  publisher_id integer not null,
  period text not null, -- lifetime, or hour, day or month with its start in UTC
  impressions bigint not null default 0,
  clicks bigint not null default 0,
  micros bigint not null default 0, -- money, millionths
  primary key (campaign_id, publisher_id, period)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index campaign_use_period on campaign_use (period);

-- The part of campaign_use that is only held for answers whose paying event is still to come.
create table cap_reservations (
  session_id uuid not null,
  offer_id integer not null,
  publisher_id integer not null, -- as in campaign_use
  campaign_id integer not null,
  periods text[] not null, -- that it is counted in
  impressions smallint not null,
  micros bigint not null,
  expires_at timestamptz not null,
  primary key (session_id, offer_id, publisher_id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index cap_reservations_expiry on cap_reservations (expires_at);

-- What decisions were made with, once for each state that was used: gzip of JSON. Kept a week after the last use.
create table decision_states (
  id text primary key, -- "catalogue" and its version, or "learnt" and a digest
  state bytea not null,
  used_at timestamptz not null
);
