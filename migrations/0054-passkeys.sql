-- Passkeys (WebAuthn) of dashboard users.

create table user_passkeys (
  id integer generated always as identity primary key,
  user_id integer not null references users on delete cascade,
  credential_id bytea not null unique,
  public_key bytea not null,
  counter bigint not null,
  transports text[] not null,
  name text not null check (char_length(name) between 1 and 80),
  created_at timestamptz not null,
  last_used_at timestamptz,
  last_challenge_at timestamptz
);
create index user_passkeys_user on user_passkeys (user_id);
comment on table user_passkeys is
  'Keys of users'' devices, which sign in alone, or stand for the code of the authenticator app.';
comment on column user_passkeys.public_key is 'COSE; the private key never leaves the device.';
comment on column user_passkeys.counter is 'Signatures that the device has counted; 0: it does not count.';
comment on column user_passkeys.last_challenge_at is
  'When the challenge was made that was signed last: earlier ones are not accepted, so that each works once.';
