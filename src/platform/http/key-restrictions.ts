import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { type Net, within } from '../../config/nets.ts';
import { AppError } from '../errors.ts';
import { problem } from '../problem.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Effect of a call, if it is not the default for the HTTP method. By default, `GET` reads and all other methods
     * write.
     */
    effect?: 'read' | 'write';
    /**
     * Whether the route itself enforces the resource restrictions of a key. Routes that do not enforce them reject
     * resource-restricted keys.
     */
    keepsToResources?: boolean;
  }
}

/** Restrictions of a key in addition to its permissions (docs/reference/access-and-errors.md#api-keys). */
export type KeyRestrictions = {
  readOnly: boolean;
  /** Networks from which the key may be used, or null for any network. */
  nets: readonly Net[] | null;
  /** Resources that the key may read and change, or null for all resources. */
  resources: KeyResources | null;
};

/** Resources that a key is limited to. A null field imposes no limit. At most one of the two fields is null. */
export type KeyResources = {
  /** IDs of the campaigns that the key is limited to. */
  campaigns: ReadonlySet<number> | null;
  /** Normalised names of the placements that the key is limited to. */
  placements: ReadonlySet<string> | null;
};

/** Parts of a request that are checked against the key's restrictions. */
export type RestrictedRequest = Pick<FastifyRequest, 'ip' | 'method' | 'routeOptions'>;

/** Returns the error for a call that the key's restrictions do not allow, or null if it is allowed. */
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

/** Whether an IP address is in one of the networks. An IPv4-mapped IPv6 address is treated as its IPv4 address. */
const isAdmitted = (ip: string, nets: readonly Net[]): boolean =>
  ipaddr.isValid(ip) && within(ipaddr.process(ip), nets);

function effectOf({ method, routeOptions }: RestrictedRequest): 'read' | 'write' {
  return routeOptions.config.effect ?? (method === 'GET' || method === 'HEAD' ? 'read' : 'write');
}
