-- Caps and budgets of campaigns, and the history of users. Money is in millionths of the campaign's currency.

create table user_history (
  user_key uuid primary key,
  publisher_id integer not null,
  -- Campaign id → end in epoch seconds, or null for an opt-out without an end.
  opt_outs jsonb not null default '{}',
  -- Records of 31 bytes: events that a frequency cap counts, and expected impressions
  -- (src/offers/caps/history-records.ts).
  exposures bytea not null default '',
  updated_at timestamptz not null,
  -- Key under the previous pepper, which older sessions have; null: none.
  earlier_key uuid
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);
comment on table user_history is 'What decisions know about a user: opt-outs, and events that frequency caps count.';
-- Stored without compression.
alter table user_history alter column exposures set storage external;
create index user_history_earlier_key on user_history (earlier_key) where earlier_key is not null;

create table campaign_usage (
  campaign_id integer not null,
  -- 0: over all publishers.
  publisher_id integer not null,
  -- lifetime, or hour, day or month with its start in UTC. For an own event, its kind follows, such as own:quiz.
  period text not null,
  -- Counted impressions, plus those that slices and reservations hold.
  impressions bigint not null default 0,
  clicks bigint not null default 0,
  -- Spent money, plus what slices and reservations hold.
  micros bigint not null default 0,
  -- Without slices and reservations.
  counted_impressions bigint not null default 0,
  -- Without voided conversions.
  conversions bigint not null default 0,
  -- Booked money. Never exceeds what a budget allows.
  spent_micros bigint not null default 0,
  -- What events would have paid if the budget had not been exhausted.
  unbilled_micros bigint not null default 0,
  -- In the period of an own event: how often it happened.
  own_events bigint not null default 0,
  primary key (campaign_id, publisher_id, period)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table campaign_usage is 'What campaigns with total caps have used in a period.';
create index campaign_usage_period on campaign_usage (period);

create table cap_slices (
  id uuid primary key,
  campaign_id integer not null,
  -- 0: over all publishers.
  publisher_id integer not null,
  -- Periods of campaign_usage in which the slice is counted.
  periods text[] not null,
  -- What is left; negative: no cap limits impressions.
  impressions bigint not null,
  -- What is left; negative: no budget limits money.
  micros bigint not null,
  expires_at timestamptz not null
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table cap_slices is
  'Parts of campaign_usage that a process holds, to grant impressions from memory. Each grant is subtracted here in
its transaction. The rest returns to campaign_usage, at the latest when the lease ends.';

create table cap_reservations (
  session_id uuid primary key,
  -- JSON: [[time zone, [[offer, campaign, publisher (0: over all), impressions, micros, paid by (0 impressions,
  -- 1 clicks, 2 conversions)], …]], …]. The time zone and the time of the session give the periods of campaign_usage.
  reserved text not null,
  -- Number of releases so far. A reservation is released in steps, as its events become less likely.
  step smallint not null default 0
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table cap_reservations is
  'Parts of campaign_usage that are reserved for responses whose paying events are still expected. They shrink with
the age of the session, whose time is in session_id, a UUIDv7.';
create index cap_reservations_steps on cap_reservations (step, session_id);
