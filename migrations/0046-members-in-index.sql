-- The memberships of a user are read from the index alone.
alter table audience_members drop constraint audience_members_pkey,
  add primary key (user_key, audience_id) include (expires_at);
