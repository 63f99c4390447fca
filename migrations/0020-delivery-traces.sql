-- The trace that a delivery belongs to, so that its attempts, made by another process and perhaps a day later, join it.
alter table deliveries add column traceparent text;
comment on column deliveries.traceparent is
  'The operation that caused it, as the header of W3C Trace Context; null: it was not traced.';
