-- Drafts: proposed changes that take effect when they are approved.

create table drafts (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  campaign_id integer not null references campaigns,
  -- Advertiser whose account proposed it; null: a member or a key of the publisher.
  advertiser_id integer references advertisers,
  resource text not null check (resource in ('offers', 'creatives', 'campaigns')),
  -- Row that changes; null: the draft creates a row when it goes live.
  row_id integer,
  -- Title of the offer or name of the campaign, at the time of the proposal.
  subject text not null,
  changes jsonb not null,
  -- Values of the fields in `changes` at the time of the proposal.
  base jsonb not null,
  note text not null,
  state text not null check (state in ('waiting', 'scheduled', 'live', 'refused', 'withdrawn', 'undone')),
  -- Why the draft was refused, or is waiting again.
  reason text not null default '',
  proposer_kind text not null,
  proposer_id integer not null,
  proposed_by text not null,
  decided_by text,
  decided_at timestamptz,
  live_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- A scheduled draft has a time.
  check ((state = 'scheduled') <= (live_at is not null))
);
comment on table drafts is 'Proposed rows and changes of rows, of the publisher that owns the campaign.';
create index drafts_of_publisher on drafts (publisher_id, state, id);
create index drafts_of_campaign on drafts (campaign_id, id);
create index drafts_due on drafts (live_at) where state = 'scheduled';
create index drafts_decided on drafts (decided_at) where state not in ('waiting', 'scheduled');

create table draft_pictures (
  draft_id integer primary key references drafts on delete cascade,
  -- Empty: removed, because the draft was refused long ago.
  bytes bytea not null,
  -- As in creatives. All three null: the changes of the draft name them.
  type text,
  width integer,
  height integer
);
comment on table draft_pictures is
  'Image of a draft, until it goes live and becomes the image of a creative. Kept while the draft may still go
live.';
