import type { FetchFile } from '../catalog/pages.ts';
import type { Net } from '../config/nets.ts';
import type { Config } from '../config.ts';
import { AppError } from '../platform/errors.ts';
import { parseUrlTemplate, urlMacros } from '../platform/lib/url-template.ts';
import { type Problem, problem } from '../platform/problem.ts';
import { type BlockReason, checkUrl } from './address-guard.ts';
import type { SendRequest, SendResult } from './dispatcher/send/result.ts';

export type UrlRules = { allowHttp: boolean; allowNets: readonly Net[]; publicUrl: string };

export const urlRulesOf = (config: Config): UrlRules => ({
  allowHttp: config.webhookAllowHttp,
  allowNets: config.webhookAllowNets,
  publicUrl: config.publicUrl,
});

/** Path of the demo's webhook receiver, the only path of this service that accepts webhooks. */
export const demoReceiverPath = '/demo/receiver';

/** Maximum length of an endpoint URL, in characters. */
const maxUrlLength = 2000;
/** Maximum number of macros in an endpoint URL. */
const maxMacros = 50;

/** Messages about URLs that may not be called. */
export const refusals: Record<BlockReason, Problem> = {
  invalid_url: problem('urlAbsolute'),
  scheme_not_allowed: problem('httpsUrl'),
  https_required: problem('httpsUrl'),
  credentials_in_url: problem('userInUrl'),
  port_not_allowed: problem('urlPort'),
  blocked_address: problem('urlAddress'),
  local_name: problem('urlLocalName'),
};

/**
 * Validates an endpoint URL without calling it.
 * @throws AppError `invalid_endpoint` with the problem
 */
export function requireUsableUrl(url: string, rules: UrlRules): void {
  const checked = checkUrl(url, rules);
  if (!checked.ok) throw invalidUrl(refusals[checked.reason]);
  // Check the text itself: the URL parser would accept whitespace and other spellings of the scheme, but the URL is
  // called exactly as stored.
  if (!/^https?:\/\/[^\s\0]+$/.test(url) || !url.isWellFormed()) throw invalidUrl(refusals.invalid_url);
  if (url.length > maxUrlLength) throw invalidUrl(problem('atMostLong', { max: maxUrlLength }));
  if (/^https?:\/\/[^/?#\\]*[{}]/.test(url)) throw invalidUrl(problem('macroInHost'));
  const template = parseUrlTemplate(url);
  if (template !== null && urlMacros(template).length > maxMacros)
    throw invalidUrl(problem('urlMacros', { max: maxMacros }));
  requireForeign(checked.url, rules.publicUrl);
}

/**
 * Requires a URL to point to another service.
 * @throws AppError `invalid_endpoint` if the URL belongs to this service
 */
export function requireForeign(url: URL, publicUrl: string): void {
  if (leadsToUs(url, new URL(publicUrl))) throw invalidUrl(problem('urlOwn'));
}

const loopback = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/**
 * Whether a URL has the same host and port as this service. All names for the loopback interface count as the same
 * host.
 */
function leadsToUs(url: URL, own: URL): boolean {
  const isSameHost = url.hostname === own.hostname || (loopback.test(url.hostname) && loopback.test(own.hostname));
  return isSameHost && url.port === own.port && url.pathname !== demoReceiverPath;
}

export const invalidUrl = (message: Problem): AppError =>
  new AppError('invalid_endpoint', { details: [{ path: '/url', message }] });

/**
 * Creates a function that downloads files under the same rules as webhook calls.
 * @param maxBytes maximum response size of the sender
 */
export const createFetchFile =
  (sender: { send: (request: SendRequest) => Promise<SendResult> }, maxBytes: number): FetchFile =>
  async (url, { headers, deadlineMs }) => {
    const result = await sender.send({ url, method: 'GET', headers, body: null, deadlineMs });
    const refusal = problemOf(result, maxBytes);
    return refusal === null && result.kind === 'response' ? result : { problem: refusal ?? problem('fileUnread') };
  };

/** Describes the problem to the author of the URL. Returns null if the file was read successfully. */
function problemOf(result: SendResult, maxBytes: number): Problem | null {
  if (result.kind === 'blocked') return refusals[result.reason];
  if (result.kind === 'error') return failures[result.class] ?? problem('fileUnread');
  const { status, truncated } = result;
  if (status >= 300 && status < 400) return problem('fileMoved', { status });
  if (status !== 200) return problem('fileStatus', { status });
  return truncated ? problem('fileSize', { max: maxBytes / 1024 }) : null;
}

/** Messages reveal nothing about the network, because the author of the URL may be probing it. */
const failures: Readonly<Record<string, Problem>> = {
  timeout: problem('fileSlow'),
  dns: problem('fileHost'),
  tls: problem('fileTls'),
  local: problem('fileLater'),
};
