-- A person has one sign-in and, for each publisher that invited the address, a membership with a role.

create table memberships (
  id integer generated always as identity primary key,
  user_id integer not null references users on delete cascade,
  publisher_id integer references publishers,
  role text not null check (role in ('operator', 'admin', 'manager', 'analyst')),
  disabled boolean not null default false,
  created_at timestamptz not null,
  joined_at timestamptz,
  check ((role = 'operator') = (publisher_id is null))
);
create unique index memberships_of_user on memberships (user_id, coalesce(publisher_id, 0));
create index memberships_publisher on memberships (publisher_id);
comment on table memberships is
  'Which publishers a user may open, with which role. An operator''s is of no publisher, and opens all.';
comment on column memberships.joined_at is 'Null: an invitation that is neither accepted nor declined.';

create temporary table kept_users on commit drop as
select id as user_id,
  first_value(id) over (
    partition by email order by password_hash is null and oidc_subject is null, publisher_id is not null, id
  ) as kept_id
from users;

insert into memberships (user_id, publisher_id, role, disabled, created_at, joined_at)
select k.kept_id, u.publisher_id, u.role, u.disabled, u.created_at,
  case when u.password_hash is not null or u.oidc_subject is not null then u.created_at end
from users u join kept_users k on k.user_id = u.id order by u.id;

alter table user_links add column membership_id integer references memberships on delete cascade;
comment on column user_links.membership_id is 'The invitation that the link accepts; null: it sets a password.';
update user_links l set user_id = m.user_id, membership_id = case when m.joined_at is null then m.id end
from users u, kept_users k, memberships m
where u.id = l.user_id and k.user_id = u.id
  and m.user_id = k.kept_id and m.publisher_id is not distinct from u.publisher_id;

update report_schedules s set user_id = k.kept_id from kept_users k
where k.user_id = s.user_id and k.kept_id <> k.user_id and not exists (
  select from report_schedules o where o.report_id = s.report_id and o.user_id = k.kept_id
);
delete from users u using kept_users k where k.user_id = u.id and k.kept_id <> k.user_id;
create unique index users_email on users (email);

alter table user_sessions add column membership_id integer references memberships on delete set null;
comment on column user_sessions.membership_id is
  'Whose pages the session showed last; null: the first that the user may open.';

-- The release before knows one role and one publisher of a user. Until it is gone, each side follows the other.
alter table users alter column role drop not null;
comment on column users.role is 'For the release before memberships, as are publisher_id and disabled.';

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
create trigger membership_of_user after insert or update of role, publisher_id, disabled on users
for each row when (pg_trigger_depth() = 0 and new.role is not null) execute function membership_of_user();

create function user_of_membership() returns trigger language plpgsql as $$
declare
  changed integer := coalesce(new.user_id, old.user_id);
begin
  update users u set role = m.role, publisher_id = m.publisher_id, disabled = m.disabled
  from (
    select * from memberships where user_id = changed
    order by joined_at is null, disabled, publisher_id is not null, id limit 1
  ) m where u.id = changed;
  if not found then
    update users set disabled = true where id = changed;
  end if;
  return null;
end $$;
create trigger user_of_membership after insert or update or delete on memberships
for each row when (pg_trigger_depth() = 0) execute function user_of_membership();
