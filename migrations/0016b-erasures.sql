-- Erasure of a user's data on request. The row stays as a tombstone, which names the user by a keyed hash only.
create table erasures (
  user_key uuid not null, -- keyed hash of what the user was named by
  id uuid not null, -- UUIDv7
  publisher_id integer not null,
  named_by text not null check (named_by in ('pub_user_id', 'ad_fp')),
  subject_sealed bytea, -- what the user was named by; null once all is done
  requested_at timestamptz not null, -- what came later is a new start, and stays
  swept_at timestamptz, -- end of the first sweep; the second takes what requests under way had written meanwhile
  finished_at timestamptz,
  lease_until timestamptz, -- a worker is at it
  counts jsonb not null default '{}',
  primary key (user_key, id)
);
create unique index erasures_publisher on erasures (publisher_id, id);
create index erasures_open on erasures (requested_at) where finished_at is null;

alter table sessions add column erased_at timestamptz; -- who it was of, and what was said of them, is gone

-- A user's sessions, for erasure and export.
create index sessions_user_key on sessions (user_key) where user_key is not null;
create index sessions_pub_user_id on sessions using hash (pub_user_id) where pub_user_id is not null;
