import type { AdErrorKind } from '../../../packages/client/src/sdk.ts';
import { parseUrl } from './compat.ts';
import { SdkError } from './errors.ts';

/** Resources that the page's content security policy has blocked, as directives with their origins. */
const blocked = new Set<string>();

document.addEventListener('securitypolicyviolation', ({ disposition, effectiveDirective, blockedURI }) => {
  if (disposition === 'enforce') blocked.add(effectiveDirective + originOf(blockedURI));
});

/**
 * Calls `report` when the policy blocks one of the service's resources, such as an image. API calls are excluded.
 * @returns a function that stops watching
 */
export function watchPolicy(base: string, report: (err: SdkError) => void): () => void {
  const watch = ({ disposition, effectiveDirective, blockedURI }: SecurityPolicyViolationEvent): void => {
    const origin = originOf(blockedURI);
    if (disposition === 'enforce' && effectiveDirective !== 'connect-src' && origin === originOf(base))
      report(errorOf(origin, effectiveDirective));
  };
  document.addEventListener('securitypolicyviolation', watch);
  return () => document.removeEventListener('securitypolicyviolation', watch);
}

/**
 * Returns the error for a failed call. This is the policy error if the policy blocked the URL, or else an error with
 * the given kind and message.
 */
export const callError = async (url: string, kind: AdErrorKind, message: string): Promise<SdkError> =>
  (await blockedError(url, 'connect-src')) ?? new SdkError(kind, message);

/** Returns an error if the policy blocks this URL. */
export async function blockedError(url: string, directive: string): Promise<SdkError | undefined> {
  // Wait, because the browser dispatches the violation event in a separate task.
  await new Promise((resolve) => setTimeout(resolve));
  return blocked.has(directive + originOf(url)) ? errorOf(originOf(url), directive) : undefined;
}

const originOf = (url: string): string => parseUrl(url)?.origin ?? url;

const errorOf = (origin: string, directive: string): SdkError =>
  new SdkError('blocked', `The page's content security policy blocks ${origin} (${directive}).`);
