-- Conversions: what advertisers report of clicks. A ledger: rows are added and never changed; a void is a row of its own
-- with negative amounts. Kept by the day of the click's session, like the events they follow from.

create table conversions (
  day date not null, -- of the click's session
  session_id uuid not null,
  offer_id integer not null,
  event text not null, -- what the advertiser calls it
  txn_key uuid not null, -- keyed hash of the advertiser's transaction: what dedupes outlives an erasure
  void boolean not null, -- takes back the row that is like it but for this
  id uuid not null, -- UUIDv7
  publisher_id integer not null,
  campaign_id integer not null,
  advertiser_id integer not null,
  txn_id text, -- as the advertiser gave it; null: none, or erased
  given_micros bigint, -- the amount the advertiser gave; null: none
  payout_micros bigint not null, -- millionths of the currency; negative in a void
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  is_loyalty boolean not null,
  loyalty_micros numeric(40, 0) not null, -- payout in the publisher's own currency
  suspicious text, -- of the click; such a conversion is kept and pays nothing
  click_at timestamptz not null,
  booked_at timestamptz not null,
  primary key (day, session_id, offer_id, event, txn_key, void)
) partition by range (day);

alter table advertisers add column if not exists conversion_secret_sealed bytea; -- null: reports need no signature

-- Creates the partitions of [from_day, to_day] that are missing, of every table that is partitioned by day.
create or replace function create_day_partitions(from_day date, to_day date) returns void language plpgsql as $$
declare
  parent text;
  d date;
begin
  perform pg_advisory_xact_lock(hashtext('perkwire_partitions'));
  for parent in
    select c.relname from pg_partitioned_table p join pg_class c on c.oid = p.partrelid
    join pg_attribute a on a.attrelid = c.oid and a.attnum = p.partattrs[0]
    where p.partstrat = 'r' and a.attname = 'day' and c.relnamespace = current_schema()::regnamespace
    order by c.relname
  loop
    d := from_day;
    while d <= to_day loop
      if to_regclass(parent || '_p' || to_char(d, 'YYYYMMDD')) is null then -- the parent is locked only when there is something to do
        execute format('create table %I partition of %I for values from (%L) to (%L)',
          parent || '_p' || to_char(d, 'YYYYMMDD'), parent, d, d + 1);
      end if;
      d := d + 1;
    end loop;
  end loop;
end $$;

-- A conversion may be of a click of any day whose sessions are still here.
do $$
declare
  first_day date;
  last_day date;
begin
  select min(to_date(right(c.relname, 8), 'YYYYMMDD')), max(to_date(right(c.relname, 8), 'YYYYMMDD')) into first_day, last_day
  from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'sessions'::regclass;
  if first_day is not null then
    perform create_day_partitions(first_day, last_day);
  end if;
end $$;
