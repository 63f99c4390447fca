alter table publishers add column allowed_user_agents text[] not null default '{}';
comment on column publishers.allowed_user_agents is
  'Parts of user agents that are never taken for robots, such as the name of the publisher''s own app.';
