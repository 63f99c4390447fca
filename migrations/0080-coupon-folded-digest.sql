-- Redemptions find a code also where case or Unicode form differ. Null: given before this column; a job fills it.
alter table coupons add column folded_digest uuid;
comment on column coupons.folded_digest is 'Keyed hash of the code without differences of case and Unicode form.';
create index coupons_folded_digest on coupons (folded_digest, offer_id);
create index coupons_unfolded on coupons (offer_id) where folded_digest is null;
