import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { type Net, within } from '../../config/nets.ts';
import { AppError } from '../errors.ts';
import { problem } from '../problem.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a call writes, if its method does not tell: `GET` reads, all others write. */
    effect?: 'read' | 'write';
    /** Whether the route itself enforces the resources of a key. All other routes reject such keys. */
    keepsToResources?: boolean;
  }
}

/** The restriction of a key beyond its permissions (docs/reference/access-and-errors.md#api-keys). */
export type KeyRestrictions = {
  readOnly: boolean;
  /** Networks from which it may be used; null for any. */
  nets: readonly Net[] | null;
  /** Resources that it may see and change; null for all. */
  resources: KeyResources | null;
};

/** The resources of a key. At most one of the two is null; then only the other one limits the key. */
export type KeyResources = {
  /** Ids of campaigns. */
  campaigns: ReadonlySet<number> | null;
  /** Normalised names of placements. */
  placements: ReadonlySet<string> | null;
};

/** Parts of a request that a restricted key is checked against. */
export type RestrictedRequest = Pick<FastifyRequest, 'ip' | 'method' | 'routeOptions'>;

/** Returns why a restricted key may not make a call, or null. */
export function refusalOf({ readOnly, nets, resources }: KeyRestrictions, request: RestrictedRequest): AppError | null {
  if (nets !== null && !isAdmitted(request.ip, nets))
    return new AppError('permission_denied', { message: problem('keyAddress') });
  if (readOnly && effectOf(request) === 'write')
    return new AppError('permission_denied', { message: problem('keyReadsOnly') });
  if (resources !== null && request.routeOptions.config.keepsToResources !== true)
    return new AppError('permission_denied', {
      message: problem('keyBeyond'),
    });
  return null;
}

/** Whether an address is in one of the networks. An IPv4-mapped address is treated as the IPv4 address. */
const isAdmitted = (ip: string, nets: readonly Net[]): boolean =>
  ipaddr.isValid(ip) && within(ipaddr.process(ip), nets);

function effectOf({ method, routeOptions }: RestrictedRequest): 'read' | 'write' {
  return routeOptions.config.effect ?? (method === 'GET' || method === 'HEAD' ? 'read' : 'write');
}
