-- The version grows once for each transaction that changes the configuration, however many statements it has: an import
-- of 10,000 offers would otherwise leave as many dead rows of one table behind.
create or replace function bump_catalog_version() returns trigger language plpgsql as $$
begin
  if coalesce(current_setting('perkwire.catalog_bumped', true), '') = '' then
    perform set_config('perkwire.catalog_bumped', 'yes', true); -- until the end of the transaction
    update catalog_version set version = version + 1;
    notify perkwire_catalog;
  end if;
  return null;
end $$;
