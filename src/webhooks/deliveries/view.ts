import { isUtf8 } from 'node:buffer';
import type { Attempt, LoggedDelivery, WholeDelivery } from '../delivery-store.ts';
import { viewOfTiming } from '../endpoints/timing-view.ts';

export const webhookIdOf = (id: string): string => `msg_${id.replaceAll('-', '')}`;

/** Returns a delivery in the API format of the delivery list. */
export const viewOfDelivery = (row: LoggedDelivery) => ({
  id: row.id,
  webhook_id: webhookIdOf(row.id),
  endpoint_id: row.endpoint_id,
  event: row.event,
  status: row.status,
  session_id: row.session_id,
  pub_user_id: row.pub_user_id,
  dev: row.dev,
  tries: row.attempts,
  last_status: row.last_status,
  last_error: row.last_error,
  created_at: row.created_at.toISOString(),
  finished_at: textOf(row.finished_at),
  next_try_at: textOf(row.next_attempt_at),
  replayed_at: textOf(row.redelivered_at),
  erased_at: textOf(row.erased_at),
});

/** Returns a delivery in API format, with its payload and attempts. */
export const viewOfWholeDelivery = (row: WholeDelivery, attempts: readonly Attempt[]) => ({
  ...viewOfDelivery(row),
  payload: row.erased_at === null ? row.payload.toString('utf8') : null,
  payload_bytes: row.payload.length,
  attempts: attempts.map((attempt) => viewOfAttempt(attempt, row.payload.length)),
});

const viewOfAttempt = (attempt: Attempt, payloadBytes: number) => ({
  number: attempt.number,
  started_at: attempt.started_at.toISOString(),
  finished_at: textOf(attempt.finished_at),
  outcome: attempt.outcome,
  error: attempt.error_class === null ? null : { class: attempt.error_class, message: attempt.error_message ?? '' },
  request: attempt.request === null ? null : viewOfRequest(attempt.request, payloadBytes),
  response: attempt.status_code === null ? null : { status: attempt.status_code, ...viewOfAnswer(attempt) },
  timing: attempt.timing === null ? null : viewOfTiming(attempt.timing),
  remote_address: attempt.remote_address,
  next_try_at: textOf(attempt.next_attempt_at),
});

type RequestView = {
  method: string;
  url: string;
  headers: Record<string, string>;
  body_bytes: number;
  transformed_body?: string;
  body_sha256?: string;
};

function viewOfRequest({ body, ...head }: NonNullable<Attempt['request']>, payloadBytes: number): RequestView {
  if (body !== undefined)
    return { ...head, body_bytes: body.bytes, transformed_body: body.text, body_sha256: body.sha256 };
  return { ...head, body_bytes: head.method === 'POST' ? payloadBytes : 0 };
}

function viewOfAnswer({ response_headers: headers, response_body: body, response_truncated: truncated }: Attempt) {
  // A truncated body may end in the middle of a character. It is still text.
  const isText = body === null || isUtf8(body) || (truncated === true && isUtf8(withoutHalfCharacter(body)));
  const encoding: 'utf-8' | 'base64' = isText ? 'utf-8' : 'base64';
  return {
    headers: headers ?? {},
    body: body === null ? null : body.toString(encoding),
    body_encoding: encoding,
    body_bytes: body?.length ?? 0,
    truncated: truncated ?? false,
  };
}

/** Returns the body without an incomplete last character. */
function withoutHalfCharacter(body: Buffer): Buffer {
  let end = body.length;
  while (end > 0 && body.length - end < 3 && ((body[end - 1] as number) & 0xc0) === 0x80) end -= 1;
  return body.subarray(0, Math.max(0, end - 1));
}

const textOf = (time: Date | null): string | null => time?.toISOString() ?? null;
