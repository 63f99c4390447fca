/** Thrown for an invalid parameter, before any request is sent (docs/reference/web-sdk.md#client-errors). */
export class InvalidParameterError extends Error {
  readonly kind = 'invalid_parameter';
  /** Parameter name, such as `loyaltyboost`. */
  readonly parameter: string;

  constructor(parameter: string, rule: string) {
    super(`${parameter} ${rule}`);
    this.name = 'InvalidParameterError';
    this.parameter = parameter;
  }
}

/**
 * Thrown if the server responds with a status outside 200–299, or with a body that is not a JSON object. In the latter
 * case, `statusCode` is the 2xx status and `code` is `invalid_body`.
 */
export class ServerError extends Error {
  readonly kind = 'server_error';
  readonly statusCode: number;
  /** Service error code, such as `unknown_key`. Null if the response body has none. */
  readonly code: string | null;

  constructor(statusCode: number, code: string | null, reason: string) {
    super(`The server responded with status ${statusCode}${reason === '' ? '.' : `: ${reason}`}`);
    this.name = 'ServerError';
    this.statusCode = statusCode;
    this.code = code;
  }
}

/**
 * Thrown if a request does not complete because the connection fails, breaks or times out. `cause` is the underlying
 * error.
 */
export class ConnectionError extends Error {
  readonly kind = 'connection_error';
  override readonly cause: unknown;

  constructor(message: string, cause: unknown) {
    super(message);
    this.name = 'ConnectionError';
    this.cause = cause;
  }
}
