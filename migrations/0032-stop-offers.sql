-- The kill switch: it stands beside `active`, so that its end restores what was.
do $$
declare
  name text;
begin
  foreach name in array array['advertisers', 'campaigns', 'offers'] loop
    execute format('alter table %I add column stopped_at timestamptz, add column stopped_by text,
      add check ((stopped_at is null) = (stopped_by is null))', name);
    execute format('comment on column %I.stopped_at is %L', name,
      'Since when the kill switch keeps it from being shown; null: it is not stopped.');
    execute format('comment on column %I.stopped_by is %L', name, 'Name of the key or e-mail address of the user.');
  end loop;
end $$;
comment on column audit_log.action is 'create, update, remove, restore, stop, resume, sign_in, lock';
