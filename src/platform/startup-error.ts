/**
 * Error that prevents the service from starting, with a message that tells the operator what to do. It is shown without
 * a stack.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
