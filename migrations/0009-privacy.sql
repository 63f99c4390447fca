-- Erasure of users' data.

create table erasures (
  user_key uuid not null,
  id uuid not null,
  publisher_id integer not null,
  named_by text not null check (named_by in ('pub_user_id', 'ad_fp')),
  subject_sealed bytea,
  requested_at timestamptz not null,
  due_at timestamptz not null default now(),
  swept_at timestamptz,
  finished_at timestamptz,
  lease_until timestamptz,
  counts jsonb not null default '{}',
  primary key (user_key, id)
);
create unique index erasures_publisher on erasures (publisher_id, id);
create index erasures_due on erasures (publisher_id, due_at) where finished_at is null;
comment on table erasures is
  'Requests to erase a user''s data. The row stays as a tombstone, which names the user by a keyed hash only.';
comment on column erasures.user_key is 'Keyed hash of the user''s identifier.';
comment on column erasures.id is 'UUIDv7';
comment on column erasures.subject_sealed is 'The identifier, encrypted; null once the erasure is finished.';
comment on column erasures.requested_at is 'Data from later belongs to a new start of the user, and stays.';
comment on column erasures.due_at is
  'When the next sweep is due, or the lease ends. Publishers take turns, so that many erasures of one do not delay those
of others.';
comment on column erasures.swept_at is
  'End of the first sweep; the second erases what requests in flight wrote meanwhile.';
comment on column erasures.lease_until is 'A worker processes it until then.';

create table erased_sessions (
  user_key uuid not null,
  erasure_id uuid not null,
  session_id uuid not null,
  day date not null,
  session_user_key uuid,
  pub_user_key uuid,
  primary key (user_key, erasure_id, session_id)
);
comment on table erased_sessions is
  'Sessions emptied by the first sweep of an erasure, until the second: requests in flight that had read one of them may
have written since, to places that only these rows name.';
comment on column erased_sessions.user_key is 'Of the erasure.';
comment on column erased_sessions.day is 'Of the session.';
comment on column erased_sessions.session_user_key is 'Whose user_history it added to.';
comment on column erased_sessions.pub_user_key is 'Whose wallet its offers were saved to.';
