-- Experiments: who of a publisher's users is shown what.

create table experiments (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  key text not null,
  name text not null,
  placements text[],
  campaign_id integer references campaigns,
  layer text,
  holdout double precision not null,
  arms jsonb[] not null,
  start_at timestamptz,
  end_at timestamptz,
  salt text not null,
  allocation jsonb not null default '[]',
  version integer not null default 1,
  versions jsonb not null default '[]',
  started_at timestamptz,
  stopped_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  constraint experiments_key unique (publisher_id, key)
);
comment on table experiments is 'Who of a publisher''s users is shown what, to learn what it adds.';
comment on column experiments.placements is 'Normalised names; null: all.';
comment on column experiments.campaign_id is 'Its hold-out gets everything but this campaign; null: nothing at all.';
comment on column experiments.layer is 'Experiments of one layer never meet in a user.';
comment on column experiments.arms is 'key, share and changes of each.';
comment on column experiments.salt is 'Hashed with the identifier of a user, it gives the slot of that user.';
comment on column experiments.allocation is 'Slots of 10,000 with their arm: [{ from, to, arm }].';
comment on column experiments.versions is 'What each version did, and from when on.';
create index experiments_campaign on experiments (campaign_id) where campaign_id is not null;
create trigger bump_catalog_version after insert or update or delete or truncate on experiments
  for each statement execute function bump_catalog_version();
