-- Tables of fetch-offers: sessions, and the history of users.

create table sessions (
  day date not null,
  id uuid not null,
  publisher_id integer not null,
  placement text not null,
  theme_id integer,
  user_key uuid,
  pub_user_id text,
  country text,
  device text,
  os text,
  offer_ids integer[] not null,
  campaign_ids integer[] not null,
  empty_reason text,
  decision text,
  custom jsonb,
  macros jsonb,
  dev boolean not null,
  usp boolean not null,
  usp_check_all boolean not null,
  created_at timestamptz not null,
  erased_at timestamptz,
  erased_attributes jsonb,
  written_by xid8 not null default pg_current_xact_id(),
  primary key (day, id)
) partition by range (day);
create index sessions_dev on sessions (created_at) where dev;
create index sessions_user_key on sessions (user_key) where user_key is not null;
-- Not a hash index: with one a session costs a third more, and ever more where many sessions have the same id, such as
-- "guest", because the entries of one value are one chain of pages.
create index sessions_pub_user_id on sessions (pub_user_id) where pub_user_id is not null;
-- How rollups find new rows. Rows are appended, so neighbouring pages were written by neighbouring transactions: a
-- BRIN index says so with a few bytes for each range of pages, where an entry for each row was a tenth of what an event
-- cost. BRIN has no operators for xid8, but for its eight bytes, most significant first.
create index sessions_written_by on sessions using brin (xid8send(written_by)) with (pages_per_range = 128);
comment on table sessions is
  'Responses of fetch-offers, partitioned by day, so that retention drops partitions. Everything that belongs to a
session carries its day, which its tokens name: one key deduplicates exactly, also across midnight.';
comment on column sessions.id is 'UUIDv7';
comment on column sessions.user_key is 'Keyed hash of ad_fp, else of pub_user_id.';
comment on column sessions.device is 'mobile, tablet, desktop, tv, bot, other';
comment on column sessions.offer_ids is 'In the order shown.';
comment on column sessions.decision is
  'JSON: what only the decision log reads (src/offers/decision-log/decision-record.ts). Null: erased.';
comment on column sessions.empty_reason is 'Why no offer was shown; null when one was.';
comment on column sessions.custom is 'The publisher''s own attributes.';
comment on column sessions.macros is 'Values of the macros in the copy shown.';
comment on column sessions.usp is 'User Selected Perks was on for this response.';
comment on column sessions.erased_at is 'When the data of its user was erased.';
comment on column sessions.erased_attributes is
  'Custom attributes whose values were erased, as reports count them from then on: {"plan": "other"}.';
comment on column sessions.written_by is
  'Transaction that wrote the row: a row that one snapshot sees and an earlier one did not is new to the rollup.';

create table user_history (
  user_key uuid primary key,
  publisher_id integer not null,
  opt_outs jsonb not null default '{}',
  exposures bytea not null default '',
  updated_at timestamptz not null,
  earlier_key uuid
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
alter table user_history alter column exposures set storage external;
create index user_history_earlier_key on user_history (earlier_key) where earlier_key is not null;
comment on table user_history is 'What decisions know of a user.';
comment on column user_history.opt_outs is 'Campaign id → end in epoch seconds, or null for good.';
comment on column user_history.exposures is
  'Records of 31 bytes: events that a frequency cap counts, and impressions still to come
(src/offers/caps/history-records.ts).';
comment on column user_history.earlier_key is 'The key under the pepper before, which older sessions have; null: none.';

create table campaign_usage (
  campaign_id integer not null,
  publisher_id integer not null,
  period text not null,
  impressions bigint not null default 0,
  clicks bigint not null default 0,
  micros bigint not null default 0,
  primary key (campaign_id, publisher_id, period)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index campaign_usage_period on campaign_usage (period);
comment on table campaign_usage is 'What campaigns with total caps have used in a period.';
comment on column campaign_usage.publisher_id is '0: over all publishers.';
comment on column campaign_usage.period is 'lifetime, or hour, day or month with its start in UTC.';
comment on column campaign_usage.micros is 'Money in millionths.';

create table campaign_outcomes (
  publisher_id integer not null,
  campaign_id integer not null,
  hour timestamptz not null,
  outcome text collate "C" not null,
  decisions bigint not null,
  primary key (publisher_id, campaign_id, hour, outcome)
) with (fillfactor = 70);
create index campaign_outcomes_hour on campaign_outcomes (hour);
comment on table campaign_outcomes is
  'In how many decisions a campaign was shown, or which rule kept it from being shown, by the hour, for a week.
Estimated from a sample.';
comment on column campaign_outcomes.outcome is 'shown, or the first rule that failed.';

create table cap_reservations (
  session_id uuid primary key,
  reserved text not null
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table cap_reservations is
  'The parts of campaign_usage that are reserved for responses whose paying events are still to come. They end a minute
after the time in session_id, a UUIDv7.';
comment on column cap_reservations.reserved is
  'JSON: [time zone, [[offer, campaign, publisher (0: over all), impressions, micros] each]] each. Time zone and time of
the session give the periods of campaign_usage it is counted in.';

create table decision_states (
  id text primary key,
  state bytea not null,
  used_at timestamptz not null
);
comment on table decision_states is
  'What decisions were made with, once for each state, for the decision log. Kept for a week after the last use.';
comment on column decision_states.id is '"catalog" and its version, or "model" and a digest.';
comment on column decision_states.state is 'gzip of JSON';
