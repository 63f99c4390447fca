import { isDeepStrictEqual } from 'node:util';
import { audit } from '../../management/audit.ts';
import type { View } from '../../management/resource.ts';
import type { Work } from '../../management/unit-of-work.ts';
import type { SecretBox } from '../../platform/security/secret-box.ts';
import type { EndpointKey, Saved } from '../endpoint-changes.ts';
import { type Endpoint, type EndpointRef, findEndpoint } from '../endpoint-store.ts';
import { openHeaders } from '../signature.ts';
import { plainViewOf } from './view.ts';

export const endpointResource = { name: 'webhook-endpoints', key: 'id' } as const;

/**
 * Changes an endpoint and records the changed fields, if any, in the audit log. Changes to the endpoints of a publisher
 * run one after the other. This ensures that each audit entry shows only its own change, and that the limit on the
 * number of endpoints is enforced.
 * @param change called with the locked endpoint, or null if it does not exist
 */
export async function changeEndpoint<T>(
  work: Work,
  ref: EndpointRef,
  box: SecretBox,
  change: (key: EndpointKey, stored: Endpoint | null) => Promise<T>,
): Promise<T> {
  const { executor, publisherId, nowMs } = work;
  await lockEndpoints(work);
  const before = await findEndpoint(executor, publisherId, ref, true);
  const result = await change({ publisherId, ref, nowMs }, before);
  await auditChange(work, box, before, await findEndpoint(executor, publisherId, ref));
  return result;
}

/** Creates an endpoint other than a default endpoint, and records it in the audit log like {@link changeEndpoint}. */
export async function createEndpoint(work: Work, box: SecretBox, create: () => Promise<Saved>): Promise<Saved> {
  await lockEndpoints(work);
  const saved = await create();
  await auditChange(work, box, null, saved.endpoint);
  return saved;
}

const lockEndpoints = ({ executor, publisherId }: Work) =>
  executor.query("select pg_advisory_xact_lock(hashtext('perkwire_endpoints'), $1)", [publisherId]);

async function auditChange(work: Work, box: SecretBox, before: Endpoint | null, after: Endpoint | null): Promise<void> {
  const was = before && loggedView(before, null, box);
  const is = after && loggedView(after, before, box);
  const action = was === null ? 'create' : is === null ? 'remove' : 'update';
  if (!isDeepStrictEqual(was, is)) await audit(work, { resource: endpointResource, action, before: was, after: is });
}

/**
 * Returns an endpoint as shown in the audit log. The secret, the header values and the URL query, which may contain a
 * key, are not included. For these, it shows only whether they are set or have changed since `before`.
 */
function loggedView(endpoint: Endpoint, before: Endpoint | null, box: SecretBox): View {
  const { id, event, events, updated_at: _time, url, destination: _destination, ...fields } = plainViewOf(endpoint);
  const isRotated = before !== null && !endpoint.secrets.current.equals(before.secrets.current);
  return {
    ...fields,
    ...(event === null ? { id, events } : { id: event }),
    url: loggedUrl(url, before?.url ?? url),
    secret: isRotated ? 'changed' : 'set',
    headers: loggedHeaders(endpoint, before, box),
  };
}

function loggedUrl(url: string, before: string): string {
  const [address, query] = partsOf(url);
  if (query === '') return address;
  return `${address}?${query === partsOf(before)[1] ? '…' : '… (changed)'}`;
}

function partsOf(url: string): [address: string, query: string] {
  const [address = ''] = url.split(/[?#]/, 1);
  return [address, url.slice(address.length)];
}

/**
 * Headers must be decrypted to compare them: they are encrypted again on every save, so the same value may have
 * different ciphertexts.
 */
function loggedHeaders(
  { headers }: Endpoint,
  before: Endpoint | null,
  box: SecretBox,
): Record<string, 'set' | 'changed'> {
  const stored = before?.headers ?? {};
  const differs = (name: string): boolean =>
    Object.hasOwn(stored, name) &&
    stored[name] !== headers[name] &&
    !isDeepStrictEqual(openHeaders(box, pick(stored, name)), openHeaders(box, pick(headers, name)));
  return Object.fromEntries(Object.keys(headers).map((name) => [name, differs(name) ? 'changed' : 'set']));
}

const pick = (headers: Endpoint['headers'], name: string): Record<string, string> => ({ [name]: headers[name] ?? '' });
