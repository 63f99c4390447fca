-- The currency in which an advertiser reported an amount, and why a conversion pays nothing although it is valid.
alter table conversions
  add column given_currency text,
  add column unbilled_reason text check (unbilled_reason in ('budget', 'currency'));
comment on column conversions.currency is 'ISO 4217, of all amounts but given_micros.';
comment on column conversions.given_currency is 'Currency of given_micros; null: that of the row.';
comment on column conversions.unbilled_reason is
  'Why unbilled_micros are not in payout_micros: budget, or currency (no exchange rate); null: they are 0, or budget.';
