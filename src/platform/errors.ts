import { type Noun, noun, type Problem, type ProblemKey, problem } from './problem.ts';

/**
 * All error codes that clients can receive, with their HTTP status (docs/reference/access-and-errors.md#errors). The
 * default message for a code is the text with the key `apiTexts.<code>`.
 */
export const errorStatuses = {
  malformed_request: 400,
  malformed_json: 400,
  invalid_request: 400,
  missing_placement: 400,
  pub_user_id_is_pii: 400,
  pub_user_id_required: 400,
  invalid_token: 400,
  invalid_cursor: 400,
  ambiguous_header: 400,
  unknown_header: 400,
  invalid_picture: 400,
  invalid_font: 400,
  invalid_endpoint: 400,
  unknown_group_by: 400,
  report_too_large: 400,
  missing_key: 401,
  unknown_key: 401,
  invalid_signature: 401,
  permission_denied: 403,
  approval_required: 403,
  wallet_not_enabled: 403,
  offerwall_not_enabled: 403,
  usp_not_enabled: 403,
  not_found: 404,
  session_not_found: 404,
  campaign_not_in_session: 404,
  saved_offer_not_found: 404,
  resource_not_found: 404,
  endpoint_not_found: 404,
  advertiser_not_found: 404,
  erasure_not_found: 404,
  click_not_found: 404,
  click_expired: 404,
  coupon_not_found: 404,
  conversion_not_found: 404,
  delivery_not_found: 404,
  replay_not_found: 404,
  decision_not_kept: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  delivery_erased: 409,
  attempt_ended: 409,
  endpoint_disabled: 409,
  too_many_endpoints: 409,
  replay_finished: 409,
  too_many_replays: 409,
  session_wrapped: 409,
  session_expired: 409,
  conversion_conflict: 409,
  too_many_conversions: 409,
  conflict: 409,
  in_use: 409,
  precondition_failed: 412,
  body_too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  image_not_processable: 422,
  too_many_requests: 429,
  headers_too_large: 431,
  client_closed: 499,
  internal: 500,
  unavailable: 503,
} as const satisfies Partial<Record<ProblemKey, number>>;

export type ErrorCode = keyof typeof errorStatuses;

/** Validation error in one part of a request. `path` is a JSON pointer (`/placement`). */
export type ErrorDetail = { path: string; message: Problem };

type AppErrorOptions = { message?: Problem; details?: readonly ErrorDetail[]; retryAfterS?: number; cause?: unknown };

/**
 * Error with a code from the error catalogue. `retryAfterS` is sent as the `retry-after` header, in seconds. `message`
 * is the problem text in English.
 */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly problem: Problem;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    const described = options.message ?? problem(code);
    super(String(described), options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.status = errorStatuses[code];
    this.problem = described;
    this.details = options.details;
    this.retryAfterS = options.retryAfterS;
  }
}

/** Creates the error for a missing row. Callers without access to an existing row get the same error. */
export const notFound = (name: Noun): AppError =>
  new AppError('resource_not_found', { message: problem('notFound', { noun: noun(name) }) });

/**
 * Creates the error for a database that did not respond. The caller may retry after a second. Whether data was written
 * is unknown.
 */
export const databaseUnavailable = (cause?: unknown): AppError =>
  new AppError('unavailable', { retryAfterS: 1, cause });
