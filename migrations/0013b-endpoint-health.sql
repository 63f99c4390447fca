-- Every endpoint has a row of health, so that workers only ever update it.
create or replace function forget_endpoint_health() returns trigger language plpgsql as $$
begin
  delete from endpoint_health where endpoint_id = new.id;
  insert into endpoint_health (endpoint_id) values (new.id);
  return null;
end $$;
create trigger create_endpoint_health after insert on webhook_endpoints for each row execute function forget_endpoint_health();
insert into endpoint_health (endpoint_id) select id from webhook_endpoints on conflict do nothing;

-- Which of two deliveries of the same millisecond came first, for endpoints with strict order.
alter table delivery_queue add column position bigint generated always as identity;
