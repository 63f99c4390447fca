-- Tracking: what users do with offers, and the conversions that advertisers report. Money is in millionths (micros).

create table events (
  -- Day of the session.
  day date not null,
  session_id uuid not null,
  offer_id integer not null,
  -- impression, click, no_thanks, close, those of perks, and `own:` with the name of an own event.
  kind text not null,
  publisher_id integer not null,
  campaign_id integer not null,
  -- Position of the offer in the session.
  position smallint not null,
  at timestamptz not null,
  -- Why the event is excluded from counts, caps and revenue; null: it counts.
  suspicious text,
  -- Revenue, fixed when the event happened; null: none.
  revenue_micros bigint,
  -- As in sessions.
  written_by xid8 not null default pg_current_xact_id(),
  -- What the event would have paid if the budget had not been exhausted; null: it was paid, or pays nothing.
  unbilled_micros bigint,
  primary key (day, session_id, offer_id, kind)
) partition by range (day);
comment on table events is 'Beacons and clicks. Each kind is counted once for each offer of a session.';
-- As in sessions.
create index events_written_by on events using brin (xid8send(written_by)) with (pages_per_range = 128);

create table conversions (
  -- Day of the session of the click.
  day date not null,
  session_id uuid not null,
  offer_id integer not null,
  -- The advertiser's name of the conversion.
  event text not null,
  -- Keyed hash of the advertiser's transaction id, which still deduplicates after the id was erased.
  txn_key uuid not null,
  -- Takes back the row with otherwise equal keys. Its amounts are negative.
  void boolean not null,
  -- UUIDv7
  id uuid not null,
  publisher_id integer not null,
  campaign_id integer not null,
  advertiser_id integer not null,
  -- The advertiser's transaction id; null: none, or erased.
  txn_id text,
  -- Amount that the advertiser reported; null: none.
  given_micros bigint,
  payout_micros bigint not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  is_loyalty boolean not null,
  -- Payout in the publisher's loyalty currency.
  loyalty_micros numeric(40, 0) not null,
  -- Why the click is suspicious. Such a conversion is recorded and pays nothing.
  suspicious text,
  click_at timestamptz not null,
  booked_at timestamptz not null,
  -- What the conversion would have paid if the budget had not been exhausted. Then payout_micros is 0.
  unbilled_micros bigint not null default 0,
  -- Totals that counted the conversion, from which a void takes it back: campaign (over all publishers), publisher.
  -- Null: unknown, written by an earlier build.
  counted_in text[],
  primary key (day, session_id, offer_id, event, txn_key, void)
) partition by range (day);
comment on table conversions is
  'Conversions reported by advertisers. A ledger: rows are never changed, and a void is another row.';
create index conversions_advertiser on conversions (advertiser_id, booked_at);
