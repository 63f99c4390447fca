-- Fetching offers: sessions, the decision log, and what integrators see of their requests.

create table sessions (
  day date not null,
  -- UUIDv7
  id uuid not null,
  publisher_id integer not null,
  placement text not null,
  theme_id integer,
  -- Keyed hash of ad_fp, else of pub_user_id.
  user_key uuid,
  pub_user_id text,
  country text,
  -- mobile, tablet, desktop, tv, bot, other
  device text,
  os text,
  -- In the order of display, as are the campaigns.
  offer_ids integer[] not null,
  campaign_ids integer[] not null,
  -- Why no offer was shown; null: an offer was shown.
  empty_reason text,
  -- JSON that only the decision log reads (src/offers/decision-log/decision-record.ts); null: erased.
  decision text,
  -- The publisher's custom attributes.
  custom jsonb,
  -- Values of the macros in the texts of the offers.
  macros jsonb,
  dev boolean not null,
  -- Whether User Selected Perks was on for this response.
  usp boolean not null,
  usp_check_all boolean not null,
  created_at timestamptz not null,
  -- When the data of the user was erased.
  erased_at timestamptz,
  -- Custom attributes whose values were erased, with the values that reports count from then on: {"plan": "other"}.
  erased_attributes jsonb,
  -- Transaction that wrote the row. A row that a snapshot sees and the one before does not is new to the rollups.
  written_by xid8 not null default pg_current_xact_id(),
  -- Requested languages as BCP 47 tags, separated by commas, the preferred one first; null: none.
  language text,
  primary key (day, id)
) partition by range (day);
comment on table sessions is
  'Responses with offers, partitioned by day, so that retention drops partitions. Rows of other tables that belong
to a session have its day, which its tokens name: one key deduplicates exactly, also across midnight.';
create index sessions_dev on sessions (created_at) where dev;
create index sessions_user_key on sessions (user_key) where user_key is not null;
-- Not a hash index: it makes a session a third more expensive, and even more if many sessions have the same id, such as
-- "guest", because the entries of one value are one chain of pages.
create index sessions_pub_user_id on sessions (pub_user_id) where pub_user_id is not null;
-- Finds new rows for the rollups. Rows are appended, so neighbouring pages were written by neighbouring transactions: a
-- BRIN index needs a few bytes for each range of pages, while a B-tree entry was a tenth of the cost of an event. BRIN
-- has no operators for xid8, but has them for its eight bytes, most significant first.
create index sessions_written_by on sessions using brin (xid8send(written_by)) with (pages_per_range = 128);

create table decision_states (
  -- "catalog" and its version.
  id text primary key,
  -- gzip of JSON
  state bytea not null,
  used_at timestamptz not null
);
comment on table decision_states is
  'Inputs of decisions, such as a version of the catalog, stored once for the decision log. Kept for a week after
the last use.';

create table campaign_outcomes (
  publisher_id integer not null,
  campaign_id integer not null,
  hour timestamptz not null,
  -- shown, or the first rule that failed.
  outcome text collate "C" not null,
  decisions bigint not null,
  primary key (publisher_id, campaign_id, hour, outcome)
) with (fillfactor = 70);
comment on table campaign_outcomes is
  'Number of decisions in which a campaign was shown, or which rule excluded it, by hour. Estimated from a sample.
Kept for a week.';
create index campaign_outcomes_hour on campaign_outcomes (hour);

create table request_notices (
  publisher_id integer not null,
  path text not null check (char_length(path) <= 200),
  message text not null check (char_length(message) <= 500),
  -- Whether the request was answered with an error. Otherwise it was served.
  refused boolean not null,
  count bigint not null,
  last_at timestamptz not null,
  primary key (publisher_id, path, message)
);
comment on table request_notices is
  'Fields of offer requests that were ignored, dropped or refused, for the integration page. The newest notices of
each publisher, for a day. Values of requests are not stored.';

create unlogged table live_watches (
  publisher_id integer primary key references publishers on delete cascade,
  until timestamptz not null
);
comment on table live_watches is
  'Publishers whose calls are recorded, because someone has the page with live calls open. Unlogged, as are the
calls: losing them in a crash is harmless.';

create unlogged table live_calls (
  id uuid primary key,
  publisher_id integer not null references publishers on delete cascade,
  at timestamptz not null,
  -- JSON, without secrets and identifiers of users.
  call text not null,
  refused boolean not null default false
);
comment on table live_calls is
  'Requests and answers: those of watched publishers for minutes, refused ones of all publishers for an hour.';
create index live_calls_publisher on live_calls (publisher_id, at);
