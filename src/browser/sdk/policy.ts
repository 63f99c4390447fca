import type { AdErrorKind } from '../../../packages/client/src/sdk.ts';
import { SdkError } from './errors.ts';

/** Origins that the page's content security policy does not let the SDK call. */
const blockedOrigins = new Set<string>();

document.addEventListener('securitypolicyviolation', ({ disposition, effectiveDirective, blockedURI }) => {
  if (disposition === 'enforce' && effectiveDirective === 'connect-src') blockedOrigins.add(originOf(blockedURI));
});

/** Calls `report` for what else of the service the policy blocks, such as images. @returns a function that ends it */
export function watchPolicy(base: string, report: (err: SdkError) => void): () => void {
  const watch = ({ disposition, effectiveDirective, blockedURI }: SecurityPolicyViolationEvent): void => {
    const origin = originOf(blockedURI);
    if (disposition === 'enforce' && effectiveDirective !== 'connect-src' && origin === originOf(base))
      report(blockedError(origin, effectiveDirective));
  };
  document.addEventListener('securitypolicyviolation', watch);
  return () => document.removeEventListener('securitypolicyviolation', watch);
}

/** Why a call of this URL failed: the policy, where it was that; else what is given. */
export async function callError(url: string, kind: AdErrorKind, message: string): Promise<SdkError> {
  // The violation is dispatched in a task of its own.
  await new Promise((resolve) => setTimeout(resolve));
  const origin = originOf(url);
  return blockedOrigins.has(origin) ? blockedError(origin, 'connect-src') : new SdkError(kind, message);
}

const originOf = (url: string): string => (URL.canParse(url) ? new URL(url).origin : url);

const blockedError = (origin: string, directive: string): SdkError =>
  new SdkError('blocked', `The page's content security policy blocks ${origin} (${directive}).`);
