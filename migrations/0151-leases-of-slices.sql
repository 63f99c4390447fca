-- Slices of campaign totals that a process leased together are stored in one row, so that a batch of fetches changes
-- one row instead of one per campaign. The slices of earlier releases stay in cap_slices until they are returned.

create table cap_leases (
  id uuid primary key,
  expires_at timestamptz not null,
  -- Periods of campaign_usage in which the slices are counted.
  periods text[] not null,
  -- One entry per slice: its campaign, its publisher (0: all publishers), and the amounts that are left, or null if the
  -- slice has been returned. An amount that has no cap may be negative.
  campaign_ids integer[] not null,
  publisher_ids integer[] not null,
  impressions bigint[] not null,
  micros bigint[] not null
) with (fillfactor = 30, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
comment on table cap_leases is
  'Parts of campaign_usage that a process holds, to grant impressions from memory. Each grant is subtracted here in
its transaction. The rest returns to campaign_usage, at the latest when the lease ends.';

-- Each batch of fetches changes a row, which must neither be compressed nor moved out of its page.
alter table cap_leases
  alter column periods set storage plain,
  alter column campaign_ids set storage plain,
  alter column publisher_ids set storage plain,
  alter column impressions set storage plain,
  alter column micros set storage plain;
