-- When a campaign was first active: pacing plans without a start begin there.

alter table campaigns add column activated_at timestamptz;
comment on column campaigns.activated_at is 'When it was first active; null: never.';
update campaigns set activated_at = created_at where active;

create function note_activation() returns trigger language plpgsql as $$
begin
  if new.active and new.activated_at is null then
    new.activated_at := now();
  end if;
  return new;
end $$;
create trigger note_activation before insert or update of active on campaigns
  for each row execute function note_activation();
