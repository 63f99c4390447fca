-- User Selected Perks and the wallet.

create table usp_sessions (
  day date not null,
  session_id uuid not null,
  publisher_id integer not null,
  selected integer[] not null,
  -- When the selection was closed and its webhook written; null: open.
  wrapped_at timestamptz,
  primary key (day, session_id)
) partition by range (day);
comment on table usp_sessions is 'Offers that a user selected in a session.';

create table wallet_items (
  -- Keyed hash of publisher and pub_user_id.
  user_key uuid not null,
  offer_id integer not null,
  publisher_id integer not null,
  campaign_id integer not null,
  -- Last session from which the offer was saved. Clicks in the wallet belong to it.
  session_id uuid not null,
  -- Position of the offer in that session.
  position smallint not null,
  -- For webhooks.
  pub_user_id text not null,
  -- Values of the macros in the texts of the offer.
  macros jsonb,
  saved_at timestamptz not null,
  -- Key under the previous pepper, which older links have; null: none.
  earlier_key uuid,
  -- Languages of the session, as in sessions.
  language text,
  primary key (user_key, offer_id)
);
comment on table wallet_items is 'Offers that users saved. Removing an offer from the wallet deletes its row.';
create index wallet_items_earlier_key on wallet_items (earlier_key) where earlier_key is not null;
