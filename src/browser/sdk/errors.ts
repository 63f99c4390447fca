import type { AdErrorKind as ErrorKind } from '../../../packages/client/src/sdk.ts';

export class SdkError extends Error {
  readonly kind: ErrorKind;
  /** HTTP status if the error kind is server_error, otherwise 0. */
  readonly status: number;

  constructor(kind: ErrorKind, message: string, status = 0) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

/** Converts any exception to the payload of an `error` event. */
export function describeError(
  err: unknown,
  kind: ErrorKind = 'unexpected_error',
): { kind: ErrorKind; message: string } {
  if (err instanceof SdkError) return { kind: err.kind, message: err.message };
  return { kind, message: err instanceof Error ? err.message : String(err) };
}
