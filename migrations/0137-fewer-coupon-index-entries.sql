-- Most codes are equal to their normalised form, so that both digests are equal and one index entry is enough. Until
-- all processes run this release, those of the previous release find the few other codes without an index.
create index coupons_other_folded_digest on coupons (folded_digest, offer_id) where folded_digest <> digest;
drop index coupons_folded_digest;
