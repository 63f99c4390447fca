-- Coupon codes of offers: one code for all users, or one for each.

create table coupon_pools (
  offer_id integer primary key references offers,
  publisher_id integer not null references publishers,
  give_at text not null default 'wrap' check (give_at in ('wrap', 'save', 'click')),
  shared_code text,
  fallback_sealed bytea,
  terms text not null default '',
  expires_at timestamptz,
  valid_days integer check (valid_days > 0),
  hold_minutes integer check (hold_minutes > 0),
  low_share integer not null default 10 check (low_share between 0 and 100),
  low_hours integer not null default 24 check (low_hours >= 0),
  drained_at timestamptz,
  updated_at timestamptz not null default now()
);
comment on table coupon_pools is 'What an offer''s codes are and when users get them. No row: the offer has none.';
comment on column coupon_pools.give_at is
  'When a user gets a code: as the session is wrapped, the offer saved or clicked.';
comment on column coupon_pools.shared_code is
  'The one code of all users, which is no secret; null: each user has an own one.';
comment on column coupon_pools.fallback_sealed is
  'The code of those who come when no other is left; null: they get none.';
comment on column coupon_pools.hold_minutes is
  'How long a selected offer holds a code before the wrap; null: not at all.';
comment on column coupon_pools.low_share is 'Percent of the codes at which the stock counts as low.';
comment on column coupon_pools.low_hours is
  'Hours that the codes last at today''s rate, at which the stock counts as low.';
comment on column coupon_pools.drained_at is
  'Since when no code is left, which pauses the offer; null: there are some.';

create sequence coupon_pool_numbers;
comment on sequence coupon_pool_numbers is
  'Codes of a pool have positions of its own, which are not used again when it is removed: a billion for each.';

create table coupon_stock (
  offer_id integer primary key references coupon_pools on delete cascade,
  next_position bigint not null,
  last_position bigint not null,
  given bigint not null default 0,
  held bigint not null default 0,
  redeemed bigint not null default 0,
  cancelled bigint not null default 0,
  day date not null default '1970-01-01',
  given_before bigint not null default 0
) with (fillfactor = 20);
comment on table coupon_stock is
  'The codes of a pool are numbered; those from next_position to last_position are left. Its row is locked while codes
are given, which makes each of them the code of one user.';
comment on column coupon_stock.given_before is
  'What was given before `day`, the present one: the rest was given today.';

create table coupon_blocks (
  offer_id integer not null references coupon_pools on delete cascade,
  first_position bigint not null,
  size integer not null,
  sealed bytea not null,
  primary key (offer_id, first_position)
);
alter table coupon_blocks alter column sealed set storage external; -- ciphertext does not shrink
comment on table coupon_blocks is
  'Codes from first_position on, one a line, sealed together: opening one costs as much as opening a thousand.';

create unlogged table coupon_loads (
  offer_id integer primary key references coupon_pools on delete cascade,
  received bigint not null,
  total bigint not null,
  seen_at timestamptz not null
);
comment on table coupon_loads is 'How far the codes are that are being loaded (lines).';

create table coupons (
  user_key uuid not null,
  offer_id integer not null,
  publisher_id integer not null,
  session_id uuid not null,
  sealed bytea not null,
  digest uuid not null,
  given_at timestamptz not null,
  expires_at timestamptz,
  held_until timestamptz,
  redeemed_at timestamptz,
  cancelled_at timestamptz,
  primary key (user_key, offer_id)
);
create index coupons_digest on coupons (digest, offer_id);
create index coupons_held on coupons (offer_id, held_until) where held_until is not null;
comment on table coupons is 'The code of a user for an offer.';
comment on column coupons.user_key is 'Keyed hash of publisher and pub_user_id.';
comment on column coupons.digest is 'Keyed hash of the code, by which its advertiser names it.';
comment on column coupons.session_id is 'The session it was given in.';
comment on column coupons.held_until is
  'Until then it waits for the wrap, after that anyone may get it; null: it is given.';

create trigger bump_catalog_version after insert or update or delete or truncate on coupon_pools
  for each statement execute function bump_catalog_version();
do $$
declare
  event record;
begin
  for event in select * from (values ('insert', 'new'), ('update', 'new'), ('delete', 'old')) e (name, rows) loop
    execute format('create trigger %I after %s on coupon_pools referencing %s table as touched
      for each statement execute function list_catalog_changes(%L)',
      format('list_%s_%s', event.name, event.rows), event.name, event.rows,
      'select o.campaign_id from touched join offers o on o.id = touched.offer_id');
  end loop;
end $$;
