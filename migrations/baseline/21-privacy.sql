-- Erasure of users' data (docs/adr/0009-two-pass-erasure.md).

create table erasures (
  -- Keyed hash of the user's identifier.
  user_key uuid not null,
  -- UUIDv7
  id uuid not null,
  publisher_id integer not null,
  named_by text not null check (named_by in ('pub_user_id', 'ad_fp')),
  -- Encrypted identifier; null: the erasure is finished.
  subject_sealed bytea,
  -- Later data stays: the user has started again.
  requested_at timestamptz not null,
  -- When the next pass is due, or the lease ends. Publishers take turns, so that many erasures of one publisher do not
  -- delay those of others.
  due_at timestamptz not null default now(),
  -- End of the first pass. The second pass erases what requests in flight wrote meanwhile.
  swept_at timestamptz,
  finished_at timestamptz,
  -- A worker processes the erasure until then.
  lease_until timestamptz,
  counts jsonb not null default '{}',
  primary key (user_key, id)
);
comment on table erasures is
  'Requests to erase the data of a user. The row stays as a tombstone, which names the user by a keyed hash only.';
create unique index erasures_publisher on erasures (publisher_id, id);
create index erasures_due on erasures (publisher_id, due_at) where finished_at is null;

create table erased_sessions (
  -- User of the erasure.
  user_key uuid not null,
  erasure_id uuid not null,
  session_id uuid not null,
  -- Day of the session.
  day date not null,
  -- User whose user_history the session changed.
  session_user_key uuid,
  -- User in whose wallet offers of the session were saved.
  pub_user_key uuid,
  primary key (user_key, erasure_id, session_id)
);
comment on table erased_sessions is
  'Sessions that the first pass of an erasure emptied, until the second pass. Requests in flight that had read one
of them may have written since, to places that only these rows name.';
