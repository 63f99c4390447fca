-- A void takes a conversion back from where it was counted.
alter table conversions add column counted_in text[];
comment on column conversions.counted_in is
  'Totals that it was counted in: campaign (over all publishers), publisher; null: not known, of an earlier release.';
