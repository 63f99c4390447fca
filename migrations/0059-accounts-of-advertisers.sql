-- Accounts of advertisers.

alter table memberships add column advertiser_id integer references advertisers;
comment on column memberships.advertiser_id is 
  'Of the role advertiser: whose campaigns the user sees and proposes for.';
alter table memberships drop constraint memberships_role_check;
alter table memberships add constraint memberships_role_check
  check (role in ('operator', 'admin', 'manager', 'analyst', 'advertiser'));
alter table memberships drop constraint memberships_check;
alter table memberships add constraint memberships_check check (
  (role in ('operator', 'advertiser')) = (publisher_id is null) and (role = 'advertiser') = (advertiser_id is not null)
);
drop index memberships_of_user;
create unique index memberships_of_user on memberships
  (user_id, coalesce(publisher_id, 0), coalesce(advertiser_id, 0));
create index memberships_advertiser on memberships (advertiser_id) where advertiser_id is not null;

create index conversions_advertiser on conversions (advertiser_id, booked_at);

-- The release before memberships knows no advertisers.
create or replace function user_of_membership() returns trigger language plpgsql as $$
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
