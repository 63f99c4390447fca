-- Each entry of the audit log carries a hash over itself and over the hash of the publisher's entry before it.

alter table audit_log add number bigint, add hash bytea;
comment on column audit_log.number is 'Place in the log of the publisher, from 1, without gaps.';
comment on column audit_log.hash is 'SHA-256 over the entry and the hash of the one before (perkwire audit verify).';

create function audit_hash(hash_before bytea, entry audit_log) returns bytea language sql stable as $$
  select sha256(hash_before || convert_to(jsonb_build_array(
    entry.publisher_id, entry.number, entry.id, extract(epoch from entry.at), entry.actor_kind, entry.actor_id,
    entry.actor_label, entry.actor_publisher_id, entry.action, entry.resource, entry.resource_id, entry.changes
  )::text, 'UTF8'))
$$;

create unique index audit_log_number on audit_log (publisher_id, number);

create function chain_audit_entry() returns trigger language plpgsql as $$
declare
  before audit_log;
begin
  -- One entry of a publisher after the other; released by the commit. The number tells these locks from others.
  perform pg_advisory_xact_lock(1635083369, new.publisher_id);
  select * into before from audit_log where publisher_id = new.publisher_id and number is not null
    order by number desc limit 1;
  new.number := coalesce(before.number, 0) + 1;
  new.hash := audit_hash(coalesce(before.hash, ''), new);
  return new;
end
$$;

do $$
declare
  entry audit_log;
  before audit_log;
begin
  for entry in select * from audit_log order by publisher_id, id loop
    if before.publisher_id is distinct from entry.publisher_id then
      before.number := 0;
      before.hash := '';
    end if;
    entry.number := before.number + 1;
    entry.hash := audit_hash(before.hash, entry);
    update audit_log set number = entry.number, hash = entry.hash
      where publisher_id = entry.publisher_id and id = entry.id;
    before := entry;
  end loop;
end
$$;

alter table audit_log alter number set not null, alter hash set not null;
create trigger chain_audit_entry before insert on audit_log for each row execute function chain_audit_entry();
