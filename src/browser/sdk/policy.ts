import type { AdErrorKind } from '../../../packages/client/src/sdk.ts';
import { parseUrl } from './compat.ts';
import { SdkError } from './errors.ts';

/** What the page's content security policy blocked: directives with origins. */
const blocked = new Set<string>();

document.addEventListener('securitypolicyviolation', ({ disposition, effectiveDirective, blockedURI }) => {
  if (disposition === 'enforce') blocked.add(effectiveDirective + originOf(blockedURI));
});

/** Calls `report` for what else of the service the policy blocks, such as images. @returns a function that ends it */
export function watchPolicy(base: string, report: (err: SdkError) => void): () => void {
  const watch = ({ disposition, effectiveDirective, blockedURI }: SecurityPolicyViolationEvent): void => {
    const origin = originOf(blockedURI);
    if (disposition === 'enforce' && effectiveDirective !== 'connect-src' && origin === originOf(base))
      report(errorOf(origin, effectiveDirective));
  };
  document.addEventListener('securitypolicyviolation', watch);
  return () => document.removeEventListener('securitypolicyviolation', watch);
}

/** Why a call of this URL failed: the policy, where it was that; else what is given. */
export const callError = async (url: string, kind: AdErrorKind, message: string): Promise<SdkError> =>
  (await blockedError(url, 'connect-src')) ?? new SdkError(kind, message);

/** The error where the policy blocks this URL. */
export async function blockedError(url: string, directive: string): Promise<SdkError | undefined> {
  // The violation is dispatched in a task of its own.
  await new Promise((resolve) => setTimeout(resolve));
  return blocked.has(directive + originOf(url)) ? errorOf(originOf(url), directive) : undefined;
}

const originOf = (url: string): string => parseUrl(url)?.origin ?? url;

const errorOf = (origin: string, directive: string): SdkError =>
  new SdkError('blocked', `The page's content security policy blocks ${origin} (${directive}).`);
