-- Changes that are proposed, and live once they are approved.

alter table publishers
  add column approval_required boolean not null default false,
  add column dates_approved boolean not null default false;
comment on column publishers.approval_required is
  'Material changes of who may not approve become drafts; false: what is saved is live.';
comment on column publishers.dates_approved is
  'Drafts of advertisers that change nothing but the dates of a campaign are approved by themselves.';

alter table api_keys drop constraint api_keys_permissions_check;
alter table api_keys add constraint api_keys_permissions_check check (
  permissions <@ array[
    'ads/offers', 'reports', 'configurations', 'offers/management', 'offers/approval', 'wallet', 'accounts'
  ]
);

alter table advertisers add column trusted boolean not null default false;
comment on column advertisers.trusted is 'Drafts of its accounts are approved by themselves.';

create table drafts (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  campaign_id integer not null references campaigns,
  advertiser_id integer references advertisers,
  resource text not null check (resource in ('offers', 'creatives', 'campaigns')),
  row_id integer,
  subject text not null,
  changes jsonb not null,
  base jsonb not null,
  note text not null,
  state text not null check (state in ('waiting', 'scheduled', 'live', 'refused', 'withdrawn', 'undone')),
  reason text not null default '',
  proposer_kind text not null,
  proposer_id integer not null,
  proposed_by text not null,
  decided_by text,
  decided_at timestamptz,
  live_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  check ((state = 'scheduled') <= (live_at is not null))
);
create index drafts_of_publisher on drafts (publisher_id, state, id);
create index drafts_of_campaign on drafts (campaign_id, id);
create index drafts_due on drafts (live_at) where state = 'scheduled';
create index drafts_decided on drafts (decided_at) where state not in ('waiting', 'scheduled');
comment on table drafts is 'Rows and changes of rows as they are proposed; of the publisher that owns the campaign.';
comment on column drafts.advertiser_id is 'Whose account proposed it; null: the publisher''s own people or keys.';
comment on column drafts.row_id is 'The row that changes; null: it is made when the draft goes live.';
comment on column drafts.subject is 'Title of the offer or name of the campaign, as it was proposed.';
comment on column drafts.base is 'The fields of `changes` as they were when it was proposed.';
comment on column drafts.reason is 'Why it was refused, or waits again.';
