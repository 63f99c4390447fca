-- A statement that changes no row is no change of the catalogue.
do $$
declare
  name text;
begin
  for name in
    select tgrelid::regclass from pg_trigger where tgname = 'bump_catalog_version' and not tgisinternal
  loop
    execute format('drop trigger bump_catalog_version on %s', name);
    execute format('create trigger bump_catalog_version after insert or update or delete on %s
      for each row execute function bump_catalog_version()', name);
    execute format('create trigger bump_catalog_version_truncated after truncate on %s
      for each statement execute function bump_catalog_version()', name);
  end loop;
end $$;
