/**
 * Every error that clients can receive: code → status and default message (docs/reference/access-and-errors.md#errors).
 * It is independent of the HTTP framework.
 */
export const errorCatalogue = {
  malformed_request: { status: 400, message: 'The request could not be read.' },
  malformed_json: { status: 400, message: 'The body is not valid JSON.' },
  invalid_request: { status: 400, message: 'The request has invalid fields.' },
  missing_placement: {
    status: 400,
    message: 'The body field "placement" is required; the publisher has no "default_placement".',
  },
  pub_user_id_is_pii: { status: 400, message: 'pub_user_id must not be an e-mail address or a phone number.' },
  pub_user_id_required: { status: 400, message: 'pub_user_id is required for User Selected Perks.' },
  invalid_token: { status: 400, message: 'The link is not valid or has expired.' },
  invalid_cursor: { status: 400, message: 'The cursor is not valid or has expired; start again without one.' },
  ambiguous_header: { status: 400, message: 'The file can be read in more than one way.' },
  unknown_header: { status: 400, message: 'No column of the file has a known name.' },
  invalid_picture: { status: 400, message: 'The picture cannot be used.' },
  invalid_font: { status: 400, message: 'The font cannot be used.' },
  invalid_endpoint: { status: 400, message: 'The webhook endpoint cannot be used.' },
  unknown_group_by: { status: 400, message: 'The report cannot be grouped by this.' },
  report_too_large: { status: 400, message: 'The report is too large.' },
  missing_key: { status: 401, message: 'An API key is required.' },
  unknown_key: { status: 401, message: 'The API key is unknown, expired or revoked.' },
  invalid_signature: { status: 401, message: 'The signature is missing or wrong.' },
  permission_denied: { status: 403, message: 'The key lacks the permission for this call.' },
  approval_required: {
    status: 403,
    message: 'The publisher approves such changes before they are live: propose it as a draft.',
  },
  wallet_not_enabled: { status: 403, message: 'The wallet is not enabled here.' },
  offerwall_not_enabled: { status: 403, message: 'The offerwall is not enabled here.' },
  usp_not_enabled: { status: 403, message: 'User Selected Perks is not enabled here.' },
  not_found: { status: 404, message: 'Not found.' },
  session_not_found: { status: 404, message: 'Session not found.' },
  campaign_not_in_session: { status: 404, message: 'The campaign was not shown in this session.' },
  saved_offer_not_found: { status: 404, message: 'The user has not saved this offer.' },
  resource_not_found: { status: 404, message: 'Resource not found.' },
  endpoint_not_found: { status: 404, message: 'No endpoint has this id, or is configured for this event.' },
  advertiser_not_found: { status: 404, message: 'Advertiser not found.' },
  erasure_not_found: { status: 404, message: 'Erasure not found.' },
  click_not_found: { status: 404, message: 'Click not found.' },
  click_expired: { status: 404, message: 'The click is too old; conversions are accepted for 30 days after it.' },
  coupon_not_found: { status: 404, message: 'The user of no offer has this code.' },
  conversion_not_found: { status: 404, message: 'Conversion to reverse not found.' },
  delivery_not_found: { status: 404, message: 'Delivery not found, or past its retention.' },
  replay_not_found: { status: 404, message: 'Redelivery job not found.' },
  decision_not_kept: { status: 404, message: 'The data that this decision was made with is no longer kept.' },
  method_not_allowed: { status: 405, message: 'The method is not allowed here.' },
  request_timeout: { status: 408, message: 'The request was not received in time.' },
  delivery_erased: { status: 409, message: 'The payload of the delivery was erased.' },
  attempt_ended: { status: 409, message: 'The attempt has already ended, or its time was over.' },
  endpoint_disabled: { status: 409, message: 'The endpoint of the delivery is disabled or removed.' },
  too_many_endpoints: { status: 409, message: 'A publisher may have at most 20 webhook endpoints.' },
  replay_finished: { status: 409, message: 'The redelivery job has already ended.' },
  too_many_replays: {
    status: 409,
    message: 'Too many redelivery jobs are running; cancel one or wait for its end.',
  },
  session_wrapped: { status: 409, message: 'The session is already wrapped.' },
  session_expired: { status: 409, message: 'The session has expired.' },
  conversion_conflict: {
    status: 409,
    message: 'The transaction is already recorded with another amount.',
  },
  too_many_conversions: { status: 409, message: 'The click has reached its maximum of conversions.' },
  conflict: { status: 409, message: 'The resource already exists.' },
  in_use: { status: 409, message: 'The resource is in use.' },
  precondition_failed: { status: 412, message: 'The resource was changed meanwhile.' },
  body_too_large: { status: 413, message: 'The body is too large.' },
  uri_too_long: { status: 414, message: 'The address is too long.' },
  unsupported_media_type: { status: 415, message: 'The content type must be application/json.' },
  idempotency_key_reused: { status: 422, message: 'The Idempotency-Key was used for another request.' },
  image_not_processable: { status: 422, message: 'The picture cannot be resized.' },
  too_many_requests: { status: 429, message: 'Too many requests.' },
  headers_too_large: { status: 431, message: 'The address and the headers together are too large.' },
  client_closed: { status: 499, message: 'The client closed the connection before it was answered.' },
  internal: { status: 500, message: 'Internal server error.' },
  unavailable: { status: 503, message: 'The service is temporarily unavailable.' },
} as const satisfies Record<string, { status: number; message: string }>;

export type ErrorCode = keyof typeof errorCatalogue;

/** An invalid part of a request. `path` is a JSON pointer (`/placement`); `message` describes the problem. */
export type ErrorDetail = { path: string; message: string };

type AppErrorOptions = { message?: string; details?: readonly ErrorDetail[]; retryAfterS?: number; cause?: unknown };

/** An error with a code of the catalogue. `retryAfterS` (seconds) is sent as `retry-after`. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: readonly ErrorDetail[] | undefined;
  readonly retryAfterS: number | undefined;

  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    super(
      options.message ?? errorCatalogue[code].message,
      options.cause === undefined ? undefined : { cause: options.cause },
    );
    this.name = 'AppError';
    this.code = code;
    this.status = errorCatalogue[code].status;
    this.details = options.details;
    this.retryAfterS = options.retryAfterS;
  }
}

/** The database did not answer. The caller may retry after a second; whether data was written is unknown. */
export const databaseUnavailable = (cause?: unknown): AppError =>
  new AppError('unavailable', { retryAfterS: 1, cause });
