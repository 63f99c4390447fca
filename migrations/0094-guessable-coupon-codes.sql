alter table coupon_pools add column guess_odds bigint;
comment on column coupon_pools.guess_odds is
  'Possible codes for each valid code, for the most guessable pattern of the pool; null: there was no pattern.';
