-- Themes are named by a key in requests and pages; existing themes get one from their name.

-- The default is for processes of an earlier release, which do not know the column.
alter table themes add column key text not null default 'theme-' || left(gen_random_uuid()::text, 8);

do $$
declare
  theme record;
  base text;
  wanted text;
  number integer;
begin
  for theme in select id, publisher_id, name from themes order by deleted_at is not null, id loop
    base := regexp_replace(lower(theme.name), '[^[:alnum:].]+', '-', 'g');
    base := trim(both '-' from left(trim(both '-' from base), 50));
    base := case when base = '' then 'theme' when base ~ '^[0-9]+$' then 'theme-' || base else base end;
    wanted := base;
    number := 1;
    while exists (select 1 from themes where publisher_id = theme.publisher_id and key = wanted) loop
      number := number + 1;
      wanted := base || '-' || number;
    end loop;
    update themes set key = wanted where id = theme.id;
  end loop;
end $$;

alter table themes add constraint themes_key_form check (key ~ '^[^A-Z\s_]{1,64}$' and key !~ '^[0-9]+$');
create unique index themes_key on themes (publisher_id, key) where deleted_at is null;
comment on column themes.key is 'Names the theme in requests and pages; lower case, unique for the publisher.';
