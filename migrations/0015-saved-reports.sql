-- Reports of the explorer that users saved.
create table saved_reports (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  user_id integer references users on delete set null,
  name text not null check (char_length(name) between 1 and 80),
  query text not null check (char_length(query) <= 8000),
  created_at timestamptz not null,
  unique (publisher_id, name)
);
comment on table saved_reports is 'Reports of the explorer that users saved, for all users of the publisher.';
comment on column saved_reports.user_id is 'Who saved it; null: that user was removed.';
comment on column saved_reports.query is 'Query of its URL.';
