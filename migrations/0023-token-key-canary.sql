-- Which token keys the installation knows, so that a process with another secret for one of them does not start.
alter table installation add column token_key_marks jsonb not null default '{}';
comment on column installation.token_key_marks is
  'By id of a TOKEN_KEYS entry, a signature made with its secret. An entry stays when its key goes.';
