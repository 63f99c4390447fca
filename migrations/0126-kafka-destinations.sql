-- Kafka as a destination of an endpoint.

alter table webhook_endpoints drop constraint webhook_endpoints_url_check;
alter table webhook_endpoints add constraint webhook_endpoints_url_check
  check (url ~ '^(https?|nats|kafka|sqs|eventbridge|s3|pull)://' and char_length(url) <= 2000);
