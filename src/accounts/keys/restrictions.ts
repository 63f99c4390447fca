import { Type } from '@sinclair/typebox';
import ipaddr from 'ipaddr.js';
import { flag } from '../../management/fields.ts';
import { orNull, type Values } from '../../management/resource.ts';
import type { Actor } from '../../management/unit-of-work.ts';
import type { ErrorDetail } from '../../platform/errors.ts';
import { isInside, type Net, parseNet } from '../../platform/lib/nets.ts';

const maxNets = 100;

/** The fields that narrow a key beyond its permissions (docs/interface.md#keys). */
export const restrictionFields = {
  read_only: flag(false, 'It changes nothing: `GET`, and the calls that only ask. No offers are fetched with it.'),
  allowed_addresses: orNull(Type.Array(Type.String({ maxLength: 43 }), { minItems: 1, maxItems: maxNets }), {
    default: null,
    description:
      'Addresses and nets, IPv4 and IPv6, from which alone it may be used, such as 203.0.113.7 or 2001:db8::/32. ' +
      'null: from anywhere.',
  }),
};

/** Addresses as nets, each once. What is neither stays as it is, for the check to name. */
export function prepareRestrictions(values: Values): Values {
  const { allowed_addresses: given } = values;
  if (!Array.isArray(given)) return values;
  const nets = given.map((one: unknown) => (typeof one === 'string' ? toNet(one.trim()) : one));
  return { ...values, allowed_addresses: [...new Set(nets)] };
}

/** Nets begin at their first address, so that equal ones are written alike. */
function toNet(text: string): string {
  const net = readNet(text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`);
  if (net === null) return text;
  const [address, bits] = net;
  const family = address.kind() === 'ipv4' ? ipaddr.IPv4 : ipaddr.IPv6;
  return `${family.networkAddressFromCIDR(`${address.toString()}/${bits}`).toString()}/${bits}`;
}

/** null: no net, or one of IPv4-mapped addresses, which no client is known by. */
function readNet(text: string): Net | null {
  try {
    const net = parseNet(text);
    return net[0] instanceof ipaddr.IPv6 && net[0].isIPv4MappedAddress() ? null : net;
  } catch {
    return null;
  }
}

/** Nothing of a key that an actor makes or changes may reach further than the actor itself. */
export function checkRestrictions(
  values: Values,
  { restrictions }: Pick<Actor, 'restrictions'>,
  isChanged: (name: string) => boolean,
): ErrorDetail[] {
  return isChanged('allowed_addresses')
    ? checkAddresses(values.allowed_addresses as string[] | null, restrictions?.nets ?? null)
    : [];
}

function checkAddresses(given: readonly string[] | null, own: readonly Net[] | null): ErrorDetail[] {
  const path = '/allowed_addresses';
  if (given === null)
    return own === null ? [] : [{ path, message: 'must be among the addresses that the key itself is limited to' }];
  return given.flatMap((text, index): ErrorDetail[] => {
    const net = readNet(text);
    if (net === null)
      return [
        { path: `${path}/${index}`, message: 'must be an address or a net, such as 10.0.0.0/8 or 2001:db8::/32' },
      ];
    if (own === null || isInside(net, own)) return [];
    return [{ path: `${path}/${index}`, message: 'is not among the addresses that the key itself is limited to' }];
  });
}
