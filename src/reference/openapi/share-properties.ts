import { isDeepStrictEqual } from 'node:util';
import type { Node } from './operation-components.ts';

type Properties = Record<string, Node>;
type ObjectSchema = Node & { properties: Properties; required?: string[] };

/** A component that others extend, and what they share with it. */
type Base = {
  name: string;
  properties: Properties;
  required: string[];
  /** It forbids other properties: only schemas that have the same ones, and forbid others too, extend it. */
  isClosed: boolean;
};

/** Below this size (characters of JSON) a reference to shared properties says little less than they do. */
const minSharedSize = 350;

const isObjectSchema = (value: unknown): value is ObjectSchema =>
  typeof value === 'object' && value !== null && 'properties' in value && !('allOf' in value);

/**
 * Says properties once that several schemas have: those of `X`, `XInput` and `XChanges` as `XFields`, and those of a
 * component wherever a schema has all of them. What satisfies a schema stays the same.
 * @param rest where schemas stand beside the components
 */
export function shareProperties(schemas: Record<string, Node>, ...rest: unknown[]): void {
  const fields = sharedFields(schemas);
  for (const [name, properties] of Object.entries(fields)) schemas[name] = { type: 'object', properties };
  const bases = [...Object.entries(schemas)].flatMap(([name, schema]): Base[] => {
    if (!isObjectSchema(schema)) return [];
    const { properties, required = [], additionalProperties = true } = schema;
    if (!(name in fields) && sizeOf({ properties }) < minSharedSize) return [];
    return typeof additionalProperties === 'boolean'
      ? [{ name, properties, required, isClosed: !additionalProperties }]
      : [];
  });
  bases.sort((a, b) => sizeOf(b) - sizeOf(a) || Number(b.isClosed) - Number(a.isClosed));
  for (const place of [schemas, ...rest]) extendIn(place, bases);
}

/** Components that have much in common beside the forms of resources, by the name of what they share. */
const families: Record<string, string[]> = {
  OfferFields: ['Offer', 'ListedOffer'],
  WalletEventFields: ['OfferSavedEvent', 'OfferRemovedEvent'],
  EndpointEventFields: [
    'EndpointFailingEvent',
    'EndpointDisabledEvent',
    'EndpointRecoveredEvent',
    'DeliveryExhaustedEvent',
  ],
};

/** By component name: the fields that the forms of a resource, or a family, agree on, but for defaults. */
function sharedFields(schemas: Record<string, Node>): Record<string, Properties> {
  const resources = Object.keys(schemas).flatMap((name) => /^(.+)Changes$/.exec(name)?.[1] ?? []);
  const all = Object.fromEntries(resources.map((name) => [`${name}Fields`, [`${name}Changes`, name, `${name}Input`]]));
  const found: Record<string, Properties> = {};
  for (const [name, members] of Object.entries({ ...all, ...families })) {
    const [first, ...rest] = members.map((member) => schemas[member]);
    if (!isObjectSchema(first) || !rest.every(isObjectSchema)) continue;
    const agreed = Object.entries(first.properties).filter(([field, schema]) =>
      rest.every(({ properties }) => isDeepStrictEqual(withoutDefault(properties[field]), schema)),
    );
    found[name] = Object.fromEntries(agreed);
  }
  return found;
}

const sizeOf = ({ properties }: Pick<Base, 'properties'>): number => JSON.stringify(properties).length;

function withoutDefault(schema: Node | undefined): Node | undefined {
  const { default: _default, ...rest } = schema ?? {};
  return schema && rest;
}

function extendIn(value: unknown, bases: Base[]): void {
  if (typeof value !== 'object' || value === null) return;
  for (const one of Object.values(value)) extendIn(one, bases);
  if (!isObjectSchema(value)) return;
  // A base extends smaller ones only, so that none extends itself.
  const smaller = bases.slice(bases.findIndex(({ properties }) => properties === value.properties) + 1);
  const isClosed = value.additionalProperties === false;
  const base = smaller.find(({ properties, required, ...base }) => {
    const fits = isClosed && Object.keys(properties).length === Object.keys(value.properties).length;
    if ((base.isClosed && !fits) || !required.every((name) => value.required?.includes(name))) return false;
    return Object.entries(properties).every(([name, schema]) =>
      isDeepStrictEqual(withoutDefault(value.properties[name]), schema),
    );
  });
  if (base !== undefined) extend(value, base);
}

/** Makes a schema with all properties of a base one that says the others and the defaults only. */
function extend(schema: ObjectSchema, base: Base): void {
  const own = Object.entries(schema.properties).flatMap(([name, property]) => {
    if (!(name in base.properties)) return [[name, property] as const];
    return 'default' in property && !isDeepStrictEqual(property, base.properties[name])
      ? [[name, { default: property.default }] as const]
      : [];
  });
  const required = schema.required?.filter((name) => !base.required.includes(name)) ?? [];
  const { properties: _properties, required: _required, additionalProperties, ...rest } = schema;
  for (const key of Object.keys(schema)) delete schema[key];
  Object.assign(schema, {
    ...rest,
    allOf: [{ $ref: `#/components/schemas/${base.name}` }],
    ...(own.length > 0 && { properties: Object.fromEntries(own) }),
    ...(required.length > 0 && { required }),
    // `additionalProperties` would not see the properties of the base.
    ...(additionalProperties !== undefined &&
      additionalProperties !== true &&
      !base.isClosed && { unevaluatedProperties: additionalProperties }),
  });
}
