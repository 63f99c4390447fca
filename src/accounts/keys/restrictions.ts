import { Type } from '@sinclair/typebox';
import ipaddr from 'ipaddr.js';
import { maxPlacementLength, normaliseName } from '../../catalog/names.ts';
import { isInside, type Net, readNet } from '../../config/nets.ts';
import { flag } from '../../management/fields.ts';
import { idSchema, orNull, type Values } from '../../management/resource.ts';
import { operatorPermission } from '../../management/unit-of-work.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import type { KeyResources, KeyRestrictions } from '../../platform/http/key-restrictions.ts';
import { noNul } from '../../platform/http/schemas.ts';
import { noun, problem } from '../../platform/problem.ts';

const maxNets = 100;

/** Maximum number of list entries to parse. No valid list is longer. */
const maxListed = 1000;

/** Fields that restrict a key in addition to its permissions (docs/reference/access-and-errors.md#api-keys). */
export const restrictionFields = {
  read_only: flag(
    false,
    'Whether the key can only read: `GET` requests, and calls that change nothing, such as explanations. A ' +
      "read-only key can't fetch offers.",
  ),
  allowed_addresses: orNull(Type.Array(Type.String({ maxLength: 43 }), { minItems: 1, maxItems: maxNets }), {
    default: null,
    description:
      'IPv4 and IPv6 addresses and CIDR ranges that may use the key, such as 203.0.113.7 or 2001:db8::/32. `null` ' +
      'allows every address.',
  }),
  campaigns: orNull(Type.Array(idSchema, { minItems: 1, maxItems: 1000, uniqueItems: true }), {
    default: null,
    description:
      'IDs of the campaigns that the key is limited to, including their offers and creatives. `null` allows all ' +
      'campaigns.',
  }),
  placements: orNull(
    Type.Array(Type.String({ minLength: 1, maxLength: maxPlacementLength, pattern: noNul }), {
      minItems: 1,
      maxItems: 200,
      uniqueItems: true,
    }),
    {
      default: null,
      description:
        'Names of the placements that the key is limited to, for management calls and fetches. `null` allows all ' +
        'placements.',
    },
  ),
};

/**
 * Normalises client addresses to networks, normalises placement names, and removes duplicates. Leaves invalid values
 * unchanged, so that validation reports them.
 */
export function prepareRestrictions(values: Values): Values {
  const prepared = { ...values };
  for (const [name, prepare] of Object.entries(texts)) {
    const list = values[name];
    // Skip lists that are too long. The schema rejects them, and parsing each address takes 4 µs.
    if (!Array.isArray(list) || list.length > maxListed) continue;
    prepared[name] = [...new Set(list.map((item: unknown) => (typeof item === 'string' ? prepare(item) : item)))];
  }
  return prepared;
}

const texts = { allowed_addresses: (text: string) => toNet(text.trim()), placements: normaliseName };

/** Normalises a network by its first address, so that equal networks are stored as the same string. */
function toNet(text: string): string {
  const net = readClientNet(text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`);
  if (net === null) return text;
  const [address, bits] = net;
  const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${family.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString()}/${bits}`;
}

/**
 * Parses a network. Returns null if the text is invalid. Also returns null for IPv4-mapped networks, because client
 * addresses never have this form.
 */
function readClientNet(text: string): Net | null {
  const net = readNet(text);
  return net?.[0] instanceof ipaddr.IPv6 && net[0].isIPv4MappedAddress() ? null : net;
}

/** Checks that a key that an actor creates or changes is at least as restricted as the actor. */
export function checkRestrictions(
  values: Values,
  { restrictions }: { restrictions: KeyRestrictions | null },
  isChanged: (name: string) => boolean,
): ErrorDetail[] {
  const limited = (['campaigns', 'placements'] as const).filter((name) => values[name] !== null);
  return [
    ...(isChanged('allowed_addresses')
      ? checkAddresses(values.allowed_addresses as string[] | null, restrictions?.nets ?? null)
      : []),
    ...checkResources(values, restrictions?.resources ?? null),
    ...((values.permissions as string[]).includes(operatorPermission)
      ? limited.map((name) => ({ path: `/${name}`, message: problem('operatorKeyUnlimited') }))
      : []),
  ];
}

/** Checks that a restricted key grants other keys access only to resources that it can access itself. */
function checkResources(values: Values, own: KeyResources | null): ErrorDetail[] {
  if (own === null) return [];
  return (['campaigns', 'placements'] as const).flatMap((name) => {
    const requested = values[name] as readonly (number | string)[] | null;
    const allowed: ReadonlySet<number | string> | null = own[name];
    const kind = name === 'campaigns' ? 'campaign' : 'placement';
    if (allowed === null ? requested === null : requested?.every((resource) => allowed.has(resource))) return [];
    return [{ path: `/${name}`, message: problem('withinKeyResources', { nouns: noun(kind, 2) }) }];
  });
}

function checkAddresses(requested: readonly string[] | null, own: readonly Net[] | null): ErrorDetail[] {
  const path = '/allowed_addresses';
  if (requested === null) return own === null ? [] : [{ path, message: problem('withinKeyAddresses') }];
  return requested.flatMap((text, index): ErrorDetail[] => {
    const net = readClientNet(text);
    if (net === null) return [{ path: `${path}/${index}`, message: problem('addressOrNet') }];
    if (own === null || isInside(net, own)) return [];
    return [{ path: `${path}/${index}`, message: problem('addressBeyondKey') }];
  });
}
