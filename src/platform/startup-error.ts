/** What keeps the service from starting, as a sentence with its remedy; the operator sees no stack. */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}
