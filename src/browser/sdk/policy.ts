import type { AdErrorKind } from '../../../packages/client/src/sdk.ts';
import { parseUrl } from './compat.ts';
import { SdkError } from './errors.ts';

/** Resources blocked by the page's content security policy: directives with origins. */
const blocked = new Set<string>();

document.addEventListener('securitypolicyviolation', ({ disposition, effectiveDirective, blockedURI }) => {
  if (disposition === 'enforce') blocked.add(effectiveDirective + originOf(blockedURI));
});

/**
 * Calls `report` for other resources of the service that the policy blocks, such as images. @returns a function that
 * stops it
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

/** Error for a failed call of a URL: that of the policy if it was the cause, otherwise the given one. */
export const callError = async (url: string, kind: AdErrorKind, message: string): Promise<SdkError> =>
  (await blockedError(url, 'connect-src')) ?? new SdkError(kind, message);

/** Error if the policy blocks this URL. */
export async function blockedError(url: string, directive: string): Promise<SdkError | undefined> {
  // The violation event is dispatched in a separate task.
  await new Promise((resolve) => setTimeout(resolve));
  return blocked.has(directive + originOf(url)) ? errorOf(originOf(url), directive) : undefined;
}

const originOf = (url: string): string => parseUrl(url)?.origin ?? url;

const errorOf = (origin: string, directive: string): SdkError =>
  new SdkError('blocked', `The page's content security policy blocks ${origin} (${directive}).`);
