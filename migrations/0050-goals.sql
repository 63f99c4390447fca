-- What a campaign is to deliver by a date, and since when that is counted.

alter table campaigns add column goal jsonb, add column goal_since timestamptz;
comment on column campaigns.goal is 'metric (impressions, clicks, conversions), count, by; null: none.';
comment on column campaigns.goal_since is 'Since when deliveries count for the goal: when its metric was set.';

create function note_goal() returns trigger language plpgsql as $$
begin
  if new.goal is null then
    new.goal_since := null;
  elsif tg_op = 'INSERT' or old.goal is null or old.goal->>'metric' is distinct from new.goal->>'metric' then
    new.goal_since := coalesce(new.updated_at, now());
  end if;
  return new;
end $$;
create trigger note_goal before insert or update of goal on campaigns
  for each row execute function note_goal();
