/** A parameter is not allowed; nothing was sent (docs/interface.md#client-errors). */
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
 * The server answered, but not with what was asked for: a status outside 200–299, or a success whose body is not a JSON
 * object (`statusCode` is then that 2xx status, and `code` is `invalid_body`).
 */
export class ServerError extends Error {
  readonly kind = 'server_error';
  readonly statusCode: number;
  /** The service's own error code, such as `unknown_key`; null when the body names none. */
  readonly code: string | null;

  constructor(statusCode: number, code: string | null, reason: string) {
    super(`The server answered with status ${statusCode}${reason === '' ? '.' : `: ${reason}`}`);
    this.name = 'ServerError';
    this.statusCode = statusCode;
    this.code = code;
  }
}

/** The request did not complete: no connection, a broken one, or no whole answer in time. `cause` says why. */
export class ConnectionError extends Error {
  readonly kind = 'connection_error';
  override readonly cause: unknown;

  constructor(message: string, cause: unknown) {
    super(message);
    this.name = 'ConnectionError';
    this.cause = cause;
  }
}
