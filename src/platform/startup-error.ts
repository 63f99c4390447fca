/**
 * Error that prevents the service from starting. Its message tells the operator what to do, and is printed without a
 * stack trace.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
