import type { FastifyRequest } from 'fastify';
import ipaddr from 'ipaddr.js';
import { type Net, within } from '../../config/nets.ts';
import { AppError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a call changes anything, where its method says otherwise: `GET` reads, all others write. */
    effect?: 'read' | 'write';
    /** Whether the route itself keeps to what a key is limited to; any other is closed to such keys. */
    keepsToResources?: boolean;
  }
}

/** The restriction of a key: what narrows it beyond its permissions (docs/reference/access-and-errors.md#api-keys). */
export type KeyRestrictions = {
  readOnly: boolean;
  /** Whence it may be used; null: from anywhere. */
  nets: readonly Net[] | null;
  /** What alone it may see and touch; null: all. */
  resources: KeyResources | null;
};

/** The resources of a key. At most one is null: the other alone limits the key. */
export type KeyResources = {
  /** Ids. */
  campaigns: ReadonlySet<number> | null;
  /** Names, normalised. */
  placements: ReadonlySet<string> | null;
};

/** What of a request a restricted key is checked against. */
export type RestrictedRequest = Pick<FastifyRequest, 'ip' | 'method' | 'routeOptions'>;

/** Why a restricted key may not make a call; null: it may. */
export function refusalOf({ readOnly, nets, resources }: KeyRestrictions, request: RestrictedRequest): AppError | null {
  if (nets !== null && !isAdmitted(request.ip, nets))
    return new AppError('permission_denied', { message: 'The key may not be used from this address.' });
  if (readOnly && effectOf(request) === 'write')
    return new AppError('permission_denied', { message: 'The key may only read.' });
  if (resources !== null && request.routeOptions.config.keepsToResources !== true)
    return new AppError('permission_denied', {
      message: 'The key is limited to some campaigns or placements, and this call goes beyond them.',
    });
  return null;
}

/** An IPv4-mapped address is the IPv4 address that it stands for. */
const isAdmitted = (ip: string, nets: readonly Net[]): boolean =>
  ipaddr.isValid(ip) && within(ipaddr.process(ip), nets);

function effectOf({ method, routeOptions }: RestrictedRequest): 'read' | 'write' {
  return routeOptions.config.effect ?? (method === 'GET' || method === 'HEAD' ? 'read' : 'write');
}
