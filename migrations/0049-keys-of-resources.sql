-- Keys that see and touch some campaigns or placements alone.
alter table api_keys
  add column campaigns integer[] check (cardinality(campaigns) between 1 and 1000),
  add column placements text[] check (cardinality(placements) between 1 and 200);
comment on column api_keys.campaigns is
  'Ids of the campaigns that it is limited to; null: none, or placements alone limit it.';
comment on column api_keys.placements is
  'Names of the placements that it is limited to; null: none, or campaigns alone limit it.';
