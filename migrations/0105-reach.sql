-- Unique users of reports: a sketch of the users for each day and dimension.
create table reach_pending (
  publisher_id integer not null,
  id bigint generated always as identity,
  -- Start of the day in the publisher's time zone.
  bucket timestamptz not null,
  placement text collate "C" not null,
  offer_id integer not null,
  campaign_id integer not null,
  country text collate "C" not null,
  device text collate "C" not null,
  os text collate "C" not null,
  -- 1: the impressions are added; -1: they are subtracted.
  weight smallint not null,
  -- User key of each impression, with repetitions.
  users uuid[] not null,
  -- Impressions of unknown users, negative if they are subtracted.
  unknown bigint not null,
  primary key (publisher_id, id)
);
comment on table reach_pending is
  'Users of impressions that are rolled up, but are not in reach_sketches yet. Rollups append rows in their own
transaction, and a job moves the rows to the sketches within a minute.';

create table reach_sketches (
  publisher_id integer not null,
  -- Bits of the dimensions that the row has, as in rollups.
  grain smallint not null,
  -- Start of the day in the publisher's time zone.
  bucket timestamptz not null,
  placement text collate "C" not null,
  offer_id integer not null,
  country text collate "C" not null,
  device text collate "C" not null,
  os text collate "C" not null,
  campaign_id integer not null,
  -- Impressions of known users, and of unknown ones.
  known bigint not null,
  unknown bigint not null,
  -- Estimated number of users.
  users bigint not null,
  -- Users with their impressions (src/reports/reach/sketch.ts).
  sketch bytea not null,
  primary key (publisher_id, grain, bucket, placement, offer_id, country, device, os)
) partition by range (bucket);
-- Hashes cannot be compressed, and reports read the first bytes only.
alter table reach_sketches alter column sketch set storage external;
comment on table reach_sketches is 'Sketches of the users of impressions by day, in partitions of a month.';

alter table rollup_progress
  add column reach_rolled_up_at timestamptz not null default '-infinity',
  add column reach_from timestamptz not null default '-infinity';
comment on column rollup_progress.reach_rolled_up_at is
  'Equals rolled_up_at unless an earlier release, which has no sketches, rolled up last.';
comment on column rollup_progress.reach_from is 'Time from which all impressions are in sketches.';
