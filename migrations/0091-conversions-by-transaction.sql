-- The search finds a conversion by the advertiser's transaction id. Conversions are few: the index costs each one about
-- as much as its other index. It has only the ids that are known, so erased ones leave it.
create index conversions_transaction on conversions (publisher_id, txn_id) where txn_id is not null;
