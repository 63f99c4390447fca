-- Users of the dashboard, the audit log, and idempotency keys.

create table users (
  id integer generated always as identity primary key,
  email text not null check (email = lower(email) and char_length(email) between 3 and 254),
  role text not null check (role in ('operator', 'admin', 'manager', 'analyst')),
  publisher_id integer references publishers,
  password_hash text,
  disabled boolean not null default false,
  created_at timestamptz not null,
  totp_sealed bytea,
  totp_last_step integer,
  oidc_issuer text,
  oidc_subject text,
  unique (oidc_issuer, oidc_subject),
  check ((oidc_issuer is null) = (oidc_subject is null)),
  check ((role = 'operator') = (publisher_id is null)),
  check ((totp_sealed is null) = (totp_last_step is null))
);
create unique index users_publisher on users (publisher_id, email) where publisher_id is not null;
create unique index users_operator on users (email) where publisher_id is null;
create unique index users_active on users (email) where password_hash is not null or oidc_subject is not null;
comment on index users_active is
  'An address has one account that can sign in, and may be invited by any publisher: its accounts are confidential.';
comment on table users is 'Users of the dashboard. An operator belongs to no publisher and sees all of them.';
comment on column users.password_hash is 'scrypt with its parameters; null: invited, no password yet.';
comment on column users.oidc_subject is 'Identity at an OpenID provider; null: the user signs in with a password.';
comment on column users.totp_sealed is 'Secret of the authenticator app; null: no two-factor authentication.';
comment on column users.totp_last_step is 'Time step of the last accepted code, which is accepted once.';

create table user_recovery_codes (
  user_id integer not null references users on delete cascade,
  code_hash bytea not null check (octet_length(code_hash) = 32),
  primary key (user_id, code_hash)
);
comment on table user_recovery_codes is
  'Unused codes that stand in for the authenticator app, once each; SHA-256 of 80 random bits.';

create table user_sessions (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id integer not null references users on delete cascade,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  id bigint not null generated always as identity unique,
  device text not null,
  network text not null,
  country text,
  awaits_code boolean not null default false,
  id_token_sealed bytea
);
create index user_sessions_user on user_sessions (user_id);
comment on table user_sessions is 'Dashboard sessions.';
comment on column user_sessions.token_hash is 'SHA-256 of the cookie, which is not stored.';
comment on column user_sessions.id is 'Names the session in the list of its user''s sessions.';
comment on column user_sessions.awaits_code is 'The password was right; opens nothing until the code is given.';
comment on column user_sessions.id_token_sealed is
  'Of sign-ins at an OpenID provider: its ID token, with which the session there is ended too.';
comment on column user_sessions.network is 'The client''s /24, of IPv6 the /48, at sign-in; the address is not stored.';

create table user_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id integer references users on delete cascade,
  expires_at timestamptz not null
);
comment on table user_links is
  'One-time links with which an invited user, or one who forgot the password, sets it. Removed when used.';
comment on column user_links.user_id is 'Null: the link creates the first operator.';

create table sign_in_failures (
  subject bytea primary key check (octet_length(subject) = 32),
  failures integer not null,
  until timestamptz not null
);
create index sign_in_failures_until on sign_in_failures (until);
comment on table sign_in_failures is
  'Failed sign-ins, counted before the password is checked, so that parallel guesses cannot pass the limit.';
comment on column sign_in_failures.subject is 'Keyed hash of an account or of a client address.';
comment on column sign_in_failures.until is 'End of the count and, with too many failures, of the lock.';

create table audit_log (
  publisher_id integer not null,
  id bigint generated always as identity,
  at timestamptz not null,
  actor_kind text not null check (actor_kind in ('key', 'user', 'system')),
  actor_id integer not null,
  actor_label text not null,
  actor_publisher_id integer,
  action text not null,
  resource text not null,
  resource_id text not null,
  changes jsonb not null,
  primary key (publisher_id, id)
);
create index audit_log_resource on audit_log (publisher_id, resource, resource_id, id);
comment on table audit_log is 'Who changed what; written in the transaction of the change.';
comment on column audit_log.actor_label is 'Name of the key, or e-mail address of the user.';
comment on column audit_log.actor_publisher_id is 'Null: an operator.';
comment on column audit_log.action is 'create, update, remove';
comment on column audit_log.changes is 'Field → {"old", "new"}; never a secret.';

create table idempotency_keys (
  publisher_id integer not null,
  actor text not null,
  key text not null,
  request_hash bytea not null,
  status smallint,
  response_sealed bytea,
  created_at timestamptz not null,
  primary key (publisher_id, actor, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);
comment on table idempotency_keys is 'Responses of POST requests with an Idempotency-Key; kept for a day.';
comment on column idempotency_keys.actor is 'Kind and id.';
comment on column idempotency_keys.status is 'Null only inside the transaction that makes the response.';
