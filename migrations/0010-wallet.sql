-- Wallet: the offers users keep. One row for each user and offer; removing an offer removes the row.

create table wallet_items (
  user_key uuid not null, -- keyed hash of publisher and pub_user_id
  offer_id integer not null,
  publisher_id integer not null,
  campaign_id integer not null,
  session_id uuid not null, -- the newest session it was saved from; clicks from the wallet belong to it
  position smallint not null, -- where that session showed it
  pub_user_id text not null, -- webhooks name it
  macros jsonb, -- values the copy shown was filled with
  saved_at timestamptz not null,
  primary key (user_key, offer_id)
);
