-- Sensitive actions ask once more who is there: when a session was last proved to be its user's.

alter table user_sessions add column confirmed_at timestamptz;
comment on column user_sessions.confirmed_at is
  'When the user last gave password, passkey or code within the session; null: when it began.';
