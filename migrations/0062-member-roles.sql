-- Roles that a publisher makes of permissions.

create table member_roles (
  id integer generated always as identity primary key,
  publisher_id integer not null references publishers on delete cascade,
  name text not null,
  permissions text[] not null,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  unique (publisher_id, id)
);
create unique index member_roles_name on member_roles (publisher_id, lower(name));
comment on table member_roles is 'Roles of a publisher beside admin, manager and analyst.';

alter table memberships add column custom_role_id integer,
  add constraint memberships_custom_role foreign key (publisher_id, custom_role_id)
    references member_roles (publisher_id, id);
comment on column memberships.custom_role_id is
  'Counts where role is analyst, which is what the release before takes the member for.';
create index memberships_custom_role on memberships (custom_role_id) where custom_role_id is not null;
