create table cap_slices (
  id uuid primary key,
  campaign_id integer not null,
  publisher_id integer not null,
  periods text[] not null,
  impressions bigint not null,
  micros bigint not null,
  expires_at timestamptz not null
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table cap_slices is
  'The part of campaign_usage that a process holds, to grant from memory. Grants are subtracted here in their
transaction; the rest returns to campaign_usage, at the latest when the lease ends.';
comment on column cap_slices.publisher_id is 'As in campaign_usage.';
comment on column cap_slices.periods is 'Those of campaign_usage it is counted in.';
comment on column cap_slices.impressions is 'What is left; negative where no cap limits impressions.';
comment on column cap_slices.micros is 'What is left; negative where no budget limits money.';
