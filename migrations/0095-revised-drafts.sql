-- Drafts that replace earlier ones, mails about decisions, and decisions that a user has seen.

alter table drafts add column revises integer references drafts on delete set null;
comment on column drafts.revises is 'Refused or waiting draft that this one replaces; null: none.';
create index drafts_revising on drafts (revises) where revises is not null;
create index drafts_of_advertiser on drafts (advertiser_id, decided_at) where advertiser_id is not null;

comment on table draft_pictures is
  'Image of a draft. Kept as long as the draft, except for withdrawn drafts.';

create table draft_views (
  draft_id integer not null references drafts on delete cascade,
  user_id integer not null references users on delete cascade,
  seen_at timestamptz not null,
  primary key (draft_id, user_id)
);
comment on table draft_views is 'When each advertiser account last saw a draft. Later decisions are new to it.';
create index draft_views_user on draft_views (user_id);

create table draft_mails (
  draft_id integer not null references drafts on delete cascade,
  user_id integer not null references users on delete cascade,
  attempts smallint not null default 0,
  -- Also the end of a lease.
  next_attempt_at timestamptz not null,
  primary key (draft_id, user_id)
);
comment on table draft_mails is 'Mails about decisions that are still to be sent, one row for each recipient.';
create index draft_mails_due on draft_mails (next_attempt_at);
create index draft_mails_user on draft_mails (user_id);
