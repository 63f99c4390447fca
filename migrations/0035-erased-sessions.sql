-- Sessions that the first sweep of an erasure has emptied, until the second: calls that had read one of them before may have written since
-- what it said, and nothing else leads to that any more.
create table erased_sessions (
  user_key uuid not null, -- of the erasure
  erasure_id uuid not null,
  session_id uuid not null,
  day date not null, -- of the session
  session_user_key uuid, -- whose history it added to
  wallet_key uuid, -- whose wallet offers of it were saved to
  primary key (user_key, erasure_id, session_id)
);
