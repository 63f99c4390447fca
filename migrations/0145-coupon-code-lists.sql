-- The dashboard lists the codes behind the numbers of a pool, newest first.

create index coupons_given on coupons (offer_id, given_at, session_id) where held_until is null;
create index coupons_reported on coupons (offer_id, given_at, session_id)
  where redeemed_at is not null or cancelled_at is not null;
