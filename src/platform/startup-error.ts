/**
 * Error that prevents the service from starting. The message tells the operator what to do. It is printed without a
 * stack trace.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
