-- User Selected Perks and the wallet.

create table usp_sessions (
  day date not null,
  session_id uuid not null,
  publisher_id integer not null,
  selected integer[] not null,
  wrapped_at timestamptz,
  primary key (day, session_id)
) partition by range (day);
comment on table usp_sessions is 'Offers a user selected in a session.';
comment on column usp_sessions.wrapped_at is 'When the selection was closed and its webhook written; null: open.';

create table wallet_items (
  user_key uuid not null,
  offer_id integer not null,
  publisher_id integer not null,
  campaign_id integer not null,
  session_id uuid not null,
  position smallint not null,
  pub_user_id text not null,
  macros jsonb,
  saved_at timestamptz not null,
  earlier_key uuid,
  primary key (user_key, offer_id)
);
create index wallet_items_earlier_key on wallet_items (earlier_key) where earlier_key is not null;
comment on table wallet_items is 'Offers that users saved. Removing an offer from the wallet removes its row.';
comment on column wallet_items.user_key is 'Keyed hash of publisher and pub_user_id.';
comment on column wallet_items.earlier_key is 'The key under the pepper before, which older links have; null: none.';
comment on column wallet_items.session_id is
  'The newest session the offer was saved from; clicks in the wallet belong to it.';
comment on column wallet_items.position is 'Where that session showed it.';
comment on column wallet_items.pub_user_id is 'For webhooks.';
comment on column wallet_items.macros is 'Values of the macros in the copy shown.';
