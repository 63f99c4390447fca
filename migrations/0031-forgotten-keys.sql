-- Own keys of a session whose values were erased, as reports count them from then on: {"plan": "other"}.
alter table sessions add column forgotten jsonb;
