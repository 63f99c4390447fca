/** A parameter is invalid; nothing was sent (docs/reference/web-sdk.md#client-errors). */
export class InvalidParameterError extends Error {
  readonly kind = 'invalid_parameter';
  /** Name of the parameter, such as `loyaltyboost`. */
  readonly parameter: string;

  constructor(parameter: string, rule: string) {
    super(`${parameter} ${rule}`);
    this.name = 'InvalidParameterError';
    this.parameter = parameter;
  }
}

/**
 * The server responded with a status outside 200–299, or with a body that is not a JSON object (`statusCode` is then
 * the 2xx status, and `code` is `invalid_body`).
 */
export class ServerError extends Error {
  readonly kind = 'server_error';
  readonly statusCode: number;
  /** Error code of the service, such as `unknown_key`; null if the body has none. */
  readonly code: string | null;

  constructor(statusCode: number, code: string | null, reason: string) {
    super(`The server responded with status ${statusCode}${reason === '' ? '.' : `: ${reason}`}`);
    this.name = 'ServerError';
    this.statusCode = statusCode;
    this.code = code;
  }
}

/** The request did not complete: no connection, a broken one, or a timeout. `cause` is the underlying error. */
export class ConnectionError extends Error {
  readonly kind = 'connection_error';
  override readonly cause: unknown;

  constructor(message: string, cause: unknown) {
    super(message);
    this.name = 'ConnectionError';
    this.cause = cause;
  }
}
