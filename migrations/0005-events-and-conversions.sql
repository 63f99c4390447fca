-- What users do with offers, and what advertisers report of it.

create table events (
  day date not null,
  session_id uuid not null,
  offer_id integer not null,
  kind text not null,
  publisher_id integer not null,
  campaign_id integer not null,
  position smallint not null,
  at timestamptz not null,
  suspicious text,
  revenue_micros bigint,
  written_by xid8 not null default pg_current_xact_id(),
  primary key (day, session_id, offer_id, kind)
) partition by range (day);
create index events_written_by on events using brin (xid8send(written_by)) with (pages_per_range = 128);
comment on table events is 'Beacons and clicks, each kind once for each offer of a session.';
comment on column events.day is 'Of the session.';
comment on column events.kind is 'impression, click, no_thanks, close, and those of perks.';
comment on column events.suspicious is 'Why it is excluded from counts, caps and revenue; null when it counts.';
comment on column events.revenue_micros is 'Revenue in millionths, fixed when it happened; null: none.';
comment on column events.written_by is 'As in sessions.';

create table conversions (
  day date not null,
  session_id uuid not null,
  offer_id integer not null,
  event text not null,
  txn_key uuid not null,
  void boolean not null,
  id uuid not null,
  publisher_id integer not null,
  campaign_id integer not null,
  advertiser_id integer not null,
  txn_id text,
  given_micros bigint,
  payout_micros bigint not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  is_loyalty boolean not null,
  loyalty_micros numeric(40, 0) not null,
  suspicious text,
  click_at timestamptz not null,
  booked_at timestamptz not null,
  primary key (day, session_id, offer_id, event, txn_key, void)
) partition by range (day);
comment on table conversions is
  'Conversions reported by advertisers. A ledger: rows are never changed; a void is a row of its own.';
comment on column conversions.day is 'Of the session of the click.';
comment on column conversions.event is 'The advertiser''s name for it.';
comment on column conversions.txn_key is
  'Keyed hash of the advertiser''s transaction id: deduplication outlives the erasure of the id.';
comment on column conversions.void is 'Takes back the row that is equal but for this; its amounts are negative.';
comment on column conversions.id is 'UUIDv7';
comment on column conversions.txn_id is 'As the advertiser gave it; null: none, or erased.';
comment on column conversions.given_micros is 'The amount the advertiser gave, in millionths; null: none.';
comment on column conversions.payout_micros is 'Millionths of the currency.';
comment on column conversions.loyalty_micros is 'The payout in the publisher''s loyalty currency, in millionths.';
comment on column conversions.suspicious is 'Of the click; such a conversion is recorded and pays nothing.';

create table bookings (
  day date not null,
  session_id uuid not null,
  id uuid not null,
  publisher_id integer not null,
  offer_id integer not null,
  campaign_id integer not null,
  at timestamptz not null,
  conversions smallint not null check (conversions between -1 and 1),
  revenue_micros bigint not null,
  written_by xid8 not null default pg_current_xact_id(),
  primary key (day, session_id, id)
) partition by range (day);
-- Conversions come late, each to the day of its session, and are few: a B-tree, other than for sessions and events.
create index bookings_written_by on bookings (xid8send(written_by));
comment on table bookings is
  'Conversions and their revenue as reports count them. Append-only; a void is a row of its own with negative amounts.';
comment on column bookings.day is 'Of the session.';
comment on column bookings.id is 'Deduplicates: a booking with an id that exists is ignored.';
comment on column bookings.written_by is 'As in sessions.';
