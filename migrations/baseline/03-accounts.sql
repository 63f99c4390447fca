-- API keys, dashboard users with their sign-in, memberships and roles, and the feeds of the audit log.

create table api_keys (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers,
  name text not null check (char_length(name) between 1 and 200),
  -- SHA-256 of the key. The key itself is shown once and not stored.
  key_hash bytea not null unique check (octet_length(key_hash) = 32),
  -- First characters of the key, to tell keys apart.
  hint text not null default '' check (char_length(hint) <= 16),
  permissions text[] not null check (
    permissions <@ array[
      'ads/offers', 'reports', 'configurations', 'offers/management', 'offers/approval', 'wallet', 'accounts'
    ]
  ),
  -- Maximum requests per second; null: no limit of its own.
  rate_limit_per_s integer check (rate_limit_per_s > 0),
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  -- Keys whose rate limit also counts the calls of this key: the limited key that created it, and those that created
  -- that key. A limited key that creates keys does not multiply its limit.
  limited_by_keys integer[] not null default '{}',
  read_only boolean not null default false,
  -- Networks in CIDR form from which the key may be used; null: any.
  allowed_addresses text[] check (cardinality(allowed_addresses) between 1 and 100),
  -- Ids of campaigns and names of placements that limit the key. Both null: no limit. One null: the other limits it.
  campaigns integer[] check (cardinality(campaigns) between 1 and 1000),
  placements text[] check (cardinality(placements) between 1 and 200)
);
comment on table api_keys is 'API keys of publishers.';
create index api_keys_publisher on api_keys (publisher_id, id);
-- Keys are part of the catalog snapshot, so that no request queries them.
create trigger bump_catalog_version after insert or update or delete on api_keys
  for each row execute function bump_catalog_version();
create trigger bump_catalog_version_truncated after truncate on api_keys
  for each statement execute function bump_catalog_version();

create table api_key_uses (
  key_id integer primary key references api_keys on delete cascade,
  used_at timestamptz not null
);
comment on table api_key_uses is
  'When keys were last used, to the minute. A table of its own, because an update of api_keys changes the catalog.';

create table users (
  id integer generated always as identity primary key,
  email text not null check (email = lower(email) and char_length(email) between 3 and 254),
  -- Deprecated, as are publisher_id and disabled: memberships replace them. Triggers keep both in step.
  role text check (role in ('operator', 'admin', 'manager', 'analyst')),
  publisher_id integer references publishers,
  -- scrypt with its parameters; null: invited, or signs in at an OpenID provider.
  password_hash text,
  disabled boolean not null default false,
  created_at timestamptz not null,
  -- Encrypted secret of the authenticator app; null: no two-factor authentication.
  totp_sealed bytea,
  -- Time step of the last accepted code, so that a code is accepted once.
  totp_last_step integer,
  -- Identity at an OpenID provider; null: the user signs in with a password.
  oidc_issuer text,
  oidc_subject text,
  -- Language of the dashboard and of mails, an ISO 639-1 code; null: that of the browser.
  language text check (language ~ '^[a-z]{2}$'),
  unique (oidc_issuer, oidc_subject),
  check ((oidc_issuer is null) = (oidc_subject is null)),
  check ((role = 'operator') = (publisher_id is null)),
  check ((totp_sealed is null) = (totp_last_step is null))
);
comment on table users is 'Dashboard users: one row for each person. Memberships say what a user may open.';
create unique index users_email on users (email);
-- Indexes for builds that had a row for each publisher of a user.
create unique index users_publisher on users (publisher_id, email) where publisher_id is not null;
create unique index users_operator on users (email) where publisher_id is null;
create unique index users_active on users (email) where password_hash is not null or oidc_subject is not null;

create table member_roles (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers on delete cascade,
  name text not null,
  permissions text[] not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (publisher_id, id)
);
comment on table member_roles is 'Roles that a publisher defines, in addition to admin, manager and analyst.';
create unique index member_roles_name on member_roles (publisher_id, lower(name));

create table memberships (
  id integer generated always as identity primary key,
  user_id integer not null references users on delete cascade,
  publisher_id integer references publishers,
  role text not null check (role in ('operator', 'admin', 'manager', 'analyst', 'advertiser')),
  disabled boolean not null default false,
  created_at timestamptz not null,
  -- Null: an open invitation.
  joined_at timestamptz,
  -- Advertiser whose campaigns the user sees and proposes changes for. Set for the role advertiser only.
  advertiser_id integer references advertisers,
  -- Applies if role is analyst. Builds without custom roles treat the member as an analyst.
  custom_role_id integer,
  check (
    (role in ('operator', 'advertiser')) = (publisher_id is null)
    and (role = 'advertiser') = (advertiser_id is not null)
  ),
  -- With the publisher, so that a member has roles of its own publisher only.
  constraint memberships_custom_role foreign key (publisher_id, custom_role_id)
    references member_roles (publisher_id, id)
);
comment on table memberships is
  'Publishers and advertisers that a user may open, each with a role. The membership of an operator has no
publisher, and opens all of them.';
create unique index memberships_of_user on memberships
  (user_id, coalesce(publisher_id, 0), coalesce(advertiser_id, 0));
create index memberships_publisher on memberships (publisher_id);
create index memberships_advertiser on memberships (advertiser_id) where advertiser_id is not null;
create index memberships_custom_role on memberships (custom_role_id) where custom_role_id is not null;

-- Trigger: copies the deprecated columns of users to memberships.
create function membership_of_user() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into memberships (user_id, publisher_id, role, disabled, created_at, joined_at)
    values (new.id, new.publisher_id, new.role, new.disabled, new.created_at, new.created_at);
  else
    delete from memberships where user_id = new.id and publisher_id is not distinct from new.publisher_id
      and new.publisher_id is distinct from old.publisher_id;
    update memberships set publisher_id = new.publisher_id, role = new.role, disabled = new.disabled
    where user_id = new.id and publisher_id is not distinct from old.publisher_id;
  end if;
  return null;
end $$;
-- The depth keeps the two triggers from calling each other.
create trigger membership_of_user after insert or update of role, publisher_id, disabled on users
for each row when (pg_trigger_depth() = 0 and new.role is not null) execute function membership_of_user();

-- Trigger: copies the membership with the most access to the deprecated columns of users. They cannot express
-- memberships of advertisers.
create function user_of_membership() returns trigger language plpgsql as $$
declare
  changed integer := coalesce(new.user_id, old.user_id);
begin
  update users u set role = m.role, publisher_id = m.publisher_id, disabled = m.disabled
  from (
    select * from memberships where user_id = changed and advertiser_id is null
    order by joined_at is null, disabled, publisher_id is not null, id limit 1
  ) m where u.id = changed;
  if not found then
    update users set disabled = true where id = changed;
  end if;
  return null;
end $$;
create trigger user_of_membership after insert or update or delete on memberships
for each row when (pg_trigger_depth() = 0) execute function user_of_membership();

create table user_recovery_codes (
  user_id integer not null references users on delete cascade,
  code_hash bytea not null check (octet_length(code_hash) = 32),
  primary key (user_id, code_hash)
);
comment on table user_recovery_codes is
  'Unused recovery codes, each of which replaces a code of the authenticator app once. SHA-256 of 80 random bits.';

create table user_passkeys (
  id integer generated always as identity primary key,
  user_id integer not null references users on delete cascade,
  credential_id bytea not null unique,
  -- COSE. The private key never leaves the device.
  public_key bytea not null,
  -- Number of signatures that the device has counted; 0: the device does not count.
  counter bigint not null,
  transports text[] not null,
  name text not null check (char_length(name) between 1 and 80),
  created_at timestamptz not null,
  last_used_at timestamptz,
  -- When the last signed challenge was created. Earlier challenges are refused, so that each works once.
  last_challenge_at timestamptz
);
comment on table user_passkeys is
  'Passkeys (WebAuthn), which sign in by themselves or replace the code of the authenticator app.';
create index user_passkeys_user on user_passkeys (user_id);

create table user_sessions (
  -- SHA-256 of the cookie, which is not stored.
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id integer not null references users on delete cascade,
  created_at timestamptz not null,
  last_seen_at timestamptz not null,
  expires_at timestamptz not null,
  -- Name of the session in the user's list of sessions.
  id bigint not null generated always as identity unique,
  device text not null,
  -- The client's /24 network, for IPv6 the /48, at sign-in. The address is not stored.
  network text not null,
  country text,
  -- The password was right, but the session opens nothing until the second factor is given.
  awaits_code boolean not null default false,
  -- Encrypted ID token of a sign-in at an OpenID provider, with which signing out also ends the session there.
  id_token_sealed bytea,
  -- Membership whose pages the session opened last; null: the first one that the user may open.
  membership_id integer references memberships on delete set null,
  -- When the user last gave a password, passkey or code in the session; null: at its start. Sensitive actions need a
  -- recent confirmation.
  confirmed_at timestamptz
);
comment on table user_sessions is 'Dashboard sessions.';
create index user_sessions_user on user_sessions (user_id);

create table user_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  -- Null: the link creates the first operator.
  user_id integer references users on delete cascade,
  expires_at timestamptz not null,
  -- Invitation that the link accepts; null: the link sets a password.
  membership_id integer references memberships on delete cascade
);
comment on table user_links is 'One-time links that set a password or accept an invitation. Removed when used.';

create table sign_in_failures (
  -- Keyed hash of an account or of a client address.
  subject bytea primary key check (octet_length(subject) = 32),
  failures integer not null,
  -- End of the count and, after too many failures, of the lock.
  until timestamptz not null
);
comment on table sign_in_failures is
  'Failed sign-ins. They are counted before the password is checked, so that parallel guesses cannot exceed the
limit.';
create index sign_in_failures_until on sign_in_failures (until);

create table audit_feeds (
  name text primary key check (name in ('syslog', 'webhooks')),
  -- One process sends until then.
  leased_until timestamptz,
  sent_at timestamptz,
  -- Since when sending has failed; null: the last attempt succeeded.
  failed_at timestamptz,
  error text
);
comment on table audit_feeds is 'Receivers of new entries of the audit log, which get every entry in order.';

create table audit_feed_positions (
  feed text not null references audit_feeds on delete cascade,
  publisher_id integer not null,
  number bigint not null,
  primary key (feed, publisher_id)
);
comment on table audit_feed_positions is
  'Number of the last entry that a feed sent, for each log; publisher 0: the log of the operators. A log without a
row is sent from its start.';
