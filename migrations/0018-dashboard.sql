-- People who sign in to the dashboard. An operator belongs to no publisher and sees all of them.
create table users (
  id integer generated always as identity primary key,
  email text not null unique check (email = lower(email) and char_length(email) between 3 and 254),
  role text not null check (role in ('operator', 'admin', 'manager', 'analyst')),
  publisher_id integer references publishers,
  password_hash text, -- scrypt with its parameters; null: invited, nothing chosen yet
  disabled boolean not null default false,
  created_at timestamptz not null,
  check ((role = 'operator') = (publisher_id is null))
);
create index users_publisher on users (publisher_id);

create table user_sessions (
  token_hash bytea primary key check (octet_length(token_hash) = 32), -- sha256 of the cookie's value, which is kept nowhere
  user_id integer not null references users on delete cascade,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null
);
create index user_sessions_user on user_sessions (user_id);

-- One-time links: with them somebody invited, or who forgot the password, chooses one. Removed when used.
create table user_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id integer references users on delete cascade, -- null: makes the first operator
  expires_at timestamptz not null
);

-- Counted before a password is checked, so that parallel guesses cannot pass the limit.
create table sign_in_failures (
  subject bytea primary key check (octet_length(subject) = 32), -- keyed hash of an account or a client address
  failures integer not null,
  until timestamptz not null -- forgotten then; while too many, also locked until then
);
create index sign_in_failures_until on sign_in_failures (until);
